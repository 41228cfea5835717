from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.test import Client

from reader.indieauth.discovery import profile_of
from reader.models import Reader

SECOND_DATABASE = False

FORM = "application/x-www-form-urlencoded"
HTML = {"Content-Type": "text/html; charset=utf-8"}


@pytest.fixture(autouse=True)
def no_limits_reached() -> None:
    cache.clear()


@pytest.fixture
def page(ada: Reader) -> str:
    """Return Ada's own page, which others link to."""
    return profile_of(ada)


@pytest.fixture
def send(ada: Reader) -> Callable[..., Any]:
    """Return a function that sends Ada a webmention as another site's server does."""

    def post(source: str, target: str, *, ip: str = "203.0.113.1") -> Any:
        body = urlencode({"source": source, "target": target})
        return Client().post(f"/webmention/{ada.slug}", body, content_type=FORM, REMOTE_ADDR=ip)

    return post


def reply_to(target: str, *, words: str = "Well said.", author: str = "https://bob.example/") -> str:
    """Return a page with a reply."""
    return f"""<!doctype html><title>A reply</title><article class="h-entry">
      <a class="u-in-reply-to" href="{target}">Ada</a> <a class="u-url" href="">here</a>
      <time class="dt-published" datetime="2026-03-01T10:00:00Z">then</time>
      <span class="p-author h-card"><a class="u-url p-name" href="{author}">Bob</a></span>
      <div class="e-content"><p>{words}</p></div></article>"""
