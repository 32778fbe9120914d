"""Where the nodes of a cluster under test live: ports of loopback, or a network namespace for each.

With namespaces (which need root) every node has an address of its own on a bridge, the test stands on
that bridge too, and connections between nodes can be cut with nftables or with routes. Names and
addresses are drawn anew for each run, and everything is removed at its end.
"""

import os
import random
import socket
import subprocess

STABLE_PORTS = range(27000, 28000)  # below those that the kernel gives to clients


class NetworkError(Exception):
    """A namespace, an address or a rule could not be made."""


def run(*command, text=None, check=True):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise NetworkError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done


def why_not():
    """Why there can be no namespaces here, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "nft"):
        if run("sh", "-c", f"command -v {tool}", check=False).returncode != 0:
            return f"network namespaces need {tool}: ./dev setup installs it"
    return None


def stable_port(given=set()):
    """A port that no client gets by chance while its server is down, and that was not given before."""
    for _ in range(len(STABLE_PORTS)):
        port = random.SystemRandom().choice(STABLE_PORTS)
        if port in given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                given.add(port)
                return port
            except OSError:
                pass
    raise NetworkError("no free port")


class Loopback:
    """Nodes are ports of this machine; nothing can be cut."""

    can_cut = False

    def place(self, _):
        """(host, HTTP port, cluster port, how a process gets there) of a new node."""
        return "127.0.0.1", stable_port(), stable_port(), []

    def heal(self):
        pass

    def close(self):
        pass


class Namespaces:
    """A namespace for each node, on one bridge."""

    can_cut = True

    def __init__(self):
        trouble = why_not()
        if trouble:
            raise NetworkError(trouble)
        self.places = []        # (namespace, address)
        self.deaf = {}          # namespace -> addresses whose packets it drops
        self.routes = set()     # (namespace, address): packets to it go nowhere
        taken = run("ip", "-4", "-o", "addr").stdout
        draws = random.SystemRandom()
        while True:
            self.run, self.subnet = f"{draws.randrange(1 << 20):05x}", draws.randrange(1, 255)
            if f"10.77.{self.subnet}." not in taken:
                break
        self.bridge = f"jb{self.run}"
        run("ip", "link", "add", self.bridge, "type", "bridge")
        try:
            run("ip", "addr", "add", f"10.77.{self.subnet}.1/24", "dev", self.bridge)
            run("ip", "link", "set", self.bridge, "up")
        except NetworkError:
            self.close()
            raise

    def place(self, _):
        number = len(self.places) + 1
        namespace, address = f"jb{self.run}n{number}", f"10.77.{self.subnet}.{number + 10}"
        link = f"jb{self.run}v{number}"
        run("ip", "netns", "add", namespace)
        self.places.append((namespace, address))
        self.deaf[namespace] = set()
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        run("ip", "link", "set", link, "master", self.bridge, "up")
        inside = ("ip", "-n", namespace)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
        return address, 8080, 9400, ["ip", "netns", "exec", namespace]

    def namespace_of(self, address):
        return next(namespace for namespace, its in self.places if its == address)

    def readdress(self, old):
        """The node gets another address; the new one."""
        at = next(i for i, (_, address) in enumerate(self.places) if address == old)
        namespace = self.places[at][0]
        new = f"10.77.{self.subnet}.{at + 111}"
        run("ip", "-n", namespace, "addr", "del", f"{old}/24", "dev", "eth0")
        run("ip", "-n", namespace, "addr", "add", f"{new}/24", "dev", "eth0")
        self.places[at] = (namespace, new)
        return new

    def cut(self, to, source, by_route=False):
        """Nothing that `source` sends reaches `to` any more."""
        if by_route:
            namespace = self.namespace_of(source)
            if (namespace, to) not in self.routes:
                run("ip", "-n", namespace, "route", "add", "blackhole", f"{to}/32")
                self.routes.add((namespace, to))
        else:
            namespace = self.namespace_of(to)
            self.deaf[namespace].add(source)
            self.filter(namespace)

    def filter(self, namespace):
        rules = "table inet cut {}\ndelete table inet cut\n"
        if self.deaf[namespace]:
            sources = ", ".join(sorted(self.deaf[namespace]))
            rules += ("table inet cut {\nchain in {\ntype filter hook input priority 0; policy accept;\n"
                      f"ip saddr {{ {sources} }} drop\n}}\n}}\n")
        run("ip", "netns", "exec", namespace, "nft", "-f", "-", text=rules)

    def heal(self):
        for namespace, deaf in self.deaf.items():
            if deaf:
                deaf.clear()
                self.filter(namespace)
        for namespace, address in self.routes:
            run("ip", "-n", namespace, "route", "del", "blackhole", f"{address}/32")
        self.routes.clear()

    def close(self):
        """Best effort: one thing that is gone already does not keep the others."""
        for namespace, _ in self.places:
            run("ip", "netns", "del", namespace, check=False)
        run("ip", "link", "del", self.bridge, check=False)
        self.places = []
