"""`jobbie backup` and `jobbie restore`: whole files or none, and words for everything that goes wrong."""

import http.server
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import tempfile
import threading

from cli_support import Cli, Options, Server, free_port
from terminal import Terminal

MIB = 1 << 20


class Backup(Cli):
    def path(self, name):
        return os.path.join(self.folder, name)

    def files(self, folder=""):
        return sorted(os.listdir(self.path(folder)))

    def fill(self, jobs=200, bytes_each=5000):
        self.run_cli("enqueue", "filled", "--lines", stdin=(json.dumps({"text": "x" * bytes_each}) + "\n") * jobs)

    def test_names(self):
        self.enqueue()
        before = set(self.files())
        said = self.out("backup")
        (made,) = set(self.files()) - before
        self.assertRegex(made, r"^jobbie-\d{8}T\d{6}Z\.db$")
        self.assertRegex(said, rf"^{made}: [\d,]+ bytes, log index \d+\n$")
        self.assertEqual(stat.S_IMODE(os.stat(self.path(made)).st_mode), 0o600)
        with sqlite3.connect(self.path(made)) as db:
            self.assertGreater(db.execute("SELECT count(*) FROM job_rows").fetchone()[0], 0)
        os.mkdir(self.path("folder"))
        self.out("backup", "folder")
        self.assertRegex(" ".join(self.files("folder")), r"^jobbie-\d{8}T\d{6}Z\.db$")
        answer = self.json("backup", "named.db")
        self.assertEqual(answer["file"], "named.db")
        self.assertEqual(answer["bytes"], os.path.getsize(self.path("named.db")))
        self.assertGreater(answer["applied_index"], 0)
        sha = subprocess.run(["sha256sum", self.path("named.db")], capture_output=True, text=True, check=True).stdout
        self.assertEqual(answer["sha256"], sha.split()[0])

    def test_an_existing_file_stays(self):
        with open(self.path("there.db"), "w", encoding="utf-8") as file:
            file.write("precious")
        self.assertIn("--force", self.run_cli("backup", "there.db", code=2).stderr)
        with open(self.path("there.db"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        self.run_cli("backup", "there.db", "--force")
        self.assertGreater(os.path.getsize(self.path("there.db")), 4096)
        self.assertNotIn("there.db.part", self.files())

    def test_into_a_pipe(self):
        self.enqueue()
        self.shell("jobbie backup - > piped.db 2> said")
        with sqlite3.connect(self.path("piped.db")) as db:
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        with open(self.path("said"), encoding="utf-8") as said:
            self.assertIn("sha256", said.read())
        # A reader that goes is an error, and no signal.
        self.fill()
        self.shell("jobbie backup - | head -c 1 > /dev/null", code=1)

    def test_in_a_terminal(self):
        self.fill()
        terminal = Terminal([Options.binary, "backup", self.path("shown.db")], self.environment)
        self.assertEqual(terminal.finish(20), 0)
        self.assertIn("the server copies its database", terminal.raw)
        self.assertRegex(terminal.raw, r"KiB .+%")
        self.assertIn("shown.db: ", terminal.raw)
        terminal = Terminal([Options.binary, "backup", "-"], self.environment)
        self.assertEqual(terminal.finish(), 2)

    def test_no_server(self):
        done = self.run_cli("backup", "none.db", code=3, JOBBIE_URL=f"http://127.0.0.1:{free_port()}")
        self.assertIn("no server at", done.stderr)
        self.assertEqual([name for name in self.files() if name.startswith("none.db")], [])

    def test_where_it_cannot_be_written(self):
        self.assertIn("cannot write", self.run_cli("backup", "nowhere/at/all.db", code=1).stderr)
        self.run_cli("backup", "a", "b", code=2)
        self.run_cli("backup", "x.db", "--output", "xml", code=2)

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("a full disk needs root, for a small tmpfs")
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MIB}", "tmpfs", disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        self.fill(400)
        self.assertIn("[disk_full]", self.run_cli("backup", "disk/full.db", code=1).stderr)
        self.assertEqual(os.listdir(disk), [])

    def test_interrupted(self):
        """The server holds the answer back; Ctrl-C leaves nothing."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            process = subprocess.Popen([Options.binary, "backup", "cut.db"], cwd=self.folder, stderr=subprocess.PIPE,
                                       env=dict(self.environment, JOBBIE_URL=f"http://127.0.0.1:{server.getsockname()[1]}"))
            connection, _ = server.accept()
            connection.recv(1000)
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nsome of it")
            self.wait_for(lambda: os.path.exists(self.path("cut.db.part")), "the beginning of a file")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=20), 130, process.stderr.read())
            process.stderr.close()
            connection.close()
        self.assertEqual([name for name in self.files() if name.startswith("cut.db")], [])

    def false_server(self, body, sha256):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.send_header("X-Jobbie-Sha256", sha256)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_what_comes_must_be_whole(self):
        for body in (b"x" * 60, b"x" * 100):
            url = self.false_server(body, "0" * 64)
            self.run_cli("backup", "broken.db", code=3, JOBBIE_URL=url)
            self.assertEqual([name for name in self.files() if name.startswith("broken.db")], [])


class BackupAccess(Cli):
    def test_needs_an_admin(self):
        keys = os.path.join(self.folder, "keys")
        with open(keys, "w", encoding="utf-8") as file:
            file.write(f"ops:admin::{'a' * 24}\nboss:manage::{'b' * 24}\n")
        server = Server(Options.binary, os.path.join(self.folder, "locked"), flags=["--auth-keys-file", keys]).start()
        self.addCleanup(server.close)
        url = f"http://127.0.0.1:{server.port}"
        for token, code in (("", 6), ("b" * 24, 6), ("x" * 24, 6), ("a" * 24, 0)):
            done = self.run_cli("backup", f"as-{token[:1]}.db", code=code, JOBBIE_URL=url, JOBBIE_TOKEN=token)
            if code:
                self.assertRegex(done.stderr, r"\[(unauthorized|forbidden)\]")
        self.assertEqual([n for n in os.listdir(self.folder) if n.startswith("as-")], ["as-a.db"])


class Restore(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.good = os.path.join(cls.folder, "good.db")
        subprocess.run([Options.binary, "enqueue", "kept", '{"n":1}'], env=cls.environment, check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([Options.binary, "backup", cls.good], env=cls.environment, check=True, stdout=subprocess.DEVNULL)

    def data(self, name):
        return os.path.join(self.folder, name)

    def jobs(self, data_dir):
        server = Server(Options.binary, data_dir).start()
        try:
            return self.json("search", JOBBIE_URL=f"http://127.0.0.1:{server.port}")
        finally:
            server.close()

    def test_good(self):
        said = self.out("restore", self.good, "--data-dir", self.data("new/deep"))
        self.assertIn(f"jobbie server --data-dir {self.data('new/deep')}", said)
        self.assertEqual(sorted(os.listdir(self.data("new/deep"))), ["jobbie.db", "log"])
        self.assertIn("is sound", self.out("db", "check", "--data-dir", self.data("new/deep")))
        self.assertEqual([job["payload"] for job in self.jobs(self.data("new/deep"))], [{"n": 1}])

    def test_name_of_the_node(self):
        said = self.out("restore", self.good, "--data-dir", self.data("named"), "--node", "jobbie-7")
        self.assertIn(f"jobbie server --data-dir {self.data('named')} --node jobbie-7\n", said)
        self.assertIn("the same --node", " ".join(self.out("restore", "--help").split()))

    def test_json(self):
        os.mkdir(self.data("empty"))
        answer = self.json("restore", self.good, "--data-dir", self.data("empty"))
        self.assertEqual((answer["data_dir"], answer["moved_to"]), (self.data("empty"), None))
        self.assertGreater(answer["applied_index"], 0)

    def test_what_is_there_stays_or_is_put_aside(self):
        first = self.data("used")
        self.run_cli("restore", self.good, "--data-dir", first)
        with open(os.path.join(first, "note"), "w", encoding="utf-8") as file:
            file.write("mine")
        before = sorted(os.listdir(first))
        self.assertIn("--force", self.run_cli("restore", self.good, "--data-dir", first, code=5).stderr)
        self.assertEqual(sorted(os.listdir(first)), before)
        answer = self.json("restore", self.good, "--data-dir", first, "--force")
        self.assertEqual(sorted(os.listdir(answer["moved_to"])), before)
        self.assertEqual(len(self.jobs(first)), 1)
        # What was put aside is whole: it can be put back.
        back = self.data("back")
        shutil.copytree(answer["moved_to"], back)
        self.assertEqual(len(self.jobs(back)), 1)

    def test_a_running_server_keeps_its_directory(self):
        done = self.run_cli("restore", self.good, "--data-dir", self.server.data_dir, "--force", code=5)
        self.assertIn("stop it first", done.stderr)
        self.assertEqual(self.out("search", "--count"), "1\n")

    def test_bad_files(self):
        with open(self.good, "rb") as file:
            good = file.read()
        middle = len(good) // 2
        bad = {"text": b"no database at all" * 1000, "empty": b"", "short": good[:middle],
               "flipped": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]}
        for name, content in bad.items():
            path = self.data(name + ".db")
            with open(path, "wb") as file:
                file.write(content)
            done = self.run_cli("restore", path, "--data-dir", self.data("from-" + name), code=1)
            self.assertTrue(done.stderr.startswith("jobbie: "), done.stderr)
            self.assertFalse(os.path.exists(self.data("from-" + name)), name)
        with sqlite3.connect(self.data("foreign.db")) as db:
            db.execute("CREATE TABLE t (x)")
        self.assertIn("not one of this program",
                      self.run_cli("restore", self.data("foreign.db"), "--data-dir", self.data("f"), code=1).stderr)
        self.run_cli("restore", self.data("missing.db"), "--data-dir", self.data("m"), code=4)
        self.run_cli("restore", code=2)

    def test_a_failed_one_leaves_what_was_there(self):
        used = self.data("kept-as-it-was")
        self.run_cli("restore", self.good, "--data-dir", used)
        with open(self.data("bad.db"), "wb") as file:
            file.write(b"nothing" * 1000)
        self.run_cli("restore", self.data("bad.db"), "--data-dir", used, "--force", code=1)
        self.assertEqual(sorted(os.listdir(used)), ["jobbie.db", "log"])

    def test_an_interrupted_one_is_begun_again(self):
        used = self.data("interrupted")
        os.makedirs(os.path.join(used, "restore.tmp", "log"))
        with open(os.path.join(used, "restore.tmp", "jobbie.db"), "wb") as file:
            file.write(b"half")
        self.run_cli("restore", self.good, "--data-dir", used)
        self.assertEqual(sorted(os.listdir(used)), ["jobbie.db", "log"])
        self.assertEqual(len(self.jobs(used)), 1)

    def test_half_a_directory_does_not_serve(self):
        half = self.data("half")
        self.run_cli("restore", self.good, "--data-dir", half)
        os.unlink(os.path.join(half, "jobbie.db"))
        done = subprocess.run([Options.binary, "server", "--data-dir", half, "--http", f"127.0.0.1:{free_port()}"],
                              capture_output=True, text=True, timeout=20, check=False)
        self.assertNotEqual(done.returncode, 0)

    def test_no_room(self):
        if os.geteuid() != 0:
            self.skipTest("a full disk needs root, for a small tmpfs")
        with tempfile.TemporaryDirectory() as disk:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                     capture_output=True, text=True, check=False)
            if mounted.returncode != 0:
                self.skipTest(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
            try:
                self.run_cli("restore", self.good, "--data-dir", os.path.join(disk, "data"), code=1)
                self.assertEqual(os.listdir(disk), [])
            finally:
                subprocess.run(["umount", disk], check=False)
