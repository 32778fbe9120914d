"""What producers and workers share: the world they live in, and how they speak to the server."""

import collections
import datetime
import random
import threading
import time

from client import Broken, Client, NotSent
from history import OK, REFUSED, UNKNOWN, Call

API = "/api/v1"
QUEUES = ["w.a", "w.b", "w.c", "w.slow"]
CALLBACK_QUEUE = "cb"

# Answers that leave nothing behind, beside all 4xx.
CHANGED_NOTHING = {429, 507}
# Refusals that are part of the game: (kind, status). Everything else is reported.
EXPECTED_REFUSALS = {("ack", 409), ("fail", 409), ("cancel", 409), ("beat", 200)}
OVERLOAD = {429, 503}


def rfc3339(seconds):
    at = datetime.datetime.fromtimestamp(round(seconds * 1000) / 1000, datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text):
    """An RFC 3339 time as seconds since the epoch, to the millisecond."""
    if text is None:
        return None
    at = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(at.timestamp() * 1000) / 1000


class World:
    """What all threads see. Plain flags: a late look costs one more call, nothing else."""

    def __init__(self, port, history, seed, rate=1.0, addresses=None):
        self.addresses = addresses or [("127.0.0.1", port)]
        self.history = history
        self.seed = seed
        self.rate = rate
        self.running = True
        self.producing = False
        self.kind = True       # workers settle at once and well: faults are over
        self.resting = True    # nobody calls the server
        self.large = False     # payloads that fill segments
        self.can_cancel = True
        self.clocks_jump = False  # the server's time and the clients' differ
        self.limited = []         # further queues, which have limits
        self.refusals = collections.Counter()
        self.crashes = []
        self._lock = threading.Lock()
        self._busy = 0
        self._tokens = 0

    def token(self, prefix="t"):
        with self._lock:
            self._tokens += 1
            return f"{prefix}-{self.seed}-{self._tokens}"

    def enter(self):
        with self._lock:
            if self.resting or not self.running:
                return False
            self._busy += 1
            return True

    def leave(self):
        with self._lock:
            self._busy -= 1

    def rest(self, within_s=15.0):
        """Lets every call under way end, and allows no other."""
        with self._lock:
            self.resting = True
        deadline = time.time() + within_s
        while self._busy:
            if time.time() > deadline:
                raise TimeoutError(f"{self._busy} calls still under way after {within_s} s")
            time.sleep(0.005)

    def note_refusal(self, kind, answer):
        if (kind, answer.status) not in EXPECTED_REFUSALS and answer.status not in OVERLOAD:
            with self._lock:
                self.refusals[(kind, answer.status, answer.code, bytes(answer.body[:200]))] += 1


class Actor(threading.Thread):
    """A producer or a worker: one thread, one connection, one stream of random numbers."""

    def __init__(self, world, name):
        super().__init__(name=name, daemon=True)
        self.world = world
        self.random = random.Random(f"{world.seed}:{name}")
        host, port = self.random.choice(world.addresses)
        self.client = Client(port, timeout=20.0, host=host)

    def run(self):
        world = self.world
        while world.running:
            if not world.enter():
                time.sleep(0.01)
                continue
            try:
                self.act()
            except Exception as error:  # a bug of the harness or an answer of unknown shape
                world.crashes.append(f"{self.name}: {type(error).__name__}: {error}")
                raise
            finally:
                world.leave()
            time.sleep(self.pause())
        self.client.close()

    def act(self):
        raise NotImplementedError

    def pause(self):
        return 0.0

    def forget(self):
        """An epoch is over: what it still meant to do with its jobs is dropped."""

    def move_on(self):
        """To another node, where there are several."""
        if len(self.world.addresses) > 1:
            others = [address for address in self.world.addresses if address != self.client.address]
            self.client.use(*self.random.choice(others))

    def send(self, kind, path, body, headers=None):
        """(outcome, answer, invoked, ended); the outcome is None if nothing was sent."""
        invoked = time.time()
        try:
            answer = self.client.post(API + path, body, headers=headers)
        except NotSent:
            self.move_on()
            time.sleep(0.004)
            return None, None, invoked, invoked
        except Broken:
            self.move_on()
            return UNKNOWN, None, invoked, time.time()
        ended = time.time()
        if answer.status in (200, 201, 202, 204):
            return OK, answer, invoked, ended
        self.world.note_refusal(kind, answer)
        if answer.status == 503 or answer.status == 507:
            self.move_on()
        if answer.status in CHANGED_NOTHING or 400 <= answer.status < 500:
            return REFUSED, answer, invoked, ended
        sure = answer.status == 503 and answer.code not in ("", "outcome_unknown")
        return (REFUSED if sure else UNKNOWN), answer, invoked, ended

    def record(self, kind, invoked, ended, outcome, args, reply=None, status=0):
        self.world.history.add(Call(kind, invoked, ended, outcome, args, reply, status))
