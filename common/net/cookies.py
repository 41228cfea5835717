"""Cookies of one reading: some servers answer a redirect to the same address until theirs comes back."""

from urllib.parse import SplitResult, urlsplit

import requests

MAX_COOKIES = 20
# RFC 6265, 6.1: what a client should take at least.
MAX_LENGTH = 4096


class Cookies:
    """The cookies that hosts set: each host gets its own back, for as long as redirects are followed."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], dict[str, str]] = {}

    def __bool__(self) -> bool:
        return any(self._kept.values())

    def keep(self, url: str, response: requests.Response) -> None:
        """Takes the cookies that an answer from `url` sets, the first twenty of a host."""
        ours = self._kept.setdefault(_place(urlsplit(url)), {})
        for cookie in response.cookies:
            text = f"{cookie.name}={cookie.value or ''}"
            if len(text) <= MAX_LENGTH and text.isascii() and text.isprintable():
                ours[cookie.name] = text
        for name in list(ours)[MAX_COOKIES:]:
            del ours[name]

    def header(self, url: str) -> dict[str, str]:
        """The Cookie header for a request to `url`; {} without any."""
        ours = self._kept.get(_place(urlsplit(url)))
        return {"Cookie": "; ".join(ours.values())} if ours else {}


def _place(parts: SplitResult) -> tuple[str, str]:
    return parts.scheme, parts.netloc.rpartition("@")[2].lower()
