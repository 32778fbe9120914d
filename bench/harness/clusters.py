"""Systems of several processes on this machine: Jobbie with one node and with three, JetStream with three."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

from harness import machine
from harness.system import STOP_LIMIT_S, LoadFailed, System, Unavailable, say
from harness.systems import Jobbie, Nats, first_line, version_in

TOGETHER_LIMIT_S = 60
SETTLE_LIMIT_S = 15
POLL_S = 0.05
STEP_DOWNS = 20
# Debian's is older than the setting that syncs every write.
NATS_MODULE = "github.com/nats-io/nats-server/v2@v2.10.29"
NATS_BUILD_LIMIT_S = 900


def free_ports(count):
    """Below those that the kernel gives to clients: a node that is started again must find its own free."""
    held = []
    try:
        for port in random.sample(range(20_000, 32_000), 2_000):
            probe = socket.socket()
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.close()
                continue
            held.append(probe)
            if len(held) == count:
                return [one.getsockname()[1] for one in held]
    finally:
        for probe in held:
            probe.close()
    raise LoadFailed("no free ports")


class Nodes(System):
    """One system whose server is several processes. `port` is the one that the load goes to."""

    count = 3
    views = ("leader",)

    def __init__(self, context):
        super().__init__(context)
        self.ports, self.inner_ports, self.processes, self.logs = [], [], [], []
        self.helpers = []  # processes of the load, beside bench_load

    # For subclasses.

    def command_of(self, number):
        raise NotImplementedError

    def prepare_node(self, number):
        """Before its first start."""

    def together(self):
        """The number of the node that leads, once all are there; else None."""
        raise NotImplementedError

    def at_rest(self):
        """True once nothing is left of the load that was before."""
        return True

    # The life of the servers.

    def start_fresh(self):
        self.close()
        self.data = pathlib.Path(self.context.directory) / self.name
        self.data.mkdir(mode=0o755)
        ports = free_ports(2 * self.count)
        self.ports, self.inner_ports = ports[:self.count], ports[self.count:]
        self.port = self.ports[0]
        self.processes, self.logs = [None] * self.count, [None] * self.count
        for number in range(self.count):
            (self.data / str(number)).mkdir()
            self.prepare_node(number)
        for number in range(self.count):
            self.launch(number)
        self.wait_together()
        self.set_up()

    def log_path(self, number):
        return self.data / f"{number}.log"

    def launch(self, number):
        self.logs[number] = open(self.log_path(number), "ab")
        self.processes[number] = subprocess.Popen(
            self.command_of(number), stdin=subprocess.DEVNULL, stdout=self.logs[number],
            stderr=self.logs[number], cwd=self.data, start_new_session=True)

    def wait_together(self):
        """Until all serve and agree on who leads: that one's number."""
        end = time.monotonic() + TOGETHER_LIMIT_S
        while time.monotonic() < end:
            for number, process in enumerate(self.processes):
                if process is None or process.poll() is not None:
                    raise LoadFailed(f"node {number} has ended: {self.words_of(number)}")
            try:
                leader = self.together()
            except (OSError, ValueError, KeyError, IndexError):
                leader = None
            if leader is not None:
                return leader
            time.sleep(POLL_S)
        raise LoadFailed(f"the nodes did not come together within {TOGETHER_LIMIT_S} s")

    def settle(self):
        """A fetch that still waits for a client that is gone would take a job of the next load."""
        end = time.monotonic() + SETTLE_LIMIT_S
        while not self.at_rest():
            if time.monotonic() > end:
                say(f"   something of the last load is still there after {SETTLE_LIMIT_S} s")
                return
            time.sleep(POLL_S)

    def words_of(self, number):
        lines = self.log_path(number).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else "no word"

    def aim(self, view):
        """Lets the load go to the leader, or to another node."""
        leader = self.wait_together()
        self.port = self.ports[leader if view == "leader" else (leader + 1) % self.count]
        return leader

    def end_node(self, number, kill=False):
        process = self.processes[number]
        if not process:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.processes[number] = None
        self.logs[number].close()

    def stop(self, kill=False):
        for process in self.helpers:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.helpers = []
        for number in range(len(self.processes)):
            self.end_node(number, kill)

    def spent(self):
        """As for one server, with all nodes as the server and all that makes load as the load."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        nodes = sum(machine.cpu_seconds(process.pid) for process in self.processes if process)
        helpers = sum(machine.cpu_seconds(process.pid) for process in self.helpers)
        return (time.monotonic(), nodes, ended.ru_utime + ended.ru_stime + helpers, *machine.all_cpu_seconds())

    # The load beside bench_load.

    def start_helper(self, command):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.helpers.append(process)
        return process

    def start_commits(self, rate, seconds, after=0):
        return self.start_helper([
            sys.executable, str(pathlib.Path(__file__).with_name("commits.py")), "--dialect", self.dialect,
            "--port", str(self.port), "--rate", str(rate), "--seconds", str(seconds), "--after", str(after)])

    def finish_commits(self, process, limit_s):
        """What it measured, once it has come to its end by itself or by a signal."""
        try:
            out, _ = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            raise LoadFailed("the enqueues did not end in time") from error
        self.helpers.remove(process)
        seen = json.loads(out)
        if seen["failure"]:
            raise LoadFailed(f"enqueue: {seen['failure']}")
        return seen


class JobbieOne(Nodes, Jobbie):
    name = "jobbie-one"
    title = "Jobbie, one node"
    durability = "synced before the answer"
    count = 1
    extra = ()

    def command_of(self, number):
        return [str(self.context.jobbie), "server", "--data-dir", str(self.data / str(number)), "--http",
                f"127.0.0.1:{self.ports[number]}", *self.extra]

    def together(self):
        self.port = self.ports[0]
        return 0 if self.is_ready() else None

    def at_rest(self):
        return all(self.status(number)["waiting_fetches"] == 0 for number in range(self.count))

    def ask_node(self, number, path, timeout=5):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[number]}/{path}", timeout=timeout) as answer:
            return answer.read()

    def status(self, number, timeout=5):
        return json.loads(self.ask_node(number, "api/v1/cluster/status", timeout))


class JobbieThree(JobbieOne):
    name = "jobbie-three"
    title = "Jobbie, three nodes"
    durability = "synced by two of three before the answer"
    count = 3
    views = ("leader", "follower")

    def command_of(self, number):
        peers = [f"127.0.0.1:{port}" for other, port in enumerate(self.inner_ports) if other != number]
        return [*super().command_of(number), "--cluster", "--raft", f"127.0.0.1:{self.inner_ports[number]}",
                "--node", f"n{number}", "--peers", ",".join(peers)]

    def together(self):
        told = [self.status(number) for number in range(self.count)]
        leaders = {status["leader"] for status in told}
        connected = all(row["connected"] for status in told for row in status["nodes"])
        if len(leaders) != 1 or None in leaders or not connected or any(len(s["nodes"]) != self.count for s in told):
            return None
        return int(leaders.pop()[1:])


class NatsThree(Nodes, Nats):
    name = "nats-three"
    title = "NATS JetStream R3"
    durability = "written by two of three before the answer, synced every 2 minutes; acks not confirmed"
    replicas = 3
    sync = ""

    def ensure(self):
        if self.context.nats_server is None:
            self.context.nats_server = find_nats(self.context) or self.debians()
        if self.sync:
            self.check_setting()

    def debians(self):
        super().ensure()
        return "nats-server"

    def check_setting(self):
        probe = pathlib.Path(self.context.directory) / "probe.conf"
        probe.write_text(f"jetstream {{\n  {self.sync}\n}}\n", encoding="utf-8")
        done = subprocess.run([self.context.nats_server, "-t", "-c", str(probe)], capture_output=True, check=False)
        probe.unlink()
        if done.returncode != 0:
            raise Unavailable(f"nats-server {self.version()} does not know sync_interval")

    def version(self):
        return version_in(first_line(self.context.nats_server, "--version"))

    def prepare_node(self, number):
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in self.inner_ports)
        (self.data / f"{number}.conf").write_text(
            f"server_name: n{number}\nlisten: 127.0.0.1:{self.ports[number]}\nping_interval: \"10m\"\n"
            f"jetstream {{\n  store_dir: \"{self.data / str(number)}\"\n  max_file_store: 20GB\n  {self.sync}\n}}\n"
            f"cluster {{\n  name: bench\n  listen: 127.0.0.1:{self.inner_ports[number]}\n"
            f"  routes: [{routes}]\n}}\n", encoding="utf-8")

    def command_of(self, number):
        return [self.context.nats_server, "-c", str(self.data / f"{number}.conf")]

    def together(self):
        """Before there is a stream any node will do, as long as all answer and take requests."""
        for port in self.ports:
            self.port = port
            if "error" in self.request("$JS.API.INFO", {}):
                return None
        seen = self.request("$JS.API.STREAM.INFO.bench", {})
        if seen.get("error", {}).get("code") == 404:
            return 0
        cluster = seen["cluster"]
        whole = len(cluster["replicas"]) == self.count - 1 and all(one["current"] for one in cluster["replicas"])
        return int(cluster["leader"][1:]) if whole else None

    def set_up(self):
        end = time.monotonic() + TOGETHER_LIMIT_S
        while True:
            try:
                super().set_up()
                break
            except (Unavailable, OSError):
                # Until the nodes have found each other there is nobody who could place three copies.
                if time.monotonic() > end:
                    raise
                time.sleep(POLL_S)
        self.bring_consumer(self.wait_together())

    def at_rest(self):
        return self.request("$JS.API.CONSUMER.INFO.bench.bench", {}).get("num_waiting", 0) == 0

    def bring_consumer(self, leader):
        """The consumer shall be led where the stream is, so that both serve the load without a detour."""
        for _ in range(STEP_DOWNS):
            seen = self.request("$JS.API.CONSUMER.INFO.bench.bench", {}).get("cluster", {})
            if seen.get("leader") == f"n{leader}":
                return
            if seen.get("leader"):
                self.request("$JS.API.CONSUMER.LEADER.STEPDOWN.bench.bench", {})
            time.sleep(0.5)
        say("   the consumer is led by another node than the stream")


class NatsThreeSynced(NatsThree):
    name = "nats-three-always"
    title = "NATS JetStream R3, sync_interval: always"
    durability = "synced by two of three before the answer; acks not confirmed"
    synced = True
    sync = "sync_interval: always"


ALL = [JobbieOne, JobbieThree, NatsThree, NatsThreeSynced]


def find_nats(context):
    """A server that can sync every write: one that was built before, or is built now; else None."""
    folder = context.peers / "bin"
    program = folder / "nats-server"
    if program.is_file():
        return str(program)
    if not shutil.which("go"):
        return None
    say(f"== go install {NATS_MODULE}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(["go", "install", NATS_MODULE], env={**os.environ, "GOBIN": str(folder)},
                              stdout=sys.stderr, check=False, timeout=NATS_BUILD_LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    return str(program) if done.returncode == 0 and program.is_file() else None
