#!/usr/bin/env python3
"""How long a client waits for its enqueue to be confirmed, at even intervals beside any other load.

    commits.py --dialect jobbie|nats --port N --rate 200 --seconds 10 [--after 1]

One job of 200 bytes at each interval, on whichever of a few connections is free. A job counts from when it is sent,
and from when it was due where all connections still waited for an answer then. Prints one JSON object with a pair for
each job: that time by the monotonic clock, and the seconds it took. SIGTERM ends it early. What was due by the end is
still sent, within bounds, so that a server that falls behind shows it up to the last job.
"""

import argparse
import collections
import ctypes
import gc
import json
import select
import signal
import socket
import sys
import time

CONNECTIONS = 8
PAYLOAD_BYTES = 200
QUEUE = "bench"
PR_SET_TIMERSLACK = 29
# A server that is silent for longer is not slow but gone.
ANSWER_LIMIT_S = 30
OVERDUE_LIMIT_S = 20


def payload():
    # As bench_load writes it; without a stamp, so that it does not count what it did not send.
    head, end = '{"stamp":"' + "0" * 20 + '","text":"', '"}'
    return head + "x" * (PAYLOAD_BYTES - len(head) - len(end)) + end


class Connection:
    """One enqueue at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_LIMIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.seen = b""
        self.began = 0.0

    def fileno(self):
        return self.socket.fileno()

    def send(self, began):
        self.began = began
        self.socket.sendall(self.request)

    def receive(self):
        """True if it was taken, False if it was refused, None if that is still to come."""
        data = self.socket.recv(65536)
        if not data:
            raise OSError("the server has closed the connection")
        self.seen += data
        return self.answer()


class Jobbie(Connection):
    def __init__(self, port, _number):
        super().__init__(port)
        body = f'{{"queue":"{QUEUE}","payload":{payload()}}}'
        self.request = (f"POST /api/v1/enqueue HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n{body}").encode()

    def answer(self):
        end = self.seen.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self.seen[:end].lower()
        length = head.find(b"content-length:")
        total = end + 4 + (int(head[length + 15:].split(b"\r\n")[0]) if length >= 0 else 0)
        if len(self.seen) < total:
            return None
        self.seen = self.seen[total:]
        return head.split(b" ", 2)[1] in (b"200", b"201")


class Nats(Connection):
    def __init__(self, port, number):
        super().__init__(port)
        self.socket.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\n'
                            b"SUB commits.%d 1\r\n" % number)
        self.request = f"PUB {QUEUE} commits.{number} {PAYLOAD_BYTES}\r\n{payload()}\r\n".encode()

    def answer(self):
        while (end := self.seen.find(b"\r\n")) >= 0:
            line = self.seen[:end]
            if line.startswith(b"-ERR"):
                raise OSError(line.decode(errors="replace"))
            total = end + 2
            if message := line.startswith((b"MSG ", b"HMSG ")):
                total += int(line.split()[-1]) + 2
                if len(self.seen) < total:
                    return None
            body, self.seen = self.seen[end + 2:total], self.seen[total:]
            if line == b"PING":
                self.socket.sendall(b"PONG\r\n")
            if message:
                return line.startswith(b"MSG ") and b'"error"' not in body
        return None


class Until:
    """When the last job is due: at a set time, or when somebody tells us to stop."""

    def __init__(self, at):
        self.at = at
        signal.signal(signal.SIGTERM, lambda *_: self.now())

    def now(self):
        self.at = min(self.at, time.monotonic())


def measure(free, rate, until, samples):
    """Fills `samples` until then; returns how many were refused."""
    waiting, overdue, refused = [], collections.deque(), 0
    due = heard = now = time.monotonic()
    while (due < until.at or overdue or waiting) and now < until.at + OVERDUE_LIMIT_S:
        while due <= now and due < until.at:
            overdue.append(due if not free else now)
            due += 1 / rate
        while free and overdue:
            connection = free.pop()
            connection.send(overdue.popleft())
            waiting.append(connection)
        pause = max(0.0, due - time.monotonic()) if due < until.at else 1.0
        for connection in select.select(waiting, [], [], min(pause, 1.0))[0]:
            taken = connection.receive()
            heard = time.monotonic()
            if taken is None:
                continue
            waiting.remove(connection)
            free.append(connection)
            refused += not taken
            if taken:
                samples.append((connection.began, heard - connection.began))
        now = time.monotonic()
        if waiting and now - max(heard, min(one.began for one in waiting)) > ANSWER_LIMIT_S:
            raise OSError(f"no answer within {ANSWER_LIMIT_S} s")
    return refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialect", choices=("jobbie", "nats"), required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--after", type=float, default=0, help="seconds of the same before it counts")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
    gc.disable()
    samples, refused, failure = [], 0, None
    begin = time.monotonic() + options.after
    until = Until(begin + options.seconds)
    try:
        kind = {"jobbie": Jobbie, "nats": Nats}[options.dialect]
        connections = [kind(options.port, number) for number in range(CONNECTIONS)]
        refused = measure(connections, options.rate, until, samples)
    except OSError as error:
        failure = str(error)
    counted = [[at, took] for at, took in samples if at >= begin]
    in_time = sum(at + took < until.at for at, took in counted)
    print(json.dumps({"samples": counted, "in_time": in_time, "refused": refused, "failure": failure}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
