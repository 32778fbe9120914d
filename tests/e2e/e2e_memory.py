"""Memory: new jobs are refused before it runs out, everything else goes on, and it is given back."""

import re
import time

from support import API, EndToEnd, Options

MIB = 1 << 20
WITHIN_S = 30.0


def has_sanitizer(binary):
    with open(binary, "rb") as file:
        return b"__asan_init" in file.read()


class Memory(EndToEnd):
    """A server with little memory, and large jobs."""

    payload = {"s": "x" * (MIB - 64)}

    def limit(self):
        """The sanitizers' own needs are several times what the server takes."""
        return 640 if has_sanitizer(Options.binary) else 96

    def metrics(self, client):
        text = client.get("/metrics").body.decode()
        return {name: float(re.search(rf"^{name} (\S+)$", text, re.M).group(1))
                for name in ("jobbie_memory_limit_bytes", "jobbie_memory_used_bytes", "jobbie_memory_refusing")}

    def fill(self, client, most):
        """Enqueues until it is refused; the ids of what was taken."""
        taken = []
        for number in range(most):
            answer = client.post(f"{API}/enqueue", {"queue": "q", "payload": dict(self.payload, n=number)})
            if answer.status == 429 and answer.code == "overloaded":
                time.sleep(0.05)
                continue
            if answer.status == 429:
                self.assertEqual(answer.code, "memory_full")
                self.assertGreaterEqual(int(answer.header("retry-after")), 1)
                return taken
            self.assertEqual(answer.status, 201, answer.body)
            taken.append(answer.json["job_id"])
        self.fail(f"{most} jobs were taken and none refused")

    def fill_up(self, client):
        """The same until it is full for good: what passes through is measured too, for a moment."""
        taken = []

        def is_full():
            taken.extend(self.fill(client, 4 * self.limit()))
            return self.metrics(client)["jobbie_memory_refusing"] == 1

        self.until(is_full, "it does not refuse for good")
        return taken

    def drain(self, client):
        """Fetches and acks all; the ids."""
        done = []
        while (job := self.fetch(client, "q", worker_id="w")) is not None:
            answer = client.post(f"{API}/ack/{job['job_id']}", {"lease_id": job["lease_id"]})
            self.assertEqual(answer.status, 200, answer.body)
            done.append(job["job_id"])
        return done

    def until(self, condition, what):
        deadline = time.time() + WITHIN_S
        while not condition():
            self.assertLess(time.time(), deadline, what)
            time.sleep(0.05)

    def is_taken(self, client):
        answer = client.post(f"{API}/enqueue", {"queue": "small", "payload": 1})
        self.assertIn(answer.status, (201, 429), answer.body)
        return answer.status == 201

    def test_refuses_goes_on_and_takes_again(self):
        server = self.serve(flags=["--memory", f"{self.limit()}M"])
        client = self.client(server)
        before = self.enqueue(client, "small", {"first": True})["job_id"]
        dead = self.enqueue(client, "die", self.payload, max_retries=1)["job_id"]
        job = self.fetch(client, "die")
        client.post(f"{API}/fail/{dead}", {"lease_id": job["lease_id"], "error": "no"})
        taken = self.fill_up(client)
        self.assertGreater(len(taken), 10)
        figures = self.metrics(client)
        self.assertEqual(figures["jobbie_memory_limit_bytes"], self.limit() * MIB)
        # Whole batches, retries and schedules are refused like single jobs.
        many = [{"queue": "q", "payload": self.payload}] * 8
        self.assertEqual(client.post(f"{API}/enqueue/batch", {"jobs": many}).code, "memory_full")
        self.assertEqual(client.get(f"{API}/queues/q").json["pending"], len(taken))
        self.assertTrue(client.get(f"{API}/cluster/status").json["memory_full"])
        self.assertEqual(client.post(f"{API}/jobs/{dead}/retry", {}).code, "memory_full")
        schedule = {"name": "s", "cron": "@daily", "queue": "small", "payload": 1}
        self.assertEqual(client.post(f"{API}/schedules", schedule).code, "memory_full")
        # Everything else goes on.
        self.assertEqual(self.job(client, before)["state"], "pending")
        self.assertEqual(client.post(f"{API}/jobs/search", {"queue": "small"}).status, 200)
        self.assertEqual(client.post(f"{API}/jobs/{before}/cancel", {}).status, 200)
        held = self.fetch(client, "q", worker_id="w")
        beat = client.post(f"{API}/heartbeat", {"worker_id": "w", "jobs": {held["job_id"]: {
            "lease_id": held["lease_id"], "progress": {"at": 1}}}})
        self.assertEqual(beat.json["jobs"][held["job_id"]]["status"], "ok")
        self.assertEqual(client.post(f"{API}/ack/{held['job_id']}", {"lease_id": held["lease_id"]}).status, 200)
        self.until(lambda: "memory_full" in [line["event"] for line in self.log_lines(server)], "no line")
        # All that was taken is there, and when it is done there is room again.
        more = self.drain(client)
        self.assertEqual(set(taken) - set(more), {held["job_id"]})
        self.until(lambda: self.is_taken(client), "nothing is taken although nothing is left")
        self.assertEqual(client.post(f"{API}/jobs/{dead}/retry", {}).status, 200)
        self.until(lambda: "memory_has_room" in [line["event"] for line in self.log_lines(server)], "no line")

    def test_starts_with_more_than_it_may_hold(self):
        server = self.serve(flags=["--memory", f"{2 * self.limit()}M"])
        client = self.client(server)
        taken = self.fill(client, 4 * self.limit())
        server.kill()
        server.flags = ["--memory", f"{self.limit()}M"]
        server.start()
        client = self.client(server)
        self.until(lambda: not self.is_taken(client), "it takes more")
        self.assertEqual(set(self.drain(client)), set(taken))
        self.until(lambda: self.is_taken(client), "nothing is taken although nothing is left")

    def test_a_limit_of_the_process(self):
        """RLIMIT_DATA: refused in time, never ended."""
        if has_sanitizer(Options.binary):
            self.skipTest("the sanitizers need address space")
        server = self.serve(start=False)
        server.prefix = ["prlimit", f"--data={400 * MIB}"]
        server.start()
        client = self.client(server)
        taken = self.fill(client, 600)
        self.assertGreater(len(taken), 50)
        self.assertIsNone(server.process.poll())
        self.assertEqual(set(self.drain(client)), set(taken))
        self.until(lambda: self.is_taken(client), "nothing is taken although nothing is left")

    def test_is_given_back(self):
        """Of many small jobs that came and went, little is left."""
        if has_sanitizer(Options.binary):
            self.skipTest("the sanitizers keep memory that was freed")
        server = self.serve()
        client = self.client(server)
        for part in range(30):
            jobs = [{"queue": "q", "payload": {"n": part * 10_000 + i}} for i in range(10_000)]
            self.assertEqual(client.post(f"{API}/enqueue/batch", {"jobs": jobs}).status, 201)
        full = self.resident(server)
        self.assertGreater(full, 100 * MIB)
        self.assertEqual(client.post(f"{API}/queues/q/clear", {}).status, 200)
        self.until(lambda: self.resident(server) < 70 * MIB, f"of {full >> 20} MiB {self.resident(server) >> 20} are left")

    @staticmethod
    def resident(server):
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"RssAnon:\s+(\d+) kB", status.read()).group(1)) * 1024

    def test_sizes_are_checked(self):
        for wrong in ("lots", "1M", "0%", "200%"):
            done = self.run_program("server", "--data-dir", self.path("x"), "--memory", wrong)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--memory", done.stderr)
