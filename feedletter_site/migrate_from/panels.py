"""The panels on the page of an arrival: how far it is, what would be done or was, what it is."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import Sum
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.admin.html import facts, html_table, listed, paragraph, when
from common.admin.work_progress import words_about_worker, work_progress
from common.clock import utcnow
from common.text import pluralize, shortened
from feedletter_site.migrate_from.report import ORDER, READING, ImportResult
from feedletter_site.migrate_from.source import source_called
from feedletter_site.migrate_from.uploads import OPEN, State
from feedletter_site.models import Arrival, ArrivalLine

LINES_SHOWN, LONGEST_NAME = 25, 200
# What a fate is called before it is done, and after.
FATES_AS_SHOWN = {
    ImportResult.REFUSED: ("Not to be taken", "Not taken"),
    ImportResult.UNREAD: ("Could not be read", "Could not be read"),
    ImportResult.NEW: ("New posts", "New posts"),
    ImportResult.ASKS: ("Posts to decide about", "Posts to decide about"),
    ImportResult.CHANGED: ("To be changed", "Changed"),
    ImportResult.TAKEN: ("To be taken over", "Taken over"),
    ImportResult.THERE: ("There already", "There already"),
}
SAID = {
    State.UPLOADING: "The upload did not come to its end. Stop it, and choose the file again.",
    State.STOPPED: "It was stopped, and the file is forgotten. What was taken so far stays.",
    State.DONE: "The file is forgotten. Upload a newer one to add what is missing: nothing is taken twice.",
    State.UNUSABLE: "The file is forgotten.",
}
UNCHANGED = "Nothing was changed so far, and nobody but the servers of feeds was asked anything."


def counts(row: Arrival) -> list[tuple[str, int]]:
    """How many things there are of each fate, as people call it; of those that were looked for."""
    return counts_of([row])[row.pk]


def counts_of(rows: Sequence[Arrival]) -> dict[int, list[tuple[str, int]]]:
    """The counts of several, by their keys."""
    lines = ArrivalLine.objects.filter(arrival__in=[row.pk for row in rows]).order_by()
    found: dict[int, dict[str, int]] = {row.pk: {} for row in rows}
    for pk, what, number in lines.values_list("arrival", "what").annotate(number=Sum("count")):
        found[pk][what] = number
    return {row.pk: _as_shown(row, found[row.pk]) for row in rows}


def _as_shown(row: Arrival, found: Mapping[str, int]) -> list[tuple[str, int]]:
    """Before it is done, in the future tense."""
    is_done = row.begun_at is not None
    shown = (fate for fate in ORDER if found.get(fate) or (row.is_read and fate in READING))
    return [(FATES_AS_SHOWN[fate][is_done], found.get(fate, 0)) for fate in shown]


def how_far(row: Arrival) -> SafeString:
    """While a worker is at it, the page asks for this again by itself."""
    return work_progress(
        reverse("admin:feedletter_site_arrival_progress", args=[row.pk]),
        is_going=row.state in OPEN,
        percent=100 * row.done // row.parts if row.parts else 0,
        heading=row.get_state_display(),
        lines=pluralize(row.parts, "feed") if row.parts else "",
        words=sentence_about_state(row, utcnow()),
        facts=[(name, f"{number:,}") for name, number in counts(row)],
        trouble=row.trouble,
    )


def sentence_about_state(row: Arrival, now: datetime) -> str:
    """A sentence under the bar."""
    if row.state in OPEN:
        return words_about_worker(row, now)
    if row.state == State.LOOKED and not row.is_read:
        return f"{UNCHANGED} Read the feeds to see which posts would be new: that nothing comes twice."
    return SAID.get(State(row.state), UNCHANGED)


def what_to_mind(row: Arrival) -> SafeString | str:
    return format_html_join("", "<p>{}</p>", ((note,) for note in row.notes))


def report(row: Arrival) -> SafeString | str:
    """What needs a person comes first; of each fate the first lines, and a file with all."""
    drawn, is_done = [], row.begun_at is not None
    numbers = dict(counts(row))
    for fate in ORDER:
        label = FATES_AS_SHOWN[fate][is_done]
        lines = row.lines.filter(what=fate).order_by("pk").values_list("kind", "name", "words")
        shown = [(kind, shortened(name, LONGEST_NAME), words) for kind, name, words in lines[:LINES_SHOWN]]
        if not shown:
            continue
        more = row.lines.filter(what=fate).count() - len(shown)
        drawn.append(format_html('<h3 class="fl-h">{}: {}</h3>', label, f"{numbers[label]:,}"))
        drawn.append(html_table(("what", "name", "why, or how"), shown))
        if more:
            drawn.append(paragraph(f"and {pluralize(more, 'more line')}"))
    if not drawn:
        return ""
    url = reverse("admin:feedletter_site_arrival_report", args=[row.pk])
    link = format_html('<p><a class="fl-link" href="{}">Download all of it as CSV</a></p>', url)
    return format_html_join("", "{}", ((each,) for each in (link, *drawn)))


def about_arrival(row: Arrival) -> SafeString:
    size = f"{row.size / 1024 / 1024:,.1f} MB" if row.size > 100_000 else f"{row.size:,} bytes"
    pairs: list[tuple[str, Any]] = [
        ("From", source_called(row.source).name),
        ("Size", size),
        ("Uploaded", listed([when(row.created_at), *([f"by {row.by}"] if row.by else ())])),
        ("Begun", when(row.begun_at)),
        ("Ended", when(row.ended_at)),
    ]
    return facts(pairs)
