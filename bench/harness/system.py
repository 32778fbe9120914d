"""A system under measurement: how it is had, started, asked whether it is ready, and stopped."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

from harness import machine

START_LIMIT_S = 120
STOP_LIMIT_S = 60
READY_POLL_S = 0.005
# Above what any load may take beside its own time: warm-up, emptying the queue, starting Node.
LOAD_MARGIN_S = 150


class Unavailable(Exception):
    """The system cannot be had here; the text says why."""


class LoadFailed(Exception):
    """A load did not come to its end."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def first_complaint(text):
    """The line that says what went wrong, without the trace that follows it."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    named = [line for line in lines if "rror" in line.split(":")[0]]
    return (named or lines or ["no word"])[0][:200]


def installed(package):
    seen = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package],
                          capture_output=True, text=True, check=False)
    return seen.stdout == "installed"


def ensure_packages(*packages):
    """Installs what is missing of these Debian packages."""
    if not shutil.which("dpkg-query"):
        raise Unavailable("not a Debian system")
    missing = [package for package in packages if not installed(package)]
    if not missing:
        return
    if os.geteuid() == 0:
        root = []
    elif shutil.which("sudo"):
        root = ["sudo"]
    else:
        raise Unavailable(f"{' '.join(missing)} not installed, and no root")
    say(f"== installing {' '.join(missing)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    command = root + ["apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y",
                      "--no-install-recommends", *missing]
    subprocess.run(root + ["apt-get", "update"], stdout=sys.stderr, check=False)
    if subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode != 0:
        raise Unavailable(f"{' '.join(missing)} could not be installed")


class Context:
    """Where things are, for all systems of a run."""

    def __init__(self, root, directory, bench_load, jobbie):
        self.root = root
        self.directory = directory
        self.bench_load = bench_load
        self.jobbie = jobbie
        self.peers = root / "build" / "bench-peers"
        self._peers_ready = False

    def client_version(self, package):
        """As bench/peers/package.json pins it."""
        text = (self.root / "bench" / "peers" / "package.json").read_text(encoding="utf-8")
        return json.loads(text)["dependencies"][package]

    def ensure_node(self):
        """Installs the Node clients, pinned by the lock file, into the build folder."""
        if self._peers_ready:
            return
        if not shutil.which("npm"):
            ensure_packages("nodejs", "npm")
        sources = self.root / "bench" / "peers"
        self.peers.mkdir(parents=True, exist_ok=True)
        lock = self.peers / "package-lock.json"
        fresh = not (self.peers / "node_modules").is_dir() or not lock.is_file() or \
            lock.read_bytes() != (sources / "package-lock.json").read_bytes()
        for source in sources.iterdir():
            shutil.copy(source, self.peers / source.name)
        if fresh:
            say("== npm ci for the clients of the peers")
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                                  cwd=self.peers, stdout=sys.stderr, stderr=sys.stderr, check=False)
            if done.returncode != 0:
                lock.unlink(missing_ok=True)
                raise Unavailable("npm ci failed")
        self._peers_ready = True


class System:
    """One configuration of one product. Subclasses fill in the words and the commands."""

    name = ""         # on the command line and in JSON
    title = ""        # in the table
    durability = ""   # what an acknowledgement means
    synced = True     # what it has confirmed survives a power cut
    client = ""       # who makes the load
    dialect = ""      # of bench_load; empty: `script` is run by Node
    script = ""
    package = ""      # that the script uses
    put_batch = 1000  # jobs in one enqueue
    take_batch = 0    # jobs in one fetch where the system has that, else 0
    batches = ""      # what a batch is in this system
    merges = False    # ack and the next fetch can go in one request or one write
    backlog = True    # fast enough to fill a million jobs

    def __init__(self, context):
        self.context = context
        self.process = None
        self.port = 0
        self.data = None
        self.log = None

    def all_versions(self):
        """Of the server and, where it is part of the figure, of the client."""
        if self.dialect:
            return self.version()
        return f"{self.version()}, {self.client} {self.context.client_version(self.package)}"

    # For subclasses.

    def ensure(self):
        """Makes the system available or raises Unavailable."""

    def version(self):
        return ""

    def prepare(self):
        """Before the first start with a new data folder."""

    def command(self):
        raise NotImplementedError

    def environment(self):
        return None

    def user(self):
        return None

    def is_ready(self):
        raise NotImplementedError

    def set_up(self):
        """After the first start: queues and the like."""

    def after_stop(self):
        """Whatever the system started beside its own process."""

    # The life of the server.

    def start_fresh(self):
        """A server with an empty data folder."""
        self.stop()
        if self.data:
            shutil.rmtree(self.data, ignore_errors=True)
        self.data = pathlib.Path(self.context.directory) / self.name
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(mode=0o755)
        self.port = machine.free_port()
        self.prepare()
        self.start()
        self.set_up()

    def start(self):
        """Starts on the data that is there; returns the seconds until it was ready."""
        self.log = open(self.data.parent / f"{self.name}.log", "ab")
        begin = time.monotonic()
        self.process = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=self.data,
            env=self.environment(), start_new_session=True, **(self.user() or {}))
        while not self.answers():
            if self.process.poll() is not None:
                raise LoadFailed(f"the server ended at once: {self.last_words()}")
            if time.monotonic() - begin > START_LIMIT_S:
                raise LoadFailed(f"the server was not ready after {START_LIMIT_S} s")
            time.sleep(READY_POLL_S)
        return time.monotonic() - begin

    def answers(self):
        try:
            return self.is_ready()
        except (OSError, ValueError, IndexError):
            return False

    def last_words(self):
        text = (self.data.parent / f"{self.name}.log").read_text(encoding="utf-8", errors="replace")
        lines = text.strip().splitlines()
        return lines[-1][:200] if lines else "no word"

    def stop(self, kill=False):
        if not self.process:
            return
        tree = machine.process_tree(self.process.pid) if kill else [self.process.pid]
        for pid in tree:
            try:
                os.kill(pid, signal.SIGKILL if kill else self.stop_signal())
            except ProcessLookupError:
                pass
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        self.log.close()
        self.after_stop()

    def stop_signal(self):
        return signal.SIGTERM

    def close(self):
        self.stop(kill=True)
        if self.data:
            shutil.rmtree(self.data, ignore_errors=True)

    # The load.

    def load(self, mode, **options):
        """Runs one load against the server and returns its figures, with the server's time added."""
        if self.dialect:
            command = [str(self.context.bench_load), "--dialect", self.dialect]
        else:
            command = ["node", str(self.context.peers / self.script)]
        command += ["--mode", mode, "--port", str(self.port)]
        for name, value in options.items():
            if value is True:
                command.append(f"--{name.replace('_', '-')}")
            elif value is not False:
                command += [f"--{name.replace('_', '-')}", str(value)]
        limit = options.get("seconds", 5) + LOAD_MARGIN_S
        begin = self.spent()
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
        except subprocess.TimeoutExpired as error:
            raise LoadFailed(f"{mode} did not end within {limit:.0f} s") from error
        if done.returncode != 0:
            raise LoadFailed(f"{mode}: {first_complaint(done.stderr or done.stdout)}")
        spent = [after - before for before, after in zip(begin, self.spent())]
        figures = json.loads(done.stdout)
        wall, server, client, busy, stolen = spent
        figures["server_cpu_seconds"] = round(server, 3)
        figures["server_cores"] = round(server / wall, 3)
        # The rest of the machine's time: other programs, and what the host took away.
        figures["others_share"] = round(max(0, busy + stolen - server - client) / (wall * os.cpu_count()), 3)
        return figures

    def spent(self):
        """Seconds so far: by the clock, of the server, of ended loads, of the machine, taken by the host."""
        loads = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (time.monotonic(), machine.cpu_seconds(self.process.pid), loads.ru_utime + loads.ru_stime,
                *machine.all_cpu_seconds())

    def fill(self, jobs, limit_s):
        """Adds that many jobs as fast as the system takes them; False if that takes too long."""
        done = self.load("enqueue", jobs=jobs, put_batch=min(jobs, self.put_batch), producers=4, warm_up=0,
                         seconds=limit_s)
        return done["enqueued"] >= jobs

    def memory(self):
        return machine.memory_bytes(self.process.pid)


def ask(port, request, enough, timeout=2.0):
    """Sends bytes and reads until `enough(answer)` or the end of time."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        if request:
            connection.sendall(request)
        answer = b""
        while not enough(answer):
            more = connection.recv(65536)
            if not more:
                break
            answer += more
        return answer
