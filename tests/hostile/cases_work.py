"""Those who fetch jobs and settle them."""

import socket

from harness import API, MIB, Case, encode

TEXT = "x" * (MIB - 64)


def many_queues(admin, count, name):
    """`count` queues, each with a job."""
    for first in range(0, count, 10_000):
        jobs = [{"queue": name.format(n)} for n in range(first, min(first + 10_000, count))]
        admin.need(admin.post("/enqueue/batch", encode({"jobs": jobs})), 201)


def claim(api, queue, wanted):
    """Up to `wanted` claimed jobs of the queue."""
    jobs = []
    while len(jobs) < wanted:
        answer = api.post("/fetch", {"queues": [queue], "count": min(1000, wanted - len(jobs)), "lease_duration": 600})
        found = answer.json["jobs"] if answer is not None and answer.status == 200 else []
        if not found:
            break
        jobs += found
    return jobs


class ManyGlobs(Case):
    title = "fetch: as many globs as it may have, at 100,000 queues"
    covers = ("POST /api/v1/fetch",)
    memory_mb = 200

    def prepare(self, admin):
        many_queues(admin, 100_000, "mail.{}")

    def attack(self, tenant, number, running):
        count = 0
        while running():
            count += 1
            for size in (1_000, 100, 20):
                globs = [f"mail.*{count}*{number}*{n}*x" for n in range(size)]
                tenant.post("/fetch", {"queues": globs, "timeout": 0})
            tenant.post("/fetch", {"queues": [f"mail.{n}" for n in range(1_000)], "count": 10, "timeout": 0})


class AbandonedGlobs(Case):
    title = "fetch: with globs, abandoned at once, at 100,000 queues"
    covers = ("POST /api/v1/fetch",)
    memory_mb = 200

    def prepare(self, admin):
        many_queues(admin, 100_000, "mail.{}")

    def attack(self, tenant, number, running):
        count = 0
        while running():
            count += 1
            for size in (1_000, 20):
                globs = [f"mail.*{count}*{number}*{n}*x" for n in range(size)]
                with socket.create_connection(("127.0.0.1", tenant.port), timeout=10) as connection:
                    connection.sendall(tenant.raw("POST", "/fetch", encode({"queues": globs, "timeout": 30})))
                tenant.count("abandoned")


class WaitingGlobs(Case):
    title = "fetch: hundreds that wait, each with globs of its own"
    covers = ("POST /api/v1/fetch",)
    memory_mb = 150

    def attack(self, tenant, number, running):
        connections = []
        for n in range(250):
            globs = [f"mail.*{number}*{n}*{g}*x" for g in range(20)]
            connection = socket.create_connection(("127.0.0.1", tenant.port), timeout=10)
            connection.sendall(tenant.raw("POST", "/fetch", encode({"queues": globs, "timeout": 60})))
            connections.append(connection)
        while running():
            tenant.post("/enqueue", {"queue": "mail.never-fetched"})
        for connection in connections:
            connection.close()


class LargeFetches(Case):
    title = "fetch: 1,000 jobs of 1 MiB, never read"
    covers = ("POST /api/v1/fetch",)
    attackers = 2
    memory_mb = 600  # 40 answers of 8 MiB, and as much again while they are made
    JOBS = 400

    def prepare(self, admin):
        job = encode({"queue": "mail.big", "payload": {"text": TEXT}})
        for _ in range(self.JOBS):
            admin.need(admin.post("/enqueue", job), 201)

    def attack(self, tenant, number, running):
        body = encode({"queues": ["mail.big"], "count": 1000, "lease_duration": 1})
        connections = []
        while running() and len(connections) < 20:
            connection = socket.create_connection(("127.0.0.1", tenant.port), timeout=10)
            connection.sendall(tenant.raw("POST", "/fetch", body))
            connections.append(connection)
            tenant.count("unread")
        while running():
            tenant.post("/fetch", body)
        for connection in connections:
            connection.close()


class ManyBeats(Case):
    title = "heartbeat: 10,000 jobs, and 2,000 with 15 KiB of progress"
    covers = ("POST /api/v1/heartbeat",)
    attackers = 2
    memory_mb = 700

    def prepare(self, admin):
        admin.need(admin.post("/enqueue/batch", {"jobs": [{"queue": "mail.beats"}] * 10_000}), 201)

    def attack(self, tenant, number, running):
        jobs = claim(tenant, "mail.beats", 5_000)
        plain = encode({"worker_id": f"w{number}", "jobs": {job["job_id"]: {"lease_id": job["lease_id"]} for job in jobs}})
        large = encode({"worker_id": f"w{number}", "jobs": {
            job["job_id"]: {"lease_id": job["lease_id"], "progress": {"text": "p" * 15_000}} for job in jobs[:2_000]}})
        checkpoints = encode({"worker_id": f"w{number}", "jobs": {
            job["job_id"]: {"lease_id": job["lease_id"], "checkpoint": {"text": "c" * 300_000}} for job in jobs[:100]}})
        while running():
            for body in (plain, large, checkpoints):
                tenant.post("/heartbeat", body)


class ManyAcks(Case):
    title = "ack and fail: lists of 10,000, and errors of 64 KiB"
    covers = ("POST /api/v1/ack", "POST /api/v1/fail", "POST /api/v1/fail/{job_id}")
    attackers = 2
    memory_mb = 500

    def attack(self, tenant, number, running):
        queue = f"mail.acks.{number}"
        fill = encode({"jobs": [{"queue": queue, "retry_backoff": "none"}] * 10_000})
        while running():
            tenant.post("/enqueue/batch", fill)
            jobs = claim(tenant, queue, 10_000)
            if not jobs:
                continue
            refs = [{"job_id": job["job_id"], "lease_id": job["lease_id"]} for job in jobs]
            tenant.post(f"/fail/{refs[0]['job_id']}", {"error": "e" * 65_000, "backtrace": "b" * 65_000})
            tenant.post("/fail", {"jobs": [dict(ref, error="e" * 60_000) for ref in refs[1:400]]})
            tenant.post("/ack", {"jobs": refs[400:]})
            tenant.post("/ack", {"jobs": refs})  # most of them once more


class ManyLines(Case):
    title = "logs: 1,000 lines of 8 KiB a request"
    covers = ("POST /api/v1/jobs/{job_id}/logs", "GET /api/v1/jobs/{job_id}/logs")
    attackers = 2
    memory_mb = 400

    def attack(self, tenant, number, running):
        tenant.post("/enqueue", {"queue": f"mail.logs.{number}"})
        jobs = claim(tenant, f"mail.logs.{number}", 1)
        if not jobs:
            return
        path = f"/jobs/{jobs[0]['job_id']}/logs"
        body = encode({"lease_id": jobs[0]["lease_id"], "lines": [{"message": "l" * 8_000}] * 1_000})
        while running():
            tenant.post(path, body)
            tenant.get(path + "?limit=1000")


class ManyWorkers(Case):
    title = "workers: with 256 roles and tags each, always new"
    covers = ("POST /api/v1/workers", "GET /api/v1/workers")
    memory_mb = 300

    def attack(self, tenant, number, running):
        roles = [f"role-{n}" for n in range(256)]
        count = 0
        while running():
            count += 1
            tenant.post("/workers", {"worker_id": f"{number}-{count}", "roles": roles, "tags": roles, "queues": ["mail.*"]})
            if count % 50 == 0:
                tenant.get("/workers?limit=1000&glob=*1*2*3*4*5*x")

    def check(self, admin):
        answer = admin.need(admin.get("/workers/others"), 200)
        assert answer["id"] == "others", answer


class StolenWorker(Case):
    title = "workers: the ids of others"
    covers = ("POST /api/v1/workers", "POST /api/v1/fetch", "POST /api/v1/heartbeat")

    def prepare(self, admin):
        admin.need(admin.post("/workers", {"worker_id": "payer", "roles": ["pays"], "queues": ["pay.*"]}))

    def attack(self, tenant, number, running):
        while running():
            tenant.post("/workers", {"worker_id": "payer", "roles": [], "queues": ["mail.*"]})
            tenant.post("/fetch", {"worker_id": "payer", "queues": ["mail.*"], "timeout": 0})
            tenant.post("/heartbeat", {"worker_id": "payer", "jobs": {}})

    def check(self, admin):
        answer = admin.need(admin.call("GET", f"{API}/workers/payer"), 200)
        assert answer["roles"] == ["pays"] and answer["queues"] == ["pay.*"], answer
