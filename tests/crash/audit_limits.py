"""Schedules and limits, by the log's time alone: each attempt as the database has it."""

import collections


def check_schedule(audit, name, runs):
    """I14: each second once. `runs` are the nominal instants of all jobs of a schedule that runs every second."""
    counted = collections.Counter(runs)
    for at, times in counted.items():
        if times > 1:
            audit.report("I14", f"{name} made {times} jobs for {at:.3f}")
    if not counted:
        audit.report("I14", f"{name} made no job")
        return
    seconds = {round(at) for at in counted}
    missing = sorted(set(range(min(seconds), max(seconds))) - seconds)
    if missing:
        audit.report("I14", f"{name} made no job for {len(missing)} of its instants, the first {missing[0]}")


def check_concurrency(audit, queue, limit, attempts):
    """I20: `attempts` are (started, ended) of one queue; one that ends frees its place for the same millisecond."""
    changes = sorted([(start, 1) for start, _ in attempts] + [(end, -1) for _, end in attempts],
                     key=lambda change: (change[0], change[1]))
    active = 0
    for at, change in changes:
        active += change
        if active > limit:
            audit.report("I20", f"{queue} had {active} active jobs at {at:.3f}, {limit} are allowed")
            return


def check_rate(audit, queue, rate, period_s, attempts):
    """I20: in no period more claims than allowed."""
    starts = sorted(start for start, _ in attempts)
    for i in range(rate, len(starts)):
        if starts[i] - starts[i - rate] < period_s - 0.0005:
            audit.report("I20", f"{queue}: {rate + 1} claims within {starts[i] - starts[i - rate]:.3f} s, "
                                f"{rate} in {period_s} s are allowed")
            return
