#!/usr/bin/env python3
"""The rate beside a large backlog against that beside a small one: two servers, in turns.

    python3 bench/beside.py --binary build/release/jobbie --load build/release/bin/bench_load

One server has a thousand pending jobs and the other a million; 50 producers and 50 workers go from one to the other, so
that both have the same hours. Prints the medians, and the median of the ratios turn by turn.
"""

import argparse
import json
import statistics
import subprocess
import time
from contextlib import ExitStack

from backlog import fresh_server

SMALL, LARGE = 1_000, 1_000_000
PORTS = {SMALL: 21961, LARGE: 21962}
REST_S = 5
WINDOW = 500


def load(options, backlog, *arguments):
    command = [options.load, "--dialect", "jobbie", "--port", str(PORTS[backlog]), *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--directory", default="/var/tmp", help="where the data goes")
    options = parser.parse_args()
    seen = {SMALL: [], LARGE: []}
    with ExitStack() as servers:
        for backlog, port in PORTS.items():
            servers.enter_context(fresh_server(options.binary, options.directory, port))
            load(options, backlog, "--mode", "enqueue", "--put-batch", "1000", "--producers", "4", "--seconds", "100",
                 "--jobs", str(backlog), "--warm-up", "0")
        time.sleep(REST_S)
        for number in range(options.rounds):
            for backlog in (SMALL, LARGE) if number % 2 else (LARGE, SMALL):
                figures = load(options, backlog, "--mode", "both", "--seconds", str(options.seconds), "--warm-up", "0.5",
                               "--backlog", str(backlog), "--window", str(WINDOW))
                seen[backlog].append(figures["acked_per_second"])
    for backlog, rates in seen.items():
        print(f"{backlog:>9,} pending: {statistics.median(rates):>8,.0f} jobs/s ({min(rates):,.0f} to {max(rates):,.0f})")
    print(f"ratio {statistics.median(large / small for small, large in zip(seen[SMALL], seen[LARGE])):.2f}")


if __name__ == "__main__":
    main()
