"""Nodes whose wall clocks differ, by hours and by days: only the leader's log time counts."""

import datetime
import os
import pathlib
import shutil
import tempfile

from case import ClusterTest, Options
from cluster import API, one_call

from server import Server  # of tests/crash, whose path cluster.py has added
from wrong_clock import WrongClock

HOUR_S, DAY_S = 3600, 86400


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Clocks(ClusterTest):
    def apart(self):
        """A cluster of which one follower is an hour and a day ahead, the other as much behind; leader first."""
        cluster = self.cluster(clocks=(0, 1, 2))
        leader, (ahead, behind) = cluster.leader(), cluster.followers()
        ahead.set_clock(DAY_S + HOUR_S)
        behind.set_clock(-DAY_S - HOUR_S)
        return leader, ahead, behind

    def test_a_delay_is_the_same_through_every_node(self):
        nodes = self.apart()
        for node in nodes:
            ids = [self.enqueue(node, delay="5s")]
            answer = node.call("POST", "/enqueue/batch", {"jobs": [{"queue": "q", "delay": 5}]})
            self.assertEqual(answer.status, 201, answer.body)
            for job_id in ids + answer.json["job_ids"]:
                job = self.job(nodes[0], job_id, strong=True)
                self.assertAlmostEqual(seconds_of(job["scheduled_at"]) - seconds_of(job["created_at"]), 5.0, 3)
                self.assertEqual(job["state"], "scheduled")

    def test_what_is_told_of_now_is_the_logs(self):
        """Ages, previews and the runs of a new schedule, whichever node is asked."""
        nodes = self.apart()
        self.enqueue(nodes[0])
        answer = nodes[1].call("POST", "/schedules", {"name": "s", "cron": "0 * * * *", "queue": "cron",
                                                      "timezone": "America/New_York"})
        self.assertEqual(answer.status, 201, answer.body)
        for node in nodes:
            now = seconds_of(nodes[0].status()["now"])
            self.assertAlmostEqual(seconds_of(node.status()["now"]), now, delta=5.0)
            shown = node.call("GET", f"/schedules/{answer.json['id']}?consistency=strong").json["next_runs"]
            told = node.call("POST", "/schedules/preview", {"cron": "0 * * * *", "count": 1}).json["runs"]
            kept = node.call("GET", f"/schedules/{answer.json['id']}/preview?count=1").json["runs"]
            for run in (shown[0], told[0]["at"], kept[0]["at"]):
                self.assertLess(abs(seconds_of(run) - now), HOUR_S + 5.0, node.name)
            queue = node.call("GET", "/queues/q").json
            self.assertLess(queue["oldest_pending_age_ms"], 60_000, node.name)
        for node, off in zip(nodes, (0, 1, -1)):
            self.assertAlmostEqual(node.status()["clock_offset_ms"] / 1000, off * (DAY_S + HOUR_S), delta=5.0)

    def test_all_start_again_with_a_wrong_clock(self):
        """The machine ran on, so it is known how much time has passed: nothing expires, nothing is swept."""
        cluster = self.cluster(clocks=(0, 1, 2))
        node = cluster.nodes[0]
        job = self.enqueue(node, expire_after="1d")
        self.enqueue(node, queue="held", max_retries=5)
        held = self.fetch(node, queue="held", lease_duration=30)
        before = seconds_of(cluster.leader().status()["now"])
        for each in cluster.nodes:
            each.kill()
            each.set_clock(400 * DAY_S)
        cluster.start()
        status = cluster.leader().status()
        self.assertLess(seconds_of(status["now"]) - before, HOUR_S)
        self.assertGreater(status["clock_offset_ms"], 399 * DAY_S * 1000)
        self.assertEqual(self.job(cluster.nodes[1], job, strong=True)["state"], "pending")
        self.ack(cluster.nodes[2], held)
        cluster.wait(lambda: self.logged(cluster.leader(), "clock_is_off"), message="the journal tells of it")


    def test_one_wrong_clock_after_a_power_cut(self):
        """All machines were off, and the one that leads first has a wrong clock: those of the others count."""
        cluster = self.cluster(clocks=(0, 1, 2))
        wrong = cluster.nodes[0]
        job = self.enqueue(wrong, expire_after="1d")
        self.enqueue(wrong, queue="held", max_retries=5)
        held = self.fetch(wrong, queue="held", lease_duration=30)
        before = seconds_of(cluster.leader().status()["now"])
        for node in cluster.nodes:
            node.kill()
            # As if it were of another run of the machine.
            pathlib.Path(node.data_dir, "alive").unlink(missing_ok=True)
            node.more = ["--election-timeout", "3s"]
        wrong.more = ["--election-timeout", "300ms"]
        wrong.set_clock(400 * DAY_S)
        cluster.start()
        self.assertIs(cluster.leader(), wrong)
        self.assertLess(seconds_of(wrong.status()["now"]) - before, HOUR_S)
        self.assertEqual(self.job(cluster.nodes[1], job, strong=True)["state"], "pending")
        self.ack(cluster.nodes[2], held)


class FarAhead(ClusterTest):
    """One server that was started with a clock 400 days ahead, on a machine that nobody knew before."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="jobbie-clock-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.clock = WrongClock(self.folder, "server")
        self.server = self.serve("data")

    def serve(self, name):
        server = Server(Options.binary, os.path.join(self.folder, name), prefix=self.clock.prefix())
        self.addCleanup(server.close)
        return server

    def call(self, method, path, body=None, status=(200, 201)):
        answer = one_call(self.server.port, method, API + path, body, 20)
        self.assertIn(answer.status, status, answer.body)
        return answer.json

    def ahead(self):
        """By how much log time is, in seconds."""
        return -self.call("GET", "/cluster/status")["clock_offset_ms"] / 1000

    def fill(self):
        """Something of everything that has a time."""
        call = self.call
        call("POST", "/queues/slow/throttle", {"rate": 1, "period": "1h"})
        call("POST", "/schedules", {"name": "hourly", "cron": "0 * * * *", "queue": "cron"})
        ids = {name: call("POST", "/enqueue", dict({"queue": name, "payload": {}}, **more))["job_id"]
               for name, more in {"held": {"max_retries": 5}, "later": {"delay": "10m"}, "mortal": {"expire_after": "1h"},
                                  "once": {"unique_key": "k", "unique_period": "1h"}, "slow": {}, "done": {},
                                  "failing": {"retry_base_delay": "10m", "max_retries": 5}}.items()}
        call("POST", "/enqueue", {"queue": "slow", "payload": {}})
        leases = {name: call("POST", "/fetch", {"queues": [name], "worker_id": "w", "lease_duration": 600})
                  for name in ("held", "slow", "done", "failing")}
        call("POST", f"/ack/{ids['done']}", {"lease_id": leases["done"]["lease_id"]})
        call("POST", f"/fail/{ids['failing']}", {"lease_id": leases["failing"]["lease_id"], "error": "e"})
        return ids, leases

    def test_log_time_is_turned_back(self):
        self.clock.set(400 * DAY_S)
        self.server.start()
        ids, leases = self.fill()
        self.clock.set(0)
        self.assertGreater(self.ahead(), 399 * DAY_S)
        self.server.stop()
        source = os.path.join(self.server.data_dir, "jobbie.db")
        self.server = self.serve("turned")
        done = self.run_program("restore", source, "--data-dir", self.server.data_dir, "--reset-clock")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the log's time was", done.stdout)
        self.assertEqual(self.server.check_database()[0], 0, self.server.check_database()[1])
        self.server.start()
        self.assertLess(self.ahead(), 61)
        self.check(ids, leases)
        self.server.stop()
        self.assertEqual(self.server.check_database()[0], 0, self.server.check_database()[1])

    def check(self, ids, leases):
        now = seconds_of(self.call("GET", "/cluster/status")["now"])
        jobs = {name: self.call("GET", f"/jobs/{job_id}") for name, job_id in ids.items()}
        self.assertEqual({name: job["state"] for name, job in jobs.items()},
                         {"held": "active", "later": "scheduled", "mortal": "pending", "once": "pending",
                          "slow": "active", "done": "completed", "failing": "retrying"})
        for name, field, most in (("held", "lease_expires_at", 600), ("later", "scheduled_at", 600),
                                  ("failing", "next_attempt_at", 600), ("mortal", "expire_at", 3600)):
            left = seconds_of(jobs[name][field]) - now
            self.assertTrue(most - 90 < left <= most, f"{name} has {left} s left")
        self.assertLess(abs(seconds_of(jobs["done"]["completed_at"]) - now), 90)
        run = seconds_of(self.call("GET", "/schedules")["schedules"][0]["next_run"])
        self.assertEqual((run % HOUR_S, run - now <= HOUR_S), (0, True))
        self.call("POST", "/fetch", {"queues": ["slow"], "worker_id": "w"}, status=(204,))
        again = self.call("POST", "/enqueue", {"queue": "once", "payload": {}, "unique_key": "k"})
        self.assertEqual(again["job_id"], ids["once"])
        self.call("POST", f"/ack/{ids['held']}", {"lease_id": leases["held"]["lease_id"]})

    def test_leases_and_delays_keep_their_length(self):
        """More than a day ahead, log time is not slowed down."""
        self.clock.set(2 * DAY_S)
        self.server.start()
        self.clock.set(0)
        before = self.ahead()
        job = self.call("POST", "/enqueue", {"queue": "q", "payload": {}, "delay": 2})["job_id"]
        found = self.call("POST", "/fetch", {"queues": ["q"], "worker_id": "w", "timeout": 10})
        self.assertEqual(found["job_id"], job)
        self.assertAlmostEqual(self.ahead(), before, delta=0.5)
