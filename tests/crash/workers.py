"""Workers: prompt ones, failing ones, ones that stall past their lease and answer late."""

import time

from history import ACK, BEAT, FAIL, FETCH, OK, REFUSED, UNKNOWN
from workload import CALLBACK_QUEUE, Actor, seconds_of

SHORT_LEASES_S = [0.3, 0.5, 1.0]
LONGEST_LEASE_S = 2.0


class Work:
    """A delivered job, and what its worker means to do with it."""

    __slots__ = ("job_id", "queue", "lease", "lease_s", "beats")

    def __init__(self, row):
        self.job_id = row["job_id"]
        self.queue = row["queue"]
        self.lease = row["lease"]
        self.lease_s = row["lease_s"]
        self.beats = 0


def row_of(job):
    """What the auditor keeps of a job in a fetch's answer."""
    return {"job_id": job["job_id"], "lease": int(job["lease_id"]), "attempt": job["attempt"],
            "token": (job["payload"] or {}).get("t"), "queue": job["queue"],
            "lease_s": float(job["lease_duration"]), "checkpoint": job.get("checkpoint"),
            "expires_at": seconds_of(job.get("lease_expires_at"))}


class Worker(Actor):
    """Keeps a list of things to do later, so that a stalled job does not stop the others."""

    def __init__(self, world, name):
        super().__init__(world, name)
        self.later = []  # (when, what, work)

    def pause(self):
        return 0.0 if self.world.kind else self.random.uniform(0.0, 0.005)

    def forget(self):
        self.later.clear()

    def act(self):
        now = time.time()
        due = [todo for todo in self.later if todo[0] <= now]
        self.later = [todo for todo in self.later if todo[0] > now]
        acks, fails, beats = [], [], []
        for _, what, work in due:
            {"ack": acks, "fail": fails, "beat": beats}[what].append(work)
        while beats:
            # One call names a job once; a stale lease of the same job goes into the next.
            chosen = {work.job_id: work for work in beats}
            self.beat(list(chosen.values()))
            beats = [work for work in beats if chosen[work.job_id] is not work]
        merge = self.random.random() < 0.4
        if not merge:
            for work in acks:
                self.settle(ACK, work)
            for work in fails:
                self.settle(FAIL, work)
            acks, fails = [], []
        self.fetch(acks, fails)

    def plan(self, work):
        """Decides what becomes of a job that has just been delivered."""
        now = time.time()
        if self.world.kind:
            self.later.append((now, "ack", work))
            return
        draw = self.random.random()
        if draw < 0.50:
            self.later.append((now + self.random.choice([0, 0, 0.01, 0.05]), "ack", work))
        elif draw < 0.70:
            self.later.append((now, "fail", work))
        elif draw < 0.80:  # well past the lease: refused, unless nothing has happened since
            self.later.append((now + work.lease_s * self.random.uniform(0.9, 2.2), "ack", work))
        elif draw < 0.90:
            self.later.append((now + work.lease_s * 0.3, "beat", work))
        elif draw < 0.94:  # twice: the second is a repeat
            self.later += [(now, "ack", work), (now + 0.02, "ack", work)]
        elif draw < 0.97:
            self.later.append((now + work.lease_s * self.random.uniform(0.9, 1.5), "fail", work))
        # Otherwise the worker has died with it.

    def settle_item(self, kind, work):
        """(what is sent, what it means)"""
        item = {"lease_id": str(work.lease)}
        meant = {"job_id": work.job_id, "lease": work.lease}
        if kind == ACK:
            item["result"] = meant["result"] = {"by": self.name, "lease": work.lease}
        else:
            item["error"] = "as planned"
            draw = self.random.random()
            if draw < 0.1:
                item["retry"] = False
                meant["no_retry"] = True
            elif draw < 0.3 or work.queue == CALLBACK_QUEUE:  # whose own backoff is long
                item["retry_in"] = f"{self.random.randint(0, 300)}ms"
        return item, meant

    def settled(self, kind, work, invoked, ended, outcome, meant, reply):
        if reply is not None and reply.get("next_attempt_at"):
            reply = dict(reply, next_attempt_at=seconds_of(reply["next_attempt_at"]))
        self.record(kind, invoked, ended, outcome, meant, reply)
        if outcome == UNKNOWN and kind == ACK and self.random.random() < 0.5:
            self.later.append((time.time() + 0.05, "ack", work))

    def settle(self, kind, work):
        item, meant = self.settle_item(kind, work)
        outcome, answer, invoked, ended = self.send(kind, f"/{kind}/{work.job_id}", item)
        if outcome is None:
            if self.world.kind or self.random.random() < 0.5:
                self.later.append((time.time() + 0.01, kind, work))
            return
        reply = (answer.json or {}) if outcome == OK else None
        self.settled(kind, work, invoked, ended, outcome, meant, reply)

    def beat(self, works):
        jobs, meant = {}, {}
        for work in works:
            work.beats += 1
            checkpoint = {"beat": work.beats, "lease": work.lease}
            jobs[work.job_id] = {"lease_id": str(work.lease), "checkpoint": checkpoint,
                                 "progress": {"current": work.beats, "total": 3, "message": "on the way"}}
            meant[work.job_id] = {"job_id": work.job_id, "lease": work.lease, "checkpoint": checkpoint}
        outcome, answer, invoked, ended = self.send(BEAT, "/heartbeat", {"worker_id": self.name, "jobs": jobs})
        if outcome is None:
            return
        replies = answer.json["jobs"] if outcome == OK else {}
        for work in works:
            reply = replies.get(work.job_id)
            one = outcome
            if outcome == OK:
                one = OK if reply["status"] in ("ok", "cancel") else REFUSED
            self.record(BEAT, invoked, ended, one, meant[work.job_id], reply)
            if one == OK:
                again = "beat" if work.beats < 3 and reply["status"] == "ok" else "ack"
                self.later.append((time.time() + work.lease_s * self.random.uniform(0.2, 0.8), again, work))

    def fetch(self, acks, fails):
        rnd = self.random
        queues = ["w.*", CALLBACK_QUEUE] if self.world.kind or rnd.random() < 0.4 else \
            rnd.choice([["w.a", "w.b", CALLBACK_QUEUE], ["w.c"], ["w.slow", "w.a"], ["w.*"], [CALLBACK_QUEUE]])
        wait = rnd.choice([0, 0.05, 0.2, 0.4])
        lease_s = LONGEST_LEASE_S if self.world.kind or rnd.random() < 0.2 else rnd.choice(SHORT_LEASES_S)
        body = {"queues": queues, "worker_id": self.name, "hostname": "crash", "timeout": wait,
                "lease_duration": lease_s}
        many = rnd.random() < 0.6
        if many:
            body["count"] = rnd.randint(1, 20 if self.world.kind else 8)
        inside = [(ACK, work, *self.settle_item(ACK, work)) for work in acks]
        inside += [(FAIL, work, *self.settle_item(FAIL, work)) for work in fails]
        for kind in (ACK, FAIL):
            items = [dict(item, job_id=work.job_id) for k, work, item, _ in inside if k == kind]
            if items:
                body[kind] = items
        outcome, answer, invoked, ended = self.send(FETCH, "/fetch", body)
        if outcome is None:
            self.later += [(time.time(), kind, work) for kind, work, _, _ in inside]
            return
        reply = answer.json if outcome == OK and answer.status != 204 else {}
        self.read_inside(inside, reply, invoked, ended, outcome)
        jobs = reply.get("jobs") if many else ([reply] if reply.get("job_id") else [])
        rows = [row_of(job) for job in jobs or []]
        args = {"queues": queues, "wait": wait, "worker": self.name, "asked_s": lease_s}
        self.record(FETCH, invoked, ended, outcome, args, {"jobs": rows} if outcome == OK else None)
        for row in rows:
            self.plan(Work(row))

    def read_inside(self, inside, reply, invoked, ended, outcome):
        """What became of the jobs that were settled on the way."""
        results = {ACK: list(reply.get("acked", ())), FAIL: list(reply.get("failed", ()))}
        for kind, work, _, meant in inside:
            if outcome != OK:
                self.settled(kind, work, invoked, ended, outcome, meant, None)
                continue
            result = results[kind].pop(0)
            if result["job_id"] != work.job_id:
                raise ValueError(f"answer for {result['job_id']} where {work.job_id} was asked about")
            accepted = "status" in result and "code" not in result
            self.settled(kind, work, invoked, ended, OK if accepted else REFUSED, meant,
                         result if accepted else None)
