"""Nodes that find one another by a name (`--discover=dns`).

The name stands in a hosts file of the cluster's own, which takes the place of /etc/hosts for its nodes alone
and can be changed while they run.
"""

import itertools
import os
import time

from case import Broken, ClusterTest, NotSent
from client import one_call

NAME = "jobbie.test"
# Nodes look the name up every two seconds.
LOOKED_UP_S = 2.5
# `ip netns exec` gives a process mounts of its own; what is mounted here is gone with it. Without the other
# file a name that is not there would be asked of the machine's name server.
WITH_HOSTS = 'mount --bind "$0" /etc/hosts && mount --bind "$1" /etc/nsswitch.conf && shift && exec "$@"'


class Names:
    """What the name stands for."""

    def __init__(self, cluster):
        self.hosts = os.path.join(cluster.folder, "hosts")
        self.switch = os.path.join(cluster.folder, "nsswitch.conf")
        with open(self.switch, "w", encoding="utf-8") as out:
            out.write("hosts: files\n")
        self.lead_to()

    def lead_to(self, *nodes):
        # In place: it is this very file that the nodes have before them.
        with open(self.hosts, "w", encoding="utf-8") as out:
            out.write("127.0.0.1 localhost\n" + "".join(f"{node.host} {NAME} {self.own(node)}\n" for node in nodes))

    def own(self, node):
        """A name for this node alone."""
        return f"{node.name}.{NAME}"

    def tell(self, node, size=3, name=f"{NAME}:9400"):
        """From its next start the node knows others by the name alone."""
        node.peers = []
        node.way_in += ["sh", "-c", WITH_HOSTS, self.hosts, self.switch]
        node.more = ["--discover=dns", "--discover-name", name, "--cluster-size", str(size)]


class Discovery(ClusterTest):
    def named_cluster(self, count=3, **more):
        cluster = self.cluster(count, start=False, namespaces=True)
        names = Names(cluster)
        for node in cluster.nodes:
            names.tell(node, **more)
        names.lead_to(*cluster.nodes)
        return cluster, names

    def health(self, node, which):
        answer = one_call(node.port, "GET", which, timeout=5, host=node.host)
        return answer.status, answer.json

    def answers(self, node):
        try:
            return self.health(node, "/healthz")[0] == 200
        except (Broken, NotSent):
            return False

    def voters(self, node):
        status = node.status()
        return sorted(row["name"] for row in status["nodes"] if row["voter"]) if status else []

    def row_of(self, node, seen_by):
        status = seen_by.status()
        return next((row for row in status["nodes"] if row["name"] == node.name), None) if status else None

    def assert_forming(self, nodes):
        """They live, found nothing and say so."""
        for node in nodes:
            self.assertEqual(node.call("GET", "/cluster/status").json["role"], "forming")
            self.assertEqual(self.health(node, "/healthz")[0], 200)
            status, body = self.health(node, "/readyz")
            self.assertEqual(status, 503, body)
            self.assertIs(body["checks"]["leader"], False, body)
            answer = node.call("POST", "/enqueue", {"queue": "q", "payload": {}})
            self.assertEqual((answer.status, answer.code), (503, "no_leader"))

    def test_in_every_order(self):
        # A name without a port means that of --raft.
        for order, name in zip(itertools.permutations(range(3)), (f"{NAME}:9400", NAME) * 3):
            with self.subTest(order=order, name=name):
                cluster, _ = self.named_cluster(name=name)
                for number in order:
                    cluster.nodes[number].spawn()
                    time.sleep(0.1)
                cluster.wait_serving()
                self.assertEqual(len({node.status()["cluster_id"] for node in cluster.nodes}), 1)
                self.assertEqual(self.voters(cluster.nodes[0]), ["n1", "n2", "n3"])
                cluster.discard()

    def test_too_few_found_nothing(self):
        cluster, _ = self.named_cluster()
        early = cluster.nodes[:2]
        cluster.start(*early)
        cluster.wait(lambda: all(self.answers(node) for node in early), message="they answer")
        time.sleep(LOOKED_UP_S)
        self.assert_forming(early)
        cluster.start(cluster.nodes[2])
        cluster.wait_serving()
        cluster.wait(lambda: all(node.is_ready() for node in cluster.nodes), message="they say that they are ready")
        self.assertEqual(self.voters(early[0]), ["n1", "n2", "n3"])

    def test_the_name_comes_later(self):
        cluster, names = self.named_cluster()
        names.lead_to()
        for node in cluster.nodes:
            node.spawn()
        cluster.wait(lambda: all(self.answers(node) for node in cluster.nodes), message="they answer")
        time.sleep(LOOKED_UP_S)
        self.assert_forming(cluster.nodes)
        for node in cluster.nodes:
            self.assertEqual([line["name"] for line in self.logged(node, "name_not_resolved")], [NAME])
        names.lead_to(*cluster.nodes)
        cluster.wait_serving()
        # And when it goes again, nobody forgets anybody.
        names.lead_to()
        time.sleep(LOOKED_UP_S)
        cluster.wait_serving()
        job = self.enqueue(cluster.nodes[0])
        for node in cluster.nodes:
            node.kill()
        cluster.start()
        self.assertIsNotNone(self.job(cluster.nodes[1], job, strong=True))

    def move(self, cluster, node):
        node.host = cluster.network.readdress(node.host)

    def test_a_node_moves(self):
        cluster, names = self.named_cluster()
        cluster.start()
        node, other = cluster.followers()
        before = node.status()["node_id"]
        node.kill()
        ids = [self.enqueue(other) for _ in range(20)]
        self.move(cluster, node)
        names.lead_to(*cluster.nodes)
        node.start()
        cluster.wait_serving()
        self.assertEqual(node.status()["node_id"], before)
        self.assertTrue(all(self.job(node, job, strong=True) for job in ids))
        for one in cluster.nodes:
            if one is not node:
                cluster.wait(lambda: (row := self.row_of(node, one)) and row["address"] == node.raft and row["connected"],
                             message=f"{one.name} reaches it where it is now")
        self.assertEqual(self.voters(other), ["n1", "n2", "n3"])
        self.assert_same_state(cluster)
        # It is one of them as before: it may lead.
        answer = other.call("POST", "/cluster/transfer", {"to": node.name}, timeout=20)
        self.assertEqual(answer.status, 200, answer.body)
        cluster.wait_serving()
        self.assertIs(cluster.leader(), node)

    def test_a_node_moves_while_it_runs(self):
        # It listens everywhere and says its name in place of an address.
        cluster, names = self.named_cluster()
        for node in cluster.nodes:
            node.more += ["--http", f"0.0.0.0:{node.port}", "--raft", "0.0.0.0:9400", "--advertise",
                          f"{names.own(node)}:9400"]
        cluster.start()
        for node in (cluster.followers()[0], cluster.leader()):
            others = [other for other in cluster.nodes if other is not node]
            self.move(cluster, node)
            names.lead_to(*cluster.nodes)
            cluster.wait(lambda: all((row := self.row_of(node, other)) and row["connected"] for other in others), 25,
                         f"{node.name} is reached where it is now")
            cluster.wait_serving()
            self.assertEqual(self.row_of(node, others[0])["address"], f"{names.own(node)}:9400")
            job = self.enqueue(others[0])
            self.assertIsNotNone(self.job(node, job, strong=True))

    def test_all_nodes_move(self):
        # Nobody is where the others remember it: the name alone leads them together.
        cluster, names = self.named_cluster()
        cluster.start()
        job = self.enqueue(cluster.nodes[0])
        before = {node.name: node.status()["node_id"] for node in cluster.nodes}
        cluster_id = cluster.nodes[0].status()["cluster_id"]
        for node in cluster.nodes:
            node.kill()
            self.move(cluster, node)
        names.lead_to(*cluster.nodes)
        cluster.start()
        self.assertEqual({node.name: node.status()["node_id"] for node in cluster.nodes}, before)
        self.assertEqual({node.status()["cluster_id"] for node in cluster.nodes}, {cluster_id})
        self.assertIsNotNone(self.job(cluster.nodes[2], job, strong=True))
        self.assert_same_state(cluster)

    def test_a_lost_disk(self):
        cluster, _ = self.named_cluster()
        cluster.start()
        job = self.enqueue(cluster.nodes[0])
        node = cluster.followers()[0]
        before = node.status()["node_id"]
        node.kill()
        node.wipe()
        node.spawn()
        cluster.wait(lambda: self.voters(node) == ["n1", "n2", "n3"], message="it is a voter again")
        cluster.wait_serving()
        self.assertNotEqual(node.status()["node_id"], before)
        self.assertIsNotNone(self.job(node, job, strong=True))

    def test_a_fourth_node_joins(self):
        cluster, names = self.named_cluster()
        cluster.start()
        ids = [self.enqueue(cluster.nodes[0]) for _ in range(10)]
        fourth = cluster.place()
        names.tell(fourth)
        names.lead_to(*cluster.nodes)
        fourth.spawn()
        cluster.wait(lambda: self.voters(fourth) == ["n1", "n2", "n3", "n4"], message="four voters")
        cluster.wait_serving()
        self.assertTrue(all(self.job(fourth, job, strong=True) for job in ids))
        self.assert_same_state(cluster)

    def test_two_halves_are_not_two_clusters(self):
        # Each half would be enough for --cluster-size; but the name stands for all of them.
        cluster, _ = self.named_cluster(6)
        halves = cluster.nodes[:3], cluster.nodes[3:]
        cluster.split(*halves)
        for node in cluster.nodes:
            node.spawn()
        cluster.wait(lambda: all(self.answers(node) for node in cluster.nodes), message="they answer")
        time.sleep(LOOKED_UP_S)
        self.assert_forming(cluster.nodes)
        cluster.heal()
        cluster.wait_serving()
        self.assertEqual(len({node.status()["cluster_id"] for node in cluster.nodes}), 1)

    def test_a_cluster_of_one(self):
        cluster, _ = self.named_cluster(1, size=1)
        cluster.start()
        self.assertEqual(cluster.nodes[0].status()["role"], "leader")


class DiscoveryFlags(ClusterTest):
    def refused(self, *flags):
        """What `jobbie server` says before it ends with 2, having made nothing."""
        cluster = self.cluster(1, start=False)
        node = cluster.nodes[0]
        done = self.run_program("server", "--data-dir", node.data_dir, "--http", f"127.0.0.1:{node.port}", "--raft",
                                node.raft, *flags, timeout=5)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertFalse(os.path.exists(node.data_dir))
        return done.stderr

    def test_without_a_name(self):
        self.assertIn("--discover=dns needs --discover-name", self.refused("--cluster", "--discover=dns"))

    def test_another_way(self):
        said = self.refused("--cluster", "--discover=consul", "--discover-name", f"{NAME}:9400")
        self.assertIn("--discover is dns, not consul", said)

    def test_a_name_without_a_way(self):
        for more in ((), ("--peers", "127.0.0.1:27000")):
            said = self.refused("--cluster", "--discover-name", f"{NAME}:9400", *more)
            self.assertIn("--discover-name needs --discover=dns", said)

    def test_bad_names(self):
        for name in (":9400", f"{NAME}:", f"{NAME}:http", f"{NAME}:99999"):
            with self.subTest(name=name):
                said = self.refused("--cluster", "--discover=dns", "--discover-name", name)
                self.assertIn("--discover-name", said)

    def test_without_a_cluster(self):
        self.assertIn("say --cluster", self.refused("--discover=dns", "--discover-name", NAME))

    def test_peers_besides(self):
        said = self.refused("--cluster", "--discover=dns", "--discover-name", NAME, "--peers", "127.0.0.1:27000")
        self.assertIn("--peers and --discover exclude each other", said)

    def test_sizes(self):
        for size in ("0", "33", "-1", "many"):
            with self.subTest(size=size):
                said = self.refused("--cluster", "--discover=dns", "--discover-name", NAME, "--cluster-size", size)
                self.assertIn("--cluster-size", said)
