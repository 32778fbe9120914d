"""Backups as an operator needs them: taken from a live server, restored elsewhere, with nothing lost and nothing twice."""

import os
import socket
import sqlite3
import threading
import time

from support import API, EndToEnd, Options, Server


class Load(threading.Thread):
    """Producers or workers; what was acknowledged is noted after the answer."""

    def __init__(self, test, server, work=False):
        super().__init__(daemon=True)
        self.client = test.client(server)
        self.work = work
        self.over = threading.Event()
        self.enqueued, self.completed = [], []
        self.failure = None

    def run(self):
        try:
            while not self.over.is_set():
                self.work_once() if self.work else self.enqueue_once()
        except Exception as error:  # noqa: BLE001  the test tells
            self.failure = error

    def enqueue_once(self):
        answer = self.client.post(f"{API}/enqueue/batch", {"jobs": [
            {"queue": "load", "payload": {"n": len(self.enqueued) + i, "text": "x" * 200}} for i in range(50)]})
        assert answer.status == 201, answer.body
        self.enqueued += answer.json["job_ids"]

    def work_once(self):
        answer = self.client.post(f"{API}/fetch", {"queues": ["load"], "count": 20, "timeout": 1})
        for job in answer.json["jobs"] if answer.status == 200 else []:
            done = self.client.post(f"{API}/ack/{job['job_id']}", {"lease_id": job["lease_id"]})
            assert done.status == 200, done.body
            self.completed.append(job["job_id"])

    def stop(self):
        self.over.set()
        self.join()
        if self.failure:
            raise self.failure


class Backups(EndToEnd):
    def backup(self, server, name="backup.db"):
        done = self.run_program("backup", self.path(name), "--url", f"http://127.0.0.1:{server.port}", timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.path(name)

    def restore(self, file, name="restored"):
        done = self.run_program("restore", file, "--data-dir", self.path(name), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        checked = self.run_program("db", "check", "--data-dir", self.path(name))
        self.assertEqual(checked.returncode, 0, checked.stdout)
        server = Server(Options.binary, self.path(name))
        self.addCleanup(server.close)
        return server

    def states(self, client):
        """Every job there is, with its state."""
        found, cursor = {}, ""
        while True:
            page = client.get(f"{API}/jobs?limit=1000" + (f"&cursor={cursor}" if cursor else "")).json
            for job in page["jobs"]:
                self.assertNotIn(job["id"], found)
                found[job["id"]] = job["state"]
            if not page["has_more"]:
                return found
            cursor = page["cursor"]

    def test_under_load(self):
        server = self.serve()
        loads = [Load(self, server), Load(self, server), Load(self, server, work=True)]
        for load in loads:
            load.start()
        deadline = time.time() + 60
        while sum(len(load.enqueued) for load in loads) < 3000 or not loads[2].completed:
            self.assertLess(time.time(), deadline)
            time.sleep(0.05)
        enqueued = {job for load in loads for job in list(load.enqueued)}
        completed = set(loads[2].completed)
        file = self.backup(server)
        for load in loads:
            load.stop()
        everything = {job for load in loads for job in load.enqueued}
        server.kill()  # the machine is gone

        restored = self.restore(file).start()
        client = self.client(restored)
        states = self.states(client)
        self.assertEqual(enqueued - set(states), set())
        self.assertEqual({job for job in completed if states[job] != "completed"}, set())
        self.assertEqual(set(states) - everything, set())  # nothing that was never asked for
        # It works: what is pending is done, once each, and new jobs get new ids.
        done = set()
        while True:
            answer = client.post(f"{API}/fetch", {"queues": ["load"], "count": 500, "timeout": 0})
            if answer.status == 204:
                break
            for job in answer.json["jobs"]:
                self.assertNotIn(job["job_id"], done)
                self.assertEqual(states[job["job_id"]], "pending")
                self.assertEqual(client.post(f"{API}/ack/{job['job_id']}", {"lease_id": job["lease_id"]}).status, 200)
                done.add(job["job_id"])
        self.assertEqual(done, {job for job, state in states.items() if state == "pending"})
        self.assertNotIn(self.enqueue(client, "load")["job_id"], everything)
        # And it lasts, through a kill and through an orderly end.
        restored.kill()
        restored.start()
        self.assertEqual(len(self.states(self.client(restored))), len(states) + 1)
        restored.stop()
        self.assertEqual(self.run_program("db", "check", "--data-dir", self.path("restored")).returncode, 0)

    def test_everything_else_is_in_it(self):
        server = self.serve()
        client = self.client(server)
        for path, body in (("/queues/mail/pause", {}), ("/queues/mail/concurrency", {"max": 3}),
                           ("/schedules", {"name": "nightly", "cron": "0 3 * * *", "queue": "mail", "payload": {}}),
                           ("/groups/g/pause", {})):
            self.assertIn(client.post(f"{API}{path}", body).status, (200, 201), path)
        active = self.enqueue(client, "work", max_retries=3)["job_id"]
        lease = self.fetch(client, "work", lease_duration=60)["lease_id"]
        unique = self.enqueue(client, "mail", unique_key="only-one")["job_id"]
        restored = self.restore(self.backup(server)).start()
        server.stop()
        client = self.client(restored)
        queue = client.get(f"{API}/queues/mail").json
        self.assertEqual((queue["paused"], queue["limits"]["concurrency"]["max"]), (True, 3))
        self.assertEqual([s["name"] for s in client.get(f"{API}/schedules").json["schedules"]], ["nightly"])
        self.assertEqual(self.enqueue(client, "mail", unique_key="only-one")["job_id"], unique)
        # A worker that was at it when the backup was made may still say that it is done.
        self.assertEqual(self.job(client, active)["state"], "active")
        self.assertEqual(client.post(f"{API}/ack/{active}", {"lease_id": lease}).status, 200)

    def test_restored_again_and_again(self):
        server = self.serve()
        client = self.client(server)
        first = self.enqueue(client, "q")["job_id"]
        one = self.backup(server, "one.db")
        server.stop()
        second_life = self.restore(one, "second").start()
        second = self.enqueue(self.client(second_life), "q")["job_id"]
        two = self.backup(second_life, "two.db")
        second_life.stop()
        third_life = self.restore(two, "third").start()
        self.assertEqual(set(self.states(self.client(third_life))), {first, second})

    def test_one_at_a_time_and_none_left_behind(self):
        server = self.serve()
        client = self.client(server)
        for _ in range(40):
            client.post(f"{API}/enqueue/batch", {"jobs": [{"queue": "q", "payload": {"text": "x" * 5000}}
                                                          for _ in range(100)]})
        slow = socket.create_connection(("127.0.0.1", server.port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /api/v1/backup HTTP/1.1\r\nHost: h\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            head += slow.recv(4096)
        self.assertIn(b"content-type: application/vnd.sqlite3\r\n", head)
        refused = client.get(f"{API}/backup")
        self.assertEqual((refused.status, refused.code), (409, "backup_running"))
        self.assertEqual([name for name in os.listdir(server.data_dir) if "backup" in name], [])
        # The server goes on meanwhile, and a client that goes makes room for the next.
        self.enqueue(client, "q")
        slow.close()
        deadline = time.time() + 20
        while (answer := client.get(f"{API}/backup")).status == 409:
            self.assertLess(time.time(), deadline)
            time.sleep(0.02)
        self.assertEqual(answer.status, 200)
        with open(self.path("got.db"), "wb") as out:
            out.write(answer.body)
        with sqlite3.connect(self.path("got.db")) as db:  # any program can read it
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            self.assertEqual(db.execute("PRAGMA journal_mode").fetchone(), ("delete",))
            self.assertEqual(db.execute("SELECT count(*) FROM job_rows").fetchone(), (4001,))

    def test_a_stop_ends_it(self):
        server = self.serve()
        client = self.client(server)
        for _ in range(20):
            client.post(f"{API}/enqueue/batch", {"jobs": [{"queue": "q", "payload": {"text": "x" * 5000}}
                                                          for _ in range(100)]})
        slow = socket.create_connection(("127.0.0.1", server.port))
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(b"GET /api/v1/backup HTTP/1.1\r\nHost: h\r\n\r\n")
        slow.recv(100)
        server.stop()
        self.assertEqual([name for name in os.listdir(server.data_dir) if "backup" in name], [])
        slow.close()

    def test_what_a_crash_left_is_removed(self):
        server = self.serve()
        server.kill()
        self.write("data/backup.tmp", "half a copy")
        server.start()
        self.assertFalse(os.path.exists(self.path("data/backup.tmp")))
