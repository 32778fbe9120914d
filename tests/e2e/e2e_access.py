"""Keys as an operator meets them: the first one, those of a file, and what happens when one goes."""

import os
import stat
import subprocess
import sys
import threading
import time

from support import API, ROOT, Broken, EndToEnd, Options

CONFORMANCE = ROOT / "tests" / "conformance"


class Keys(EndToEnd):
    def admin(self, server):
        with open(os.path.join(server.data_dir, "admin.key"), encoding="utf-8") as file:
            return {"Authorization": f"Bearer {file.read().strip()}"}

    def make_key(self, client, admin, name, scopes, **more):
        answer = client.post(f"{API}/keys", dict({"name": name, "scopes": scopes}, **more), headers=admin)
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json["id"], {"Authorization": f"Bearer {answer.json['secret']}"}

    def test_conformance(self):
        server = self.serve(["--auth", "--access-log"])
        secret = self.admin(server)["Authorization"].split()[1]
        done = subprocess.run([sys.executable, CONFORMANCE / "run.py", "--url", f"http://127.0.0.1:{server.port}",
                               "--key", secret, *sorted((CONFORMANCE / "auth").glob("*.json"))],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(server.log_path, encoding="utf-8") as log:
            self.assertNotIn("jbk_", log.read())

    def test_first_key_is_private_and_lasts(self):
        server = self.serve(["--auth"])
        path = os.path.join(server.data_dir, "admin.key")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        admin = self.admin(server)
        self.assertEqual([line["file"] for line in self.log_lines(server) if line["event"] == "admin_key_made"], [path])
        server.kill()
        server.start()
        client = self.client(server)
        self.assertEqual(client.get(f"{API}/whoami", headers=admin).json["key"]["name"], "first admin")
        self.assertEqual(self.admin(server), admin)
        self.assertEqual(len([line for line in self.log_lines(server) if line["event"] == "admin_key_made"]), 1)
        self.assertEqual(client.call("DELETE", f"{API}/keys/{client.get(f'{API}/whoami', headers=admin).json['key']['id']}",
                                     headers=admin).code, "wrong_state")

    def test_keys_from_a_file(self):
        first, second = "a" * 24, "b" * 24
        path = self.write("keys", f"# ours\n\nops:admin::{first}\nmail:work:mail.*,a:b:{second}\n")
        server = self.serve(["--auth-keys-file", path])
        client = self.client(server)
        bearer = lambda secret: {"Authorization": f"Bearer {secret}"}  # noqa: E731
        self.assertEqual(client.get(f"{API}/whoami", headers=bearer(first)).json["scopes"][-1], "admin")
        mail = client.get(f"{API}/whoami", headers=bearer(second)).json
        self.assertEqual((mail["scopes"], mail["queues"]), (["work"], ["mail.*", "a:b"]))
        self.assertFalse(os.path.exists(os.path.join(server.data_dir, "admin.key")))
        server.stop()
        # A changed line replaces its key, an unchanged one leaves it alone.
        third = "c" * 24
        self.write("keys", f"ops:admin::{first}\nmail:work::{third}\n")
        server.start()
        client = self.client(server)
        self.assertEqual(client.get(f"{API}/whoami", headers=bearer(second)).status, 401)
        self.assertEqual(client.get(f"{API}/whoami", headers=bearer(third)).json["queues"], ["*"])
        read = [line for line in self.log_lines(server) if line["event"] == "keys_read"]
        self.assertEqual([line["changed"] for line in read], [2, 1])
        self.assertNotIn(first, open(server.log_path, encoding="utf-8").read())

    def test_bad_files_and_addresses_are_refused(self):
        for text, said in (("ops:admin:x", "name:scopes"), ("ops:root::" + "a" * 24, "no scope"),
                           ("ops:work::short", "at least 20"), (f"a:work::{'a' * 24}\nb:work::{'a' * 24}", "line 2"),
                           (f"ops:admin:mail:{'a' * 24}", "all queues"), (f"ops:work:b ad:{'a' * 24}", "line 1")):
            path = self.write("keys", text + "\n")
            done = self.run_program("server", "--data-dir", self.path("data"), "--http", "127.0.0.1:0",
                                    "--auth-keys-file", path)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn(said, done.stderr)
            self.assertNotIn("a" * 24, done.stderr)
        done = self.run_program("server", "--data-dir", self.path("data"), "--http", "0.0.0.0:0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--auth", done.stderr)

    def test_a_revoked_key_ends_what_it_waits_for(self):
        server = self.serve(["--auth"])
        client, admin = self.client(server), self.admin(server)
        key, bearer = self.make_key(client, admin, "w", ["work"])
        waiting = self.client(server)
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            waiting.post(f"{API}/fetch", {"queues": ["q"], "timeout": 30}, headers=bearer)))
        thread.start()
        watching = self.client(server)
        watching.connect()
        watching.socket.sendall((f"GET {API}/events HTTP/1.1\r\nHost: x\r\nAuthorization: {bearer['Authorization']}"
                                 "\r\n\r\n").encode())
        self.assertIn(b"200 OK", watching.socket.recv(4096))
        deadline = time.time() + 10
        while client.get(f"{API}/cluster/status", headers=admin).json.get("waiting_fetches") != 1:
            self.assertLess(time.time(), deadline)
        begun = time.time()
        self.assertEqual(client.call("DELETE", f"{API}/keys/{key}", headers=admin).status, 200)
        thread.join(10)
        self.assertEqual([answer.status for answer in answers], [204])
        self.assertLess(time.time() - begun, 5)
        self.assertEqual(client.get(f"{API}/queues", headers=bearer).status, 401)
        client.post(f"{API}/enqueue", {"queue": "q"}, headers=admin)
        watching.socket.settimeout(5)
        data = b""
        try:
            while part := watching.socket.recv(4096):
                data += part
                if b"0\r\n\r\n" in data:  # the end of the stream
                    break
        except OSError as error:
            self.fail(f"the stream goes on: {error} {data!r}")
