#!/usr/bin/env python3
"""Every kind of request at its documented maximum, from a restricted key, while others go on working.

    hostile.py --binary build/release/jobbie [--seconds 3] [--only TEXT] [--list]

A case fails when another client's call takes longer than it may, when the server's memory grows past the case's
bound, when anything is answered with a 500, or when the server ends, or does not stop in time on SIGTERM. The
bounds are wide enough for a busy machine; the table shows what was seen.
"""

import argparse
import dataclasses
import os
import re
import sys

import cases_connections
import cases_manage
import cases_produce
import cases_read
import cases_work
from harness import HEADER, ROOT, Case, run_case

MODULES = (cases_produce, cases_work, cases_read, cases_manage, cases_connections)
METHODS = ("get", "post", "put", "patch", "delete")

# Operations without a case: what a restricted key cannot do, and what has no size to it.
NEEDS_ADMIN = ("/api/v1/keys", "/api/v1/audit", "/api/v1/webhooks", "/api/v1/cluster/", "/api/v1/backup")
WITHOUT_SIZE = ("GET /", "GET /healthz", "GET /readyz", "GET /api/v1/whoami", "GET /api/v1/openapi.json",
                "DELETE /api/v1/bulk/{bulk_id}", "GET /api/v1/batches/{batch_id}", "GET /api/v1/queues/{queue}",
                "GET /api/v1/workers/{worker_id}", "DELETE /api/v1/workers/{worker_id}",
                "GET /api/v1/schedules/{schedule_id}", "DELETE /api/v1/schedules/{schedule_id}")


@dataclasses.dataclass
class Bounds:
    p99_ms: float
    max_ms: float
    memory_factor: float


def all_cases():
    return [kind() for module in MODULES for kind in vars(module).values()
            if isinstance(kind, type) and issubclass(kind, Case) and kind is not Case and kind.title]


def operations():
    """Every operation of the API's description, as `POST /api/v1/fetch`."""
    found, path = [], ""
    for line in (ROOT / "api" / "openapi.yaml").read_text(encoding="utf-8").splitlines():
        if match := re.match(r"^  (/\S*):", line):
            path = match.group(1)
        elif match := re.match(r"^    (\w+):", line):
            if path and match.group(1) in METHODS:
                found.append(f"{match.group(1).upper()} {path}")
        elif line and not line.startswith(" "):
            path = ""
    return found


def uncovered():
    """Operations that no case sends, and names in cases that are no operations."""
    known = operations()
    covered = {name for case in all_cases() for name in case.covers}
    missing = [name for name in known if name not in covered and name not in WITHOUT_SIZE
               and not name.split(" ", 1)[1].startswith(NEEDS_ADMIN)]
    return missing + [f"{name}: no such operation" for name in sorted(covered - set(known))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each attack")
    parser.add_argument("--only", default="", help="cases whose title contains this text")
    parser.add_argument("--list", action="store_true", help="show the cases and end")
    parser.add_argument("--p99-ms", type=float, default=2000.0)
    parser.add_argument("--max-ms", type=float, default=3000.0)
    parser.add_argument("--memory-factor", type=float, default=1.0, help="of the bounds in memory: sanitizers need more")
    options = parser.parse_args()
    cases = [case for case in all_cases() if options.only in case.title]
    if options.list:
        print("\n".join(f"{case.title}: {', '.join(case.covers)}" for case in cases))
        return 0
    bounds = Bounds(options.p99_ms, options.max_ms, options.memory_factor)
    failed = 0
    if missing := uncovered():
        print("operations that no case sends at their maximum:", *missing, sep="\n  ")
        failed += 1
    print(HEADER, flush=True)
    for case in cases:
        verdict = run_case(case, os.path.abspath(options.binary), options.seconds, bounds)
        print(verdict.row(), flush=True)
        for fault in verdict.faults:
            print(f"  FAILED: {fault}", flush=True)
        failed += bool(verdict.faults)
    print(f"{len(cases) + 1 - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
