"""A single client that remembers what it was promised, for tests of one fault at a time."""

import time

from client import Broken, Client, NotSent

API = "/api/v1"


class Ledger:
    """Jobs that were acknowledged, by id: their payload, and their result once an ack was accepted."""

    def __init__(self, port):
        self.client = Client(port, timeout=15.0)
        self.payloads = {}
        self.results = {}
        self.last_ok = 0.0  # when the last acknowledgement arrived

    def use(self, port):
        self.client.close()
        self.client = Client(port, timeout=15.0)

    def enqueue(self, number, bytes_of_padding=0):
        """The status, or None if nobody knows."""
        payload = {"n": number, "pad": "p" * bytes_of_padding}
        try:
            answer = self.client.post(f"{API}/enqueue", {"queue": "ledger", "payload": payload})
        except (NotSent, Broken):
            return None
        if answer.status == 201:
            self.last_ok = time.time()
            self.payloads[answer.json["job_id"]] = payload
        return answer.status

    def fill(self, count, bytes_of_padding=0):
        """Enqueues until something else than 201 comes back; gives that, or 201."""
        for number in range(count):
            status = self.enqueue(len(self.payloads) + number, bytes_of_padding)
            if status != 201:
                return status
        return 201

    def complete(self, count):
        """Fetches and acks; gives the first status that is no success, or 200."""
        for _ in range(count):
            answer = self.client.post(f"{API}/fetch", {"queues": ["ledger"], "timeout": 0})
            if answer.status != 200:
                return answer.status
            job = answer.json
            result = {"done": job["payload"]["n"]}
            answer = self.client.post(f"{API}/ack/{job['job_id']}", {"lease_id": job["lease_id"], "result": result})
            if answer.status != 200:
                return answer.status
            self.last_ok = time.time()
            self.results[job["job_id"]] = result
        return 200

    def whisper(self, count):
        """Entries for the log that change nothing."""
        beat = {"jobs": {"job_00000000000000000000000001": {}}}
        for _ in range(count):
            self.client.post(f"{API}/heartbeat", beat)

    def missing(self):
        """What was promised and does not hold, as text."""
        wrong = []
        for job_id, payload in self.payloads.items():
            answer = self.client.get(f"{API}/jobs/{job_id}")
            if answer.status != 200:
                wrong.append(f"{job_id}: GET answers {answer.status}")
                continue
            job = answer.json
            if job["payload"] != payload:
                wrong.append(f"{job_id}: another payload")
            if job_id in self.results and (job["state"], job["result"]) != ("completed", self.results[job_id]):
                wrong.append(f"{job_id}: acked, and now {job['state']} with {job['result']!r}")
        return wrong
