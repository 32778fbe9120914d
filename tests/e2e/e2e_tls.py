"""The server over https and the command line as its client: certificates that are trusted, others, and new ones."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time

from support import API, EndToEnd, Options, Server, free_port


class Authority:
    """Signs certificates with the openssl tool, in a folder of its own."""

    def __init__(self, folder, name):
        os.makedirs(folder)
        self.folder = folder
        self.certificate = self.path("ca.pem")
        self.openssl("req", "-x509", *self.new_key("ca.key"), "-days", "2", "-subj", f"/CN={name}", "-out",
                     self.certificate)

    def path(self, name):
        return os.path.join(self.folder, name)

    def new_key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.path(name)]

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=30, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stderr)

    def sign(self, certificate, key, names="DNS:localhost,IP:127.0.0.1", subject="server"):
        """Writes the two files, the certificate first, as those who renew certificates do."""
        self.openssl("req", *self.new_key("new.key"), "-subj", f"/CN={subject}", "-out", self.path("new.csr"))
        with open(self.path("names"), "w", encoding="utf-8") as out:
            out.write(f"subjectAltName={names}\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")
        self.openssl("x509", "-req", "-in", self.path("new.csr"), "-CA", self.certificate, "-CAkey",
                     self.path("ca.key"), "-CAcreateserial", "-days", "1", "-extfile", self.path("names"), "-out",
                     self.path("new.pem"))
        os.replace(self.path("new.pem"), certificate)
        os.replace(self.path("new.key"), key)


class TlsServer(Server):
    """Asked whether it is ready in its own language."""

    authority = None

    def request(self, method, path, body=None):
        context = ssl.create_default_context(cafile=self.authority.certificate)
        connection = http.client.HTTPSConnection("localhost", self.port, context=context, timeout=30)
        try:
            connection.request(method, path, body=None if body is None else json.dumps(body),
                               headers={"content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def subject(self):
        """Whose certificate it shows now."""
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.check_hostname = False
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as secured:
                return dict(pair for part in secured.getpeercert()["subject"] for pair in part)["commonName"]


class Tls(EndToEnd):
    def setUp(self):
        super().setUp()
        self.authority = Authority(self.path("authority"), "ours")
        self.certificate, self.key = self.path("cert.pem"), self.path("key.pem")
        self.authority.sign(self.certificate, self.key)

    def flags(self):
        return ["--tls-cert", self.certificate, "--tls-key", self.key]

    def serve_tls(self, flags=None, prefix=()):
        server = TlsServer(Options.binary, self.path("data"), flags=self.flags() if flags is None else flags,
                           prefix=prefix)
        server.authority = self.authority
        self.addCleanup(server.close)
        return server.start()

    def url(self, server):
        return f"https://localhost:{server.port}"

    def cli(self, server, *arguments, ca="", code=0, **variables):
        """Trusts our authority, unless told whom."""
        environment = {"HOME": self.folder, "PATH": os.environ["PATH"], "JOBBIE_URL": self.url(server), **variables}
        trusted = [] if ca is None else ["--tls-ca", ca or self.authority.certificate]
        # What is run for a job comes after a pair of dashes, and flags before it.
        at = arguments.index("--") if "--" in arguments else len(arguments)
        done = self.run_program(*arguments[:at], *trusted, *arguments[at:], environment=environment, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def curl(self, *arguments):
        return subprocess.run(["curl", "-sS", "--max-time", "20", *arguments], capture_output=True, text=True,
                              timeout=30, check=False)

    def wait_for_event(self, server, event, count=1):
        deadline = time.time() + 10
        while True:
            lines = [line for line in self.log_lines(server) if line["event"] == event]
            if len(lines) >= count:
                return lines
            self.assertLess(time.time(), deadline, f"no {event}")
            time.sleep(0.02)

    def test_curl_and_the_log(self):
        server = self.serve_tls()
        listening, = self.wait_for_event(server, "listening")
        self.assertEqual(listening["url"], f"https://127.0.0.1:{server.port}")
        trusting = ["--cacert", self.authority.certificate]
        for version in ("--tlsv1.2", "--tlsv1.3"):
            done = self.curl(*trusting, version, self.url(server) + "/readyz")
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.curl(*trusting, "--json", '{"queue":"q","payload":{"a":1}}', f"{self.url(server)}{API}/enqueue")
        self.assertEqual(done.returncode, 0, done.stderr)
        job = json.loads(done.stdout)["job_id"]
        # Two on one connection, and a payload of many records.
        done = self.curl(*trusting, f"{self.url(server)}{API}/jobs/{job}", f"{self.url(server)}{API}/jobs/{job}")
        self.assertEqual(done.stdout.count(f'{{"id":"{job}"'), 2, done.stdout)
        large = self.write("large.json", json.dumps({"queue": "q", "payload": {"a": "x" * 900_000}}))
        done = self.curl(*trusting, "--json", "@" + large, f"{self.url(server)}{API}/enqueue")
        status, body = server.request("GET", f"{API}/jobs/{json.loads(done.stdout)['job_id']}")
        self.assertEqual((status, len(json.loads(body)["payload"]["a"])), (200, 900_000))
        # Nobody who does not know the authority.
        self.assertEqual(self.curl(self.url(server) + "/readyz").returncode, 60)
        # And nobody who does not speak it: told so, and not left hanging.
        done = self.curl("-w", "%{http_code}", f"http://localhost:{server.port}/readyz")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("https_required", done.stdout)
        self.assertTrue(done.stdout.endswith("400"), done.stdout)
        server.stop()

    def test_events_over_https(self):
        server = self.serve_tls()
        watching = subprocess.Popen(["curl", "-sSN", "--max-time", "20", "--cacert", self.authority.certificate,
                                     f"{self.url(server)}{API}/events"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.kill)
        seen = threading.Event()

        def look():
            if any('"watched"' in line for line in watching.stdout):
                seen.set()
        threading.Thread(target=look, daemon=True).start()
        deadline = time.time() + 15
        while not seen.wait(0.1):
            self.assertLess(time.time(), deadline, "no event came")
            server.request("POST", f"{API}/enqueue", {"queue": "watched", "payload": {}})

    def test_the_command_line(self):
        server = self.serve_tls()
        job = self.cli(server, "enqueue", "mail", '{"to":"ada"}').stdout.strip()
        # By variable and by file as well.
        self.cli(server, "queues", ca=None, JOBBIE_TLS_CA=self.authority.certificate)
        config = self.write("config.toml", f'[client]\ntls-ca = "{self.authority.certificate}"\n')
        self.cli(server, "queues", ca=None, JOBBIE_CONFIG=config)
        shown = self.cli(server, "config", "show", "--output", "json", ca=None, JOBBIE_CONFIG=config).stdout
        rows = {row["setting"]: row for row in map(json.loads, shown.splitlines())}
        self.assertEqual((rows["tls-ca"]["value"], rows["tls-ca"]["from"]), (self.authority.certificate, "config file"))
        # As the system's store.
        self.cli(server, "queues", ca=None, SSL_CERT_FILE=self.authority.certificate)
        done = self.cli(server, "work", "mail", "--max-jobs", "1", "--", "cat")
        self.assertNotIn("warning", done.stderr)
        found = json.loads(self.cli(server, "inspect", job, "--output", "json").stdout)
        self.assertEqual(found["state"], "completed", found)
        self.assertEqual(json.loads(self.cli(server, "bench", "--jobs", "200", "--output", "json").stdout)["completed"],
                         200)
        self.assertIn("leader", self.cli(server, "top", "--once").stdout)

    def test_whom_the_command_line_does_not_trust(self):
        server = self.serve_tls()
        other = Authority(self.path("other"), "others")
        for command in (["queues"], ["enqueue", "q", "{}"], ["work", "q", "--", "cat"]):
            for ca in (None, other.certificate):
                done = self.cli(server, *command, ca=ca, code=3)
                self.assertIn("certificate is not trusted", done.stderr)
                self.assertIn("--tls-ca", done.stderr)
        _, body = server.request("GET", f"{API}/queues")
        self.assertEqual(json.loads(body)["queues"], [])
        done = self.cli(server, "queues", "--tls-insecure", ca=None)
        self.assertIn("not checked", done.stderr)
        done = self.cli(server, "queues", ca=self.path("nowhere"), code=2)
        self.assertIn("nowhere", done.stderr)
        # The right authority, and another name.
        self.authority.sign(self.certificate, self.key, names="DNS:elsewhere.example", subject="elsewhere")
        server.process.send_signal(signal.SIGHUP)
        self.wait_for_event(server, "certificate_loaded")
        done = self.cli(server, "queues", code=3)
        self.assertRegex(done.stderr, "hostname mismatch")
        done = self.cli(server, "queues", "--url", f"https://127.0.0.1:{server.port}", code=3)
        self.assertRegex(done.stderr, "IP address mismatch")

    def test_the_wrong_scheme(self):
        secured = self.serve_tls()
        done = self.cli(secured, "queues", "--url", f"http://localhost:{secured.port}", code=2)
        self.assertIn("https", done.stderr)
        plain = Server(Options.binary, self.path("plain"))
        self.addCleanup(plain.close)
        plain.start()
        done = self.cli(plain, "queues", code=3)
        self.assertIn("does not speak TLS", done.stderr)
        self.assertIn("http://", done.stderr)

    def test_a_renewed_certificate_is_taken(self):
        server = self.serve_tls()
        kept = http.client.HTTPSConnection(
            "localhost", server.port, timeout=30, context=ssl.create_default_context(cafile=self.authority.certificate))
        self.addCleanup(kept.close)
        kept.request("GET", "/readyz")
        self.assertEqual(kept.getresponse().read() != b"", True)
        self.assertEqual(server.subject(), "server")
        # By itself, within some seconds.
        self.authority.sign(self.certificate, self.key, subject="renewed")
        loaded, = self.wait_for_event(server, "certificate_loaded")
        self.assertRegex(loaded["expires"], r"^\d{4}-\d\d-\d\dT")
        self.assertEqual(server.subject(), "renewed")
        # What is broken is refused once, and the old one stays.
        whole = open(self.key, encoding="utf-8").read()
        self.write("key.pem", whole[:100])
        refused, = self.wait_for_event(server, "certificate_refused")
        self.assertIn("key.pem", refused["message"])
        self.assertEqual(server.subject(), "renewed")
        server.process.send_signal(signal.SIGHUP)
        self.wait_for_event(server, "certificate_refused", 2)
        self.assertEqual(server.subject(), "renewed")
        # At once when asked.
        self.authority.sign(self.certificate, self.key, subject="third")
        server.process.send_signal(signal.SIGHUP)
        self.wait_for_event(server, "certificate_loaded", 2)
        self.assertEqual(server.subject(), "third")
        kept.request("GET", "/readyz")
        self.assertEqual(kept.getresponse().status, 200)
        server.stop()
        self.assertEqual(len([line for line in self.log_lines(server) if line["event"] == "certificate_refused"]), 2)

    def test_a_graceful_stop(self):
        server = self.serve_tls()
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(
            server.request("POST", f"{API}/fetch", {"queues": ["q"], "worker_id": "w", "timeout": 20})))
        waiting.start()
        deadline = time.time() + 10
        while json.loads(server.request("GET", f"{API}/workers")[1])["workers"] == [] and time.time() < deadline:
            time.sleep(0.02)
        server.stop()
        waiting.join()
        self.assertEqual(answers[0][0], 204)

    def test_settings(self):
        config = self.write("server.toml", f'tls-cert = "{self.certificate}"\n')
        server = self.serve_tls(["--config", config], prefix=["env", f"JOBBIE_TLS_KEY={self.key}"])
        self.assertEqual(server.subject(), "server")
        server.stop()
        here = ["server", "--data-dir", self.path("other"), "--http", f"127.0.0.1:{free_port()}"]
        done = self.run_program(*here, "--tls-cert", self.certificate)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tls-key", done.stderr)
        done = self.run_program(*here, "--tls-cert", self.key, "--tls-key", self.key)
        self.assertEqual(done.returncode, 1)
        self.assertIn(self.key, done.stderr)
        # A certificate is no key: who may reach it must still show one.
        done = self.run_program("server", "--data-dir", self.path("other"), "--http", f"0.0.0.0:{free_port()}",
                                *self.flags())
        self.assertEqual(done.returncode, 2)
        self.assertIn("--auth", done.stderr)
