"""A wall clock for one process that can be set while it runs (tests/cluster/wrong_clock.cpp)."""

import math
import os
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "cluster" / "wrong_clock.cpp"
SHORTEST_JUMP_S, LONGEST_JUMP_S = 5.0, 86400.0


def build(folder):
    """The library that is preloaded."""
    path = os.path.join(folder, "wrong_clock.so")
    if not os.path.exists(path):
        subprocess.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", path, str(SOURCE)], check=True)
    return path


def draw_jump(random):
    """From seconds to a day, either way, each order of magnitude as often as the others."""
    length = math.exp(random.uniform(math.log(SHORTEST_JUMP_S), math.log(LONGEST_JUMP_S)))
    return length * random.choice([1, -1])


class WrongClock:
    """Right until it is set."""

    def __init__(self, folder, name):
        self.folder = folder
        self.path = os.path.join(folder, f"{name}.clock")
        self.set(0)

    def prefix(self):
        """What a command line begins with whose process reads this clock."""
        return ["env", f"LD_PRELOAD={build(self.folder)}", f"WRONG_CLOCK={self.path}"]

    def set(self, seconds):
        # In place: the process has the file mapped.
        mode = "r+b" if os.path.exists(self.path) else "wb"
        with open(self.path, mode) as out:
            out.write(struct.pack("<q", int(seconds * 1e9)))
