"""Starts, watches and kills one server process."""

import os
import shlex
import signal
import socket
import subprocess
import time

from client import Broken, NotSent, one_call

READY_WITHIN_S = 20.0
STOPPED_WITHIN_S = 10.0


class ServerError(Exception):
    """The server did what it must not: ended by itself, did not start, did not stop."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One data directory and the processes that serve it, one after the other.

    `binary` is a command line, so that a stand-in can take the place of the real one.
    """

    name = ""  # of one node among several

    def __init__(self, binary, data_dir, port=None, flags=(), prefix=(), host="127.0.0.1"):
        self.binary = shlex.split(binary)
        self.data_dir = str(data_dir)
        self.host = host
        self.port = port or free_port()
        self.flags = list(flags)
        self.prefix = list(prefix)  # a tracer, say
        self.log_path = self.data_dir + ".stderr"
        self.process = None
        self.life = 0
        self.down_since = float("inf")  # it last led before this

    def spawn(self):
        """Starts a process and returns at once."""
        self.life += 1
        command = self.prefix + self.binary + ["server", "--data-dir", self.data_dir, "--http",
                                               f"{self.host}:{self.port}"] + self.flags
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def is_ready(self):
        try:
            return one_call(self.port, "GET", "/readyz", timeout=5, host=self.host).status == 200
        except (NotSent, Broken):
            return False

    def wait_ready(self, within_s=READY_WITHIN_S):
        deadline = time.time() + within_s
        while not self.is_ready():
            if self.process.poll() is not None:
                raise ServerError(f"ended with code {self.process.returncode} while starting:\n{self.tail()}")
            if time.time() > deadline:
                raise ServerError(f"not ready within {within_s} s:\n{self.tail()}")
            time.sleep(0.004)

    def wait_alive(self, within_s=READY_WITHIN_S):
        """Until it answers at all: with a full disk it is not ready, and yet serves."""
        deadline = time.time() + within_s
        while True:
            try:
                if one_call(self.port, "GET", "/healthz", timeout=5, host=self.host).status == 200:
                    return
            except (NotSent, Broken):
                pass
            if self.process.poll() is not None:
                raise ServerError(f"ended with code {self.process.returncode} while starting:\n{self.tail()}")
            if time.time() > deadline:
                raise ServerError(f"does not answer within {within_s} s:\n{self.tail()}")
            time.sleep(0.004)

    def start(self):
        self.spawn()
        self.wait_ready()
        return self

    def kill(self):
        """SIGKILL. A process that has ended by itself is an error."""
        code = self.process.poll()
        if code is not None:
            raise ServerError(f"ended by itself with code {code}:\n{self.tail()}")
        self.down_since = time.time()
        self.process.kill()
        self.process.wait()

    def terminate(self):
        self.down_since = time.time()
        self.process.send_signal(signal.SIGTERM)

    def wait_stopped(self, within_s=STOPPED_WITHIN_S):
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            raise ServerError(f"still there {within_s} s after SIGTERM:\n{self.tail()}") from None

    def stop(self):
        """A graceful stop, which must end with code 0."""
        self.terminate()
        code = self.wait_stopped()
        if code != 0:
            raise ServerError(f"graceful stop ended with code {code}:\n{self.tail()}")

    def running(self):
        return self.process is not None and self.process.poll() is None

    def close(self):
        """Leaves no process behind, whatever happened."""
        if self.running():
            self.process.kill()
            self.process.wait()

    def tail(self, lines=15):
        try:
            with open(self.log_path, "rb") as log:
                log.seek(max(0, os.path.getsize(self.log_path) - 8192))
                return b"\n".join(log.read().splitlines()[-lines:]).decode(errors="replace")
        except OSError:
            return ""

    def status(self):
        """The answer of cluster/status, or None while the server is not there."""
        try:
            answer = one_call(self.port, "GET", "/api/v1/cluster/status", timeout=5, host=self.host)
        except (NotSent, Broken):
            return None
        return node_status(answer.json) if answer.status == 200 else None

    def check_database(self):
        """What `jobbie db check` says: (exit code, text)."""
        done = subprocess.run(self.binary + ["db", "check", "--data-dir", self.data_dir],
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr


def node_status(body):
    """The node's own row, wherever the answer puts it."""
    if "applied_index" in body:
        return body
    for key in ("node", "self", "nodes"):
        row = body.get(key)
        if isinstance(row, list) and row:
            row = row[0]
        if isinstance(row, dict) and "applied_index" in row:
            return row
    raise ServerError(f"cluster/status shows no applied_index: {body}")
