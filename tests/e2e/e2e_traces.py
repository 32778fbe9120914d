"""Traces against a collector of our own: spans of a job, and a server that does not care if it is away."""

import http.server
import json
import threading
import time

from support import API, EndToEnd

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


class Collector(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), CollectorHandler)
        self.spans = []
        self.changed = threading.Condition()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def wait(self, count, timeout=15):
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.spans) >= count, timeout):
                raise AssertionError(f"{len(self.spans)} of {count} spans came: {self.spans}")
            return list(self.spans)


class CollectorHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200 if self.path == "/v1/traces" else 404)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        with self.server.changed:
            for resource in body["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    self.server.spans += scope["spans"]
            self.server.changed.notify_all()

    def log_message(self, *_):
        pass


def attributes(span):
    return {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}


class Traces(EndToEnd):
    def collector(self, port=0):
        collector = Collector(port)
        self.addCleanup(collector.server_close)
        self.addCleanup(collector.shutdown)
        return collector

    def test_spans_of_a_job(self):
        collector = self.collector()
        server = self.serve(["--otlp-endpoint", f"http://127.0.0.1:{collector.server_address[1]}"])
        client = self.client(server)
        job = self.enqueue(client, "mail", traceparent=PARENT)["job_id"]
        other = self.enqueue(client, "mail")["job_id"]
        self.fetch(client, "mail", count=2)
        client.post(f"{API}/fail/{job}", {"error": "no", "retry_in": "0s"})
        client.post(f"{API}/ack/{other}", {})
        self.assertEqual(self.fetch(client, "mail")["job_id"], job)
        client.post(f"{API}/ack/{job}", {})
        spans = collector.wait(8)
        self.assertEqual(len(spans), 8, spans)
        mine = [span for span in spans if attributes(span)["jobbie.job_id"] == job]
        self.assertEqual({span["traceId"] for span in mine}, {TRACE})
        named = {(span["name"], attributes(span)["jobbie.attempt"]): span for span in mine}
        self.assertEqual(sorted(named), [("enqueue", "0"), ("run", "1"), ("run", "2"), ("wait", "1"), ("wait", "2")])
        root = named["enqueue", "0"]
        self.assertEqual(root["parentSpanId"], "00f067aa0ba902b7")
        self.assertEqual({span["parentSpanId"] for span in mine if span is not root}, {root["spanId"]})
        self.assertEqual(len({span["spanId"] for span in spans}), 8)
        self.assertEqual(attributes(named["run", "1"])["jobbie.outcome"], "failed")
        self.assertEqual(named["run", "1"]["status"], {"code": 2})
        self.assertEqual(attributes(named["run", "2"])["jobbie.outcome"], "completed")
        self.assertEqual(attributes(root)["jobbie.queue"], "mail")
        for span in spans:
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
            self.assertLess(abs(int(span["endTimeUnixNano"]) / 1e9 - time.time()), 60)
        theirs = {span["traceId"] for span in spans} - {TRACE}
        self.assertEqual(len(theirs), 1)

    def test_a_collector_that_is_away_holds_nobody_up(self):
        collector = self.collector()
        port = collector.server_address[1]
        collector.shutdown()
        collector.server_close()
        server = self.serve(["--otlp-endpoint", f"http://127.0.0.1:{port}"])
        client = self.client(server)
        begun = time.time()
        for _ in range(50):
            self.enqueue(client, "q")
        self.assertLess(time.time() - begun, 5)
        deadline = time.time() + 10
        while not any(line["event"] == "traces_dropped" for line in self.log_lines(server)):
            self.assertLess(time.time(), deadline)
            time.sleep(0.05)
        back = self.collector(port)
        deadline = time.time() + 20
        while not back.spans:
            self.assertLess(time.time(), deadline)
            self.enqueue(client, "q")
            time.sleep(0.2)
        server.stop()

    def test_an_odd_endpoint_is_refused(self):
        done = self.run_program("server", "--data-dir", self.path("data"), "--http", "127.0.0.1:0", "--otlp-endpoint",
                                "collector:4318")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--otlp-endpoint", done.stderr)
