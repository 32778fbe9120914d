"""What the log's time was when a client called: exactly, where both read one clock, else within bounds.

Where clocks jump, nothing that a client's clock says can be compared with the server's times. But some
answers carry the time of their entry: a claim's (the lease's end without its length), a new job's. Entries
are in order and log time never goes back, so a call that began after such an answer had come happened no
earlier, and one that had ended before such a call began no later.
"""

import bisect
import itertools

from history import BATCH, ENQUEUE, FETCH, OK


class OneClock:
    """Server and clients read the same clock, and it is right."""

    @staticmethod
    def low(at):
        return at

    @staticmethod
    def high(at):
        return at


class Stamps:
    """Bounds from answers that carry the time of their entry: (invoked, ended, time of the entry)."""

    def __init__(self, stamps):
        by_end = sorted((ended, at) for _, ended, at in stamps)
        self.ended = [ended for ended, _ in by_end]
        self.latest = list(itertools.accumulate((at for _, at in by_end), max))
        by_start = sorted((invoked, at) for invoked, _, at in stamps)
        self.invoked = [invoked for invoked, _ in by_start]
        self.earliest = list(itertools.accumulate((at for _, at in reversed(by_start)), min))[::-1]

    def low(self, at):
        """What happened at `at` by the clients' clock happened no earlier than this by the log's."""
        known = bisect.bisect_right(self.ended, at)
        return self.latest[known - 1] if known else float("-inf")

    def high(self, at):
        """And no later than this."""
        known = bisect.bisect_left(self.invoked, at)
        return self.earliest[known] if known < len(self.invoked) else float("inf")


def claimed_at(row):
    """The time of the entry that gave out this lease, or None."""
    return None if row.get("expires_at") is None else round(row["expires_at"] - row["lease_s"], 3)


def stamps_of(calls, finals):
    """All that a history has. An answer that may repeat an earlier one tells nothing about its own time."""
    stamps = []
    for call in calls:
        if call.outcome != OK:
            continue
        at = None
        if call.kind == FETCH and call.reply["jobs"]:
            at = claimed_at(call.reply["jobs"][0])
        elif call.kind == ENQUEUE and not call.args.get("idempotency") and not call.reply.get("unique_existing"):
            at = created_at(finals, call.reply["job_id"])
        elif call.kind == BATCH:
            at = created_at(finals, call.reply["job_ids"][0])
        if at is not None:
            stamps.append((call.invoked, call.ended, at))
    return stamps


def created_at(finals, job_id):
    final = finals.get(job_id)
    return final.created_at if final is not None else None


def order_of_stamps(stamps):
    """I13: pairs of calls, one after the other, of which the second has the earlier time."""
    by_end = sorted(stamps, key=lambda stamp: stamp[1])
    done, latest, wrong = 0, float("-inf"), []
    for invoked, _, at in sorted(stamps):
        while done < len(by_end) and by_end[done][1] < invoked:
            latest = max(latest, by_end[done][2])
            done += 1
        if at < latest:
            wrong.append((latest, at))
    return wrong
