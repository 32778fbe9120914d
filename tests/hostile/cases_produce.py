"""Those who hand in jobs."""

import json

from harness import MIB, Case, encode

BODY = 31 * MIB  # a little below what a body with many jobs may have
TEXT = "x" * (MIB - 64)


def batch(jobs):
    return encode({"jobs": jobs})


class LargePayloads(Case):
    title = "enqueue: payloads of 1 MiB, and fetched again"
    covers = ("POST /api/v1/enqueue", "POST /api/v1/ack/{job_id}")
    memory_mb = 400

    def attack(self, tenant, number, running):
        job = encode({"queue": "mail.large", "payload": {"text": TEXT}})
        while running():
            tenant.post("/enqueue", job)
            answer = tenant.post("/fetch", {"queues": ["mail.large"], "timeout": 0})
            if answer is not None and answer.status == 200:
                tenant.post(f"/ack/{answer.json['job_id']}", encode({"result": TEXT}))


class FullMemory(Case):
    title = "enqueue: payloads of 1 MiB until memory is full"
    covers = ("POST /api/v1/enqueue",)
    flags = ("--memory", "192M")
    memory_mb = 300
    others_refused = (429,)

    def attack(self, tenant, number, running):
        job = encode({"queue": "mail.large", "payload": {"text": TEXT}})
        while running():
            tenant.post("/enqueue", job)

    def check(self, admin):
        text = admin.call("GET", "/metrics").body.decode()
        assert "jobbie_memory_refusing 1" in text, "the server does not say that it refuses for want of memory"


class LargeBatches(Case):
    title = "enqueue/batch: 10,000 jobs"
    covers = ("POST /api/v1/enqueue/batch",)
    attackers = 2
    memory_mb = 600

    def attack(self, tenant, number, running):
        body = batch([{"queue": "mail.many", "payload": {"n": n}} for n in range(10_000)])
        while running():
            tenant.post("/enqueue/batch", body)


class LargeTags(Case):
    title = "enqueue/batch: tags, unique keys and groups as long as they may be"
    covers = ("POST /api/v1/enqueue/batch",)
    attackers = 2
    memory_mb = 900

    def attack(self, tenant, number, running):
        turn = 0
        while running():
            turn += 1
            jobs = [{"queue": "mail.tags", "tags": {"a": "t" * 16_000}, "unique_key": f"{number}-{turn}-{n}-" + "u" * 900,
                     "group": f"{n}-" + "g" * 240} for n in range(200)]
            tenant.post("/enqueue/batch", batch(jobs))


class NewNames(Case):
    title = "enqueue/batch: 10,000 new queue names a request"
    covers = ("POST /api/v1/enqueue/batch", "GET /api/v1/queues")
    attackers = 2
    memory_mb = 300

    def attack(self, tenant, number, running):
        turn = 0
        while running():
            turn += 1
            tenant.post("/enqueue/batch", batch([{"queue": f"mail.{number}.{turn}.{n}"} for n in range(10_000)]))

    def check(self, admin):
        admin.need(admin.post("/enqueue", {"queue": "a-queue-that-is-new"}), 201)


class DenseDependencies(Case):
    title = "enqueue/batch: as many dependencies as a request may bring"
    covers = ("POST /api/v1/enqueue/batch",)
    attackers = 2
    memory_mb = 500

    def attack(self, tenant, number, running):
        dense = batch([{"queue": "mail.dense"}] * 1_000 +
                      [{"queue": "mail.dense", "depends_on": list(range(1_000))} for _ in range(4_000)])
        allowed = batch([{"queue": "mail.dense"}] * 1_000 +
                        [{"queue": "mail.dense", "depends_on": list(range(1_000))} for _ in range(90)])
        while running():
            tenant.post("/enqueue/batch", dense)
            answer = tenant.post("/enqueue/batch", allowed)
            if answer is None or answer.status != 201:
                continue
            # Their end releases all that wait.
            for job in answer.json["job_ids"][:200]:
                tenant.post(f"/jobs/{job}/cancel", b"{}")


class IdempotencyKeys(Case):
    title = "enqueue: an Idempotency-Key of 256 bytes each time"
    covers = ("POST /api/v1/enqueue",)
    memory_mb = 200

    def attack(self, tenant, number, running):
        count = 0
        body = encode({"queue": "mail.keys"})
        while running():
            count += 1
            tenant.post("/enqueue", body, headers={"Idempotency-Key": f"{number}-{count}-".ljust(256, "k")})


class CostlySchedules(Case):
    title = "schedules: cron texts that are costly to plan"
    covers = ("POST /api/v1/schedules", "GET /api/v1/schedules", "POST /api/v1/schedules/preview",
              "PUT /api/v1/schedules/{schedule_id}", "PATCH /api/v1/schedules/{schedule_id}",
              "GET /api/v1/schedules/{schedule_id}/preview", "POST /api/v1/schedules/{schedule_id}/pause",
              "POST /api/v1/schedules/{schedule_id}/resume", "POST /api/v1/schedules/{schedule_id}/run")
    memory_mb = 150

    CRONS = ("0 0 29 2 1", "59 59 23 31 12 *", "0 0 30 2 *", "*/7 */13 1-31/9 2 0", "0 0 31 2,4,6,9,11 *")

    def attack(self, tenant, number, running):
        every_second = ",".join(str(n) for n in range(60))
        crons = self.CRONS + (f"{every_second} {every_second} * * * *",)
        count = 0
        while running():
            for cron in crons:
                count += 1
                tenant.post("/schedules/preview", {"cron": cron, "timezone": "America/New_York", "count": 100})
                answer = tenant.post("/schedules", {"name": f"{number}-{count}", "queue": "mail.cron", "cron": cron,
                                                    "timezone": "Australia/Lord_Howe", "paused": True,
                                                    "payload": {"text": "x" * 100_000}})
                if answer is None or answer.status != 201:
                    continue
                path = f"/schedules/{answer.json['id']}"
                tenant.call("PATCH", "/api/v1" + path, encode({"cron": crons[0], "timezone": "Europe/Berlin"}))
                tenant.call("PUT", "/api/v1" + path, json.dumps(
                    {"name": f"{number}-{count}-again", "queue": "mail.cron", "cron": cron, "paused": True}).encode())
                tenant.get(path + "/preview?count=100")
                for verb in ("resume", "pause", "run"):
                    tenant.post(f"{path}/{verb}")
            tenant.get("/schedules?limit=1000")
