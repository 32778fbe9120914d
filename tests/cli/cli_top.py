"""`jobbie top` in a pseudo-terminal, and what the commands do on a terminal: questions, colours, widths."""

import subprocess
import time

from cli_support import Cli, Options
from terminal import Terminal


class OnTerminal(Cli):
    def terminal(self, *words, columns=80, rows=24, term="xterm", **environment):
        terminal = Terminal([Options.binary, *words], dict(self.environment, **environment), columns, rows, term)
        self.addCleanup(terminal.close)
        return terminal

    def work(self, queue, *words):
        worker = subprocess.Popen([Options.binary, "work", queue, *words], env=self.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)
        return worker


class Questions(OnTerminal):
    def test_delete_asks(self):
        job_id = self.enqueue()
        terminal = self.terminal("delete", job_id, columns=120)
        terminal.wait_for(r"Delete the pending job .*\[y/N\]")
        terminal.type("n\n")
        self.assertEqual(terminal.finish(), 130)
        self.assertEqual(self.state(job_id), "pending")
        terminal = self.terminal("delete", job_id, columns=120)
        terminal.wait_for(r"\[y/N\]")
        terminal.type("y\n")
        self.assertEqual(terminal.finish(), 0)
        self.run_cli("inspect", job_id, code=4)

    def test_bulk_by_filter_counts_first(self):
        job_id = self.enqueue()
        terminal = self.terminal("bulk", "delete", "--queue", self.queue)
        terminal.wait_for(r"delete 1 job\? \[y/N\]")
        terminal.type("\n")
        self.assertEqual(terminal.finish(), 130)
        self.assertEqual(self.state(job_id), "pending")
        self.assertEqual(self.terminal("bulk", "delete", "--queue", self.queue, "--yes").finish(), 0)
        self.run_cli("inspect", job_id, code=4)

    def test_bulk_without_jobs_does_not_hang(self):
        terminal = self.terminal("bulk", "delete")
        self.assertEqual(terminal.finish(), 2)
        self.assertIn("which jobs?", terminal.raw)

    def test_colours_and_width(self):
        self.make_dead(self.queue, {"long": "x" * 300}, "an error " * 30)
        colored = self.terminal("search", "--queue", self.queue, columns=100)
        self.assertEqual(colored.finish(), 0)
        self.assertIn("\x1b[31mdead\x1b[0m", colored.raw)
        self.assertTrue(all(len(line) <= 100 for line in colored.screen.lines()))
        plain = self.terminal("search", "--queue", self.queue, NO_COLOR="1")
        self.assertEqual(plain.finish(), 0)
        self.assertNotIn("\x1b[", plain.raw)
        self.assertNotIn("\x1b", self.out("search", "--queue", self.queue))

    def test_narrow_tables(self):
        """The widest texts share what is cut; ids stay whole."""
        queue = self.queue + "." + "long" * 15
        job_id = self.make_dead(queue, {}, "an error " * 30)
        narrow = self.terminal("search", "--queue", queue, columns=90, NO_COLOR="1")
        self.assertEqual(narrow.finish(), 0)
        row = next(line for line in narrow.raw.splitlines() if job_id in line)
        self.assertLessEqual(len(row), 90)
        self.assertRegex(row, rf"^{job_id}  q\.test_narrow_\S*…  dead  .*exit code 1.*…$")
        self.assertIn(queue, self.out("search", "--queue", queue))

    def test_progress_bar(self):
        self.run_cli("enqueue", self.queue, "--lines", stdin="1\n" * 10_500)
        terminal = self.terminal("bulk", "delete", "--queue", self.queue, "--yes", columns=110)
        self.assertEqual(terminal.finish(60), 0)
        self.assertRegex(terminal.raw, r"delete [█░]+ +\d+%")
        self.assertIn("affected 10,500 jobs", "\n".join(terminal.screen.lines()))


class Top(OnTerminal):
    def test_once(self):
        self.enqueue("emails.send")
        text = self.out("top", "--once")
        self.assertRegex(text, r"jobbie top +http://127.0.0.1:\d+ +leader, 1 node")
        self.assertRegex(text, r"(?m)^ QUEUE +PENDING +ACTIVE")
        self.assertRegex(text, r"(?m)^ emails.send +1 +0 ")
        self.assertNotIn("\x1b", text)

    def test_help_tells_the_keys(self):
        self.assertIn("Tab or 1-4 view", self.out("top", "--help"))

    def test_screen_is_as_drawn(self):
        """All of an 80 by 24 screen, but for what moves."""
        self.enqueue("a.queue")
        self.enqueue("b.queue")
        self.run_cli("pause", "b.queue")
        terminal = self.terminal("top")
        terminal.wait_for(r"b\.queue .* paused")
        terminal.wait_for(r"leader, 1 node, up")
        terminal.wait_for(r"q quit")
        lines = terminal.screen.lines()
        self.assertEqual(len(lines), 24)
        self.assertRegex(lines[0], r"^ jobbie top  http://127\.0\.0\.1:\d+  leader, 1 node, up \d+m?s +\d\d:\d\d:\d\d$")
        self.assertRegex(lines[1], r"^ in [\d.]+/s .* done [\d.]+/s .* failed [\d.]+/s")
        self.assertRegex(lines[2], r"^ \d+ pending  0 active  0 scheduled  0 retrying  0 dead")
        self.assertEqual(lines[3], " [1 Queues]  2 Workers   3 Jobs   4 Events")
        self.assertEqual(lines[4], " QUEUE                  PENDING ACTIVE RETRY  DEAD  IN/S DONE/S OLDEST STATUS")
        self.assertRegex(lines[5], r"^ a\.queue +1      0     0     0 +[\d.]+      0 +\d+m?s$")
        self.assertRegex(lines[6], r"^ b\.queue +1      0     0     0 +[\d.]+      0 +\d+m?s paused$")
        self.assertEqual(lines[23], " Enter jobs  p pause/resume  / filter  : command  Tab view  ? help  q quit")
        terminal.type("q")
        self.assertEqual(terminal.finish(), 0)

    def test_pause_filter_and_command(self):
        self.enqueue("pausable.one")
        self.enqueue("other.two")
        terminal = self.terminal("top")
        terminal.wait_for("pausable.one")
        terminal.type("/pausable\r")
        terminal.wait_for(r"/pausable")
        self.assertNotIn("other.two", "\n".join(terminal.screen.lines()[4:20]))
        terminal.type("jp")
        terminal.wait_for(r"pausable\.one .* paused")
        self.assertTrue(self.json("queue", "pausable.one")["paused"])
        terminal.type(":resume pausable.one\r")
        self.wait_for(lambda: not self.json("queue", "pausable.one")["paused"], "the command")
        terminal.type(":nonsense\r")
        terminal.wait_for("unknown command: nonsense")
        terminal.type("q")
        self.assertEqual(terminal.finish(), 0)

    def test_drill_down_cancel_and_retry(self):
        job_id = self.enqueue("drill.down", {"who": "me"})
        terminal = self.terminal("top")
        terminal.wait_for("drill.down")
        terminal.type("/drill\rj\r")
        terminal.wait_for(rf"(?m)^ {job_id} drill\.down +pending")
        terminal.type("j\r")
        terminal.wait_for(rf"{job_id}  pending")
        terminal.wait_for(r'payload +\{"who": ?"me"\}')
        terminal.wait_for(r"why +no_worker")
        terminal.type("C")
        terminal.wait_for(r"cancel this job\? \[y/N\]")
        terminal.type("n")
        terminal.wait_for("nothing was done")
        self.assertEqual(self.state(job_id), "pending")
        terminal.type("C")
        terminal.wait_for(r"\[y/N\]")
        terminal.type("y")
        terminal.wait_for(rf"{job_id}  cancelled")
        terminal.type("r")
        terminal.wait_for(rf"{job_id}  pending")
        terminal.type("\x1b")
        terminal.wait_for(r"\[3 Jobs\]")
        terminal.type("q")
        self.assertEqual(terminal.finish(), 0)

    def test_workers_events_and_help(self):
        self.work("live.queue", "--worker-id", "worker-1", "--", "true")
        terminal = self.terminal("top", columns=120)
        terminal.type("2")
        terminal.wait_for(r"worker-1 .* live\.queue")
        terminal.type("4")
        terminal.wait_for(r"\[4 Events\]")
        self.wait_for(lambda: self.enqueue("live.queue") and terminal.read(0.2) and
                      "completed" in "\n".join(terminal.screen.lines()), "an event on the screen")
        terminal.type("?")
        terminal.wait_for("mark; what follows")
        terminal.type("\x1b")
        terminal.wait_for(r"\[1 Queues\]")
        terminal.type("q")
        self.assertEqual(terminal.finish(), 0)

    def test_marks_act_on_several(self):
        ids = [self.enqueue("marked.queue") for _ in range(3)]
        terminal = self.terminal("top", columns=100)
        terminal.type(":queue marked.queue\r")
        terminal.wait_for(ids[0])
        terminal.type("j  ")
        terminal.wait_for(r"(?m)^\*job_.*\n\*job_")
        terminal.type("D")
        terminal.wait_for(r"delete 2 jobs\?")
        terminal.type("y")
        self.wait_for(lambda: self.json("queue", "marked.queue")["pending"] == 1, "the deletion")
        terminal.type("q")
        self.assertEqual(terminal.finish(), 0)

    def test_resize_and_no_colour(self):
        self.enqueue("resized.queue")
        for term in ("xterm", "vt100"):
            terminal = self.terminal("top", columns=80, rows=24, term=term, NO_COLOR="1")
            terminal.wait_for("q quit")
            terminal.resize(132, 40)
            self.wait_for(lambda t=terminal: t.read() and "q quit" in t.screen.lines()[39], "the new size")
            self.assertTrue(any(len(line) > 100 for line in terminal.screen.lines()))
            self.assertNotRegex(terminal.raw, r"\x1b\[3[0-7]m")
            terminal.resize(40, 8)
            self.wait_for(lambda t=terminal: t.read() and "Enter jobs" in t.screen.lines()[7], "the small size")
            terminal.type("q")
            self.assertEqual(terminal.finish(), 0)

    def test_few_requests(self):
        self.enqueue("counted")
        before = self.requests()
        terminal = self.terminal("top")
        terminal.wait_for("counted")
        began = time.time()
        while time.time() - began < 4:
            terminal.read()
        used = self.requests() - before
        terminal.type("q")
        terminal.finish()
        self.assertLess(used, 4 * 5 + 6, "more than a few requests a second")

    def requests(self):
        text = self.shell("curl -s $JOBBIE_URL/metrics")
        return sum(int(line.split()[-1]) for line in text.splitlines()
                   if line.startswith("jobbie_http_requests_total{"))
