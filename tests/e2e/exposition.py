"""Reads metrics as strictly as the format (Prometheus text, 0.0.4) is written; any slip is an error."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? (\S+)")
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}
HISTOGRAM_PARTS = ("_bucket", "_sum", "_count")


class BadExposition(Exception):
    """The text breaks a rule of the format."""


def parse_labels(text, line):
    """The labels in order, as a tuple of pairs; nothing may stand between them but commas."""
    labels, position = [], 0
    while position < len(text):
        found = LABEL.match(text, position)
        if not found:
            raise BadExposition(f"bad labels: {line}")
        labels.append((found.group(1), found.group(2)))
        position = found.end()
        if position < len(text):
            if text[position] != ",":
                raise BadExposition(f"bad labels: {line}")
            position += 1
    if len({name for name, _ in labels}) != len(labels):
        raise BadExposition(f"a label twice: {line}")
    return tuple(labels)


def parse_value(text, line):
    if text in ("+Inf", "-Inf", "NaN"):
        return float(text.replace("Inf", "inf"))
    if not re.fullmatch(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", text):
        raise BadExposition(f"bad value: {line}")
    return float(text)


class Metrics:
    """families: name → type; samples: (name, labels) → value."""

    def __init__(self, text):
        self.families, self.helps, self.samples = {}, set(), {}
        self.family, self.ended = None, set()
        if not text.endswith("\n"):
            raise BadExposition("the last line does not end")
        for line in text[:-1].split("\n"):
            self.read_line(line)
        for name, kind in self.families.items():
            if kind == "histogram":
                self.check_histogram(name)

    def read_line(self, line):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            if name in self.helps:
                raise BadExposition(f"a second HELP: {line}")
            self.helps.add(name)
        elif line.startswith("# TYPE "):
            self.read_type(line)
        elif line.startswith("#"):
            return
        else:
            self.read_sample(line)

    def read_type(self, line):
        parts = line.split(" ")
        if len(parts) != 4 or not re.fullmatch(NAME, parts[2]) or parts[3] not in TYPES:
            raise BadExposition(f"bad TYPE: {line}")
        name, kind = parts[2], parts[3]
        if name in self.families:
            raise BadExposition(f"a second TYPE: {line}")
        if name not in self.helps:
            raise BadExposition(f"no HELP before: {line}")
        self.families[name], self.family = kind, name

    def read_sample(self, line):
        found = SAMPLE.fullmatch(line)
        if not found:
            raise BadExposition(f"bad sample: {line!r}")
        name, labels = found.group(1), parse_labels(found.group(2) or "", line)
        parts = HISTOGRAM_PARTS if self.families.get(self.family) == "histogram" else ("",)
        if self.family is None or name not in [self.family + part for part in parts]:
            raise BadExposition(f"outside its family, or without a TYPE before it: {line}")
        if (name, labels) in self.samples:
            raise BadExposition(f"a sample twice: {line}")
        value = parse_value(found.group(3), line)
        if self.families[self.family] == "counter" and not (name.endswith("_total") and value >= 0):
            raise BadExposition(f"a counter must end in _total and not be negative: {line}")
        self.samples[name, labels] = value

    def check_histogram(self, name):
        series = {}
        for (sample, labels), value in self.samples.items():
            if sample == name + "_bucket":
                rest = tuple(pair for pair in labels if pair[0] != "le")
                bound = dict(labels).get("le")
                if bound is None:
                    raise BadExposition(f"a bucket without le: {name}")
                series.setdefault(rest, []).append((parse_value(bound, bound), value))
        for labels, buckets in series.items():
            bounds, counts = zip(*buckets)
            if list(bounds) != sorted(set(bounds)) or not math.isinf(bounds[-1]):
                raise BadExposition(f"bounds of {name} do not rise to +Inf: {bounds}")
            if list(counts) != sorted(counts):
                raise BadExposition(f"buckets of {name} are not cumulative: {counts}")
            if self.samples.get((name + "_count", labels)) != counts[-1]:
                raise BadExposition(f"_count of {name} is not its last bucket")
            if (name + "_sum", labels) not in self.samples:
                raise BadExposition(f"no _sum of {name}")
        for (sample, labels) in self.samples:
            if sample in (name + "_sum", name + "_count") and labels not in series:
                raise BadExposition(f"{sample} without buckets")

    def value(self, name, **labels):
        return self.samples[name, tuple(labels.items())]
