"""A job queue in a few lines, for a stand-in server with bugs to order. Slow, simple, deterministic."""

import datetime
import json
import zlib

ENDED = ("completed", "dead", "cancelled")
BUGS = ("lose-tail", "unfenced", "short-lease", "forget-batch", "double-unique", "lose-result", "reuse-lease")


def show(ms):
    if ms is None:
        return None
    at = datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(value):
    """A duration as the API takes it."""
    if isinstance(value, str):
        return int(value.removesuffix("ms")) if value.endswith("ms") else int(float(value.removesuffix("s")) * 1000)
    return int(value * 1000)


def instant(text):
    return round(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


class Engine:
    """Commands in, answers out; `bugs` are what it gets wrong."""

    def __init__(self, bugs=()):
        self.bugs = set(bugs)
        self.jobs, self.live, self.batches, self.keys = {}, {}, {}, {}
        self.sequence = self.lease = self.index = self.crc = 0

    def apply(self, now, name, args):
        self.index += 1
        self.crc = zlib.crc32(json.dumps([now, name, args]).encode(), self.crc)
        self.tick(now)
        return getattr(self, name)(now, **args)

    def tick(self, now):
        for job in list(self.live.values()):
            if job["expire_at"] is not None and job["expire_at"] <= now:
                self.end(now, job, "dead")
            elif job["state"] == "active" and job["lease_end"] <= now:
                self.again(now, job, 0)
            elif job["state"] in ("scheduled", "retrying") and job["run_at"] <= now:
                job["state"] = "pending"

    def again(self, now, job, delay):
        if job["attempt"] >= max(1, job["max_retries"]):
            self.end(now, job, "dead")
        else:
            job["state"] = "retrying" if delay else "pending"
            job["run_at"] = now + delay

    def end(self, now, job, state):
        job["state"], job["ended_at"] = state, now
        del self.live[job["id"]]
        batch = self.batches.get(job["batch_id"])
        if batch is None:
            return
        batch["succeeded" if state == "completed" else "failed"] += 1
        if batch["succeeded"] + batch["failed"] == batch["total"] and batch["queue"] \
                and "forget-batch" not in self.bugs:
            figures = {"id": job["batch_id"], **{k: batch[k] for k in ("total", "succeeded", "failed")}}
            self.make(now, {"queue": batch["queue"], "payload": dict(batch["payload"], batch=figures)})

    def make(self, now, spec, batch_id=None):
        self.sequence += 1
        job = {"id": f"job_{self.sequence:026d}", "seq": self.sequence, "queue": spec["queue"],
               "payload": spec.get("payload", {}), "state": "pending", "attempt": 0,
               "max_retries": spec.get("max_retries", 3), "backoff": spec.get("retry_backoff", "none"),
               "base": milliseconds(spec.get("retry_base_delay", 0)), "result": None, "checkpoint": None,
               "unique_key": spec.get("unique_key"), "batch_id": batch_id, "created_at": now, "ended_at": None,
               "run_at": None, "lease": None, "lease_end": None, "lease_ms": 0, "ended_by": None,
               "expire_at": now + milliseconds(spec["expire_after"]) if "expire_after" in spec else None}
        if "scheduled_at" in spec and instant(spec["scheduled_at"]) > now:
            job["state"], job["run_at"] = "scheduled", instant(spec["scheduled_at"])
        if "delay" in spec:
            job["state"], job["run_at"] = "scheduled", now + milliseconds(spec["delay"])
        job["scheduled_at"] = job["run_at"]
        self.jobs[job["id"]] = self.live[job["id"]] = job
        return job

    def enqueue(self, now, spec, key):
        if key is not None and key in self.keys:
            return 201, self.keys[key]
        if spec.get("unique_key") and "double-unique" not in self.bugs:
            for job in self.live.values():
                if (job["queue"], job["unique_key"]) == (spec["queue"], spec["unique_key"]):
                    return 200, {"job_id": job["id"], "status": "duplicate", "unique_existing": True}
        reply = {"job_id": self.make(now, spec)["id"], "status": "pending", "unique_existing": False}
        if key is not None:
            self.keys[key] = reply
        return 201, reply

    def enqueue_batch(self, now, jobs, batch):
        self.sequence += 1
        batch_id = f"batch_{self.sequence:026d}" if batch else None
        if batch:
            self.batches[batch_id] = {"total": len(jobs), "succeeded": 0, "failed": 0,
                                      "queue": batch.get("callback_queue"), "payload": batch.get("callback_payload")}
        return 201, {"job_ids": [self.make(now, spec, batch_id)["id"] for spec in jobs], "batch_id": batch_id}

    def fetch(self, now, names, count, lease_ms):
        found = []
        for job in list(self.live.values()):
            fits = any(n == job["queue"] or n.endswith("*") and job["queue"].startswith(n[:-1]) for n in names)
            if job["state"] != "pending" or not fits or len(found) == count:
                continue
            if "reuse-lease" not in self.bugs or self.sequence % 7:
                self.lease += 1
            job.update(state="active", attempt=job["attempt"] + 1, lease=self.lease, lease_ms=lease_ms,
                       lease_end=now + lease_ms // (2 if "short-lease" in self.bugs else 1))
            found.append({"job_id": job["id"], "queue": job["queue"], "payload": job["payload"],
                          "attempt": job["attempt"], "lease_id": str(self.lease), "lease_duration": lease_ms / 1000,
                          "lease_expires_at": show(now + lease_ms), "checkpoint": job["checkpoint"]})
        return 200, found

    def settle(self, now, kind, job_id, item):
        job = self.jobs.get(job_id)
        if job is None:
            return 404, {"code": "not_found"}
        lease = int(item["lease_id"])
        if job["state"] != "active" or (job["lease"] != lease and "unfenced" not in self.bugs):
            if job["ended_by"] == [kind, lease]:
                return 200, {"status": job["state"], "next_attempt_at": show(job["run_at"])}
            return 409, {"code": "lease_lost"}
        job["ended_by"] = [kind, lease]
        if kind == "ack":
            job["result"] = None if "lose-result" in self.bugs else item.get("result")
            self.end(now, job, "completed")
        elif item.get("retry") is False:
            self.end(now, job, "dead")
        else:
            n = job["attempt"]
            factor = {"none": 0, "fixed": 1, "linear": n, "exponential": 2 ** (n - 1)}[job["backoff"]]
            delay = milliseconds(item["retry_in"]) if "retry_in" in item else min(job["base"] * factor, 400)
            self.again(now, job, delay)
        due = show(job["run_at"]) if job["state"] == "retrying" else None
        return 200, {"status": job["state"], "next_attempt_at": due}

    def heartbeat(self, now, jobs):
        replies = {}
        for job_id, beat in jobs.items():
            job = self.jobs.get(job_id)
            live = job is not None and job["state"] == "active" and job["lease"] == int(beat["lease_id"])
            if live:
                job["lease_end"] = now + job["lease_ms"]
                job["checkpoint"] = beat.get("checkpoint", job["checkpoint"])
            replies[job_id] = {"status": "ok" if live else "lost"}
        return 200, {"jobs": replies}

    def shown(self, job_id):
        job = self.jobs[job_id]
        return dict(job, created_at=show(job["created_at"]), ended_at=show(job["ended_at"]),
                    scheduled_at=show(job["scheduled_at"]))
