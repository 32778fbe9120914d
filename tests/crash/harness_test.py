#!/usr/bin/env python3
"""The harness itself: a sound stand-in passes, and one with a bug is caught by the check it breaks."""

import contextlib
import io
import os
import shlex
import shutil
import sys
import unittest

import crash

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_server.py")
SEED = 7
ROUNDS = 8  # a bug that needs a race may be missed once, on a slow machine; never this often


def run(bug=None, kills=4, seed=SEED):
    binary = shlex.join([sys.executable, FAKE] + (["--bug", bug] if bug else []))
    harness = crash.Run(crash.parse(["--binary", binary, "--kills", str(kills), "--epoch", str(kills),
                                     "--seed", str(seed)]))
    with contextlib.redirect_stdout(io.StringIO()):
        findings = harness.go()
    shutil.rmtree(harness.folder, ignore_errors=True)
    return findings


class Harness(unittest.TestCase):
    def test_a_sound_server_passes(self):
        self.assertEqual(run(), [])

    def expect(self, bug, invariant):
        seen = []
        for seed in range(SEED, SEED + ROUNDS):
            findings = run(bug, seed=seed)
            if any(text.startswith(invariant + ":") for text in findings):
                return
            seen += findings
        self.fail(f"{bug}: no {invariant} in {ROUNDS} rounds, only {seen[:10]}")

    def test_acknowledged_before_it_is_written(self):
        self.expect("lose-tail", "I1")

    def test_an_ack_without_a_fence(self):
        self.expect("unfenced", "I8")

    def test_leases_that_end_early(self):
        self.expect("short-lease", "I12")

    def test_batches_without_callback(self):
        self.expect("forget-batch", "I25")

    def test_unique_keys_ignored(self):
        self.expect("double-unique", "I15")

    def test_results_not_kept(self):
        self.expect("lose-result", "I9")

    def test_leases_given_out_twice(self):
        self.expect("reuse-lease", "I7")


if __name__ == "__main__":
    unittest.main()
