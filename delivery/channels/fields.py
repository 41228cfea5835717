"""What several bridges ask for: short names, tokens, addresses that are secrets. Pure.

Each function is a Field's `clean`: it raises ValueError with a sentence that does not repeat a secret.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from common.truncation import plain_line
from delivery.channels.http.address import server_url

LONGEST_URL = 2_000


def short_name(typed: str) -> str:
    """What an admin calls one of several destinations at one place."""
    name = typed.lower()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ValueError("give a short name of letters, digits, dots, dashes or underscores, such as news.")
    return name


def secret_word(typed: str) -> str:
    """A token or a password."""
    if not re.fullmatch(r"[!-~]{1,500}", typed):
        raise ValueError("it has spaces or letters no token has.")
    return typed


def posting_url(example: str) -> Callable[[str], str]:
    """An address that is a secret: whoever knows it may post there. `example` is a host, for people."""

    def clean(typed: str) -> str:
        try:
            parts = urlsplit(typed)
            place = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if parts.username is not None or len(typed) > LONGEST_URL or not re.fullmatch(r"[!-~]*", typed):
                raise ValueError(typed)
            return server_url(f"{parts.scheme}://{parts.netloc}", example=example) + place
        except ValueError:
            raise ValueError(f"it is no address to post to. It begins with https://{example}/.") from None

    return clean


def words_of_at_most(limit: int) -> Callable[[str], str]:
    """A line of so many characters."""

    def clean(typed: str) -> str:
        if len(text := plain_line(typed)) > limit:
            raise ValueError(f"at most {limit} characters.")
        return text

    return clean
