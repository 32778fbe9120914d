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
        self.run_cli("work", "bad name!", "--", "true", code=2)

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

    def test_sigterm_lets_the_command_finish(self):
        job_id = self.enqueue()
        later = self.queue + ".later"
        worker = self.start(self.queue, later, "--", "sh", "-c", "echo $$ > finishing.pid; sleep 1")
        self.pid_of("finishing.pid")
        worker.send_signal(signal.SIGTERM)
        left = self.enqueue(later)
        self.assertEqual(worker.wait(20), 0)
        self.assertEqual((self.state(job_id), self.state(left)), ("completed", "pending"))

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
