"""Every node serves everything, and says so when it cannot."""

import os
import sys
import threading
import time

import network
from case import API, ClusterTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from e2e_watch import Stream  # noqa: E402
from e2e_webhooks import Receiver  # noqa: E402


class Serving(ClusterTest):
    def test_through_each_node(self):
        cluster = self.cluster()
        for writer in cluster.nodes:
            job_id = self.enqueue(writer)
            for reader in cluster.nodes:
                self.assertEqual(self.job(reader, job_id, strong=True)["state"], "pending")
            taker = cluster.nodes[(cluster.nodes.index(writer) + 1) % 3]
            job = self.fetch(taker)
            self.assertEqual(job["job_id"], job_id)
            self.ack(writer, job)
            self.assertEqual(self.job(writer, job_id)["state"], "completed")
        self.assert_same_state(cluster)

    def test_long_polls(self):
        """Whoever waits gets the job at once, through whichever node it comes."""
        cluster = self.cluster()
        for waits in cluster.nodes:
            for sends in cluster.nodes:
                got = []
                thread = threading.Thread(
                    target=lambda node=waits: got.append((self.fetch(node, "poll", timeout=10), time.time())))
                thread.start()
                time.sleep(0.15)
                sent = time.time()
                job_id = self.enqueue(sends, "poll")
                thread.join(15)
                job, at = got[0]
                self.assertEqual(job["job_id"], job_id)
                self.assertLess(at - sent, 3.0)
                self.ack(waits, job)

    def test_own_writes_are_read(self):
        cluster = self.cluster()
        for node in cluster.nodes:
            client = node.client()
            for number in range(100):
                answer = client.post(f"{API}/enqueue", {"queue": "own", "payload": {"n": number}})
                found = client.get(f"{API}/jobs/{answer.json['job_id']}")
                self.assertEqual(found.status, 200, f"{node.name} does not see its own write {number}")
            client.close()

    def test_strong_reads(self):
        cluster = self.cluster()
        clients = [node.client() for node in cluster.nodes]
        for number in range(60):
            writer, reader = clients[number % 3], clients[(number + 1) % 3]
            answer = writer.post(f"{API}/enqueue", {"queue": "strong", "payload": {}})
            found = reader.get(f"{API}/jobs/{answer.json['job_id']}?consistency=strong")
            self.assertEqual(found.status, 200, f"read {number}")
        for client in clients:
            client.close()

    def test_keys(self):
        cluster = self.cluster(start=False, flags=["--auth"])
        secrets = "first:admin::0123456789abcdef0123456789\n"
        path = os.path.join(cluster.folder, "keys")
        with open(path, "w", encoding="utf-8") as out:
            out.write(secrets)
        os.chmod(path, 0o600)
        cluster.flags += ["--auth-keys-file", path]
        for node in cluster.nodes:
            node.spawn()
        admin = {"Authorization": "Bearer 0123456789abcdef0123456789"}
        for node in cluster.nodes:
            cluster.wait(lambda: node.is_ready() and
                         node.call("GET", "/queues?consistency=strong", headers=admin).status == 200)
        follower, other = cluster.nodes[1:]
        made = follower.call("POST", "/keys", {"name": "p", "scopes": ["produce"]}, headers=admin)
        self.assertEqual(made.status, 201, made.body)
        key = {"Authorization": f"Bearer {made.json['secret']}"}
        send = {"queue": "q", "payload": {}}
        for node in cluster.nodes:
            cluster.wait(lambda: node.call("POST", "/enqueue", send, headers=key).status == 201,
                         5, f"{node.name} takes the new key")
            self.assertEqual(node.call("POST", "/fetch", {"queues": ["q"]}, headers=key).status, 403)
            self.assertEqual(node.call("POST", "/enqueue", send).status, 401)
        gone = other.call("DELETE", f"/keys/{made.json['id']}", headers=admin)
        self.assertEqual(gone.status, 200, gone.body)
        for node in cluster.nodes:  # revoked is revoked, also where the news has not arrived: the leader judges
            self.assertEqual(node.call("POST", "/enqueue", send, headers=key).status, 401, node.name)

    def test_events_from_a_follower(self):
        cluster = self.cluster()
        leader, (follower, _) = cluster.leader(), cluster.followers()
        stream = Stream(follower.port, f"{API}/events?queue=seen")
        self.addCleanup(stream.close)
        job_id = self.enqueue(leader, "seen")
        job = self.fetch(leader, "seen")
        self.ack(leader, job)
        seen = [(kind, data["job_id"]) for _, kind, data in stream.take(3)]
        self.assertEqual(seen, [("enqueued", job_id), ("started", job_id), ("completed", job_id)])

    def test_webhooks_are_sent_once(self):
        """By the leader alone; only one that has just begun to lead may repeat what its predecessor sent."""
        cluster = self.cluster(flags=["--webhook-allow", "127.0.0.1"])
        term = cluster.leader().status()["term"]
        receiver = Receiver()
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        answer = cluster.followers()[0].call("POST", "/webhooks", {"url": f"http://127.0.0.1:{receiver.port}/",
                                                                   "events": ["completed"]})
        self.assertEqual(answer.status, 201, answer.body)
        for node in cluster.nodes:
            self.enqueue(node)
            self.ack(node, self.fetch(node))
        receiver.wait(3)
        time.sleep(1.0)
        sent = [headers["jobbie-delivery"] for _, headers, _ in receiver.seen]
        self.assertEqual(len(set(sent)), 3)
        if cluster.leader().status()["term"] == term:
            self.assertEqual(len(sent), 3)

    def test_a_minority_refuses(self):
        """No false success, no write that waits for ever, and reads go on."""
        cluster = self.cluster(namespaces=True)
        before = self.enqueue(cluster.nodes[0])
        leader, others = cluster.leader(), cluster.followers()
        cluster.agree()
        cluster.split([leader], others)
        began = time.time()
        answer = leader.call("POST", "/enqueue", {"queue": "lost", "payload": {}}, timeout=25)
        self.assertEqual(answer.status, 503, answer.body)
        self.assertIn(answer.code, ("no_leader", "outcome_unknown"))
        self.assertIsNotNone(answer.header("retry-after"), answer.head)
        self.assertLess(time.time() - began, 16)
        again = leader.call("POST", "/enqueue", {"queue": "lost", "payload": {}}, timeout=25)
        self.assertEqual((again.status, again.code), (503, "no_leader"))
        self.assertIsNotNone(again.header("retry-after"), again.head)
        self.assertIsNotNone(self.job(leader, before))
        self.assertEqual(leader.call("GET", f"/jobs/{before}?consistency=strong", timeout=20).status, 503)
        kept = self.enqueue(others[0])
        cluster.heal()
        cluster.wait_serving()
        self.assertIsNotNone(self.job(leader, kept, strong=True))
        if answer.code == "no_leader":
            self.assertIsNone(self.fetch(leader, "lost"), "refused, and there all the same")

    def test_what_may_be_done_is_not_called_undone(self):
        """The leader does it and its answer is lost: then nobody says that nothing was changed."""
        cluster = self.cluster(namespaces=True)
        leader, (cut_off, other) = cluster.leader(), cluster.followers()
        job, key = {"queue": "once", "payload": {}}, {"Idempotency-Key": "once"}
        cluster.cut(cut_off, other)
        cluster.cut_one_way(cut_off, leader)
        answer = cut_off.call("POST", "/enqueue", job, timeout=25, headers=key)
        self.assertEqual((answer.status, answer.code), (503, "outcome_unknown"), answer.body)
        done = leader.call("GET", "/jobs?queue=once").json["jobs"]
        self.assertEqual(len(done), 1)
        cluster.heal()
        cluster.wait_serving()
        again = cut_off.call("POST", "/enqueue", job, timeout=25, headers=key)
        self.assertEqual(again.json["job_id"], done[0]["id"], again.body)

    def test_a_leader_that_is_cut_off_writes_little(self):
        """What is due there stays due; it does not fill the log with reminders."""
        cluster = self.cluster(namespaces=True)
        leader, others = cluster.leader(), cluster.followers()
        self.enqueue(leader, "later", delay="1s")
        time.sleep(0.8)

        def written():
            return next(row["matched_index"] for row in leader.status()["nodes"] if row["self"])

        before = written()
        cluster.split([leader], others)
        time.sleep(1.5)
        self.assertLess(written() - before, 10)
        cluster.heal()
        cluster.wait_serving()
        self.assertIsNotNone(self.fetch(leader, "later"))
        self.assert_same_state(cluster)

    def test_one_way_and_bridge(self):
        """As long as a majority can talk, somebody leads and every node of it serves."""
        cluster = self.cluster(namespaces=True)
        leader, (one, other) = cluster.leader(), cluster.followers()
        cluster.cut(one, other)
        cluster.wait_serving(within_s=10)
        cluster.heal()
        for node in (one, other):
            cluster.cut_one_way(node, leader)
        cluster.wait_serving([one, other], within_s=10)
        cluster.heal()
        cluster.wait_serving()
        self.assert_same_state(cluster)

    def test_a_follower_without_space(self):
        """The others go on, it says how it stands, and comes back when there is room."""
        cluster, leader, full = self.with_disks(1)
        full.disk.fill()
        for _ in range(120):
            self.enqueue(leader, payload={"pad": "x" * 100_000})
        kept = self.enqueue(full)
        began = time.time()
        status = full.call("GET", "/cluster/status", timeout=20)
        self.assertEqual(status.status, 200, status.body)
        self.assertLess(time.time() - began, 3.0)
        self.assertEqual(full.call("GET", "/cluster/status", timeout=20).status, 200)
        self.assertLess(status.json["applied_index"], leader.status()["applied_index"], "the disk was not full")
        full.disk.free()
        cluster.wait(lambda: self.job(full, kept), 20, "it has caught up")
        self.assert_same_state(cluster)

    def test_a_leader_without_space(self):
        """Writes that have no room are refused as such until another node leads; nothing is lost."""
        cluster, leader, _ = self.with_disks(0)
        leader.disk.fill()
        _, other = cluster.followers()
        kept = []

        def goes_on_elsewhere():
            answer = other.call("POST", "/enqueue", {"queue": "q", "payload": {"pad": "x" * 100_000}}, timeout=20)
            if answer.status == 201:
                kept.append(answer.json["job_id"])
            else:
                self.assertEqual((answer.status, answer.code), (507, "disk_full"))
            return answer.status == 201 and leader.status()["role"] != "leader"

        cluster.wait(goes_on_elsewhere, 20, "a node with room leads")
        self.assertIsNotNone(self.job(leader, kept[0]))
        leader.disk.free()
        cluster.wait_serving()
        self.assert_same_state(cluster)
        self.assertTrue(all(self.job(leader, job) for job in kept))

    def test_a_leader_without_room_for_a_snapshot(self):
        """A node that needs one gets it from another that has the room, once that one leads."""
        if trouble := network.why_not():
            self.skipTest(f"a small disk: {trouble}")
        cluster = self.cluster(disks=(0,))
        leader, _, away = cluster.nodes
        answer = away.call("POST", "/cluster/transfer", {"to": leader.name}, timeout=20)
        self.assertEqual(answer.status, 200, answer.body)
        away.kill()
        away.wipe()
        self.write_until_cut(cluster, leader, 80)
        leader.disk.fill(but=20 << 20)
        away.start()
        cluster.wait(lambda: self.logged(away, "snapshot_arrived"), 30, "it gets a snapshot")
        self.assertIn(len(self.logged(leader, "snapshot_failed")), range(1, 5))
        cluster.wait_serving()
        self.assert_same_state(cluster)

    def test_a_leader_with_a_damaged_database(self):
        """It makes way and acknowledges nothing any more; emptied, it joins again."""
        cluster = self.cluster()
        leader = cluster.leader()
        kept = [self.enqueue(leader, payload={"pad": "x" * 3000}) for _ in range(300)]

        def written():
            status = leader.status()
            return status["durable_index"] >= status["applied_index"]

        cluster.wait(written, 20, "all is in the leader's file")
        with open(os.path.join(leader.data_dir, "jobbie.db"), "r+b") as file:
            for page in range(40, os.path.getsize(file.name) // 4096):
                file.seek(page * 4096 + 100)
                file.write(b"damage")
        leader.call("POST", "/jobs/search", {"queue": "q", "payload_contains": "y"}, timeout=20)
        cluster.wait(lambda: leader.status()["role"] != "leader", 20, "another node leads")
        self.assertFalse(leader.is_ready())
        other = cluster.leader()
        self.assertNotEqual(other.name, leader.name)
        kept += [self.enqueue(other) for _ in range(20)]
        leader.kill()
        leader.wipe()
        leader.start()
        cluster.wait_serving()
        self.assert_same_state(cluster)
        self.assertTrue(all(self.job(leader, job) for job in kept))

    def write_until_cut(self, cluster, leader, jobs):
        """So much that the log does not hold all of it any more."""
        client = leader.client()
        for _ in range(jobs):
            answer = client.post(f"{API}/enqueue", {"queue": "bulky", "payload": {"pad": "x" * 400_000}})
            self.assertEqual(answer.status, 201, answer.body)
        client.close()
        cluster.wait(lambda: leader.status()["first_index"] > jobs // 4, 20, "the log is cut")

    def with_disks(self, followers):
        """(cluster, leader, a node with a small disk, which leads unless `followers`)"""
        if trouble := network.why_not():
            self.skipTest(f"a small disk: {trouble}")
        cluster = self.cluster(disks=(0, 1, 2))
        leader = cluster.leader()
        return cluster, leader, cluster.followers()[0] if followers else leader

    def test_far_behind(self):
        """What the log does not hold any more comes as a copy of the database."""
        cluster = self.cluster()
        away = cluster.followers()[0]
        leader = cluster.leader()
        away.kill()
        self.write_until_cut(cluster, leader, 150)
        away.start()
        cluster.wait_serving()
        self.assert_same_state(cluster)
        self.assertTrue(self.logged(away, "snapshot_arrived"))
