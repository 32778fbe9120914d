#!/usr/bin/env python3
"""How long one client waits for its enqueue to be confirmed, at even intervals beside any other load.

    commits.py --dialect jobbie|nats --port N --rate 200 --seconds 10 [--after 1]

One connection, one job of 200 bytes at a time. A job counts from when it is sent, and from when it was due where
the one before was still unanswered then. Prints one JSON object with a pair for each job: when it was sent by the
monotonic clock, and the seconds it took. SIGTERM ends it early with what there is.
"""

import argparse
import ctypes
import gc
import json
import signal
import socket
import sys
import time

PAYLOAD_BYTES = 200
QUEUE = "bench"
PR_SET_TIMERSLACK = 29
# A server that is silent for longer is not slow but gone.
ANSWER_LIMIT_S = 30
REFUSED_PAUSE_S = 0.01


def payload():
    # As bench_load writes it; without a stamp, so that it does not count what it did not send.
    head, end = '{"stamp":"' + "0" * 20 + '","text":"', '"}'
    return head + "x" * (PAYLOAD_BYTES - len(head) - len(end)) + end


class Jobbie:
    def __init__(self, connection):
        body = f'{{"queue":"{QUEUE}","payload":{payload()}}}'
        self.request = (f"POST /api/v1/enqueue HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
        self.connection = connection

    def once(self):
        """True if it was taken."""
        self.connection.sendall(self.request)
        seen = b""
        while (end := seen.find(b"\r\n\r\n")) < 0:
            seen += receive(self.connection)
        head = seen[:end].lower()
        length = head.find(b"content-length:")
        rest = int(head[length + 15:].split(b"\r\n")[0]) if length >= 0 else 0
        while len(seen) < end + 4 + rest:
            seen += receive(self.connection)
        return seen.split(b" ", 2)[1] in (b"200", b"201")


class Nats:
    def __init__(self, connection):
        self.connection = connection
        connection.sendall(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB commits 1\r\n')
        self.request = f"PUB {QUEUE} commits {PAYLOAD_BYTES}\r\n{payload()}\r\n".encode()

    def once(self):
        """True if it was taken."""
        self.connection.sendall(self.request)
        seen = b""
        while True:
            while (end := seen.find(b"\r\n")) < 0:
                seen += receive(self.connection)
            line, seen = seen[:end], seen[end + 2:]
            if line.startswith(b"-ERR"):
                raise OSError(line.decode(errors="replace"))
            if line == b"PING":
                self.connection.sendall(b"PONG\r\n")
            if line.startswith((b"MSG ", b"HMSG ")):
                size = int(line.split()[-1]) + 2
                while len(seen) < size:
                    seen += receive(self.connection)
                return line.startswith(b"MSG ") and b'"error"' not in seen


def receive(connection):
    data = connection.recv(65536)
    if not data:
        raise OSError("the server has closed the connection")
    return data


class Ended(Exception):
    """Somebody has told us to stop."""


def end_it(*_):
    raise Ended


def measure(dialect, rate, until, samples):
    """Fills `samples` until then; returns how many were refused."""
    refused = 0
    due = now = time.monotonic()
    while max(due, now) < until:
        if now < due:
            time.sleep(due - now)
            began = time.monotonic()
        else:
            began = due
        taken = dialect.once()
        if taken:
            samples.append((began, time.monotonic() - began))
        else:
            refused += 1
            time.sleep(REFUSED_PAUSE_S)
        due += 1 / rate
        now = time.monotonic()
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
    try:
        signal.signal(signal.SIGTERM, end_it)
        with socket.create_connection(("127.0.0.1", options.port), timeout=ANSWER_LIMIT_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            dialect = {"jobbie": Jobbie, "nats": Nats}[options.dialect](connection)
            refused = measure(dialect, options.rate, begin + options.seconds, samples)
    except Ended:
        pass
    except OSError as error:
        failure = str(error)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    counted = [[at, took] for at, took in samples if at >= begin]
    print(json.dumps({"samples": counted, "refused": refused, "failure": failure}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
