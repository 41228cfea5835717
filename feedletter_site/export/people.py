"""Files of an export for people and other programs: OPML, CSV and web pages."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, count, islice

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.template.loader import render_to_string

from common.db.bulk import pieces_by_key
from delivery.models import Issue
from delivery.views.issues import shown_of
from feeds.adding.opml import export_opml
from feeds.models import Feed
from reader.channels.opml import export_follows
from reader.models import Reader
from subscriptions.lists.export import export_subscribers
from subscriptions.models import Subscribable, Subscription

# The newest issues have a page each, which takes 2 KB of memory, and a place in the zip's list of files.
MOST_PAGES = 20_000
# Issues in a page of older ones.
OLDER_TOGETHER = 200
ROWS_A_QUERY = 2_000
# Other programs may give a whole file one status.
SUBSCRIBERS = {"subscribers": ("confirmed",), "do-not-email": ("unconfirmed", "unsubscribed", "suppressed")}


def files(*, now: datetime) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield names and contents. Read each content before the next name."""
    yield "people/feeds.opml", _encoded(export_opml(Feed.objects.all(), now=now))
    for reader in Reader.objects.order_by("slug").iterator():
        yield f"people/readers/{reader.slug}.opml", _encoded(export_follows(reader, now=now))
    for newsletter in Subscribable.objects.order_by("name"):
        # Bridges have no list.
        with suppress(ValidationError):
            for folder, statuses in SUBSCRIBERS.items():
                rows = export_subscribers(subscribable=newsletter, statuses=statuses)
                yield f"people/{folder}/{newsletter.name}.csv", _csv(rows)
    issues = _issues()
    for name, pk in islice(issues, MOST_PAGES):
        yield f"people/issues/{name}-{pk}.html", _page([pk])
    older = (pk for _name, pk in issues)
    for number in count(1):
        if not (pks := list(islice(older, OLDER_TOGETHER))):
            return
        yield f"people/issues/older-{number:05}.html", _page(pks)


def count_rows() -> int:
    """Return how many rows `files` writes, apart from feeds."""
    return Subscription.objects.count() + 2 * Subscribable.objects.count() + _published().count()


def _published() -> "QuerySet[Issue]":
    return Issue.objects.filter(published_at__isnull=False)


def _issues() -> Iterator[tuple[str, int]]:
    """Yield newsletters' names and keys of issues, the newest first."""
    rows = _published().values_list("subscribable__name", "pk")
    return chain.from_iterable(pieces_by_key(rows, ROWS_A_QUERY, newest_first=True))


def _page(pks: Sequence[int]) -> Iterator[bytes]:
    for number, pk in enumerate(pks, 1):
        issue = Issue.objects.select_related("subscribable").defer("html", "text").get(pk=pk)
        context = {
            "issue": issue,
            "shown": shown_of(issue),
            "title": issue.title if len(pks) == 1 else f"Older issues ({len(pks)})",
            "is_first": number == 1,
            "is_last": number == len(pks),
        }
        yield render_to_string("export/issue.html", context).encode()


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode() for text in texts)


def _csv(rows: Iterable[list[str]]) -> Iterator[bytes]:
    for row in rows:
        line = io.StringIO(newline="")
        csv.writer(line).writerow(row)
        yield line.getvalue().encode()
