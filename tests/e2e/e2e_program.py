"""The program as users meet it: words on the command line, settings, refusals, stopping."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading
import time

from support import API, EndToEnd, Options, Server, free_port

QUICK_START_WORKER = r"""
while true; do
  JOB=$(curl -s -X POST http://localhost:8080/api/v1/fetch \
    -H "Content-Type: application/json" \
    -d '{"queues": ["test"], "worker_id": "demo", "timeout": 30}')
  [ -z "$JOB" ] && continue
  JOB_ID=$(echo $JOB | jq -r .job_id)
  echo "Processing: $JOB"
  curl -s -X POST "http://localhost:8080/api/v1/ack/$JOB_ID" \
    -H "Content-Type: application/json" -d '{}'
done
"""


class QuickStart(EndToEnd):
    """What the introduction tells people to type works as typed, but for the port."""

    def test_as_typed(self):
        introduction = self.run_program()
        self.assertEqual(introduction.returncode, 0)
        typed = re.search(r"curl .*?\n(?=\n|$)", introduction.stdout, re.S)
        self.assertIsNotNone(typed, introduction.stdout)
        server = self.serve()
        address = f"localhost:{server.port}"
        said = subprocess.run(["bash", "-c", "curl -s" + typed.group(0)[4:].replace("localhost:8080", address)],
                              capture_output=True, text=True, timeout=20, check=False)
        self.assertIn('"job_id"', said.stdout, said.stderr)
        job_id = json.loads(said.stdout)["job_id"]
        output = self.path("worker.out")
        with open(output, "w", encoding="utf-8") as out:
            worker = subprocess.Popen(["bash", "-c", QUICK_START_WORKER.replace("localhost:8080", address)],
                                      stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(worker.wait)
        self.addCleanup(os.killpg, worker.pid, signal.SIGKILL)
        client = self.client(server)
        deadline = time.time() + 10
        while self.job(client, job_id)["state"] != "completed":
            self.assertLess(time.time(), deadline, open(output, encoding="utf-8").read())
            time.sleep(0.05)
        self.assertEqual(self.job(client, job_id)["payload"], {"hello": "world"})
        with open(output, encoding="utf-8") as out:
            self.assertIn(f'Processing: {{"job_id":"{job_id}"', out.read())


class Words(EndToEnd):
    def test_version(self):
        for arguments in (["version"], ["--version"]):
            done = self.run_program(*arguments)
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout, r"\d+\.\d+\.\d+")

    def test_help_names_the_commands(self):
        done = self.run_program("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("server", "version", "db"):
            self.assertIn(word, done.stdout)
        self.assertIn("--data-dir", self.run_program("server", "--help").stdout)

    def test_a_wrong_word_is_an_error(self):
        for arguments in (["sevrer"], ["server", "--prot", "1"], ["server", "--segment-bytes", "lots"]):
            done = self.run_program(*arguments)
            self.assertEqual(done.returncode, 2, done.stderr + done.stdout)
            self.assertTrue(done.stderr.strip() or done.stdout.strip())

    def test_db_check(self):
        nowhere = self.run_program("db", "check", "--data-dir", self.path("nowhere"))
        self.assertEqual(nowhere.returncode, 2)
        self.assertIn("nowhere", nowhere.stderr)
        self.assertFalse(os.path.exists(self.path("nowhere")), "a check creates nothing")
        server = self.serve()
        client = self.client(server)
        for number in range(20):
            self.enqueue(client, "q", {"n": number}, unique_key=f"k{number}")
        server.stop()
        sound = self.run_program("db", "check", "--data-dir", server.data_dir)
        self.assertEqual((sound.returncode, sound.stderr), (0, ""), sound.stdout)
        self.assertIn("sound", sound.stdout)
        with open(os.path.join(server.data_dir, "jobbie.db"), "r+b") as database:
            database.seek(0)
            database.write(b"this is no database at all")
        broken = self.run_program("db", "check", "--data-dir", server.data_dir)
        self.assertIn(broken.returncode, (1, 2))


class Settings(EndToEnd):
    """A flag wins over the environment, the environment over the file, the file over the default."""

    def start(self, arguments, environment=None):
        server = self.serve(start=False)
        full = dict(os.environ, **(environment or {}))
        with open(server.log_path, "ab") as log:
            server.process = subprocess.Popen([Options.binary, "server", *arguments], stdout=log, stderr=log,
                                              cwd=self.folder, env=full)
        return server

    def expect_port(self, server, port):
        server.port = port
        server.wait_ready()
        server.close()

    def test_precedence(self):
        by_flag, by_variable, by_file = free_port(), free_port(), free_port()
        config = self.write("jobbie.toml", f'http = "127.0.0.1:{by_file}"\ndata-dir = "from-file"\n')
        variable = {"JOBBIE_HTTP": f"127.0.0.1:{by_variable}"}
        flag = ["--http", f"127.0.0.1:{by_flag}"]
        self.expect_port(self.start(["--config", config, *flag], variable), by_flag)
        self.assertTrue(os.path.isdir(self.path("from-file")))
        self.expect_port(self.start(["--config", config], variable), by_variable)
        self.expect_port(self.start(["--config", config]), by_file)
        self.expect_port(self.start([], {"JOBBIE_CONFIG": config}), by_file)
        self.expect_port(self.start(["--data-dir", "from-flag", *flag], {"JOBBIE_DATA_DIR": "from-variable"}), by_flag)
        self.assertTrue(os.path.isdir(self.path("from-flag")))
        self.assertFalse(os.path.isdir(self.path("from-variable")))

    def refused(self, *words, arguments=(), config=None):
        if config is not None:
            arguments = ["--config", self.write("jobbie.toml", config), *arguments]
        done = self.run_program("server", *arguments)
        self.assertNotEqual(done.returncode, 0)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_mistakes_in_the_file(self):
        self.refused("unknown key", "htpp", config='htpp = "127.0.0.1:1"\n')
        self.refused("http", "wrong type", config="http = 8080\n")
        self.refused("jobbie.toml:2", config='node = "a"\nhttp = = 1\n')
        self.refused("no-such.toml", arguments=["--config", self.path("no-such.toml")])
        self.refused("segment-bytes", config="segment-bytes = 17\n")

    def test_mistakes_in_flags(self):
        self.refused("HOST:PORT", arguments=["--http", "8080"])
        self.refused("log-level", arguments=["--log-level", "loud"])
        self.refused("", arguments=["--http", "127.0.0.1:99999"])

    def test_beyond_loopback(self):
        self.refused("--insecure", arguments=["--http", f"0.0.0.0:{free_port()}"])
        self.refused("--insecure", arguments=["--http", f"[::]:{free_port()}"])
        server = self.serve(["--insecure"], start=False)
        server.flags += ["--http", f"0.0.0.0:{server.port}"]
        with open(server.log_path, "ab") as log:
            server.process = subprocess.Popen(
                [Options.binary, "server", "--data-dir", server.data_dir, *server.flags], stdout=log, stderr=log)
        server.wait_ready()

    def test_names_browsers_come_by(self):
        def ask(server, host, path=f"{API}/queues", **headers):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
            self.addCleanup(connection.close)
            connection.request("GET", path, headers={"Host": host, **headers})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

        browser = {"Accept-Language": "de"}
        server = self.serve()
        for host, status in (("localhost", 200), ("127.0.0.1:8080", 200), ("evil.example:8080", 403)):
            self.assertEqual(ask(server, host, **browser)[0], status, host)
        self.assertIn("foreign_host", ask(server, "evil.example", "/ui/", **browser)[1])
        self.assertEqual(ask(server, "evil.example")[0], 200, "not a browser")
        server.stop()

        server = self.serve(["--allow-host", "jobs.example,queue.example"])
        for host, status in (("queue.example", 200), ("Jobs.Example:443", 200), ("evil.example", 403)):
            self.assertEqual(ask(server, host, **browser)[0], status, host)
        server.stop()

        self.assertEqual(ask(self.serve(["--auth"]), "evil.example", **browser)[0], 401)

    def test_a_port_that_is_taken(self):
        server = self.serve()
        done = self.run_program("server", "--data-dir", self.path("other"), "--http", f"127.0.0.1:{server.port}")
        self.assertEqual(done.returncode, 1)
        self.assertIn(str(server.port), done.stderr)
        self.assertTrue(server.is_ready())


class Stopping(EndToEnd):
    def test_long_polls_are_answered(self):
        """SIGTERM: waiting fetches get 204, the exit code is 0, and it does not take long."""
        server = self.serve()
        statuses, threads = [], []

        def wait():
            client = self.client(server)
            statuses.append(client.post(f"{API}/fetch", {"queues": ["q*"], "timeout": 50}).status)

        for _ in range(20):
            threads.append(threading.Thread(target=wait))
            threads[-1].start()
        deadline = time.time() + 10
        while server.status()["waiting_fetches"] < 20:
            self.assertLess(time.time(), deadline)
            time.sleep(0.01)
        began = time.time()
        server.stop()
        took = time.time() - began
        for thread in threads:
            thread.join(10)
        self.assertEqual(statuses, [204] * 20)
        self.assertLess(took, 10)
        print(f"stopped within {took:.2f} s")

    def test_sigint_too(self):
        server = self.serve()
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.wait_stopped(), 0)

    def test_idle_connections_do_not_hold_it_up(self):
        server = self.serve()
        clients = [self.client(server) for _ in range(30)]
        for client in clients:
            client.connect()
        clients[0].get("/healthz")
        began = time.time()
        server.stop()
        self.assertLess(time.time() - began, 6)

    def test_a_second_server_on_the_same_data(self):
        server = self.serve()
        client = self.client(server)
        first = self.enqueue(client, "q", {"n": 1})
        second = Server(Options.binary, server.data_dir)
        second.log_path = self.path("second.stderr")
        self.addCleanup(second.close)
        second.spawn()
        try:
            code = second.process.wait(10)
        except subprocess.TimeoutExpired:
            self.fail("two servers on one data directory")
        self.assertEqual(code, 1)
        self.assertRegex(second.tail(), r"(?i)another|in use|lock")
        third = self.enqueue(client, "q", {"n": 2})
        server.kill()
        server.start()
        client = self.client(server)
        for job in (first, third):
            self.job(client, job["job_id"])

    def test_a_restart_changes_nothing(self):
        server = self.serve()
        client = self.client(server)
        jobs = [self.enqueue(client, "q", {"n": n})["job_id"] for n in range(50)]
        before = server.status()
        server.stop()
        server.start()
        after = server.status()
        self.assertEqual(after["state_hash"], before["state_hash"])
        client = self.client(server)
        held = self.fetch(client, "q", lease_duration=60)
        server.stop()
        server.start()
        client = self.client(server)
        active = self.job(client, held["job_id"])
        self.assertEqual(active["state"], "active")
        # Time in which nobody could be told of a heartbeat does not end a lease.
        self.assertGreater(active["lease_expires_at"], held["lease_expires_at"])
        answer = client.post(f"{API}/ack/{held['job_id']}", {"lease_id": held["lease_id"]})
        self.assertEqual(answer.status, 200)
        self.assertEqual([self.job(client, job)["payload"]["n"] for job in jobs], list(range(50)))
