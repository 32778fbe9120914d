"""Moments at which a server is killed."""

import os
import time

from wrong_clock import draw_jump

# How long to wait for the moment before killing anyway.
WATCH_S = 0.4
ROLL_WATCH_S = 1.5
BACKFILL_WATCH_S = 12.0  # the database's own log is copied into its main file every ten seconds
JUMPS = 0.5  # of all kills, with a clock of one's own
MODES = [("uniform", 0.45), ("startup", 0.20), ("checkpoint", 0.14), ("roll", 0.08), ("stop", 0.12),
         ("backfill", 0.01)]


def choose(random):
    draw = random.random()
    for name, share in MODES:
        if draw < share:
            return name
        draw -= share
    return "uniform"


def wait_for_change(look, within_s):
    """Until `look()` gives something else, looking every half millisecond or so."""
    before = look()
    deadline = time.time() + within_s
    while time.time() < deadline:
        if look() != before:
            return True
        time.sleep(0.0005)
    return False


def shape_of(path):
    try:
        found = os.stat(path)
        return found.st_size, found.st_mtime_ns
    except OSError:
        return None


def names_in(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


# By how much a server may think that it was down for longer.
UNSURE_S = 1.0

class Chaos:
    """Kills and restarts one server, and remembers how often in which way."""

    def __init__(self, server, world, history, random, clock=None):
        self.server = server
        self.world = world
        self.history = history
        self.random = random
        self.clock = clock  # jumps now and then; None: it is right
        self.counts = {name: 0 for name, _ in MODES}
        self.met = {"checkpoint": 0, "roll": 0, "stop": 0, "backfill": 0, "jump": 0}
        self.starts_s = []

    def cycle(self):
        """One kill and the start after it. The server is up before and after."""
        mode = choose(self.random)
        self.counts[mode] += 1
        if self.clock and self.random.random() < JUMPS:
            self.clock.set(draw_jump(self.random))
            self.met["jump"] += 1
        getattr(self, "kill_" + mode)()
        self.start(mode)

    def start(self, after="rest"):
        began = time.time()
        self.server.spawn()
        self.server.wait_ready()
        # The server knows only roughly when its predecessor was last alive.
        self.history.add_gap(min(self.server.down_since, began) - UNSURE_S, time.time())
        self.starts_s.append((time.time() - began, after, self.server.life))

    def kill_uniform(self):
        time.sleep(self.random.uniform(0.02, 0.6))
        self.server.kill()

    def kill_startup(self):
        """Killed once while running, then again within its start."""
        time.sleep(self.random.uniform(0.0, 0.2))
        self.server.kill()
        self.server.spawn()
        time.sleep(self.random.uniform(0.0, 0.08))
        self.server.kill()

    def kill_checkpoint(self):
        """While the database is being written."""
        time.sleep(self.random.uniform(0.0, 0.2))
        path = os.path.join(self.server.data_dir, "jobbie.db-wal")
        self.met["checkpoint"] += wait_for_change(lambda: shape_of(path), WATCH_S)
        time.sleep(self.random.choice([0, 0, 0.001, 0.005]))
        self.server.kill()

    def kill_backfill(self):
        """While the database takes in its own log, behind which ours is cut."""
        path = os.path.join(self.server.data_dir, "jobbie.db")
        self.met["backfill"] += wait_for_change(lambda: shape_of(path), BACKFILL_WATCH_S)
        time.sleep(self.random.choice([0, 0.002, 0.3, 0.6]) * self.random.random())
        self.server.kill()

    def kill_roll(self):
        """While the log goes on to its next segment."""
        self.world.large = True
        path = os.path.join(self.server.data_dir, "log")
        self.met["roll"] += wait_for_change(lambda: names_in(path), ROLL_WATCH_S)
        self.world.large = False
        self.server.kill()

    def kill_stop(self):
        """In the middle of a graceful stop, if it takes that long."""
        time.sleep(self.random.uniform(0.02, 0.3))
        began = time.time()
        self.server.terminate()
        time.sleep(self.random.choice([0, 0.002, 0.01, 0.05, 0.3]) * self.random.random())
        if self.server.process.poll() is None:
            self.met["stop"] += 1
            self.server.kill()
        elif self.server.process.returncode != 0:
            self.server.stop()  # tells what went wrong
        self.history.add_stop(began, time.time())
