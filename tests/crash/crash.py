#!/usr/bin/env python3
"""Kills a server again and again under load, and audits what its clients were told.

    crash.py --binary build/release/jobbie --kills 300 [--seed N]

Kills come in epochs. At the end of each the faults stop, every job must end, the server is killed once
more at rest and then stopped; the auditor compares the history with the database file. The seed decides
what clients and killer do; the exit code is 1 if anything was found, and the data stays for a look.
"""

import argparse
import os
import pickle
import random
import shutil
import sys
import tempfile
import threading
import time

from audit import Audit
from chaos import Chaos
from client import Client
from evidence import ask_jobs, count_jobs, read_database
from history import BATCH, ENQUEUE, OK, History, Status
from producers import LONGEST_BACKOFF_S, LONGEST_DELAY_S, Producer
from server import Server, ServerError
from workers import LONGEST_LEASE_S, Worker
from workload import World
from wrong_clock import WrongClock

PRODUCERS, WORKERS = 4, 5
# I10: lease + longest backoff + 5 s, after the last scheduled start.
HEALED_WITHIN_S = LONGEST_LEASE_S + LONGEST_BACKOFF_S + LONGEST_DELAY_S + 5.0
SHOWN_FINDINGS = 25


class Watcher(threading.Thread):
    """Asks for the node's status all the time."""

    def __init__(self, server, history, world):
        super().__init__(daemon=True)
        self.server, self.history, self.world = server, history, world

    def run(self):
        while self.world.running:
            look(self.server, self.history)
            time.sleep(0.03)


def look(server, history):
    """One status, recorded if the same process was there before and after."""
    life, at = server.life, time.time()
    status = server.status()
    if status is None or server.life != life or not server.running():
        return None
    if status.get("role") == "forming":
        return None  # a node without a log has no state
    found = Status(life, at, status["applied_index"], status["state_hash"], status["stored_index"],
                   status["durable_index"], server.name, status.get("term", 0))
    history.add_status(found)
    return found


class Run:
    """One run of the harness."""

    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="jobbie-crash-", dir=options.work)
        self.history = History()
        self.random = random.Random(f"{options.seed}:chaos")
        self.server = Server(options.binary, os.path.join(self.folder, "data"),
                             flags=["--segment-bytes", str(options.segment_bytes)] + options.flag)
        self.world = World(self.server.port, self.history, options.seed, options.rate)
        clock = WrongClock(self.folder, "server") if options.clocks else None
        if clock:
            self.server.prefix = clock.prefix()
            self.world.clocks_jump = True
        self.chaos = Chaos(self.server, self.world, self.history, self.random, clock)
        self.actors = [Producer(self.world, f"producer-{i}") for i in range(PRODUCERS)]
        self.actors += [Worker(self.world, f"worker-{i}") for i in range(WORKERS)]
        self.findings = []
        self.totals = {"calls": 0, "unknown": 0, "jobs": 0, "statuses": 0, "still": 0}
        self.last_seq = 0

    def go(self):
        try:
            self.server.start()
            self.probe()
            for actor in self.actors + [Watcher(self.server, self.history, self.world)]:
                actor.start()
            left = self.options.kills
            while left > 0 and not self.findings:
                kills = min(left, self.options.epoch)
                self.epoch(kills)
                left -= kills
                print(f"  {self.options.kills - left} kills, {self.totals['jobs']} jobs, "
                      f"{self.totals['calls']} calls", flush=True)
        except (ServerError, TimeoutError) as error:
            self.findings.append(f"server: {error}")
        finally:
            self.world.running = False
            self.server.close()
        return self.findings

    def probe(self):
        """Which endpoints this server has."""
        client = Client(self.server.port)
        answer = client.post("/api/v1/jobs/job_00000000000000000000000001/cancel", {})
        self.world.can_cancel = answer.code not in ("no_such_endpoint", "method_not_allowed")
        client.close()

    def epoch(self, kills):
        world = self.world
        world.producing, world.kind, world.resting = True, False, False
        for _ in range(kills):
            self.chaos.cycle()
        world.producing, world.kind = False, True
        self.heal()
        world.rest()
        for actor in self.actors:
            actor.forget()
        self.audit()
        if not self.findings:
            self.chaos.start()

    def heal(self):
        """Faults are over: every job must end in time."""
        # Log time may run at half speed.
        deadline = time.time() + HEALED_WITHIN_S * (2 if self.world.clocks_jump else 1)
        while time.time() < deadline:
            status = self.server.status()
            asked_again = any(actor.again for actor in self.actors if isinstance(actor, Producer))
            if status is not None and status["live_jobs"] == 0 and not asked_again:
                return
            if not self.server.running():
                raise ServerError(f"ended by itself:\n{self.server.tail()}")
            time.sleep(0.05)
        # The auditor names the jobs.

    def audit(self):
        told = {}
        taken = self.history.take()
        ids = set()
        for call in taken.calls:
            if call.outcome == OK and call.kind == ENQUEUE:
                ids.add(call.reply["job_id"])
            elif call.outcome == OK and call.kind == BATCH:
                ids.update(call.reply["job_ids"])
        told = ask_jobs(self.server.port, sorted(ids))
        self.kill_at_rest(taken)
        self.server.stop()
        code, text = self.server.check_database()
        if code != 0:
            self.findings.append(f"I16: db check ended with {code}: {text.strip()}")
        finals, self.last_seq = read_database(self.server.data_dir, self.last_seq)
        missing = {job_id for job_id in ids if job_id not in told}
        self.findings += [f"I1: {job_id} was acknowledged, and GET does not find it" for job_id in missing]
        self.findings += Audit(taken, finals, told, self.world.clocks_jump).run()
        self.findings += [f"refused: {what} ({count} times)" for what, count in self.world.refusals.items()]
        self.findings += [f"harness: {text}" for text in self.world.crashes]
        self.count(taken, finals)
        if self.findings:
            with open(os.path.join(self.folder, "history.pickle"), "wb") as out:
                pickle.dump((taken.calls, taken.statuses, taken.stops, finals, told), out)

    def kill_at_rest(self, taken):
        """Nothing is going on: what is reloaded after a kill is the very same state."""
        before = look(self.server, taken)
        self.server.kill()
        self.chaos.start()
        after = look(self.server, taken)
        if before is None or after is None:
            raise ServerError("no status at rest")
        # The new leader's own entry is empty. More than that, and a timer has gone off.
        if after.index <= before.index + 1:
            self.totals["still"] += 1
            if after.hash != before.hash:
                self.findings.append(f"I4: hash {before.hash} at {before.index} before the kill, {after.hash} at "
                                     f"{after.index} after it")

    def count(self, taken, finals):
        self.totals["calls"] += len(taken.calls)
        self.totals["unknown"] += sum(1 for call in taken.calls if call.outcome == "unknown")
        self.totals["jobs"] += len(finals)
        self.totals["statuses"] += len(taken.statuses)
        kept = count_jobs(self.server.data_dir)
        if kept != self.totals["jobs"]:
            self.findings.append(f"I1: {self.totals['jobs']} jobs were seen in all, the database holds {kept}")

    def summary(self):
        starts = sorted(self.chaos.starts_s) or [(0.0, "", 0)]
        print(f"kills by moment: {self.chaos.counts}, met: {self.chaos.met}")
        print(f"totals: {self.totals}; starts: median {starts[len(starts) // 2][0] * 1000:.0f} ms, "
              f"longest {starts[-1][0] * 1000:.0f} ms (start {starts[-1][2]}, after {starts[-1][1]})")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="command line of the server program")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--epoch", type=int, default=60, help="kills between two audits")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--segment-bytes", type=int, default=4 << 20)
    parser.add_argument("--rate", type=float, default=1.0, help="how busy producers are")
    parser.add_argument("--clocks", action="store_true", help="the server's wall clock jumps, by up to a day")
    parser.add_argument("--work", default=None, help="folder for the data; the system's for temporary files")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for the server")
    parser.add_argument("--keep", action="store_true", help="keep the data also when nothing was found")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    return options


def main(arguments=None):
    options = parse(arguments)
    print(f"seed {options.seed}: {options.kills} kills of {options.binary}", flush=True)
    run = Run(options)
    began = time.time()
    findings = run.go()
    run.summary()
    for finding in findings[:SHOWN_FINDINGS]:
        print(finding)
    if findings:
        print(f"{len(findings)} findings with seed {options.seed}; the data is in {run.folder}")
        return 1
    if not options.keep:
        shutil.rmtree(run.folder, ignore_errors=True)
    print(f"nothing found in {time.time() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
