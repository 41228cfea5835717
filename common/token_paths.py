import re
from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, path, re_path, register_converter

# URL-safe base64 with dots between parts.
_ALPHABET = r"[A-Za-z0-9_.-]*[A-Za-z0-9_-]"
# Programs include a closing bracket, quote or full stop in links.
_TAIL = r"/?(?:[^A-Za-z0-9_/-][\s\S]*)?"
WITH_TAIL = "_with_tail"
_SEGMENT = re.compile(r"<(\w+)>")


class TokenConverter:
    regex = _ALPHABET

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(TokenConverter, "link_token")


def token_paths(
    before: str, view: Callable[..., Any], name: str, *, parameter: str = "token"
) -> list[URLPattern]:
    """Return patterns for the exact link and for one with a tail.

    Neither redirects: mail clients do not follow redirects of a one-click POST (RFC 8058).
    """
    segments = _SEGMENT.sub(r"(?P<\1>[^/]+)", before)
    return [
        path(f"{before}<link_token:{parameter}>/", view, name=name),
        re_path(rf"^{segments}(?P<{parameter}>{_ALPHABET}){_TAIL}\Z", view, name=f"{name}{WITH_TAIL}"),
    ]


def without_tail(token: str) -> str:
    return token.strip().rstrip(" <>()[]{}.,;:!?*'\"«»“”’")
