"""One hostile case: a server, somebody who attacks it with a restricted key, and others who go on working.

Attackers and the others are processes of their own, so that this interpreter's lock is nobody's latency. The
others' calls are timed one by one; the server's memory is read from the kernel. At the end the server is told
to stop while the attack still goes on, which it must do in time.
"""

import json
import multiprocessing
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "crash"))

from client import Broken, Client, NotSent  # noqa: E402
from server import Server, ServerError  # noqa: E402

API = "/api/v1"
MIB = 1 << 20
ADMIN = "hostile-admin-secret-0123456789"
OTHERS = "hostile-others-secret-0123456789"
TENANT = "hostile-tenant-secret-0123456789"
OPERATOR = "hostile-operator-secret-0123456789"
KEYS = (f"root:admin::{ADMIN}\noperator:produce,work,manage::{OPERATOR}\nothers:produce,work:others.*:{OTHERS}\n"
        f"tenant:produce,work,manage:mail.*:{TENANT}\n")

fork = multiprocessing.get_context("fork")


class Api:
    """Calls with one key. Counts what was answered; a connection that broke is counted and made anew."""

    def __init__(self, port, key, timeout=60.0):
        self.client = Client(port, timeout)
        self.port = port
        self.headers = {"Authorization": f"Bearer {key}"}
        self.statuses = {}
        self.surprises = []

    def call(self, method, path, body=None, timeout=None, headers=None):
        """The answer, or None where the connection broke."""
        try:
            answer = self.client.call(method, path, body, headers=dict(self.headers, **(headers or {})),
                                      timeout=timeout)
        except (Broken, NotSent):
            self.count("broken")
            time.sleep(0.02)
            return None
        self.count(answer.status)
        if answer.status == 500 or answer.status >= 600:
            self.surprises.append(f"{method} {path}: {answer.status} {answer.body[:200]!r}")
        return answer

    def count(self, status):
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def get(self, path, **more):
        return self.call("GET", API + path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", API + path, body, **more)

    def need(self, answer, *statuses):
        """For preparations: anything else is an error of the test."""
        if answer is None or answer.status not in (statuses or (200, 201, 202, 204)):
            raise AssertionError("preparing: the connection broke" if answer is None else
                                 f"preparing: {answer.status} {answer.body[:300]!r}")
        return answer.json

    def raw(self, method, path, body=b""):
        """The bytes of a request, for those who send it in their own way."""
        head = f"{method} {API}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {self.headers['Authorization']}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return head.encode() + b"\r\n" + body


def encode(value):
    return json.dumps(value, separators=(",", ":")).encode()


class Case:
    """What one kind of caller may do. Subclasses say how it attacks and what that may cost."""

    title = ""
    covers = ()  # operations of the API that are sent here at their documented maximum
    attackers = 4
    key = TENANT
    memory_mb = 64  # that the attack may add to what the server had before it
    flags = ()
    descriptors = None  # limit of the server's open files
    others_search = False  # the others search too
    others_refused = ()  # statuses that the others may be told beside success

    def prepare(self, admin):
        """By an administrator, before anybody is watched."""

    def attack(self, tenant, number, running):
        """In a process of its own; ends soon after `running()` says no."""
        raise NotImplementedError

    def check(self, admin):
        """After the attack, while the server still runs. Raises AssertionError."""


class Others:
    """A process that enqueues, fetches and acks on a queue of its own and times every call."""

    PAUSE_S = 0.004
    PATIENCE_S = 30.0

    def __init__(self, port, search, refused):
        self.port, self.search, self.refused = port, search, refused
        self.mine, theirs = fork.Pipe()
        self.process = fork.Process(target=self.run, args=(theirs,), daemon=True)
        self.process.start()

    def run(self, pipe):
        api = Api(self.port, OTHERS, timeout=self.PATIENCE_S)
        job = encode({"queue": "others.q", "payload": {"n": 1}})
        fetch = encode({"queues": ["others.q"], "worker_id": "others", "timeout": 0})
        find = encode({"queue": "others.q", "state": "pending", "limit": 1})
        calls, failures = [], []

        def timed(kind, path, body):
            began = time.monotonic()
            answer = api.post(path, body)
            calls.append((kind, began, (time.monotonic() - began) * 1000))
            if answer is None or (answer.status >= 400 and answer.status not in self.refused):
                failures.append(f"{kind}: {answer.status if answer else 'broken'}")
            return answer

        while not pipe.poll():
            timed("enqueue", "/enqueue", job)
            answer = timed("fetch", "/fetch", fetch)
            if answer is not None and answer.status == 200:
                timed("ack", f"/ack/{answer.json['job_id']}", b"{}")
            if self.search:
                timed("search", "/jobs/search", find)
            time.sleep(self.PAUSE_S)
        pipe.send((calls, failures))

    def finish(self):
        """All calls: (kind, when it began, how long it took in ms), and what failed."""
        self.mine.send("stop")
        if not self.mine.poll(self.PATIENCE_S + 10):
            self.process.kill()
            raise AssertionError("the others did not come back")
        found = self.mine.recv()
        self.process.join()
        return found


class Memory:
    """The server's resident memory, and its peak since reset()."""

    def __init__(self, pid):
        self.path = f"/proc/{pid}/statm"
        self.peak = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def now_mb(self):
        try:
            with open(self.path, encoding="ascii") as statm:
                return int(statm.read().split()[1]) * resource.getpagesize() / MIB
        except (OSError, IndexError):
            return 0.0

    def reset(self):
        self.peak = self.now_mb()
        return self.peak

    def run(self):
        while not self.stopped.wait(0.02):
            self.peak = max(self.peak, self.now_mb())

    def stop(self):
        self.stopped.set()
        self.thread.join()


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


class Verdict:
    def __init__(self, case):
        self.title = case.title
        self.p99_ms = self.max_ms = self.before_mb = self.peak_mb = self.stop_s = 0.0
        self.calls = 0
        self.statuses = {}
        self.faults = []

    def row(self):
        answers = " ".join(f"{status}:{count}" for status, count in sorted(self.statuses.items(), key=str))
        return (f"{self.title:58} {self.p99_ms:8.1f} {self.max_ms:8.0f} {self.calls:6d} {self.before_mb:6.0f} "
                f"{self.peak_mb:6.0f} {self.stop_s:5.1f}  {answers}")


HEADER = f"{'case':58} {'p99 ms':>8} {'max ms':>8} {'calls':>6} {'MB':>6} {'peak':>6} {'stop':>5}  answers to the attacker"


def run_case(case, binary, seconds, bounds):
    """Runs one case on a server of its own."""
    verdict = Verdict(case)
    folder = tempfile.mkdtemp(prefix="jobbie-hostile-")
    keys = os.path.join(folder, "keys")
    with open(os.open(keys, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as out:
        out.write(KEYS)
    prefix = ["prlimit", f"--nofile={case.descriptors}:{case.descriptors}"] if case.descriptors else []
    server = Server(binary, os.path.join(folder, "data"), flags=["--auth-keys-file", keys, *case.flags], prefix=prefix)
    attackers = []
    stop = fork.Event()
    try:
        server.start()
        admin = Api(server.port, ADMIN)
        admin.need(admin.post("/enqueue", {"queue": "others.q"}), 201)  # so that the queue is there
        case.prepare(admin)
        results = fork.SimpleQueue()
        attackers = [fork.Process(target=attacker, args=(case, server.port, number, stop, results), daemon=True)
                     for number in range(case.attackers)]
        attack_and_watch(case, server, admin, attackers, seconds, bounds, verdict)
        end_all(server, stop, attackers, results, verdict)
    except (AssertionError, ServerError) as fault:
        verdict.faults.append(str(fault))
    finally:
        stop.set()
        for process in attackers:
            if process.pid and process.is_alive():
                process.kill()
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    return verdict


def attacker(case, port, number, stop, results):
    tenant = Api(port, case.key)
    deadline = time.monotonic() + 300  # whatever becomes of the parent

    def running():
        return not stop.is_set() and time.monotonic() < deadline

    try:
        case.attack(tenant, number, running)
    except (Broken, NotSent, OSError):
        tenant.count("broken")
    results.put((tenant.statuses, tenant.surprises))


def attack_and_watch(case, server, admin, attackers, seconds, bounds, verdict):
    memory = Memory(server.process.pid)
    others = Others(server.port, case.others_search, case.others_refused)
    try:
        time.sleep(0.5)  # the others at their usual pace
        verdict.before_mb = memory.reset()
        began = time.monotonic()
        for process in attackers:
            process.start()
        time.sleep(seconds)
        calls, failures = others.finish()
    finally:
        memory.stop()
    verdict.peak_mb = memory.peak
    during = [ms for _, at, ms in calls if at + ms / 1000 > began]
    verdict.calls = len(during)
    verdict.p99_ms, verdict.max_ms = percentile(during, 0.99), max(during, default=0.0)
    if failures:
        verdict.faults.append(f"{len(failures)} calls of others failed: {', '.join(sorted(set(failures)))}")
    if verdict.max_ms > bounds.max_ms:
        worst = max(calls, key=lambda call: call[2])
        verdict.faults.append(f"another client's {worst[0]} took {verdict.max_ms:.0f} ms (at most {bounds.max_ms})")
    if verdict.p99_ms > bounds.p99_ms:
        verdict.faults.append(f"others' p99 was {verdict.p99_ms:.1f} ms (at most {bounds.p99_ms})")
    grown = verdict.peak_mb - verdict.before_mb
    if grown > case.memory_mb * bounds.memory_factor:
        verdict.faults.append(f"memory grew by {grown:.0f} MB (at most {case.memory_mb * bounds.memory_factor:.0f})")
    if not server.running():
        raise AssertionError(f"the server ended with code {server.process.returncode}:\n{server.tail()}")
    case.check(admin)


def end_all(server, stop, attackers, results, verdict):
    """SIGTERM in the middle of the attack, then the end of the attackers."""
    began = time.monotonic()
    server.stop()
    verdict.stop_s = time.monotonic() - began
    stop.set()
    for _ in attackers:
        deadline = time.monotonic() + 20
        while results.empty():
            if time.monotonic() > deadline:
                raise AssertionError("an attacker did not come back")
            time.sleep(0.01)
        statuses, surprises = results.get()
        for status, count in statuses.items():
            verdict.statuses[status] = verdict.statuses.get(status, 0) + count
        verdict.faults += surprises[:3]
