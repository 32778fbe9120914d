"""Those who look: searches, lists, figures, streams."""

import socket
import time

from harness import MIB, Case, encode
from cases_work import many_queues

TEXT = "a" * (MIB - 100)


class CostlyJq(Case):
    title = "search: payload_jq over payloads of 1 MiB"
    covers = ("POST /api/v1/jobs/search",)
    memory_mb = 300
    others_search = True

    def prepare(self, admin):
        job = encode({"queue": "mail.a", "payload": {"s": TEXT}})
        nested = encode({"queue": "mail.a", "payload": {"l": [["a"] * 1000] * 250, "t": "a" * 1000}})
        for _ in range(12):
            admin.need(admin.post("/enqueue", job), 201)
            admin.need(admin.post("/enqueue", nested), 201)

    def attack(self, tenant, number, running):
        long = "a" * 3_900 + "b"
        texts = (f'.s | test("{long}")', '.s | test("' + "a.*" * 1_000 + 'b")', f'.s | contains("{long}")',
                 " or ".join([f'(.s | contains("{"a" * 20}{n}"))' for n in range(90)]),
                 '.l | contains([["b"]])', ".l == .l and (.l | length) > 1000")
        while running():
            for text in texts:
                tenant.post("/jobs/search", {"queue": "mail.*", "payload_jq": text})


class AbandonedSearches(Case):
    title = "search: costly ones, abandoned at once"
    covers = ("POST /api/v1/jobs/search",)
    memory_mb = 200
    others_search = True

    prepare = CostlyJq.prepare

    def attack(self, tenant, number, running):
        body = encode({"queue": "mail.*", "payload_jq": '.s | test("' + "a" * 3_900 + 'b")'})
        while running():
            with socket.create_connection(("127.0.0.1", tenant.port), timeout=10) as connection:
                connection.sendall(tenant.raw("POST", "/jobs/search", body))
                time.sleep(0.005)
            tenant.count("abandoned")


class CostlyScans(Case):
    title = "search, jobs, dead: fields without an index, 200,000 jobs"
    covers = ("POST /api/v1/jobs/search", "GET /api/v1/jobs", "GET /api/v1/dead", "GET /api/v1/errors",
              "GET /api/v1/errors/{fingerprint}", "GET /api/v1/batches")
    memory_mb = 200
    others_search = True

    def prepare(self, admin):
        for _ in range(20):
            admin.need(admin.post("/enqueue/batch", encode(
                {"jobs": [{"queue": "mail.scan", "payload": {"n": n}, "tags": {"t": "x"}} for n in range(10_000)]})), 201)

    def attack(self, tenant, number, running):
        while running():
            tenant.post("/jobs/search", {"queue": "mail.*", "payload_contains": "nowhere to be found" * 50, "limit": 1000})
            tenant.post("/jobs/search", {"queue": "mail.*", "tags": {"t": "y"}, "sort": "priority", "limit": 1000})
            tenant.get("/jobs?queue=mail.*1*2*3*x&limit=1000&sort=attempt")
            tenant.get("/dead?queue=mail.*&error_contains=nothing&limit=1000")
            tenant.get("/errors?queue=mail.scan&limit=1000")
            tenant.get("/errors/0123456789abcdef")
            tenant.get("/batches?limit=1000")


class Lists(Case):
    title = "lists and figures at 100,000 queues"
    covers = ("GET /api/v1/queues", "GET /metrics", "GET /api/v1/metrics", "GET /api/v1/stats", "GET /api/v1/workers",
              "GET /api/v1/cluster/status")
    memory_mb = 200

    def prepare(self, admin):
        many_queues(admin, 100_000, "mail.{}")

    def attack(self, tenant, number, running):
        while running():
            tenant.get("/queues?limit=1000")
            tenant.get("/queues?limit=1000&glob=mail.*9*9*9*9*x")
            tenant.call("GET", "/metrics")
            tenant.get("/metrics")
            tenant.get("/stats?queue=mail.1&resolution=minute")
            tenant.get("/cluster/status")


class Pipelined(Case):
    title = "jobs/{id}: 128 answers of 1 MiB asked for in one write"
    covers = ("GET /api/v1/jobs/{job_id}",)
    memory_mb = 400
    queue = "mail.one"

    def attack(self, tenant, number, running):
        job = tenant.post("/enqueue", encode({"queue": self.queue, "payload": {"text": TEXT}}))
        if job is None or job.status != 201:
            return
        request = tenant.raw("GET", f"/jobs/{job.json['job_id']}") * 128
        connections = []
        while running():
            if len(connections) < 25:
                connection = socket.create_connection(("127.0.0.1", tenant.port), timeout=10)
                connection.sendall(request)
                connections.append(connection)
                tenant.count("unread")
            else:
                time.sleep(0.05)
        for connection in connections:
            connection.close()


class UnreadStreams(Case):
    title = "events: 200 streams that nobody reads"
    covers = ("GET /api/v1/events",)
    memory_mb = 300

    def attack(self, tenant, number, running):
        connections = []
        for _ in range(50):
            connection = socket.create_connection(("127.0.0.1", tenant.port), timeout=10)
            connection.sendall(tenant.raw("GET", "/events?queue=mail.*"))
            connections.append(connection)
        body = encode({"jobs": [{"queue": "mail.stream"}] * 1_000})
        while running():
            tenant.post("/enqueue/batch", body)
        for connection in connections:
            connection.close()


class Why(Case):
    title = "jobs/{id}/why: of the last of 100,000"
    covers = ("GET /api/v1/jobs/{job_id}/why",)
    memory_mb = 100

    def prepare(self, admin):
        for turn in range(10):
            admin.need(admin.post("/enqueue/batch", encode({"jobs": [
                {"queue": "mail.why", "group": f"g{n % 100}", "priority": n % 7} for n in range(10_000)]})), 201)

    def attack(self, tenant, number, running):
        last = tenant.post("/enqueue", {"queue": "mail.why", "priority": 100})
        while running() and last is not None and last.status == 201:
            tenant.get(f"/jobs/{last.json['job_id']}/why")
