"""Names and texts that would make a terminal do something: what people see is harmless, and what programs get is whole."""

import json
import select
import subprocess
import time
import unicodedata
import urllib.request

from cli_support import Cli, Options
from cli_top import OnTerminal

# CSI of eight bits, an escape sequence, a title, directions of writing, separators, nothing to see, a tag.
EVIL = "a\u009b31mb\u202ec\u2066d\u2028e\u200bf\U000e0041g"
ESCAPED = "a\\u009b31mb\\u202ec\\u2066d\\u2028e\\u200bf\\U000e0041g"
WITH_ESCAPES = EVIL + "\x1b[2J\x1b]0;title\x07"


def unsafe(text):
    """What is left in it that a terminal acts upon."""
    return sorted({f"U+{ord(c):04X}" for c in text
                   if c not in "\r\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")})


class Hostile(Cli):
    """Everything that others wrote, by every command that shows it."""

    def call(self, path, body):
        request = urllib.request.Request(f"{self.environment['JOBBIE_URL']}/api/v1{path}", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"null")

    def make(self):
        """A dead job, a worker and a schedule, with such texts wherever they are taken."""
        job_id = self.call("/enqueue", {"queue": self.queue, "payload": {EVIL: WITH_ESCAPES}, "max_retries": 1,
                                        "unique_key": EVIL, "group": EVIL, "tags": {"tag": EVIL}})["job_id"]
        claimed = self.call("/fetch", {"queues": [self.queue], "worker_id": EVIL, "hostname": EVIL})
        self.call(f"/jobs/{job_id}/logs", {"lines": [{"message": WITH_ESCAPES}]})
        self.call(f"/fail/{job_id}", {"lease_id": claimed["lease_id"], "error": WITH_ESCAPES, "backtrace": WITH_ESCAPES,
                                      "retry": False})
        self.call("/schedules", {"name": EVIL + self.queue, "queue": self.queue, "cron": "0 0 * * *", "payload": {}})
        return job_id

    def test_what_people_see(self):
        job_id = self.make()
        shown = {
            "inspect": self.out("inspect", job_id),
            "logs": self.out("logs", job_id),
            "search": self.out("search", "--queue", self.queue),
            "workers": self.out("workers"),
            "schedules": self.out("schedules", "list"),
            "errors": self.out("errors"),
            "groups": self.out("groups"),
            "top": self.out("top", "--once"),
        }
        for command, text in shown.items():
            self.assertEqual(unsafe(text), [], command)
        for command in ("inspect", "logs", "workers", "schedules"):
            self.assertIn(ESCAPED, shown[command], command)
        self.assertIn("\\u001b[2J", shown["logs"])

    def test_events(self):
        watcher = subprocess.Popen([Options.binary, "events"], stdout=subprocess.PIPE, text=True, env=self.environment)
        self.addCleanup(watcher.stdout.close)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.terminate)
        # It watches once it has said something.
        deadline = time.time() + 20
        while not select.select([watcher.stdout], [], [], 0.05)[0]:
            self.assertLess(time.time(), deadline)
            self.call("/enqueue", {"queue": "q.first"})
        self.make()
        said = ""
        while " dead " not in said:
            said += watcher.stdout.readline()
        self.assertEqual(unsafe(said), [])
        self.assertIn(ESCAPED, said)

    def test_messages_that_quote(self):
        for words in (["inspect", EVIL], ["schedules", "show", WITH_ESCAPES], ["enqueue", WITH_ESCAPES], ["workers", EVIL],
                      [WITH_ESCAPES]):
            done = self.run_any(*words)
            self.assertEqual(unsafe(done.stdout + done.stderr), [], words)

    def run_any(self, *words):
        """Whatever it exits with."""
        return subprocess.run([Options.binary, *words], capture_output=True, text=True, timeout=60, check=False,
                              env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL)

    def test_programs_get_it_whole(self):
        job_id = self.make()
        self.assertEqual(self.json("inspect", job_id)["payload"], {EVIL: WITH_ESCAPES})
        self.assertIn(EVIL, self.out("inspect", job_id, "--output", "json"))


class HostileOnTerminal(OnTerminal):
    """The same JSON, escaped, where it would be acted upon."""

    def test_json_on_a_terminal(self):
        job_id = Hostile.make(self)
        for words in (["inspect", job_id], ["search", "--queue", self.queue], ["logs", job_id]):
            terminal = self.terminal(*words, "--output", "ndjson", columns=2000, NO_COLOR="1")
            self.assertEqual(terminal.finish(), 0)
            self.assertEqual(unsafe(terminal.raw), [], words)
            self.assertIn(EVIL, json.dumps(json.loads(terminal.raw.splitlines()[0]), ensure_ascii=False), words)

    call = Hostile.call


__all__ = ["Hostile", "HostileOnTerminal"]
