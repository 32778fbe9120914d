"""Webhooks against a receiver of our own: what arrives, how it is signed, and where it may not go."""

import hashlib
import hmac
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time

from support import API, EndToEnd, Server, Options

ALLOW = ["--webhook-allow", "127.0.0.1"]


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what it is sent, and answers as it is told."""

    daemon_threads = True

    def __init__(self, status=200, tls=None):
        super().__init__(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.status = status
        self.hold_s = 0
        self.seen = []
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def wait(self, count, timeout=15):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.seen) >= count, timeout):
                raise AssertionError(f"{len(self.seen)} of {count} deliveries came: {self.seen}")
            return list(self.seen)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        receiver = self.server
        time.sleep(receiver.hold_s)
        self.send_response(receiver.status)
        if receiver.status == 302:
            self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()
        with receiver.changed:
            receiver.seen.append((self.path, dict(self.headers), body))
            receiver.changed.notify_all()

    def log_message(self, *_):
        pass


class Webhooks(EndToEnd):
    def receiver(self, **more):
        receiver = Receiver(**more)
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        return receiver

    def hook(self, client, receiver, path="/hook", **more):
        answer = client.post(f"{API}/webhooks", dict({"url": f"http://127.0.0.1:{receiver.port}{path}"}, **more))
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json["id"]

    def deliveries(self, client, hook, want=lambda rows: True, query=""):
        """The deliveries once they are as wanted."""
        deadline = time.time() + 15
        while True:
            rows = client.get(f"{API}/webhooks/{hook}/deliveries{query}").json["deliveries"]
            if rows and want(rows):
                return rows
            self.assertLess(time.time(), deadline, rows)
            time.sleep(0.02)

    def test_signed_events_arrive(self):
        server, receiver = self.serve(ALLOW), self.receiver()
        client = self.client(server)
        hook = self.hook(client, receiver, "/hook?x=1", events=["failed", "completed"], queue="mail*", secret="s3cret")
        shown = client.get(f"{API}/webhooks/{hook}")
        self.assertNotIn(b"s3cret", shown.body)
        self.assertTrue(shown.json["has_secret"])
        self.enqueue(client, "other")
        job = self.enqueue(client, "mail.a")["job_id"]
        self.fetch(client, "other", "mail.a", count=2)
        client.post(f"{API}/fail/{job}", {"error": "SMTP says nö"})
        (path, headers, body), = receiver.wait(1)
        self.assertEqual(path, "/hook?x=1")
        self.assertEqual(headers["jobbie-event"], "failed")
        event = json.loads(body)
        self.assertEqual((event["type"], event["job_id"], event["queue"], event["attempt"], event["detail"]),
                         ("failed", job, "mail.a", 1, "SMTP says nö"))
        self.assertEqual(event["id"], headers["jobbie-delivery"])
        at, mac = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", headers["jobbie-signature"]).groups()
        self.assertLess(abs(int(at) - time.time()), 60)
        self.assertEqual(mac, hmac.new(b"s3cret", at.encode() + b"." + body, hashlib.sha256).hexdigest())
        row, = self.deliveries(client, hook, lambda rows: rows[0]["state"] == "delivered")
        self.assertEqual((row["id"], row["status"], row["attempts"], row["error"]), (event["id"], 200, 1, None))
        self.assertEqual(client.get(f"{API}/webhooks/{hook}").json["delivered"], 1)

    def test_failures_are_tried_again(self):
        server, receiver = self.serve(ALLOW), self.receiver(status=500)
        client = self.client(server)
        hook = self.hook(client, receiver, events=["enqueued"])
        self.enqueue(client, "q")
        row, = self.deliveries(client, hook, lambda rows: rows[0]["attempts"] == 1)
        self.assertEqual((row["state"], row["status"], row["error"]), ("pending", 500, "the receiver answered 500"))
        self.assertIsNotNone(row["next_attempt_at"])
        receiver.status = 204
        again = client.post(f"{API}/webhooks/{hook}/deliveries/{row['id']}/retry")
        self.assertEqual((again.status, again.json["state"]), (202, "pending"))
        self.assertEqual(receiver.wait(2)[1][1]["jobbie-delivery"], row["id"])
        row, = self.deliveries(client, hook, lambda rows: rows[0]["state"] == "delivered")
        self.assertEqual(row["attempts"], 2)
        # One that has ended can be sent once more too.
        again = client.post(f"{API}/webhooks/{hook}/deliveries/{row['id']}/retry")
        self.assertEqual(again.status, 202, again.body)
        receiver.wait(3)
        self.deliveries(client, hook, lambda rows: rows[0]["state"] == "delivered")

    def test_a_redirect_is_a_failure(self):
        server, receiver = self.serve(ALLOW), self.receiver(status=302)
        client = self.client(server)
        hook = self.hook(client, receiver)
        client.post(f"{API}/webhooks/{hook}/test")
        row, = self.deliveries(client, hook, lambda rows: rows[0]["attempts"] == 1)
        self.assertEqual((row["event"], row["status"], row["state"]), ("test", 302, "pending"))
        self.assertEqual([path for path, _, _ in receiver.seen], ["/hook"])

    def test_what_is_not_public_is_out_of_reach(self):
        server, receiver = self.serve(), self.receiver()
        client = self.client(server)
        for host in ("127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1", "[::ffff:127.0.0.1]", "0.0.0.0",
                     "127.1", "2130706433"):
            answer = client.post(f"{API}/webhooks", {"url": f"http://{host}:{receiver.port}/"})
            self.assertEqual(answer.status, 201, answer.body)
            hook = answer.json["id"]
            client.post(f"{API}/webhooks/{hook}/test")
            row, = self.deliveries(client, hook, lambda rows: rows[0]["attempts"] == 1)
            self.assertIsNone(row["status"])
            self.assertRegex(row["error"], "blocked_address|unknown_host", host)
            self.assertEqual(client.call("DELETE", f"{API}/webhooks/{hook}").status, 200)
        self.assertEqual(receiver.seen, [])

    def test_nothing_is_lost_when_the_server_dies(self):
        server, receiver = self.serve(ALLOW), self.receiver(status=503)
        client = self.client(server)
        hook = self.hook(client, receiver, events=["enqueued"])
        receiver.hold_s = 0.2
        jobs = {self.enqueue(client, "q")["job_id"] for _ in range(20)}
        server.kill()
        receiver.status, receiver.hold_s = 200, 0
        server.start()
        client = self.client(server)
        waiting = [row for row in client.get(f"{API}/webhooks/{hook}/deliveries").json["deliveries"]
                   if row["state"] == "pending"]
        for row in waiting:
            client.post(f"{API}/webhooks/{hook}/deliveries/{row['id']}/retry")
        self.deliveries(client, hook, lambda rows: all(row["state"] == "delivered" for row in rows) and len(rows) == 20)
        self.assertEqual({json.loads(body)["job_id"] for _, _, body in receiver.seen}, jobs)
        code, text = (server.stop(), server.check_database())[1]
        self.assertEqual(code, 0, text)

    def test_slow_receivers_leave_room_for_others(self):
        server, slow, quick = self.serve(ALLOW), self.receiver(), self.receiver()
        slow.hold_s = 3
        client = self.client(server)
        self.hook(client, slow, events=["enqueued"])
        self.hook(client, quick, events=["enqueued"])
        begun = time.time()
        for _ in range(30):
            self.enqueue(client, "q")
        quick.wait(30)
        self.assertLess(time.time() - begun, 3)
        server.stop()
        self.assertLess(time.time() - begun, 8)

    def test_tls_needs_a_certificate_that_is_trusted(self):
        certificate = self.path("pair.pem")
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                               "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                               "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.path("key.pem"), "-out",
                               self.path("cert.pem")], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(certificate, "w", encoding="utf-8") as out:
            for part in ("key.pem", "cert.pem"):
                out.write(open(self.path(part), encoding="utf-8").read())
        receiver = self.receiver(tls=certificate)
        for trusted in (False, True):
            server = Server(Options.binary, self.path(f"tls-{trusted}"), flags=ALLOW + ["--webhook-allow", "localhost"],
                            prefix=["env", f"SSL_CERT_FILE={self.path('cert.pem')}"] if trusted else [])
            self.addCleanup(server.close)
            server.start()
            client = self.client(server)
            for host in ("localhost", "127.0.0.1"):
                answer = client.post(f"{API}/webhooks", {"url": f"https://{host}:{receiver.port}/"})
                hook = answer.json["id"]
                client.post(f"{API}/webhooks/{hook}/test")
                row, = self.deliveries(client, hook, lambda rows: rows[0]["attempts"] == 1)
                if trusted:
                    self.assertEqual((row["state"], row["status"]), ("delivered", 200), row)
                else:
                    self.assertIn("tls_failed", row["error"])
        self.assertEqual(len(receiver.seen), 2)
