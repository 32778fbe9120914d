"""`jobbie work` as a good worker, the C++ example, and `jobbie dev`."""

import json
import os
import signal
import subprocess
import time
import urllib.request

from cli_support import Cli, Options, Server, free_port


class Work(Cli):
    def start(self, *words, **more):
        process = subprocess.Popen([Options.binary, "work", *words], env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def active(self, job_id):
        self.wait_for(lambda: self.state(job_id) == "active", "the claim")

    def pid_of(self, name):
        """The process that a command wrote its id for."""
        path = os.path.join(self.folder, name)
        self.wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 0, "the command")
        with open(path, encoding="utf-8") as file:
            return int(file.read())

    def gone(self, pid):
        def check():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                    return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
            except OSError:
                return True
        self.wait_for(check, f"the end of process {pid}")

    def test_payload_environment_and_result(self):
        job_id = self.enqueue(self.queue, {"a": [1, "$(date) `id` ;"]})
        self.run_cli("work", self.queue, "--once", "--result", "--quiet", "--", "python3", "-c",
                     "import sys,os,json; print(json.dumps([sys.stdin.read(), sys.argv[1], os.environ['JOBBIE_JOB_ID'],"
                     "os.environ['JOBBIE_ATTEMPT']]))", "x{}y")
        result = self.json("inspect", job_id)["result"]
        self.assertEqual(json.loads(result[0]), {"a": [1, "$(date) `id` ;"]})
        self.assertEqual(result[1], "x" + result[0] + "y")
        self.assertEqual(result[2:], [job_id, "1"])

    def test_a_failed_attempt_is_told(self):
        job_id = self.enqueue()
        self.run_cli("work", self.queue, "--once", "--quiet", "--", "false")
        told = self.out("inspect", job_id)
        for line in ("enqueued", "started", "failed: exit code 1", "retry scheduled: in 5s"):
            self.assertIn(f"  {line}\n", told)

    def test_large_results(self):
        """All of it, or a failure that says why: never a part."""
        job_id = self.enqueue()
        self.run_cli("work", self.queue, "--once", "--result", "--quiet", "--", "python3", "-c",
                     "print('[' + '1,' * 200000 + '1]')")
        self.assertEqual(len(self.json("inspect", job_id)["result"]), 200001)
        for queue, flags, error in ((self.queue + ".own", [], "the result has more than 1048576 bytes"),
                                    (self.queue + ".server", ["--max-result", "2000000"], "the result was refused")):
            job_id = self.enqueue(queue)
            self.run_cli("work", queue, "--once", "--result", "--quiet", *flags, "--", "python3", "-c",
                         "print('x' * 1100000)")
            job = self.json("inspect", job_id)
            self.assertEqual((job["state"], job["attempt"]), ("dead", 1))
            self.assertIn(error, job["errors"][-1]["error"])

    def checkpoint(self, job_id, checkpoint):
        """One attempt that leaves it and fails; the next is due at once."""
        claim = self.post("fetch", {"queues": [self.queue], "worker_id": "first", "count": 1})["jobs"][0]
        lease = {"lease_id": claim["lease_id"]}
        beat = self.post("heartbeat", {"worker_id": "first", "jobs": {job_id: {**lease, "checkpoint": checkpoint}}})
        self.assertEqual(beat["jobs"][job_id]["status"], "ok")
        self.post("fail/" + job_id, {"worker_id": "first", "error": "later", "retry_in": "0s", **lease})

    def post(self, path, body):
        url = f"{self.environment['JOBBIE_URL']}/api/v1/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def test_checkpoint(self):
        """One that is too large for the environment is in the file, as every other."""
        command = ["python3", "-c", "import os, json, stat; path = os.environ['JOBBIE_CHECKPOINT_FILE']; print(json.dumps("
                   "[os.environ['JOBBIE_CHECKPOINT'], path, path and open(path).read(),"
                   " path and oct(os.stat(path).st_mode & 0o777)]))"]
        flags = ["--once", "--result", "--quiet", "--"]
        job_id = self.enqueue()
        self.run_cli("work", self.queue, *flags, *command)
        self.assertEqual(self.json("inspect", job_id)["result"], ["null", "", "", ""])
        for checkpoint, fits in (({"at": 7}, True), ({"at": "x" * 300000}, False)):
            job_id = self.enqueue()
            self.checkpoint(job_id, checkpoint)
            self.run_cli("work", self.queue, *flags, *command, JOBBIE_CHECKPOINT="of somebody else")
            job = self.json("inspect", job_id)
            self.assertEqual(job["state"], "completed", job["errors"])
            variable, path, text, mode = job["result"]
            self.assertEqual(json.loads(variable) if fits else variable, checkpoint if fits else "")
            self.assertEqual((json.loads(text), mode), (checkpoint, "0o600"))
            self.assertFalse(os.path.exists(path))
        for checkpoint, state in (({"at": 7}, "completed"), ("x" * 300000, "retrying")):
            job_id = self.enqueue()
            self.checkpoint(job_id, checkpoint)
            self.run_cli("work", self.queue, "--max-jobs", "1", "--", "true", TMPDIR="/nowhere")
            self.assertEqual(self.state(job_id), state)

    def test_payload_too_large_for_an_argument(self):
        job_id = self.enqueue(self.queue)
        large = self.out("enqueue", self.queue + ".large", "-", stdin=json.dumps("x" * 200000)).strip()
        self.run_cli("work", self.queue, self.queue + ".large", "--once", "--quiet", "--", "true", "{}")
        self.assertEqual(self.state(job_id), "completed")
        self.assertIn("too long for an argument; it is on standard input",
                      self.json("inspect", large)["errors"][-1]["error"])

    def test_logs(self):
        """Line by line, empty ones too; what is longer than the log takes is several lines, and nothing is lost."""
        job_id = self.enqueue()
        text = "aé€😀" * 2000
        self.run_cli("work", self.queue, "--once", "--quiet", "--logs", "--", "python3", "-c",
                     "import sys; sys.stdout.reconfigure(encoding='utf-8'); text = 'aé€😀' * 2000; "
                     "print('one\\n\\n' + text + '\\nthree')")
        lines = [line["message"] for line in self.lines("logs", job_id)]
        self.assertEqual((lines[:2], lines[-1]), (["one", ""], "three"))
        self.assertEqual("".join(lines[2:-1]), text)
        self.assertEqual(len(lines[2:-1]), 3)

    def test_logs_of_a_line_that_does_not_end(self):
        job_id = self.enqueue()
        self.run_cli("work", self.queue, "--once", "--quiet", "--logs", "--", "python3", "-c",
                     "import sys; sys.stdout.reconfigure(encoding='utf-8'); print('€' * 50001); print('end')")
        lines = [line["message"] for line in self.lines("logs", job_id)]
        self.assertEqual(("".join(lines[:-1]), lines[-1]), ("€" * 50001, "end"))
        self.assertNotIn("", lines)
        other = self.enqueue(self.queue + ".bytes")
        self.run_cli("work", self.queue + ".bytes", "--once", "--quiet", "--logs", "--", "sh", "-c",
                     "head -c 9000 /dev/zero | tr '\\0' '\\377'")
        self.assertEqual("".join(line["message"] for line in self.lines("logs", other)), "\ufffd" * 9000)

    def test_exit_codes(self):
        for command, state, error in ((["true"], "completed", None), (["false"], "retrying", "exit code 1"),
                                      (["sh", "-c", "echo no >&2; exit 65"], "dead", "exit code 65: no"),
                                      (["sh", "-c", "kill -9 $$"], "retrying", "killed by signal 9")):
            queue = f"{self.queue}.{'.'.join(command)[:5]}{state}"
            job_id = self.enqueue(queue)
            self.run_cli("work", queue, "--max-jobs", "1", "--quiet", "--", *command)
            job = self.json("inspect", job_id)
            self.assertEqual(job["state"], state, command)
            if error:
                self.assertIn(error, job["errors"][-1]["error"])

    def test_refusals(self):
        self.run_cli("work", self.queue, code=2)
        self.assertIn("no program", self.run_cli("work", self.queue, "--", "no-such-program", code=2).stderr)
        self.assertIn("no program", self.run_cli("work", self.queue, "--", "/tmp", code=2).stderr)
        self.run_cli("work", "bad name!", "--", "true", code=2)
        self.run_cli("work", self.queue, "--drain", "soon", "--", "true", code=2)

    def test_once_without_a_server(self):
        done = self.run_cli("work", self.queue, "--once", "--url", f"http://127.0.0.1:{free_port()}", "--", "true",
                            code=3)
        self.assertIn("no server at", done.stderr)

    def test_plain_numbers_are_seconds(self):
        job_id = self.enqueue()
        self.run_cli("work", self.queue, "--once", "--lease", "5", "--drain", "1.5", "--kill-after", "0", "--timeout",
                     "10", "--", "true")
        self.assertEqual(self.state(job_id), "completed")

    def test_says_what_it_is(self):
        worker = self.start(self.queue, "--worker-id", "known-1", "-c", "3", "--", "true")
        self.wait_for(lambda: "known-1" in self.out("workers", "known-*"), "the worker")
        row = self.lines("workers", "known-*")[0]
        self.assertEqual(row["concurrency"], 3)
        self.assertGreater(row["cores"], 0)
        self.assertGreater(row["ram_mb"], 0)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(10), 0)

    def test_concurrency_and_output(self):
        for n in range(6):
            self.enqueue(self.queue, {"n": n})
        said = self.out("work", self.queue, "--once", "-c", "3", "--", "sh", "-c", "cat; echo")
        self.assertEqual(sorted(json.loads(line)["n"] for line in said.splitlines()), list(range(6)))

    def test_lease_is_kept_alive(self):
        job_id = self.enqueue()
        self.run_cli("work", self.queue, "--max-jobs", "1", "--lease", "600ms", "--", "sleep", "2")
        job = self.json("inspect", job_id)
        self.assertEqual((job["state"], job["attempt"], job["error_count"]), ("completed", 1, 0))

    def test_cancel_ends_the_command(self):
        job_id = self.enqueue()
        worker = self.start(self.queue, "--lease", "600ms", "--max-jobs", "1", "--", "sh", "-c",
                            "echo $$ > cancelled.pid; exec sleep 60")
        pid = self.pid_of("cancelled.pid")
        self.assertEqual(self.out("cancel", job_id), "cancelling\n")
        self.assertEqual(worker.wait(20), 0)
        self.gone(pid)
        self.assertEqual(self.state(job_id), "cancelled")

    def test_lost_lease_kills_the_group(self):
        job_id = self.enqueue()
        self.start(self.queue, "--lease", "600ms", "--", "sh", "-c",
                   "trap '' TERM; sleep 60 & echo $! > grandchild.pid; wait")
        pid = self.pid_of("grandchild.pid")
        self.run_cli("delete", job_id)
        self.gone(pid)

    def test_a_killed_worker_takes_the_command_along(self):
        self.enqueue()
        worker = self.start(self.queue, "--", "sh", "-c", "trap '' TERM HUP; echo $$ > orphan.pid; exec sleep 60")
        pid = self.pid_of("orphan.pid")
        worker.kill()
        self.gone(pid)

    def test_sigterm_lets_the_command_finish(self):
        job_id = self.enqueue()
        later = self.queue + ".later"
        worker = self.start(self.queue, later, "--", "sh", "-c", "echo $$ > finishing.pid; sleep 1")
        self.pid_of("finishing.pid")
        worker.send_signal(signal.SIGTERM)
        left = self.enqueue(later)
        self.assertEqual(worker.wait(20), 0)
        self.assertEqual((self.state(job_id), self.state(left)), ("completed", "pending"))

    def test_a_closed_terminal_is_like_sigterm(self):
        job_id = self.enqueue()
        worker = self.start(self.queue, "--", "sh", "-c", "echo $$ > hangup.pid; sleep 1")
        self.pid_of("hangup.pid")
        worker.send_signal(signal.SIGHUP)
        self.assertEqual(worker.wait(20), 0)
        self.assertEqual(self.state(job_id), "completed")

    def test_sigterm_gives_back_what_takes_too_long(self):
        job_id = self.enqueue()
        worker = self.start(self.queue, "--drain", "200ms", "--kill-after", "300ms", "--", "sh", "-c",
                            "trap '' TERM; echo $$ > stubborn.pid; while :; do sleep 1; done")
        pid = self.pid_of("stubborn.pid")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(20), 0)
        self.gone(pid)
        job = self.json("inspect", job_id)
        self.assertEqual((job["state"], job["errors"][-1]["error"]), ("retrying", "worker_shutdown"))

    def test_second_signal_is_hard(self):
        self.enqueue()
        worker = self.start(self.queue, "--", "sh", "-c", "trap '' TERM; echo $$ > hard.pid; while :; do sleep 1; done")
        pid = self.pid_of("hard.pid")
        worker.send_signal(signal.SIGTERM)
        self.wait_for(lambda: worker.poll() is None and self.signalled(worker), "the first signal")
        time.sleep(0.5)  # sooner it would count as the same
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(10), 130)
        self.gone(pid)

    def test_a_signal_that_comes_twice_is_one(self):
        """As timeout(1) sends it: to the process, then to its group."""
        job_id = self.enqueue()
        worker = self.start(self.queue, "--", "sh", "-c", "trap '' TERM; echo $$ > twice.pid; sleep 1")
        self.pid_of("twice.pid")
        worker.send_signal(signal.SIGTERM)
        self.wait_for(lambda: worker.poll() is None and self.signalled(worker), "the first signal")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(20), 0)
        self.assertEqual(self.state(job_id), "completed")

    def signalled(self, worker):
        """Whether the worker has taken the signal that was sent: none is pending any more."""
        with open(f"/proc/{worker.pid}/status", encoding="utf-8") as status:
            pending = [line.split()[1] for line in status if line.startswith(("SigPnd", "ShdPnd"))]
        return all(int(bits, 16) == 0 for bits in pending)

    def test_idle_worker_stops_at_once(self):
        worker = self.start(self.queue, "--worker-id", "idle-1", "--", "true")
        self.wait_for(lambda: "idle-1" in self.out("workers"), "the worker")
        worker.send_signal(signal.SIGINT)
        self.assertEqual(worker.wait(5), 0)
        self.assertNotIn("idle-1", self.out("workers"))

    def test_server_comes_back(self):
        port = free_port()
        worker = self.start(self.queue, "--url", f"http://127.0.0.1:{port}", "--max-jobs", "1", "--", "cat")
        server = Server(Options.binary, os.path.join(self.folder, "late"), port=port).start()
        self.addCleanup(server.close)
        self.out("enqueue", self.queue, '{"late":true}', "--url", f"http://127.0.0.1:{port}")
        said, _ = worker.communicate(timeout=30)
        self.assertEqual(json.loads(said), {"late": True})

    def test_outcome_outlasts_a_restart(self):
        """The server is away when the command ends, and for longer than one call is repeated."""
        port = free_port()
        url = ["--url", f"http://127.0.0.1:{port}"]
        server = Server(Options.binary, os.path.join(self.folder, "restarted"), port=port).start()
        self.addCleanup(server.close)
        job_id = self.out("enqueue", self.queue, "{}", *url).strip()
        worker = self.start(self.queue, *url, "--max-jobs", "1", "--lease", "60", "--", "sh", "-c",
                            "echo $$ > restart.pid; sleep 2")
        pid = self.pid_of("restart.pid")
        server.stop()
        self.gone(pid)
        time.sleep(12)
        self.assertIsNone(worker.poll())
        server.start()
        self.assertEqual(worker.wait(30), 0)
        job = self.json("inspect", job_id, *url)
        self.assertEqual((job["state"], job["attempt"]), ("completed", 1))

    def test_outcome_that_nobody_takes(self):
        port = free_port()
        url = ["--url", f"http://127.0.0.1:{port}"]
        server = Server(Options.binary, os.path.join(self.folder, "left"), port=port).start()
        self.addCleanup(server.close)
        self.out("enqueue", self.queue, "{}", *url)
        worker = self.start(self.queue, *url, "--max-jobs", "1", "--drain", "1", "--kill-after", "1", "--", "sh", "-c",
                            "echo $$ > untold.pid; sleep 1")
        pid = self.pid_of("untold.pid")
        server.stop()
        self.gone(pid)
        worker.send_signal(signal.SIGTERM)
        self.assertNotEqual(worker.wait(40), 0)


class Example(Cli):
    def test_worker(self):
        good = self.enqueue("greetings", {"name": "Ada"})
        bad = self.enqueue("greetings", {})
        worker = subprocess.Popen([Options.example], env=self.environment, stdout=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        self.wait_for(lambda: self.state(good) == "completed", "the greeting")
        self.assertEqual(self.json("inspect", good)["result"], {"greeting": "Hello, Ada!"})
        self.wait_for(lambda: self.state(bad) == "dead", "the refusal")
        self.assertIn("name", self.json("inspect", bad)["errors"][-1]["error"])
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(10), 0)


class Dev(Cli):
    def test_something_to_look_at(self):
        port = free_port()
        process = subprocess.Popen([Options.binary, "dev", "--http", f"127.0.0.1:{port}"], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        url = process.stdout.readline().strip()
        self.assertEqual(url, f"http://127.0.0.1:{port}")
        self.run_cli("dev", "--http", f"127.0.0.1:{port}", code=2)

        def lively():
            with urllib.request.urlopen(url + "/api/v1/queues") as answer:
                rows = json.load(answer)["queues"]
            return len(rows) >= 5 and sum(row["completed"] for row in rows) > 3
        self.wait_for(lively, "the demo workload", 30)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 0)
