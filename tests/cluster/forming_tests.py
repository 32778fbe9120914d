"""How a cluster comes to be, who is let in, and who is somebody else."""

import itertools
import os
import time

from case import ClusterTest
from network import stable_port


class Forming(ClusterTest):
    def test_in_every_order(self):
        for order in itertools.permutations(range(3)):
            with self.subTest(order=order):
                cluster = self.cluster(start=False)
                for number in order:
                    cluster.nodes[number].spawn()
                    time.sleep(0.1)
                cluster.wait_serving()
                self.assertEqual(len({node.status()["cluster_id"] for node in cluster.nodes}), 1)
                cluster.discard()

    def test_one_is_late(self):
        cluster = self.cluster(start=False)
        cluster.start(*cluster.nodes[:2])
        time.sleep(1.5)
        for node in cluster.nodes[:2]:
            self.assertEqual(node.call("GET", "/cluster/status").json["role"], "forming")
            answer = node.call("POST", "/enqueue", {"queue": "q", "payload": {}})
            self.assertEqual((answer.status, answer.code), (503, "no_leader"))
            self.assertIsNotNone(answer.header("retry-after"))
        cluster.start(cluster.nodes[2])
        cluster.wait_serving()
        self.assertEqual([row["voter"] for row in cluster.nodes[0].status()["nodes"]], [True] * 3)

    def test_names_and_ids_stay(self):
        cluster = self.cluster()
        before = {node.name: node.status()["node_id"] for node in cluster.nodes}
        for node in cluster.nodes:
            node.kill()
        cluster.start()
        self.assertEqual({node.name: node.status()["node_id"] for node in cluster.nodes}, before)

    def test_another_address(self):
        cluster = self.cluster(namespaces=True)
        job = self.enqueue(cluster.nodes[0])
        node = cluster.followers()[0]
        others = [other for other in cluster.nodes if other is not node]
        before = node.status()["node_id"]
        node.stop()
        node.host = cluster.network.readdress(node.host)
        node.start()
        cluster.wait_serving()
        self.assertEqual(node.status()["node_id"], before)
        self.assertIsNotNone(self.job(node, job))

        def known():
            rows = [row for row in others[0].status()["nodes"] if row["id"] == before]
            return rows[0]["address"] == node.raft and rows[0]["connected"]
        cluster.wait(known, message="the new address is known to all")
        # The others must find it there by what they remember, not by what they were told.
        for other in others:
            other.kill()
            other.peers = [one.raft for one in others if one is not other]
        cluster.start(*others)
        cluster.wait_serving()

    def test_strangers_are_refused(self):
        cluster = self.cluster(start=False)
        secret, other = os.path.join(cluster.folder, "secret"), os.path.join(cluster.folder, "other")
        for path, text in ((secret, "one that all nodes know\n"), (other, "one that they do not know\n")):
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, 0o600)
        for node in cluster.nodes:
            node.more = ["--cluster-secret-file", secret]
        cluster.start()
        stranger = cluster.place()
        stranger.peers = [node.raft for node in cluster.nodes]
        stranger.more = ["--cluster-secret-file", other]
        stranger.spawn()
        members = cluster.nodes[:3]

        def refused():
            return any(line.get("reason") for node in members for event in ("peer_refused", "stranger", "handshake_failed")
                       for line in self.logged(node, event)) or self.spoken_of(members, "secret")
        cluster.wait(refused, message="a stranger is written down")
        self.assertEqual(stranger.call("GET", "/cluster/status").json["role"], "forming")
        self.assertEqual(len(members[0].status()["nodes"]), 3)
        cluster.wait_serving(members)

    def spoken_of(self, nodes, word):
        for node in nodes:
            with open(node.log_path, encoding="utf-8") as log:
                if any(word in line for line in log if '"level":"warning"' in line):
                    return True
        return False

    def test_a_lost_disk(self):
        cluster = self.cluster()
        ids = [self.enqueue(cluster.nodes[0]) for _ in range(20)]
        for role in ("follower", "leader"):
            node = cluster.leader() if role == "leader" else cluster.followers()[0]
            before = node.status()["node_id"]
            node.kill()
            node.wipe()
            node.spawn()
            cluster.wait(lambda: self.stands(node, 3), message=f"the {role} is a voter again")
            cluster.wait_serving()
            self.assertNotEqual(node.status()["node_id"], before)
            self.assertTrue(all(self.job(node, job, strong=True) for job in ids))
            self.assert_same_state(cluster)

    def stands(self, node, count):
        status = node.status()
        rows = status["nodes"] if status else []
        return len(rows) == count and all(row["voter"] for row in rows)


class Members(ClusterTest):
    """Nodes come and go while the cluster works."""

    def with_a_fourth(self):
        """A cluster, a node that was added to it, and where to ask."""
        cluster = self.cluster()
        fourth = cluster.place()
        # Told of somebody who is not there, it waits to be asked.
        fourth.peers = [f"127.0.0.1:{stable_port()}"]
        fourth.spawn()
        url = "http://{}:{}".format(*cluster.followers(cluster.nodes[:3])[0].address)
        done = self.run_program("cluster", "add", fourth.raft, "--url", url)
        self.assertEqual(done.returncode, 0, done.stderr + fourth.tail())
        cluster.wait(lambda: sum(row["voter"] for row in cluster.nodes[0].status()["nodes"]) == 4,
                     message="four voters")
        cluster.wait_serving()
        return cluster, fourth, url

    def test_a_fourth_node_comes_and_goes(self):
        cluster, fourth, url = self.with_a_fourth()
        ids = [self.enqueue(cluster.nodes[0]) for _ in range(10)]
        cluster.wait_serving()
        self.assertTrue(all(self.job(fourth, job, strong=True) for job in ids))
        self.assert_same_state(cluster)
        done = self.run_program("cluster", "remove", fourth.name, "--url", url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(cluster.nodes[0].status()["nodes"]), 3)
        answer = fourth.call("POST", "/enqueue", {"queue": "q", "payload": {}}, timeout=20)
        self.assertEqual(answer.status, 503, answer.body)
        cluster.wait(lambda: self.logged(fourth, "removed_from_cluster"), message="it says so")
        cluster.wait_serving(cluster.nodes[:3])

    def test_who_was_away_when_it_was_removed_is_told(self):
        cluster, away, url = self.with_a_fourth()
        others = cluster.nodes[:3]
        away.kill()
        done = self.run_program("cluster", "remove", away.name, "--url", url)
        self.assertEqual(done.returncode, 0, done.stderr)
        term = others[0].status()["term"]
        away.spawn()
        cluster.wait(lambda: self.logged(away, "removed_from_cluster"), message="it is told")
        self.assertEqual((away.status()["role"], away.status()["leader"]), ("removed", None))
        self.assertNotIn(away.name, [row["name"] for row in away.status()["nodes"]])
        answer = away.call("POST", "/enqueue", {"queue": "q", "payload": {}}, timeout=20)
        self.assertEqual((answer.status, answer.json["code"]), (503, "removed"), answer.body)
        cluster.wait_serving(others)
        self.assertEqual(others[0].status()["term"], term, "it disturbs nobody")

    def test_the_leader_removes_itself(self):
        cluster = self.cluster()
        leader = cluster.leader()
        others = cluster.followers()
        answer = leader.call("DELETE", f"/cluster/nodes/{leader.name}", timeout=20)
        self.assertIn(answer.status, (200, 503), answer.body)
        if answer.status == 503:  # it has handed over, and says so: the next one is asked
            answer = others[0].call("DELETE", f"/cluster/nodes/{leader.name}", timeout=20)
            self.assertEqual(answer.status, 200, answer.body)
        cluster.wait_serving(others)
        self.assertEqual(len(others[0].status()["nodes"]), 2)

    def test_the_leader_is_removed_by_way_of_another(self):
        cluster = self.cluster()
        leader, others = cluster.leader(), cluster.followers()
        answer = others[0].call("DELETE", f"/cluster/nodes/{leader.name}", timeout=20)
        self.assertEqual(answer.status, 200, answer.body)
        cluster.wait_serving(others)
        self.assertEqual(len(others[0].status()["nodes"]), 2)

    def test_who_cannot_be_reached_is_not_added(self):
        cluster = self.cluster()
        answer = cluster.nodes[0].call("POST", "/cluster/nodes", {"address": f"127.0.0.1:{stable_port()}"}, timeout=30)
        self.assertEqual((answer.status, answer.code), (409, "not_connected"), answer.body)
        self.assertEqual(len(cluster.nodes[0].status()["nodes"]), 3)

    def test_what_would_lose_quorum_is_refused(self):
        cluster = self.cluster()
        leader, (one, other) = cluster.leader(), cluster.followers()
        one.kill()
        cluster.wait(lambda: not [row for row in leader.status()["nodes"] if row["name"] == one.name][0]["connected"])
        answer = leader.call("DELETE", f"/cluster/nodes/{other.name}", timeout=20)
        self.assertEqual((answer.status, answer.code), (409, "would_lose_quorum"), answer.body)
        self.assertEqual(len(leader.status()["nodes"]), 3)
        # Who is away may go: the others are a majority before and after.
        answer = leader.call("DELETE", f"/cluster/nodes/{one.name}", timeout=20)
        self.assertEqual(answer.status, 200, answer.body)
        answer = leader.call("DELETE", "/cluster/nodes/nobody", timeout=20)
        self.assertEqual((answer.status, answer.code), (404, "not_found"))

    def test_leadership_is_transferred(self):
        cluster = self.cluster()
        for node in cluster.nodes + cluster.nodes[:1]:
            answer = cluster.nodes[1].call("POST", "/cluster/transfer", {"to": node.name}, timeout=20)
            self.assertEqual(answer.status, 200, answer.body)
            cluster.wait(lambda: all(other.status()["leader"] == node.name for other in cluster.nodes),
                         message=f"{node.name} leads")

    def test_two_of_three_are_lost(self):
        cluster = self.cluster()
        ids = [self.enqueue(cluster.nodes[0]) for _ in range(10)]
        survivor, *lost = cluster.nodes
        self.assert_same_state(cluster)
        for node in lost:
            node.kill()
            node.wipe()
        survivor.stop()
        done = self.run_program("cluster", "recover", "--data-dir", survivor.data_dir)
        self.assertNotEqual(done.returncode, 0, "without --yes it only warns")
        done = self.run_program("cluster", "recover", "--data-dir", survivor.data_dir, "--yes")
        self.assertEqual(done.returncode, 0, done.stderr)
        survivor.start()
        cluster.wait_serving([survivor])
        self.assertTrue(all(self.job(survivor, job, strong=True) for job in ids))
        cluster.start(*lost)
        cluster.wait(lambda: sum(row["voter"] for row in survivor.status()["nodes"]) == 3, 20, "three voters")
        cluster.wait_serving()
        self.assert_same_state(cluster)
