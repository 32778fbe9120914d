"""Ends: one per life, for a reason that somebody gave, with the result that was accepted."""

from history import OK, UNKNOWN


def allowed_attempts(max_retries):
    return max(1, max_retries)


def check(audit, job):
    check_attempts(audit, job)
    check_accepted_acks(audit, job)
    check_final_fails(audit, job)
    check_cancels(audit, job)
    if job.final is not None:
        check_reason(audit, job)


def happened(calls):
    """Those that may have taken effect."""
    return [call for call in calls if call.outcome in (OK, UNKNOWN)]


def check_attempts(audit, job):
    """I11: no more deliveries than attempts, those nobody saw included."""
    limit = None
    if job.spec is not None:
        limit = allowed_attempts(job.spec["max_retries"])
    elif job.final is not None:
        limit = allowed_attempts(job.final.max_retries)
    leases = {delivery.lease for delivery in job.deliveries}
    if limit is not None:
        if len(leases) > limit:
            audit.report("I11", f"{job.job_id}: {len(leases)} deliveries, {limit} attempts allowed")
        for delivery in job.deliveries:
            if delivery.attempt > limit:
                audit.report("I11", f"{job.job_id}: attempt {delivery.attempt} of {limit} delivered")
    if job.final is not None:
        if limit is not None and job.final.attempt > limit:
            audit.report("I11", f"{job.job_id}: ended with attempt {job.final.attempt} of {limit}")
        if job.final.attempt < len(leases):
            audit.report("I11", f"{job.job_id}: {len(leases)} deliveries counted as {job.final.attempt}")


def check_accepted_acks(audit, job):
    """I9: an accepted ack is the end, and its result is the one that is kept."""
    accepted = [call for call in job.settles if call.kind == "ack" and call.outcome == OK]
    if not accepted:
        return
    leases = {call.args["lease"] for call in accepted}
    if len(leases) > 1:
        audit.report("I9", f"{job.job_id}: acks accepted under leases {sorted(leases)}")
    lease = max(leases)
    for delivery in job.deliveries:
        if delivery.lease > lease:
            audit.report("I9", f"{job.job_id}: delivered under lease {delivery.lease} after the ack of {lease}")
    final = job.final
    if final is None:
        return
    cancelled = final.state == "cancelled" and happened(job.cancels)
    if final.state != "completed" and not cancelled:
        audit.report("I9", f"{job.job_id}: ack of lease {lease} was accepted, and the job is {final.state}")
    results = [call.args["result"] for call in accepted if call.args["lease"] == lease]
    repeated = [call.args["result"] for call in job.settles if call.kind == "ack" and call.outcome == UNKNOWN
                and call.args["lease"] == lease]
    if final.state == "completed" and final.result not in results + repeated:
        audit.report("I9", f"{job.job_id}: result {results[0]!r} was accepted, {final.result!r} is kept")


def check_final_fails(audit, job):
    for call in job.settles:
        if call.kind != "fail" or call.outcome != OK or call.reply.get("status") not in ("dead", "cancelled"):
            continue
        status = call.reply["status"]
        for delivery in job.deliveries:
            if delivery.lease > call.args["lease"]:
                audit.report("I9", f"{job.job_id}: delivered under lease {delivery.lease} after it was {status}")
        if job.final is not None and job.final.state != status:
            audit.report("I9", f"{job.job_id}: was told to be {status}, is {job.final.state}")


def check_cancels(audit, job):
    """I9: a job that was cancelled, or asked to stop while active, ends so and starts no more."""
    for call in job.cancels:
        if call.outcome != OK or call.reply.get("status") not in ("cancelled", "cancelling"):
            continue
        for delivery in job.deliveries:
            if delivery.invoked > call.ended:
                audit.report("I9", f"{job.job_id}: delivered after it was cancelled")
        if job.final is not None and job.final.state != "cancelled":
            audit.report("I9", f"{job.job_id}: was cancelled, is {job.final.state}")


def check_reason(audit, job):
    """I9: no end that nothing explains."""
    final, spec = job.final, job.spec
    acks = happened([call for call in job.settles if call.kind == "ack"])
    if final.state == "completed":
        if not acks:
            audit.report("I9", f"{job.job_id}: completed, and nobody has said so")
        elif final.result not in [call.args["result"] for call in acks]:
            audit.report("I9", f"{job.job_id}: holds result {final.result!r}, which nobody sent")
    elif final.state == "cancelled":
        if not happened(job.cancels):
            audit.report("I9", f"{job.job_id}: cancelled, and nobody has asked for it")
    elif final.state == "dead":
        used_up = final.attempt >= allowed_attempts(final.max_retries)
        told = [call for call in happened(job.settles) if call.kind == "fail" and call.args.get("no_retry")]
        expires = spec is not None and spec.get("expires")
        if not used_up and not told and not expires:
            audit.report("I9", f"{job.job_id}: dead after {final.attempt} of {final.max_retries} attempts, "
                               "without a reason")
