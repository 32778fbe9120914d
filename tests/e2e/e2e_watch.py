"""What can be watched: the stream of events, metrics, time series, groups of errors, logs of jobs."""

import http.client
import json
import os
import random
import time
import urllib.parse

from exposition import BadExposition, Metrics
from support import API, EndToEnd, Options

__all__ = ["Events", "Exposition", "Figures", "JobLogs"]


class Stream:
    """A client of text/event-stream that reads as browsers do."""

    def __init__(self, port, path, last_event_id=None, timeout=10):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        self.connection.request("GET", path, headers=headers)
        self.answer = self.connection.getresponse()
        self.last_id, self.comments = last_event_id, 0

    def next(self):
        """The next event as (id, type, data), or None at the end of the stream."""
        kind, data = "message", []
        while True:
            line = self.answer.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(": ")
                if name == "id":
                    self.last_id = value
                elif name == "event":
                    kind = value
                elif name == "data":
                    data.append(value)
                elif name != "retry":
                    raise AssertionError(f"no such field: {line!r}")
            elif data:
                return self.last_id, kind, json.loads("\n".join(data))

    def take(self, count):
        return [self.next() for _ in range(count)]

    def close(self):
        self.answer.close()
        self.connection.close()


class Watching(EndToEnd):
    def stream(self, server, path=f"{API}/events", **more):
        stream = Stream(server.port, path, **more)
        self.addCleanup(stream.close)
        self.assertEqual(stream.answer.status, 200, stream.answer)
        self.assertEqual(stream.answer.getheader("content-type"), "text/event-stream")
        return stream

    def batch(self, client, queue, count):
        answer = client.post(f"{API}/enqueue/batch", {"jobs": [{"queue": queue}] * count})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json["job_ids"]


class Events(Watching):
    def test_a_life_is_told_in_order(self):
        server = self.serve()
        client = self.client(server)
        stream = self.stream(server)
        job = self.enqueue(client, "mail", max_retries=1)["job_id"]
        claimed = self.fetch(client, "mail", worker_id="w1")
        client.post(f"{API}/heartbeat", {"worker_id": "w1", "jobs": {job: {"progress": {"at": 1}}}})
        client.post(f"{API}/fail/{job}", {"error": "a\n\ndata: x", "lease_id": claimed["lease_id"]})
        seen = stream.take(6)
        self.assertEqual([kind for _, kind, _ in seen],
                         ["enqueued", "worker_joined", "started", "progress", "failed", "dead"])
        for _, kind, data in seen:
            self.assertEqual(data["type"], kind)
            self.assertRegex(data["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            if kind != "worker_joined":
                self.assertEqual((data["job_id"], data["queue"]), (job, "mail"))
        self.assertEqual(seen[2][2]["worker_id"], "w1")
        self.assertGreaterEqual(seen[2][2]["wait_ms"], 0)
        self.assertEqual(seen[3][2]["progress"], {"at": 1})
        self.assertEqual(seen[4][2]["error"], "a\n\ndata: x")
        self.assertEqual(seen[5][2]["reason"], "attempts_exhausted")

    def test_a_resume_neither_repeats_nor_skips(self):
        server = self.serve()
        client = self.client(server)
        stream = self.stream(server)
        for count in (1, 7, 1, 3):
            self.batch(client, "many", count)
        seen = stream.take(12)
        self.assertEqual(len({event for event, _, _ in seen}), 12)
        for at in range(12):
            again = self.stream(server, last_event_id=seen[at][0])
            self.assertEqual(again.take(11 - at), seen[at + 1:], f"behind {seen[at][0]}")
            again.close()
        query = urllib.parse.quote(seen[9][0])
        self.assertEqual(self.stream(server, f"{API}/events?last_event_id={query}").take(2), seen[10:])
        # While nobody is connected the stream goes on for those who come back.
        stream.close()
        self.batch(client, "many", 2)
        self.assertEqual(len(self.stream(server, last_event_id=seen[-1][0]).take(2)), 2)

    def test_a_new_stream_knows_its_place(self):
        server = self.serve()
        client = self.client(server)
        stream = self.stream(server)
        stream.answer.readline()
        while stream.last_id is None:
            line = stream.answer.readline().decode()
            if line.startswith("id: "):
                stream.last_id = line[4:].strip()
        self.enqueue(client, "q")
        self.assertEqual(self.stream(server, last_event_id=stream.last_id).next()[1], "enqueued")

    def test_filters(self):
        server = self.serve()
        client = self.client(server)
        by_queue = self.stream(server, f"{API}/events?queue=mail.*")
        by_type = self.stream(server, f"{API}/events?types=started,completed")
        for queue in ("sms", "mail.in", "mail.out"):
            self.enqueue(client, queue)
        job = self.fetch(client, "sms")
        by_job = self.stream(server, f"{API}/events?job_id={job['job_id']}")
        client.post(f"{API}/ack/{job['job_id']}", {})
        self.assertEqual([data["queue"] for _, _, data in by_queue.take(2)], ["mail.in", "mail.out"])
        self.assertEqual([kind for _, kind, _ in by_type.take(2)], ["started", "completed"])
        self.assertEqual(by_job.next()[1], "completed")

    def test_reset_when_history_is_gone(self):
        server = self.serve()
        client = self.client(server)
        stream = self.stream(server)
        self.batch(client, "q", 3)
        last = stream.take(3)[1][0]
        stream.close()
        for place in ("1", "999999-1", "nonsense"):
            again = self.stream(server, last_event_id=place)
            self.assertEqual(again.next()[1], "reset", place)
            self.enqueue(client, "q")
            self.assertEqual(again.next()[1], "enqueued", place)
            again.close()
        server.kill()
        server.start()
        again = self.stream(server, last_event_id=last)
        place, kind, data = again.next()
        self.assertEqual((kind, data["type"]), ("reset", "reset"))
        self.enqueue(self.client(server), "q")
        self.assertEqual(again.next()[1], "enqueued")
        # The place in the reset is good for the next connection.
        self.assertEqual(self.stream(server, last_event_id=place).next()[1], "enqueued")

    def test_a_stop_ends_streams(self):
        server = self.serve()
        streams = [self.stream(server) for _ in range(20)]
        began = time.time()
        server.terminate()
        for stream in streams:
            self.assertIsNone(stream.next())
        self.assertEqual(server.wait_stopped(), 0)
        self.assertLess(time.time() - began, 4)

    def test_a_reader_that_does_not_read_costs_little(self):
        server = self.serve()
        client = self.client(server)
        lazy = [self.stream(server) for _ in range(40)]
        before = resident(server)
        self.batch(client, "q", 1)
        jobs = self.batch(client, "busy", 10_000)
        for start in range(0, 10_000, 1_000):
            client.post(f"{API}/fetch", {"queues": ["busy"], "count": 1000})
            client.post(f"{API}/fail", {"jobs": [{"job_id": job, "error": "x" * 2000}
                                                 for job in jobs[start:start + 1000]]})
        self.assertEqual(client.get("/healthz").status, 200)
        # Each is owed 30 MB by now, all together 1,200. Sanitizers keep some of what was freed.
        self.assertLess(resident(server) - before, 1_000 << 20)
        # It then gets all of it, or is told that some is gone; it never sees anything twice.
        last, seen = (0, 0), 0
        while seen < 100:
            place, kind, _ = lazy[0].next()
            index, _, ordinal = place.partition("-")
            now = (int(index), int(ordinal or 0))
            self.assertGreater(now, last)
            last, seen = now, seen + 1

    def test_watchers_come_and_go_under_load(self):
        server = self.serve()
        client = self.client(server)
        rng = random.Random(Options.seed)
        job = self.enqueue(client, "logged")["job_id"]
        self.fetch(client, "logged")
        paths = [f"{API}/events", f"{API}/events?queue=q*&types=enqueued", f"{API}/jobs/{job}/logs?follow=true"]
        streams = []
        for turn in range(300):
            streams.append(Stream(server.port, rng.choice(paths)))
            if len(streams) > 40:
                gone = streams.pop(rng.randrange(len(streams) - 1))
                # Some go without having read what came, which resets the connection.
                if rng.random() < 0.5:
                    gone.next()
                gone.close()
            self.batch(client, f"q{turn % 3}", 20)
            client.post(f"{API}/jobs/{job}/logs", {"lines": [{"message": "x" * rng.randrange(2000)}] * 5})
        for stream in streams:
            self.assertIsNotNone(stream.next())
        server.terminate()
        self.assertEqual(server.wait_stopped(), 0)
        for stream in streams:
            stream.close()

    def test_requests_that_make_no_sense(self):
        server = self.serve()
        client = self.client(server)
        for query, status, field in (("types=nonsense", 422, "types"), ("queue=a%20b", 400, "queue"),
                                     ("typs=a", 422, "typs"), ("last_event_id=x", 422, "last_event_id"),
                                     ("queue=a&queue=b", 422, "queue"), ("job_id=x", 422, "job_id")):
            answer = client.get(f"{API}/events?{query}")
            self.assertEqual((answer.status, answer.json.get("field")), (status, field), query)
        self.assertEqual(client.get(f"{API}/events?queue=%zz").code, "bad_query")
        self.assertEqual(client.call("HEAD", f"{API}/events").status, 200)


def resident(server):
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Exposition(Watching):
    def metrics(self, client, path="/metrics"):
        answer = client.get(path)
        self.assertEqual(answer.status, 200)
        return Metrics(answer.body.decode())

    def test_the_parser_is_strict(self):
        head = "# HELP a_total x\n# TYPE a_total counter\n"
        self.assertEqual(Metrics(head + 'a_total{q="x\\"y"} 1\n').value("a_total", q='x\\"y'), 1)
        histogram = "# HELP h x\n# TYPE h histogram\n"
        good = 'h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3\nh_count 2\n'
        Metrics(histogram + good)
        for bad in (head + "a_total 1\na_total 1\n", "a_total 1\n", head + "a_total 1", head + "a_total  1\n",
                    head + "b_total 1\n", head + 'a_total{q="\\x"} 1\n', head + head, head + "a_total one\n",
                    histogram + good.replace("h_count 2", "h_count 3"), histogram + good.replace("} 1", "} 5"),
                    histogram + good.replace("+Inf", "9"), histogram + good.replace("h_sum 3\n", "")):
            with self.assertRaises(BadExposition, msg=bad):
                Metrics(bad)

    def test_what_is_counted(self):
        server = self.serve()
        client = self.client(server)
        self.metrics(client)
        first = self.enqueue(client, "mail", max_retries=1)["job_id"]
        self.enqueue(client, "mail")
        self.fetch(client, "mail", worker_id="w1")
        client.post(f"{API}/fail/{first}", {"error": "no"})
        second = self.fetch(client, "mail", worker_id="w1")["job_id"]
        client.post(f"{API}/ack/{second}", {})
        self.enqueue(client, "mail")
        found = self.metrics(client, f"{API}/metrics")
        self.assertEqual(found.value("jobbie_jobs_enqueued_total", queue="mail"), 3)
        self.assertEqual(found.value("jobbie_jobs_finished_total", queue="mail", outcome="completed"), 1)
        self.assertEqual(found.value("jobbie_jobs_finished_total", queue="mail", outcome="dead"), 1)
        self.assertEqual(found.value("jobbie_attempts_failed_total", queue="mail"), 1)
        self.assertEqual(found.value("jobbie_leases_expired_total", queue="mail"), 0)
        self.assertEqual(found.value("jobbie_queue_jobs", queue="mail", state="pending"), 1)
        self.assertEqual(found.value("jobbie_queue_jobs", queue="mail", state="dead"), 1)
        self.assertGreaterEqual(found.value("jobbie_queue_oldest_pending_age_seconds", queue="mail"), 0)
        self.assertEqual(found.value("jobbie_job_wait_seconds_count", queue="mail"), 2)
        self.assertEqual(found.value("jobbie_job_run_seconds_count", queue="mail"), 2)
        self.assertEqual(found.value("jobbie_workers"), 1)
        self.assertGreater(found.value("jobbie_log_commit_seconds_count"), 5)
        self.assertGreater(found.value("jobbie_log_bytes"), 1 << 20)
        self.assertGreaterEqual(found.value("jobbie_http_requests_total", code="2xx"), 8)
        self.assertGreater(found.value("process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(found.value("process_open_fds"), 3)
        self.assertGreater(found.value("process_cpu_seconds_total"), 0)
        self.assertTrue(any(name == "jobbie_build_info" for name, _ in found.samples))
        self.assertNotIn("job_0", client.get("/metrics").body.decode())
        self.assertEqual(client.get("/nothing").status, 404)
        self.assertEqual(self.metrics(client).value("jobbie_http_requests_total", code="4xx"), 1)

    def test_many_queues_stay_bounded(self):
        server = self.serve()
        client = self.client(server)
        jobs = [{"queue": f"q{i}"} for i in range(1_200)]
        self.assertEqual(client.post(f"{API}/enqueue/batch", {"jobs": jobs}).status, 201)
        found = self.metrics(client)
        named = {labels for name, labels in found.samples if name == "jobbie_jobs_enqueued_total"}
        self.assertEqual(len(named), 257)
        self.assertEqual(found.value("jobbie_jobs_enqueued_total", queue="(other)"), 1_200 - 256)
        self.assertEqual(found.value("jobbie_queues"), 1_200)


class Figures(Watching):
    def test_series(self):
        server = self.serve()
        client = self.client(server)
        for _ in range(3):
            self.enqueue(client, "a")
        self.enqueue(client, "b")
        job = self.fetch(client, "a")["job_id"]
        client.post(f"{API}/ack/{job}", {})
        for resolution, points in (("second", 900), ("minute", 4320)):
            found = client.get(f"{API}/stats?queue=a&resolution={resolution}").json
            self.assertEqual(found["points"], points)
            for column in ("enqueued", "started", "completed", "failed", "dead", "cancelled"):
                self.assertEqual(len(found[column]), points)
            self.assertEqual((sum(found["enqueued"]), sum(found["started"]), sum(found["completed"])), (3, 1, 1))
            for part in ("wait_ms", "run_ms"):
                for column in ("p50", "p95", "p99", "max"):
                    self.assertEqual(sum(x is not None for x in found[part][column]), 1)
        self.assertEqual(sum(client.get(f"{API}/stats").json["enqueued"]), 4)
        self.assertEqual(sum(client.get(f"{API}/stats?queue=none").json["enqueued"]), 0)
        none = client.get(f"{API}/stats?until=2001-01-01T00:00:00Z").json
        self.assertEqual((none["points"], none["enqueued"]), (0, []))

    def test_errors_survive_a_restart(self):
        server = self.serve()
        client = self.client(server)
        jobs = [self.enqueue(client, "mail", max_retries=1 + i % 2)["job_id"] for i in range(4)]
        for i, job in enumerate(jobs):
            self.fetch(client, "mail")
            client.post(f"{API}/fail/{job}", {"error": f"no answer from 10.0.0.{i} after {i} s"})
        found = client.get(f"{API}/errors").json
        self.assertEqual((found["total"], found["complete"]), (1, True))
        group = found["groups"][0]
        self.assertEqual((group["count"], group["dead"], group["retrying"]), (4, 2, 2))
        self.assertEqual(set(group["job_ids"]), set(jobs))
        self.assertEqual(group["pattern"], "no answer from #.#.#.# after # s")
        server.kill()
        server.start()
        client = self.client(server)
        self.assertEqual(client.get(f"{API}/errors/{group['fingerprint']}").json, group)
        self.assertEqual(client.get(f"{API}/errors/{'0' * 16}").status, 404)


class JobLogs(Watching):
    def start(self):
        server = self.serve()
        client = self.client(server)
        self.enqueue(client, "q")
        return server, client, self.fetch(client, "q", worker_id="w1")

    def log(self, client, job, *messages, **more):
        return client.post(f"{API}/jobs/{job['job_id']}/logs",
                           dict({"lines": [{"message": text} for text in messages]}, **more))

    def test_a_log_is_followed_to_its_end(self):
        server, client, job = self.start()
        self.assertEqual(self.log(client, job, "one", "two", lease_id=job["lease_id"]).json, {"appended": 2})
        path = f"{API}/jobs/{job['job_id']}/logs?follow=true"
        stream = self.stream(server, path)
        self.assertEqual([data["message"] for _, _, data in stream.take(2)], ["one", "two"])
        self.log(client, job, "three")
        place, kind, data = stream.next()
        self.assertEqual((place, kind, data["message"]), ("3", "log", "three"))
        again = self.stream(server, path, last_event_id="2")
        self.assertEqual(again.next()[2]["message"], "three")
        client.post(f"{API}/ack/{job['job_id']}", {})
        for each in (stream, again):
            self.assertEqual(each.next()[1:], ("end", {"type": "end", "state": "completed"}))
            self.assertIsNone(each.next())
        unknown = Stream(server.port, f"{API}/jobs/job_01JZ0000000000000000000001/logs?follow=true")
        self.assertEqual(unknown.answer.status, 404)
        unknown.close()

    def test_what_was_acknowledged_survives_a_kill(self):
        server, client, job = self.start()
        for i in range(50):
            self.assertEqual(self.log(client, job, f"line {i}").status, 201)
        server.kill()
        server.start()
        found = self.client(server).get(f"{API}/jobs/{job['job_id']}/logs").json
        self.assertEqual([line["message"] for line in found["lines"]], [f"line {i}" for i in range(50)])
        self.assertEqual([line["number"] for line in found["lines"]], list(range(1, 51)))

    def test_the_database_is_sound_with_logs(self):
        server, client, job = self.start()
        self.log(client, job, "x")
        client.post(f"{API}/ack/{job['job_id']}", {})
        self.assertEqual(client.get(f"{API}/jobs/{job['job_id']}/logs").json["total"], 1)
        server.stop()
        code, text = server.check_database()
        self.assertEqual(code, 0, text)
