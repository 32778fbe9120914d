"""Lines between nodes that break, falter and garble, by relays of our own."""

import os
import subprocess
import sys
import threading
import time

from case import ClusterTest, Load


class Relay:
    """relay.py with one pair for each node: whatever is said to a node passes its pair."""

    def __init__(self, nodes):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
        self.process = subprocess.Popen([sys.executable, script] + [f"127.0.0.1:0={node.raft}" for node in nodes],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.numbers = {node.name: number for number, node in enumerate(nodes)}
        self.addresses = self.process.stdout.readline().split()[1:]

    def address(self, node):
        return self.addresses[self.numbers[node.name]]

    def tell(self, command, node, *more):
        number = "*" if node is None else self.numbers[node.name]
        self.process.stdin.write(" ".join([command, str(number), *map(str, more)]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        assert answer[:1] == ["ok"], answer
        return answer[1:]

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Lines(ClusterTest):
    """Every connection between two nodes goes through a relay."""

    def relayed(self):
        cluster = self.cluster(start=False)
        relay = Relay(cluster.nodes)
        self.addCleanup(relay.close)
        for node in cluster.nodes:
            node.more = ["--advertise", relay.address(node)]
            node.peers = [relay.address(other) for other in cluster.nodes if other is not node]
        return cluster.start(), relay

    def test_a_reply_waits_for_a_way_back(self):
        """The leader has the job that a waiting fetch wants, and no connection to say so."""
        cluster, relay = self.relayed()
        waits, sends = cluster.followers()
        for number in range(3):
            queue = f"poll-{number}"
            got = []
            thread = threading.Thread(
                target=lambda name=queue: got.append((self.fetch(waits, name, timeout=20), time.time())), daemon=True)
            thread.start()
            time.sleep(0.3)
            relay.tell("refuse", waits)
            job_id = self.enqueue(sends, queue)
            time.sleep(0.15)
            self.assertEqual(got, [], "there was a way back")
            relay.tell("heal", waits)
            healed = time.time()
            thread.join(25)
            job, at = got[0]
            self.assertIsNotNone(job, "the reply was lost")
            self.assertEqual(job["job_id"], job_id)
            self.assertLess(at - healed, 5.0)
            self.ack(waits, job)
            cluster.wait_serving()
        self.assert_same_state(cluster)

    def test_garbled_frames_are_refused(self):
        """A flipped bit costs a connection, and nothing else."""
        cluster, relay = self.relayed()
        load = Load(cluster.nodes)
        for _ in range(5):
            for node in cluster.nodes:
                relay.tell("flip", node)
                time.sleep(0.05)
        time.sleep(0.5)
        load.stop()
        self.assertGreater(len(load.kept), 20)
        self.assertTrue(any(self.logged(node, "peer_lost") for node in cluster.nodes))
        cluster.wait_serving()
        self.assert_same_state(cluster)
        self.assertTrue(all(self.job(cluster.nodes[0], job) for job in load.kept))

    def test_slow_lines(self):
        """Late, and through a narrow pipe, everything arrives all the same."""
        cluster, relay = self.relayed()
        relay.tell("delay", None, 20)
        relay.tell("rate", None, 4_000_000)
        load = Load(cluster.nodes)
        time.sleep(3.0)
        load.stop()
        self.assertEqual(load.failed, [])
        self.assertGreater(len(load.kept), 20)
        self.assert_same_state(cluster)
