#!/usr/bin/env python3
"""The auditor itself: a sound history passes, and each doctored one is caught by the right check."""

import unittest

from audit import Audit
from audit_limits import check_concurrency, check_rate, check_schedule
from history import CANCEL, OK, REFUSED, Final
from story import sound


class Sound(unittest.TestCase):
    def test_nothing_is_found(self):
        self.assertEqual(sound().findings(), [])


    def test_nothing_is_found_by_clocks_that_differ(self):
        for ahead in (0.0, 86400.0, -3600.0):
            self.assertEqual(sound(ahead).findings(clocks_jump=True), [], ahead)
        self.assertNotEqual(sound(-3600.0).findings(), [], "the clients' clock is no measure then")


class Doctored(unittest.TestCase):
    """One lie each."""

    def expect(self, story, invariant, *words):
        findings = story.findings()
        fitting = [text for text in findings if text.startswith(invariant + ":") and all(w in text for w in words)]
        self.assertTrue(fitting, f"no {invariant} with {words} in {findings}")

    def test_a_lost_job(self):
        story = sound()
        del story.finals["job-one"]
        self.expect(story, "I1", "job-one", "gone")

    def test_a_job_of_a_batch_is_lost(self):
        story = sound()
        del story.finals["job-eight"]
        self.expect(story, "I1", "job-eight", "gone")
        self.expect(story, "I2", "exists by 1")

    def test_a_payload_of_another(self):
        story = sound()
        story.finals["job-one"].token = "two"
        self.expect(story, "I1", "holds two")

    def test_a_job_from_nowhere(self):
        story = sound()
        story.finals["ghost"] = Final("ghost", "q", "completed", "ghost", 1, 3, 1000.0, 1001.0)
        self.expect(story, "I2", "nobody sent")

    def test_a_refused_job_exists(self):
        story = sound()
        story.enqueue("refused", REFUSED)
        story.finals["x"] = Final("x", "q", "dead", "refused", 3, 3, 1000.0, 1001.0)
        self.expect(story, "I2", "was refused and exists")

    def test_delivered_and_not_there(self):
        story = sound()
        del story.finals["job-two"]
        self.expect(story, "I2", "delivered and does not exist")

    def test_one_enqueue_two_jobs(self):
        story = sound()
        story.finals["twin"] = Final("twin", "q", "dead", "one", 3, 3, 1000.0, 1001.0)
        self.expect(story, "I2", "is 2 jobs")

    def test_one_idempotency_key_two_jobs(self):
        story = sound()
        story.enqueue("six", idempotency="i6", job_id="other")
        self.expect(story, "I3", "is 2 jobs")
        self.expect(story, "I3", "was answered with")

    def test_never_ended(self):
        story = sound()
        story.enqueue("stuck")
        story.finals["job-stuck"].state = "pending"
        self.expect(story, "I10", "still pending")

    def test_hash_differs(self):
        story = sound()
        story.status(3, 12, "cc")
        self.expect(story, "I4", "index 12")

    def test_index_goes_back(self):
        story = sound()
        story.status(3, 11, "cc")
        self.expect(story, "I6", "from 12")

    def test_reused_lease(self):
        story = sound()
        job = story.enqueue("again")
        story.deliver(job, 9)
        story.ack(job, 9)
        self.expect(story, "I7", "lease 9")

    def test_same_lease_twice(self):
        story = sound()
        job = story.enqueue("again")
        story.deliver(job, 20)
        story.wait(2)
        story.deliver(job, 20, attempt=2)
        self.expect(story, "I7", "under one lease")

    def test_leases_fall(self):
        story = sound()
        job = story.enqueue("again")
        story.deliver(job, 21)
        story.wait(2)
        story.deliver(job, 20, attempt=2)
        self.expect(story, "I7", "attempts do not")

    def test_double_delivery(self):
        story = sound()
        job = story.enqueue("twice")
        story.deliver(job, 20)
        story.deliver(job, 21, attempt=2)
        self.expect(story, "I12", "before the lease's end")

    def test_heartbeat_ignored(self):
        story = sound()
        job = story.enqueue("twice")
        story.deliver(job, 20)
        story.wait(0.8)
        story.beat(job, 20)
        story.wait(0.4)
        story.deliver(job, 21, attempt=2)
        self.expect(story, "I12", "before the lease's end")

    def test_backoff_ignored(self):
        story = sound()
        job = story.enqueue("hasty")
        story.deliver(job, 20)
        story.fail(job, 20, after=5.0)
        story.deliver(job, 21, attempt=2)
        self.expect(story, "I12", "backoff")

    def test_starved_worker(self):
        story = sound()
        job = story.enqueue("late")
        story.wait(1)
        story.empty_fetch()
        story.deliver(job, 20)
        story.ack(job, 20)
        self.expect(story, "I12", "came back empty", job)

    def test_starved_waiting_worker_after_a_lost_lease(self):
        story = sound()
        job = story.enqueue("late")
        story.deliver(job, 20)
        story.wait(4)
        story.empty_fetch(wait=1)
        story.deliver(job, 21, attempt=2)
        story.ack(job, 21)
        self.expect(story, "I12", "came back empty", job)

    def test_an_empty_fetch_during_a_stop_is_fine(self):
        story = sound()
        job = story.enqueue("late")
        story.wait(1)
        story.history.add_stop(story.now - 0.1, story.now + 0.1)
        story.empty_fetch()
        story.deliver(job, 20)
        story.ack(job, 20)
        self.assertEqual(story.findings(), [])

    def test_late_ack_accepted(self):
        story = sound()
        job = story.enqueue("late")
        story.deliver(job, 20)
        story.wait(1.5)
        story.ack(job, 20)
        self.expect(story, "I8", "after the lease's end")

    def test_a_lease_is_longer_by_the_time_without_a_leader_and_no_more(self):
        for waited, found in ((1.5, False), (2.5, True)):
            story = sound()
            job = story.enqueue("late")
            story.deliver(job, 20)
            story.history.add_gap(story.now, story.now + 1.0)
            story.wait(waited)
            story.ack(job, 20)
            late = [text for text in story.findings() if text.startswith("I8:")]
            self.assertEqual(bool(late), found, late)

    def test_nodes_differ(self):
        story = sound()
        for node, text in (("n1", "aa"), ("n2", "bb")):
            story.status(1, 500, text)
            story.history.statuses[-1].node = node
        self.expect(story, "I4", "index 500", "n2")

    def test_a_node_may_begin_anew_but_not_go_back(self):
        for lives, found in (((1, 2), False), ((1, 1), True)):
            story = sound()
            story.history.statuses.clear()
            for life, index in zip(lives, (600, 590)):
                story.status(life, index, f"hash {index}")
                story.history.statuses[-1].node = "n1"
            self.assertEqual(any(text.startswith("I6:") for text in story.findings()), found)

    def test_stale_ack_accepted(self):
        story = sound()
        job = story.enqueue("late")
        story.deliver(job, 20)
        story.wait(1.5)
        story.deliver(job, 21, attempt=2)
        story.ack(job, 20)
        self.expect(story, "I8", "lease 21 had been given out")

    def test_stale_beat_and_fail_accepted(self):
        for lie in ("beat", "fail"):
            story = sound()
            job = story.enqueue("late")
            story.deliver(job, 20)
            story.wait(1.5)
            story.deliver(job, 21, attempt=2)
            getattr(story, lie)(job, 20)
            story.ack(job, 21)
            self.expect(story, "I8", lie)

    def test_delivered_after_the_ack(self):
        story = sound()
        story.wait(2)
        story.deliver("job-one", 30, attempt=2)
        self.expect(story, "I9", "after the ack")

    def test_another_result(self):
        story = sound()
        story.finals["job-one"].result = {"lease": 77}
        self.expect(story, "I9", "is kept")

    def test_result_nobody_sent(self):
        story = sound()
        story.finals["job-two"].result = {"lease": 77}
        self.expect(story, "I9", "nobody sent")

    def test_acked_and_dead(self):
        story = sound()
        story.finals["job-one"].state = "dead"
        self.expect(story, "I9", "the job is dead")

    def test_dead_and_delivered(self):
        story = sound()
        story.wait(2)
        story.deliver("job-three", 30, attempt=3)
        self.expect(story, "I9", "after it was dead")

    def test_completed_by_nobody(self):
        story = sound()
        story.enqueue("magic")
        self.expect(story, "I9", "nobody has said so")

    def test_cancelled_by_nobody_and_cancelled_in_vain(self):
        story = sound()
        story.finals["job-two"].state = "cancelled"
        self.expect(story, "I9", "nobody has asked")
        story = sound()
        job = story.enqueue("cancel")
        story.call(CANCEL, {"job_id": job}, OK, {"status": "cancelled"})
        story.deliver(job, 30)
        story.ack(job, 30)
        self.expect(story, "I9", "delivered after it was cancelled")

    def test_asked_to_stop_and_completed(self):
        story = sound()
        job = story.enqueue("stop")
        story.deliver(job, 30)
        story.call(CANCEL, {"job_id": job}, OK, {"status": "cancelling"})
        story.ack(job, 30)
        self.expect(story, "I9", "was cancelled, is completed")

    def test_dead_too_soon(self):
        story = sound()
        job = story.enqueue("short")
        story.deliver(job, 30)
        story.finals[job].state, story.finals[job].ended_at = "dead", story.now
        self.expect(story, "I9", "without a reason")

    def test_too_many_attempts(self):
        story = sound()
        story.wait(2)
        story.finals["job-three"].ended_at = None
        story.deliver("job-three", 30, attempt=4)
        self.expect(story, "I11", "attempt 4 of 3")

    def test_attempts_not_counted(self):
        story = sound()
        story.finals["job-three"].attempt = 2
        self.expect(story, "I11", "counted as 2")

    def test_two_holders_of_a_key(self):
        story = sound()
        story.finals["job-five"].created_at = story.finals["job-four"].ended_at - 0.005
        self.expect(story, "I15", "together")

    def test_duplicate_of_an_ended_job(self):
        story = sound()
        story.wait(1)
        story.enqueue("five-again", existing=True, job_id="job-five", unique_key="k")
        self.expect(story, "I15", "had ended")

    def test_database_and_answer_differ(self):
        story = sound()
        said = story.finals["job-one"]
        story.answers["job-one"] = Final(said.job_id, said.queue, said.state, said.token, 2, 3, said.created_at,
                                         said.ended_at, said.result)
        self.expect(story, "I17", "attempt")

    def test_a_lost_checkpoint(self):
        story = sound()
        job = story.enqueue("checkpoint")
        story.deliver(job, 30)
        story.beat(job, 30, checkpoint={"at": 7})
        story.wait(2)
        story.deliver(job, 31, attempt=2)
        story.ack(job, 31)
        self.expect(story, "I1", "checkpoint")

    def test_second_callback_no_callback_wrong_callback(self):
        story = sound()
        story.callback("cb", 2, 2, job_id="second")
        self.expect(story, "I25", "2 callbacks")
        story = sound()
        del story.finals["job-cb"]
        self.expect(story, "I25", "0 callbacks")
        story = sound()
        story.finals["job-cb"].payload["batch"]["failed"] = 1
        self.expect(story, "I25", "says")
        story = sound()
        story.finals["job-cb"].created_at -= 1
        self.expect(story, "I25", "before its last member")


class ByTheLogsTime(unittest.TestCase):
    """Clocks jump: what is told from the server's own times alone."""

    def setUp(self):
        self.story = sound(3600.0)

    def expect(self, invariant, *words, **more):
        findings = self.story.findings(clocks_jump=True, **more)
        fitting = [text for text in findings if text.startswith(invariant + ":") and all(w in text for w in words)]
        self.assertTrue(fitting, f"no {invariant} with {words} in {findings}")

    def test_leases_overlap(self):
        """The clients see two seconds between the deliveries, the log only half of one."""
        job = self.story.enqueue("overlap")
        self.story.deliver(job, 20)
        self.story.wait(2.0)
        self.story.log_ahead -= 1.5
        self.story.deliver(job, 21, attempt=2)
        self.expect("I12", "before the lease's end", job)

    def test_no_overlap_where_the_log_runs_faster(self):
        job = self.story.enqueue("fast")
        self.story.deliver(job, 20)
        self.story.wait(0.7)
        self.story.log_ahead += 0.4
        self.story.deliver(job, 21, attempt=2)
        self.story.ack(job, 21)
        self.assertEqual(self.story.findings(clocks_jump=True), [])

    def test_a_heartbeat_counts(self):
        """It came after another claim, whose time is known, and so lasts until a lease after that."""
        job, other = self.story.enqueue("beaten"), self.story.enqueue("other")
        self.story.deliver(job, 20)
        self.story.wait(0.8)
        self.story.deliver(other, 21)
        self.story.ack(other, 21)
        self.story.beat(job, 20)
        self.story.wait(0.5)
        self.story.deliver(job, 22, attempt=2)
        self.expect("I12", "before the lease's end", job)

    def test_a_late_ack(self):
        job, other = self.story.enqueue("late"), self.story.enqueue("other")
        self.story.deliver(job, 20)
        self.story.wait(1.5)
        self.story.deliver(other, 21)
        self.story.ack(other, 21)
        self.story.ack(job, 20)
        self.expect("I8", "after the lease's end", job)

    def test_log_time_goes_back(self):
        self.story.enqueue("before")
        self.story.log_ahead -= 10.0
        self.story.enqueue("after")
        self.expect("I13", "was stamped")

    def test_a_delay_by_another_clock(self):
        for wrong in (3600.0, -3600.0, None):
            self.setUp()
            job = self.story.enqueue("delayed", delay=5.0)
            final = self.story.finals[job]
            final.scheduled_at = None if wrong is None else final.created_at + 5.0 + wrong
            self.expect("I12", "with a delay of 5.000 s", job)

    def test_delivered_before_its_time(self):
        job = self.story.enqueue("delayed", delay=5.0)
        self.story.finals[job].scheduled_at = self.story.finals[job].created_at + 5.0
        self.story.wait(4.0)
        self.story.deliver(job, 20)
        self.expect("I12", "before its time", job)

    def test_starved(self):
        job, other = self.story.enqueue("waiting"), self.story.enqueue("other")
        self.story.wait(1)
        self.story.deliver(other, 20)
        self.story.empty_fetch()
        self.story.enqueue("later")
        self.story.enqueue("even later")
        self.story.deliver(job, 21)
        self.story.ack(job, 21)
        self.expect("I12", "came back empty", job)
        self.assertFalse([text for text in self.story.findings(clocks_jump=True, limited=["q"]) if "empty" in text])

    def test_schedules_and_limits(self):
        audit = Audit(self.story.history, self.story.finals)
        check_schedule(audit, "s", [10.0, 11.0, 12.0])
        check_concurrency(audit, "q", 2, [(1.0, 2.0), (1.0, 3.0), (2.0, 4.0)])
        check_rate(audit, "q", 2, 1.0, [(1.0, 2.0), (1.5, 2.0), (2.0, 2.1)])
        self.assertEqual(audit.findings, [])
        check_schedule(audit, "twice", [10.0, 11.0, 11.0])
        check_schedule(audit, "gap", [10.0, 12.0])
        check_schedule(audit, "none", [])
        check_concurrency(audit, "q", 2, [(1.0, 2.0), (1.0, 3.0), (1.999, 4.0)])
        check_rate(audit, "q", 2, 1.0, [(1.0, 2.0), (1.5, 2.0), (1.999, 2.1)])
        self.assertEqual([text[:4] for text in audit.findings], ["I14:"] * 3 + ["I20:"] * 2)

    def test_jobs_of_a_schedule_are_not_invented(self):
        for number in (1, 2):
            self.story.finals[f"x{number}"] = Final(f"x{number}", "cron", "dead", "tick", 3, 3, self.story.log_now, None)
        self.expect("I2", "nobody sent")
        self.assertEqual(self.story.findings(clocks_jump=True, made_by_schedules=["tick"]), [])


if __name__ == "__main__":
    unittest.main()
