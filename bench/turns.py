#!/usr/bin/env python3
"""Two or more builds of the server by turns, since the machine's hour matters more than most changes.

    python3 bench/turns.py --load build/release/bin/bench_load --rounds 6 /tmp/jobbie-before build/release/jobbie

Each turn is a fresh server: jobs one by one, then in batches of 1000 by 4 connections in, and out. Prints every turn,
and for each build the medians and its ratios to the first one, turn against turn.
"""

import argparse
import json
import statistics
import subprocess

from backlog import PORT, fresh_server

KINDS = ("one by one", "in batches in", "in batches out")


def load(options, *arguments):
    command = [options.load, "--dialect", "jobbie", "--port", str(PORT), "--warm-up", "0", *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def turn(options, binary):
    """The rates of one turn, in the order of KINDS."""
    with fresh_server(binary, options.directory):
        both = load(options, "--mode", "both", "--seconds", str(options.seconds))
        came = load(options, "--mode", "enqueue", "--put-batch", "1000", "--producers", "4",
                    "--seconds", str(options.seconds))
        went = load(options, "--mode", "consume", "--take-batch", "1000", "--workers", "4",
                    "--jobs", str(came["enqueued"]), "--seconds", "60")
    return both["acked_per_second"], came["enqueued_per_second"], went["acked_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--load", required=True)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--directory", default="/var/tmp", help="where the data goes")
    options = parser.parse_args()
    seen = {binary: [] for binary in options.binaries}
    print(f"{'':40}" + "".join(f"{kind:>16}" for kind in KINDS))
    for number in range(options.rounds):
        # Nobody is always first.
        first = number % len(options.binaries)
        for binary in options.binaries[first:] + options.binaries[:first]:
            seen[binary].append(turn(options, binary))
            print(f"{binary[-40:]:40}" + "".join(f"{rate:>16,.0f}" for rate in seen[binary][-1]), flush=True)
    base = seen[options.binaries[0]]
    for binary, rates in seen.items():
        print(f"{'median ' + binary[-33:]:40}" + "".join(f"{statistics.median(r):>16,.0f}" for r in zip(*rates)))
        ratios = [[mine / first for mine, first in zip(*pair)] for pair in zip(rates, base)]
        print(f"{'ratio':40}" + "".join(f"{statistics.median(r):>16.2f}" for r in zip(*ratios)))


if __name__ == "__main__":
    main()
