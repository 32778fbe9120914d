"""The program as such: help, settings, exit codes, no server, no permission."""

import http.server
import json
import os
import subprocess
import threading

from cli_support import Cli, Options, Server, free_port


class Program(Cli):
    def test_alone_says_what_to_do_next(self):
        text = self.out()
        for words in ("jobbie server", "jobbie enqueue", "jobbie top", "--help"):
            self.assertIn(words, text)

    def test_every_command_has_help_with_examples(self):
        def within(*words):
            """All commands below one, by their own word."""
            text = self.out(*words, "--help")
            if words:
                self.assertIn("Examples:", text, words)
                self.assertIn(f"jobbie {' '.join(words)}", text.split("Examples:")[1], words)
            if "Subcommands:" not in text:
                return [words]
            listed = text.split("Subcommands:")[1].split("Examples:")[0]
            names = [line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "]
            return [words] + [found for name in names for found in within(*words, name)]

        commands = within()
        self.assertGreater(len(commands), 60)
        self.assertNotIn(("complete",), commands)

    def test_json_everywhere(self):
        """Where a program would ask too."""
        self.assertEqual(list(self.json("version")), ["version"])
        self.assertIn(self.json("version")["version"], self.out("version"))
        ids = [self.enqueue(), self.enqueue()]
        words = ["search", "--queue", self.queue, "--order", "asc", "--ids"]
        self.assertEqual(self.json(*words), ids)
        self.assertEqual([json.loads(line) for line in self.out(*words, "--output", "ndjson").splitlines()], ids)
        self.assertEqual(self.json("search", "--queue", "nobody", "--ids"), [])
        for form in ("json", "ndjson"):
            self.assertEqual(self.shell(f"jobbie {' '.join(words)} --output {form} | jobbie bulk cancel --dry-run"),
                             "would affect 2 jobs\n")
        top = self.json("top", "--once")
        self.assertEqual(top["cluster"]["role"], "leader")
        self.assertIn(self.queue, [queue["name"] for queue in top["queues"]])
        self.assertEqual(top["workers"], [])
        self.assertIn("enqueued", top["stats"])

    def test_database_of_a_running_server(self):
        """What is said of it holds, and so does the exit code; that a server runs is told."""
        there = ["db", "check", "--data-dir", os.path.join(self.folder, "data")]
        self.wait_for(lambda: os.path.exists(os.path.join(self.folder, "data", "jobbie.db")), "the database")
        done = self.run_cli(*there)
        self.assertIn("is sound", done.stdout)
        self.assertIn("A server is running on", done.stderr)
        told = self.json(*there)
        self.assertEqual((told["sound"], told["server_running"], told["findings"]), (True, True, []))
        server = Server(Options.binary, os.path.join(self.folder, "stopped")).start()
        self.addCleanup(server.close)
        server.stop()
        there[-1] = os.path.join(self.folder, "stopped")
        self.assertEqual(self.run_cli(*there).stderr, "")
        self.assertFalse(self.json(*there)["server_running"])

    def test_recover_needs_a_node(self):
        """A directory that is not there stays so."""
        for name in ("typo", "empty"):
            path = os.path.join(self.folder, name)
            if name == "empty":
                os.mkdir(path)
            done = self.run_cli("cluster", "recover", "--data-dir", path, "--yes", code=4)
            self.assertIn(f"there is no data of a node in {path}", done.stderr)
            self.assertEqual(os.listdir(path) if os.path.exists(path) else name, [] if name == "empty" else name)

    def test_unknown_commands(self):
        for words, said in ((["quees"], 'there is no command "jobbie quees"; did you mean "jobbie queues"?'),
                            (["cluster", "statsu"], 'did you mean "jobbie cluster status"?'),
                            (["schedules", "crate"], 'did you mean "jobbie schedules create"?'),
                            (["nonsense"], 'there is no command "jobbie nonsense"\nUsage: jobbie COMMAND')):
            done = self.run_cli(*words, code=2)
            self.assertIn(said, done.stderr)
            self.assertIn("--help lists the commands", done.stderr)
            self.assertEqual(done.stdout, "")
        self.assertNotIn("there is no command", self.run_cli("queues", "--nonsense", code=2).stderr)
        self.assertRegex(self.out("--help"), r"(?m)^  man  +Write the manual pages")

    def test_full_disk(self):
        done = subprocess.run(["bash", "-c", "jobbie keys create k --scope work > /dev/full"], capture_output=True,
                              text=True, timeout=60, env=self.environment, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("cannot write to standard output", done.stderr)

    def test_no_server(self):
        nobody = f"http://127.0.0.1:{free_port()}"
        for words in (["queues"], ["status"], ["enqueue", "q", "{}"], ["search"], ["top", "--once"],
                      ["bench", "--jobs", "1"], ["events", "--count", "1"]):
            done = self.run_cli(*words, "--url", nobody, code=3)
            self.assertIn("no server at 127.0.0.1", done.stderr)
            self.assertIn("Is the server running? `jobbie server` starts one", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_something_else_at_the_address(self):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>hello</html>")

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
            threading.Thread(target=other.serve_forever, daemon=True).start()
            done = self.run_cli("queues", "--url", f"http://127.0.0.1:{other.server_port}", code=3)
            self.assertIn("Jobbie server?", done.stderr)
            other.shutdown()

    def test_no_permission_and_overload(self):
        """A server that wants a key: its header arrives, and its refusal becomes code 6."""
        seen = []

        class Guarded(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers.get("Authorization"))
                if len(seen) == 1:
                    return self.answer(401, "unauthorized", {})
                if len(seen) == 2:
                    return self.answer(503, "no_leader", {"Retry-After": "0"})
                body = b'{"queues":[],"cursor":null,"has_more":false}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def answer(self, status, code, headers):
                body = json.dumps({"status": status, "code": code, "detail": "Not now."}).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Guarded) as guarded:
            threading.Thread(target=guarded.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{guarded.server_port}"
            done = self.run_cli("queues", "--url", url, code=6)
            self.assertIn("[unauthorized]", done.stderr)
            self.assertIn("JOBBIE_TOKEN", done.stderr)
            self.run_cli("queues", "--url", url, JOBBIE_TOKEN="secret-1")  # refused once with 503, then served
            path = os.path.join(self.folder, "token")
            with open(path, "w", encoding="utf-8") as out:
                out.write("secret-2\n")
            self.run_cli("queues", "--url", url, "--token-file", path, JOBBIE_TOKEN="secret-1")
            guarded.shutdown()
        self.assertEqual(seen, [None, "Bearer secret-1", "Bearer secret-1", "Bearer secret-2"])

    def test_refusals_that_another_try_may_cure(self):
        """A call that can be repeated is, whatever became of the first try; a removed node is asked once more."""
        answers = []

        class Reluctant(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                code = answers.pop(0)
                body = json.dumps({"status": 503, "code": code, "detail": "Not now."} if code else
                                  {"queues": [], "cursor": None, "has_more": False}).encode()
                self.send_response(503 if code else 200)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Reluctant) as reluctant:
            threading.Thread(target=reluctant.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{reluctant.server_port}"
            for codes in (["outcome_unknown", ""], ["removed", ""], ["no_leader", "removed", ""]):
                answers[:] = codes
                self.run_cli("queues", "--url", url)
                self.assertEqual(answers, [], codes)
            answers[:] = ["removed", "removed", ""]
            self.assertIn("[removed]", self.run_cli("queues", "--url", url, code=3).stderr)
            self.assertEqual(answers, [""])
            reluctant.shutdown()

    def test_settings_and_where_they_come_from(self):
        path = os.path.join(self.folder, "config.toml")
        with open(path, "w", encoding="utf-8") as out:
            out.write('data-dir = "/elsewhere"\n[client]\nurl = "http://from-file:1"\n')
        rows = {row["setting"]: row for row in self.lines("config", "show", JOBBIE_URL="", JOBBIE_CONFIG=path,
                                                          JOBBIE_TOKEN="very-secret")}
        self.assertEqual(rows["url"]["value"], "http://from-file:1")
        self.assertEqual(rows["token"]["from"], "JOBBIE_TOKEN")
        self.assertEqual(rows["server.data-dir"]["value"], "/elsewhere")
        self.assertNotIn("very-secret", json.dumps(rows))
        shown = self.out("config", "show", "--url", "http://flag:2")
        self.assertRegex(shown, r"url +http://flag:2 +--url")

    def test_bad_settings(self):
        self.assertIn("https", self.run_cli("queues", "--url", "ftp://x", code=2).stderr)
        self.run_cli("queues", "--url", "https://x", "--tls-ca", "/nowhere", code=2)
        self.run_cli("queues", "--url", "http://x:99999", code=2)
        self.run_cli("queues", "--timeout", "soon", code=2)
        self.run_cli("queues", "--output", "yaml", code=2)
        self.run_cli("queues", "--token-file", "/nowhere", code=2)
        self.run_cli("nonsense", code=2)

    def test_completion(self):
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("jobbie complete --", self.out("completion", shell))
        self.run_cli("completion", "csh", code=2)
        self.assertIn("search", self.out("complete", "--", "se").split())
        self.assertEqual(sorted(self.out("complete", "--", "bulk", "re").split()), ["requeue", "retry"])
        self.assertIn("--payload-jq", self.out("complete", "--", "search", "--pay").split())
        self.assertEqual(self.out("complete", "--", "search", "--output", "j").split(), ["json"])
        self.enqueue("complete.me")
        self.assertEqual(self.out("complete", "--", "pause", "compl").split(), ["complete.me"])
        typed = self.shell("source <(jobbie completion bash); COMP_WORDS=(jobbie que); COMP_CWORD=1; _jobbie; "
                           "echo ${COMPREPLY[@]}")
        self.assertEqual(typed.split(), ["queues", "queue"])

    def test_man_pages(self):
        folder = os.path.join(self.folder, "man")
        self.run_cli("man", folder)
        with open(os.path.join(folder, "jobbie-search.1"), encoding="utf-8") as page:
            text = page.read()
        self.assertIn(".SH EXAMPLES", text)
        self.assertIn("payload\\-jq", text)
        self.assertIn("jobbie-bulk-retry.1", os.listdir(folder))
        self.assertIn("jobbie.1", os.listdir(folder))
        self.assertTrue(os.path.exists(Options.binary))


class Keys(Cli):
    def test_a_key_may_do_what_it_is_for(self):
        server = Server(Options.binary, os.path.join(self.folder, "guarded"), flags=["--auth"]).start()
        self.addCleanup(server.close)
        there = ["--url", f"http://127.0.0.1:{server.port}"]
        admin = there + ["--token-file", os.path.join(self.folder, "guarded", "admin.key")]
        done = self.run_cli("pause", "emails.send", *there, code=6)
        self.assertIn("JOBBIE_TOKEN", done.stderr)
        made = self.run_cli("keys", "create", "mailer", "--scope", "produce", "--queue", "emails.*", *admin)
        self.assertIn("only time", made.stderr)
        secret = made.stdout.strip()
        self.run_cli("enqueue", "emails.send", "{}", *there, JOBBIE_TOKEN=secret)
        self.run_cli("enqueue", "payments", "{}", *there, code=6, JOBBIE_TOKEN=secret)
        self.run_cli("pause", "emails.send", *there, code=6, JOBBIE_TOKEN=secret)
        rows = {row["name"]: row for row in self.lines("keys", *admin)}
        self.assertEqual((rows["mailer"]["scopes"], rows["mailer"]["queues"]), (["produce"], ["emails.*"]))
        self.assertNotIn(secret, self.out("keys", "list", *admin))
        self.assertEqual(self.out("keys", "revoke", rows["mailer"]["id"], *admin), "revoked\n")
        self.run_cli("enqueue", "emails.send", "{}", *there, code=6, JOBBIE_TOKEN=secret)
        self.run_cli("keys", "create", "odd", "--scope", "everything", *admin, code=2)
