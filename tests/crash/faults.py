#!/usr/bin/env python3
"""One fault at a time against the real binary: a full disk, failing syncs, flipped bits.

    faults.py --binary build/release/jobbie [--seed N] [--flips N] [Test.test_name …]

Whatever happens, nothing that was acknowledged may be lost in silence.
"""

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from ledger import Ledger
from server import Server, ServerError

OPTIONS = None
SEGMENT = ["--segment-bytes", str(4 << 20)]
DISK_BYTES = 128 << 20
BALLAST_BYTES = 80 << 20
LARGE = 100_000


class Fault(unittest.TestCase):
    """A folder and a server for each test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="jobbie-fault-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, data_dir, prefix=()):
        server = Server(OPTIONS.binary, data_dir, flags=SEGMENT, prefix=prefix)
        self.addCleanup(server.close)
        return server


class FullDisk(Fault):
    """Writes are refused with 507, reads go on, and space brings everything back."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("a full disk needs root, for a small tmpfs")
        self.disk = os.path.join(self.folder, "disk")
        os.mkdir(self.disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=False)
        self.ballast = os.path.join(self.disk, "ballast")
        with open(self.ballast, "wb") as out:
            out.write(b"\0" * BALLAST_BYTES)

    def fill_up(self):
        server = self.server(os.path.join(self.disk, "data"))
        server.log_path = os.path.join(self.folder, "stderr")
        server.start()
        ledger = Ledger(server.port)
        self.assertEqual(ledger.fill(20), 201)
        self.assertEqual(ledger.complete(10), 200)
        self.assertEqual(ledger.fill(2000, LARGE), 507, server.tail())
        return server, ledger

    def use_room(self, ledger):
        """There is room again: before long writes are taken, small and large."""
        deadline = time.time() + 15
        for _ in range(20):
            while (status := ledger.enqueue(0, LARGE)) != 201:
                self.assertEqual(status, 507)
                self.assertLess(time.time(), deadline, "there is room, and writes are still refused")
                time.sleep(0.1)

    def test_reads_go_on_and_writes_come_back(self):
        server, ledger = self.fill_up()
        answer = ledger.client.post("/api/v1/enqueue", {"queue": "ledger", "payload": {"pad": "p" * LARGE}})
        self.assertEqual((answer.status, answer.code), (507, "disk_full"))
        self.assertEqual(ledger.missing(), [], "while the disk is full")
        self.assertEqual(ledger.client.get("/healthz").status, 200)
        for _ in range(50):  # stubborn clients do not break it
            self.assertEqual(ledger.enqueue(0, LARGE), 507)
        self.assertTrue(server.running(), server.tail())
        os.unlink(self.ballast)
        self.use_room(ledger)
        self.assertEqual(ledger.complete(20), 200)
        server.kill()
        server.start()
        ledger.use(server.port)
        self.assertEqual(ledger.missing(), [], "after a kill")
        server.stop()
        self.assertEqual(server.check_database()[0], 0, server.check_database()[1])

    def test_killed_while_full(self):
        server, ledger = self.fill_up()
        server.kill()
        server.spawn()
        server.wait_alive()
        ledger.use(server.port)
        self.assertEqual(ledger.missing(), [], "restarted on a full disk")
        server.kill()
        os.unlink(self.ballast)
        server.start()
        ledger.use(server.port)
        self.use_room(ledger)
        self.assertEqual(ledger.missing(), [], "after space was made")

    def test_stopped_while_full(self):
        server, ledger = self.fill_up()
        server.terminate()
        server.wait_stopped()  # with which code is not promised: it may not have been able to write
        os.unlink(self.ballast)
        server.start()
        ledger.use(server.port)
        self.use_room(ledger)
        self.assertEqual(ledger.missing(), [])


class FailingSync(Fault):
    """After the first failed sync or write of the log the process ends, and acknowledges nothing more."""

    def setUp(self):
        super().setUp()
        if shutil.which("strace") is None:
            self.skipTest("strace is not installed")

    def prepare(self, data):
        """A server that has lived before, so that the failure does not come while files are made."""
        server = self.server(data)
        server.start()
        ledger = Ledger(server.port)
        self.assertEqual(ledger.fill(20), 201)
        server.kill()
        return ledger

    def run_with(self, call, nth, where):
        """Lets the nth `call` of each thread fail; the paths it failed in."""
        data = os.path.join(self.folder, f"{call}-{nth}-{where}")
        ledger = self.prepare(data)
        trace = data + ".trace"
        prefix = ["strace", "-f", "-y", "-ttt", "-o", trace, "-e", f"trace={call}", "-e",
                  f"inject={call}:error=EIO:when={nth}"]
        names = ["jobbie.db", "jobbie.db-wal"]
        if where == "log":
            names = [os.path.join("log", name) for name in os.listdir(os.path.join(data, "log"))]
        for name in names:
            prefix += ["-P", os.path.join(data, name)]
        server = self.server(data, prefix)
        ledger.use(server.port)
        try:
            server.start()
            for number in range(nth + 60):
                if ledger.enqueue(number) != 201:
                    break
            if server.running():
                ledger.client.close()
                time.sleep(0.7)
        except ServerError:
            pass
        failures = self.failures_in(trace)
        self.judge(server, ledger, f"{call} {nth}", [f for f in failures if "/log/" in f[0]])
        self.end(server)
        after = self.server(data)
        after.start()
        ledger.use(after.port)
        self.assertEqual(ledger.missing(), [], f"after {call} {nth} failed in {failures}")
        after.stop()
        self.assertEqual(after.check_database()[0], 0, after.check_database()[1])
        return [path for path, _ in failures]

    def judge(self, server, ledger, name, failures):
        """The database's own trouble need not end the process. The log's must."""
        if not failures:
            return
        path, when = failures[0]
        deadline = time.time() + 10
        while server.running() and time.time() < deadline:
            time.sleep(0.02)
        self.assertFalse(server.running(), f"{name} failed in {path}, and the server goes on")
        self.assertGreater(server.process.returncode, 0, f"{name}: fail-stop, by itself, with a code that says so")
        self.assertIn(os.path.basename(path), server.tail(), "the log names the file")
        self.assertLess(ledger.last_ok, when + 0.05, f"{name}: acknowledged after the failure")

    @staticmethod
    def failures_in(trace):
        """(path, when) of each."""
        found = []
        with open(trace, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if "(INJECTED)" in line:
                    path = re.search(r"<([^>]*)>", line)
                    found.append((path.group(1) if path else "?", float(line.split()[1])))
        return found

    @staticmethod
    def end(server):
        """The tracer does not take its child along."""
        if not server.running():
            return
        pid = server.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            for child in children.read().split():
                os.kill(int(child), signal.SIGKILL)
        server.process.wait(10)

    def sweep(self, call, where, numbers):
        hit = [path for nth in numbers for path in self.run_with(call, nth, where)]
        names = sorted({os.path.basename(path) for path in hit})
        print(f"{call}: failed {len(hit)} times, in {', '.join(names)}")
        fitting = [path for path in hit if ("/log/" in path) == (where == "log")]
        self.assertGreaterEqual(len(fitting), len(numbers) // 2, f"{call} was to fail in the {where}: {names}")

    def test_fdatasync_of_the_log(self):
        self.sweep("fdatasync", "log", [1, 2])

    def test_pwrite_of_the_log(self):
        self.sweep("pwrite64", "log", [1, 2, 3, 4, 5, 7, 11, 20])

    def test_fdatasync_of_the_database(self):
        self.sweep("fdatasync", "database", [1, 2, 3])

    def test_pwrite_of_the_database(self):
        self.sweep("pwrite64", "database", [1, 2, 3, 5, 8, 13])


class FlippedBits(Fault):
    """A damaged file is told by its name, or does no harm."""

    def make(self, stop):
        data = os.path.join(self.folder, "base")
        server = self.server(data)
        server.start()
        ledger = Ledger(server.port)
        self.assertEqual(ledger.fill(60), 201)
        self.assertEqual(ledger.complete(25), 200)
        self.assertEqual(ledger.fill(60, LARGE), 201)  # more than one segment
        self.assertEqual(ledger.complete(75), 200)  # those rest in the database alone
        if stop:
            server.stop()
        else:
            ledger.whisper(5)  # a torn last record is cut, as it must be; nothing promised lies in it
            server.kill()
        return data, ledger

    def flip(self, data, rnd, names):
        """One bit in a random file, mostly where bytes are in use. Says where."""
        path = rnd.choice(names)
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            for _ in range(20):
                offset = rnd.randrange(size)
                file.seek(offset)
                byte = file.read(1)[0]
                if byte != 0:
                    break
            file.seek(offset)
            file.write(bytes([byte ^ (1 << rnd.randrange(8))]))
        return f"{os.path.relpath(path, data)} at {offset}"

    def look_at(self, base, ledger, rnd, kind):
        """One flip: 'refused' or 'harmless', or what went wrong."""
        data = os.path.join(self.folder, "copy")
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(base, data)
        names = []
        for folder, _, files in os.walk(data):
            names += [os.path.join(folder, name) for name in files]
        # The -shm file is an index that is made again at every start.
        wanted = [n for n in names if os.path.getsize(n) and not n.endswith("-shm")
                  and ("/log/" in n) == (kind == "log")]
        where = self.flip(data, rnd, wanted)
        server = self.server(data)
        server.log_path = os.path.join(self.folder, "copy.stderr")
        if os.path.exists(server.log_path):
            os.unlink(server.log_path)
        try:
            server.start()
        except ServerError as error:
            server.close()
            return where, self.judge_refusal(server, where, str(error), kind)
        ledger.use(server.port)
        wrong = ledger.missing()
        died = not server.running()
        server.close()
        # Damage where nothing looks at the start is told when somebody does.
        if wrong and not died and all(re.search(r"GET answers 5\d\d$", text) for text in wrong):
            return where, "refused"
        if wrong or died:
            return where, f"silent: {wrong[:3]}" + (" and the server died" if died else "")
        return where, "harmless"

    def judge_refusal(self, server, where, text, kind):
        if server.process.returncode is None or server.process.returncode < 0:
            return f"not refused but crashed or hung: {text}"
        name = os.path.basename(where.split(" at ")[0])
        if name.removesuffix("-wal").removesuffix("-shm") not in text:
            return f"the refusal does not name {name}: {text}"
        if kind == "log" and not re.search(r"\d", text):
            return f"the refusal names no place: {text}"
        return "refused"

    def sweep(self, stop, kind):
        rnd = random.Random(f"{OPTIONS.seed}:{stop}:{kind}")
        base, ledger = self.make(stop)
        outcomes = [self.look_at(base, ledger, rnd, kind) for _ in range(OPTIONS.flips)]
        wrong = [f"{where}: {what}" for where, what in outcomes if what not in ("refused", "harmless")]
        told = sum(1 for _, what in outcomes if what == "refused")
        self.maxDiff = None
        print(f"{kind} after {'a stop' if stop else 'a kill'}: {told} of {len(outcomes)} flips refused, "
              f"{len(outcomes) - told - len(wrong)} harmless, {len(wrong)} wrong")
        self.assertEqual(wrong, [], f"seed {OPTIONS.seed}")

    def test_log_after_a_kill(self):
        self.sweep(stop=False, kind="log")

    def test_log_after_a_stop(self):
        self.sweep(stop=True, kind="log")

    def test_database_after_a_kill(self):
        self.sweep(stop=False, kind="database")

    def test_database_after_a_stop(self):
        self.sweep(stop=True, kind="database")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flips", type=int, default=25, help="for each kind of file and stop")
    OPTIONS, rest = parser.parse_known_args()
    print(f"seed {OPTIONS.seed}", flush=True)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2, warnings="ignore")


if __name__ == "__main__":
    main()
