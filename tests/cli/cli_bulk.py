"""Search and bulk: filters, pipes, and the pipelines that the manual promises, as written there."""

import json

from cli_support import Cli


class Search(Cli):
    def test_filters(self):
        dead = self.make_dead("emails.send", {"to": "user@example.com", "amount": 250})
        pending = self.enqueue("emails.send", {"amount": 7}, "--tag", "tenant=acme-corp", "--priority", "high")
        other = self.enqueue("reports", {"customer_id": "cust_42"})
        for words, expected in (
                (["--queue", "emails.send", "--state", "dead"], [dead]),
                (["--queue", "emails.send", "--payload-contains", "user@example.com"], [dead]),
                (["--queue", "emails.send", "--payload-jq", ".amount > 100"], [dead]),
                (["--tag", "tenant=acme-corp", "--state", "pending"], [pending]),
                (["--error-contains", "SMTP", "--created-after", "2026-02-10"], [dead]),
                (["--state", "dead,pending", "--order", "asc"], [dead, pending, other]),
                (["--state", "dead", "--state", "pending", "--limit", "1", "--order", "asc"], [dead]),
                (["--priority", "high"], [pending]),
                (["--has-errors"], [dead]),
                (["--queue", "rep*"], [other]),
                (["--id-prefix", other[:30]], [other]),
                (["--attempt-min", "1"], [dead]),
                (["--created-after", "1h", "--created-before", "now", "--queue", "reports"], [other]),
                (["--created-before", "1h"], []),
                (["--filter", '{"queue":"reports"}'], [other])):
            self.assertEqual(self.out("search", *words, "--ids").split(), expected, words)
        self.assertRegex(self.out("search", "--state", "dead"), rf"(?m)^ID +QUEUE.*\n{dead} +emails.send +dead +1/1 ")
        self.assertEqual(self.out("search", "--state", "dead", "--count"), "1\n")
        self.assertEqual([j["id"] for j in self.json("search", "--state", "dead")], [dead])
        self.assertEqual(json.loads(self.out("search", "--state", "dead", "--output", "ndjson"))["id"], dead)
        self.assertEqual(self.json("search", "--queue", "nowhere"), [])

    def test_pages_to_the_end(self):
        self.run_cli("enqueue", self.queue, "--lines", stdin='{"n":1}\n' * 2500)
        found = self.out("search", "--queue", self.queue, "--ids").split()
        self.assertEqual((len(found), len(set(found))), (2500, 2500))
        self.assertEqual(self.out("search", "--queue", self.queue, "--count"), "2500\n")

    def test_refusals(self):
        self.run_cli("search", "--state", "sleeping", code=2)
        self.assertIn("[bad_jq]", self.run_cli("search", "--payload-jq", ".a ===", code=2).stderr)
        self.run_cli("search", "--created-after", "yesterday-ish", code=2)
        self.run_cli("search", "--filter", "{", code=2)
        self.run_cli("search", "--filter", "{}", "--queue", "q", code=2)
        self.run_cli("search", "--has-errors", "--no-errors", code=2)


class Pipelines(Cli):
    def test_1_retry_dead_with_smtp_errors(self):
        dead = self.make_dead("emails.send")
        other = self.make_dead("emails.send", error="no such user")
        self.shell('jobbie search --queue emails.send --state dead --error-contains "SMTP" --output json \\\n'
                   '  | jobbie bulk retry')
        self.assertEqual((self.state(dead), self.state(other)), ("pending", "dead"))

    def test_2_move_pending(self):
        ids = [self.enqueue("old.emails") for _ in range(3)]
        self.shell("jobbie search --queue old.emails --state pending --output json \\\n"
                   "  | jobbie bulk move emails.v2")
        self.assertEqual({self.json("inspect", i)["queue"] for i in ids}, {"emails.v2"})

    def test_3_delete_old_completed(self):
        young = self.make_completed("done.queue")
        said = self.shell('jobbie search --state completed --created-before "$(date -d \'7 days ago\' -Iseconds)" '
                          '--output json \\\n  | jobbie bulk delete')
        self.assertIn("affected 0 jobs", said)
        self.assertEqual(self.state(young), "completed")
        self.shell('jobbie search --state completed --created-before "$(TZ=Asia/Kolkata date -d \'1 minute\' -Iseconds)" '
                   '--output json | jobbie bulk delete')
        self.run_cli("inspect", young, code=4)

    def test_4_count_dead_by_queue(self):
        for queue in ("count.a", "count.a", "count.b"):
            self.make_dead(queue)
        said = self.shell("jobbie search --state dead --output json | "
                          "jq 'group_by(.queue) | map({queue: .[0].queue, count: length})'")
        counts = {row["queue"]: row["count"] for row in json.loads(said)}
        self.assertEqual((counts["count.a"], counts["count.b"]), (2, 1))

    def test_5_export(self):
        wanted = self.enqueue("reports", {"customer_id": "cust_42"})
        self.enqueue("reports", {"customer_id": "cust_43"})
        self.shell("jobbie search --queue reports --payload-jq '.customer_id == \"cust_42\"' --output json > jobs.json")
        with open(self.folder + "/jobs.json", encoding="utf-8") as file:
            self.assertEqual([job["id"] for job in json.load(file)], [wanted])

    def test_tables_in_pipes(self):
        dead = self.make_dead(self.queue)
        self.shell(f"jobbie search --queue {self.queue} --state dead | jobbie bulk retry")
        self.assertEqual(self.state(dead), "pending")
        self.shell(f"jobbie search --queue {self.queue} --state pending | jobbie bulk move new.queue")
        self.assertEqual(self.json("inspect", dead)["queue"], "new.queue")
        legacy = self.enqueue("x", {"legacy": True})
        self.shell("jobbie search --payload-jq '.legacy == true' | jobbie bulk delete")
        self.run_cli("inspect", legacy, code=4)
        other = self.make_dead(self.queue)
        self.shell("jobbie bulk retry --filter '{\"queue\":\"" + self.queue + "\",\"state\":[\"dead\"]}'")
        self.assertEqual(self.state(other), "pending")


class Bulk(Cli):
    def test_every_shape_of_ids(self):
        for shape in ("{id}\n", '"{id}"\n', '{{"id":"{id}","payload":{{"id":"job_x"}}}}\n', '{{"job_id":\n "{id}"}}',
                      '[{{"id":"{id}","tags":{{"a":"}}]"}}}}]', '{{"jobs":[{{"id":"{id}"}}],"total":1}}',
                      "ID   QUEUE\n{id}  emails.send  dead\n"):
            job_id = self.enqueue()
            done = self.run_cli("bulk", "cancel", stdin=shape.format(id=job_id))
            self.assertEqual(done.stdout, "affected 1 job\n", shape)
            self.assertEqual(self.state(job_id), "cancelled", shape)

    def test_bad_ids_change_nothing(self):
        job_id = self.enqueue()
        for text in (f"{job_id}\nnonsense\n", f'{{"id":"{job_id}"}}\n{{"id":7}}', f'[{{"id":"{job_id}"}}, ',
                     f'{{"id":"{job_id}"}} trailing'):
            self.run_cli("bulk", "delete", stdin=text, code=2)
            self.assertEqual(self.state(job_id), "pending", text)
        self.assertIn("no jobs on standard input", self.run_cli("bulk", "delete", stdin="").stderr)

    def test_actions(self):
        one, two = self.enqueue(), self.make_dead(self.queue + ".d")
        both = f"{one}\n{two}\n"
        self.assertEqual(self.json("bulk", "retry", "--dry-run", stdin=both)["affected"], 1)
        self.assertEqual(self.state(two), "dead")
        result = self.json("bulk", "requeue", stdin=both)
        self.assertEqual((result["affected"], result["skipped"]), (1, 1))
        self.run_cli("bulk", "change-priority", "critical", stdin=one)
        self.assertEqual(self.json("inspect", one)["priority"], "critical")
        self.run_cli("bulk", "move", stdin=one, code=2)
        self.run_cli("bulk", "explode", stdin=one, code=2)

    def test_by_flags(self):
        for _ in range(5):
            self.enqueue()
        self.assertEqual(self.out("bulk", "cancel", "--queue", self.queue, "--dry-run"), "would affect 5 jobs\n")
        self.assertEqual(self.out("bulk", "cancel", "--queue", self.queue), "affected 5 jobs\n")
        self.assertIn("--all", self.run_cli("bulk", "delete", "--filter", "{}", code=2).stderr)

    def test_long_operation(self):
        self.run_cli("enqueue", self.queue, "--lines", stdin="1\n" * 10_500)
        self.assertEqual(self.out("bulk", "delete", "--queue", self.queue), "affected 10,500 jobs\n")
        self.assertIn("delete", self.out("bulk", "list"))
