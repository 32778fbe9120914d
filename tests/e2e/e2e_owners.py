"""What belongs to a restricted key, and how much of the server it may take: queues, idempotency keys, bulk operations."""

import http.client
import subprocess
import threading
import time

from e2e_access import Keys as Access
from support import API, EndToEnd, Options


__all__ = ["Owners"]


class Owners(EndToEnd):
    admin = Access.admin
    make_key = Access.make_key

    def wait_until(self, holds, within_s=30):
        deadline = time.time() + within_s
        while not holds():
            self.assertLess(time.time(), deadline)
            time.sleep(0.02)

    def names(self, prefix, numbers):
        return {"jobs": [{"queue": f"{prefix}{n}"} for n in numbers]}

    def test_a_key_cannot_use_up_the_names_of_queues(self):
        server = self.serve(["--auth", "--max-queues", "60", "--max-queues-per-key", "20"])
        client, admin = self.client(server), self.admin(server)
        _, mail = self.make_key(client, admin, "mail", ["produce"], queues=["mail.*"])
        refused = client.post(f"{API}/enqueue/batch", self.names("mail.", range(21)), headers=mail)
        self.assertEqual((refused.status, refused.code, refused.json["field"]), (429, "limit_reached", "queue"))
        self.assertIn("key", refused.json["detail"])
        self.assertEqual(client.get(f"{API}/queues", headers=admin).json["queues"], [])

        def produce(first):
            mine = self.client(server)
            for n in range(first, first + 10):
                mine.post(f"{API}/enqueue/batch", self.names("mail.", range(3 * n, 3 * n + 3)), headers=mail)

        # However many requests are under way, there are no more than twenty.
        threads = [threading.Thread(target=produce, args=(10 * n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        listed = client.get(f"{API}/queues?limit=1000", headers=admin).json["queues"]
        self.assertEqual(len(listed), 18, "six requests of three names each, and the seventh has no room")
        self.assertEqual(client.post(f"{API}/enqueue/batch", self.names("mail.x", range(2)), headers=mail).status, 201)
        self.assertEqual(client.post(f"{API}/enqueue", {"queue": "mail.y"}, headers=mail).code, "limit_reached")
        self.assertEqual(client.post(f"{API}/enqueue", {"queue": "mail.x1"}, headers=mail).status, 201)
        # Others go on, up to the server's own limit; and both hold after a restart.
        server.kill()
        server.start()
        client = self.client(server)
        self.assertEqual(client.post(f"{API}/enqueue", {"queue": "mail.y"}, headers=mail).code, "limit_reached")
        answer = client.post(f"{API}/enqueue/batch", self.names("pay.", range(40)), headers=admin)
        self.assertEqual(answer.status, 201, answer.body)
        answer = client.post(f"{API}/enqueue", {"queue": "pay.x"}, headers=admin)
        self.assertEqual((answer.status, answer.code), (429, "limit_reached"))
        self.assertIn("server", answer.json["detail"])
        # A queue that goes makes room.
        self.assertEqual(client.call("DELETE", f"{API}/queues/mail.x1?confirm=true", headers=admin).status, 200)
        self.wait_until(lambda: client.post(f"{API}/enqueue", {"queue": "mail.z"}, headers=mail).status == 201)
        # So do other settings.
        server.stop()
        server.flags = ["--auth", "--max-queues", "61", "--max-queues-per-key", "21"]
        server.start()
        client = self.client(server)
        self.assertEqual(client.post(f"{API}/enqueue", {"queue": "mail.y"}, headers=mail).status, 201)
        self.assertEqual(client.post(f"{API}/enqueue", {"queue": "mail.zz"}, headers=mail).code, "limit_reached")

    def test_empty_queues_are_forgotten(self):
        server = self.serve(["--forget-queues-after", "1s"])
        client = self.client(server)
        there = lambda queue: client.get(f"{API}/queues/{queue}").status == 200  # noqa: E731
        kept = self.enqueue(client, "kept")["job_id"]
        self.assertEqual(client.post(f"{API}/queues/set/lease", {"duration": "30s"}).status, 200)
        client.post(f"{API}/schedules", {"name": "s", "cron": "0 0 1 1 *", "queue": "planned"})
        for queue in ("gone", "planned"):
            job = self.enqueue(client, queue)["job_id"]
            self.assertEqual(client.call("DELETE", f"{API}/jobs/{job}").status, 200)
        self.wait_until(lambda: not there("gone"))
        self.assertTrue(there("kept") and there("set") and there("planned"))
        # It comes again as a new one, also in what is counted.
        again = self.enqueue(client, "gone")["job_id"]
        self.assertEqual(client.get(f"{API}/queues/gone").json["pending"], 1)
        metrics = client.get("/metrics").body.decode()
        self.assertEqual(metrics.count('jobbie_queue_jobs{queue="gone",state="pending"}'), 1)
        self.assertEqual(client.call("DELETE", f"{API}/jobs/{again}").status, 200)
        self.wait_until(lambda: not there("gone"))
        server.kill()
        server.start()
        client = self.client(server)
        self.assertFalse(there("gone"))
        self.assertEqual(self.job(client, kept)["queue"], "kept")
        server.stop()
        done = subprocess.run([Options.binary, "db", "check", "--data-dir", server.data_dir], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_idempotency_keys_of_a_key_are_bounded(self):
        server = self.serve(["--auth", "--max-idempotency-keys-per-key", "3"])
        client, admin = self.client(server), self.admin(server)
        _, mail = self.make_key(client, admin, "mail", ["produce"], queues=["mail.*"])
        enqueue = lambda n, bearer: client.post(f"{API}/enqueue", {"queue": "mail.a"},  # noqa: E731
                                                headers={**bearer, "Idempotency-Key": str(n)})
        self.assertEqual([enqueue(n, mail).status for n in range(4)], [201, 201, 201, 429])
        self.assertEqual([enqueue(n, admin).status for n in range(4)], [201, 201, 201, 201])
        self.assertEqual(enqueue(0, mail).status, 201)

    def test_bulk_operations_are_their_keys(self):
        server = self.serve(["--auth"])
        client, admin = self.client(server), self.admin(server)
        mail_id, mail = self.make_key(client, admin, "mail", ["manage"], queues=["mail.*"])
        _, pay = self.make_key(client, admin, "pay", ["manage"], queues=["pay.*"])
        for _ in range(5):
            jobs = {"jobs": [{"queue": "mail.a"}] * 5_000}
            self.assertEqual(client.post(f"{API}/enqueue/batch", jobs, headers=admin).status, 201)
        bulks = []
        for priority in (1, 3, 4, 5, 6, 7):
            answer = client.post(f"{API}/jobs/bulk", {"filter": {"queue": "mail.*"}, "action": "change_priority",
                                                      "priority": priority}, headers=mail)
            self.assertEqual(answer.status, 202, answer.body)
            bulks.append(answer.json["bulk_operation_id"])
        last = bulks[-1]
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.addCleanup(connection.close)
        events = {"Accept": "text/event-stream"}
        connection.request("GET", f"{API}/bulk/{last}/progress", headers={**mail, **events})
        stream = connection.getresponse()
        self.assertEqual(stream.status, 200)
        for path in (f"{API}/bulk/{last}", f"{API}/bulk/{last}/progress"):
            self.assertEqual(client.get(path, headers=pay).status, 404)
            self.assertEqual(client.get(path, headers=mail).status, 200)
            self.assertEqual(client.get(path, headers=admin).status, 200)
        self.assertEqual(client.get(f"{API}/bulk/{last}/progress", headers={**pay, **events}).status, 404)
        self.assertEqual(client.call("DELETE", f"{API}/bulk/{last}", headers=pay).status, 404)
        listed = lambda bearer: [one["bulk_operation_id"] for one in  # noqa: E731
                                 client.get(f"{API}/bulk", headers=bearer).json["bulk_operations"]]
        self.assertEqual((listed(pay), listed(mail), listed(admin)), ([], bulks[::-1], bulks[::-1]))
        self.assertEqual(client.call("DELETE", f"{API}/bulk/{bulks[0]}", headers=mail).json["status"], "cancelled")
        # The stream ends with the key, and the operation goes on.
        self.assertEqual(client.call("DELETE", f"{API}/keys/{mail_id}", headers=admin).status, 200)
        text = stream.read().decode()
        self.assertNotIn("event: finished", text)
        self.wait_until(lambda: client.get(f"{API}/bulk/{last}", headers=admin).json["status"] == "completed", 120)
