"""What the tests of the command line share: one server for each class, and `jobbie` as a function."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "crash"))

from server import Server, free_port  # noqa: E402

__all__ = ["Cli", "Options", "Server", "free_port"]


class Options:
    """Set once by the main program."""

    binary = ""
    example = ""


class Cli(unittest.TestCase):
    """A server for the class, a queue name for each test."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="jobbie-cli-")
        cls.server = Server(Options.binary, os.path.join(cls.folder, "data")).start()
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith("JOBBIE_")}
        cls.environment.update(JOBBIE_URL=f"http://127.0.0.1:{cls.server.port}", HOME=cls.folder,
                               PATH=os.path.dirname(Options.binary) + ":" + os.environ["PATH"])

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def setUp(self):
        self.queue = "q." + self._testMethodName

    def run_cli(self, *words, stdin="", code=0, **environment):
        """Runs `jobbie words…`, checks the exit code, and gives what came of it."""
        done = subprocess.run([Options.binary, *words], input=stdin, capture_output=True, text=True, timeout=60,
                              env=dict(self.environment, **environment), cwd=self.folder, check=False)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done

    def out(self, *words, **more):
        return self.run_cli(*words, **more).stdout

    def json(self, *words, **more):
        return json.loads(self.out(*words, "--output", "json", **more))

    def lines(self, *words, **more):
        """NDJSON as a list."""
        return [json.loads(line) for line in self.out(*words, "--output", "json", **more).splitlines()]

    def shell(self, text, code=0):
        """A pipeline as people type it."""
        done = subprocess.run(["bash", "-o", "pipefail", "-c", text], capture_output=True, text=True, timeout=60,
                              env=self.environment, cwd=self.folder, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, f"{text}: {done.stdout}{done.stderr}")
        return done.stdout

    def enqueue(self, queue=None, payload=None, *words):
        return self.out("enqueue", queue or self.queue, json.dumps(payload or {}), *words).strip()

    def state(self, job_id):
        return self.json("inspect", job_id)["state"]

    def make_dead(self, queue, payload=None, error="SMTP timeout"):
        """A job whose one attempt failed."""
        job_id = self.enqueue(queue, payload, "--max-retries", "1")
        self.run_cli("work", queue, "--once", "--quiet", "--", "sh", "-c", f"echo '{error}' >&2; exit 1")
        self.assertEqual(self.state(job_id), "dead")
        return job_id

    def make_completed(self, queue, payload=None):
        job_id = self.enqueue(queue, payload)
        self.run_cli("work", queue, "--once", "--quiet", "--", "true")
        self.assertEqual(self.state(job_id), "completed")
        return job_id

    def wait_for(self, condition, what, within_s=15):
        deadline = time.time() + within_s
        while True:
            found = condition()
            if found:
                return found
            self.assertLess(time.time(), deadline, f"{what} did not happen")
            time.sleep(0.02)
