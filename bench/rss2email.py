"""Mails a second of rss2email, into the same sink."""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import ClassVar

from tests import services
from tests.servers.documents import rss

POSTS = 300
ROUNDS = 3
# 4.5 KB, html only.
PARAGRAPHS = 38
SENTENCE = "<p>The quick brown fox jumps over the lazy dog, and tells about it at some length.</p>\n"
SETTINGS = """[DEFAULT]
from = bench@example.org
to = reader@example.org
email-protocol = smtp
smtp-auth = False
smtp-server = 127.0.0.1
smtp-port = {port}
html-mail = True
verbose = warning
"""


def figure(ours: float, port: int) -> dict[str, object]:
    """Compare with rss2email, if it is installed."""
    program = services.program("r2e")
    shared: dict[str, object] = {"figure": "the same letters", "rate": ours, "unit": "letters/s"}
    if program is None:
        print("rss2email is not installed (Debian: rss2email): no figure beside it.", file=sys.stderr)
        return shared | {"baseline": "rss2email (missing)", "baseline_rate": 0.0, "ratio": 0.0}
    with feed() as url:
        rate = median(mails(program, url, port) for _ in range(ROUNDS))
    return shared | {"baseline": "rss2email", "baseline_rate": rate, "ratio": ours / rate}


def mails(program: str, url: str, port: int) -> float:
    """Time the first run of a new installation, which sends all posts."""
    with tempfile.TemporaryDirectory(prefix="feedletter-r2e-") as folder:
        config, data = Path(folder, "config"), Path(folder, "data.json")
        config.write_text(SETTINGS.format(port=port))
        command = [program, "--config", str(config), "--data", str(data)]
        run([*command, "add", "bench", url])
        started = time.perf_counter()
        run([*command, "run"])
        seconds = time.perf_counter() - started
        assert data.read_text().count("https://blog.example/") >= POSTS, "not every post was mailed"
    return POSTS / seconds


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=120, cwd="/", stdout=subprocess.DEVNULL)


class Feed(BaseHTTPRequestHandler):
    document: ClassVar[bytes] = rss(
        [
            {
                "guid": f"https://blog.example/{number}",
                "title": f"Post {number}",
                "link": f"https://blog.example/{number}",
                "content": SENTENCE * PARAGRAPHS,
            }
            for number in range(POSTS)
        ],
        title="Blog",
    )

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/rss+xml")
        self.send_header("Content-Length", str(len(self.document)))
        self.end_headers()
        self.wfile.write(self.document)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def feed() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Feed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/feed.xml"
    finally:
        server.shutdown()
        server.server_close()
