"""Files of an export for people and other programs: OPML, CSV and web pages."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from django.core.exceptions import ValidationError
from django.template.loader import render_to_string

from delivery.models import Issue
from delivery.views.issues import shown_of
from feeds.adding.opml import export_opml
from feeds.models import Feed
from reader.channels.opml import export_follows
from reader.models import Reader
from subscriptions.lists.export import export_subscribers
from subscriptions.models import Subscribable

# The newest. Each takes 2 KB of memory, and a place in the zip's list of files.
MOST_PAGES = 30_000


def files(*, now: datetime) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield names and contents. Read each content before the next name."""
    yield "people/feeds.opml", _encoded(export_opml(Feed.objects.all(), now=now))
    for reader in Reader.objects.order_by("slug").iterator():
        yield f"people/readers/{reader.slug}.opml", _encoded(export_follows(reader, now=now))
    for newsletter in Subscribable.objects.order_by("name"):
        # Bridges have no list.
        with suppress(ValidationError):
            rows = export_subscribers(subscribable=newsletter)
            yield f"people/subscribers/{newsletter.name}.csv", _csv(rows)
    issues = Issue.objects.filter(published_at__isnull=False).order_by("-pk")
    for pk, name in list(issues.values_list("pk", "subscribable__name")[:MOST_PAGES]):
        yield f"people/issues/{name}-{pk}.html", _page(pk)


def _page(pk: int) -> Iterator[bytes]:
    issue = Issue.objects.select_related("subscribable").defer("html", "text").get(pk=pk)
    yield render_to_string("export/issue.html", {"issue": issue, "shown": shown_of(issue)}).encode()


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode() for text in texts)


def _csv(rows: Iterable[list[str]]) -> Iterator[bytes]:
    for row in rows:
        line = io.StringIO(newline="")
        csv.writer(line).writerow(row)
        yield line.getvalue().encode()
