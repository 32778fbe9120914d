"""What the tests of clusters share."""

import json
import subprocess
import threading
import time
import unittest

import network
from cluster import API, Broken, Cluster, NotSent, ServerError

__all__ = ["API", "Broken", "ClusterTest", "Load", "NotSent", "Options", "ServerError"]


class Options:
    """Set once by the main program."""

    binary = ""


class ClusterTest(unittest.TestCase):
    """A cluster for each test, which is gone after it."""

    def cluster(self, count=3, start=True, **more):
        if more.get("namespaces") and (trouble := network.why_not()):
            self.skipTest(trouble)
        cluster = Cluster(Options.binary, count, **more)
        self.addCleanup(cluster.discard)
        return cluster.start() if start else cluster

    def enqueue(self, node, queue="q", **more):
        answer = node.call("POST", "/enqueue", dict({"queue": queue, "payload": {}}, **more), timeout=20)
        self.assertIn(answer.status, (200, 201), answer.body)
        return answer.json["job_id"]

    def fetch(self, node, queue="q", **more):
        """The job, or None."""
        body = dict({"queues": [queue], "timeout": 0, "worker_id": "w"}, **more)
        answer = node.call("POST", "/fetch", body, timeout=30)
        self.assertIn(answer.status, (200, 204), answer.body)
        return answer.json if answer.status == 200 else None

    def ack(self, node, job, status=200):
        answer = node.call("POST", f"/ack/{job['job_id']}", {"lease_id": job["lease_id"]}, timeout=20)
        self.assertEqual(answer.status, status, answer.body)

    def job(self, node, job_id, strong=False):
        """The job as this node shows it, or None."""
        answer = node.call("GET", f"/jobs/{job_id}" + ("?consistency=strong" if strong else ""), timeout=20)
        self.assertIn(answer.status, (200, 404), answer.body)
        return answer.json if answer.status == 200 else None

    def assert_same_state(self, cluster, nodes=None):
        states = cluster.agree(nodes)
        self.assertEqual(len({state["state_hash"] for state in states}), 1, states)
        return states[0]

    def run_program(self, *arguments, timeout=30):
        """Runs `jobbie …` to its end."""
        return subprocess.run([Options.binary, *arguments], capture_output=True, text=True, timeout=timeout, check=False)

    def logged(self, node, event):
        """The lines of the node's log that tell of this."""
        lines = []
        with open(node.log_path, encoding="utf-8") as log:
            for line in log:
                if f'"event":"{event}"' in line:
                    lines.append(json.loads(line))
        return lines


class Load:
    """Clients that enqueue with a key and repeat a failed call once, elsewhere."""

    def __init__(self, nodes, clients=4):
        self.nodes = nodes
        self.going = True
        self.kept = []      # ids that were acknowledged
        self.retried = []   # why the first try failed
        self.failed = []    # both tries
        self.threads = [threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(clients)]
        for thread in self.threads:
            thread.start()

    def work(self, number):
        turn, count = number, 0
        clients = {node: node.client(timeout=10) for node in self.nodes}
        while self.going:
            count += 1
            trouble = []
            for _ in range(2):
                node = self.nodes[turn % len(self.nodes)]
                why, answer = self.attempt(clients[node], f"load-{number}-{count}")
                if answer is not None:
                    self.kept.append(answer.json["job_id"])
                    break
                trouble.append((node.name, why))
                turn += 1
                # As long as it takes to hear of a closed port is no pause; this is what clients do.
                time.sleep(0.05)
            if trouble:
                (self.failed if len(trouble) == 2 else self.retried).append(trouble)
            time.sleep(0.005)
        for client in clients.values():
            client.close()

    def attempt(self, client, key):
        try:
            answer = client.post(f"{API}/enqueue", {"queue": "load", "payload": {"key": key}},
                                 headers={"Idempotency-Key": key})
        except (NotSent, Broken) as error:
            return f"{type(error).__name__}: {error}", None
        if answer.status in (200, 201):
            return "", answer
        return f"{answer.status} {answer.code}", None

    def stop(self):
        self.going = False
        for thread in self.threads:
            thread.join(30)
