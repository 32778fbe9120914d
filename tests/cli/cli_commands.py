"""Each command, with good and bad input."""

import json
import os
import re
import subprocess
import threading
import time

from cli_support import Cli, Options, Server, free_port

NOBODY = "job_01AAAAAAAAAAAAAAAAAAAAAAAA"


class Jobs(Cli):
    def test_enqueue(self):
        job_id = self.enqueue(self.queue, {"n": 9007199254740993}, "--priority", "-3", "--tag", "tenant=acme",
                              "--tag", "tier:=2", "--max-retries", "7")
        self.assertRegex(job_id, r"^job_[0-9A-Z]{26}$")
        job = self.json("inspect", job_id)
        self.assertEqual(job["tags"], {"tenant": "acme", "tier": 2})
        self.assertEqual((job["priority"], job["max_retries"]), (-3, 7))
        self.assertIn("9007199254740993", self.out("inspect", job_id))

    def test_enqueue_from_elsewhere(self):
        job_id = self.out("enqueue", self.queue, "-", stdin='{"from": "stdin"}').strip()
        self.assertEqual(self.json("inspect", job_id)["payload"], {"from": "stdin"})
        with open(os.path.join(self.folder, "p.json"), "w", encoding="utf-8") as out:
            out.write("[1, 2]\n")
        job_id = self.out("enqueue", self.queue, "@p.json").strip()
        self.assertEqual(self.json("inspect", job_id)["payload"], [1, 2])
        self.assertEqual(self.json("inspect", self.out("enqueue", self.queue, "[1,2]").strip())["payload"], [1, 2])
        done = self.run_cli("enqueue", self.queue, "--lines", stdin='{"n":1}\n\n{"n":2}\n')
        self.assertEqual(len(done.stdout.split()), 2)
        self.assertIn("2 jobs enqueued", done.stderr)
        self.run_cli("enqueue", self.queue, "--lines", stdin='{"n":1}\nnonsense\n', code=2)

    def test_lines_that_are_there_already(self):
        done = self.run_cli("enqueue", self.queue, "--lines", "--unique-key", "k", stdin="1\n2\n3\n")
        self.assertEqual(len(set(done.stdout.split())), 1)
        self.assertIn("1 job enqueued, 2 were there already", done.stderr)
        rows = self.lines("enqueue", self.queue, "--lines", "--unique-key", "other", stdin="1\n2\n")
        self.assertEqual([row["unique_existing"] for row in rows], [False, True])
        self.assertEqual(rows[1]["status"], "duplicate")

    def test_plain_numbers_are_seconds(self):
        job_id = self.enqueue(self.queue, {}, "--delay", "600", "--lease", "90")
        self.assertEqual(self.state(job_id), "scheduled")
        self.run_cli("limit", self.queue, "--keep-dead", "0", "--lease", "90", "--throttle", "5/60")
        self.assertEqual(self.json("queue", self.queue)["lease"]["duration"], 90)
        self.run_cli("enqueue", self.queue, "{}", "--delay", "5 minutes", code=2)

    def test_enqueue_later_and_unique(self):
        answer = self.json("enqueue", self.queue, "{}", "--delay", "10m", "--unique-key", "k")
        self.assertEqual(answer["status"], "scheduled")
        again = self.run_cli("enqueue", self.queue, "{}", "--unique-key", "k")
        self.assertEqual(again.stdout.strip(), answer["job_id"])
        self.assertIn("unique key", again.stderr)
        at = subprocess.run(["date", "-d", "1 hour", "-Iseconds"], capture_output=True, text=True, check=True,
                            env={"TZ": "Asia/Kolkata", "PATH": os.environ["PATH"]}).stdout.strip()
        self.assertIn("+05:30", at)
        self.assertEqual(self.json("enqueue", self.queue, "{}", "--at", at)["status"], "scheduled")

    def test_enqueue_refusals(self):
        done = self.run_cli("enqueue", self.queue, "{to: me}", code=2)
        self.assertIn("not JSON", done.stderr)
        self.assertIn("Quote it", done.stderr)
        self.assertIn("[", self.run_cli("enqueue", "bad name!", "{}", code=2).stderr)
        self.assertIn("is not a time", self.run_cli("enqueue", "q", "{}", "--at", "noon", code=2).stderr)
        self.run_cli("enqueue", code=2)
        self.run_cli("enqueue", self.queue, "{}", "--tag", "nonsense", code=2)
        done = self.run_cli("enqueue", self.queue, "{}", "--set", "max_retrys=3", code=2)
        self.assertIn("max_retries", done.stderr)

    def test_unknown_job(self):
        for words in (["inspect"], ["retry"], ["cancel"], ["delete"], ["why"], ["requeue"], ["logs"]):
            self.assertIn("[not_found]", self.run_cli(*words, NOBODY, code=4).stderr)
        self.run_cli("move", NOBODY, "elsewhere", code=4)

    def test_life_by_hand(self):
        job_id = self.enqueue()
        self.run_cli("retry", job_id, code=5)
        self.assertEqual(self.out("priority", job_id, "critical"), "priority critical\n")
        self.assertEqual(self.out("move", job_id, self.queue + ".b"), f"moved to {self.queue}.b\n")
        self.assertEqual(self.json("inspect", job_id)["queue"], self.queue + ".b")
        self.assertEqual(self.out("cancel", job_id), "cancelled\n")
        self.run_cli("cancel", job_id, code=5)
        self.assertEqual(self.out("retry", job_id, "--payload", '{"new":1}'), "pending\n")
        self.assertEqual(self.json("inspect", job_id)["payload"], {"new": 1})
        self.assertEqual(self.out("delete", job_id), "deleted\n")
        self.run_cli("inspect", job_id, code=4)

    def test_inspect_shows_errors_and_why(self):
        job_id = self.make_dead(self.queue, {"to": "x"}, "SMTP timeout")
        text = self.out("inspect", job_id)
        self.assertRegex(text, r"state +dead")
        self.assertIn("exit code 1: SMTP timeout", text)
        self.assertIn('"to": "x"', text)
        self.assertEqual(self.out("requeue", job_id), "pending\n")
        self.run_cli("pause", self.queue)
        self.assertIn("paused", self.out("why", job_id))

    def test_logs(self):
        job_id = self.enqueue()
        follower = subprocess.Popen([Options.binary, "logs", "-f", job_id], stdout=subprocess.PIPE, text=True,
                                    stderr=subprocess.PIPE, env=self.environment)
        self.addCleanup(follower.wait)
        self.run_cli("work", self.queue, "--once", "--quiet", "--logs", "--", "sh", "-c", "echo one; echo two >&2")
        said, notes = follower.communicate(timeout=20)
        self.assertIn("one", said)
        self.assertIn("two", said)
        self.assertIn("completed", notes)
        lines = self.lines("logs", job_id)
        self.assertEqual(sorted(line["message"] for line in lines), ["one", "two"])
        self.assertEqual(len(self.lines("logs", job_id, "--tail", "1")), 1)


class Queues(Cli):
    def test_list_and_show(self):
        self.assertIn("no queue matches nothing.*", self.run_cli("queues", "nothing.*").stderr)
        self.assertIn("no worker matches nobody", self.run_cli("workers", "nobody").stderr)
        self.enqueue()
        self.assertRegex(self.out("queues"), rf"(?m)^QUEUE +PENDING.*\n(.*\n)*{re.escape(self.queue)} +1 ")
        row = [q for q in self.lines("queues") if q["name"] == self.queue][0]
        self.assertEqual(row["pending"], 1)
        self.assertEqual(self.json("queue", self.queue)["name"], self.queue)
        self.run_cli("queue", "nowhere", code=4)

    def test_pause_resume(self):
        self.enqueue()
        self.assertEqual(self.out("pause", self.queue), "paused\n")
        self.assertRegex(self.out("queues", self.queue), "paused")
        self.assertEqual(self.out("resume", self.queue), "resumed\n")
        self.run_cli("pause", code=2)

    def test_clear_and_destroy(self):
        for _ in range(3):
            self.enqueue()
        self.assertEqual(self.out("clear", self.queue, "--dry-run"), "3 jobs would be deleted\n")
        self.assertEqual(self.out("clear", self.queue), "3 jobs deleted\n")
        self.enqueue()
        done = self.run_cli("destroy", self.queue, code=2)
        self.assertIn("--confirm", done.stderr)
        self.assertEqual(self.json("queue", self.queue)["pending"], 1)
        self.assertEqual(self.out("destroy", self.queue, "--confirm"), "destroyed\n")
        self.wait_for(lambda: self.queue not in self.out("queues"), "the queue to go")

    def test_drain_waits(self):
        job_id = self.enqueue()
        worker = subprocess.Popen([Options.binary, "work", self.queue, "--max-jobs", "1", "--", "sleep", "1"],
                                  env=self.environment, stdout=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.wait_for(lambda: self.state(job_id) == "active", "the claim")
        self.run_cli("drain", self.queue, "--wait", "100ms", code=1)
        self.assertEqual(self.out("drain", self.queue), "drained\n")
        self.assertEqual(self.state(job_id), "completed")
        self.assertTrue(self.json("queue", self.queue)["paused"])

    def test_limits(self):
        self.run_cli("limit", self.queue, code=2)
        self.run_cli("limit", self.queue, "--concurrency", "3", "--throttle", "100/1m", "--lease", "2m",
                     "--keep-completed", "1d", "--fairness", "group")
        queue = self.json("queue", self.queue)
        self.assertEqual(queue["limits"]["concurrency"], {"max": 3})
        self.assertEqual(queue["limits"]["throttle"], {"rate": 100, "period": "1m"})
        self.assertEqual((queue["lease"]["duration"], queue["fairness"]), (120, "group"))
        said = self.out("limit", self.queue, "--concurrency", "none", "--throttle", "none", "--lease", "none")
        self.assertEqual(said, "concurrency removed\nthrottle removed\nlease removed\n")
        queue = self.json("queue", self.queue)
        self.assertIsNone(queue["limits"]["concurrency"])
        self.assertEqual(queue["lease"]["duration"], 60)
        self.run_cli("limit", self.queue, "--concurrency", "many", code=2)

    def test_limits_all_or_none(self):
        """Everything is looked at before anything changes; what only the server refuses is told."""
        self.enqueue()
        for flag, value in (("--throttle", "100"), ("--throttle", "x/1m"), ("--throttle", "5/soon"), ("--lease", "soon"),
                            ("--keep-dead", "long"), ("--fairness", "none")):
            done = self.run_cli("limit", self.queue, "--concurrency", "3", flag, value, code=2)
            self.assertEqual(done.stdout, "")
            self.assertIn(flag, done.stderr)
        self.assertIsNone(self.json("queue", self.queue)["limits"]["concurrency"])
        done = self.run_cli("limit", self.queue, "--concurrency", "3", "--lease", "0", "--fairness", "group", code=7)
        self.assertEqual(done.stdout, "concurrency set\n")
        self.assertIn("lease was not changed, nor what follows it; changed before: concurrency", done.stderr)
        queue = self.json("queue", self.queue)
        self.assertEqual((queue["limits"]["concurrency"], queue["fairness"]), ({"max": 3}, "priority"))


class Watching(Cli):
    def test_status_and_cluster(self):
        self.enqueue()
        self.assertRegex(self.out("status"), r"server +leader, 1 node")
        self.assertEqual(self.json("status")["cluster"]["role"], "leader")
        self.assertRegex(self.out("cluster", "status"), r"(?m)^NODE +ROLE +ADDRESS +STATE +LOG +LAG +ROUND TRIP\n\S+ \* +leader ")
        self.run_cli("cluster", code=2)

    def test_workers_errors_stats(self):
        self.make_dead(self.queue, error="boom 17")
        self.assertIn("boom", self.out("errors"))
        self.assertEqual(self.lines("errors", "--queue", self.queue)[0]["count"], 1)
        self.assertRegex(self.out("stats", self.queue), r"failed +1 ")
        self.assertGreaterEqual(sum(self.json("stats", "--since", "5m")["failed"]), 1)
        self.run_cli("stats", "--since", "whenever", code=2)
        worker = subprocess.Popen([Options.binary, "work", "idle.queue", "--worker-id", "w-1", "--", "true"],
                                  env=self.environment)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)
        self.wait_for(lambda: "w-1" in self.out("workers"), "the worker")
        self.assertEqual([w["id"] for w in self.lines("workers", "w-*")], ["w-1"])

    def test_events(self):
        got = {}

        def watch():
            got["lines"] = self.lines("events", "--queue", self.queue, "--count", "2")

        watcher = threading.Thread(target=watch)
        watcher.start()
        while watcher.is_alive():  # until it listens
            self.enqueue()
            time.sleep(0.1)
        watcher.join()
        self.assertEqual({e["type"] for e in got["lines"]}, {"enqueued"})
        self.run_cli("events", "--types", "nonsense", "--count", "1", code=2)

    def test_events_go_on_after_a_restart(self):
        port = free_port()
        url = ["--url", f"http://127.0.0.1:{port}"]
        server = Server(Options.binary, os.path.join(self.folder, "restarted"), port=port).start()
        self.addCleanup(server.close)
        path = os.path.join(self.folder, "events.ndjson")
        with open(path, "w", encoding="utf-8") as out:
            watcher = subprocess.Popen([Options.binary, "events", "--types", "enqueued", "--output", "json", *url],
                                       stdout=out, env=self.environment)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.kill)

        def one_more():
            before = os.path.getsize(path)
            self.out("enqueue", self.queue, "{}", *url)
            time.sleep(0.1)
            return os.path.getsize(path) > before
        self.wait_for(one_more, "the first event")
        server.stop()
        time.sleep(3)
        self.assertIsNone(watcher.poll())
        server.start()
        self.wait_for(one_more, "an event after the restart")

    def test_bench(self):
        result = self.json("bench", "--jobs", "300", "--producers", "2", "--workers", "2")
        self.assertEqual((result["jobs"], result["completed"]), (300, 300))
        self.assertGreater(result["enqueue_us"]["p99"], 0)
        self.assertRegex(self.out("bench", "--jobs", "50", "--batch", "10"), r"fetch\+ack +[\d.,]+/s +p50 ")
        self.assertNotIn("bench.", self.out("queues"))
        self.run_cli("bench", "--jobs", "0", code=2)
        short = [self.json("bench", "--jobs", "1", "--workers", "0") for _ in range(5)]
        self.assertLess(min(run["seconds"] for run in short), 0.1)
        for run in short:
            self.assertAlmostEqual(run["enqueued_per_second"] * run["seconds"], 1, delta=0.5)


class Plans(Cli):
    def test_schedules(self):
        made = self.json("schedules", "create", "daily", "--queue", self.queue, "--cron", "0 9 * * *", "--timezone",
                         "America/New_York", "--payload", '{"a":1}', "--paused")
        self.assertEqual((made["timezone"], made["next_runs"]), ("America/New_York", []))
        self.run_cli("schedules", "create", "daily", "--queue", self.queue, "--cron", "0 9 * * *", code=5)
        self.run_cli("schedules", "create", "bad", "--queue", self.queue, "--cron", "nonsense", code=2)
        self.assertRegex(self.out("schedules"), r"daily +0 9 \* \* \* +America/New_York")
        changed = self.json("schedules", "update", "daily", "--cron", "0 10 * * *")
        self.assertEqual((changed["cron"], changed["payload"], changed["paused"]), ("0 10 * * *", {"a": 1}, True))
        self.assertEqual(self.out("schedules", "resume", made["id"]), "resumed\n")
        self.assertEqual(len(self.json("schedules", "show", "daily")["next_runs"]), 5)
        job_id = self.out("schedules", "run", "daily").strip()
        self.assertEqual(self.json("inspect", job_id)["schedule_id"], made["id"])
        self.assertEqual(len(self.lines("schedules", "preview", "daily", "--count", "3")), 3)
        self.assertIn("skipped", self.out("schedules", "preview", "--cron", "30 2 * 3 *", "--timezone",
                                          "America/New_York", "--count", "100"))
        self.assertEqual(self.out("schedules", "pause", "daily"), "paused\n")
        self.assertEqual(self.lines("schedules", "list")[0]["name"], "daily")
        self.assertEqual(self.out("schedules", "delete", "daily"), "deleted\n")
        self.run_cli("schedules", "show", "daily", code=4)

    def test_groups_and_batches(self):
        self.enqueue(self.queue, {}, "--group", "acme")
        self.assertRegex(self.out("groups"), r"acme +1 ")
        self.assertEqual(self.out("groups", "pause", "acme"), "paused\n")
        self.assertTrue(self.lines("groups")[0]["paused"])
        self.run_cli("groups", "resume", "acme")
        self.assertEqual(self.out("groups", "cancel", "acme"), "1 job\n")
        body = {"jobs": [{"queue": self.queue}], "batch": {"callback_queue": "done"}}
        made = json.loads(self.shell(f"curl -s -H content-type:application/json $JOBBIE_URL/api/v1/enqueue/batch "
                                     f"-d '{json.dumps(body)}'"))
        self.assertIn(made["batch_id"], self.out("batches"))
        self.assertEqual(self.json("batches", "show", made["batch_id"])["total"], 1)
        self.run_cli("batches", "show", "batch_01AAAAAAAAAAAAAAAAAAAAAAAA", code=4)
