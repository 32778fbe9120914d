"""A tiny terminal: a program runs in a pseudo-terminal, and what it drew can be read as lines.

Understands what ncurses sends to TERM=xterm: cursor movement, erasing, scrolling regions, repeated characters.
Colours and the like are passed over.
"""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b(?:\[([?>!]?)([0-9;]*)([@-~])|[()][0-9A-B]|[=>78MDEc])")
INCOMPLETE = re.compile(r"\x1b(?:\[[?>!]?[0-9;]*|[()])?$")


class Screen:
    """Cells and a cursor."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0
        self.top, self.bottom = 0, rows - 1
        self.last = " "
        self.rest = ""

    def lines(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    if INCOMPLETE.match(text[at:]):
                        self.rest = text[at:]
                        return
                    raise ValueError(f"unknown sequence {text[at:at + 12]!r}")
                self.sequence(found)
                at = found.end()
            else:
                self.character(text[at])
                at += 1

    def character(self, c):
        if c == "\r":
            self.x = 0
        elif c == "\n":
            self.line_feed()
        elif c == "\b":
            self.x = max(0, self.x - 1)
        elif c >= " ":
            if self.x >= self.columns:
                self.x = 0
                self.line_feed()
            self.cells[self.y][self.x] = c
            self.last = c
            self.x += 1

    def line_feed(self):
        if self.y == self.bottom:
            self.scroll(1)
        else:
            self.y = min(self.rows - 1, self.y + 1)

    def scroll(self, by):
        for _ in range(abs(by)):
            if by > 0:
                del self.cells[self.top]
                self.cells.insert(self.bottom, [" "] * self.columns)
            else:
                del self.cells[self.bottom]
                self.cells.insert(self.top, [" "] * self.columns)

    def sequence(self, found):
        private, numbers, final = found.group(1), found.group(2), found.group(3)
        if final is None:
            if found.group(0) == "\x1bM":
                if self.y == self.top:
                    self.scroll(-1)
                else:
                    self.y -= 1
            return
        if private:
            return
        values = [int(n) if n else 0 for n in numbers.split(";")]
        n = max(1, values[0])
        row = self.cells[self.y] if self.y < self.rows else []
        if final in "Hf":
            self.y = min(self.rows, n) - 1
            self.x = min(self.columns, max(1, values[1] if len(values) > 1 else 1)) - 1
        elif final == "A":
            self.y = max(0, self.y - n)
        elif final == "B":
            self.y = min(self.rows - 1, self.y + n)
        elif final == "C":
            self.x = min(self.columns - 1, self.x + n)
        elif final == "D":
            self.x = max(0, self.x - n)
        elif final == "d":
            self.y = min(self.rows, n) - 1
        elif final == "G":
            self.x = min(self.columns, n) - 1
        elif final == "b":
            for _ in range(n):
                self.character(self.last)
        elif final == "X":
            row[self.x:self.x + n] = [" "] * len(row[self.x:self.x + n])
        elif final == "P":
            row[self.x:] = (row[self.x + n:] + [" "] * n)[:self.columns - self.x]
        elif final == "@":
            row[self.x:] = ([" "] * n + row[self.x:])[:self.columns - self.x]
        elif final == "K":
            begin, end = [(self.x, self.columns), (0, self.x + 1), (0, self.columns)][values[0]]
            row[begin:end] = [" "] * (end - begin)
        elif final == "J":
            if values[0] == 0:
                row[self.x:] = [" "] * (self.columns - self.x)
                for other in self.cells[self.y + 1:]:
                    other[:] = [" "] * self.columns
            else:
                for other in self.cells:
                    other[:] = [" "] * self.columns
        elif final == "r":
            self.top = n - 1
            self.bottom = (values[1] if len(values) > 1 and values[1] else self.rows) - 1
        elif final in "LM":
            top, self.top = self.top, self.y
            self.scroll(n if final == "M" else -n)
            self.top = top
        elif final in "ST":
            self.scroll(n if final == "S" else -n)


class Terminal:
    """A program and its screen."""

    def __init__(self, command, environment, columns=80, rows=24, term="xterm"):
        self.screen = Screen(columns, rows)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.master, slave = pty.openpty()
        self.set_size(columns, rows)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env=dict(environment, TERM=term), close_fds=True)
        os.close(slave)
        self.raw = ""

    def set_size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen = Screen(columns, rows)
        self.set_size(columns, rows)
        self.process.send_signal(28)  # SIGWINCH: the program is not in this session's foreground

    def read(self, wait_s=0.1):
        ready, _, _ = select.select([self.master], [], [], wait_s)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        text = self.decoder.decode(data)
        self.raw += text
        self.screen.feed(text)
        return True

    def wait_for(self, pattern, within_s=15):
        """Reads until the screen matches; gives the match."""
        deadline = time.time() + within_s
        while True:
            found = re.search(pattern, "\n".join(self.screen.lines()))
            if found:
                return found
            if time.time() > deadline:
                raise AssertionError(f"{pattern!r} is not on the screen:\n" + "\n".join(self.screen.lines()))
            self.read()

    def type(self, text):
        os.write(self.master, text.encode())

    def finish(self, within_s=10):
        """Reads until the program has ended, and gives its exit code."""
        deadline = time.time() + within_s
        while self.process.poll() is None and time.time() < deadline:
            self.read(0.05)
        while self.read(0.05):
            pass
        return self.process.wait(1)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
