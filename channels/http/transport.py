"""Single requests: no redirects, no kept connections, bounded answers."""

import io
import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests

from common.net.client import client
from common.net.transport import budget

T = TypeVar("T")
# RFC 1035 §2.3.4, without the final dot.
MAX_HOST = 253
LONGEST_URL = 2_000
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
EXAMPLE = "Use an address like https://{}."
MAX_ANSWER_BYTES = 2 * 1024 * 1024
MAX_SECONDS = 30.0
TIMEOUT_SECONDS = 15.0


def server_url(typed: str, *, example: str) -> str:
    """Return `https://host[:port]`. Raises ValueError with a sentence."""
    text, how = typed.strip(), EXAMPLE.format(example)
    try:
        if not text.isprintable():
            raise ValueError(text)
        parts = urlsplit(text if "://" in text else f"https://{text}")
        scheme, port = parts.scheme.lower(), parts.port
        host = parts.hostname or ""
        if ":" in host:
            host = f"[{ipaddress.IPv6Address(host)}]"
        else:
            host = (host if host.isascii() else host.encode("idna").decode()).lower().rstrip(".")
            if len(host) > MAX_HOST or not _HOST.fullmatch(host):
                raise ValueError(host)
    except ValueError:
        raise ValueError(f"“{text[:100]}” isn’t a web address. {how}") from None
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ValueError(f"“{text[:100]}” must contain only the server’s address. {how}")
    if scheme != "https" and not (scheme == "http" and _is_loopback(host)):
        raise ValueError(f"it must start with https://, and “{text[:100]}” doesn’t.")
    usual_port = 443 if scheme == "https" else 80
    return f"{scheme}://{host}" + (f":{port}" if port not in (None, usual_port) else "")


def _is_loopback(host: str) -> bool:
    """Tokens are sent unencrypted to this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Redirected(requests.RequestException):
    """Not followed: a POST would become a GET and send the token along."""


class AnswerTooLong(requests.RequestException):
    """Larger than any answer of a service."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def at(self, *path: str | int) -> Any:
        """Return None without a value at the JSON path."""
        value = self.json
        for step in path:
            if isinstance(value, Mapping) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
                value = value[step]
            else:
                return None
        return value

    def needed(self, kind: type[T], *path: str | int) -> T:
        """Raises ValueError, which ApiClient.call understands."""
        if not isinstance(value := self.at(*path), kind):
            raise ValueError(path)
        return value

    def text_at(self, *path: str | int) -> str:
        value = self.at(*path)
        return value if isinstance(value, str) else ""

    def number_at(self, *path: str | int, otherwise: int) -> int:
        """Return 1 to a billion, else `otherwise`."""
        value = self.at(*path)
        usable = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 10**9
        return value if usable else otherwise


class Transport:
    """Replaces `requests.Session`; libraries only use `request` and `post`."""

    def __init__(self, session: requests.Session | None = None) -> None:
        self.session = session or client().session()
        self.answer: ApiResponse | None = None
        # Answers that a service counts against us.
        self.refusals = 0

    def request(self, method: str, url: str, **options: Any) -> requests.Response:
        """`answer` is None until complete."""
        self.answer = None
        # If the server closes a kept connection just as we post, the answer seems lost. Not every server
        # announces that, so empty the pool; the session remains usable.
        self.session.close()
        headers = {**(options.pop("headers", None) or {}), "Connection": "close"}
        # A server may send one octet per second.
        with (
            budget(MAX_SECONDS, MAX_ANSWER_BYTES),
            self.session.request(
                method, url, headers=headers, **{**options, "allow_redirects": False, "stream": True}
            ) as response,
        ):
            read = bytearray()
            for chunk in response.iter_content(64 * 1024):
                read += chunk
                if len(read) > MAX_ANSWER_BYTES:
                    raise AnswerTooLong("its response was too long")
        self.answer = ApiResponse(response.status_code, response.headers, bytes(read))
        if response.is_redirect or 300 <= response.status_code < 400:
            try:
                host = urlsplit(response.headers.get("Location", "")).hostname or ""
            except ValueError:
                host = ""
            place = "".join(char for char in host if char.isprintable())[:100]
            raise Redirected(place or "another page")
        # A library may fail on an unreadable header after it has posted.
        plain = requests.Response()
        plain.status_code, plain.reason, plain.url = response.status_code, response.reason, response.url
        plain.request, plain.encoding = response.request, "utf-8"
        plain.raw = io.BytesIO(read)
        return plain

    def post(self, url: str, **options: Any) -> requests.Response:
        return self.request("POST", url, **options)

    def close(self) -> None:
        self.session.close()
