"""A small HTTP client on a raw socket that knows whether a request may have reached the server."""

import json
import re
import socket

CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.I)
CLOSES = re.compile(rb"\r\nconnection:[ \t]*close", re.I)


class NotSent(Exception):
    """The server was not there: the request did not happen."""


class Broken(Exception):
    """The connection broke after the request had begun to leave: nobody knows."""


class Answer:
    """A status and a body; `json` is None for an empty one."""

    __slots__ = ("status", "body", "head")

    def __init__(self, status, body, head=b""):
        self.status = status
        self.body = body
        self.head = head

    @property
    def json(self):
        return json.loads(self.body) if self.body else None

    def header(self, name):
        """The value of a header, or None."""
        found = re.search(rb"\r\n" + name.encode() + rb":[ \t]*([^\r\n]*)", self.head, re.I)
        return found.group(1).decode() if found else None

    @property
    def code(self):
        """The stable code of a problem+json answer."""
        try:
            return (self.json or {}).get("code", "")
        except (ValueError, AttributeError):
            return ""


class Client:
    """One keep-alive connection, used by one thread."""

    def __init__(self, port, timeout=30.0, host="127.0.0.1"):
        self.address = (host, port)
        self.timeout = timeout
        self.socket = None
        self.rest = b""

    def close(self):
        if self.socket is not None:
            self.socket.close()
        self.socket = None
        self.rest = b""

    def use(self, host, port):
        """The next call goes there."""
        self.close()
        self.address = (host, port)

    def connect(self):
        self.close()
        try:
            self.socket = socket.create_connection(self.address, timeout=self.timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            self.close()
            raise NotSent(str(error)) from error

    def call(self, method, path, body=None, headers=None, timeout=None):
        """Sends one request and reads its answer. `body` is bytes, text or a value to encode."""
        if body is not None and not isinstance(body, bytes):
            body = (body if isinstance(body, str) else json.dumps(body)).encode()
        head = [f"{method} {path} HTTP/1.1", f"Host: {self.address[0]}:{self.address[1]}"]
        if body is not None:
            head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in (headers or {}).items()]
        raw = ("\r\n".join(head) + "\r\n\r\n").encode() + (body or b"")
        if self.socket is None:
            self.connect()
        try:
            self.socket.settimeout(timeout or self.timeout)
            self.socket.sendall(raw)
            return self.read_answer()
        except (OSError, ValueError) as error:
            self.close()
            raise Broken(str(error)) from error

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body, **more)

    def read_answer(self):
        data = self.rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            more = self.socket.recv(65536)
            if not more:
                raise OSError("closed before an answer")
            data += more
        head, data = data[:end], data[end + 4:]
        status = int(head[9:12])
        length = CONTENT_LENGTH.search(head)
        wanted = int(length.group(1)) if length and status != 204 else 0
        while len(data) < wanted:
            more = self.socket.recv(1 << 20)
            if not more:
                raise OSError("closed within an answer")
            data += more
        self.rest = data[wanted:]
        if CLOSES.search(head):
            self.close()
        return Answer(status, data[:wanted], head)


def one_call(port, method, path, body=None, timeout=10.0, headers=None, host="127.0.0.1"):
    """A call on a connection of its own."""
    client = Client(port, timeout, host)
    try:
        return client.call(method, path, body, headers=headers)
    finally:
        client.close()
