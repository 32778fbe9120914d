"""The systems: Jobbie and what a user would pick instead, each with the settings that matter."""

import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess

from harness import machine
from harness.system import System, Unavailable, ask, ensure_packages

NATIVE_CLIENT = "bench_load"


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout or done.stderr).strip().splitlines()
    return lines[0] if lines else ""


def version_in(text):
    found = re.search(r"\d+\.\d+[\w.]*", text)
    return found.group(0) if found else ""


class Jobbie(System):
    name = "jobbie"
    title = "Jobbie"
    durability = "synced before the answer; history kept for 7 days"
    client = NATIVE_CLIENT
    dialect = "jobbie"
    take_batch = 1000
    batches = "1000 jobs a request, acked 1000 a request"
    merges = True
    retention = None

    def ensure(self):
        if not self.context.jobbie.is_file():
            raise Unavailable("the server is not built")

    def version(self):
        return version_in(first_line(str(self.context.jobbie), "--version"))

    def command(self):
        return [str(self.context.jobbie), "server", "--data-dir", str(self.data / "data"), "--http",
                f"127.0.0.1:{self.port}"]

    def is_ready(self):
        answer = ask(self.port, b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                     lambda seen: b"\r\n" in seen)
        return answer.split()[1] == b"200"

    def set_up(self):
        if self.retention is None:
            return
        body = json.dumps(self.retention).encode()
        head = (f"POST /api/v1/queues/bench/retention HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        answer = ask(self.port, head + body, lambda seen: b"\r\n\r\n" in seen)
        if not answer.split()[1].startswith(b"2"):
            raise Unavailable("the retention could not be set")


class JobbieWithoutHistory(Jobbie):
    name = "jobbie-no-history"
    title = "Jobbie, retention 0"
    durability = "synced before the answer; completed jobs not kept"
    retention = {"completed": "0s"}
    backlog = False


class Beanstalkd(System):
    name = "beanstalkd"
    title = "beanstalkd, memory only"
    durability = "none: all is lost when it ends"
    synced = False
    client = NATIVE_CLIENT
    dialect = "beanstalkd"
    put_batch = 100
    take_batch = 100
    batches = "100 commands in one write, and again 100 to delete"
    merges = True
    flags = ()

    def ensure(self):
        if not shutil.which("beanstalkd"):
            ensure_packages("beanstalkd")

    def version(self):
        return version_in(first_line("beanstalkd", "-v"))

    def command(self):
        flags = [str(self.data) if flag == "DATA" else flag for flag in self.flags]
        return ["beanstalkd", "-l", "127.0.0.1", "-p", str(self.port), *flags]

    def is_ready(self):
        return ask(self.port, b"stats\r\n", lambda seen: b"\r\n" in seen).startswith(b"OK")


class BeanstalkdLogged(Beanstalkd):
    name = "beanstalkd-f50"
    title = "beanstalkd -b -f 50"
    durability = "may lose the last 50 ms"
    synced = False
    flags = ("-b", "DATA", "-f", "50")


class BeanstalkdSynced(Beanstalkd):
    name = "beanstalkd-f0"
    title = "beanstalkd -b -f 0"
    durability = "synced before the answer"
    synced = True
    flags = ("-b", "DATA", "-f", "0")
    backlog = False  # Minutes to fill, and then as with -f 50.


class BullMq(System):
    name = "bullmq-everysec"
    title = "Redis everysec + BullMQ"
    durability = "may lose the last second; completed jobs not kept"
    synced = False
    client = "BullMQ"
    script = "bullmq.mjs"
    package = "bullmq"
    batches = "addBulk of 1000; no fetch of several"
    fsync = "everysec"

    def ensure(self):
        if not shutil.which("redis-server"):
            ensure_packages("redis-server")
        self.context.ensure_node()

    def version(self):
        return "Redis " + version_in(first_line("redis-server", "--version"))

    def command(self):
        return ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.data),
                "--appendonly", "yes", "--appendfsync", self.fsync, "--save", "", "--maxmemory-policy",
                "noeviction"]

    def is_ready(self):
        return ask(self.port, b"PING\r\n", lambda seen: b"\r\n" in seen).startswith(b"+PONG")


class BullMqAlways(BullMq):
    name = "bullmq-always"
    title = "Redis always + BullMQ"
    durability = "synced before the answer; completed jobs not kept"
    synced = True
    fsync = "always"
    backlog = False  # As with everysec.


class Nats(System):
    name = "nats"
    title = "NATS JetStream"
    durability = "written before the answer, synced every 2 minutes; acks not confirmed"
    synced = False
    client = NATIVE_CLIENT
    dialect = "nats"
    take_batch = 1000
    batches = "1000 messages in one write; pull of 1000"
    merges = True
    replicas = 1

    def ensure(self):
        if not shutil.which("nats-server"):
            ensure_packages("nats-server")

    def version(self):
        return version_in(first_line("nats-server", "--version"))

    def prepare(self):
        (self.data / "nats.conf").write_text(
            f"listen: 127.0.0.1:{self.port}\nping_interval: \"10m\"\n"
            f"jetstream {{\n  store_dir: \"{self.data}\"\n  max_file_store: 20GB\n}}\n", encoding="utf-8")

    def command(self):
        return ["nats-server", "-c", str(self.data / "nats.conf")]

    def request(self, subject, body):
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            stream = connection.makefile("rb")
            data = json.dumps(body).encode()
            connection.sendall(b"CONNECT {\"verbose\":false}\r\nSUB answer 1\r\nPUB %s answer %d\r\n%s\r\n"
                               % (subject.encode(), len(data), data))
            for line in stream:
                if line.startswith(b"MSG "):
                    return json.loads(stream.read(int(line.split()[-1])))
        raise OSError("no answer")

    def is_ready(self):
        return "error" not in self.request("$JS.API.INFO", {})

    def set_up(self):
        stream = {"name": "bench", "subjects": ["bench"], "retention": "workqueue", "storage": "file",
                  "num_replicas": self.replicas, "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0}
        consumer = {"durable_name": "bench", "ack_policy": "explicit", "deliver_policy": "all",
                    "ack_wait": 3600 * 10**9, "max_ack_pending": -1, "max_waiting": 2048}
        for subject, body in (("$JS.API.STREAM.CREATE.bench", stream),
                              ("$JS.API.CONSUMER.DURABLE.CREATE.bench.bench",
                               {"stream_name": "bench", "config": consumer})):
            answer = self.request(subject, body)
            if "error" in answer:
                raise Unavailable(str(answer["error"]))


class RabbitMq(System):
    name = "rabbitmq"
    title = "RabbitMQ quorum queue"
    durability = "synced before the answer; acks not confirmed"
    client = "amqplib"
    script = "rabbitmq.mjs"
    package = "amqplib"
    take_batch = 1000
    batches = "1000 messages, then their confirms; prefetch of 1000, acked 100 at once"
    program = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    def __init__(self, context):
        super().__init__(context)
        self.names = None
        self.names_port = 0
        self.between_nodes_port = 0

    def ensure(self):
        if not pathlib.Path(self.program).exists():
            ensure_packages("rabbitmq-server")
        self.context.ensure_node()

    def version(self):
        done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "rabbitmq-server"], text=True,
                              capture_output=True, check=False)
        return version_in(done.stdout)

    def prepare(self):
        self.names_port = machine.free_port()
        self.between_nodes_port = machine.free_port()
        (self.data / "plugins").write_text("[].\n", encoding="ascii")
        (self.data / "rabbitmq.conf").write_text("", encoding="ascii")

    def command(self):
        # Its name server would otherwise stay behind as a daemon.
        if not self.names:
            self.names = subprocess.Popen(["epmd", "-port", str(self.names_port), "-address", "127.0.0.1"],
                                          stdin=subprocess.DEVNULL, start_new_session=True)
        return [self.program]

    def environment(self):
        data = str(self.data)
        return {**os.environ, "HOME": data, "RABBITMQ_NODENAME": "bench@localhost",
                "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.port),
                "RABBITMQ_DIST_PORT": str(self.between_nodes_port),
                "RABBITMQ_MNESIA_BASE": data, "RABBITMQ_LOG_BASE": data, "RABBITMQ_LOGS": "-",
                "RABBITMQ_CONFIG_FILE": f"{data}/rabbitmq", "RABBITMQ_PID_FILE": f"{data}/pid",
                "RABBITMQ_ENABLED_PLUGINS_FILE": f"{data}/plugins",
                "ERL_EPMD_PORT": str(self.names_port), "ERL_EPMD_ADDRESS": "127.0.0.1"}

    def is_ready(self):
        return ask(self.port, b"AMQP\x00\x00\x09\x01", lambda seen: len(seen) > 11)[:1] == b"\x01"

    def after_stop(self):
        if self.names:
            self.names.terminate()
            self.names.wait()
            self.names = None


class Postgres(System):
    take_batch = 1000

    def ensure(self):
        if not self.programs():
            ensure_packages("postgresql")
        if not self.programs():
            raise Unavailable("no PostgreSQL found")
        if os.geteuid() == 0:
            try:
                pwd.getpwnam("postgres")
            except KeyError as error:
                raise Unavailable("no user postgres, and it does not run as root") from error
        self.context.ensure_node()

    @staticmethod
    def programs():
        found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/postgres"),
                       key=lambda path: float(path.parts[-3]))
        return found[-1].parent if found else None

    def version(self):
        return "PostgreSQL " + version_in(first_line(str(self.programs() / "postgres"), "--version"))

    def user(self):
        return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else None

    def prepare(self):
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres", "postgres")
        done = subprocess.run([str(self.programs() / "initdb"), "-D", str(self.data / "db"), "-A", "trust",
                               "-U", "postgres", "-E", "UTF8", "--locale=C"], capture_output=True,
                              text=True, check=False, cwd=self.data, **(self.user() or {}))
        if done.returncode != 0:
            raise Unavailable(f"initdb: {done.stderr.strip()[-200:]}")

    def command(self):
        return [str(self.programs() / "postgres"), "-D", str(self.data / "db"), "-p", str(self.port), "-h",
                "127.0.0.1", "-k", "", "-c", "max_connections=200", "-c",
                "shared_buffers=256MB"]

    def stop_signal(self):
        return signal.SIGINT  # Clean, without waiting for clients.

    def is_ready(self):
        done = subprocess.run([str(self.programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p",
                               str(self.port)], check=False)
        return done.returncode == 0


class PgBoss(Postgres):
    name = "pg-boss"
    title = "PostgreSQL + pg-boss"
    durability = "synced before the answer; history kept"
    client = "pg-boss"
    script = "pgboss.mjs"
    package = "pg-boss"
    batches = "insert of 1000; fetch and complete of 1000"


class Graphile(Postgres):
    name = "graphile-worker"
    title = "PostgreSQL + graphile-worker"
    durability = "synced before the answer; completed jobs not kept"
    client = "graphile-worker"
    script = "graphile.mjs"
    package = "graphile-worker"
    batches = "addJobs of 1000; local queue of 1000, completions written together"


class Faktory(System):
    name = "faktory"
    title = "Faktory"
    durability = "may lose the last second; completed jobs not kept"
    synced = False
    client = NATIVE_CLIENT
    dialect = "faktory"
    batches = "PUSHB of 1000; no fetch of several"
    merges = True

    def ensure(self):
        if not shutil.which("faktory"):
            raise Unavailable("in no package; put `faktory` on the path to have it measured")
        if not shutil.which("redis-server"):
            ensure_packages("redis-server")

    def version(self):
        return version_in(first_line("faktory", "-v"))

    def command(self):
        return ["faktory", "-b", f"127.0.0.1:{self.port}", "-w", f"127.0.0.1:{machine.free_port()}", "-e",
                "development"]

    def environment(self):
        return {**os.environ, "HOME": str(self.data), "FAKTORY_SKIP_PASSWORD": "true"}

    def is_ready(self):
        return ask(self.port, b"", lambda seen: b"\r\n" in seen).startswith(b"+HI")


ALL = [Jobbie, JobbieWithoutHistory, Beanstalkd, BeanstalkdLogged, BeanstalkdSynced, BullMq, BullMqAlways,
       PgBoss, Graphile, Nats, RabbitMq, Faktory]
