#!/usr/bin/env python3
"""Whether memory stays flat: many jobs through one server, in batches, and what it takes meanwhile.

    python3 bench/flat.py --binary build/release/jobbie --load build/release/bin/bench_load --jobs 10000000

Jobs are enqueued and completed 100 at a time by 4 producers and 4 workers, with the history kept as it is by default.
Prints resident memory and files after every tenth of them.
"""

import argparse
import json
import pathlib
import subprocess
import time

from backlog import PORT, fresh_server, resident_mib

TENTHS = 10
LOAD = ["--dialect", "jobbie", "--port", str(PORT), "--mode", "both", "--put-batch", "100", "--take-batch", "100",
        "--producers", "4", "--workers", "4", "--warm-up", "0", "--seconds", "5"]


def tell(done, rate, process, folder):
    files_mib = sum(f.stat().st_size for f in pathlib.Path(folder).rglob("*") if f.is_file()) / 1048576
    print(f"{done:>12} {rate:>9} {resident_mib(process):>12.0f} {files_mib:>9.0f}", flush=True)


def run(options, process, folder):
    print(f"{'jobs done':>12} {'jobs/s':>9} {'resident MiB':>12} {'files MiB':>9}")
    tell(0, "", process, folder)
    done = told = 0
    while done < options.jobs:
        load = subprocess.run([options.load, *LOAD], check=True, capture_output=True, text=True)
        figures = json.loads(load.stdout)
        done += figures["acked"]
        if done >= told + options.jobs // TENTHS:
            told = done
            tell(f"{done:,}", f"{figures['acked'] / figures['seconds']:,.0f}", process, folder)
    time.sleep(10)
    tell("after a rest", "", process, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    parser.add_argument("--directory", default="/var/tmp", help="where the data goes")
    options = parser.parse_args()
    with fresh_server(options.binary, options.directory) as (process, folder):
        run(options, process, folder)


if __name__ == "__main__":
    main()
