#!/usr/bin/env python3
"""Whether memory stays flat: many jobs through one server, in batches, and what it takes meanwhile.

    python3 bench/flat.py --binary build/release/jobbie --load build/release/bin/bench_load --jobs 10000000

Jobs are enqueued and completed 100 at a time by 4 producers and 4 workers, with the history kept as it is by default.
Prints resident memory and files after every tenth of them.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.request

TENTHS = 10


def resident_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Rss:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no resident memory")


def files_mb(directory):
    return sum(f.stat().st_size for f in pathlib.Path(directory).rglob("*") if f.is_file()) / 1e6


def wait_until_ready(url):
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{url}/readyz", timeout=1)
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server does not start")


def run(arguments, directory):
    url = f"http://127.0.0.1:{arguments.port}"
    server = subprocess.Popen([arguments.binary, "server", "--data-dir", directory, "--http",
                               f"127.0.0.1:{arguments.port}"], stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(url)
        print(f"{'jobs done':>12} {'jobs/s':>9} {'resident MB':>12} {'files MB':>9}")
        print(f"{0:>12} {'':>9} {resident_mb(server.pid):>12.0f} {files_mb(directory):>9.0f}")
        done = told = 0
        while done < arguments.jobs:
            load = subprocess.run(
                [arguments.load, "--dialect", "jobbie", "--port", str(arguments.port), "--mode", "both",
                 "--put-batch", "100", "--take-batch", "100", "--producers", "4", "--workers", "4", "--warm-up", "0",
                 "--seconds", "5"],
                check=True, capture_output=True, text=True)
            figures = json.loads(load.stdout)
            done += figures["acked"]
            if done < told + arguments.jobs // TENTHS:
                continue
            told = done
            print(f"{done:>12,} {figures['acked'] / figures['seconds']:>9,.0f} {resident_mb(server.pid):>12.0f} "
                  f"{files_mb(directory):>9.0f}", flush=True)
        time.sleep(10)
        print(f"{'after a rest':>12} {'':>9} {resident_mb(server.pid):>12.0f} {files_mb(directory):>9.0f}")
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--load", required=True)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    parser.add_argument("--port", type=int, default=18085)
    parser.add_argument("--directory", default="/var/tmp")
    arguments = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="jobbie-flat-", dir=arguments.directory)
    try:
        run(arguments, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
