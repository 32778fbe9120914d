"""Producers: single jobs of every kind, batches with callbacks, unique and idempotent ones."""

import json
import time

from history import BATCH, CANCEL, ENQUEUE, OK, UNKNOWN
from workload import CALLBACK_QUEUE, QUEUES, Actor, rfc3339

UNIQUE_KEYS = 12
LARGE_BYTES = (60_000, 400_000)
SMALL_BYTES = (0, 300)
LARGE_IN_BATCH = 4  # a request may fill half a segment, no more
LONGEST_BACKOFF_S = 0.4
LONGEST_DELAY_S = 1.2


class Producer(Actor):
    """Also cancels some of what it made."""

    def __init__(self, world, name):
        super().__init__(world, name)
        self.again = []   # (kind, body, args): idempotent calls whose answer was lost
        self.mine = []    # ids that may still be live

    def pause(self):
        return self.random.uniform(0.0, 0.03) / self.world.rate

    def forget(self):
        self.mine.clear()

    def act(self):
        if self.again:
            self.enqueue(*self.again.pop())
        elif self.world.producing:
            draw = self.random.random()
            if draw < 0.12:
                self.enqueue_batch()
            elif draw < 0.20 and self.mine and self.world.can_cancel:
                self.cancel()
            else:
                self.enqueue_one()

    def job(self, token, may_be_large=True):
        """(what is sent, what the auditor needs to know of it)"""
        rnd = self.random
        large = self.world.large and may_be_large and rnd.random() < 0.5
        size = rnd.randint(*(LARGE_BYTES if large else SMALL_BYTES))
        queue = rnd.choice(QUEUES)
        if self.world.limited and rnd.random() < 0.1:
            queue = rnd.choice(self.world.limited)
        sent = {"queue": queue, "payload": {"t": token, "pad": "x" * size},
                "max_retries": rnd.randint(0, 6),
                "retry_backoff": rnd.choice(["none", "fixed", "linear", "exponential"]),
                "retry_base_delay": f"{rnd.randint(5, 120)}ms",
                "retry_max_delay": f"{int(LONGEST_BACKOFF_S * 1000)}ms"}
        if rnd.random() < 0.5:
            sent["priority"] = rnd.choice(["critical", "high", "normal", 5, -3])
        if rnd.random() < 0.2:
            sent["tags"] = {"tenant": rnd.choice(["a", "b"])}
        meant = {"token": token, "queue": sent["queue"], "max_retries": sent["max_retries"]}
        draw = rnd.random()
        if draw < 0.12:
            meant["delay"] = rnd.randint(20, int(LONGEST_DELAY_S * 1000)) / 1000
            sent["delay"] = meant["delay"]
        elif draw < 0.25 and not self.world.clocks_jump:
            meant["due"] = round(time.time() + rnd.uniform(0.02, LONGEST_DELAY_S), 3)
            sent["scheduled_at"] = rfc3339(meant["due"])
        if rnd.random() < 0.06:
            sent["expire_after"] = f"{rnd.randint(50, 2500)}ms"
            meant["expires"] = True
        return sent, meant

    def enqueue_one(self):
        rnd = self.random
        sent, meant = self.job(self.world.token())
        headers = None
        if rnd.random() < 0.25:
            meant["unique_key"] = sent["unique_key"] = f"key-{rnd.randrange(UNIQUE_KEYS)}"
            if rnd.random() < 0.3:
                sent["unique_period"] = 3600
        elif rnd.random() < 0.4:
            meant["idempotency"] = "i" + meant["token"]
            headers = {"Idempotency-Key": meant["idempotency"]}
        self.enqueue(json.dumps(sent), headers, meant)

    def enqueue(self, body, headers, meant):
        outcome, answer, invoked, ended = self.send(ENQUEUE, "/enqueue", body, headers)
        if outcome is None:
            if headers is not None:
                self.again.append((body, headers, meant))
            return
        reply = answer.json if outcome == OK else None
        self.record(ENQUEUE, invoked, ended, outcome, meant, reply)
        if outcome == OK:
            self.mine = self.mine[-20:] + [reply["job_id"]]
        # A lost answer is asked for again with the same key, and now and then so is one that came.
        if headers is not None and (outcome == UNKNOWN or self.random.random() < 0.1):
            self.again.append((body, headers, meant))

    def enqueue_batch(self):
        rnd = self.random
        pairs = [self.job(self.world.token(), number < LARGE_IN_BATCH) for number in range(rnd.randint(1, 12))]
        meant = {"jobs": [meant for _, meant in pairs], "callback": None}
        body = {"jobs": [sent for sent, _ in pairs]}
        if rnd.random() < 0.8:
            meant["callback"] = self.world.token("cb")
            body["batch"] = {"callback_queue": CALLBACK_QUEUE, "callback_payload": {"t": meant["callback"]}}
        outcome, answer, invoked, ended = self.send(BATCH, "/enqueue/batch", body)
        if outcome is not None:
            self.record(BATCH, invoked, ended, outcome, meant, answer.json if outcome == OK else None)

    def cancel(self):
        job_id = self.mine.pop(self.random.randrange(len(self.mine)))
        outcome, answer, invoked, ended = self.send(CANCEL, f"/jobs/{job_id}/cancel", {})
        if outcome is not None:
            self.record(CANCEL, invoked, ended, outcome, {"job_id": job_id},
                        answer.json if outcome == OK else None)
