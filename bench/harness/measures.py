"""What is measured of each system, and in which order."""

import statistics
import time

from harness.system import LoadFailed, say

CONNECTIONS = 50
BATCH_CONNECTIONS = 4
SLOW_RATE = 100
FILL_LIMIT_S = 300
SMALL_BACKLOG = 1_000
MIDDLE_BACKLOG = 100_000
LARGE_BACKLOG = 1_000_000
# What came at once is still on its way to the disk when it is answered; so long it may take.
REST_S = 3
# A rate beside a backlog is the median of so many.
BACKLOG_RUNS = 3
# Producers and workers may run apart by so many jobs where a backlog is to stay as it is.
BACKLOG_WINDOW = 500

# Key, words of the table, unit.
RATES = [
    ("both", "one by one, 50 producers and 50 workers", "jobs/s"),
    ("both_merged", "the same, ack and next fetch together", "jobs/s"),
    ("enqueue", "enqueue only, 50 connections", "jobs/s"),
    ("consume", "consume only, 50 connections", "jobs/s"),
    ("enqueue_batch", "enqueue in batches", "jobs/s"),
    ("consume_batch", "consume in batches", "jobs/s"),
]


class Series:
    """All values seen of each measure of one system."""

    def __init__(self):
        self.values = {}
        self.histograms = {}
        self.notes = []
        self.loads = []

    def add(self, key, value):
        self.values.setdefault(key, []).append(value)

    def add_histogram(self, key, histogram):
        counts = self.histograms.setdefault(key, {})
        for upper, count in histogram:
            counts[upper] = counts.get(upper, 0) + count

    def median(self, key):
        values = self.values.get(key)
        return statistics.median(values) if values else None

    def spread(self, key):
        """Largest over smallest, less one."""
        values = self.values.get(key)
        return max(values) / min(values) - 1 if values and len(values) > 1 and min(values) > 0 else None

    def quantile_ms(self, key, share):
        counts = self.histograms.get(key)
        if not counts:
            return None
        wanted, seen = share * sum(counts.values()), 0
        for upper in sorted(counts):
            seen += counts[upper]
            if seen >= wanted:
                return upper / 1e6
        return None

    def samples(self, key):
        return sum(self.histograms.get(key, {}).values())


class Round:
    """One pass over one system. Each part that fails leaves a note and the rest goes on."""

    def __init__(self, system, series, seconds, largest_backlog):
        self.system = system
        self.series = series
        self.seconds = seconds
        self.largest_backlog = largest_backlog

    def attempt(self, part):
        try:
            self.system.start_fresh()
            part()
        except LoadFailed as error:
            say(f"   {error}")
            self.series.notes.append(str(error))

    def load(self, key, mode, **options):
        options.setdefault("seconds", self.seconds)
        figures = self.system.load(mode, **options)
        histogram = figures.pop("histogram")
        self.series.loads.append({"measure": key, **figures})
        if lost := figures["unaccounted"]:
            self.series.notes.append(f"{key}: {lost} jobs never came out again" if lost > 0 else
                                     f"{key}: {-lost} jobs came out more than went in")
        if mode == "latency":
            self.series.add_histogram(key, histogram)
            say(f"   {key}: p50 {figures['latency_us']['p50'] / 1000:.2f} ms, "
                f"p99 {figures['latency_us']['p99'] / 1000:.2f} ms")
        else:
            rate = figures["enqueued_per_second" if mode == "enqueue" else "acked_per_second"]
            self.series.add(key, rate)
            say(f"   {key}: {rate:,.0f} jobs/s")
        return figures

    def run(self, with_backlog):
        say(f"== {self.system.title}")
        self.attempt(self.one_by_one)
        self.attempt(self.enqueue_then_consume)
        self.attempt(self.in_batches)
        if with_backlog and self.system.backlog:
            self.attempt(self.with_backlog)
            # Once more, since an hour is not like the next: the rate beside a large backlog stands
            # between two beside a small one.
            self.attempt(self.with_small_backlog)
        self.system.close()

    def one_by_one(self):
        figures = self.load("both", "both")
        self.series.add("server_cpu_us_a_job",
                        figures["server_cores"] * 1e6 / max(1, figures["acked_per_second"]))
        if self.system.merges:
            self.load("both_merged", "both", merge=True)
        self.load("latency_slow", "latency", rate=SLOW_RATE)
        half = max(SLOW_RATE, int(figures["acked_per_second"] / 2))
        self.series.add("half_rate", half)
        self.load("latency_half", "latency", rate=half)

    def enqueue_then_consume(self):
        done = self.load("enqueue", "enqueue")
        self.load("consume", "consume", jobs=done["enqueued"], warm_up=0)

    def in_batches(self):
        done = self.load("enqueue_batch", "enqueue", put_batch=self.system.put_batch,
                         producers=BATCH_CONNECTIONS)
        if self.system.take_batch:
            self.load("consume_batch", "consume", take_batch=self.system.take_batch,
                      workers=BATCH_CONNECTIONS, jobs=done["enqueued"], warm_up=0)

    def with_backlog(self):
        """Memory, the rate beside a backlog that stays, and the time to start with it."""
        present = 0
        self.series.add("memory_idle", self.system.memory())
        for backlog in (SMALL_BACKLOG, MIDDLE_BACKLOG, LARGE_BACKLOG):
            if backlog > self.largest_backlog:
                return
            if not self.system.fill(backlog - present, FILL_LIMIT_S):
                self.series.notes.append(f"did not take {backlog} jobs within {FILL_LIMIT_S} s")
                return
            present = backlog
            at_once = self.system.memory()
            time.sleep(REST_S)
            memory = self.system.memory()
            self.series.add(f"memory_{backlog}_at_once", at_once)
            self.series.add(f"memory_{backlog}", memory)
            say(f"   {backlog} pending: {at_once / 1e6:,.0f} MB at once, {memory / 1e6:,.0f} MB at rest")
            self.rates_beside(backlog)
        self.time_starts()

    def with_small_backlog(self):
        if self.system.fill(SMALL_BACKLOG, FILL_LIMIT_S):
            self.rates_beside(SMALL_BACKLOG)

    def rates_beside(self, backlog):
        for _ in range(BACKLOG_RUNS):
            self.load(f"both_at_{backlog}", "both", backlog=backlog, window=BACKLOG_WINDOW)

    def time_starts(self):
        self.system.stop()
        self.series.add("start_after_stop", self.system.start())
        self.system.stop(kill=True)
        self.series.add("start_after_kill", self.system.start())
        say(f"   started in {self.series.median('start_after_stop'):.2f} s after a stop, "
            f"{self.series.median('start_after_kill'):.2f} s after kill -9")
