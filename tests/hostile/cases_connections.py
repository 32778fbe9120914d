"""Those who only hold connections."""

import socket
import time

from harness import Case, encode


def hold(tenant, running, first_bytes, most, pause_s=0.0):
    """Opens up to `most` connections, each with these bytes, and keeps them."""
    connections = []
    while running():
        if len(connections) >= most:
            time.sleep(0.05)
            continue
        try:
            connection = socket.create_connection(("127.0.0.1", tenant.port), timeout=5)
            connection.sendall(first_bytes)
            connections.append(connection)
            tenant.count("held")
        except OSError:
            tenant.count("refused")
            time.sleep(0.01)
        time.sleep(pause_s)
    for connection in connections:
        connection.close()


class FewDescriptors(Case):
    title = "1,200 idle connections, 512 descriptors, many log segments"
    flags = ("--segment-bytes", "8388608")
    descriptors = 512
    attackers = 3
    memory_mb = 200

    def attack(self, tenant, number, running):
        if number > 0:
            hold(tenant, running, b"", 600)
            return
        body = encode({"queue": "mail.write", "payload": {"text": "x" * 900_000}})
        while running():
            tenant.post("/enqueue", body)
            answer = tenant.post("/fetch", {"queues": ["mail.write"], "timeout": 0})
            if answer is not None and answer.status == 200:
                tenant.post(f"/ack/{answer.json['job_id']}", b"{}")


class SlowHeaders(Case):
    title = "1,500 connections with half a request head"

    def attack(self, tenant, number, running):
        hold(tenant, running, b"POST /api/v1/enqueue HTTP/1.1\r\nHost: x\r\nX-Slow: ", 375)


class SlowBodies(Case):
    title = "400 connections with half a body of 30 MiB"
    memory_mb = 300

    def attack(self, tenant, number, running):
        half = tenant.raw("POST", "/enqueue/batch", b"x" * (30 << 20))[:1 << 20]
        hold(tenant, running, half, 100)
