"""Those who manage: queues, jobs, groups, many at once."""

from harness import API, OPERATOR, Case, encode


def fill(admin, queue, jobs, **more):
    for first in range(0, jobs, 10_000):
        admin.need(admin.post("/enqueue/batch", encode(
            {"jobs": [dict({"queue": queue, "group": f"g{n % 50}", "tags": {"t": n % 1000}}, **more)
                      for n in range(min(10_000, jobs - first))]})), 201)


class ClearedQueues(Case):
    title = "queues: 300,000 jobs cleared, 300,000 deleted"
    covers = ("POST /api/v1/queues/{queue}/clear", "DELETE /api/v1/queues/{queue}")
    attackers = 1
    memory_mb = 300

    def prepare(self, admin):
        for queue in ("mail.clear", "mail.delete"):
            fill(admin, queue, 300_000)

    def attack(self, tenant, number, running):
        tenant.post("/queues/mail.clear/clear")
        tenant.call("DELETE", f"{API}/queues/mail.delete?confirm=true")
        while running():
            tenant.get("/queues?limit=10")


class ChangedLimits(Case):
    title = "queues: limits by another tag again and again, 100,000 jobs"
    covers = ("POST /api/v1/queues/{queue}/concurrency", "DELETE /api/v1/queues/{queue}/concurrency",
              "POST /api/v1/queues/{queue}/throttle", "DELETE /api/v1/queues/{queue}/throttle",
              "POST /api/v1/queues/{queue}/fairness", "POST /api/v1/queues/{queue}/retention",
              "POST /api/v1/queues/{queue}/lease", "POST /api/v1/queues/{queue}/pause",
              "POST /api/v1/queues/{queue}/resume", "POST /api/v1/queues/{queue}/drain")
    memory_mb = 300

    def prepare(self, admin):
        fill(admin, "mail.limits", 100_000)

    def attack(self, tenant, number, running):
        path = "/queues/mail.limits"
        count = 0
        while running():
            count += 1
            tenant.post(f"{path}/concurrency", {"max": 1, "per": f"tags.t{count % 3}"})
            tenant.post(f"{path}/throttle", {"rate": 1_000_000, "period": "1h", "per": "group"})
            tenant.post(f"{path}/fairness", {"fairness": ("group", "priority")[count % 2]})
            tenant.post(f"{path}/retention", {"completed": f"{count % 5}s"})
            tenant.post(f"{path}/lease", {"duration": 60 + count % 3})
            for verb in ("pause", "resume", "drain", "resume"):
                tenant.post(f"{path}/{verb}")
            tenant.call("DELETE", f"{API}{path}/concurrency?per=tags.t{count % 3}")
            tenant.call("DELETE", f"{API}{path}/throttle?per=group")


class Groups(Case):
    title = "groups: 100,000 jobs of one group cancelled, retried"
    covers = ("GET /api/v1/groups", "POST /api/v1/groups/{group}/pause", "POST /api/v1/groups/{group}/resume",
              "POST /api/v1/groups/{group}/cancel", "POST /api/v1/groups/{group}/retry-failed")
    key = OPERATOR
    attackers = 2
    memory_mb = 300

    def prepare(self, admin):
        for group in range(2):
            fill(admin, "mail.groups", 50_000, group=f"all{group}")

    def attack(self, tenant, number, running):
        while running():
            for verb in ("pause", "resume", "cancel", "retry-failed"):
                tenant.post(f"/groups/all{number}/{verb}")
            tenant.get("/groups?limit=1000&glob=*1*2*3*x")


class Bulk(Case):
    title = "jobs/bulk: 200,000 by filter, 10,000 by ids"
    covers = ("POST /api/v1/jobs/bulk", "GET /api/v1/bulk", "GET /api/v1/bulk/{bulk_id}",
              "GET /api/v1/bulk/{bulk_id}/progress")
    key = OPERATOR
    attackers = 2
    memory_mb = 400

    def prepare(self, admin):
        fill(admin, "mail.bulk", 200_000)

    def attack(self, tenant, number, running):
        made = tenant.post("/enqueue/batch", encode({"jobs": [{"queue": "mail.ids"}] * 10_000}))
        ids = made.json["job_ids"] if made is not None and made.status == 201 else []
        count = 0
        while running():
            count += 1
            answer = tenant.post("/jobs/bulk", {"filter": {"queue": "mail.bulk"}, "action": "change_priority",
                                                "priority": count % 9})
            if answer is not None and answer.status == 202:
                path = f"/bulk/{answer.json['bulk_operation_id']}"
                tenant.get(path)
                tenant.get(path + "/progress")
            tenant.post("/jobs/bulk", encode({"job_ids": ids, "action": "change_priority", "priority": count % 9}))
            tenant.post("/jobs/bulk", encode({"job_ids": ids, "action": ("cancel", "retry")[count % 2]}))
            tenant.get("/bulk")


class SingleJobs(Case):
    title = "jobs/{id}: every action, with payloads of 1 MiB"
    covers = ("POST /api/v1/jobs/{job_id}/cancel", "POST /api/v1/jobs/{job_id}/retry",
              "POST /api/v1/jobs/{job_id}/requeue", "POST /api/v1/jobs/{job_id}/move",
              "POST /api/v1/jobs/{job_id}/priority", "DELETE /api/v1/jobs/{job_id}")
    memory_mb = 300

    def attack(self, tenant, number, running):
        payload = encode({"payload": {"text": "x" * 1_000_000}})
        while running():
            made = tenant.post("/enqueue", {"queue": "mail.single"})
            if made is None or made.status != 201:
                continue
            path = f"/jobs/{made.json['job_id']}"
            tenant.post(f"{path}/priority", {"priority": -5})
            tenant.post(f"{path}/cancel")
            tenant.post(f"{path}/retry", payload)
            tenant.post(f"{path}/move", {"queue": "mail.elsewhere"})
            tenant.post(f"{path}/requeue")
            tenant.call("DELETE", API + path)
