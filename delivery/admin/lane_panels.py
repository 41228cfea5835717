"""Panels of a lane: state, use, workers and domains."""

from datetime import timedelta
from typing import Any

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from channels.rules.accounts import DEFAULT_ACCOUNT
from channels.rules.meaning import advice
from channels.rules.server_words import meaning
from common.admin.day_plot import Bar, is_worth_drawing, sparkline
from common.admin.html import facts, html_table, link_to, list_link, paragraph, when
from common.clock import utcnow
from common.text import pluralize
from delivery.accounts.accounts import server_of
from delivery.accounts.default_account import default_account, keeps_letters
from delivery.lanes.breakers import why_resting
from delivery.lanes.status import (
    DomainStanding,
    coming_days,
    domain_standings,
    holders,
    in_words,
    lane_status,
    last_day,
)
from delivery.models import Account, Delivery, Lane
from delivery.rules.progress import waiting_words

WARM_UP_DAYS_SHOWN = 14


def describe_lane(lane: Lane) -> SafeString:
    shown = waiting_words(*Delivery.objects.filter(lane=lane).unsent())
    rows: list[tuple[str, Any]] = [
        ("Waiting to be sent", list_link(Delivery, shown, lane__id__exact=lane.pk)),
        ("Order", "One at a time, in order." if lane.serial else "Many at once."),
        ("Limits", ", ".join(in_words(lane, utcnow())) or "None."),
    ]
    if lane.kind == "email":
        rows.insert(0, ("Server", _server(lane)))
    if lane.paused:
        rows.append(("Paused", lane.paused_reason or "No reason given."))
    if lane.width < lane.concurrency:
        said = (
            f"{lane.width} of {lane.concurrency}. The server refused one more on "
            f"{when(lane.server_takes_since)}: {lane.server_said} More are tried from time to "
            "time. If the server never accepts more, lower the number of connections "
            "to what it accepts."
        )
        rows.append(("Connections", said))
    if why := why_resting(lane.kind, utcnow()):
        rows.append(("The service", why))
    if lane.free_at:
        rows.append(("Rests until", when(lane.free_at)))
    if lane.last_error:
        rows.append(("Last error", lane.last_error))
    if lane.refused_since and (todo := advice(meaning(lane.last_error))):
        rows.append(("What to do", todo))
    return facts(rows)


def _server(lane: Lane) -> SafeString | str:
    if lane.account == DEFAULT_ACCOUNT:
        if row := default_account():
            return format_html("{} ({})", link_to(row), server_of(row))
        return "Emails are kept here, not sent." if keeps_letters() else "That of EMAIL_URL."
    account = Account.objects.mail().filter(name=lane.account).first()
    if account is None:
        return "Its email account no longer exists."
    return format_html("{} ({})", link_to(account), server_of(account))


def lane_use(lane: Lane) -> SafeString | str:
    """Show use per hour and day with limits, and a chart of 24 hours."""
    now = utcnow()
    shown = lane_status(lane, now)
    if not shown.counts:
        return paragraph("Messages are counted once there is a limit per hour or per 24 hours, or a warm-up.")
    bars = []
    if shown.per_hour is not None:
        bars.append(_bar(shown.used.hour, shown.per_hour, "in the last hour"))
    if shown.today is not None:
        why = " (warming up)" if shown.warms_up else ""
        bars.append(_bar(shown.used.day, shown.today, f"in the last 24 hours{why}"))
    plot = _plot(lane, shown.used.day) if shown.used.day else ""
    return format_html("{}{}", format_html_join("", "{}", ((bar,) for bar in bars)), plot)


def _bar(value: int, limit: int, words: str) -> SafeString:
    return format_html(
        '<div class="fl-used"><p><b>{}</b> of {} {}</p>'
        '<progress class="fl-progress" max="{}" value="{}" aria-label="{}"></progress></div>',
        f"{value:,}",
        f"{limit:,}",
        words,
        limit,
        min(value, limit),
        f"{value} of {limit} {words}",
    )


def _plot(lane: Lane, total: int) -> SafeString:
    parts = last_day(lane, utcnow(), parts=48)
    most = max(count for _, count in parts)
    said = f"{pluralize(total, 'message')} in 24 hours, {most:,} at most in half an hour."
    if not is_worth_drawing(count for _, count in parts):
        return paragraph(said)
    drawn = sparkline(
        [Bar(count, f"{when(start)}: {pluralize(count, 'message')}") for start, count in parts],
        name="fl-lane-day",
        title="Messages in each half hour",
        description=said,
    )
    return format_html(
        '<figure class="fl-plot"><figcaption><b>Messages in each half hour</b>{}, at most {} in one'
        '</figcaption>{}<p class="fl-axis"><span>24 hours ago</span><span>now</span></p></figure>',
        pluralize(total, "message"),
        f"{most:,}",
        drawn,
    )


def warm_up(lane: Lane) -> SafeString | str:
    if lane.warm_up_from is None:
        return ""
    days = coming_days(lane, utcnow(), days=WARM_UP_DAYS_SHOWN)
    if not days:
        return paragraph("The warm-up is over.")
    rows = ((f"{day:%A}, {day.day} {day:%B}", f"{count:,}") for day, count in days)
    then = days[-1][0] + timedelta(days=1)
    over = f"From {then.day} {then:%B}, the warm-up no longer limits sending."
    end = "And so on." if len(days) == WARM_UP_DAYS_SHOWN else over
    return format_html(
        '<div class="fl-narrow">{}</div><p class="fl-quiet">{}</p>',
        html_table(("Day", "Messages at most in 24 hours"), rows),
        end,
    )


def connections(lane: Lane) -> SafeString | str:
    now = utcnow()
    shares = holders(lane, now)
    if not shares:
        return ""
    rows = ((str(share.holder)[:8], share.connections, when(share.until)) for share in shares)
    return html_table(("Worker", f"Connections of {lane.concurrency}", "Unless renewed, until"), rows)


def of_domains(lane: Lane) -> SafeString | str:
    now = utcnow()
    shown = domain_standings(lane, now)
    if not shown:
        return ""
    return html_table(
        ("Domain", "State", "Limits", "Last hour", "Last 24 hours", "Held"),
        (_domain_cells(lane, each) for each in shown),
    )


def _domain_cells(lane: Lane, shown: DomainStanding) -> tuple[Any, ...]:
    row = shown.row
    state = "Open"
    if row.paused:
        state = f"Paused. {row.paused_reason}".strip()
    elif row.free_at is not None and row.free_at > utcnow():
        todo = advice(meaning(row.last_error)) if row.refused_since else ""
        state = f"Rests until {when(row.free_at)}. {row.last_error} {todo}".strip()
    held: Any = shown.held
    if shown.held:
        held = list_link(
            Delivery,
            f"{shown.held:,}",
            lane__id__exact=lane.pk,
            state__exact="held",
            domain__exact=row.domain,
        )
    hour = f"{shown.used.hour:,}" if row.per_hour is None else f"{shown.used.hour:,} of {row.per_hour:,}"
    day = f"{shown.used.day:,}" if shown.today is None else f"{shown.used.day:,} of {shown.today:,}"
    return row.domain, state, ", ".join(in_words(row, utcnow())) or "None", hour, day, held
