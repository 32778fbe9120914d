"""The result of a run as one JSON object, and that object as Markdown."""

import statistics

from harness.measures import LARGE_BACKLOG, MIDDLE_BACKLOG, RATES, REST_S, SMALL_BACKLOG

LATENCIES = (("latency_slow", "at 100 jobs/s"), ("latency_half", "at half load"))
SHARES = (("p50", 0.5), ("p99", 0.99), ("p999", 0.999))
# Fewer samples say nothing about one in a thousand.
LEAST_FOR_P999 = 1000


def collect(kinds, available, missing, series, probes, conditions):
    versions = {system.name: system.all_versions() for system in available}
    result = {"conditions": conditions, "probes": probes, "systems": []}
    for kind in kinds:
        row = {"name": kind.name, "title": kind.title, "durability": kind.durability, "synced": kind.synced,
               "batches": kind.batches, "client": kind.client, "version": versions.get(kind.name, "")}
        if kind.name in missing:
            row["not_available"] = missing[kind.name]
        else:
            row.update(figures_of(series[kind.name]))
        result["systems"].append(row)
    return result


def figures_of(one):
    latencies = {}
    for key, _ in LATENCIES:
        if one.samples(key):
            latencies[key] = {name: one.quantile_ms(key, share) for name, share in SHARES}
            latencies[key]["samples"] = one.samples(key)
    spreads = [one.spread(key) for key, _, _ in RATES if one.spread(key) is not None]
    return {"medians": {key: one.median(key) for key in one.values}, "values": one.values,
            "latency_ms": latencies, "largest_spread": max(spreads, default=None),
            "notes": sorted(set(one.notes)), "loads": one.loads}


def number(value, digits=0):
    if value is None:
        return "–"
    if digits == 0 and value >= 1000:
        # Three figures are all that a run can promise.
        scale = 10 ** (len(str(int(value))) - 3)
        value = round(value / scale) * scale
    return f"{value:,.{digits}f}"


def milliseconds(value):
    if value is None:
        return "–"
    return number(value, 2 if value < 10 else 1 if value < 100 else 0)


def table(header, rows, rule="---:|"):
    """Rows of cells under a header; all but the first column to the right, as numbers are."""
    lines = ["| " + " | ".join(header) + " |", "|---|" + rule * (len(header) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def measured(result):
    return [row for row in result["systems"] if not excuse(row)]


def excuse(row):
    """What stands in the table instead of figures, or nothing."""
    if "not_available" in row:
        return f"not available: {row['not_available']}"
    return "" if row["medians"] else f"failed: {row['notes'][0] if row['notes'] else 'no figures'}"


def rates_table(result):
    rows = []
    for row in result["systems"]:
        said = excuse(row)
        if said:
            rows.append([row["title"], said] + [""] * (len(RATES) - 1))
        else:
            rows.append([row["title"]] + [number(row["medians"].get(key)) for key, _, _ in RATES])
    return table(["jobs a second"] + [words for _, words, _ in RATES], rows)


def latency_table(result):
    rows = []
    for row in measured(result):
        cells = [row["title"]]
        for key, _ in LATENCIES:
            seen = row["latency_ms"].get(key, {})
            p999 = seen.get("p999") if seen.get("samples", 0) >= LEAST_FOR_P999 else None
            cells += [milliseconds(seen.get("p50")), milliseconds(seen.get("p99")), milliseconds(p999)]
        cells.append(number(row["medians"].get("half_rate")))
        rows.append(cells)
    header = ["enqueue to start, ms"]
    for _, words in LATENCIES:
        header += [f"p50 {words}", "p99", "p99.9"]
    return table(header + ["half load is, jobs/s"], rows)


def backlog_table(result):
    rows = []
    for row in measured(result):
        medians = row["medians"]
        if "memory_idle" not in medians:
            continue
        idle = medians["memory_idle"]
        megabytes = [medians.get(f"memory_{key}")
                     for key in (f"{MIDDLE_BACKLOG}_at_once", f"{LARGE_BACKLOG}_at_once", LARGE_BACKLOG)]
        small, large = medians.get(f"both_at_{SMALL_BACKLOG}"), medians.get(f"both_at_{LARGE_BACKLOG}")
        each = [(value - idle) / LARGE_BACKLOG if value else None for value in megabytes[1:]]
        rows.append([row["title"], number(idle / 1e6)] +
                    [number(value / 1e6 if value else None) for value in megabytes] +
                    [number(value) for value in each] +
                    [number(small), number(large),
                     number(large / small if small and large else None, 2),
                     number(medians.get("start_after_stop"), 1), number(medians.get("start_after_kill"), 1)])
    if not rows:
        return ""
    return table(["pending jobs", "MB idle", "MB at 100,000 at once", "MB at 1 M at once", f"MB {REST_S} s later",
                  "bytes a job at once", f"bytes {REST_S} s later", "jobs/s at 1,000",
                  "jobs/s at 1 M", "ratio", "start at 1 M, s", "after kill -9, s"], rows)


def settings_table(result):
    rows = [[row["title"], row["version"] or "–", row["durability"], row["batches"],
             row["client"]] for row in measured(result)]
    return table(["system", "version", "what an answer promises", "a batch is", "load made by"], rows,
                 rule="---|")


def noise(result):
    probes = result["probes"]
    out = []
    for key, words in (("spin_ms", "a fixed loop took {} ms"), ("syncs_per_second", "{} fdatasync a second"),
                       ("pings_per_second", "{} round trips a second over loopback")):
        values = sorted(one[key] for one in probes)
        out.append(words.format(f"{number(values[0])} to {number(values[-1])}"))
    spreads = [row["largest_spread"] for row in measured(result) if row["largest_spread"] is not None]
    text = f"How quiet it was: between the rounds {', '.join(out)}."
    others = sorted(load["others_share"] for row in measured(result) for load in row["loads"])
    if others:
        text += (f" Other programs had {100 * statistics.median(others):.0f} % of the cores during a "
                 f"measurement (median; at most {100 * others[-1]:.0f} %).")
    if spreads:
        text += f" Repeats of one measurement differed by up to {100 * max(spreads):.0f} %."
    return text


def notes(result):
    lines = [f"- {row['title']}: {note}" for row in measured(result) for note in row["notes"]]
    return "\n".join(lines) + "\n" if lines else ""


def markdown(result):
    about = result["conditions"]
    parts = [
        f"Measured on {about['date']} in {about['minutes']} minutes: {about['machine']}, data on "
        f"{about['filesystem']}. Server and load share the cores. Jobs carry 200 bytes of JSON. Each figure "
        f"is the median of {about['repeats']} × {about['seconds']:g} s; compare within this table only.",
        noise(result), rates_table(result), latency_table(result), backlog_table(result),
        settings_table(result), notes(result)]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"
