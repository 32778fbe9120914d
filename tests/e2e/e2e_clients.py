"""Clients of every kind: patient, hasty, many at once, and out to break something."""

import json
import random
import re
import socket
import subprocess
import sys
import threading
import time

from support import API, ROOT, EndToEnd, Options

# Requests that are refused for certain before they reach the log, however they are mutated.
SEEDS = [
    ("POST", "/api/v1/enqueue", {"queue": "q", "payload": {"a": [1, 2.5, "x"]}, "priority": "high", "max_retrys": 1}),
    ("POST", "/api/v1/enqueue/batch", {"jobs": [{"queue": "q", "payload": 1, "max_retrys": 2}], "batch": {}}),
    ("POST", "/api/v1/fetch", {"queues": ["nothing-here"], "timeout": 0, "wait_for": 3}),
    ("POST", "/api/v1/ack/job_never", {"result": {"ok": True}, "lease": "1"}),
    ("POST", "/api/v1/fail/job_never", {"error": "e", "retry_inn": "5s"}),
    ("POST", "/api/v1/heartbeat", {"job": {"job_00000000000000000000000001": {}}}),
    ("GET", "/api/v1/jobs/job_00000000000000000000000001", None),
    ("GET", "/api/v1/batches/batch_0000000000000000000000001", None),
    ("DELETE", "/api/v1/enqueue", None),
    ("GET", "/api/v1/queues?limit=5&cursors=00", None),
    ("POST", "/api/v1/queues/a%2Fb/throttle", {"rate": 5, "period": "1m", "perhaps_for": "group"}),
    ("POST", "/api/v1/jobs/job_never/move", {"queue": "q", "keep_priority": True}),
    ("POST", "/api/v1/schedules", {"name": "n", "queue": "q", "cron": "0 9 * * *", "time_zone": "UTC"}),
    ("POST", "/api/v1/schedules/preview", {"cron": "0 9 * * *", "timezone": "Europe/Berlin", "counts": 3}),
]
NASTY = [
    b"\x00", b"\xff\xfe", b"\r\n", b"\n\r\n\r\n", b"{" * 200, b"[" * 100_000, b"\"", b"\\u0000",
    b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff\r\n", b"-1",
    b"99999999999999999999", b"1e999", b"%00%zz", b"../" * 50, b"HTTP/9.9", b" " * 70_000,
    b"X: " + b"y" * 70_000 + b"\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
# What no request of these may be answered with: success in making something, or a fault of the server.
FORBIDDEN = re.compile(rb"^HTTP/1.1 (201|5(?!0[15]))")


def raw_request(method, path, body):
    data = b"" if body is None else json.dumps(body).encode()
    head = [f"{method} {path} HTTP/1.1", "Host: x", "Content-Type: application/json", f"Content-Length: {len(data)}"]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + data


def mutate(rnd, raw):
    data = bytearray(raw)
    for _ in range(rnd.randint(1, 4)):
        draw = rnd.random()
        at = rnd.randrange(len(data) + 1)
        if draw < 0.3 and data:
            data[min(at, len(data) - 1)] = rnd.randrange(256)
        elif draw < 0.5:
            data[at:at] = rnd.choice(NASTY)
        elif draw < 0.65:
            del data[at:at + rnd.randint(1, 40)]
        elif draw < 0.8:
            end = min(len(data), at + rnd.randint(1, 60))
            data[at:at] = data[at:end]
        else:
            del data[at:]
    return bytes(data)


class Rubbish(EndToEnd):
    def throw(self, server, data, rnd):
        """Sends it in some pieces and reads what comes, for a moment."""
        with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
            connection.settimeout(0.05)
            try:
                for part in self.pieces(data, rnd):
                    connection.sendall(part)
                if rnd.random() < 0.7:
                    connection.shutdown(socket.SHUT_WR)
                return connection.recv(65536)
            except OSError:
                return b""

    @staticmethod
    def pieces(data, rnd):
        if rnd.random() < 0.7 or len(data) < 2:
            return [data]
        cut = rnd.randrange(1, len(data))
        return [data[:cut], data[cut:]]

    def test_thousands_of_bad_requests(self):
        server = self.serve()
        client = self.client(server)
        job = self.enqueue(client, "q", {"keep": "me"})["job_id"]
        before = server.status()
        rnd = random.Random(Options.seed)
        refused = 0
        for number in range(Options.requests):
            if rnd.random() < 0.8:
                data = mutate(rnd, raw_request(*rnd.choice(SEEDS)))
            else:
                data = rnd.randbytes(rnd.randint(1, 2000))
            said = self.throw(server, data, rnd)
            name = f"seed {Options.seed}, request {number}: {data[:300]!r}"
            self.assertTrue(server.running(), f"{name}\n{server.tail()}")
            self.assertNotRegex(said, FORBIDDEN, name)
            refused += said.startswith(b"HTTP/1.1 4")
        after = server.status()
        self.assertEqual(after["state_hash"], before["state_hash"], f"seed {Options.seed}")
        self.assertEqual(self.job(client, job)["payload"], {"keep": "me"})
        self.assertGreater(refused, Options.requests // 4, "most of them must have been understood and refused")

    def test_slow_senders_do_not_stop_others(self):
        server = self.serve()
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        for connection in slow:
            connection.sendall(b"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nContent-Le")
        client = self.client(server)
        began = time.time()
        for number in range(50):
            self.enqueue(client, "q", {"n": number})
        self.assertLess(time.time() - began, 5)
        for connection in slow:
            connection.close()


class Waiting(EndToEnd):
    def hang_up(self, server, queue):
        """A fetch whose client goes away while it waits."""
        connection = socket.create_connection(("127.0.0.1", server.port))
        body = {"queues": [queue], "timeout": 30, "worker_id": "gone"}
        connection.sendall(raw_request("POST", "/api/v1/fetch", body))
        deadline = time.time() + 5
        while server.status()["waiting_fetches"] == 0:
            self.assertLess(time.time(), deadline)
            time.sleep(0.005)
        connection.close()

    def test_who_hung_up_gets_no_job(self):
        server = self.serve()
        client = self.client(server)
        for number in range(20):
            self.hang_up(server, f"q{number}")
            time.sleep(0.02)
            job_id = self.enqueue(client, f"q{number}")["job_id"]
            job = self.fetch(client, f"q{number}")
            self.assertIsNotNone(job, "the job went to a client that had gone")
            self.assertEqual((job["job_id"], job["attempt"]), (job_id, 1))

    def test_a_waiting_fetch_is_woken(self):
        server = self.serve()
        got = []

        def wait():
            got.extend([self.fetch(self.client(server), "w*", timeout=20), time.time()])

        waiter = threading.Thread(target=wait)
        waiter.start()
        while server.status()["waiting_fetches"] == 0:
            time.sleep(0.005)
        sent = time.time()
        job_id = self.enqueue(self.client(server), "wake")["job_id"]
        waiter.join(10)
        self.assertEqual(got[0]["job_id"], job_id)
        self.assertLess(got[1] - sent, 1.0)

    def test_a_fetch_comes_back_in_time(self):
        client = self.client(self.serve())
        for timeout in (0, 0.2, 1):
            began = time.time()
            self.assertIsNone(self.fetch(client, "empty", timeout=timeout))
            self.assertAlmostEqual(time.time() - began, timeout, delta=0.5)

    def test_the_seeds_worker_needs_no_lease(self):
        client = self.client(self.serve())
        job_id = self.enqueue(client, "plain")["job_id"]
        self.fetch(client, "plain", worker_id="demo")
        self.assertEqual(client.post(f"{API}/ack/{job_id}", {}).status, 200)
        self.assertEqual(client.post(f"{API}/ack/{job_id}", {}).code, "not_active")


class Connections(EndToEnd):
    def test_pipelined_answers_come_in_order(self):
        server = self.serve()
        client = self.client(server)
        jobs = [self.enqueue(client, "p", {"n": n})["job_id"] for n in range(60)]
        # A wait in the middle: what comes after it must not overtake it.
        raw = b"".join(raw_request("GET", f"{API}/jobs/{job}", None) for job in jobs[:30])
        raw += raw_request("POST", f"{API}/fetch", {"queues": ["none"], "timeout": 0.3})
        raw += b"".join(raw_request("GET", f"{API}/jobs/{job}", None) for job in jobs[30:])
        client.connect()
        client.socket.sendall(raw)
        answers = [client.read_answer() for _ in range(61)]
        self.assertEqual(answers[30].status, 204)
        del answers[30]
        self.assertEqual([answer.json["payload"]["n"] for answer in answers], list(range(60)))

    def test_one_connection_serves_many_requests(self):
        client = self.client(self.serve())
        client.connect()
        connection = client.socket
        for number in range(300):
            self.enqueue(client, "k", {"n": number})
        self.assertIs(client.socket, connection)

    def test_values_come_back_byte_for_byte(self):
        client = self.client(self.serve())
        payload = '{"big":9007199254740993,"one":1.0,"e":1e2,"s":"\\u00e9\\n","z":[ ],"a":"ä"}'
        answer = client.post(f"{API}/enqueue", '{"queue":"bytes","payload":' + payload + "}")
        self.assertEqual(answer.status, 201)
        job_id = answer.json["job_id"]
        raw = client.post(f"{API}/fetch", {"queues": ["bytes"]}).body.decode()
        self.assertIn(payload, raw)
        self.assertIn(payload, client.get(f"{API}/jobs/{job_id}").body.decode())
        client.post(f"{API}/ack/{job_id}", '{"result":' + payload + "}")
        time.sleep(0.3)  # from memory or from the database, it makes no difference
        self.assertEqual(client.get(f"{API}/jobs/{job_id}").body.decode().count(payload), 2)


class ManyAtOnce(EndToEnd):
    def at_once(self, count, work):
        """Runs `work(number)` in that many threads, all let go together."""
        results, barrier = [], threading.Barrier(count)

        def run(number):
            client = self.client(self.server)
            client.connect()
            barrier.wait()
            results.append(work(client, number))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        self.assertEqual(len(results), count)
        return results

    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def test_fifty_producers_one_unique_key(self):
        replies = self.at_once(50, lambda client, n: self.enqueue(client, "u", {"n": n}, unique_key="only"))
        self.assertEqual(len({reply["job_id"] for reply in replies}), 1)
        self.assertEqual(sum(1 for reply in replies if not reply["unique_existing"]), 1)
        client = self.client(self.server)
        self.assertIsNotNone(self.fetch(client, "u"))
        self.assertIsNone(self.fetch(client, "u"))

    def test_fifty_calls_one_idempotency_key(self):
        def send(client, _):
            answer = client.post(f"{API}/enqueue", {"queue": "i", "payload": {}}, headers={"Idempotency-Key": "one"})
            return answer.json["job_id"]

        self.assertEqual(len(set(self.at_once(50, send))), 1)

    def test_fifty_workers_hundred_jobs(self):
        client = self.client(self.server)
        for number in range(100):
            self.enqueue(client, "h", {"n": number})
        replies = self.at_once(50, lambda c, _: [self.fetch(c, "h", timeout=1)["job_id"] for _ in range(2)])
        ids = [job_id for pair in replies for job_id in pair]
        self.assertEqual(len(set(ids)), 100, "no job twice, none left")

    def test_limits_on_concurrency(self):
        """Twenty fetchers, three jobs at a time."""
        client = self.client(self.server)
        answer = client.post(f"{API}/queues/c/concurrency", {"max": 3})
        self.assertEqual(answer.status, 200, answer.body)
        for number in range(30):
            self.enqueue(client, "c", {"n": number})
        replies = self.at_once(20, lambda c, _: self.fetch(c, "c", timeout=0.3))
        self.assertEqual(sum(1 for reply in replies if reply is not None), 3)


class Conformance(EndToEnd):
    def test_vectors(self):
        runner = ROOT / "tests" / "conformance" / "run.py"
        server = self.serve()
        done = subprocess.run([sys.executable, str(runner), "--url", f"http://127.0.0.1:{server.port}"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
