from collections.abc import Sequence
from datetime import date, datetime, timedelta
from http import HTTPStatus
from statistics import median
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from common.admin.html import ago, page, web_link, when
from common.admin.refusals import require
from common.clock import utcnow
from common.parts import Bar, Box, Button, Chart, Dot, Fold, Link, Part, Table, Text
from common.text import pluralize, shortened
from feeds.admin_words import brought
from feeds.items.dry_run import dry_run, remarks, sentence
from feeds.items.history import POLLS_PLOTTED, PollStretch, brought_nothing, folded, posts_per_week, readings
from feeds.models import Feed, Item, Poll
from feeds.rules.item_status import in_short

NAME = "feeds_feed_forecast"
TITLE = "What would happen now?"
FORECASTS_SHOWN = 100
# Visible, and folded.
LINES, MORE_LINES = 2, 60
LONGEST_NOTE = 300
KEPT = "Readings are kept for 30 days, at most 500 of a feed."
HEAD = ("when", "what came", "answer", "size", "took", "read again")
TONES = {Poll.Outcome.FAILED: "bad", Poll.Outcome.UNCHANGED: "still", Poll.Outcome.READ: "good"}


class ForecastPage:
    def get_urls(self: Any) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.forecast_view)
        own = path("<int:pk>/forecast/", view, name=NAME)
        return [own, *super().get_urls()]  # type: ignore[misc]

    def change_view(
        self: Any,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        url = reverse(f"admin:{NAME}", args=[object_id]) if object_id.isdecimal() else ""
        context = {"page_link": Button(url, TITLE, is_plain=True) if url else "", **(extra_context or {})}
        answer: HttpResponse = super().change_view(request, object_id, form_url, context)  # type: ignore[misc]
        return answer

    def forecast_view(self: Any, request: HttpRequest, pk: int) -> HttpResponse:
        require(self.has_view_permission(request))
        try:
            run = dry_run(feed_id=pk)
        except Feed.DoesNotExist as error:
            raise Http404(f"There is no feed {pk}.") from error
        rows = []
        for row in run.rows[:FORECASTS_SHOWN]:
            title = row.title or row.link or row.guid
            linked: Part = web_link(row.link, title) if row.link else title
            if row.pk:
                linked = Link(Item(pk=row.pk), title)
            rows.append(
                {
                    "title": linked,
                    "published": when(row.published, ""),
                    "row": row,
                    "settles": when(row.settles, ""),
                    "quiet": row.event == "unchanged",
                }
            )
        context = {
            "title": TITLE,
            "subtitle": str(run.feed),
            "opts": self.opts,
            "original": run.feed,
            "run": run,
            "sentence": sentence(run),
            "remarks": remarks(run),
            "rows": rows,
            "more": run.more + max(0, len(run.rows) - FORECASTS_SHOWN),
            "back": self.page_url(pk),
            "again": request.path,
        }
        return page(request, "admin/feeds/forecast.html", context)


def at_a_glance(feed: Feed) -> Part:
    polls = readings(feed, limit=POLLS_PLOTTED)
    return Box("plots", (publishing(posts_per_week(feed, now=utcnow())), answering(polls)))


def publishing(weeks: Sequence[tuple[date, int]]) -> Chart:
    bars = [Bar(count, f"Week of {_day(week)}: {pluralize(count, 'post')}") for week, count in weeks]
    counts = [count for _, count in weeks]
    busiest = max(counts)
    words = f"{counts[-1] or 'none'} so far this week, {busiest:,} at most"
    return Chart("Posts a week", words if busiest else "none", bars, _day(weeks[0][0]), "this week")


def answering(polls: Sequence[Poll]) -> Chart:
    if not polls:
        return Chart("Time to answer", "Not read yet.", ())
    bars = []
    for poll in reversed(polls):
        failed = poll.outcome == Poll.Outcome.FAILED
        words = f"{when(poll.at)}: {'failed' if failed else _ms(poll.duration_ms)}"
        bars.append(Bar(poll.duration_ms, words, is_bad=failed))
    since = f"{ago(utcnow() - polls[-1].at)} ago"
    until = f"{ago(utcnow() - polls[0].at)} ago"
    return Chart("Time to answer", latency_words(polls), bars, since, until)


def latency_words(polls: Sequence[Poll]) -> str:
    failed = sum(poll.outcome == Poll.Outcome.FAILED for poll in polls)
    took = [poll.duration_ms for poll in polls if poll.outcome != Poll.Outcome.FAILED]
    trouble = f"{failed:,} failed" if failed else "none failed"
    return f"{_ms(round(median(took)))} usually, {trouble}" if took else trouble


def timeline(feed: Feed) -> Part:
    stretches = folded(readings(feed))
    shown = Table(HEAD, map(_row, stretches[:LINES]), "Not read yet.")
    older, hidden = stretches[LINES : LINES + MORE_LINES], stretches[LINES + MORE_LINES :]
    if not older:
        return Box("timeline", shown)
    words = KEPT
    if hidden:
        words = (
            f"{pluralize(sum(len(each.polls) for each in hidden), 'reading')} before that not shown. {KEPT}"
        )
    number = pluralize(sum(len(each.polls) for each in stretches[LINES:]), "older reading")
    unfolded = Fold(number, (Table(HEAD, map(_row, older)), Text(words, "quiet")))
    return Box("timeline", (shown, unfolded))


def _row(stretch: PollStretch) -> tuple[Part, ...]:
    poll = stretch.newest
    newest, oldest = timezone.localtime(poll.at), timezone.localtime(stretch.oldest.at)
    moment = f"{_day(oldest)}, {oldest:%H:%M}"
    if poll is not stretch.oldest:
        day = f"{_day(newest)}, " if newest.date() != oldest.date() else ""
        moment += f" to {day}{newest:%H:%M}"
    # The colour adds nothing to the words.
    dot = Dot("still" if brought_nothing(poll) else TONES[Poll.Outcome(poll.outcome)])
    note = Text(shortened(poll.note, LONGEST_NOTE), "note") if poll.note else ""
    return (
        moment,
        (dot, stretch_words(stretch), note),
        answer(poll),
        filesizeformat(stretch.bytes) if stretch.bytes else "",
        f"{'about ' if len(stretch.polls) > 1 else ''}{_ms(stretch.milliseconds)}",
        read_again(poll),
    )


def stretch_words(stretch: PollStretch) -> str:
    """Return "23 readings, nothing new"."""
    words = poll_words(stretch.newest)
    number = len(stretch.polls)
    if number > 1:
        return f"{pluralize(number, 'reading')}, {'all ' if words == 'failed' else ''}{words}"
    return words[0].upper() + words[1:]


def poll_words(poll: Poll) -> str:
    if poll.outcome == Poll.Outcome.FAILED:
        return "failed"
    return f"told by its hub: {brought(poll)}" if poll.origin == Poll.Origin.PUSH else brought(poll)


def answer(poll: Poll) -> str:
    """Return "304 Not Modified"."""
    if poll.origin == Poll.Origin.PUSH:
        return "a push"
    if poll.status is None:
        return "no answer"
    try:
        return f"{poll.status} {HTTPStatus(poll.status).phrase}"
    except ValueError:
        return str(poll.status)


def read_again(poll: Poll) -> str:
    wait = poll.next_poll_at - poll.at
    why = in_short(poll.next_poll_why)
    after = f"after {ago(wait)}" if wait > timedelta(0) else "at once"
    return f"{after}: {why}" if why else after


def _ms(milliseconds: int) -> str:
    return (
        f"{milliseconds:,}\N{NO-BREAK SPACE}ms"
        if milliseconds < 1000
        else f"{milliseconds / 1000:.1f}\N{NO-BREAK SPACE}s"
    )


def _day(moment: date | datetime) -> str:
    return f"{moment.day} {moment:%b}"
