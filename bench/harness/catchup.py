"""A node that was away while much was written: how soon it is level, and what that costs the others."""

import http.client
import json
import random
import re
import signal
import string
import subprocess
import threading
import time

from harness.clusters import JobbieThree
from harness.system import LoadFailed, say

# A load that leaves the processors room; closed loops, so that whatever slows the leader shows in the rate.
PRODUCERS = 4
WORKERS = 4
COMMIT_RATE = 200
FILLERS = 4
FILL_PAYLOAD_BYTES = 4096
FILL_BATCH = 250
FILL_PAUSE_S = 0.05
RETAIN_BYTES = 256 << 20
SEGMENT_BYTES = 64 << 20
# A node is level when it has applied what was committed so long ago: less than a client would notice.
LEVEL_S = 0.1
POLL_S = 0.02
# The leader may be silent for long while it feeds a node: that is a figure, not a failure.
SILENCE_LIMIT_S = 120
LEAST_LIMIT_S = 120
LIMIT_S_PER_GIGABYTE = 300
COMPLETED = re.compile(rb'^jobbie_jobs_finished_total\{queue="bench",outcome="completed"\} (\S+)', re.MULTILINE)


class Away(JobbieThree):
    """Kept log decides how the node gets what it lacks: `by` is what that setting is meant to lead to."""

    def __init__(self, context, by, gigabytes):
        super().__init__(context)
        self.name = f"jobbie-away-{by}"
        size = int(gigabytes * 1e9)
        retain = min(RETAIN_BYTES, size // 4) if by == "snapshot" else 4 * size + RETAIN_BYTES
        segment = max(4 << 20, min(SEGMENT_BYTES, size // 16))
        self.extra = ("--log-retain-bytes", str(retain), "--segment-bytes", str(segment))


def completed(system, leader):
    found = COMPLETED.search(system.ask_node(leader, "metrics", SILENCE_LIMIT_S))
    return float(found.group(1)) if found else 0.0


class UnderLoad:
    """bench_load and one client more that measures, from the beginning of the block to its end."""

    def __init__(self, system, limit_s):
        self.system, self.limit_s = system, limit_s
        self.samples = []
        self.load = self.commits = None

    def __enter__(self):
        self.load = self.system.start_helper([
            str(self.system.context.bench_load), "--dialect", "jobbie", "--mode", "both", "--port",
            str(self.system.port), "--producers", str(PRODUCERS), "--workers", str(WORKERS), "--seconds",
            str(int(self.limit_s)), "--warm-up", "0"])
        self.commits = self.system.start_commits(COMMIT_RATE, self.limit_s)
        return self

    def check(self):
        if self.load.poll() is not None:
            raise LoadFailed("the load has ended before its time")

    def __exit__(self, kind, *_):
        # What the leader has done is read from its counters: the load's own words are not waited for.
        self.load.kill()
        self.load.communicate()
        self.system.helpers.remove(self.load)
        self.commits.send_signal(signal.SIGTERM)
        if kind is None:
            self.samples = self.system.finish_commits(self.commits, 60)["samples"]

    def between(self, begin, end):
        """p50, p99 and p99.9 in ms of the enqueues that were sent in that time."""
        took = sorted(took for at, took in self.samples if begin <= at < end)
        if not took:
            return {"p50": None, "p99": None, "p999": None, "samples": 0}
        at = {name: took[min(len(took) - 1, int(share * len(took)))] * 1000
              for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))}
        return {**at, "samples": len(took)}


class Phase:
    """A stretch of time with the leader's term and count of completed jobs at both ends."""

    def __init__(self, system, leader):
        self.system, self.leader = system, leader
        self.term, self.elections = system.status(leader, SILENCE_LIMIT_S)["term"], 0
        self.begin, self.count = time.monotonic(), completed(system, leader)
        self.end, self.rate = self.begin, 0.0

    def close(self):
        self.end = time.monotonic()
        self.rate = (completed(self.system, self.leader) - self.count) / (self.end - self.begin)
        self.elections = self.system.status(self.leader, SILENCE_LIMIT_S)["term"] - self.term
        return self

    def figures(self, load):
        return {"seconds": self.end - self.begin, "jobs_per_second": self.rate, "elections": self.elections,
                "enqueue_ms": load.between(self.begin, self.end)}


def for_seconds(system, leader, load, seconds):
    phase = Phase(system, leader)
    time.sleep(seconds)
    load.check()
    return phase.close()


def fill(system, leader, size, limit_s):
    """Writes so many bytes of payload to the leader; returns the seconds it took."""
    letters = random.Random(1).choices(string.ascii_letters + string.digits, k=FILL_PAYLOAD_BYTES)
    job = {"queue": "fill", "payload": "".join(letters)}
    body = json.dumps({"jobs": [job] * FILL_BATCH}).encode()
    left = [max(1, size // (FILL_PAYLOAD_BYTES * FILL_BATCH))]
    lock, trouble = threading.Lock(), []
    begin = time.monotonic()

    def work():
        client = http.client.HTTPConnection("127.0.0.1", system.ports[leader], timeout=60)
        while not trouble:
            with lock:
                if left[0] == 0:
                    return
                left[0] -= 1
            while (status := post(client, body)) in (429, 503) and time.monotonic() - begin < limit_s:
                time.sleep(FILL_PAUSE_S)
            if status not in (200, 201):
                trouble.append(f"an enqueue of {FILL_BATCH} jobs answered {status}")

    def guarded():
        try:
            work()
        except (OSError, http.client.HTTPException) as error:
            trouble.append(f"enqueue: {error}")

    threads = [threading.Thread(target=guarded, daemon=True) for _ in range(FILLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(1, begin + limit_s - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        trouble.append(f"the log was not filled within {limit_s:.0f} s")
    if trouble:
        raise LoadFailed(trouble[0])
    return time.monotonic() - begin


def post(client, body):
    client.request("POST", "/api/v1/enqueue/batch", body, {"Content-Type": "application/json"})
    answer = client.getresponse()
    answer.read()
    return answer.status


def until_stored(system, leader, limit_s):
    """Until the leader's database has all of it, so that its log may be cut and nothing else goes on."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        told = system.status(leader)
        if told["store_lag_rows"] == 0 and told["durable_index"] + 1000 >= told["commit_index"]:
            return
        time.sleep(0.1)
    say("   the leader's database is still behind its log")


def until_level(system, leader, away, load, limit_s):
    """Seconds from now until the node has applied what was committed a moment ago, None if it does not; and the
    longest that the leader took to say how it is."""
    begin, silence = time.monotonic(), 0.0
    committed = []
    while time.monotonic() - begin < limit_s:
        load.check()
        if system.processes[away].poll() is not None:
            raise LoadFailed(f"the node has ended: {system.words_of(away)}")
        asked = time.monotonic()
        commit = system.status(leader, SILENCE_LIMIT_S)["commit_index"]
        now = time.monotonic()
        silence = max(silence, now - asked)
        committed.append((now, commit))
        while len(committed) > 1 and committed[1][0] <= now - LEVEL_S:
            committed.pop(0)
        try:
            told = system.status(away, timeout=1)
        except (OSError, ValueError):
            told = {"applied_index": 0}
        if now - begin > LEVEL_S and told["applied_index"] >= committed[0][1]:
            return time.monotonic() - begin, silence
        time.sleep(POLL_S)
    return None, silence


def snapshot_bytes(system, away):
    """How large a snapshot the node has been sent since it was started; None if it went by the log."""
    for line in system.log_path(away).read_text(encoding="utf-8", errors="replace").splitlines():
        if '"snapshot_arrived"' in line:
            return json.loads(line)["bytes"]
    return None


def measure(system, gigabytes, seconds):
    limit_s = LEAST_LIMIT_S + LIMIT_S_PER_GIGABYTE * gigabytes
    system.start_fresh()
    leader = system.aim("leader")
    away = (leader + 1) % system.count
    with UnderLoad(system, limit_s) as whole_load:
        time.sleep(1)
        whole = for_seconds(system, leader, whole_load, seconds)
    system.end_node(away)
    before = system.status(leader)["commit_index"]
    filled = fill(system, leader, int(gigabytes * 1e9), limit_s)
    until_stored(system, leader, limit_s)
    entries = system.status(leader)["commit_index"] - before
    with UnderLoad(system, limit_s + 4 * seconds) as load:
        time.sleep(1)
        two = for_seconds(system, leader, load, seconds)
        catching_up = Phase(system, leader)
        system.launch(away)
        took, silence = until_level(system, leader, away, load, limit_s)
        catching_up.close()
        after = for_seconds(system, leader, load, seconds)
    size = snapshot_bytes(system, away)
    figures = {
        "gigabytes": gigabytes, "settings": " ".join(system.extra), "entries": entries,
        "fill_seconds": filled, "by": "log" if size is None else "snapshot", "snapshot_bytes": size,
        "seconds": took, "megabytes_per_second": gigabytes * 1000 / took if took else None,
        "leader_silent_seconds": silence, "three_level": whole.figures(whole_load), "two_of_three": two.figures(load),
        "catching_up": catching_up.figures(load), "level_again": after.figures(load)}
    base, during = figures["three_level"], figures["catching_up"]
    figures["rate_ratio"] = ratio(during["jobs_per_second"], base["jobs_per_second"])
    figures["p99_ratio"] = ratio(during["enqueue_ms"]["p99"], base["enqueue_ms"]["p99"])
    return figures


def ratio(one, other):
    return one / other if one is not None and other else None


def run(context, gigabytes, seconds, ways):
    """One row for each way; one that fails says why."""
    rows = []
    for by in ways:
        system = Away(context, by, gigabytes)
        say(f"== a node that was away for {gigabytes:g} GB, meant to go by {by}")
        try:
            row = measure(system, gigabytes, seconds)
            level = f"{row['seconds']:.1f} s" if row["seconds"] else "not in time"
            say(f"   level: {level}, by {row['by']}; written in {row['fill_seconds']:.1f} s; the leader was silent for "
                f"up to {row['leader_silent_seconds']:.2f} s")
        except (LoadFailed, OSError, ValueError, subprocess.SubprocessError) as error:
            say(f"   {error}")
            row = {"failure": str(error)}
        finally:
            system.close()
        rows.append({"meant": by, **row})
    return rows
