"""What the end-to-end tests share: the binary under test, a server for each test, free ports."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "crash"))

from client import Broken, Client, NotSent  # noqa: E402
from server import Server, free_port  # noqa: E402

__all__ = ["API", "Broken", "Client", "EndToEnd", "NotSent", "Options", "ROOT", "Server", "free_port"]

API = "/api/v1"


class Options:
    """Set once by the main program."""

    binary = ""
    seed = 1
    requests = 2000


class EndToEnd(unittest.TestCase):
    """A folder for each test, and servers that are gone after it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="jobbie-e2e-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, flags=(), start=True):
        server = Server(Options.binary, self.path("data"), flags=flags)
        self.addCleanup(server.close)
        return server.start() if start else server

    def client(self, server):
        client = Client(server.port)
        self.addCleanup(client.close)
        return client

    def run_program(self, *arguments, timeout=20, environment=None):
        """Runs `jobbie …` to its end."""
        return subprocess.run([Options.binary, *arguments], capture_output=True, text=True, timeout=timeout,
                              cwd=self.folder, env=environment, check=False)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)
        return self.path(name)

    def enqueue(self, client, queue, payload=None, **more):
        answer = client.post(f"{API}/enqueue", dict({"queue": queue, "payload": payload or {}}, **more))
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json

    def fetch(self, client, *queues, timeout=0, **more):
        """The job, or None."""
        answer = client.post(f"{API}/fetch", dict({"queues": list(queues), "timeout": timeout}, **more))
        self.assertIn(answer.status, (200, 204), answer.body)
        return answer.json if answer.status == 200 else None

    def job(self, client, job_id):
        answer = client.get(f"{API}/jobs/{job_id}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def log_lines(self, server):
        """The server's own log, decoded; lines that are no JSON are left out."""
        lines = []
        with open(server.log_path, encoding="utf-8") as log:
            for line in log:
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    pass
        return lines
