"""What clients asked and what they were told: the only thing the auditor believes.

A call is `ok` (answered with success), `refused` (answered with an error that promises that nothing
changed) or `unknown` (the connection broke, or the answer leaves it open). Times are wall-clock seconds,
because the server's own times are compared with them; both run on one machine.
"""

import dataclasses
import threading

OK = "ok"
REFUSED = "refused"
UNKNOWN = "unknown"

# Kinds of calls. A fetch that settles jobs on the way is recorded as a fetch and one settle each.
ENQUEUE, BATCH, FETCH, ACK, FAIL, BEAT, CANCEL = "enqueue", "batch", "fetch", "ack", "fail", "beat", "cancel"

ENDED = ("completed", "dead", "cancelled")


@dataclasses.dataclass(slots=True)
class Call:
    """One call. `args` is what was meant, `reply` the decoded answer (None unless ok)."""

    kind: str
    invoked: float
    ended: float
    outcome: str
    args: dict
    reply: dict | None = None
    status: int = 0


@dataclasses.dataclass(slots=True)
class Status:
    """One answer of cluster/status. `life` counts the server's processes; `node` is its name in a cluster."""

    life: int
    at: float
    index: int
    hash: str
    stored: int = 0
    durable: int = 0
    node: str = ""
    term: int = 0


class History:
    """Collects calls from many threads."""

    def __init__(self):
        self._lock = threading.Lock()
        self.calls = []
        self.statuses = []
        self.stops = []  # (from, to): a graceful stop was under way, so fetches may come back empty
        self.gaps = []   # (from, to): nobody led for some of it, so leases may have been extended by as much

    def add(self, call):
        with self._lock:
            self.calls.append(call)

    def add_status(self, status):
        with self._lock:
            self.statuses.append(status)

    def add_stop(self, start, end):
        with self._lock:
            self.stops.append((start, end))

    def add_gap(self, start, end):
        with self._lock:
            self.gaps.append((start, end))

    def take(self):
        """Everything so far, as a history of its own; this one goes on empty."""
        taken = History()
        with self._lock:
            taken.calls, self.calls = self.calls, []
            taken.statuses, self.statuses = self.statuses, []
            taken.stops, self.stops = self.stops, []
            taken.gaps, self.gaps = self.gaps, []
        return taken


@dataclasses.dataclass(slots=True)
class Final:
    """How a job stands once all faults have healed, as the server or its database tells it."""

    job_id: str
    queue: str
    state: str
    token: str | None
    attempt: int
    max_retries: int
    created_at: float
    ended_at: float | None
    result: object = None
    unique_key: str | None = None
    batch_id: str | None = None
    payload: object = None
    scheduled_at: float | None = None
