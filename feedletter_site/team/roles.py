"""Permissions of the roles. A superuser has all."""

from collections.abc import Iterator
from functools import cache

EDITOR, SENDER = "editor", "sender"

# By app: words before the models. "draft" is "change" without sending, "pause" without settings.
EDITS = {
    "feeds": {"view": "feed item"},
    "subscriptions": {
        "view": "subscribable assignable subscription listimport",
        "add": "subscription listimport",
        "change": "subscription listimport",
        "draft": "assignable",
    },
    "delivery": {"view": "issue broadcast", "add": "broadcast", "draft": "issue broadcast"},
}
# Shared by all newsletters.
EDITS_EVERYWHERE = {
    "feeds": {"view": "tag", "add": "feed tag", "change": "feed item tag"},
    "subscriptions": {"view": "destination subscribertag suppression"},
}
SENDS = {
    "subscriptions": {"change": "assignable", "pause": "subscribable"},
    "delivery": {"change": "issue broadcast"},
}


def _named(table: dict[str, dict[str, str]]) -> Iterator[str]:
    for app, words in table.items():
        for word, models in words.items():
            yield from (f"{app}.{word}_{model}" for model in models.split())


@cache
def permissions_of(role: str, *, is_limited: bool) -> frozenset[str]:
    tables = [EDITS] if role in (EDITOR, SENDER) else []
    if tables and not is_limited:
        tables.append(EDITS_EVERYWHERE)
    if role == SENDER:
        tables.append(SENDS)
    return frozenset(name for table in tables for name in _named(table))
