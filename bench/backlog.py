#!/usr/bin/env python3
"""A large backlog: what it takes in memory, and how long a server takes to start with it.

    python3 bench/backlog.py --binary build/release/jobbie --jobs 5000000
"""

import argparse
import contextlib
import http.client
import json
import shutil
import subprocess
import tempfile
import time

PORT = 18081
BATCH = 10_000
PAYLOAD_BYTES = 200


def start(binary, folder, port=PORT):
    """The process, and the seconds until it was ready."""
    began = time.monotonic()
    process = subprocess.Popen([binary, "server", "--data-dir", folder, "--http", f"127.0.0.1:{port}"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}")
        try:
            client = http.client.HTTPConnection("127.0.0.1", port)
            client.request("GET", "/readyz")
            if client.getresponse().status == 200:
                return process, time.monotonic() - began
        except OSError:
            pass
        time.sleep(0.02)


@contextlib.contextmanager
def fresh_server(binary, directory, port=PORT):
    """A server with a folder of its own, both gone afterwards: the process and the folder."""
    folder = tempfile.mkdtemp(prefix="jobbie-bench-", dir=directory)
    try:
        process, _ = start(binary, folder, port)
        try:
            yield process, folder
        finally:
            process.terminate()
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def resident_mib(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    raise SystemExit("no VmRSS")


def fill(jobs):
    client = http.client.HTTPConnection("127.0.0.1", PORT)
    payload = {"data": "x" * (PAYLOAD_BYTES - len('{"data": ""}'))}
    done = 0
    while done < jobs:
        count = min(BATCH, jobs - done)
        body = json.dumps({"jobs": [{"queue": "backlog", "payload": payload}] * count})
        client.request("POST", "/api/v1/enqueue/batch", body, {"Content-Type": "application/json"})
        answer = client.getresponse()
        answer.read()
        if answer.status == 429:
            time.sleep(0.1)
            continue
        if answer.status != 201:
            raise SystemExit(f"enqueue answered {answer.status}")
        done += count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--directory", default=None, help="where the data goes; the system's for temporary files")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="jobbie-backlog-", dir=options.directory)
    try:
        process, _ = start(options.binary, folder)
        print(f"empty: {resident_mib(process):.0f} MiB")
        began = time.monotonic()
        fill(options.jobs)
        print(f"{options.jobs} jobs of {PAYLOAD_BYTES} bytes: {time.monotonic() - began:.1f} s, "
              f"{resident_mib(process):.0f} MiB at once")
        time.sleep(15)  # what was only needed for the way in is given back
        mib = resident_mib(process)
        print(f"at rest: {mib:.0f} MiB, {mib * 1048576 / options.jobs:.0f} bytes a job with its payload")
        process.kill()
        process.wait()
        process, seconds = start(options.binary, folder)
        print(f"start after a kill: {seconds:.1f} s, {resident_mib(process):.0f} MiB")
        process.terminate()
        process.wait()
        process, seconds = start(options.binary, folder)
        print(f"start after a stop: {seconds:.1f} s, {resident_mib(process):.0f} MiB")
        process.terminate()
        process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
