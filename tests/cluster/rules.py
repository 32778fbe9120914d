"""What runs beside the workload of chaos.py: a schedule, limited queues, and how they are audited."""

import json
import os
import sqlite3
import time

from cluster import Broken, NotSent, ServerError

from audit_limits import check_concurrency, check_rate, check_schedule  # noqa: E402  of tests/crash

CONCURRENCY = {"w.few": 3}
RATES = {"w.rate": (40, 1.0)}
CRON_QUEUE = "w.cron"
PATIENCE_S = 30.0


class Rules:
    """Limits for the whole run, and a schedule that runs every second for each epoch."""

    queues = [*CONCURRENCY, *RATES]

    def __init__(self, cluster):
        self.cluster = cluster
        self.epoch = 0
        self.schedule = None

    @property
    def token(self):
        return f"cron-{self.epoch}"

    def insist(self, method, path, body, good):
        """Until somebody has done it: it may be asked for twice."""
        deadline = time.time() + PATIENCE_S
        while True:
            for node in self.cluster.awake():
                try:
                    answer = node.call(method, path, body, timeout=10)
                except (NotSent, Broken):
                    continue
                if answer.status in good:
                    return answer
            if time.time() > deadline:
                raise ServerError(f"{method} {path} not within {PATIENCE_S} s")
            time.sleep(0.05)

    def set_limits(self):
        for queue, most in CONCURRENCY.items():
            self.insist("POST", f"/queues/{queue}/concurrency", {"max": most}, (200,))
        for queue, (rate, period) in RATES.items():
            self.insist("POST", f"/queues/{queue}/throttle", {"rate": rate, "period": period}, (200,))

    def begin(self):
        self.epoch += 1
        wanted = {"name": self.token, "cron": "* * * * * *", "queue": CRON_QUEUE, "catch_up": "all",
                  "payload": {"t": self.token}, "retry_backoff": "none", "max_retries": 6}
        self.insist("POST", "/schedules", wanted, (201, 409))
        listed = self.insist("GET", "/schedules?consistency=strong", None, (200,))
        self.schedule = next(row["id"] for row in listed.json["schedules"] if row["name"] == self.token)

    def end(self):
        self.insist("DELETE", f"/schedules/{self.schedule}", None, (200, 404))

    def audit(self, audit, data_dir, after):
        """By the database of one node; all hold the same."""
        path = os.path.join(data_dir, "jobbie.db")
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            runs = connection.execute("SELECT nominal_at, payload FROM job_rows WHERE seq > ? AND nominal_at IS NOT NULL",
                                      (after,)).fetchall()
            attempts = {queue: attempts_in(connection, queue, after) for queue in self.queues}
        finally:
            connection.close()
        check_schedule(audit, self.token, [at / 1000 for at, payload in runs if json.loads(payload)["t"] == self.token])
        for queue, most in CONCURRENCY.items():
            check_concurrency(audit, queue, most, attempts[queue])
        for queue, (rate, period) in RATES.items():
            check_rate(audit, queue, rate, period, attempts[queue])
        return {"cron": len(runs), **{queue: len(found) for queue, found in attempts.items()}}


def attempts_in(connection, queue, after):
    """(started, ended) of every attempt, those that nobody was told of included."""
    failed = connection.execute(
        "SELECT e.started_at, e.created_at FROM job_rows j JOIN job_error_rows e ON e.job = j.seq "
        "WHERE j.queue = ? AND j.seq > ? AND e.started_at IS NOT NULL", (queue, after)).fetchall()
    last = connection.execute(
        "SELECT started_at, ended_at FROM job_rows j WHERE queue = ? AND seq > ? AND started_at IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM job_error_rows e WHERE e.job = j.seq AND e.attempt = j.attempt)", (queue, after)).fetchall()
    return [(start / 1000, end / 1000) for start, end in failed + last]
