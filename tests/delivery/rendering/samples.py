"""Facts to render, filled as a sender would."""

from datetime import UTC, datetime, timedelta
from typing import Any

from channels.placeholders import fill_html, fill_text
from delivery.rendering.errors import Rendered
from delivery.rendering.facts import IssueFacts
from feeds.parsing.entry import Entry

NOW = datetime(2026, 3, 8, 9, tzinfo=UTC)
SITE = "https://letters.example"
VALUES = {
    "toemail": "ada@example.net",
    "managelink": f"{SITE}/manage/abc/",
    "removelink": f"{SITE}/unsubscribe/abc/",
    "archivelink": f"{SITE}/s/valley/archive/",
    "weblink": f"{SITE}/s/valley/archive/",
}


def entry(number: int = 1, **changes: Any) -> Entry:
    facts: dict[str, Any] = {
        "guid": str(number),
        "title": f"Post {number}",
        "link": f"https://blog.example/{number}",
        "authors": ("Ada Lovelace",),
        "content": f"<p>The text of post {number}.</p>",
        "published": NOW - timedelta(days=number),
    }
    return Entry(**{**facts, **changes})


def facts(*entries: Entry, **changes: Any) -> IssueFacts:
    """Return the facts of a weekly issue of three posts by default."""
    given: dict[str, Any] = {
        "name": "valley",
        "newsletter": "The Valley Weekly",
        "arrangement": "weekly",
        "entries": entries or (entry(1), entry(2), entry(3)),
        "now": NOW,
        "site_url": SITE,
        "archive_url": f"{SITE}/s/valley/archive/",
        "period_start": NOW - timedelta(days=7),
        "period_end": NOW,
    }
    return IssueFacts(**{**given, **changes})


def one(post: Entry, **changes: Any) -> IssueFacts:
    """Return the facts of a newsletter that sends each post."""
    alone = {"arrangement": "each", "period_start": None, "period_end": None}
    return facts(post, **{**alone, **changes})


def html_of(letter: Rendered, **values: str) -> str:
    return fill_html(letter.html, letter.placeholders, {**VALUES, **values})


def text_of(letter: Rendered, **values: str) -> str:
    return fill_text(letter.text, letter.placeholders, {**VALUES, **values})
