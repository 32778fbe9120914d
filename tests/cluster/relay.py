#!/usr/bin/env python3
"""A TCP relay that fails on command: it stands between two nodes of a cluster under test.

    relay.py 127.0.0.1:21001=127.0.0.1:9401 127.0.0.1:21002=127.0.0.1:9402

listens at the left addresses and passes connections on to the right ones. It prints `ready` when all of
them listen (port 0 takes a free one; the line names them all: `ready 127.0.0.1:40123 ...`), and then obeys
one command a line from its standard input, answering each with `ok` or `error <why>`. `N` is the number of
a pair, from 0, or `*` for all.

    delay N MS            bytes of both directions arrive MS milliseconds later, in order
    rate N BYTES          at most so many bytes a second in each direction; 0: no bound
    stall N               connections stay open, nothing passes; new ones are taken and wait
    block N there|back    nothing passes in one direction: from who connects, or to them
    cut N                 closes all connections, once
    refuse N              closes all connections, and new ones as they come
    flip N                flips one bit in the next bytes that pass from who connects
    heal N                undoes delay, rate, stall, block and refuse; what waited passes
    count N               answers `ok CONNECTIONS BYTES_THERE BYTES_BACK`
    quit

The end of its input ends it too, so it does not outlive a test.
"""

import asyncio
import sys

CHUNK = 64 * 1024
THERE, BACK = 0, 1
WAYS = {"there": THERE, "back": BACK}


class Pair:
    """One listening address, where it leads, and what is wrong with it at the moment."""

    def __init__(self, listen, target):
        self.listen = listen
        self.target = target
        self.server = None
        self.tasks = set()
        self.bytes = [0, 0]
        self.flip = False
        self.free = [asyncio.Event(), asyncio.Event()]
        self.heal()

    def heal(self):
        self.delay_ms = 0
        self.rate = 0
        self.refuses = False
        for event in self.free:
            event.set()

    async def open(self):
        host, port = split(self.listen)
        self.server = await asyncio.start_server(self.serve, host, port, limit=CHUNK)
        self.listen = "%s:%d" % self.server.sockets[0].getsockname()[:2]

    def cut(self):
        for task in list(self.tasks):
            task.cancel()

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        other = None
        try:
            if self.refuses:
                return
            host, port = split(self.target)
            their_reader, other = await asyncio.open_connection(host, port, limit=CHUNK)
            ways = [asyncio.create_task(self.carry(THERE, reader, other)),
                    asyncio.create_task(self.carry(BACK, their_reader, writer))]
            try:
                # The first end of either direction ends both, as a lost connection does.
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            for one in (writer, other):
                if one is not None:
                    one.transport.abort() if self.refuses else one.close()

    async def carry(self, way, reader, writer):
        """Reads on one task and writes on another, so that a delay does not lower what passes."""
        under_way = asyncio.Queue(maxsize=256)

        async def deliver():
            loop = asyncio.get_running_loop()
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(max(0, due - loop.time()))
                await self.free[way].wait()
                if data is None:
                    return
                if self.rate:
                    await asyncio.sleep(len(data) / self.rate)
                writer.write(data)
                await writer.drain()
                self.bytes[way] += len(data)

        delivery = asyncio.create_task(deliver())
        try:
            while not delivery.done():
                await self.free[way].wait()
                data = await reader.read(CHUNK)
                due = asyncio.get_running_loop().time() + self.delay_ms / 1000
                if not data:
                    await under_way.put((due, None))
                    break
                if self.flip and way == THERE:
                    self.flip = False
                    data = data[:-1] + bytes([data[-1] ^ 1])
                await under_way.put((due, data))
            await delivery
        except OSError:
            pass
        finally:
            delivery.cancel()


def split(address):
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def obey(pairs, words):
    """Does what one line says; gives the answer."""
    command, number, *rest = words + [""] * (2 - len(words))
    chosen = pairs if number == "*" else [pairs[int(number)]]
    answer = "ok"
    for pair in chosen:
        if command == "delay":
            pair.delay_ms = int(rest[0])
        elif command == "rate":
            pair.rate = int(rest[0])
        elif command == "stall":
            for event in pair.free:
                event.clear()
        elif command == "block":
            pair.free[WAYS[rest[0]]].clear()
        elif command == "cut":
            pair.cut()
        elif command == "refuse":
            pair.refuses = True
            pair.cut()
        elif command == "flip":
            pair.flip = True
        elif command == "heal":
            pair.heal()
        elif command == "count":
            answer += f" {len(pair.tasks)} {pair.bytes[THERE]} {pair.bytes[BACK]}"
        else:
            raise ValueError(f"unknown command {command}")
    return answer


async def main(arguments):
    pairs = [Pair(*argument.split("=", 1)) for argument in arguments]
    for pair in pairs:
        await pair.open()
    print("ready", *(pair.listen for pair in pairs), flush=True)
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while True:
        line = await lines.readline()
        words = line.decode().split()
        if not line or words[:1] == ["quit"]:
            break
        try:
            print(obey(pairs, words), flush=True)
        except (ValueError, IndexError, KeyError) as error:
            print("error", error, flush=True)
    for pair in pairs:
        pair.server.close()
        pair.cut()


if __name__ == "__main__":
    if len(sys.argv) < 2 or not all("=" in argument for argument in sys.argv[1:]):
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1:]))
