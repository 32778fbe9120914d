"""Histories told by hand, for the tests of the auditor."""

from audit import Audit
from history import ACK, BATCH, BEAT, ENQUEUE, FAIL, FETCH, OK, REFUSED, UNKNOWN, Call, Final, History, Status

LEASE_S = 1.0


class Story:
    """Builds a history call by call. Time passes by itself, 10 ms a call."""

    def __init__(self):
        self.history = History()
        self.finals = {}
        self.answers = {}
        self.now = 1000.0
        self.log_ahead = 0.0  # by how much the server's times are

    @property
    def log_now(self):
        """What the server stamps on what it does now."""
        return round(self.now + 0.002 + self.log_ahead, 3)

    def wait(self, seconds):
        self.now += seconds
        return self

    def call(self, kind, args, outcome=OK, reply=None, took=0.004):
        call = Call(kind, self.now, self.now + took, outcome, args, reply if outcome == OK else None)
        self.history.add(call)
        self.now += 0.010
        return call

    def enqueue(self, token, outcome=OK, job_id=None, existing=False, queue="q", **spec):
        args = dict({"token": token, "queue": queue, "max_retries": 3}, **spec)
        job_id = job_id or "job-" + token
        if outcome != REFUSED and not existing and job_id not in self.finals:
            self.finals[job_id] = Final(job_id, queue, "completed", token, 0, args["max_retries"],
                                        self.log_now, None, None, args.get("unique_key"), None, {})
        self.call(ENQUEUE, args, outcome, {"job_id": job_id, "unique_existing": existing})
        return job_id

    def batch(self, tokens, callback, outcome=OK):
        jobs = [{"token": token, "queue": "q", "max_retries": 3} for token in tokens]
        at = self.log_now
        self.call(BATCH, {"jobs": jobs, "callback": callback}, outcome,
                  {"job_ids": ["job-" + token for token in tokens], "batch_id": "batch-" + callback})
        for token in tokens:
            self.finals["job-" + token] = Final("job-" + token, "q", "completed", token, 0, 3, at, None, None,
                                                None, "batch-" + callback, {})

    def callback(self, token, total, done, job_id=None):
        job_id = job_id or "job-" + token
        figures = {"id": "batch-" + token, "total": total, "succeeded": done, "failed": total - done}
        self.finals[job_id] = Final(job_id, "cb", "completed", token, 0, 3, self.log_now, None, None, None, None,
                                    {"batch": figures})
        return job_id

    def deliver(self, job_id, lease, attempt=1, checkpoint=None, queue="q"):
        final = self.finals[job_id]
        row = {"job_id": job_id, "lease": lease, "attempt": attempt, "token": final.token, "queue": queue,
               "lease_s": LEASE_S, "expires_at": round(self.log_now + LEASE_S, 3), "checkpoint": checkpoint}
        final.attempt = max(final.attempt, attempt)
        return self.call(FETCH, {"queues": ["q", "cb"], "wait": 0, "worker": "w"}, OK, {"jobs": [row]})

    def empty_fetch(self, wait=0):
        return self.call(FETCH, {"queues": ["*"], "wait": wait, "worker": "w"}, OK, {"jobs": []})

    def ack(self, job_id, lease, outcome=OK, takes_effect=None):
        result = {"lease": lease}
        if takes_effect if takes_effect is not None else outcome == OK:
            final = self.finals[job_id]
            if final.ended_at is None:
                final.state, final.result, final.ended_at = "completed", result, self.log_now
        return self.call(ACK, {"job_id": job_id, "lease": lease, "result": result}, outcome, {"status": "completed"})

    def fail(self, job_id, lease, status="retrying", after=0.1, outcome=OK, **more):
        if status == "dead":
            self.finals[job_id].state, self.finals[job_id].ended_at = "dead", self.log_now
        due = round(self.log_now + after, 3) if status == "retrying" else None
        return self.call(FAIL, dict({"job_id": job_id, "lease": lease}, **more), outcome,
                         {"status": status, "next_attempt_at": due})

    def beat(self, job_id, lease, outcome=OK, checkpoint=None):
        return self.call(BEAT, {"job_id": job_id, "lease": lease, "checkpoint": checkpoint}, outcome, {"status": "ok"})

    def status(self, life, index, text):
        self.history.add_status(Status(life, self.now, index, text))
        self.now += 0.010

    def findings(self, clocks_jump=False, **more):
        return Audit(self.history, self.finals, self.answers, clocks_jump, **more).run()


def sound(log_ahead=0.0):
    """A bit of everything, all of it right."""
    story = Story()
    story.log_ahead = log_ahead
    story.status(1, 10, "aa")
    one = story.enqueue("one")
    story.deliver(one, 1)
    story.ack(one, 1)
    story.ack(one, 1)  # a repeat
    # A lost answer to an enqueue, a lost answer to an ack, both in effect.
    two = story.enqueue("two", UNKNOWN)
    story.deliver(two, 2)
    story.ack(two, 2, UNKNOWN, takes_effect=True)
    story.enqueue("never", UNKNOWN, job_id="gone")
    del story.finals["gone"]
    # A stalled worker, a late ack, a second delivery.
    three = story.enqueue("three")
    story.deliver(three, 3)
    story.beat(three, 3, checkpoint={"at": 1})
    story.wait(1.1)
    story.ack(three, 3, REFUSED)
    story.deliver(three, 5, attempt=2, checkpoint={"at": 1})
    story.fail(three, 5)
    story.wait(0.2)
    story.deliver(three, 6, attempt=3, checkpoint={"at": 1})
    story.fail(three, 6, status="dead")
    # Unique, idempotent, batch.
    four = story.enqueue("four", unique_key="k")
    story.enqueue("four-again", existing=True, job_id=four, unique_key="k")
    story.deliver(four, 7)
    story.ack(four, 7)
    five = story.enqueue("five", unique_key="k")
    story.deliver(five, 8)
    story.ack(five, 8)
    six = story.enqueue("six", UNKNOWN, idempotency="i6")
    story.enqueue("six", idempotency="i6", job_id=six)
    story.deliver(six, 9)
    story.ack(six, 9)
    story.batch(["seven", "eight"], "cb")
    for lease, token in enumerate(["seven", "eight"], 10):
        story.deliver("job-" + token, lease)
        story.ack("job-" + token, lease)
    done = story.callback("cb", 2, 2)
    story.deliver(done, 12, queue="cb")
    story.ack(done, 12)
    story.empty_fetch()
    story.status(2, 10, "aa")
    story.status(2, 12, "bb")
    return story
