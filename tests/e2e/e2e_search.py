"""Searches that are made to be expensive: they end in time, and harm nobody else."""

import json
import os
import select
import socket
import threading
import time

from support import API, Broken, Client, EndToEnd, NotSent

SEARCH = f"{API}/jobs/search"
# A payload in which each element is looked for among all: minutes of work for one job.
ENDLESS = [[number] for number in range(100_000)]
ENDLESS_FILTER = {"queue": "mail.*", "payload_jq": "contains(.) | not"}
# D1 of the reliability test: a pattern that is nearly everywhere in a long text.
LONG_TEXT = {"s": "a" * 1_040_000}
NEAR_MISS = {"queue": "mail.*", "payload_jq": '.s | test("%s")' % ("a" * 3900 + "b")}
# More than a cheap search ever takes here, and less than an expensive one may.
SOON_S = 4.0


class Searches(EndToEnd):
    def raw(self, port, body, headers=None):
        """Sends a search on a connection of its own and does not wait for the answer."""
        link = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.addCleanup(link.close)
        text = json.dumps(body)
        head = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        link.sendall((f"POST {SEARCH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{head}"
                      f"Content-Length: {len(text)}\r\n\r\n{text}").encode())
        return link

    def search(self, client, body, **more):
        began = time.monotonic()
        answer = client.post(SEARCH, body, **more)
        return answer, time.monotonic() - began

    def wait_until(self, what, predicate, within_s=30.0):
        deadline = time.monotonic() + within_s
        while not predicate():
            self.assertLess(time.monotonic(), deadline, f"not within {within_s} s: {what}")
            time.sleep(0.02)

    def processor_s(self, server):
        """What the server's process has used so far."""
        with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_until_busy(self, server):
        """Until searches are under way."""
        before = self.processor_s(server)
        self.wait_until("searches are under way", lambda: self.processor_s(server) > before + 0.3)

    def test_long_texts_are_searched_in_one_pass(self):
        server = self.serve()
        client = self.client(server)
        for _ in range(3):
            self.enqueue(client, "mail.a", LONG_TEXT)
        before = self.processor_s(server)
        answer, _ = self.search(client, NEAR_MISS)
        self.assertEqual((answer.status, answer.json["total"]), (200, 0), answer.body)
        # It took nine seconds for each job.
        self.assertLess(self.processor_s(server) - before, SOON_S)

    def test_time_ends_a_search_within_one_job(self):
        server = self.serve()
        client = self.client(server)
        self.enqueue(client, "mail.a", ENDLESS)
        answer, took = self.search(client, ENDLESS_FILTER)
        self.assertEqual((answer.status, answer.code), (422, "search_too_slow"), answer.body)
        self.assertGreater(took, 4.9)
        self.assertLess(took, 5 + SOON_S)
        # A dry run counts in the same time.
        answer = client.post(f"{API}/jobs/bulk", {"filter": ENDLESS_FILTER, "action": "cancel", "dry_run": True})
        self.assertEqual((answer.status, answer.code), (422, "search_too_slow"), answer.body)

    def test_a_key_cannot_delay_the_searches_of_another(self):
        server = self.serve(["--auth"])
        client = self.client(server)
        with open(os.path.join(server.data_dir, "admin.key"), encoding="utf-8") as file:
            admin = {"Authorization": f"Bearer {file.read().strip()}"}
        made = client.post(f"{API}/keys", {"name": "mail", "scopes": ["produce"], "queues": ["mail.*"]}, headers=admin)
        self.assertEqual(made.status, 201, made.body)
        mail = {"Authorization": f"Bearer {made.json['secret']}"}
        answer = client.post(f"{API}/enqueue", {"queue": "mail.a", "payload": ENDLESS}, headers=mail)
        self.assertEqual(answer.status, 201, answer.body)
        for _ in range(12):
            self.raw(server.port, ENDLESS_FILTER, mail)
        self.wait_until_busy(server)
        for _ in range(5):
            answer, took = self.search(client, {"queue": "other"}, headers=admin)
            self.assertEqual(answer.status, 200, answer.body)
            self.assertLess(took, SOON_S)
        # Bulk operations have a thread of their own.
        began = time.monotonic()
        answer = client.post(f"{API}/jobs/bulk", {"filter": {"queue": "other"}, "action": "cancel"}, headers=admin)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertLess(time.monotonic() - began, SOON_S)

    def test_too_many_of_one_caller_are_refused(self):
        server = self.serve()
        client = self.client(server)
        self.enqueue(client, "mail.a", ENDLESS)
        links = [self.raw(server.port, ENDLESS_FILTER) for _ in range(110)]
        refused = lambda: len(select.select(links, [], [], 0)[0])  # noqa: E731
        self.wait_until("two are under way, a hundred wait, the rest is refused", lambda: refused() >= 8)
        # One may just have come to its end, so that a place is free: the next one takes that.
        def last_is_refused():
            links.append(self.raw(server.port, {"queue": "other"}))
            if not select.select(links[-1:], [], [], 0.5)[0]:
                return False
            answer = links[-1].recv(65536)
            self.assertTrue(answer.startswith(b"HTTP/1.1 429 "), answer)
            self.assertIn(b'"overloaded"', answer)
            self.assertIn(b"\r\nretry-after: 1\r\n", answer.lower())
            return True
        self.wait_until("one more is refused", last_is_refused)
        # Whoever hangs up makes room.
        for link in links:
            link.close()
        def answered():
            return self.search(client, {"queue": "other"})[0].status == 200
        self.wait_until("there is room again", answered, SOON_S)

    def test_a_client_that_goes_takes_its_search_along(self):
        server = self.serve()
        client = self.client(server)
        self.enqueue(client, "mail.a", ENDLESS)
        links = [self.raw(server.port, ENDLESS_FILTER) for _ in range(6)]
        self.wait_until_busy(server)
        for link in links:
            link.close()
        # Those that waited do not begin, and those under way end before their time is over.
        answer, took = self.search(client, {"queue": "other"})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertLess(took, SOON_S)

    def test_a_stop_waits_for_no_search(self):
        server = self.serve()
        client = self.client(server)
        self.enqueue(client, "mail.a", ENDLESS)
        answers = []

        def ask():
            mine = Client(server.port)
            try:
                answers.append(mine.post(SEARCH, ENDLESS_FILTER).code)
            except (Broken, NotSent) as error:
                answers.append(str(error))
            mine.close()
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        self.wait_until_busy(server)
        began = time.monotonic()
        server.stop()
        took = time.monotonic() - began
        for thread in threads:
            thread.join(10)
        self.assertLess(took, SOON_S)
        self.assertEqual(answers, ["stopping"] * 8)
