#!/usr/bin/env python3
"""Random faults in a cluster of real processes under load, and an audit of what clients were told.

    chaos.py --binary build/release/jobbie --faults 40 [--seed N] [--nodes 3|5] [--namespaces]

Faults come in epochs. At the end of each they stop, every job must end, all nodes must come to the same
state, their databases must hold the same jobs, and the auditor of tests/crash compares them with the
history of all calls. Without --namespaces (which needs root) the network stays whole. In every second
epoch, or with --clocks in all, wall clocks jump by up to a day; from then on the audit goes by the log's time.
A schedule runs every second, and two queues have limits. --secret and --tls are how nodes know one another.
The exit code is 1 if anything was found, and 77 if this machine cannot do what was asked for.
"""

import argparse
import dataclasses
import os
import pickle
import random
import sys
import threading
import time

import network
from cluster import Cluster, ServerError
from mishaps import Faults
from rules import Rules

import crash  # noqa: E402  of tests/crash, whose path cluster.py has added
from audit import Audit
from evidence import ask_jobs, count_jobs, read_database
from history import BATCH, BEAT, ENQUEUE, OK, REFUSED, UNKNOWN, History
from producers import Producer
from workers import Worker
from workload import World

PRODUCERS, WORKERS = 4, 5
EPOCH = 20
# Whoever becomes leader counts the time without one from its last sign of life, which a node that was
# just started knows to the second.
UNSURE_S = 1.2
QUIET_S = 0.1
REPEATED_S = 0.3
CANNOT = 77


class Watcher(threading.Thread):
    """Asks one node for its status all the time."""

    def __init__(self, node, history, world):
        super().__init__(daemon=True)
        self.node, self.history, self.world = node, history, world

    def run(self):
        while self.world.running:
            if self.node.process is not None and not self.node.stopped:
                crash.look(self.node, self.history)
            time.sleep(0.1)


def quiet_times(calls):
    """Times in which nothing was acknowledged: perhaps nobody led."""
    ends = sorted(call.ended for call in calls if call.outcome == OK)
    return [(start - UNSURE_S, end) for start, end in zip(ends, ends[1:]) if end - start > QUIET_S]


def changes_of_leader(statuses):
    """Times within which a node came to know of another term. A new leader's time is ahead of the old one's by up to
    half a second where their clocks differ, and leases are longer by that, even if nobody had to wait."""
    gaps, last = [], {}
    for status in sorted(statuses, key=lambda status: status.at):
        before = last.get(status.node, status)
        if status.term > before.term:
            gaps.append((before.at - QUIET_S, status.at + QUIET_S))
        last[status.node] = status
    return gaps


class Run:
    """One run of the harness."""

    def __init__(self, options):
        self.options = options
        self.history = History()
        numbers = range(options.nodes)
        root = os.geteuid() == 0
        self.cluster = Cluster(options.binary, options.nodes, options.namespaces, options.work, options.flag,
                               disks=numbers[:1] if root else (), clocks=numbers, proof=options.proof)
        self.world = World(None, self.history, options.seed, options.rate,
                           [node.address for node in self.cluster.nodes])
        self.rules = Rules(self.cluster)
        self.world.limited = self.rules.queues
        self.began = time.time()
        self.faults = Faults(self.cluster, self.history, random.Random(f"{options.seed}:faults"), self.say)
        self.actors = [Producer(self.world, f"producer-{i}") for i in range(PRODUCERS)]
        self.actors += [Worker(self.world, f"worker-{i}") for i in range(WORKERS)]
        self.findings = []
        self.totals = {"calls": 0, "unknown": 0, "refused": 0, "jobs": 0, "statuses": 0, "cron": 0, **{queue: 0 for queue in self.rules.queues}}
        self.last_seq = 0

    def say(self, text):
        if self.options.verbose:
            print(f"  [{time.time() - self.began:6.1f}] {text}", flush=True)

    def go(self):
        try:
            self.cluster.start()
            self.rules.set_limits()
            for actor in self.actors + [Watcher(node, self.history, self.world) for node in self.cluster.nodes]:
                actor.start()
            left, number = self.options.faults, 0
            while left > 0 and not self.findings:
                faults = min(left, self.options.epoch)
                number += 1
                self.epoch(faults, clocks=self.options.clocks or number % 2 == 0)
                left -= faults
                print(f"  {self.options.faults - left} faults, {self.totals['jobs']} jobs, "
                      f"{self.totals['calls']} calls", flush=True)
        except (ServerError, TimeoutError, AssertionError) as error:
            self.findings.append(f"cluster: {error}")
        finally:
            self.world.running = False
            self.cluster.close()
        return self.findings

    def epoch(self, faults, clocks):
        world = self.world
        self.faults.clocks = clocks
        world.clocks_jump = world.clocks_jump or clocks  # log time is not the clients' for a long time after
        self.rules.begin()
        world.producing, world.kind, world.resting = True, False, False
        for _ in range(faults):
            self.faults.cycle(self.options.only)
        self.rules.end()
        world.producing, world.kind = False, True
        self.heal()
        world.rest(within_s=40.0)
        for actor in self.actors:
            actor.forget()
        self.audit()
        if not self.findings:
            self.cluster.start()

    def heal(self):
        """Faults are over: every job must end in time."""
        # Log time may run at half speed.
        deadline = time.time() + (crash.HEALED_WITHIN_S + 5.0) * (2 if self.world.clocks_jump else 1)
        while time.time() < deadline:
            again = any(actor.again for actor in self.actors if isinstance(actor, Producer))
            status = self.cluster.leader().status()
            if status is not None and status["live_jobs"] == 0 and not again:
                return
            time.sleep(0.05)
        # The auditor names the jobs.

    def audit(self):
        taken = self.history.take()
        taken.gaps = quiet_times(taken.calls) + changes_of_leader(taken.statuses)
        for call in taken.calls:
            # A node repeats a heartbeat whose reply was lost. Then the lease may have ended, and what the
            # first one brought is kept all the same.
            if call.kind == BEAT and call.outcome == REFUSED and call.ended - call.invoked > REPEATED_S:
                call.outcome = UNKNOWN
        self.compare_states()
        ids = set()
        for call in taken.calls:
            if call.outcome == OK and call.kind == ENQUEUE:
                ids.add(call.reply["job_id"])
            elif call.outcome == OK and call.kind == BATCH:
                ids.update(call.reply["job_ids"])
        asked = self.faults.random.choice(self.cluster.nodes)
        told = ask_jobs(asked.port, sorted(ids), asked.host)
        self.findings += [f"I1: {job_id} was acknowledged, and GET does not find it"
                          for job_id in ids if job_id not in told]
        for node in self.cluster.nodes:
            node.terminate()
        for node in self.cluster.nodes:
            code = node.wait_stopped()
            if code != 0:
                self.findings.append(f"cluster: {node.name} stopped with {code}:\n{node.tail()}")
        before = self.last_seq
        finals = self.read_databases()
        audit = Audit(taken, finals, told, self.world.clocks_jump, [self.rules.token], self.rules.queues)
        for name, count in self.rules.audit(audit, self.cluster.nodes[0].data_dir, before).items():
            self.totals[name] += count
        self.findings += audit.run()
        self.findings += [f"refused: {what} ({count} times)" for what, count in self.world.refusals.items()]
        self.findings += [f"harness: {text}" for text in self.world.crashes]
        self.count(taken, finals)
        if self.findings:
            with open(os.path.join(self.cluster.folder, "history.pickle"), "wb") as out:
                pickle.dump((taken.calls, taken.statuses, taken.stops, taken.gaps, finals, told), out)

    def compare_states(self):
        """I5: at one index all nodes are in one state."""
        states = self.cluster.agree()
        if len({state["state_hash"] for state in states}) != 1:
            self.findings.append("I5: at one index the states differ: " + ", ".join(
                f"{state['node']} {state['applied_index']} {state['state_hash']}" for state in states))

    def read_databases(self):
        """The jobs by the first node's database; those of the others must hold the same."""
        finals = None
        for node in self.cluster.nodes:
            code, text = node.check_database()
            if code != 0:
                self.findings.append(f"I16: db check of {node.name} ended with {code}: {text.strip()}")
            its, last = read_database(node.data_dir, self.last_seq)
            if finals is None:
                finals, highest, first = its, last, node
                continue
            for job_id in finals.keys() | its.keys():
                one, other = finals.get(job_id), its.get(job_id)
                if one != other:
                    self.findings.append(f"I5: {job_id} is {describe(one)} at {first.name}, {describe(other)} at "
                                         f"{node.name}")
        self.last_seq = highest
        return finals

    def count(self, taken, finals):
        self.totals["calls"] += len(taken.calls)
        for call in taken.calls:
            if call.outcome in self.totals:
                self.totals[call.outcome] += 1
        self.totals["jobs"] += len(finals)
        self.totals["statuses"] += len(taken.statuses)
        for node in self.cluster.nodes:
            kept = count_jobs(node.data_dir)
            if kept != self.totals["jobs"]:
                self.findings.append(f"I1: {self.totals['jobs']} jobs were seen in all, {node.name} holds {kept}")

    def summary(self):
        done = {name: count for name, count in self.faults.counts.items() if count}
        slow = sorted(self.faults.recoveries)[-3:]
        print(f"faults: {done}; {self.faults.jumps} jumps of clocks")
        print(f"totals: {self.totals}; slowest to serve again: "
              f"{', '.join(f'{seconds:.1f} s after {kind}' for seconds, kind in slow)}")


def describe(final):
    return "missing" if final is None else str({key: value for key, value in dataclasses.asdict(final).items()
                                                if key in ("state", "attempt", "ended_at", "result")})


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="command line of the server program")
    parser.add_argument("--faults", type=int, default=40)
    parser.add_argument("--epoch", type=int, default=EPOCH, help="faults between two audits")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--nodes", type=int, default=3, choices=(3, 5))
    parser.add_argument("--namespaces", action="store_true", help="each node in a network namespace of its own")
    parser.add_argument("--clocks", action="store_true", help="clocks jump in every epoch")
    parser.add_argument("--secret", dest="proof", action="store_const", const="secret", help="nodes share a secret")
    parser.add_argument("--tls", dest="proof", action="store_const", const="tls", help="nodes have certificates")
    parser.add_argument("--rate", type=float, default=0.5, help="how busy producers are")
    parser.add_argument("--only", default=None, help="this kind of fault alone")
    parser.add_argument("--work", default=None, help="folder for the data; the system's for temporary files")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for the nodes")
    parser.add_argument("--verbose", action="store_true", help="tell of each fault")
    parser.add_argument("--keep", action="store_true", help="keep the data also when nothing was found")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 31)
    return options


def main(arguments=None):
    options = parse(arguments)
    if options.namespaces and (trouble := network.why_not()):
        print(f"nothing was tested: {trouble}")
        return CANNOT
    print(f"seed {options.seed}: {options.faults} faults, {options.nodes} nodes of {options.binary}", flush=True)
    run = Run(options)
    findings = run.go()
    run.summary()
    for finding in findings[:crash.SHOWN_FINDINGS]:
        print(finding)
    if findings:
        print(f"{len(findings)} findings with seed {options.seed}; the data is in {run.cluster.folder}")
        return 1
    if not options.keep:
        run.cluster.discard()
    print(f"nothing found in {time.time() - run.began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
