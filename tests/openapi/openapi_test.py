#!/usr/bin/env python3
"""Holds the running server against the description that it gives of itself.

    openapi_test.py --binary build/release/jobbie

Every answer to the conformance cases, and to some requests that those do not make, must be as the
document says: status, type and body, without members that it does not name. Every request that was
accepted must be allowed by it. Every operation must have been seen to succeed, and no path may take a
method that the document does not have.
"""

import argparse
import http.client
import json
import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("conformance", "e2e"):
    sys.path.insert(0, str(HERE.parent / folder))

import run as conformance  # noqa: E402
from document import Document, Undocumented  # noqa: E402
from support import API, EndToEnd, Options, Server, free_port  # noqa: E402

# What a single server refuses.
OF_A_CLUSTER = {f"POST {API}/cluster/transfer", f"POST {API}/cluster/nodes", f"DELETE {API}/cluster/nodes/{{node}}",
                f"POST {API}/cluster/snapshot"}
# Streams have no end: of these only the head is looked at.
STREAM = "text/event-stream"


class Checked(conformance.Runner):
    """Runs cases and looks at every answer."""

    def __init__(self, url, document):
        super().__init__(url)
        self.document = document
        self.faults = {}
        self.succeeded = set()

    def send(self, request):
        status, headers, raw = super().send(request)
        try:
            self.look(request, status, headers, raw)
        except Undocumented as fault:
            self.faults.setdefault(str(fault), request)
        return status, headers, raw

    def look(self, request, status, headers, raw):
        content_type = headers.get("content-type", "")
        body = json.loads(raw) if raw and "json" in content_type else None
        path, _, query = request["path"].partition("?")
        method = request["method"].lower()
        name = self.document.path_of(path)
        operation = self.document.operations.get((name, "get" if method == "head" else method))
        where = f"{request['method']} {path}"
        if operation is None:
            if status not in (400, 404, 405):
                raise Undocumented(f"{where} answers {status}, and is not documented")
            return self.document.check_problem(status, content_type, body, where)
        if method == "head" or (status == 400 and body and body["code"] == "bad_path"):
            return None
        operation.check_answer(status, content_type, body)
        if status < 400:
            self.succeeded.add(str(operation))
            operation.check_request(query, self.sent(request))
        else:
            self.document.check_problem(status, content_type, body, where)
        return None

    @staticmethod
    def sent(request):
        if "raw" not in request:
            return request.get("body")
        return json.loads(request["raw"]) if request["raw"] else None


class OpenApi(EndToEnd):
    def setUp(self):
        super().setUp()
        self.server = self.serve()
        answer = self.client(self.server).get(f"{API}/openapi.json")
        self.assertEqual(answer.status, 200, answer.body)
        self.document = Document(answer.json)
        self.url = f"http://127.0.0.1:{self.server.port}"

    def head_of(self, path, headers):
        """Status and headers of an answer whose body is left unread."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=20)
        self.addCleanup(connection.close)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("content-type", "")

    def test_answers_are_as_the_document_says(self):
        runner = Checked(self.url, self.document)
        for file in sorted((HERE.parent / "conformance").glob("*.json")):
            for case in json.loads(file.read_text(encoding="utf-8")):
                self.assertIsNone(runner.case(case), f"{file.name}: {case['name']}")
        self.beyond_the_cases(runner)
        self.maxDiff = None
        self.assertEqual({fault: str(request)[:300] for fault, request in runner.faults.items()}, {})
        every = {str(operation) for operation in self.document.operations.values()}
        self.assertEqual(every - runner.succeeded - OF_A_CLUSTER, set(), "never seen to succeed")

    def beyond_the_cases(self, runner):
        def get(path, **headers):
            return runner.send({"method": "GET", "path": path, "headers": headers})

        for path in ("/", "/healthz", "/readyz", "/metrics", f"{API}/metrics", f"{API}/cluster/status",
                     f"{API}/stats?resolution=minute", f"{API}/jobs?limit=1000", f"{API}/queues", f"{API}/groups",
                     f"{API}/workers", f"{API}/errors", f"{API}/batches", f"{API}/bulk",
                     f"{API}/backup"):
            get(path)
        _, headers, _ = get(f"{API}/openapi.json")
        status, _, raw = get(f"{API}/openapi.json", **{"If-None-Match": headers["etag"]})
        self.assertEqual((status, raw), (304, b""))
        self.bulk_operation(runner)
        status, kind = self.head_of(f"{API}/events", {})
        self.document.operations[f"{API}/events", "get"].check_answer(status, kind, None)
        self.assertEqual((status, kind), (200, STREAM))
        runner.succeeded.add(f"GET {API}/events")

    def test_operations_of_a_cluster(self):
        first, second = free_port(), free_port()
        # A node that lists itself is a cluster of its own; the other one joins it.
        one = self.node("one", first, first)
        self.node("two", second, first)
        runner = Checked(f"http://127.0.0.1:{one.port}", self.document)

        def send(method, path, body=None):
            request = {"method": method, "path": f"{API}/cluster/{path}"}
            status, _, raw = runner.send(request if body is None else {**request, "body": body})
            return status, json.loads(raw)

        self.assertEqual(send("POST", "nodes", {"address": f"127.0.0.1:{second}"})[0], 200)
        self.until(lambda: all(node["voter"] and node["connected"] for node in send("GET", "status")[1]["nodes"]))
        self.assertEqual(send("POST", "snapshot")[0], 200)
        self.assertEqual(send("POST", "transfer", {"to": "nobody"})[0], 404)
        self.assertEqual(send("POST", "transfer", {"to": "two"})[0], 200)
        self.until(lambda: send("GET", "status?consistency=strong")[1]["leader"] == "two")
        self.assertEqual(send("POST", "transfer", {"to": "one"})[0], 200)
        self.until(lambda: send("GET", "status")[1]["leader"] == "one")
        self.assertEqual(send("DELETE", "nodes/three")[0], 404)
        self.assertEqual(send("DELETE", "nodes/two")[0], 200)
        self.assertEqual(send("DELETE", "nodes/one")[0], 409)
        self.assertEqual(runner.faults, {})
        self.assertEqual(OF_A_CLUSTER - runner.succeeded, set())

    def node(self, name, port, peer):
        server = Server(Options.binary, self.path(name), flags=(
            "--cluster", "--node", name, "--raft", f"127.0.0.1:{port}", "--peers", f"127.0.0.1:{peer}"))
        self.addCleanup(server.close)
        return server.start()

    def until(self, holds, patience=20):
        end = time.monotonic() + patience
        while not holds():
            self.assertLess(time.monotonic(), end, "it does not come to that")
            time.sleep(0.05)

    def bulk_operation(self, runner):
        """One that is large enough to become an operation of its own."""
        for _ in range(2):
            jobs = [{"queue": "openapi.bulk"}] * 5001
            runner.send({"method": "POST", "path": f"{API}/enqueue/batch", "body": {"jobs": jobs}})
        _, _, raw = runner.send({"method": "POST", "path": f"{API}/jobs/bulk", "body": {
            "filter": {"queue": "openapi.bulk"}, "action": "change_priority", "priority": 7}})
        bulk = json.loads(raw)["bulk_operation_id"]
        for path in (f"{API}/bulk/{bulk}", f"{API}/bulk/{bulk}/progress", f"{API}/bulk"):
            runner.send({"method": "GET", "path": path})
        status, kind = self.head_of(f"{API}/bulk/{bulk}/progress", {"Accept": STREAM})
        self.document.operations[API + "/bulk/{bulk_id}/progress", "get"].check_answer(status, kind, None)
        self.assertEqual((status, kind), (200, STREAM))
        runner.send({"method": "DELETE", "path": f"{API}/bulk/{bulk}"})

    def test_paths_take_the_documented_methods_and_no_other(self):
        runner = conformance.Runner(self.url)
        for path in self.document.raw["paths"]:
            asked = "/".join("x" if part.startswith("{") else part for part in path.split("/"))
            documented = set(self.document.methods_of(path))
            other = next(method for method in ("PATCH", "POST", "PUT", "DELETE") if method.lower() not in documented)
            status, headers, _ = runner.send({"method": other, "path": asked})
            self.assertEqual(status, 405, path)
            allowed = {method.strip().lower() for method in headers["allow"].split(",")}
            if "get" in documented:
                documented.add("head")
            self.assertEqual(allowed, documented, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    options, rest = parser.parse_known_args()
    Options.binary = os.path.abspath(options.binary)
    unittest.main(argv=[sys.argv[0]] + rest, verbosity=2, warnings="ignore")


if __name__ == "__main__":
    main()
