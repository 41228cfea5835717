"""Delivery's additions to earlier apps' admin pages."""

from collections import defaultdict
from collections.abc import Sequence

from django.db.models import Count, QuerySet
from django.urls import reverse

from common.admin.html import brief, list_link, when
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Button, Facts, Link, Part, Table, Text, listed
from common.ports.panels import Column, Panel, add
from common.ports.registries import template_sources
from common.text import shortened
from delivery.accounts.accounts import keeps_letters
from delivery.admin.bridges import records
from delivery.admin.bridges.forms import notification_of
from delivery.admin.bridges.panels import (
    bridges_beside,
    bridges_of_feed,
    how_it_texts,
    what_it_posts,
    what_twilio_needs,
)
from delivery.admin.broadcasts.forms import letters_written
from delivery.admin.broadcasts.series import series_panel, way_of
from delivery.admin.dkim import offer as offer_mail_check
from delivery.admin.edits.panels import next_issue, next_letter, next_letter_of_newsletter, next_of_newsletter
from delivery.admin.issue_figures import of_newsletter
from delivery.admin.issue_panels import result_words, sending_paused
from delivery.admin.letter_templates.editor import letter_links
from delivery.admin.look import LOOK_FORM, TAB, USUAL_LOOK, look_preview, new_preview
from delivery.admin.old_issues import import_offer
from delivery.issues import progress
from delivery.issues.audience import readers_of
from delivery.issues.item_fate import fate_of, places_of_items
from delivery.issues.publish import waiting_for_a_reader
from delivery.issues.reach import answers_of_people, reach_of, reach_of_person, reaches_of
from delivery.models import Bounce, Delivery, Issue
from delivery.rendering.engine import letter_templates
from delivery.resources.issues import newsletters
from delivery.resources.letters import series_subscribers
from delivery.rules.posts import fate_cell
from feeds.models import Item
from subscriptions.admin_words import FIRST_ISSUE
from subscriptions.models import Destination, Subscribable, Subscription

SENT_SHOWN = 30
# In a cell, with its result below.
LONGEST_BAR_TITLE = 24
ISSUES_SHOWN = 10
BOUNCES_SHOWN = 10
SUBSCRIPTIONS_SHOWN = 50


def install() -> None:
    template_sources.append(letter_templates)
    add("feeds.Feed", Panel("Bridges", bridges_of_feed, order=22, is_shared=True))
    add(
        "feeds.Item",
        Column("fate", "newsletters", fate_cells),
        Panel("What happened", lambda item: fate_of(item, utcnow()), order=10, is_shared=True),
        Panel("Issues", item_issues, order=30, is_shared=True),
    )
    add(
        "subscriptions.Subscribable",
        Panel("Sending is paused", sending_paused, order=5),
        Panel("Waits for its first subscriber", first_issue, order=6),
        Panel("What it posts", what_it_posts, order=7),
        Panel("How it looks on a phone", how_it_texts, order=8),
        Panel("The next issue", next_of_newsletter, order=12, asks=True),
        Panel("Email", next_letter_of_newsletter, order=90, is_beside=True),
        Panel("Growth", of_newsletter, order=15, tab="subscribers"),
        Panel("Series", series_panel, order=12, tab="subscribers"),
        Panel("Emails you wrote", letters_written, order=18, tab="issues"),
        Panel("Issues", recent_issues, order=20, tab="issues"),
        Panel("Old issues", import_offer, order=22, tab="issues", asks=True),
        Panel("A notification on devices", notification_of, order=25, tab="look"),
        Panel("Bridges", bridges_beside, order=30, tab="share"),
        records.PANEL,
        records.START,
        records.STOP,
        Panel("Preview", new_preview, is_beside=True, is_new=True),
        Panel("Preview", look_preview, order=60, is_beside=True, tab=TAB, asks=True),
        Panel("Does its email arrive", offer_mail_check, order=70, tab="settings"),
        Panel("Letters", letter_links, order=95, tab=TAB),
        LOOK_FORM,
        Column("last_issue", "last issue", last_issues),
        *actions_of(newsletters),
        USUAL_LOOK,
    )
    add(
        "subscriptions.Assignable",
        Panel("Posts", next_issue, order=15, asks=True),
        Panel("Email", next_letter, order=90, is_beside=True),
    )
    add(
        "subscriptions.Subscription",
        Column(
            "reach",
            "do they get it?",
            lambda rows: {pk: reach.answer for pk, reach in reaches_of(rows, now=utcnow()).items()},
        ),
        Panel("Do they get it?", lambda row: reach_of(row, now=utcnow()).sentence, order=5),
        Panel("Mailbox", where_email_is, order=6),
        Panel("Series", way_of, order=10),
        *actions_of(series_subscribers),
        Panel("Sent emails", lambda row: sent_to(row.destination), order=20),
        Panel("Bounces", lambda row: bounces_of(row.destination.bounces.all()), order=25),
    )
    add(
        "subscriptions.Destination",
        Column("reach", "do they get it?", lambda rows: {**answers_of_people(rows, now=utcnow())}),
        Panel("Do they get it?", whether_person_reached, order=5),
        Panel("Sent emails", sent_to, order=30),
        Panel("Bounces", lambda row: bounces_of(row.bounces.all()), order=35),
    )
    add("delivery.Delivery", Panel("Bounces", lambda row: bounces_of(row.bounces.all()), order=15))
    add("delivery.ServiceAccount", Panel("Text messages", what_twilio_needs, order=20))


def fate_cells(items: Sequence[Item]) -> dict[int, Part]:
    places = places_of_items([item.pk for item in items], utcnow())
    return {pk: fate_cell(each) for pk, each in places.items()}


def item_issues(item: Item) -> Part:
    rows = item.issue_items.select_related("issue__subscribable").defer("issue__html", "issue__text", "entry")
    shown = list(rows.order_by("pk"))
    delivered = how_delivered([row.issue_id for row in shown])
    return Table(
        ("issue", "newsletter", "published", "emails"),
        (
            (
                Link(row.issue),
                row.issue.subscribable,
                when(row.issue.published_at, _not_out(row.issue), zone=row.issue.subscribable.zone),
                delivered.get(row.issue_id, "none"),
            )
            for row in shown
        ),
        "It is in no issue yet.",
    )


def how_delivered(issue_ids: list[int]) -> dict[int, str]:
    """Return "12 sent, 1 failed" per issue with deliveries. One query."""
    rows = Delivery.objects.filter(issue__in=issue_ids).order_by("issue", "state")
    words: dict[int, list[str]] = defaultdict(list)
    for issue, state, count in rows.values_list("issue", "state").annotate(n=Count("*")):
        words[issue].append(f"{count:,} {Delivery.State(state).label.lower()}")
    return {issue: ", ".join(said) for issue, said in words.items()}


def _not_out(issue: Issue) -> str:
    if issue.cancelled_at:
        return "discarded"
    return "waits for its first subscriber" if issue.awaits_reader else "waits for approval"


def recent_issues(subscribable: Subscribable) -> Part:
    rows = list(subscribable.issues.defer("html", "text").order_by("-created_at", "-pk")[:ISSUES_SHOWN])
    counts = progress.counts_of(row.pk for row in rows)
    shown = []
    for row in rows:
        row.subscribable = subscribable  # saves a query each
        said = result_words(row, counts[row.pk]) if row.published_at else ""
        shown.append((Link(row), when(row.published_at, _not_out(row), zone=subscribable.zone), said))
    return Table(
        ("issue", "published", "emails"),
        shown,
        "No issue has been sent yet. “Next issue” says when the first one is.",
    )


def last_issues(newsletters: Sequence[Subscribable]) -> dict[int, Part]:
    """Return each newsletter's last issue and result, "115 sent, 2 failed". Two queries in total."""
    rows = {row.subscribable_id: row for row in progress.newest_of_each(row.pk for row in newsletters)}
    counts = progress.counts_of(row.pk for row in rows.values())
    shown: dict[int, Part] = {each.pk: "none yet" for each in newsletters}
    for each in newsletters:
        if (row := rows.get(each.pk)) is not None:
            row.subscribable = each  # saves a query each
            said = result_words(row, counts[row.pk])
            note = Text(f"{brief(row.published_at)}: {said}", "note")
            shown[each.pk] = Text((Link(row, shortened(str(row), LONGEST_BAR_TITLE)), note), "last-issue")
    return shown


def first_issue(subscribable: Subscribable) -> Part:
    """Show what the first reader will get; "" once there is one."""
    if not subscribable.awaits_first_reader:
        return ""
    waiting = waiting_for_a_reader().filter(subscribable=subscribable).first()
    if waiting is None:
        return "" if readers_of(subscribable.pk).exists() else FIRST_ISSUE
    return (FIRST_ISSUE, Facts(("The newest now", Link(waiting))))


def whether_person_reached(destination: Destination) -> Part:
    """Show one sentence if it applies to all newsletters, else one each."""
    now = utcnow()
    if (found := reach_of_person(destination, now=now)) is not None:
        return found.sentence
    every = destination.subscriptions.select_related("subscribable", "destination")
    rows = list(every.order_by("pk")[:SUBSCRIPTIONS_SHOWN])
    if not rows:
        return "Gets nothing: subscribed to nothing. Use “Add a subscriber” to add them to a newsletter."
    reaches = reaches_of(rows, now=now)
    if len(rows) == 1:
        return reaches[rows[0].pk].sentence
    return Facts(*((Link(row, row.subscribable), reaches[row.pk].sentence) for row in rows))


def where_email_is(subscription: Subscription) -> Part:
    """Link to the mailbox; "" if email is really sent."""
    if subscription.subscribable.channel != "email" or not keeps_letters():
        return ""
    said = "Email isn’t sent yet. It’s kept in a mailbox on this server."
    return (said, Button(reverse("delivery:mailbox"), "Open the mailbox"))


def sent_to(destination: Destination) -> Part:
    """Count an address's deliveries by state, and list the newest, of all newsletters."""
    every = Delivery.objects.filter(destination=destination)
    related = every.order_by("-pk").select_related("issue__subscribable", "subscription__subscribable")
    rows = list(related.defer("issue__html", "issue__text")[: SENT_SHOWN + 1])
    shown = []
    for row in rows[:SENT_SHOWN]:
        about: Issue | Subscription | None = row.issue or row.subscription
        what = Link(row, row.issue or row.get_kind_display())
        newsletter = about.subscribable if about else "–"
        state = row.get_state_display().lower()
        shown.append((what, newsletter, state, when(row.sent_at), row.last_error))
    if len(rows) > SENT_SHOWN:
        more = list_link(Delivery, "Older ones", destination__id__exact=destination.pk)
        shown.append((more, "", "", "", ""))
    # "12 sent, 1 failed", with links.
    counts = every.order_by("state").values_list("state")
    links = [
        list_link(
            Delivery,
            f"{count:,} {Delivery.State(state).label.lower()}",
            destination__id__exact=destination.pk,
            state__exact=state,
        )
        for state, count in counts.annotate(n=Count("pk"))
    ]
    head = ("what", "newsletter", "state", "sent", "server’s answer")
    return (Text(listed(links)) if links else "", Table(head, shown, "Nothing was sent yet."))


def bounces_of(rows: "QuerySet[Bounce]") -> Part:
    shown = (
        (Link(row, row.get_kind_display()), when(row.at), row.diagnostic, row.effect)
        for row in rows.order_by("-at", "-pk")[:BOUNCES_SHOWN]
    )
    return Table(("what", "when", "server’s answer", "result"), shown, "")
