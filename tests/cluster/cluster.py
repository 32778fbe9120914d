"""Several nodes as real processes, and what can go wrong with them."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "crash"))

from client import Broken, Client, NotSent, one_call  # noqa: E402
from network import Loopback, Namespaces  # noqa: E402
from secrets_of_nodes import Certificates, Secret  # noqa: E402
from server import Server, ServerError  # noqa: E402
from wrong_clock import WrongClock  # noqa: E402

API = "/api/v1"
# Small, so that logs are cut and nodes that were away need a copy of the database.
SMALL_LOG = ["--segment-bytes", str(4 << 20), "--log-retain-bytes", str(8 << 20)]
DISK_BYTES = 512 << 20
FORMED_WITHIN_S = 20.0
TRUCE_S = 30.0


class Disk:
    """A small disk that can be full: a tmpfs and a file that fills it."""

    def __init__(self, path):
        self.path = path
        self.ballast = os.path.join(path, "ballast")
        os.makedirs(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", path], check=True)

    def fill(self, but=0):
        """Up to the last byte, or `but` so many."""
        with open(self.ballast, "wb", buffering=0) as out:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        out.write(b"\0" * size)
                except OSError:
                    pass
            out.truncate(max(0, out.tell() - but))

    def free(self):
        if os.path.exists(self.ballast):
            os.unlink(self.ballast)

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=False, capture_output=True)


class Node(Server):
    """One node: its place in the network, its directory, its processes."""

    def __init__(self, cluster, name, disk=None):
        self.cluster = cluster
        self.name = name
        self.disk = disk
        host, http_port, self.raft_port, prefix = cluster.network.place(name)
        self.way_in = prefix
        self.clock = None
        super().__init__(cluster.binary, os.path.join(disk.path if disk else cluster.folder, f"{name}.data"),
                         port=http_port, host=host)
        self.log_path = os.path.join(cluster.folder, f"{name}.log")
        self.peers = []
        self.more = []
        self.stopped = False

    @property
    def raft(self):
        return f"{self.host}:{self.raft_port}"

    @property
    def address(self):
        return self.host, self.port

    def spawn(self):
        self.flags = ["--cluster", "--raft", self.raft, "--node", self.name] + SMALL_LOG
        if self.peers:
            self.flags += ["--peers", ",".join(self.peers)]
        if self.host != "127.0.0.1":
            self.flags += ["--insecure"]
        self.flags += self.cluster.flags + self.more
        self.prefix = list(self.way_in)
        self.flags += self.cluster.secrets.flags(self.name) if self.cluster.secrets else []
        if self.clock:
            self.prefix += self.clock.prefix()
        super().spawn()

    def client(self, timeout=20.0):
        return Client(self.port, timeout, self.host)

    def call(self, method, path, body=None, timeout=10.0, headers=None):
        """A call on a connection of its own, below /api/v1."""
        return one_call(self.port, method, API + path, body, timeout, headers, self.host)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stopped = True

    def go_on(self):
        self.stopped = False
        if self.running():
            self.process.send_signal(signal.SIGCONT)

    def wipe(self):
        """The disk is lost with everything on it."""
        shutil.rmtree(self.data_dir, ignore_errors=True)

    def may_jump(self):
        """From its next start its wall clock can be set."""
        self.clock = WrongClock(self.cluster.folder, self.name)

    def set_clock(self, seconds):
        self.clock.set(seconds)

    def close(self):
        if self.running():
            self.process.send_signal(signal.SIGCONT)
        super().close()


class Cluster:
    """`disks` names nodes (by number, from 0) that get a small disk of their own; that needs root.

    `clocks` names those whose wall clock can be set. `proof` is how nodes know one another: None, "secret" or "tls".
    """

    def __init__(self, binary, count=3, namespaces=False, folder=None, flags=(), disks=(), clocks=(), proof=None):
        self.binary = binary
        self.flags = list(flags)
        self.folder = tempfile.mkdtemp(prefix="jobbie-cluster-", dir=folder)
        self.network = Namespaces() if namespaces else Loopback()
        self.secrets = {None: lambda _: None, "secret": Secret, "tls": Certificates}[proof](self.folder)
        self.nodes = []
        self.disks = []
        try:
            for number in range(count):
                self.place(number in disks)
                if number in clocks:
                    self.nodes[-1].may_jump()
            self.introduce()
        except BaseException:
            self.close()
            raise

    def place(self, own_disk=False):
        """One more node, not started."""
        name = f"n{len(self.nodes) + 1}"
        disk = None
        if own_disk:
            disk = Disk(os.path.join(self.folder, f"{name}.disk"))
            self.disks.append(disk)
        self.nodes.append(Node(self, name, disk))
        return self.nodes[-1]

    def introduce(self):
        for node in self.nodes:
            node.peers = [other.raft for other in self.nodes if other is not node]

    def start(self, *nodes):
        for node in nodes or self.nodes:
            node.spawn()
        if not nodes:
            self.wait_serving()
        return self

    def close(self):
        for node in self.nodes:
            node.close()
        for disk in self.disks:
            disk.close()
        self.network.close()

    def discard(self):
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def named(self, name):
        return next(node for node in self.nodes if node.name == name)

    def awake(self):
        return [node for node in self.nodes if node.running() and not node.stopped]

    def leader(self, among=None, within_s=FORMED_WITHIN_S):
        """The node that leads by its own word, with the highest term."""
        deadline = time.time() + within_s
        while True:
            best = None
            for node in among or self.awake():
                status = node.status()
                if status and status["role"] == "leader" and (best is None or status["term"] > best[0]):
                    best = (status["term"], node)
            if best:
                return best[1]
            if time.time() > deadline:
                raise ServerError(f"no leader within {within_s} s:\n{self.tails()}")
            time.sleep(0.02)

    def followers(self, among=None):
        leader = self.leader(among)
        return [node for node in among or self.awake() if node is not leader]

    def tails(self, lines=6):
        return "\n".join(f"-- {node.name}\n{node.tail(lines)}" for node in self.nodes)

    def wait(self, what, within_s=15.0, message=""):
        """Until `what()` is true; gives it."""
        deadline = time.time() + within_s
        while not (found := what()):
            if time.time() > deadline:
                raise ServerError(f"{message or what} not within {within_s} s:\n{self.tails()}")
            time.sleep(0.02)
        return found

    def serves(self, node):
        """A write through this node is committed. It is one that leaves nothing behind."""
        try:
            return node.call("POST", "/heartbeat", {"worker_id": "probe", "jobs": {}}, timeout=8).status == 200
        except (NotSent, Broken):
            return False

    def wait_serving(self, nodes=None, within_s=FORMED_WITHIN_S):
        began = time.time()
        for node in nodes or self.nodes:
            while not self.serves(node):
                if node.process.poll() is not None:
                    raise ServerError(f"{node.name} ended with {node.process.returncode}:\n{node.tail()}")
                if time.time() - began > within_s:
                    raise ServerError(f"{node.name} does not serve within {within_s} s:\n{self.tails()}")
                time.sleep(0.02)
        return time.time() - began

    def agree(self, nodes=None, within_s=TRUCE_S):
        """Waits until all have applied the same index; the states, which must be the same then."""
        deadline = time.time() + within_s
        while True:
            states = [node.status() for node in nodes or self.nodes]
            if all(states) and len({state["applied_index"] for state in states}) == 1 and \
                    states[0]["applied_index"] >= max(state["commit_index"] for state in states):
                return states
            if time.time() > deadline:
                shown = [(s["node"], s["applied_index"], s["commit_index"], s["role"]) if s else None
                         for s in states]
                raise ServerError(f"not at one index within {within_s} s: {shown}\n{self.tails()}")
            time.sleep(0.05)

    def catch_up(self, within_s=TRUCE_S):
        """Waits until all have applied what is committed now, also while more is written."""
        index = self.leader().status()["commit_index"]
        for node in self.nodes:
            self.wait(lambda: (node.status() or {"applied_index": -1})["applied_index"] >= index, within_s,
                      f"{node.name} has applied {index}")

    def cut(self, one, other, by_route=False):
        """Neither hears the other."""
        self.network.cut(one.host, other.host, by_route)
        self.network.cut(other.host, one.host, by_route)

    def cut_one_way(self, to, source, by_route=False):
        self.network.cut(to.host, source.host, by_route)

    def split(self, *sides, by_route=False):
        """Nodes of one side hear one another and nobody else."""
        for number, side in enumerate(sides):
            for others in sides[number + 1:]:
                for one in side:
                    for other in others:
                        self.cut(one, other, by_route)

    def heal(self):
        self.network.heal()
        for node in self.nodes:
            if node.stopped:
                node.go_on()
            if node.disk:
                node.disk.free()
