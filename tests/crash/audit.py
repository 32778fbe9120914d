"""The auditor: reads a history and the jobs as they stand at the end, and names what cannot be.

It knows nothing of the server's insides. Each finding carries the number of the invariant it breaks
(see README.md). A call whose outcome is unknown may have happened or not; both must be allowed.
"""

import collections

import audit_ends
import audit_leases
import log_time
from history import BATCH, CANCEL, ENDED, ENQUEUE, FETCH, OK, REFUSED


class Delivery:
    """One job handed out by one fetch."""

    __slots__ = ("job_id", "lease", "attempt", "token", "queue", "lease_s", "expires_at", "claimed_at", "checkpoint",
                 "invoked", "ended", "worker")

    def __init__(self, call, job):
        self.job_id = job["job_id"]
        self.lease = job["lease"]
        self.attempt = job["attempt"]
        self.token = job["token"]
        self.queue = job["queue"]
        self.lease_s = job["lease_s"]
        self.expires_at = job.get("expires_at")
        self.claimed_at = log_time.claimed_at(job)
        self.checkpoint = job.get("checkpoint")
        self.invoked = call.invoked
        self.ended = call.ended
        self.worker = call.args.get("worker")


class Job:
    """Everything the history says about one job."""

    __slots__ = ("job_id", "specs", "deliveries", "settles", "beats", "cancels", "final")

    def __init__(self, job_id):
        self.job_id = job_id
        self.specs = []  # (call, what was asked for this job), only calls that created it
        self.deliveries = []
        self.settles = []
        self.beats = []
        self.cancels = []
        self.final = None

    @property
    def spec(self):
        return self.specs[0][1] if self.specs else None


class Audit:
    """One epoch of the harness: all calls in it, and all jobs that were made in it.

    Where `clocks_jump`, the clients' times are only compared with one another, and what they were by the log
    is known within bounds. `made_by_schedules` are tokens of jobs that nobody sent, `limited` queues that a job
    may have to wait for.
    """

    def __init__(self, history, finals, answers=None, clocks_jump=False, made_by_schedules=(), limited=()):
        self.history = history
        self.finals = finals
        self.answers = answers or {}
        self.made_by_schedules = set(made_by_schedules)
        self.limited = set(limited)
        self.stamps = log_time.stamps_of(history.calls, finals)
        self.clock = log_time.Stamps(self.stamps) if clocks_jump else log_time.OneClock()
        # Nobody may have led, by the log's time: leases are longer by as much.
        self.gaps = [(self.clock.low(start), self.clock.high(end)) for start, end in history.gaps]
        self.findings = []
        self.jobs = {}
        self.tokens = collections.defaultdict(list)  # token -> [(call, spec)]
        self.index()

    def report(self, invariant, text):
        self.findings.append(f"{invariant}: {text}")

    def job(self, job_id):
        found = self.jobs.get(job_id)
        if found is None:
            found = self.jobs[job_id] = Job(job_id)
        return found

    def index(self):
        for call in self.history.calls:
            if call.kind == ENQUEUE:
                self.tokens[call.args["token"]].append((call, call.args))
                if call.outcome == OK and not call.reply.get("unique_existing"):
                    self.job(call.reply["job_id"]).specs.append((call, call.args))
            elif call.kind == BATCH:
                for spec in call.args["jobs"]:
                    self.tokens[spec["token"]].append((call, spec))
                if call.outcome == OK:
                    for job_id, spec in zip(call.reply["job_ids"], call.args["jobs"]):
                        self.job(job_id).specs.append((call, spec))
            elif call.kind == FETCH and call.outcome == OK:
                for row in call.reply["jobs"]:
                    self.job(row["job_id"]).deliveries.append(Delivery(call, row))
            elif call.kind == CANCEL:
                self.job(call.args["job_id"]).cancels.append(call)
            elif call.kind in ("ack", "fail"):
                self.job(call.args["job_id"]).settles.append(call)
            elif call.kind == "beat":
                self.job(call.args["job_id"]).beats.append(call)
        for job_id, final in self.finals.items():
            self.job(job_id).final = final
        for job in self.jobs.values():
            job.deliveries.sort(key=lambda d: d.lease)
            if not job.specs and job.final is not None:
                # The enqueue's answer was lost; the token says which one it was.
                job.specs = list(self.tokens.get(job.final.token, ()))[:1]

    def callback_tokens(self):
        return {call.args["callback"]: call for call in self.history.calls
                if call.kind == BATCH and call.args.get("callback")}

    def run(self):
        """All findings, as text."""
        self.check_jobs_exist()
        self.check_nothing_invented()
        self.check_idempotency()
        self.check_batches()
        self.check_unique_keys()
        self.check_statuses()
        self.check_answers()
        self.check_log_time()
        for job in self.jobs.values():
            audit_leases.check(self, job)
            audit_ends.check(self, job)
        audit_leases.check_tokens_of_leases(self)
        audit_leases.check_starvation(self)
        return self.findings

    def check_jobs_exist(self):
        """I1: acknowledged, so it is there. I10: and it has ended."""
        for call in self.history.calls:
            if call.outcome != OK or call.kind not in (ENQUEUE, BATCH):
                continue
            one = call.kind == ENQUEUE
            pairs = [(call.reply["job_id"], call.args)] if one else \
                list(zip(call.reply["job_ids"], call.args["jobs"]))
            if not one and len(pairs) != len(call.args["jobs"]):
                self.report("I1", f"batch of {len(call.args['jobs'])} answered with {len(pairs)} ids")
            for job_id, spec in pairs:
                final = self.finals.get(job_id)
                existing = one and call.reply.get("unique_existing")
                if final is None:
                    self.report("I1", f"{job_id} ({spec['token']}) was acknowledged and is gone")
                elif not existing and (final.token, final.queue) != (spec["token"], spec["queue"]):
                    self.report("I1", f"{job_id} holds {final.token} in {final.queue}, not "
                                      f"{spec['token']} in {spec['queue']}")
        for job_id, final in self.finals.items():
            if final.state not in ENDED:
                self.report("I10", f"{job_id} is still {final.state} after all faults have healed")

    def check_nothing_invented(self):
        """I2: every job was sent by somebody, once."""
        callbacks = self.callback_tokens()
        by_token = collections.defaultdict(list)
        for job_id, final in self.finals.items():
            by_token[final.token].append(job_id)
            if final.token in callbacks or final.token in self.made_by_schedules:
                continue
            sent = self.tokens.get(final.token)
            if not sent:
                self.report("I2", f"{job_id} holds {final.token}, which nobody sent")
            elif all(call.outcome == REFUSED for call, _ in sent):
                self.report("I2", f"{job_id} ({final.token}) was refused and exists")
        for token, ids in by_token.items():
            if token not in callbacks and token not in self.made_by_schedules and len(ids) > 1:
                sent = self.tokens.get(token, ())
                number = "I3" if any(spec.get("idempotency") for _, spec in sent) else "I2"
                self.report(number, f"{token} is {len(ids)} jobs: {', '.join(sorted(ids))}")
        for job in self.jobs.values():
            if job.final is None and job.deliveries:
                self.report("I2", f"{job.job_id} was delivered and does not exist")
            for delivery in job.deliveries:
                if job.final is not None and delivery.token != job.final.token:
                    self.report("I2", f"{job.job_id} was delivered with {delivery.token}, is {job.final.token}")

    def check_idempotency(self):
        answers = collections.defaultdict(set)
        for call in self.history.calls:
            if call.kind == ENQUEUE and call.outcome == OK and call.args.get("idempotency"):
                answers[call.args["idempotency"]].add(call.reply["job_id"])
        for key, ids in answers.items():
            if len(ids) > 1:
                self.report("I3", f"key {key} was answered with {', '.join(sorted(ids))}")

    def check_batches(self):
        """I25: a batch that exists calls back once, with the right figures; all or nothing."""
        by_token = collections.defaultdict(list)
        for final in self.finals.values():
            by_token[final.token].append(final)
        for call in self.history.calls:
            if call.kind != BATCH:
                continue
            members = [final for spec in call.args["jobs"] for final in by_token[spec["token"]]]
            wanted = len(call.args["jobs"])
            if len(members) not in (0, wanted):
                self.report("I2", f"batch {call.args['jobs'][0]['token']}… of {wanted} exists by {len(members)}")
            if call.args.get("callback"):
                self.check_callback(call, members, by_token[call.args["callback"]])

    def check_callback(self, call, members, callbacks):
        name = call.args["callback"]
        if len(callbacks) != (1 if members else 0):
            self.report("I25", f"{name}: {len(callbacks)} callbacks for {len(members)} members")
            return
        if not members:
            return
        figures = (callbacks[0].payload or {}).get("batch") or {}
        done = sum(1 for final in members if final.state == "completed")
        seen = (figures.get("total"), figures.get("succeeded"), figures.get("failed"))
        if seen != (len(members), done, len(members) - done):
            self.report("I25", f"{name} says {seen}, the members {len(members), done, len(members) - done}")
        if call.outcome == OK and figures.get("id") != call.reply["batch_id"]:
            self.report("I25", f"{name} names batch {figures.get('id')}, not {call.reply['batch_id']}")
        last = max((final.ended_at or 0.0) for final in members)
        if callbacks[0].created_at < last:
            self.report("I25", f"{name} was made before its last member had ended")

    def check_unique_keys(self):
        """I15: lives of the holders of one key never overlap, and a duplicate names a live one."""
        holders = collections.defaultdict(list)
        for final in self.finals.values():
            if final.unique_key:
                holders[(final.queue, final.unique_key)].append(final)
        for (queue, key), finals in holders.items():
            finals.sort(key=lambda f: (f.created_at, f.ended_at or float("inf")))
            for first, second in zip(finals, finals[1:]):
                if first.ended_at is None or first.ended_at > second.created_at:
                    self.report("I15", f"{first.job_id} and {second.job_id} held {key} of {queue} together")
        for call in self.history.calls:
            if call.kind != ENQUEUE or call.outcome != OK or not call.reply.get("unique_existing"):
                continue
            final = self.finals.get(call.reply["job_id"])
            if final is None:
                continue
            if final.unique_key != call.args.get("unique_key"):
                self.report("I15", f"{final.job_id} named as duplicate of {call.args.get('unique_key')}, "
                                   f"has {final.unique_key}")
            if final.ended_at is not None and final.ended_at < self.clock.low(call.invoked) - audit_leases.SLACK_S:
                self.report("I15", f"{final.job_id} had ended when {call.args['token']} was called its duplicate")

    def check_statuses(self):
        """I4: one hash for one index, in every life. I6: no index that was shown disappears.

        A node of several may begin anew behind what it had shown, because the others hold it too.
        """
        hashes = {}
        highest, life_of_highest, of = 0, 0, None
        for status in sorted(self.history.statuses, key=lambda s: (s.node, s.life, s.at)):
            if status.node and (status.node, status.life) != of:
                highest, of = 0, (status.node, status.life)
            seen = hashes.setdefault(status.index, status.hash)
            if seen != status.hash:
                self.report("I4", f"index {status.index} had hash {seen} and then {status.hash} "
                                  f"({status.node} life {status.life})")
            if status.index < highest:
                self.report("I6", f"index went back from {highest} (life {life_of_highest}) to {status.index} "
                                  f"(life {status.life})")
            if status.index > highest:
                highest, life_of_highest = status.index, status.life

    def check_log_time(self):
        """I13: log time never goes back."""
        for before, after in log_time.order_of_stamps(self.stamps)[:5]:
            self.report("I13", f"an entry was stamped {after:.3f} after one with {before:.3f} had been answered for")

    def check_answers(self):
        """I17: what the server said before it stopped is what its database holds."""
        for job_id, answer in self.answers.items():
            final = self.finals.get(job_id)
            if final is None:
                self.report("I17", f"{job_id} was answered for and is not in the database")
                continue
            for field in ("queue", "state", "attempt", "result", "token", "created_at", "ended_at"):
                said, kept = getattr(answer, field), getattr(final, field)
                if said != kept:
                    self.report("I17", f"{job_id}: {field} was {said!r}, the database holds {kept!r}")
