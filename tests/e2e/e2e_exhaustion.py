"""What clients can use up: memory for answers that nobody reads, and file descriptors."""

import json
import os
import re
import resource
import socket
import time

from support import API, Client, EndToEnd, Options, Server

MIB = 1 << 20
SEGMENT_BYTES = 4 * MIB


def get_request(path):
    return f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode()


def post_request(path, body):
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


def resident_bytes(server):
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class UnreadAnswers(EndToEnd):
    """A client that asks for much and reads nothing makes the server hold little."""

    def settled(self, server):
        """The most memory until it has not risen for a while."""
        most, quiet = 0, 0
        while quiet < 10:
            now = resident_bytes(server)
            quiet = 0 if now > most + MIB else quiet + 1
            most = max(most, now)
            time.sleep(0.05)
        return most

    def lazy_connection(self, server):
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
        connection.connect(("127.0.0.1", server.port))
        return connection

    def test_pipelined_reads_of_large_jobs(self):
        server = self.serve()
        client = self.client(server)
        job = self.enqueue(client, "large", {"s": "a" * (MIB - 1000)})["job_id"]
        client.get(f"{API}/jobs/{job}")
        before = self.settled(server)
        crowd = [self.lazy_connection(server) for _ in range(20)]
        for connection in crowd:
            connection.sendall(get_request(f"{API}/jobs/{job}") * 128)
        grown = self.settled(server) - before
        # Each may be owed 1 MiB and one answer more, twice over where a buffer has grown by doubling. It was 2.5 GB.
        self.assertLess(grown, 20 * 6 * MIB, f"grown by {grown // MIB} MiB")
        # Others are served meanwhile, and whoever begins to read gets everything.
        self.enqueue(client, "other")
        self.assertEqual(client.get(f"{API}/jobs/{job}").status, 200)
        reader = Client(server.port)
        self.addCleanup(reader.close)
        reader.connect()
        reader.socket.sendall(get_request(f"{API}/jobs/{job}") * 128)
        self.assertTrue(all(len(reader.read_answer().body) > MIB - 1000 for _ in range(128)))

    def test_pipelined_fetches_of_large_jobs(self):
        server = self.serve()
        client = self.client(server)
        for _ in range(40):
            self.enqueue(client, "large", {"s": "a" * (MIB - 1000)})
        connection = self.lazy_connection(server)
        connection.sendall(post_request(f"{API}/fetch", {"queues": ["large"]}) * 40)
        # What is not going to be read is not claimed either.
        deadline = time.time() + 10
        active = -1
        while time.time() < deadline:
            now = client.get(f"{API}/queues/large").json["active"]
            if now == active and now > 0:
                break
            active = now
            time.sleep(0.2)
        self.assertLess(active, 12)

    def test_a_pipelined_fetch_ends_with_its_client(self):
        server = self.serve()
        client = self.client(server)
        connection = socket.create_connection(("127.0.0.1", server.port))
        connection.sendall(post_request(f"{API}/fetch", {"queues": ["later"], "timeout": 30}) * 3)
        deadline = time.time() + 10
        while server.status()["waiting_fetches"] == 0:
            self.assertLess(time.time(), deadline)
            time.sleep(0.01)
        connection.close()
        while server.status()["waiting_fetches"] != 0:
            self.assertLess(time.time(), deadline)
            time.sleep(0.01)
        self.enqueue(client, "later")
        self.assertIsNotNone(self.fetch(client, "later"))


class Descriptors(EndToEnd):
    """Connections never take what the log and the database need."""

    def serve_with(self, soft, hard, flags=()):
        server = Server(Options.binary, self.path("data"), flags=flags, prefix=["prlimit", f"--nofile={soft}:{hard}"])
        self.addCleanup(server.close)
        return server

    def said(self, server, event):
        return [line for line in self.log_lines(server) if line.get("event") == event]

    def flood(self, server, count, first=b""):
        """So many connections as the server takes, each with `first` sent; gives those that stay open."""
        crowd = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            self.addCleanup(connection.close)
            if first:
                connection.sendall(first)
            crowd.append(connection)
        return crowd

    def write_segments(self, client, segments):
        """Acked jobs that fill more than so many segments."""
        payload = {"s": "a" * (MIB // 2)}
        return [self.enqueue(client, "w", payload)["job_id"] for _ in range(segments * SEGMENT_BYTES * 2 // MIB)]

    def test_idle_connections_beyond_the_limit(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        server = self.serve_with(256, 256, ["--segment-bytes", str(SEGMENT_BYTES)])
        server.start()
        plan = self.said(server, "few_descriptors")[0]
        self.assertEqual((plan["level"], plan["limit"]), ("warning", 256))
        self.assertLessEqual(plan["connections"] + plan["reserved"], 256)
        client = self.client(server)
        jobs = [self.enqueue(client, "w")["job_id"]]
        # Some that have asked something, more that have not, and some in the middle of a request.
        self.flood(server, 60, get_request("/healthz"))
        self.flood(server, 200)
        self.flood(server, 100, b"GET / HT")
        jobs += self.write_segments(client, 5)
        self.assertEqual(client.get(f"{API}/jobs/{jobs[0]}?consistency=strong").status, 200)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as fresh:
            fresh.sendall(get_request("/healthz"))
            self.assertIn(b" 200 ", fresh.recv(4096))
        server.stop()
        self.assertEqual(self.said(server, "node_failed"), [])
        server.start()
        again = self.client(server)
        for job in jobs:
            self.assertEqual(again.get(f"{API}/jobs/{job}").status, 200)
        server.stop()

    def test_the_soft_limit_is_raised(self):
        server = self.serve_with(64, 2048)
        server.start()
        plan = self.said(server, "descriptors")[0]
        self.assertEqual(plan["limit"], 2048)
        self.assertGreater(plan["connections"], 1500)
        # One address leaves room for others.
        self.assertLessEqual(plan["connections_per_address"], plan["connections"] // 2 + 1)
        metrics = self.client(server).get("/metrics").body.decode()
        self.assertEqual(re.search(r"^process_max_fds (\d+)", metrics, re.M).group(1), "2048")

    def test_a_limit_that_is_too_low_is_refused(self):
        server = self.serve_with(64, 64)
        server.spawn()
        self.assertEqual(server.process.wait(20), 1)
        self.assertEqual(self.said(server, "cannot_start")[0]["code"], "too_few_descriptors")

    def test_slow_requests_do_not_keep_others_out(self):
        server = self.serve_with(256, 256)
        server.start()
        client = self.client(server)
        self.enqueue(client, "q")
        self.flood(server, 300, b"POST /api/v1/enqueue HTTP/1.1\r\nHost: h\r\nX: ")
        for _ in range(20):
            other = Client(server.port)
            self.addCleanup(other.close)
            self.assertEqual(other.get("/healthz").status, 200)
        # The one that was there before has not been cut off.
        connection = client.socket
        self.enqueue(client, "q")
        self.assertIs(client.socket, connection)


class SecretFiles(EndToEnd):
    """A file that others may write decides who gets in, so it is refused."""

    SECRET = "an-admin:admin:*:0123456789abcdef0123456789\n"

    def start_with(self, mode, name="keys", flag="--auth-keys-file", text=SECRET, flags=()):
        path = self.write(name, text)
        os.chmod(path, mode)
        server = self.serve([flag, path, *flags], start=False)
        server.spawn()
        return server

    def refused(self, server):
        self.assertEqual(server.process.wait(20), 1)
        line = [line for line in self.log_lines(server) if line.get("event") == "cannot_start"][-1]
        self.assertEqual(line["code"], "insecure_file")
        return line["message"]

    def test_who_may_write_a_file_of_keys(self):
        for mode, who in ((0o602, "everybody"), (0o620, "its group"), (0o666, "everybody"), (0o660, "its group")):
            message = self.refused(self.start_with(mode))
            self.assertIn(f"{mode:04o}", message)
            self.assertIn(who, message)
            self.assertIn("--auth-keys-file", message)

    def test_a_private_file_is_fine_and_a_readable_one_is_warned_of(self):
        for mode, warnings in ((0o600, 0), (0o640, 0), (0o644, 1)):
            server = self.start_with(mode)
            server.wait_ready()
            said = [line for line in self.log_lines(server) if line.get("event") == "secret_readable_by_all"]
            self.assertEqual(len(said), warnings, oct(mode))
            server.stop()

    def test_other_secrets(self):
        cluster = ["--cluster", "--raft", "127.0.0.1:0", "--peers", "127.0.0.1:1"]
        self.assertIn("--cluster-secret-file",
                      self.refused(self.start_with(0o606, "secret", "--cluster-secret-file", "0123456789abcdef01", cluster)))
        self.assertIn("--tls-key",
                      self.refused(self.start_with(0o622, "key.pem", "--tls-key", "-", ["--tls-cert", self.path("c")])))
        os.makedirs(self.path("data"))
        os.chmod(self.write("data/admin.key", "x\n"), 0o622)
        server = self.serve(["--auth"], start=False)
        server.spawn()
        self.assertIn("admin.key", self.refused(server))


class Heads(EndToEnd):
    """What the parser refuses, and what every answer says."""

    def raw(self, server, text):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
            return b"".join(parts)

    def test_no_answer_is_to_be_guessed_at(self):
        server = self.serve()
        client = self.client(server)
        for path in ("/healthz", f"{API}/queues", f"{API}/nothing", "/metrics", "/ui/", "/"):
            answer = client.get(path)
            self.assertEqual(answer.head.lower().count(b"x-content-type-options: nosniff"), 1, path)
        refused = self.raw(server, b"GET / HTTP/1.1\r\nHost : h\r\n\r\n")
        self.assertIn(b"x-content-type-options: nosniff", refused.lower())

    def test_two_lengths_and_compressed_bodies_are_refused(self):
        server = self.serve()
        head = b"POST /api/v1/enqueue HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 13\r\n"
        body = b'{"queue":"q"}'
        self.assertIn(b" 201 ", self.raw(server, head + b"Content-Encoding: identity\r\n\r\n" + body))
        self.assertIn(b" 400 ", self.raw(server, head + b"Content-Length: 13\r\n\r\n" + body))
        compressed = self.raw(server, head + b"Content-Encoding: gzip\r\n\r\n" + body)
        self.assertIn(b" 415 ", compressed)
        self.assertIn(b"content_encoding_not_supported", compressed)


__all__ = ["Descriptors", "Heads", "SecretFiles", "UnreadAnswers"]
