#!/usr/bin/env python3
"""A disk that is full, and files that go away or are damaged while the server runs.

    disk_faults.py --binary build/release/jobbie [FullDisk | LostFiles | DamagedFile]

On a full disk everything that was acknowledged is found by every read, what ends jobs goes on, and one notion of
"full" is in answers, metrics and readiness. Whatever happens to the files: nothing that was acknowledged is lost,
or nothing is acknowledged any more.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from client import Broken, Client, NotSent
from ledger import API, Ledger
from server import Server

OPTIONS = None
SEGMENT = ["--segment-bytes", str(4 << 20)]
DISK_BYTES = 160 << 20
MIDDLE = 20_000
LARGE = 100_000


def wait_for(what, condition, within_s=15.0):
    deadline = time.time() + within_s
    while not condition():
        if time.time() > deadline:
            raise AssertionError(f"not within {within_s} s: {what}")
        time.sleep(0.02)


class Fault(unittest.TestCase):
    """A folder and a server for each test."""

    flags = SEGMENT

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="jobbie-disk-fault-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def server(self, data_dir):
        server = Server(OPTIONS.binary, data_dir, flags=self.flags)
        server.log_path = os.path.join(self.folder, "stderr")
        self.addCleanup(server.close)
        return server

    def journal(self, server):
        with open(server.log_path, encoding="utf-8") as log:
            return log.read()

    def check(self, server, ledger):
        """Killed and started again: everything is there, and the file is sound."""
        server.kill()
        server.start()
        ledger.use(server.port)
        self.assertEqual(ledger.missing(), [])
        server.stop()
        code, text = server.check_database()
        self.assertEqual(code, 0, text)


class FullDisk(Fault):
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

    def begin(self):
        server = self.server(os.path.join(self.disk, "data"))
        server.start()
        ledger = Ledger(server.port)
        self.assertEqual(ledger.fill(200), 201)
        self.assertEqual(ledger.complete(60), 200)
        return server, ledger

    def others_take_the_last_byte(self):
        with open(self.ballast, "wb", buffering=0) as out:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        out.write(b"\0" * size)
                except OSError:
                    pass

    def fill_up(self, ledger):
        """Until jobs are refused though all is written and the log is cut."""
        deadline = time.time() + 60
        refused = 0
        while refused < 4:
            self.assertLess(time.time(), deadline, "the disk is never full")
            refused = refused + 1 if ledger.enqueue(len(ledger.payloads), MIDDLE) == 507 else 0
            if refused == 0:
                self.assertEqual(ledger.fill(20_000, MIDDLE), 507)
            time.sleep(0.6)  # the server looks at the disk twice a second

    def found(self, ledger):
        """What a search of everything says: the number of jobs, and whether it may lack some."""
        answer = ledger.client.post(f"{API}/jobs/search", {"queue": "ledger", "limit": 1})
        self.assertEqual(answer.status, 200, answer.code)
        return answer.json["total"], answer.json.get("stale", False)

    def gauge(self, server):
        client = Client(server.port, timeout=10.0)
        text = client.get("/metrics").body.decode()
        return int(re.search(r"^jobbie_disk_full(?:\{.*\})? (\d)", text, re.M).group(1))

    def look_at_full_server(self, server, ledger):
        self.assertEqual(ledger.missing(), [], "while the disk is full")
        began = time.time()
        self.assertEqual(self.found(ledger), (len(ledger.payloads), False), server.tail())
        self.assertLess(time.time() - began, 5)
        answer = ledger.client.get(f"{API}/backup")
        self.assertEqual((answer.status, answer.code), (507, "disk_full"))
        self.assertIn("MiB are free", answer.json["detail"])
        self.assertEqual(ledger.complete(10), 200, "what ends jobs goes on")
        self.assertEqual(ledger.enqueue(0, LARGE), 507)
        wait_for("the gauge says so", lambda: self.gauge(server) == 1)
        self.assertEqual(ledger.client.get("/readyz").status, 503)
        self.assertEqual(self.found(ledger)[1], False)

    def full_life(self, server, ledger):
        self.look_at_full_server(server, ledger)
        server.kill()
        server.spawn()
        server.wait_alive()
        ledger.use(server.port)
        self.fill_up(ledger)  # the start has given the database's write-ahead log back
        self.look_at_full_server(server, ledger)
        if os.path.exists(self.ballast):
            os.unlink(self.ballast)
        else:  # it was full of jobs
            subprocess.run(["mount", "-o", f"remount,size={2 * DISK_BYTES}", self.disk], check=True)
        wait_for("there is room again", lambda: ledger.enqueue(0, LARGE) == 201)
        wait_for("it is ready", server.is_ready)
        self.assertEqual(self.gauge(server), 0)
        self.check(server, ledger)

    def test_others_fill_it(self):
        server, ledger = self.begin()
        self.others_take_the_last_byte()
        wait_for("writes are refused", lambda: ledger.enqueue(0, MIDDLE) == 507)
        self.full_life(server, ledger)

    def test_others_fill_it_under_load(self):
        server, ledger = self.begin()
        stop = threading.Event()
        others = [Ledger(server.port) for _ in range(3)]

        def work(mine):
            while not stop.is_set():
                mine.enqueue(len(mine.payloads), 500)

        threads = [threading.Thread(target=work, args=(mine,)) for mine in others]
        for thread in threads:
            thread.start()
        self.others_take_the_last_byte()
        wait_for("writes are refused", lambda: ledger.enqueue(0, MIDDLE) == 507)
        stop.set()
        for thread, mine in zip(threads, others):
            thread.join()
            ledger.payloads.update(mine.payloads)
        self.full_life(server, ledger)

    def test_jobs_fill_it(self):
        server, ledger = self.begin()
        self.fill_up(ledger)
        self.full_life(server, ledger)

    def test_answers_and_gauge_agree(self):
        """Small writes that still pass do not make the gauge forget the larger ones."""
        server, ledger = self.begin()
        self.fill_up(ledger)
        for _ in range(40):
            self.assertEqual(ledger.complete(1), 200)
            time.sleep(0.05)
        self.assertEqual(ledger.enqueue(0, LARGE), 507)
        ledger.complete(20)
        time.sleep(1.2)  # nobody is refused meanwhile
        self.assertEqual(self.gauge(server), 1)
        self.assertEqual(ledger.client.get("/readyz").status, 503)

    def test_backup_without_room(self):
        """Refused at once, before the disk is full for anything else."""
        server, ledger = self.begin()
        with open(self.ballast, "wb") as out:
            out.write(b"\0" * (DISK_BYTES - (80 << 20)))
        began = time.time()
        answer = ledger.client.get(f"{API}/backup")
        self.assertEqual((answer.status, answer.code), (507, "disk_full"))
        self.assertLess(time.time() - began, 5)
        self.assertEqual(ledger.enqueue(0, MIDDLE), 201)
        server.stop()


class Load:
    """Clients that enqueue and complete, each with a ledger of its own, until they are stopped."""

    def __init__(self, port, clients=3):
        self.ledgers = [Ledger(port) for _ in range(clients)]
        self.going = True
        self.threads = [threading.Thread(target=self.work, args=(ledger,)) for ledger in self.ledgers]
        for thread in self.threads:
            thread.start()

    def work(self, ledger):
        while self.going:
            try:
                if ledger.enqueue(len(ledger.payloads)) == 201:
                    ledger.complete(1)
                else:
                    time.sleep(0.02)
            except (Broken, NotSent):
                time.sleep(0.02)

    def done(self):
        return sum(len(ledger.payloads) for ledger in self.ledgers)

    def last_ok(self):
        return max(ledger.last_ok for ledger in self.ledgers)

    def stop(self):
        self.going = False
        for thread in self.threads:
            thread.join()

    def into(self, ledger):
        self.stop()
        for mine in self.ledgers:
            ledger.payloads.update(mine.payloads)
            ledger.results.update(mine.results)
            ledger.last_ok = max(ledger.last_ok, mine.last_ok)


class LostFiles(Fault):
    """What is open is written anew under its name; until then nothing is acknowledged."""

    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.folder, "data")
        self.process = self.server(self.data)
        self.process.start()
        self.ledger = Ledger(self.process.port)
        self.assertEqual(self.ledger.fill(300, 2000), 201)
        self.assertEqual(self.ledger.complete(100), 200)

    def path(self, *names):
        return os.path.join(self.data, *names)

    def under_load(self, act, told):
        """Acts while clients are busy; they can go on after it. Then kills the server."""
        load = Load(self.process.port)
        self.addCleanup(load.stop)
        wait_for("there is load", lambda: load.done() > 50)
        act()
        wait_for(told, lambda: told in self.journal(self.process))
        before = load.done()
        wait_for("it goes on", lambda: load.done() > before + 50)
        wait_for("it is ready", self.process.is_ready)
        load.into(self.ledger)
        self.assertEqual(self.ledger.missing(), [])
        self.check(self.process, self.ledger)

    def test_database_unlinked(self):
        self.under_load(lambda: os.unlink(self.path("jobbie.db")), "database_saved")

    def test_write_ahead_log_unlinked(self):
        self.under_load(lambda: os.unlink(self.path("jobbie.db-wal")), "database_saved")

    def test_all_of_the_database_unlinked(self):
        def act():
            for suffix in ("", "-wal", "-shm"):
                os.unlink(self.path("jobbie.db" + suffix))
        self.under_load(act, "database_saved")

    def test_database_replaced(self):
        other = os.path.join(self.folder, "other.db")
        with open(other, "wb") as out:
            shutil.copyfileobj(open(self.path("jobbie.db"), "rb"), out)
        self.under_load(lambda: os.rename(other, self.path("jobbie.db")), "database_saved")
        self.assertTrue(os.path.exists(self.path("jobbie.db.replaced")))

    def test_segment_removed(self):
        def act():
            for name in os.listdir(self.path("log")):
                os.unlink(self.path("log", name))
        self.under_load(act, "log_files_restored")

    def test_log_directory_removed(self):
        self.under_load(lambda: shutil.rmtree(self.path("log"), ignore_errors=True), "log_files_restored")

    def test_data_directory_removed(self):
        self.under_load(lambda: shutil.rmtree(self.data, ignore_errors=True), "database_saved")

    def test_data_directory_moved(self):
        """What is under the name is what counts."""
        self.under_load(lambda: os.rename(self.data, self.data + ".old"), "database_saved")

    def test_stopped_at_once(self):
        os.unlink(self.path("jobbie.db"))
        self.process.stop()
        self.process.start()
        self.ledger.use(self.process.port)
        self.assertEqual(self.ledger.missing(), [])

    def test_cannot_be_saved(self):
        """Nothing is acknowledged while the only copy is an open file; reads go on; then it is mended."""
        os.mkdir(self.path("saving.db"))  # stands in the way of the copy
        with open(self.path("saving.db", "x"), "w", encoding="utf-8"):
            pass
        os.unlink(self.path("jobbie.db"))
        wait_for("it is told", lambda: "database_not_saved" in self.journal(self.process))
        answer = self.ledger.client.post(f"{API}/enqueue", {"queue": "ledger"})
        self.assertEqual((answer.status, answer.code), (503, "database_damaged"))
        self.assertEqual(self.ledger.client.get("/readyz").status, 503)
        self.assertEqual(self.ledger.missing(), [])
        shutil.rmtree(self.path("saving.db"))
        wait_for("it goes on", lambda: self.ledger.enqueue(0) == 201)
        self.check(self.process, self.ledger)


class DamagedFile(Fault):
    """Damage that is met while the server runs ends the acknowledgements; the log keeps what came after a backup."""

    flags = ["--cache-bytes", str(1 << 20)]

    def damage(self, path):
        """Noise over most of the pages; the first ones hold the schema."""
        rnd = random.Random(1)
        with open(path, "r+b") as file:
            pages = os.path.getsize(path) // 4096
            for page in range(60, pages):
                file.seek(page * 4096 + 100)
                file.write(rnd.randbytes(64))
            os.fsync(file.fileno())

    def test_met_while_running(self):
        data = os.path.join(self.folder, "data")
        server = self.server(data)
        server.start()
        ledger = Ledger(server.port)
        self.assertEqual(ledger.fill(1500, 3000), 201)
        self.assertEqual(ledger.complete(700), 200)
        backup = os.path.join(self.folder, "backup.db")
        answer = ledger.client.get(f"{API}/backup")
        self.assertEqual(answer.status, 200)
        with open(backup, "wb") as out:
            out.write(answer.body)
        self.assertEqual(ledger.complete(100), 200)
        # Of a server that was started again little is in memory.
        server.stop()
        server.start()
        ledger.use(server.port)
        self.damage(os.path.join(data, "jobbie.db"))
        wait_for("acknowledgements stop", lambda: ledger.complete(1) != 200)
        wait_for("the damage is met", lambda: ledger.enqueue(0) == 503, 20)
        answer = ledger.client.post(f"{API}/enqueue", {"queue": "ledger"})
        self.assertEqual((answer.status, answer.code), (503, "database_damaged"))
        wait_for("it is not ready", lambda: ledger.client.get("/readyz").status == 503)
        wait_for("it is told", lambda: "database_trouble" in self.journal(server))
        # The remedy that loses nothing: the backup in the place of the database, the log as it is.
        server.close()
        for suffix in ("-wal", "-shm"):
            os.unlink(os.path.join(data, "jobbie.db" + suffix))
        shutil.copy(backup, os.path.join(data, "jobbie.db"))
        server.start()
        ledger.use(server.port)
        self.assertEqual(ledger.missing(), [])
        server.stop()
        self.assertEqual(server.check_database()[0], 0)


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2, warnings="ignore")


if __name__ == "__main__":
    main()
