"""What Mastodon.py sends through: no redirects, bounded answers, and a memory of the last one."""

import io
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests

from common.net.client import client

MAX_ANSWER_BYTES = 2 * 1024 * 1024
MAX_SECONDS = 30.0
TIMEOUT_SECONDS = 15.0
Clock = Callable[[], float]


class Redirected(requests.RequestException):
    """The instance points elsewhere. Never followed: a POST would become a GET, and take the token along."""


class AnswerTooLong(requests.RequestException):
    """The answer was larger, or slower, than any answer of an instance."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A complete answer of an instance."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def words(self) -> str:
        """The `error` of the JSON body, or "" when the answer is not an API's."""
        try:
            said = json.loads(self.body)
        except ValueError:
            return ""
        error = said.get("error") if isinstance(said, dict) else None
        return " ".join(error.split())[:500] if isinstance(error, str) else ""


class Transport:
    """Stands where Mastodon.py expects a `requests.Session`; it calls nothing but `request`."""

    def __init__(self, session: requests.Session, clock: Clock = time.monotonic) -> None:
        self.session = session
        self.clock = clock
        self.answer: ApiResponse | None = None

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        """As requests does, and raising its exceptions; `answer` is None until there is one in full."""
        self.answer = None
        # A kept connection that the server closes just as we post would look like a lost answer. Not every
        # server says that it closes, so the pool is emptied, too; the session itself goes on.
        self.session.close()
        headers = {**(options.pop("headers", None) or {}), "Connection": "close"}
        with self.session.request(
            method, url, headers=headers, **{**options, "allow_redirects": False, "stream": True}
        ) as response:
            end, read = self.clock() + MAX_SECONDS, bytearray()
            for chunk in response.iter_content(64 * 1024):
                read += chunk
                if len(read) > MAX_ANSWER_BYTES or self.clock() > end:
                    raise AnswerTooLong("its answer was too long")
        self.answer = ApiResponse(response.status_code, response.headers, bytes(read))
        if response.is_redirect or 300 <= response.status_code < 400:
            try:
                host = urlsplit(response.headers.get("Location", "")).hostname or ""
            except ValueError:
                host = ""
            place = "".join(char for char in host if char.isprintable())[:100]
            raise Redirected(place or "another page")
        # The answer without its headers: Mastodon.py raises for a rate-limit header it cannot read, after
        # the status was posted.
        plain = requests.Response()
        plain.status_code, plain.reason, plain.url = response.status_code, response.reason, response.url
        plain.request, plain.encoding = response.request, "utf-8"
        plain.raw = io.BytesIO(read)
        return plain

    def close(self) -> None:
        self.session.close()


def safe_session() -> requests.Session:
    """A session that refuses private addresses."""
    return client().session()
