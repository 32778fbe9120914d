#!/usr/bin/env python3
"""Throws requests made from the API's description at a server: well-formed ones and malformed ones.

    fuzz.py --binary build/release/jobbie [--examples N] [--seed N] [--venv DIR] [-- FLAGS OF SCHEMATHESIS]

It starts a server, gives it some jobs, and runs schemathesis (from PyPI, installed into DIR, by default
build/schemathesis) against every operation. No answer may be a 5xx, have a status or a type that is not
documented, or a body that does not fit its schema; and no request that the document forbids may be
accepted.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "crash"))

from client import Client  # noqa: E402
from server import Server  # noqa: E402

VERSION = "4.32.5"
API = "/api/v1"
# The rules between several fields are not in the schemas, so what these allow may still be refused. Which
# methods a path takes is looked at by openapi_test.py, which knows that GET /jobs/search asks for a job.
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
          "response_schema_conformance,negative_data_rejection")


def install(folder):
    """The program, installed if it is not there."""
    program = folder / "bin" / "schemathesis"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", f"schemathesis=={VERSION}"], check=True)
    return program


def furnish(client):
    """Jobs in every state, and one of everything else; their ids by the names of the paths' parts."""
    def post(path, body=None):
        return client.post(f"{API}/{path}", body if body is not None else {}).json

    known = {"queue": ["fuzz", "fuzz.other"], "group": ["fuzz"], "worker_id": ["fuzz"]}
    job = {"queue": "fuzz", "group": "fuzz", "tags": {"a": 1}, "unique_key": None, "max_retries": 2}
    jobs = post("enqueue/batch", {"jobs": [job] * 60, "batch": {"callback_queue": "fuzz.other"}})
    later = post("enqueue", {"queue": "fuzz.other", "delay": "1h"})
    waiting = post("enqueue", {"queue": "fuzz.other", "depends_on": [later["job_id"]]})
    claimed = post("fetch", {"queues": ["fuzz"], "worker_id": "fuzz", "count": 40, "lease_duration": "1h"})["jobs"]
    for i, one in enumerate(claimed[:30]):
        lease = {"lease_id": one["lease_id"]}
        if i % 3 == 0:
            post(f"ack/{one['job_id']}", dict(lease, result={"i": i}))
        else:
            post(f"fail/{one['job_id']}", dict(lease, error=f"boom {i}", retry=i % 3 == 1))
    post(f"jobs/{claimed[-1]['job_id']}/logs", {"lines": [{"message": "hello"}]})
    schedules = [post("schedules", {"name": f"s{i}", "cron": "0 0 1 1 *", "queue": "fuzz.other"}) for i in range(5)]
    many = [{"queue": "fuzz.many"}] * 5001
    for _ in range(2):
        post("enqueue/batch", {"jobs": many})
    bulk = post("jobs/bulk", {"filter": {"queue": "fuzz.many"}, "action": "cancel"})
    groups = client.get(f"{API}/errors").json["groups"]
    known["job_id"] = jobs["job_ids"] + [later["job_id"], waiting["job_id"]]
    known["batch_id"] = [jobs["batch_id"]]
    known["schedule_id"] = [schedule["id"] for schedule in schedules]
    known["bulk_id"] = [bulk["bulk_operation_id"]]
    known["fingerprint"] = [group["fingerprint"] for group in groups]
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--examples", type=int, default=100, help="of each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--port", type=int)
    parser.add_argument("--venv", type=pathlib.Path, default=ROOT / "build" / "schemathesis")
    parser.add_argument("flags", nargs="*")
    options = parser.parse_args()
    program = install(options.venv)
    folder = tempfile.mkdtemp(prefix="jobbie-fuzz-")
    server = Server(os.path.abspath(options.binary), os.path.join(folder, "data"), port=options.port)
    try:
        server.start()
        environment = dict(os.environ, SCHEMATHESIS_HOOKS="fuzz_hooks", PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1",
                           JOBBIE_FUZZ_KNOWN=json.dumps(furnish(Client(server.port))))
        url = f"http://127.0.0.1:{server.port}"
        done = subprocess.run(
            [program, "--config-file", HERE / "schemathesis.toml", "run", f"{url}{API}/openapi.json", "--checks", CHECKS,
             "--phases", "examples,coverage,fuzzing", "--max-examples", str(options.examples),
             "--seed", str(options.seed), "--request-timeout", "20",
             "--exclude-path", f"{API}/events", "--suppress-health-check", "all", "--continue-on-failure",
             "--no-color", *options.flags],
            cwd=folder, env=environment, check=False)
        server.stop()
        return done.returncode
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
