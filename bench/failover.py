#!/usr/bin/env python3
"""How long a cluster of three on this machine takes to serve again after its leader was killed.

    failover.py --binary build/release/jobbie --kills 50

Each time the leader is killed with -9 and a job is enqueued at once through another node: how long that
request takes is the time without service. The killed node is started again before the next kill.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Node:
    def __init__(self, binary, folder, number):
        self.binary, self.data, self.name = binary, os.path.join(folder, str(number)), f"n{number}"
        self.http, self.raft, self.process = free_port(), free_port(), None

    def start(self, others):
        self.process = subprocess.Popen(
            [self.binary, "server", "--data-dir", self.data, "--http", f"127.0.0.1:{self.http}", "--cluster",
             "--raft", f"127.0.0.1:{self.raft}", "--node", self.name, "--log-level", "error",
             "--peers", ",".join(f"127.0.0.1:{other.raft}" for other in others if other is not self)])

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}/api/v1/{path}", data,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())


def enqueued(node):
    try:
        return node.ask("enqueue", {"queue": "q", "payload": {}})
    except urllib.error.HTTPError:
        return None


def until_whole(nodes):
    """The leader, once all three see it and are connected."""
    end = time.time() + 60
    while time.time() < end:
        try:
            told = [node.ask("cluster/status") for node in nodes]
            leaders = {status["leader"] for status in told}
            whole = all(row["connected"] and (row["lag"] or 0) == 0 for status in told for row in status["nodes"])
            if len(leaders) == 1 and None not in leaders and whole and all(len(s["nodes"]) == 3 for s in told):
                return next(node for node in nodes if node.name in leaders)
        except (OSError, ValueError):
            pass
        time.sleep(0.05)
    raise SystemExit("the cluster does not come together")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--kills", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobbie-failover-") as folder:
        nodes = [Node(os.path.abspath(options.binary), folder, number) for number in range(3)]
        for node in nodes:
            node.start(nodes)
        try:
            took = []
            for _ in range(options.kills):
                leader = until_whole(nodes)
                other = next(node for node in nodes if node is not leader)
                began = time.time()
                leader.process.send_signal(signal.SIGKILL)
                # What was on its way to the leader that is gone is told so, and sent again.
                while not enqueued(other):
                    pass
                took.append(time.time() - began)
                leader.process.wait()
                leader.start(nodes)
            took.sort()
            print(f"{len(took)} kills: least {took[0]:.2f} s, median {statistics.median(took):.2f} s, "
                  f"nine of ten within {took[int(len(took) * 0.9) - 1]:.2f} s, most {took[-1]:.2f} s, "
                  f"over 2 s: {sum(t > 2 for t in took)}")
        finally:
            for node in nodes:
                node.process.kill()
                node.process.wait()


if __name__ == "__main__":
    main()
