"""Bulk operations past ten thousand jobs: they go on by themselves, through kill -9 too."""

import http.client
import json
import time

from support import API, EndToEnd

JOBS = 25_000
AT_ONCE = 5_000


class Bulk(EndToEnd):
    def fill(self, client, queue, count):
        for begin in range(0, count, AT_ONCE):
            jobs = [{"queue": queue, "payload": {"n": n, "odd": n % 2 == 1}} for n in range(begin, begin + AT_ONCE)]
            answer = client.post(f"{API}/enqueue/batch", {"jobs": jobs})
            self.assertEqual(answer.status, 201, answer.body[:300])

    def start(self, client, **body):
        answer = client.post(f"{API}/jobs/bulk", body)
        self.assertEqual(answer.status, 202, answer.body)
        self.assertEqual(answer.json["status"], "processing")
        bulk = answer.json["bulk_operation_id"]
        self.assertEqual(answer.json["progress_url"], f"{API}/bulk/{bulk}/progress")
        return bulk, answer.json

    def progress(self, client, bulk):
        answer = client.get(f"{API}/bulk/{bulk}/progress")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def wait_for(self, client, bulk, reached, within_s=60):
        deadline = time.time() + within_s
        while True:
            seen = self.progress(client, bulk)
            if reached(seen):
                return seen
            self.assertLess(time.time(), deadline, seen)
            time.sleep(0.005)

    def count(self, client, **filter_):
        """Exact beyond ten thousand too: what a bulk action would affect."""
        answer = client.post(f"{API}/jobs/bulk", {"filter": filter_, "action": "delete", "dry_run": True})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json["affected"]

    def test_killed_in_the_middle(self):
        server = self.serve()
        client = self.client(server)
        self.fill(client, "src", JOBS)
        bulk, started = self.start(client, filter={"queue": "src"}, action="move", move_to_queue="dst")
        self.assertEqual(started["estimated_total"], JOBS)
        self.wait_for(client, bulk, lambda seen: seen["processed"] > 2_000)
        kills = 0
        while True:
            server.kill()
            server.start()
            client = self.client(server)
            kills += 1
            seen = self.progress(client, bulk)
            if kills == 3 or seen["status"] != "processing":
                break
            before = seen["processed"]
            self.wait_for(client, bulk, lambda now: now["processed"] > before or now["status"] != "processing")
        late = self.enqueue(client, "src")["job_id"]
        done = self.wait_for(client, bulk, lambda seen: seen["status"] != "processing")
        self.assertEqual(done["status"], "completed")
        self.assertEqual((done["affected"], done["skipped"], done["errors"]), (JOBS, 0, 0))
        self.assertEqual(self.count(client, queue="dst"), JOBS)
        self.assertEqual(self.count(client, queue="src"), 1)
        self.assertEqual(self.job(client, late)["queue"], "src")
        # The engine counts what the database shows.
        fetched = set()
        while True:
            answer = client.post(f"{API}/fetch", {"queues": ["dst"], "count": 1000})
            if answer.status == 204:
                break
            fetched |= {job["payload"]["n"] for job in answer.json["jobs"]}
        self.assertEqual(fetched, set(range(JOBS)))

    def test_cancelled_in_the_middle(self):
        server = self.serve()
        client = self.client(server)
        self.fill(client, "q", JOBS)
        bulk, _ = self.start(client, filter={"queue": "q"}, action="change_priority", priority="critical")
        answer = client.call("DELETE", f"{API}/bulk/{bulk}")
        self.assertEqual((answer.status, answer.json["status"]), (200, "cancelled"), answer.body)
        self.assertEqual(client.call("DELETE", f"{API}/bulk/{bulk}").status, 409)
        affected = answer.json["affected"]
        self.assertLess(affected, JOBS)
        self.assertEqual(self.count(client, queue="q", priority="critical"), affected)
        listed = client.get(f"{API}/bulk").json["bulk_operations"]
        self.assertEqual([one["bulk_operation_id"] for one in listed], [bulk])

    def test_progress_as_events(self):
        server = self.serve()
        client = self.client(server)
        self.fill(client, "q", JOBS)
        bulk, _ = self.start(client, filter={"queue": "q", "payload_jq": "(.odd and .n >= 0) or .n < 9999"},
                             action="delete")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", f"{API}/bulk/{bulk}/progress", headers={"Accept": "text/event-stream"})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("content-type")), (200, "text/event-stream"))
        events = [part.split("\ndata: ") for part in answer.read().decode().strip().split("\n\n")]
        self.assertEqual(events[-1][0], "event: finished")
        self.assertTrue(all(name == "event: progress" for name, _ in events[:-1]))
        done = json.loads(events[-1][1])
        matching = sum(1 for n in range(JOBS) if n % 2 == 1 or n < 9999)
        self.assertEqual((done["status"], done["affected"]), ("completed", matching))
        self.assertEqual(self.count(client, queue="q"), JOBS - matching)

    def test_searches_while_jobs_come_and_go(self):
        """Pages show each job that was there throughout exactly once."""
        client = self.client(self.serve())
        first = [self.enqueue(client, "q", {"keep": True})["job_id"] for _ in range(50)]
        seen, cursor = [], None
        while True:
            answer = client.post(f"{API}/jobs/search", {"queue": "q", "payload_jq": ".keep", "limit": 7,
                                                        "cursor": cursor})
            seen += [job["id"] for job in answer.json["jobs"]]
            cursor = answer.json["cursor"]
            self.enqueue(client, "q", {"keep": True})
            self.enqueue(client, "q", {"keep": False})
            if cursor is None:
                break
        self.assertEqual(seen, list(reversed(first)))
