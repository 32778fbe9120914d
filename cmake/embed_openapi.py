#!/usr/bin/env python3
"""Makes the JSON of the API's description and a source file that holds it.

    embed_openapi.py api/openapi.yaml OUT.cpp OUT.json

References that lead nowhere and values that JSON does not have end it with a message.
"""

import hashlib
import json
import pathlib
import sys

import yaml

# Compilers need not take longer literals than this, in bytes.
PART = 16_000

SOURCE = """// Made from api/openapi.yaml; change that.
#include "face/native/openapi.hpp"

namespace jobbie::face::native {{

OpenApi openapi_document() {{
  static constexpr std::string_view kParts[] = {{
{parts}
  }};
  return {{.parts = kParts, .etag = "\\"{etag}\\""}};
}}

}}  // namespace jobbie::face::native
"""


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for element in value:
            yield from references(element)


def check_references(document):
    for reference in sorted(set(references(document))):
        place = document
        for name in reference.removeprefix("#/").split("/"):
            if not isinstance(place, dict) or name not in place:
                sys.exit(f"embed_openapi: {reference} leads nowhere")
            place = place[name]


def main():
    source, out_cpp, out_json = map(pathlib.Path, sys.argv[1:])
    document = yaml.safe_load(source.read_text(encoding="utf-8"))
    document.pop("x-shared", None)
    check_references(document)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    parts = [text[at:at + PART] for at in range(0, len(text), PART)]
    etag = hashlib.sha256(text.encode()).hexdigest()[:16]
    out_json.write_text(text, encoding="utf-8")
    out_cpp.write_text(SOURCE.format(parts=",\n".join(f'R"-api-({part})-api-"' for part in parts), etag=etag),
                       encoding="utf-8")


if __name__ == "__main__":
    main()
