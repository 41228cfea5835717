"""Feeds on twenty loopback hosts: 95 % answer 304, 4 % the same body, 1 % grow each round."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

from tests.servers.documents import rss

HOSTS = 20
POSTS = 3
ETAG = '"farm"'


def url_of(number: int, port: int) -> str:
    return f"http://127.0.1.{number % HOSTS + 1}:{port}/{number}.xml"


def is_conditional(number: int) -> bool:
    return number % 100 < 95


def is_growing(number: int) -> bool:
    return number % 100 == 99


@contextlib.contextmanager
def farm() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-m", "bench.feed_farm", str(port)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield port
    finally:
        process.terminate()
        process.wait(10)


def next_round(port: int) -> None:
    """Add an item to feeds that grow."""
    urllib.request.urlopen(f"http://127.0.0.1:{port}/next", timeout=10).read()


class Farm(asyncio.Protocol):
    round = 0
    documents: dict[tuple[int, int], bytes] = {}  # noqa: RUF012

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            request, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            self.transport.write(self.answer(request))  # type: ignore[attr-defined]

    def answer(self, request: bytes) -> bytes:
        path = request.split(b" ", 2)[1].decode()
        if path == "/next":
            Farm.round += 1
            return respond(b"ok")
        number = int(path[1:].removesuffix(".xml"))
        if is_conditional(number) and ETAG.encode() in request:
            return f"HTTP/1.1 304 Not Modified\r\nETag: {ETAG}\r\n\r\n".encode()
        return respond(self.document(number), ETAG if is_conditional(number) else "")

    def document(self, number: int) -> bytes:
        key = (number, self.round if is_growing(number) else 0)
        if key not in self.documents:
            self.documents[key] = document(*key)
        return self.documents[key]


def respond(body: bytes, etag: str = "") -> bytes:
    validator = f"ETag: {etag}\r\n" if etag else ""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\n{validator}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def document(number: int, round_: int) -> bytes:
    posts = range(round_ + POSTS, 0, -1)
    return rss(
        [
            {
                "guid": f"{number}-{post}",
                "title": f"Post {post}",
                "link": f"https://blog.example/{number}/{post}",
                "content": "<p>Some text of a post.</p>" * 20,
            }
            for post in posts
        ],
        title=f"Blog {number}",
    )


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Farm, "0.0.0.0", port, backlog=1000)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
