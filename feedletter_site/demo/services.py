"""The demo's own Mastodon and Discord, on loopback: bridges post to them as to the real ones.

`python -m feedletter_site.demo.services PORT FOLDER MASTODON DISCORD` runs until it is ended. The last two
are the addresses of the bridges' pages in the admin.
"""

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from common.clock import utcnow
from feedletter_site.demo import discord, mastodon, timeline_pages
from feedletter_site.demo.answer import ApiAnswer, ApiRequest
from feedletter_site.demo.timeline import Timeline

NO_BRIDGES: Mapping[str, str] = {}
LONGEST_REQUEST = 20 * 2**20
HTML, JSON = "text/html; charset=utf-8", "application/json; charset=utf-8"


class ServicesServer(ThreadingHTTPServer):
    """Both services, and a page for each that shows what arrived."""

    daemon_threads = True

    def __init__(self, timeline: Timeline, *, port: int, bridges: Mapping[str, str] = NO_BRIDGES) -> None:
        super().__init__(("127.0.0.1", port), ServicesHandler)
        self.timeline, self.bridges = timeline, bridges

    def api_answer(self, request: ApiRequest) -> ApiAnswer:
        if request.path.startswith(discord.API):
            return discord.discord_answer(self.timeline, request)
        return mastodon.mastodon_answer(self.timeline, request)

    def page(self, path: str) -> tuple[int, str, bytes]:
        """Status, type and body of what people look at."""
        service = path.strip("/")
        if service in timeline_pages.SERVICE_NAMES:
            shown = timeline_pages.page(service, self.timeline, self.bridges.get(service, ""))
            return 200, HTML, shown.encode()
        folder, _, name = service.partition("/")
        if folder == "pictures" and (data := self.timeline.picture(name)) is not None:
            return 200, "image/png" if data.startswith(b"\x89PNG") else "image/jpeg", data
        if not service:
            return 200, HTML, timeline_pages.contents().encode()
        return 404, HTML, timeline_pages.missing_page().encode()

    @contextmanager
    def in_thread(self) -> Iterator[None]:
        """Serves during the block."""
        thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="services", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class ServicesHandler(BaseHTTPRequestHandler):
    server: ServicesServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        length = int(self.headers.get("Content-Length") or 0)
        if length > LONGEST_REQUEST:
            self.send_error(413)
            return
        if not path.startswith("/api/"):
            self._send(*self.server.page(path))
            return
        request = ApiRequest(self.command, path, dict(self.headers.items()), self.rfile.read(length))
        told = self.server.api_answer(request)
        self._send(told.status, JSON, b"" if told.said is None else json.dumps(told.said).encode())

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        # Pages show what strangers wrote: they may load pictures, and nothing else from elsewhere.
        self.send_header("Content-Security-Policy", timeline_pages.POLICY)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the demo's own lines are to be read."""


def main(port: str, folder: str, *bridges: str) -> None:
    pages = dict(zip(timeline_pages.SERVICE_NAMES, bridges, strict=True))
    with ServicesServer(Timeline(Path(folder), utcnow), port=int(port), bridges=pages) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
