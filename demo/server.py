"""Server of the sample blog on loopback: a thread during the replay, then a program.

`python -m demo.server PORT TODAY LIVE_FROM`
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from common.clock import utcnow
from demo import images, pages
from demo.blog import LIGHTHOUSE, Blog

HTML, RSS = "text/html; charset=utf-8", "application/rss+xml; charset=utf-8"
PNG, JPEG = "image/png", "image/jpeg"
LIGHTHOUSE_FEED = "/lighthouse/feed.xml"
LIGHTHOUSE_FAILS_DAYS = 3
Answer = tuple[HTTPStatus, str, bytes]


class BlogServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, blog: Blog, clock: Callable[[], datetime], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.blog, self.clock = blog, clock

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str) -> Answer:
        shown = self.blog.pages(self.clock())
        if path == "/":
            return HTTPStatus.OK, HTML, pages.home(shown).encode()
        for tag in ("", *{tag for page in shown for tag in page.tags}):
            if path == pages.feed_path(tag):
                return HTTPStatus.OK, RSS, pages.feed(shown, self.url, tag)
        if path == LIGHTHOUSE_FEED:
            return self.lighthouse()
        if path == pages.PRIVACY:
            return HTTPStatus.OK, HTML, pages.privacy().encode()
        if path == pages.ICON:
            return HTTPStatus.OK, PNG, images.icon()
        for page in (*shown, *self.blog.lighthouse(self.clock())):
            if path == f"/{page.slug}/":
                return HTTPStatus.OK, HTML, pages.post(page).encode()
            if page.scene and path == f"/images/{page.slug}.jpg":
                return HTTPStatus.OK, JPEG, images.jpeg(page.scene, page.slug)
        return HTTPStatus.NOT_FOUND, HTML, pages.not_found().encode()

    def lighthouse(self) -> Answer:
        """Return the neighbours' feed, or the error that it has had for some days."""
        now = self.clock()
        if self.blog.days_ago(now) <= LIGHTHOUSE_FAILS_DAYS:
            return HTTPStatus.SERVICE_UNAVAILABLE, HTML, b"The keeper is repairing the server."
        return HTTPStatus.OK, RSS, pages.feed(self.blog.lighthouse(now), self.url, title=LIGHTHOUSE)

    @contextmanager
    def in_thread(self) -> Iterator[str]:
        thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="blog", daemon=True)
        thread.start()
        try:
            yield self.url
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    server: BlogServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    # Otherwise bodies larger than the buffer wait for an ACK of the headers: 25 ms per request.
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        status, content_type, body = self.server.answer(self.path.partition("?")[0])
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


def main(port: str, today: str, live_from: str) -> None:
    blog = Blog(date.fromisoformat(today), datetime.fromisoformat(live_from))
    with BlogServer(blog, utcnow, int(port)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
