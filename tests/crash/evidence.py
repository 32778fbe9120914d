"""How jobs stand once everything has healed: by the API, and by the database file itself."""

import json
import os
import sqlite3

from client import Client
from history import Final
from workload import API, seconds_of

COLUMNS = """id, queue, state, json_extract(payload, '$.t') AS token, attempt, max_retries, created_at, ended_at,
             result, unique_key, batch_id, scheduled_at, json_extract(payload, '$.batch') AS batch, seq"""


class EvidenceError(Exception):
    """The server would not say how a job stands."""


def final_of_answer(job):
    """A job as GET /api/v1/jobs/{id} shows it."""
    payload = job["payload"] or {}
    return Final(job["id"], job["queue"], job["state"], payload.get("t"), job["attempt"], job["max_retries"],
                 seconds_of(job["created_at"]), seconds_of(job["ended_at"]), job["result"], job["unique_key"],
                 job["batch_id"], {"batch": payload.get("batch")}, seconds_of(job.get("scheduled_at")))


def ask_jobs(port, ids, host="127.0.0.1"):
    """What the server says about each of `ids`; those it does not know are left out."""
    client = Client(port, host=host)
    finals = {}
    for job_id in ids:
        answer = client.get(f"{API}/jobs/{job_id}")
        if answer.status == 200:
            finals[job_id] = final_of_answer(answer.json)
        elif answer.status != 404:
            raise EvidenceError(f"GET {job_id} answered {answer.status}: {answer.body[:200]!r}")
    client.close()
    return finals


def read_database(data_dir, after=0):
    """All jobs numbered above `after`, and the highest number. The server must have stopped."""
    path = os.path.join(data_dir, "jobbie.db")
    finals, last = {}, after
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        for row in connection.execute(f"SELECT {COLUMNS} FROM jobs WHERE seq > ? ORDER BY seq", (after,)):
            last = row["seq"]
            batch = json.loads(row["batch"]) if row["batch"] else None
            finals[row["id"]] = Final(
                row["id"], row["queue"], row["state"], row["token"], row["attempt"], row["max_retries"],
                seconds_of(row["created_at"]), seconds_of(row["ended_at"]),
                json.loads(row["result"]) if row["result"] else None, row["unique_key"], row["batch_id"],
                {"batch": batch}, seconds_of(row["scheduled_at"]))
    finally:
        connection.close()
    return finals, last


def count_jobs(data_dir):
    connection = sqlite3.connect(f"file:{os.path.join(data_dir, 'jobbie.db')}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM jobs").fetchone()[0]
    finally:
        connection.close()
