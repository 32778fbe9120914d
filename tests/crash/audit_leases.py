"""Leases: one live lease per job, rising tokens, no redelivery too early or too late."""

import bisect
import collections

from history import FETCH, OK, UNKNOWN

# The server's times are whole milliseconds, and the two processes read one clock.
SLACK_S = 0.025
# A lease's end, a retry and a scheduled start are acted on within this.
PUNCTUAL_S = 2.0
# An enqueued job is there for the next claim; this covers only the answer's way back.
PROMPT_S = 0.25


def lease_key(call):
    return call.args.get("lease")


def earliest_end(clock, delivery, beats):
    """The lease cannot have ended before this, by itself."""
    end = delivery.expires_at if delivery.expires_at is not None else clock.low(delivery.invoked) + delivery.lease_s
    for beat in beats:
        if beat.outcome == OK and lease_key(beat) == delivery.lease:
            end = max(end, clock.low(beat.invoked) + delivery.lease_s)
    return end


def claim_by(clock, delivery):
    """It was claimed no later than this."""
    return delivery.claimed_at if delivery.claimed_at is not None else clock.high(delivery.ended)


def stretched(end, since, gaps):
    """Leases do not run while nobody leads."""
    for start, stop in sorted(gaps):
        if start < end and stop > since:
            end += stop - start
    return end


def latest_end(audit, delivery, beats, without=None):
    """The lease has ended by this at the latest."""
    clock = audit.clock
    end = delivery.expires_at if delivery.expires_at is not None else clock.high(delivery.ended) + delivery.lease_s
    for beat in beats:
        if beat is not without and beat.outcome in (OK, UNKNOWN) and lease_key(beat) == delivery.lease:
            end = max(end, clock.high(beat.ended) + delivery.lease_s)
    return stretched(end, clock.low(delivery.invoked), audit.gaps)


def check(audit, job):
    for first, second in zip(job.deliveries, job.deliveries[1:]):
        check_pair(audit, job, first, second)
    by_lease = {delivery.lease: delivery for delivery in job.deliveries}
    for call in job.settles + job.beats:
        delivery = by_lease.get(lease_key(call))
        if delivery is not None and call.outcome == OK:
            check_fence(audit, job, delivery, call)
    check_checkpoints(audit, job)
    check_due(audit, job)


def check_due(audit, job):
    """I12: not before its time; a delay is counted from when the job came into being, by the log."""
    spec = job.spec
    if spec is None or job.final is None:
        return
    due = spec.get("due")
    if spec.get("delay") is not None:
        due = job.final.scheduled_at
        if due is None or abs(due - job.final.created_at - spec["delay"]) > 0.0015:
            audit.report("I12", f"{job.job_id}: made at {job.final.created_at:.3f} with a delay of {spec['delay']:.3f} s, "
                                f"due at {due}")
            return
    first = job.deliveries[0] if job.deliveries else None
    if due is not None and first is not None and claim_by(audit.clock, first) < due - 0.0015:
        audit.report("I12", f"{job.job_id}: delivered {due - claim_by(audit.clock, first):.3f} s before its time")


def check_pair(audit, job, first, second):
    """Two deliveries of one job, next to each other by token."""
    name = f"{job.job_id}: lease {first.lease} (attempt {first.attempt}), {second.lease} ({second.attempt})"
    if second.lease == first.lease:
        audit.report("I7", f"{name}: delivered twice under one lease")
        return
    if second.attempt <= first.attempt:
        audit.report("I7", f"{name}: tokens rise, attempts do not")
    if second.ended < first.invoked:
        audit.report("I7", f"{name}: the higher token was delivered first")
    settles = [call for call in job.settles if lease_key(call) == first.lease
               and call.outcome in (OK, UNKNOWN) and call.invoked < second.ended]
    if not settles:
        early = earliest_end(audit.clock, first, job.beats) - claim_by(audit.clock, second)
        if early > SLACK_S:
            audit.report("I12", f"{name}: delivered again {early:.3f} s before the lease's end")
    # A fail whose answer was lost may have been the one that counted, with another delay.
    fails = [call for call in settles if call.kind == "fail"]
    if fails and all(call.outcome == OK for call in settles):
        due = fails[0].reply.get("next_attempt_at")
        early = due - claim_by(audit.clock, second) if due is not None else 0.0
        if early > SLACK_S:
            audit.report("I12", f"{name}: delivered again {early:.3f} s before its backoff ended")


def check_fence(audit, job, delivery, call):
    """I8: an accepted call must have come under the live lease, or repeat one that did."""
    name = f"{job.job_id}: {call.kind} with lease {delivery.lease}"
    for other in job.deliveries:
        if other.lease > delivery.lease and other.ended < call.invoked:
            audit.report("I8", f"{name} accepted though lease {other.lease} had been given out")
            return
    if call.kind != "beat":
        for earlier in job.settles:
            if earlier is not call and earlier.kind == call.kind and earlier.outcome in (OK, UNKNOWN) and \
                    lease_key(earlier) == delivery.lease and earlier.invoked <= call.invoked:
                return
    late = audit.clock.low(call.invoked) - latest_end(audit, delivery, job.beats, without=call)
    if late > SLACK_S:
        audit.report("I8", f"{name} accepted {late:.3f} s after the lease's end")


def check_checkpoints(audit, job):
    """What a worker was told is saved is what the next one gets."""
    saved = [beat for beat in job.beats if beat.args.get("checkpoint") is not None
             and beat.outcome in (OK, UNKNOWN)]
    if not saved:
        return
    saved.sort(key=lambda beat: beat.invoked)
    for delivery in job.deliveries:
        before = [beat for beat in saved if beat.ended < delivery.invoked]
        sure = [i for i, beat in enumerate(before) if beat.outcome == OK]
        if not sure:
            continue
        # The last sure one, or one after it that may have arrived, also while this fetch waited.
        allowed = [beat.args["checkpoint"] for beat in before[sure[-1]:]]
        allowed += [beat.args["checkpoint"] for beat in saved
                    if beat.ended >= delivery.invoked and beat.invoked <= delivery.ended]
        if delivery.checkpoint not in allowed:
            audit.report("I1", f"{job.job_id}: checkpoint {allowed[0]!r} was acknowledged, the next worker got "
                               f"{delivery.checkpoint!r}")


def check_tokens_of_leases(audit):
    """I7: one token for one delivery, among all jobs."""
    owners = collections.defaultdict(set)
    for job in audit.jobs.values():
        for delivery in job.deliveries:
            owners[delivery.lease].add((job.job_id, delivery.attempt))
    for lease, deliveries in owners.items():
        if len(deliveries) > 1:
            audit.report("I7", f"lease {lease} was given out {len(deliveries)} times: {sorted(deliveries)}")


def pending_for_sure(audit, job):
    """Times (from, to) in which this job could certainly be had by any claim of its queue."""
    clock = audit.clock
    if job.cancels or not job.specs or job.spec.get("expires"):
        return
    first = job.deliveries[0] if job.deliveries else None
    if first is None:
        return
    # Without an answer to the enqueue nobody knows when it came into being.
    sent = [call for call, _ in job.specs if call.outcome == OK]
    if first.attempt == 1 and sent:
        due = job.spec.get("due")
        if job.spec.get("delay") is not None:
            due = job.final.scheduled_at if job.final is not None else float("inf")
        made = clock.high(min(call.ended for call in sent))
        start = made + PROMPT_S if due is None else max(made, due) + PUNCTUAL_S
        yield start, clock.low(first.invoked)
    for before, after in zip(job.deliveries, job.deliveries[1:]):
        if after.attempt != before.attempt + 1:
            continue  # somebody else had it in between, and his answer was lost
        settled = [call for call in job.settles if lease_key(call) == before.lease
                   and call.outcome in (OK, UNKNOWN)]
        if not settled:
            yield latest_end(audit, before, job.beats) + PUNCTUAL_S, clock.low(after.invoked)
        elif all(call.kind == "fail" and call.outcome == OK for call in settled):
            ends = [clock.high(call.ended) for call in settled]
            due = [call.reply.get("next_attempt_at") or end for call, end in zip(settled, ends)]
            yield max(due + ends) + PUNCTUAL_S, clock.low(after.invoked)


def check_starvation(audit):
    """I12: a fetch that came back empty, though a job of its queue was to be had all the time."""
    spans = collections.defaultdict(list)
    for job in audit.jobs.values():
        if job.deliveries and job.deliveries[0].queue in audit.limited:
            continue  # its turn comes when there is room
        for start, end in pending_for_sure(audit, job):
            if end > start:
                spans[job.deliveries[0].queue].append((start, end, job.job_id))
    reach = {}
    for queue, rows in spans.items():
        rows.sort()
        # Of all spans that begin by a time, the one that lasts longest.
        longest, best = [], None
        for row in rows:
            best = row if best is None or row[1] > best[1] else best
            longest.append(best)
        reach[queue] = ([row[0] for row in rows], longest)
    clock = audit.clock
    for call in audit.history.calls:
        if call.kind != FETCH or call.outcome != OK or call.reply["jobs"]:
            continue
        if any(start <= call.ended and call.invoked <= end for start, end in audit.history.stops):
            continue
        for queue, (starts, longest) in reach.items():
            if not matches(queue, call.args["queues"]):
                continue
            # What counts is the moment of the claim; a fetch that does not wait claims at its start.
            moment = clock.low(call.invoked) if not call.args["wait"] else clock.low(call.ended) - SLACK_S
            at = bisect.bisect_left(starts, moment)
            if at and longest[at - 1][1] > clock.high(call.ended):
                audit.report("I12", f"a fetch of {queue} came back empty though {longest[at - 1][2]} was to be had")


def matches(queue, names):
    return any(name == queue or (name.endswith("*") and queue.startswith(name[:-1])) for name in names)
