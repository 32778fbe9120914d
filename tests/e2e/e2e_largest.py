"""Requests as large as they may be, and larger: bounded, refused by name, and nobody else waits for them."""

import json
import socket

from support import API, EndToEnd

GLOBS, NAMES = 20, 1000
DEPENDENCIES, MOST_DEPENDENCIES = 1000, 100_000
ANSWER_BYTES = 8 << 20
LARGE, LARGE_JOBS = 1_000_000, 24
QUEUES = 5_000


class Largest(EndToEnd):
    """What a fetch and a batch may ask for at most."""

    def test_a_fetch_has_few_globs_and_many_names(self):
        client = self.client(self.serve())
        names = [f"q{i}" for i in range(NAMES - GLOBS)]
        globs = [f"*{i}*x*" for i in range(GLOBS)]
        self.assertEqual(client.post(f"{API}/fetch", {"queues": names + globs}).status, 204)
        past = client.post(f"{API}/fetch", {"queues": globs + ["one.more.*"]})
        self.assertEqual((past.status, past.json["code"], past.json["field"]), (422, "invalid", "queues"))

    def test_dependencies_of_a_batch_are_bounded(self):
        client = self.client(self.serve())
        full = {"queue": "then", "depends_on": list(range(DEPENDENCIES))}
        jobs = [{"queue": "first"}] * DEPENDENCIES + [full] * (MOST_DEPENDENCIES // DEPENDENCIES)
        past = client.post(f"{API}/enqueue/batch", {"jobs": jobs + [{"queue": "then", "depends_on": [0]}]})
        self.assertEqual((past.status, past.json["code"]), (422, "invalid"))
        self.assertEqual(past.json["field"], f"jobs[{len(jobs)}].depends_on")
        self.assertEqual(client.post(f"{API}/enqueue/batch", {"jobs": jobs}).status, 201)
        # All of them are released in the end, in slices.
        acks = []
        while True:
            got = client.post(f"{API}/fetch", {"queues": ["first"], "count": 1000, "ack": acks}).json["jobs"]
            acks = [{"job_id": job["job_id"], "lease_id": job["lease_id"]} for job in got]
            if not got:
                break
        waiting = MOST_DEPENDENCIES // DEPENDENCIES
        for _ in range(waiting):
            self.assertIsNotNone(self.fetch(client, "then", timeout=20))

    def test_a_fetch_ends_at_eight_mebibytes_and_the_next_goes_on(self):
        client = self.client(self.serve())
        job = {"queue": "large", "payload": {"s": "x" * LARGE}}
        self.assertEqual(client.post(f"{API}/enqueue/batch", {"jobs": [job] * LARGE_JOBS}).status, 201)
        seen, answers = set(), []
        while len(seen) < LARGE_JOBS:
            got = client.post(f"{API}/fetch", {"queues": ["large"], "count": 1000}).json["jobs"]
            self.assertTrue(got)
            answers.append(sum(len(json.dumps(job["payload"])) for job in got))
            seen.update(job["job_id"] for job in got)
        self.assertEqual(len(seen), LARGE_JOBS)
        for size in answers[:-1]:
            self.assertGreaterEqual(size, ANSWER_BYTES)
            self.assertLess(size, ANSWER_BYTES + 2 * LARGE)

    def test_fetches_of_clients_that_hung_up_hold_up_nobody(self):
        server = self.serve()
        client = self.client(server)
        names = [{"queue": f"mail.{i}"} for i in range(QUEUES)]
        self.assertEqual(client.post(f"{API}/enqueue/batch", {"jobs": names}).status, 201)
        body = json.dumps({"queues": [f"*{i}*zz*x" for i in range(GLOBS)], "timeout": 0})
        for _ in range(20):
            gone = socket.create_connection(("127.0.0.1", server.port))
            gone.sendall(f"POST {API}/fetch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            gone.close()
        self.enqueue(client, "others")
        self.assertIsNotNone(self.fetch(client, "others"))

    def test_globs_see_queues_that_come_and_go(self):
        client = self.client(self.serve())
        for round_ in range(3):
            for i in range(5):
                self.enqueue(client, f"r{round_}.q{i}")
            got = client.post(f"{API}/fetch", {"queues": ["r*.q?", "nobody.*"], "count": 10}).json["jobs"]
            self.assertEqual([job["queue"] for job in got], [f"r{round_}.q{i}" for i in range(5)])
            for job in got:
                self.assertEqual(client.post(f"{API}/ack/{job['job_id']}", {"lease_id": job["lease_id"]}).status, 200)
                self.assertEqual(client.call("DELETE", f"{API}/queues/{job['queue']}?confirm=true").status, 200)
