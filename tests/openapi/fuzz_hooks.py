"""What schemathesis is told about this API beyond its description; loaded by fuzz.py."""

import json
import os
import zlib

import schemathesis

# Ids of things that exist, by the name of the path's variable part.
KNOWN = json.loads(os.environ.get("JOBBIE_FUZZ_KNOWN", "{}"))


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Every second id is one that exists: a random one is never found."""
    for name, value in (path_parameters or {}).items():
        draw = zlib.crc32(str(value).encode("utf-8", "replace"))
        known = KNOWN.get(name)
        if known and draw % 2:
            path_parameters[name] = known[draw // 2 % len(known)]
    return path_parameters


@schemathesis.hook
def filter_query(context, query):
    """A parameter without a value may count as not given, which no schema can say."""
    return not query or "" not in query.values()


@schemathesis.hook
def before_call(context, case, kwargs):
    """Nothing waits, and no answer is without end."""
    if isinstance(case.query, dict) and case.query.get("follow") in (True, "true"):
        case.query["follow"] = "false"
    if case.path.endswith("/fetch") and isinstance(case.body, dict):
        timeout = case.body.get("timeout")
        if isinstance(timeout, (int, float)) and timeout > 0.01:
            case.body["timeout"] = 0.01
        elif isinstance(timeout, str):
            case.body["timeout"] = "x"
