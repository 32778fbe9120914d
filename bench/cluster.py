#!/usr/bin/env python3
"""What a cluster of three costs and does, beside one node and beside JetStream with three replicas.

    python3 bench/cluster.py [--seconds 10] [--rounds 3] [--gigabytes 1] [--json F]

Starts each system on loopback with data folders of its own, puts the same load on each, in turns, and prints Markdown
tables of medians and ratios. Then a node is stopped while a gigabyte is written, and started again under load.
bench/README.md says what each figure means.
"""

import argparse
import json
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import catchup, clusters, machine, report  # noqa: E402
from harness.measures import Series  # noqa: E402
from harness.system import Context, LoadFailed, Unavailable, say  # noqa: E402

CONNECTIONS = (16, 50)
LIGHT_RATE = 200
WARM_UP_S = 1
# Below that the server does not keep up even with these few, and the figures are of a queue that grows.
LEAST_HELD = 0.95
# A disk whose speed differs by more between rows, or other programs with more of the cores, decide the ratios.
MOST_DISK_SPREAD = 1.5
MOST_OTHERS = 0.1
COMMITS = (("light", f"at {LIGHT_RATE}/s"), ("half", "at half load"))
SHARES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))


def read_arguments(root):
    names = [system.name for system in clusters.ALL]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", help=f"some of {','.join(names)},catch-up; a name also stands for those it begins")
    parser.add_argument("--quick", action="store_true",
                        help="one round of 3 seconds a figure, 0.2 GB: shows that it works")
    parser.add_argument("--seconds", type=float, help="of each measurement (default 10, quick 3)")
    parser.add_argument("--rounds", type=int, help="over all systems (default 3, quick 1)")
    parser.add_argument("--gigabytes", type=float, help="written while a node is away (default 1, quick 0.2)")
    parser.add_argument("--catch-up", choices=("both", "log", "snapshot"), default="both",
                        help="how the node that was away shall get it: the log that is kept decides that")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures here")
    parser.add_argument("--markdown", type=pathlib.Path, help="write the tables here too")
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path("/var/tmp"),
                        help="where the data folders are made; must be a disk (default %(default)s)")
    parser.add_argument("--jobbie", type=pathlib.Path, default=root / "build/release/jobbie")
    parser.add_argument("--bench-load", type=pathlib.Path, default=root / "build/release/bin/bench_load")
    parser.add_argument("--nats-server", help="the program (default: one built by `go install`, or else Debian's)")
    out = parser.parse_args()
    out.seconds = out.seconds or (3 if out.quick else 10)
    out.rounds = out.rounds or (1 if out.quick else 3)
    out.gigabytes = out.gigabytes or (0.2 if out.quick else 1)
    words = [word.strip() for word in (out.only or "").split(",") if word.strip()]
    for word in words:
        if not any(name.startswith(word) for name in [*names, "catch-up"]):
            parser.error(f"nothing begins with {word}")
    wanted = lambda name: not words or any(name.startswith(word) for word in words)  # noqa: E731
    out.kinds = [kind for kind in clusters.ALL if wanted(kind.name)]
    out.ways = () if not wanted("catch-up") else \
        ("snapshot", "log") if out.catch_up == "both" else (out.catch_up,)
    return parser, out


def rows_of(system):
    """What stands in the tables for one system: a row for each node that clients may be connected to."""
    if len(system.views) == 1:
        return [(system.views[0], system.name, system.title)]
    return [(view, f"{system.name}-{view}", f"{system.title}, clients at {'the' if view == 'leader' else 'a'} {view}")
            for view in system.views]


class Round:
    """One pass over one row."""

    def __init__(self, system, series, seconds):
        self.system, self.series, self.seconds = system, series, seconds

    def run(self, view):
        self.system.aim(view)
        for connections in CONNECTIONS:
            self.one_by_one(connections)
        half = max(1, int(self.series.values[rate_key(CONNECTIONS[0])][-1] / 2))
        self.series.add("half_rate", half)
        self.commits("light", 0)
        self.commits("half", half)

    def one_by_one(self, connections):
        self.system.settle()
        seen = self.load(rate_key(connections), "both", producers=connections, workers=connections)
        # Fewer than none are jobs of the measurement before, which ended without a look at them.
        if (lost := seen["unaccounted"]) > 0:
            self.series.notes.append(f"{connections} and {connections}: {lost} jobs never came out again")
        self.series.add(rate_key(connections), seen["acked_per_second"])
        say(f"   {connections} and {connections}: {seen['acked_per_second']:,.0f} jobs/s")

    def commits(self, key, half):
        """Single enqueues at a steady rate, alone or beside others that enqueue and work at `half`."""
        words = dict(COMMITS)[key]
        self.system.settle()
        client = self.system.start_commits(LIGHT_RATE, self.seconds, after=WARM_UP_S)
        if half:
            self.load("latency_half", "latency", rate=half, producers=CONNECTIONS[-1], workers=CONNECTIONS[-1])
        seen = self.system.finish_commits(client, self.seconds + 60)
        self.series.add_histogram(key, [(int(took * 1e9), 1) for _, took in seen["samples"]])
        held = seen["in_time"] / self.seconds
        if held < LEAST_HELD * LIGHT_RATE:
            self.series.notes.append(f"{held:.0f} of {LIGHT_RATE} enqueues a second were answered {words}")
        if seen["refused"]:
            self.series.notes.append(f"{seen['refused']} enqueues refused {words}")
        say(f"   enqueue {words}: p50 {self.series.quantile_ms(key, 0.5):.2f} ms, "
            f"p99 {self.series.quantile_ms(key, 0.99):.2f} ms")

    def load(self, key, mode, **options):
        seen = self.system.load(mode, seconds=self.seconds, warm_up=WARM_UP_S, **options)
        histogram = seen.pop("histogram")
        if mode == "latency":
            self.series.add_histogram("start_half", histogram)
        self.series.loads.append({"measure": key, **seen})
        return seen


def rate_key(connections):
    return f"both_{connections}"


def probe(context):
    done = subprocess.run([str(context.bench_load), "--mode", "probe", "--directory", str(context.directory)],
                          capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


def measure(available, options, context):
    """Rounds go over all systems, each time from another one on, so that no row has all the slow minutes."""
    series = {name: Series() for system in available for _, name, _ in rows_of(system)}
    probes = [probe(context)]
    for turn in range(options.rounds):
        shift = turn * len(available) // options.rounds
        for system in available[shift:] + available[:shift]:
            try:
                system.start_fresh()
                for view, name, title in rows_of(system):
                    say(f"== {title} (round {turn + 1} of {options.rounds}, {time.strftime('%H:%M:%S')})")
                    try:
                        Round(system, series[name], options.seconds).run(view)
                    except LoadFailed as error:
                        say(f"   {error}")
                        series[name].notes.append(str(error))
            except (LoadFailed, Unavailable) as error:
                say(f"== {system.title}: {error}")
                for _, name, _ in rows_of(system):
                    series[name].notes.append(str(error))
            finally:
                system.close()
            probes.append(probe(context))
            for _, name, _ in rows_of(system):
                for one in probes[-2:]:
                    series[name].add("syncs", one["syncs_per_second"])
    return series, probes


def collect(kinds, available, missing, series, probes):
    rows = []
    for kind in kinds:
        had = next((system for system in available if system.name == kind.name), None)
        for _, name, title in rows_of(kind):
            row = {"name": name, "title": title, "durability": kind.durability}
            if had is None:
                row["not_available"] = missing[kind.name]
            else:
                row["version"] = had.version()
                row.update(figures_of(series[name]))
            rows.append(row)
    return {"systems": rows, "probes": probes}


def figures_of(one):
    latencies = {key: {name: one.quantile_ms(key, share) for name, share in SHARES} | {"samples": one.samples(key)}
                 for key in ("light", "half", "start_half") if one.samples(key)}
    spreads = [one.spread(rate_key(n)) for n in CONNECTIONS if one.spread(rate_key(n)) is not None]
    return {"medians": {key: one.median(key) for key in one.values}, "values": one.values, "latency_ms": latencies,
            "largest_spread": max(spreads, default=None), "notes": sorted(set(one.notes)), "loads": one.loads}


def between(result, one, other, key):
    """The median over the rounds of one row's rate over another's."""
    rows = {row["name"]: row.get("values", {}).get(key, []) for row in result["systems"]}
    pairs = [a / b for a, b in zip(rows.get(one, []), rows.get(other, [])) if b]
    return statistics.median(pairs) if pairs else None


def rates_table(result):
    base = clusters.JobbieOne.name
    rows = []
    for row in result["systems"]:
        if said := report.excuse(row):
            rows.append([row["title"], said] + [""] * (2 * len(CONNECTIONS)))
            continue
        cells = [row["title"]]
        for connections in CONNECTIONS:
            key = rate_key(connections)
            cells += [report.number(row["medians"].get(key)), report.number(between(result, row["name"], base, key), 2)]
        syncs = row["values"]["syncs"]
        rows.append(cells + [f"{report.number(min(syncs))} to {report.number(max(syncs))}"])
    header = ["jobs a second, one by one"]
    for connections in CONNECTIONS:
        header += [f"{connections} producers, {connections} workers", "of one Jobbie node"]
    return report.table(header + ["fdatasync/s before and after"], rows)


def commits_table(result):
    rows = []
    for row in report.measured(result):
        cells = [row["title"]]
        for key, _ in COMMITS:
            seen = row["latency_ms"].get(key, {})
            enough = seen.get("samples", 0) >= report.LEAST_FOR_P999
            cells += [report.milliseconds(seen.get("p50")), report.milliseconds(seen.get("p99")),
                      report.milliseconds(seen.get("p999") if enough else None)]
        rows.append(cells + [report.number(row["medians"].get("half_rate"))])
    header = ["enqueue to its answer, ms"]
    for _, words in COMMITS:
        header += [f"p50 {words}", "p99", "p99.9"]
    return report.table(header + ["half load is, jobs/s"], rows)


def ratios_table(result):
    """Against each of the others, in the same run: above 1 Jobbie's three nodes are faster."""
    mine = next((row for row in report.measured(result) if row["name"] == "jobbie-three-leader"), None)
    if mine is None:
        return ""
    rows = []
    for row in report.measured(result):
        if row is mine:
            continue
        cells = [row["title"]]
        cells += [report.number(between(result, mine["name"], row["name"], rate_key(n)), 2) for n in CONNECTIONS]
        for key, _ in COMMITS:
            for share in ("p50", "p99"):
                pair = [one["latency_ms"].get(key, {}).get(share) for one in (row, mine)]
                cells.append(report.number(pair[0] / pair[1], 2) if None not in pair else "–")
        rows.append(cells)
    header = ["Jobbie, three nodes (leader), as a multiple of"] + [f"jobs/s, {n} and {n}" for n in CONNECTIONS]
    header += [f"speed of an enqueue {words}, {share}" for _, words in COMMITS for share in ("p50", "p99")]
    return report.table(header, rows) if rows else ""


def warning(result):
    """What forbids to read the ratios, or nothing."""
    syncs = [one["syncs_per_second"] for one in result["probes"]]
    others = [load["others_share"] for row in report.measured(result) for load in row["loads"]]
    reasons = []
    if syncs and max(syncs) > MOST_DISK_SPREAD * min(syncs):
        reasons.append(f"the disk was up to {max(syncs) / min(syncs):.1f} times as fast at one time as at another")
    if others and statistics.median(others) > MOST_OTHERS:
        reasons.append(f"other programs had {100 * statistics.median(others):.0f} % of the cores")
    return f"**Not a quiet machine: {' and '.join(reasons)}. The ratios below show that too.**" if reasons else ""


def settings_table(result):
    return report.table(["system", "version", "what an answer promises"],
                        [[row["title"], row["version"] or "–", row["durability"]] for row in report.measured(result)],
                        rule="---|")


def catch_up_table(rows):
    """What the others did before, while and after a node caught up."""
    out = []
    for row in rows:
        if "failure" in row:
            out.append([f"{row['meant']}: failed: {row['failure']}"] + [""] * 9)
            continue
        size = row["snapshot_bytes"]
        way = "log" if size is None else f"snapshot of {size / 1e6:,.0f} MB"
        level = report.number(row["seconds"], 1) if row["seconds"] else "not in time"
        if row["catching_up"]["elections"]:
            level += f", {row['catching_up']['elections']} elections meanwhile"
        phases = [row[key] for key in ("three_level", "two_of_three", "catching_up", "level_again")]
        out.append([f"{row['gigabytes']:g} GB, by {way}", level,
                    report.number(row["megabytes_per_second"], 1 if (row["megabytes_per_second"] or 0) < 10 else 0)] +
                   [f"{report.number(one['jobs_per_second'])}; {report.milliseconds(one['enqueue_ms']['p99'])}"
                    for one in phases] + [report.number(row["rate_ratio"], 2), report.number(row["p99_ratio"], 1),
                                            report.number(row["leader_silent_seconds"], 2)])
    return report.table(
        ["a node that was away", "s until level", "MB/s", "jobs/s; p99 ms: all three level", "two of three",
         "while it catches up", "level again", "rate then : before", "p99 then : before",
         "leader silent, s at most"], out) if out else ""


def markdown(result):
    about = result["conditions"]
    parts = [f"Measured on {about['date']} in {about['minutes']} minutes: {about['machine']}, data on "
             f"{about['filesystem']}. All nodes and the load share the cores and the disk. Jobs carry 200 bytes of "
             f"JSON. Rates are medians of {about['rounds']} × {about['seconds']:g} s, latencies of all rounds "
             f"together; compare within these tables only."]
    if result["systems"]:
        parts += [report.noise(result), warning(result), rates_table(result), commits_table(result),
                  ratios_table(result), settings_table(result)]
    parts += [catch_up_table(result["catch_up"]), report.notes(result)]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def run(options, context):
    available, missing = [], {}
    for kind in options.kinds:
        system = kind(context)
        try:
            system.ensure()
            available.append(system)
        except Unavailable as error:
            say(f"== {system.title}: not available: {error}")
            missing[system.name] = str(error)
    series, probes = measure(available, options, context) if options.kinds else ({}, [])
    result = collect(options.kinds, available, missing, series, probes)
    result["catch_up"] = catchup.run(context, options.gigabytes, options.seconds, options.ways)
    return result


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser, options = read_arguments(root)
    for program in (options.bench_load, options.jobbie):
        if not program.is_file():
            parser.error(f"{program} is not built")
    # Ended from outside, the servers are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="jobbie-cluster-", dir=options.directory))
    kind = machine.filesystem(directory)
    begin = time.time()
    try:
        if kind in ("tmpfs", "ramfs"):
            parser.error(f"{options.directory} is in memory: syncing would cost nothing there")
        context = Context(root, directory, options.bench_load.resolve(), options.jobbie.resolve())
        context.nats_server = options.nats_server
        result = run(options, context)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    result["conditions"] = {
        "seconds": options.seconds, "rounds": options.rounds, "machine": machine.describe(), "filesystem": kind,
        "date": time.strftime("%Y-%m-%d", time.gmtime(begin)), "minutes": round((time.time() - begin) / 60, 1)}
    text = markdown(result)
    print(text, end="")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
