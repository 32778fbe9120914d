#!/usr/bin/env python3
"""Runs the conformance cases against a server.

    run.py --url http://127.0.0.1:8080 [--only TEXT] [--key SECRET] [FILE...]

Prints one line for each case that fails and a count; the exit code is 1 if any did. README.md tells
what a case looks like.
"""

import argparse
import http.client
import json
import pathlib
import re
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_S = 90


class Mismatch(Exception):
    """What came back is not what must."""


def fill(value, names):
    """The value with every ${name} in its texts replaced."""
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+)\}", lambda m: str(names[m.group(1)]), value)
    if isinstance(value, list):
        return [fill(v, names) for v in value]
    if isinstance(value, dict):
        return {fill(k, names): fill(v, names) for k, v in value.items()}
    return value


def match(expected, got, exact, path="body"):
    if isinstance(expected, dict) and "$any" in expected:
        return
    if isinstance(expected, dict) and "$match" in expected:
        if not isinstance(got, str) or not re.fullmatch(expected["$match"], got, re.S):
            raise Mismatch(f"{path} is {got!r}, not like {expected['$match']}")
        return
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            raise Mismatch(f"{path} is {got!r}, not an object")
        match_members(expected, got, exact, path)
        return
    if isinstance(expected, list):
        if not isinstance(got, list) or len(got) != len(expected):
            raise Mismatch(f"{path} is {got!r}, not a list of {len(expected)}")
        for i, (e, g) in enumerate(zip(expected, got)):
            match(e, g, exact, f"{path}[{i}]")
        return
    if type(expected) is not type(got) or expected != got:
        raise Mismatch(f"{path} is {got!r}, not {expected!r}")


def match_members(expected, got, exact, path):
    for name, value in expected.items():
        absent = isinstance(value, dict) and "$absent" in value
        if absent and name in got:
            raise Mismatch(f"{path}.{name} is there")
        if not absent:
            if name not in got:
                raise Mismatch(f"{path}.{name} is missing in {got!r}")
            match(value, got[name], exact, f"{path}.{name}")
    if exact and set(got) - set(expected):
        raise Mismatch(f"{path} also has {sorted(set(got) - set(expected))}")


def look_up(body, path):
    for part in path.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body


class Runner:
    def __init__(self, url, key=""):
        parts = urllib.parse.urlsplit(url)
        self.host, self.prefix = parts.netloc, parts.path.rstrip("/")
        self.run = format(time.time_ns(), "x")
        self.count = 0
        self.key = key

    def send(self, request):
        headers = dict(request.get("headers", {}))
        if self.key:
            headers.setdefault("Authorization", f"Bearer {self.key}")
        if not headers.get("Authorization", "-"):
            del headers["Authorization"]  # a step that shows no key
        body = None
        if "raw" in request:
            body = request["raw"].encode("utf-8", "surrogateescape")
        elif "body" in request:
            body = json.dumps(request["body"]).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.host, timeout=TIMEOUT_S)
        try:
            connection.request(request["method"], self.prefix + request["path"], body, headers)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def step(self, step, names):
        source = dict(step["request"])
        if "repeat" in source:
            text, times = source.pop("repeat")
            names = {**names, "repeat": text * times}
        request = fill(source, names)
        expect = fill(step["expect"], names)
        status, headers, raw = self.send(request)
        where = f"{request['method']} {request['path']}"
        if status != expect["status"]:
            raise Mismatch(f"{where}: {status}, not {expect['status']}: {raw[:300]!r}")
        for name, value in expect.get("headers", {}).items():
            match(value, headers.get(name.lower()), False, f"{where}: header {name}")
        for text in expect.get("contains", []):
            if text.encode() not in raw:
                raise Mismatch(f"{where}: {text!r} is not in {raw[:300]!r}")
        body = json.loads(raw) if "json" in headers.get("content-type", "") else None
        if "body" in expect:
            match(expect["body"], body, expect.get("exact", False), where)
        return {name: look_up(body, path) for name, path in step.get("save", {}).items()}

    def case(self, case):
        self.count += 1
        names = {"unique": f"c{self.run}-{self.count}"}
        for i, step in enumerate(case["steps"]):
            try:
                names.update(self.step(step, names))
            except Mismatch as mismatch:
                return f"step {i + 1}: {mismatch}"
            except (OSError, ValueError, KeyError, IndexError, http.client.HTTPException) as error:
                return f"step {i + 1}: {type(error).__name__}: {error}"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--only", default="", help="run cases whose name contains this")
    parser.add_argument("--key", default="", help="shown with every request that says nothing else")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    runner = Runner(options.url, options.key)
    failures = 0
    for file in options.files or sorted(HERE.glob("*.json")):
        for case in json.loads(file.read_text(encoding="utf-8")):
            if options.only not in case["name"]:
                continue
            failure = runner.case(case)
            if failure:
                failures += 1
                print(f"{file.name}: {case['name']}: {failure}")
    print(f"{runner.count} cases, {failures} failed")
    return 1 if failures or runner.count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
