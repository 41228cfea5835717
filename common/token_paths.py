"""URL patterns of pages that a token in their address opens, also with what else came along with the link."""

import re
from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, re_path, register_converter

# Tokens are base64 for URLs, with dots between their parts (common.signing).
_ALPHABET = r"[A-Za-z0-9_.-]*[A-Za-z0-9_-]"
# Programs that make links of plain text take a closing bracket, quote or full stop for a part of the address.
_TAIL = r"/?(?:[^A-Za-z0-9_/-][\s\S]*)?"
# Ends the name of the pattern for links with a tail.
WITH_TAIL = "_with_tail"
_SEGMENT = re.compile(r"<(\w+)>")


class TokenConverter:
    """A token, and nothing else."""

    regex = _ALPHABET

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(TokenConverter, "link_token")


def token_paths(
    before: str, view: Callable[..., Any], name: str, *, parameter: str = "token"
) -> list[URLPattern]:
    """Return the patterns of `before` and a token: the link as it was made, and with a tail.

    Both open the page at once. A mail client does not follow a redirect from its one-click POST (RFC 8058).
    """
    segments = _SEGMENT.sub(r"(?P<\1>[^/]+)", before)
    return [
        path(f"{before}<link_token:{parameter}>/", view, name=name),
        re_path(rf"^{segments}(?P<{parameter}>{_ALPHABET}){_TAIL}\Z", view, name=f"{name}{WITH_TAIL}"),
    ]


def without_tail(token: str) -> str:
    """Cut what cannot be the end of a token."""
    return token.strip().rstrip(" <>()[]{}.,;:!?*'\"«»“”’")
