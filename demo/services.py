"""The demo's Mastodon, Discord and Fediverse server on loopback.

`python -m demo.services PORT FOLDER ELSEWHERE`; ELSEWHERE is JSON.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from common.clock import utcnow
from demo import mastodon, timeline_pages
from demo.answer import JSON, ApiAnswer, ApiRequest, PageAnswer
from demo.discord import pages
from demo.discord.api import DiscordApi
from demo.discord.interactions import ANSWER_SECONDS, Application, Interactions
from demo.discord.places import API, BOT_NAME
from demo.discord.portal import Portal
from demo.fediverse_pages import FediversePages
from demo.mastodon_oauth import MastodonOAuth
from demo.timeline import Timeline

LONGEST_REQUEST = 20 * 2**20
# Private key for DISCORD_PUBLIC_KEY.
KEY_NAME = "FEEDLETTER_DEMO_DISCORD_KEY"


@dataclass(frozen=True, slots=True)
class Elsewhere:
    mastodon: str = ""
    discord: str = ""
    fediverse: str = ""
    bot: str = ""
    blog: str = ""


def application_here() -> Application:
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(os.environ[KEY_NAME]))
    return Application(os.environ["DISCORD_APPLICATION_ID"], key, os.environ["DISCORD_BOT_TOKEN"])


def deliver(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Post to the site within three seconds. Raises OSError."""
    answer = requests.post(
        url, data=body, headers=dict(headers), timeout=ANSWER_SECONDS, allow_redirects=False
    )
    return answer.status_code, answer.content


class ServicesServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], datetime],
        *,
        application: Application,
        port: int,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", port), ServicesHandler)
        self.elsewhere = elsewhere or Elsewhere()
        self.timeline = Timeline(folder, clock)
        interactions = Interactions(application, deliver, clock)
        self.portal = Portal(interactions, folder=folder, name=BOT_NAME)
        self.oauth = MastodonOAuth()
        self.discord = DiscordApi(self.timeline, self.portal)
        self.pages = pages.DiscordPages(
            self.discord, bridge=self.elsewhere.discord, bot=self.elsewhere.bot, blog=self.elsewhere.blog
        )

        self.fediverse = FediversePages(folder, self.timeline, deliver, link=self.elsewhere.fediverse)

    def api_answer(self, request: ApiRequest) -> ApiAnswer:
        if request.path.startswith(API):
            return self.discord.answer(request)
        return mastodon.mastodon_answer(self.timeline, request)

    def page(self, request: ApiRequest) -> PageAnswer:
        if (of_discord := self.pages.answer(request)) is not None:
            return replace(of_discord, policy=pages.DISCORD_POLICY)
        if (of_ada := self.fediverse.answer(request)) is not None:
            return of_ada
        path = request.path.strip("/")
        folder, _, name = path.partition("/")
        if path == mastodon.MASTODON:
            return _drawn(timeline_pages.page(self.timeline, self.elsewhere.mastodon))
        if folder == "pictures" and (data := self.timeline.picture(name)) is not None:
            return PageAnswer(data, "image/png" if data.startswith(b"\x89PNG") else "image/jpeg")
        if not path:
            return _drawn(timeline_pages.contents())
        return _drawn(timeline_pages.missing_page(), 404)

    @contextmanager
    def in_thread(self) -> Iterator[None]:
        thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="services", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


def _drawn(html: str, status: int = 200) -> PageAnswer:
    return PageAnswer(html.encode(), status=status)


class ServicesHandler(BaseHTTPRequestHandler):
    server: ServicesServer
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    timeout = 60

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > LONGEST_REQUEST:
            self.send_error(413)
            return
        headers = dict(self.headers.items())
        request = ApiRequest(self.command, self.path, headers, self.rfile.read(length))
        if (step := self.server.oauth.answer(request)) is not None:
            self._send(step)
            return
        if not request.path.startswith("/api/"):
            self._send(self.server.page(request))
            return
        told = self.server.api_answer(request)
        body = b"" if told.said is None else json.dumps(told.said).encode()
        self._send(PageAnswer(body, JSON, told.status))

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

    def _send(self, answer: PageAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        # Pages show foreign content, which may load pictures only.
        self.send_header("Content-Security-Policy", answer.policy or timeline_pages.POLICY)
        if answer.location:
            self.send_header("Location", answer.location)
        if answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD" and answer.status != 204:
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def arguments(port: int, folder: Path, elsewhere: Elsewhere) -> list[str]:
    return [str(port), str(folder), json.dumps(asdict(elsewhere))]


def main(port: str, folder: str, elsewhere: str) -> None:
    leads = Elsewhere(**json.loads(elsewhere))
    with ServicesServer(
        Path(folder), utcnow, application=application_here(), port=int(port), elsewhere=leads
    ) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
