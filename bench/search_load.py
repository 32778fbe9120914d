#!/usr/bin/env python3
"""How much of its job rate a server keeps while somebody searches a large history.

    python3 bench/search_load.py --binary build/release/jobbie --bench-load build/release/bin/bench_load

Fills a server with pending jobs in one queue, then measures jobs a second in another, one by one with 50 producers
and 50 workers: by itself, with one search begun every second, and with one search after the other. The three take
turns within each round, so that a machine whose speed changes does them equal harm; the ratios are of one round, and
the median over the rounds is shown. Searches are by turns a substring and two jq expressions that no job matches, so
each reads all jobs that were there before the first round.
"""

import argparse
import http.client
import json
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

BATCH = 10_000
QUEUE = "history"
SEARCHES = [
    {"payload_contains": "user-1@"},
    {"payload_jq": '.to == "user-1@example.com"'},
    {"payload_jq": ".amount > 1000"},
]
BODY = "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod"
HEADERS = {"Content-Type": "application/json"}


def start(options, folder):
    process = subprocess.Popen(
        [options.binary, "server", "--data-dir", folder, "--http", f"127.0.0.1:{options.port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            client = http.client.HTTPConnection("127.0.0.1", options.port)
            client.request("GET", "/readyz")
            if client.getresponse().status == 200:
                return process
        except OSError:
            pass
        time.sleep(0.05)


def fill(options):
    client = http.client.HTTPConnection("127.0.0.1", options.port)
    done = 0
    while done < options.jobs:
        count = min(BATCH, options.jobs - done)
        jobs = [{"queue": QUEUE, "payload": {"to": f"user{done + i}@example.com", "amount": (done + i) % 1000,
                                             "body": BODY}} for i in range(count)]
        client.request("POST", "/api/v1/enqueue/batch", json.dumps({"jobs": jobs}), HEADERS)
        answer = client.getresponse()
        answer.read()
        if answer.status == 429:
            time.sleep(0.1)
        elif answer.status == 201:
            done += count
        else:
            raise SystemExit(f"enqueue answered {answer.status}")


class Searching:
    """One client that searches until it is told to end; `pause` is the time from one beginning to the next."""

    def __init__(self, port, pause, before):
        self.milliseconds, self.refused = [], 0
        self._port, self._pause, self._before = port, pause, before
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        if self._pause is not None:
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        if self._pause is not None:
            self._thread.join()

    def _run(self):
        client = http.client.HTTPConnection("127.0.0.1", self._port)
        number = 0
        while not self._end.is_set():
            began = time.monotonic()
            wanted = SEARCHES[number % len(SEARCHES)] | {"created_before": self._before}
            client.request("POST", "/api/v1/jobs/search", json.dumps(wanted), HEADERS)
            answer = client.getresponse()
            body = json.loads(answer.read())
            number += 1
            took = time.monotonic() - began
            if answer.status != 200:
                self.refused += 1
            elif body["total"] != 0:
                raise SystemExit(f"a search found {body['total']} jobs, and there are none")
            else:
                self.milliseconds.append(took * 1000)
            self._end.wait(max(0.0, self._pause - took))


def rate(options):
    """Jobs a second, each enqueued, fetched and acknowledged by itself."""
    done = subprocess.run(
        [options.bench_load, "--dialect", "jobbie", "--mode", "both", "--port", str(options.port), "--producers", "50",
         "--workers", "50", "--seconds", str(options.seconds), "--warm-up", "0.5"],
        check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["acked_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/jobbie")
    parser.add_argument("--bench-load", default="build/release/bin/bench_load")
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--port", type=int, default=18082)
    parser.add_argument("--directory", default=None, help="where the data goes; the system's for temporary files")
    options = parser.parse_args()
    ways = {"one search a second": 1.0, "one search after the other": 0.0}
    ratios = {name: [] for name in ways}
    times = {name: [] for name in ways}
    alone, refused = [], 0
    folder = tempfile.mkdtemp(prefix="jobbie-search-load-", dir=options.directory)
    process = start(options, folder)
    try:
        fill(options)
        time.sleep(1)
        filled = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for number in range(options.rounds):
            before = rate(options)
            alone.append(before)
            line = f"round {number + 1}: alone {before:,.0f}/s"
            for name, pause in ways.items():
                with Searching(options.port, pause, filled) as searching:
                    seen = rate(options)
                ratios[name].append(seen / before)
                times[name] += searching.milliseconds
                refused += searching.refused
                line += f", {name} {seen:,.0f}/s"
            print(line, flush=True)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{options.jobs:,} jobs; alone {statistics.median(alone):,.0f} jobs/s (median); {refused} searches refused")
    for name in ways:
        took = sorted(times[name])
        shown = f"{len(took)} searches, median {statistics.median(took):,.0f} ms" if took else "no search ended"
        print(f"{name}: {100 * statistics.median(ratios[name]):.0f} % of the rate is left; {shown}")


if __name__ == "__main__":
    main()
