"""The API's description: which operation a request is, and whether an answer is as it says."""

import copy
import re
import urllib.parse

import jsonschema

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


class Undocumented(Exception):
    """What the document does not have, or has otherwise."""


def closed(value):
    """The schemas with objects that have no members but those they name: answers hold no surprises."""
    if isinstance(value, list):
        return [closed(element) for element in value]
    if not isinstance(value, dict):
        return value
    out = {name: closed(member) for name, member in value.items()}
    if isinstance(value.get("properties"), dict) and "type" in value:
        out.setdefault("additionalProperties", False)
    return out


class Operation:
    def __init__(self, document, path, method):
        item = document.raw["paths"][path]
        self.document, self.path, self.method = document, path, method
        self.spec = item[method]
        self.parameters = [document.resolve(p) for p in item.get("parameters", []) + self.spec.get("parameters", [])]

    def __str__(self):
        return f"{self.method.upper()} {self.path}"

    def response(self, status):
        responses = self.spec["responses"]
        found = responses.get(str(status)) or responses.get(f"{status // 100}XX")
        if found is None:
            raise Undocumented(f"{self}: status {status} is not documented")
        return self.document.resolve(found)

    def check_answer(self, status, content_type, body):
        """`body` is the parsed JSON, or None for another kind."""
        content = self.response(status).get("content", {})
        kind = content_type.split(";")[0].strip()
        if not content:
            if kind:
                raise Undocumented(f"{self}: {status} has a body of type {kind}")
            return
        if kind not in content:
            raise Undocumented(f"{self}: {status} has the type {kind!r}, not one of {sorted(content)}")
        if "json" in kind:
            self.document.check(content[kind]["schema"], body, f"{self}: {status}")

    def check_request(self, query, body):
        """Of a request that was accepted: the document must allow it too."""
        named = {p["name"] for p in self.parameters if p["in"] == "query"}
        for name, _ in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if name not in named:
                raise Undocumented(f"{self}: the parameter {name} is accepted")
        if body is None:
            return
        described = self.document.resolve(self.spec.get("requestBody", {}))
        schema = described.get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            if body != {}:
                raise Undocumented(f"{self}: a body is accepted")
            return
        self.document.check(schema, body, f"{self}: the accepted request")


class Document:
    def __init__(self, raw):
        self.raw = raw
        self.closed_components = closed(copy.deepcopy(raw["components"]))
        self.operations = {}
        self.patterns = []
        for path, item in raw["paths"].items():
            pattern = re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part)
                                          for part in path.split("/")))
            self.patterns.append((path.count("{"), pattern, path))
            for method in METHODS:
                if method in item:
                    self.operations[path, method] = Operation(self, path, method)
        # Of several that fit, the one with the fewest variable parts is meant.
        self.patterns.sort(key=lambda entry: entry[0])

    def resolve(self, value):
        while "$ref" in value:
            target = self.raw
            for name in value["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            value = target
        return value

    def path_of(self, path):
        for _, pattern, name in self.patterns:
            if pattern.fullmatch(path):
                return name
        return None

    def methods_of(self, path):
        return {method for (name, method) in self.operations if name == path}

    def check(self, schema, value, where):
        whole = dict(closed(schema), components=self.closed_components)
        errors = sorted(jsonschema.Draft202012Validator(whole).iter_errors(value), key=lambda e: len(e.path))
        if errors:
            error = jsonschema.exceptions.best_match(errors)
            place = "/".join(map(str, error.absolute_path))
            raise Undocumented(f"{where}: {place or 'the body'}: {error.message[:400]}")

    def check_problem(self, status, content_type, body, where):
        if content_type.split(";")[0].strip() != "application/problem+json":
            raise Undocumented(f"{where}: {status} has the type {content_type!r}")
        self.check({"$ref": "#/components/schemas/Problem"}, body, where)
        if body["status"] != status:
            raise Undocumented(f"{where}: a problem of status {body['status']} came with {status}")
