#!/usr/bin/env python3
"""A stand-in for the server that loses, doubles or forgets on request, to show that the harness sees it.

    fake_server.py [--bug NAME] server --data-dir DIR --http HOST:PORT
    fake_server.py db check --data-dir DIR

It keeps a journal of commands. Without a bug each line is written before the answer; `lose-tail` writes
them 100 ms later, so a kill loses what has been acknowledged.
"""

import http.server
import json
import os
import signal
import sqlite3
import sys
import threading
import time

from fake_engine import BUGS, Engine, milliseconds, show

LATE_S = 0.1


class Keeper:
    """The engine, its journal, and the lock around both."""

    def __init__(self, data_dir, bugs):
        os.makedirs(data_dir, exist_ok=True)
        self.data_dir = data_dir
        self.lock = threading.Condition()
        self.engine = Engine(bugs)
        self.late = "lose-tail" in bugs
        self.waiting = []
        path = os.path.join(data_dir, "journal")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as journal:
                lines = journal.read().split("\n")[:-1]  # a torn last line was not acknowledged
            for line in lines:
                self.engine.apply(*json.loads(line))
            with open(path, "w", encoding="utf-8") as journal:
                journal.write("".join(line + "\n" for line in lines))
        self.journal = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if self.late:
            threading.Thread(target=self.flush_late, daemon=True).start()

    def run(self, name, **args):
        with self.lock:
            return self.run_locked(name, args)

    def run_locked(self, name, args):
        now = round(time.time() * 1000)
        self.waiting.append(json.dumps([now, name, args]) + "\n")
        if not self.late:
            self.flush()
        reply = self.engine.apply(now, name, args)
        self.lock.notify_all()
        return reply

    def flush(self):
        lines, self.waiting = self.waiting, []
        os.write(self.journal, "".join(lines).encode())

    def flush_late(self):
        while True:
            time.sleep(LATE_S)
            with self.lock:
                self.flush()

    def fetch(self, body):
        deadline = time.time() + float(body.get("timeout", 0))
        args = {"names": body["queues"], "count": body.get("count", 1),
                "lease_ms": milliseconds(body["lease_duration"])}
        with self.lock:
            while True:
                _, jobs = self.run_locked("fetch", args)
                left = deadline - time.time()
                if jobs or left <= 0:
                    return jobs
                self.lock.wait(min(left, 0.05))

    def close(self):
        with self.lock:
            self.flush()
            write_database(self.data_dir, self.engine)
            os._exit(0)


def write_database(data_dir, engine):
    path = os.path.join(data_dir, "jobbie.db")
    if os.path.exists(path):
        os.unlink(path)
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE jobs (id, queue, state, payload, attempt, max_retries, created_at, ended_at,"
                     " result, unique_key, batch_id, scheduled_at, seq)")
    for job in engine.jobs.values():
        database.execute("INSERT INTO jobs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", (
            job["id"], job["queue"], job["state"], json.dumps(job["payload"]), job["attempt"], job["max_retries"],
            show(job["created_at"]), show(job["ended_at"]), json.dumps(job["result"]), job["unique_key"],
            job["batch_id"], show(job["scheduled_at"]), job["seq"]))
    database.commit()
    database.close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together
    disable_nagle_algorithm = True
    keeper = None

    def log_message(self, *_):
        pass

    def answer(self, status, body=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        engine = self.keeper.engine
        if self.path == "/readyz":
            self.answer(200, {})
        elif self.path == "/api/v1/cluster/status":
            with self.keeper.lock:
                status = {"applied_index": engine.index, "state_hash": f"{engine.crc:08x}", "stored_index": 0,
                          "durable_index": 0, "live_jobs": len(engine.live)}
            self.answer(200, status)
        else:
            job_id = self.path.rsplit("/", 1)[1]
            with self.keeper.lock:
                job = engine.shown(job_id) if job_id in engine.jobs else None
            self.answer(200 if job else 404, job or {"code": "not_found"})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.removeprefix("/api/v1/").split("/")
        keeper = self.keeper
        if verb == ["enqueue"]:
            self.answer(*keeper.run("enqueue", spec=body, key=self.headers.get("Idempotency-Key")))
        elif verb == ["enqueue", "batch"]:
            self.answer(*keeper.run("enqueue_batch", jobs=body["jobs"], batch=body.get("batch")))
        elif verb[0] in ("ack", "fail"):
            self.answer(*keeper.run("settle", kind=verb[0], job_id=verb[1], item=body))
        elif verb == ["heartbeat"]:
            self.answer(*keeper.run("heartbeat", jobs=body["jobs"]))
        elif verb == ["fetch"]:
            self.fetch(body)
        else:
            self.answer(404, {"code": "no_such_endpoint"})

    def fetch(self, body):
        out = {}
        for kind, name in (("ack", "acked"), ("fail", "failed")):
            if kind in body:
                out[name] = [dict(self.keeper.run("settle", kind=kind, job_id=item["job_id"], item=item)[1],
                                  job_id=item["job_id"]) for item in body[kind]]
        jobs = self.keeper.fetch(body)
        if not jobs and not out:
            self.answer(204)
        elif "count" in body:
            self.answer(200, dict(out, jobs=jobs))
        else:
            self.answer(200, dict(out, **(jobs[0] if jobs else {"job_id": None})))


class Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    allow_reuse_address = True


def main():
    arguments = sys.argv[1:]
    bugs = []
    while arguments[0] == "--bug":
        bugs.append(arguments[1])
        arguments = arguments[2:]
    unknown = set(bugs) - set(BUGS)
    if unknown:
        sys.exit(f"no such bug: {unknown}")
    if arguments[0] != "server":
        return 0  # db check
    port = int(arguments[arguments.index("--http") + 1].rsplit(":", 1)[1])
    Handler.keeper = Keeper(arguments[arguments.index("--data-dir") + 1], bugs)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=Handler.keeper.close).start())
    Listener(("127.0.0.1", port), Handler).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
