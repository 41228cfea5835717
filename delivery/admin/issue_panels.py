"""Other panels of an issue: facts, draft state, late subscribers."""

from collections import Counter
from datetime import datetime
from typing import Any

from channels.letter import Letter
from channels.placeholders import fill_header, fill_html, values_for
from common.admin.html import list_link, web_link, when
from common.parts import Facts, Link, Part, Table, Template, Text
from common.text import pluralize
from delivery.admin.bridges.panels import is_bridge
from delivery.alerts.pauses import goes_out
from delivery.bounces.domain_refusals import pause_cause
from delivery.issues.audience import audience_words, recipients_of
from delivery.issues.item_fate import SentChanges, changes_of
from delivery.issues.pause import is_paused
from delivery.issues.progress import issue_state, sent_late
from delivery.issues.publish import WAITS_AT_MOST, late_subscribers
from delivery.letters.build import issue_letter
from delivery.letters.templates import ada
from delivery.links import issue_url
from delivery.models import Broadcast, Correction, Delivery, Issue
from delivery.models.issue import LETTER_GUID
from delivery.rules.progress import told, total
from subscriptions.links import page_url
from subscriptions.models import Subscribable

ISSUE_POSTS_SHOWN = 50
ISSUE_STATE_WORDS = {
    "draft": "waits for approval",
    "waiting": "waits for a subscriber",
    "sending": "being sent",
    "sent": "sent",
    "paused": "paused",
    "cancelled": "cancelled or discarded",
    "imported": "imported",
}
TEXT_FORGOTTEN = "The text of this email was deleted. The archive still shows its posts."
ONLY_ARCHIVED = "Another program sent this issue. It’s in the archive, and is never sent from here."
NOT_COUNTED = (
    "Not tracked, by design. Email programs open and click on their own, so such figures would be wrong"
    " (docs/no-tracking.md)."
)


def letter_frame(letter: Letter) -> Template:
    """Show subject and html, filled in for a sample reader."""
    values = values_for(letter, ada())
    subject = fill_header(letter.subject, letter.placeholders, values)
    html = fill_html(letter.html, letter.placeholders, values)
    return Template("admin/letter.html", {"html": html, "subject": subject})


def sending_paused(subscribable: Subscribable) -> Part:
    """Return since when, why, and what waits; "" if not paused."""
    if subscribable.sending_paused_at is None:
        return ""
    since = when(subscribable.sending_paused_at, zone=subscribable.zone)
    said = f"Since {since}: {subscribable.sending_paused_reason}"
    waits = list_link(
        Delivery,
        "See the held emails",
        issue__subscribable__id__exact=subscribable.pk,
        state__exact=Delivery.State.HELD,
    )
    return (said, waits)


def shown_issue_state(issue: Any) -> tuple[str, str]:
    """Return the state of a row of the list, which has counts, and words for it."""
    state = issue_state(issue, issue.counts)
    if state == "cancelled":
        return state, "discarded" if issue.published_at is None else "cancelled"
    return state, "in the archive" if state == "sent" and issue.awaits_reader else ISSUE_STATE_WORDS[state]


def result_words(issue: Issue, counts: Counter[str]) -> str:
    """Return the results of a published issue, such as "115 sent, 4,890 cancelled"."""
    if issue.issue_import_id is not None:
        return "sent by another program"
    if issue.awaits_reader:
        return "in the archive, no subscribers yet"
    if not total(counts):
        return "cancelled" if issue.cancelled_at else "no subscribers yet"
    state = issue_state(issue, counts)
    said = told(state, counts)
    return f"paused: {said}" if state == "paused" else said


def draft(issue: Issue) -> Part:
    """Show a draft's time and number of recipients; "" once published."""
    if issue.published_at is not None:
        return ""
    if issue.cancelled_at is not None:
        at = when(issue.cancelled_at, zone=issue.subscribable.zone)
        said = f"Discarded on {at}, so it won’t be sent. Its posts won’t be in later issues."
        return (said, "You can restore it above.")
    if issue.awaits_reader:
        latest = when(issue.created_at + WAITS_AT_MOST, zone=issue.subscribable.zone)
        return Facts(
            ("When", "As soon as the first subscriber confirms."),
            ("Otherwise", f"It’s archived on {latest}, or when there’s a newer issue."),
            ("Sign-up page", web_link(page_url(issue.subscribable)) or "None. Only you add subscribers."),
        )
    return Facts(
        ("When", goes_out(issue)),
        ("To", f"{pluralize(recipients_of(issue).count(), 'subscriber')} now"),
        ("Paused", "The newsletter is paused. This waits until you resume it." if is_paused(issue) else ""),
    )


def describe_issue(issue: Issue) -> Part:
    written = Broadcast.objects.filter(issue=issue).first()
    is_cancelled = issue.published_at and issue.cancelled_at
    is_archived = not (written and issue.is_for_some)
    is_sent_here = issue.published_at is not None and issue.issue_import_id is None

    def at(moment: datetime | None) -> str:
        return when(moment, "", zone=issue.subscribable.zone)

    return Facts(
        ("Newsletter", Link(issue.subscribable)),
        ("Subject", issue.subject),
        ("Written by", written and (written.author or "unknown (by a command)")),
        ("For", written and audience_words(written)),
        ("In the archive", "" if is_archived else "No. Issues sent to part of the list aren’t archived."),
        ("Published", at(issue.published_at)),
        ("Paused", issue.paused_at and f"{at(issue.paused_at)}. {pause_cause(issue.paused_reason)}".strip()),
        ("Cancelled", f"{at(issue.cancelled_at)}. The rest won’t be sent." if is_cancelled else ""),
        ("In the archive", "No. Its page is hidden." if issue.is_hidden else ""),
        ("Posts settled", " to ".join(filter(None, (at(issue.period_start), at(issue.period_end))))),
        ("Imported from", issue.issue_import and Link(issue.issue_import)),
        ("In the archive", web_link(issue_url(issue)) if issue.published_at else ""),
        ("Opens and clicks", NOT_COUNTED if is_sent_here and issue.subscribable.channel == "email" else ""),
    )


def version_words(issue: Issue, version: int) -> str:
    """Return words to follow “got”; "" if there is one text."""
    if not issue.version:
        return ""
    if version == issue.version:
        return "the latest text"
    old = issue.versions.filter(version=version).first()
    until = f", until {when(old.replaced_at, zone=issue.subscribable.zone)}" if old else ""
    return f"{'the first text' if version == 0 else f'text {version + 1}'}{until}"


def late_subscribers_panel(issue: Issue) -> Part:
    """Count the late subscribers, and those sent it anyway."""
    if issue.published_at is None or issue.pruned_at is not None:
        return ""
    sent, left = sent_late(issue), late_subscribers(issue).count()
    if not sent and not left:
        return ""
    also = f"It was also sent to {pluralize(sent, 'late subscriber')}, who are counted above."
    words = f"{pluralize(left, 'subscriber')} confirmed after it was sent and didn’t get it."
    return (words, also if sent else "")


def changed_later(issue: Issue) -> Part:
    """List later corrections of a post and what was done; mostly ""."""
    corrections = list(Correction.objects.filter(issue=issue).defer("entry").order_by("number"))
    if not corrections:
        return ""
    deliveries = list(issue.deliveries.select_related("destination").order_by("pk")[:ISSUE_POSTS_SHOWN])
    changes, zone = changes_of(deliveries), issue.subscribable.zone
    said = (
        (
            "Withdrawn from its feed" if one.is_withdrawal else "Corrected in its feed",
            when(one.seen_at, zone=zone),
        )
        for one in corrections
    )
    table = Table(
        ("posted to", "what was done"),
        ((Link(row, row.destination.label), _done(row, changes.get(row.pk))) for row in deliveries),
        "It wasn’t posted anywhere.",
    )
    return (Facts(*said), table)


def _done(post: Delivery, changes: SentChanges | None) -> str:
    if changes is not None:
        return changes.words
    return "nothing so far" if post.state == Delivery.State.SENT else f"nothing: it is {post.state}"


def posts(issue: Issue) -> Part:
    if issue.within_type_id.startswith(LETTER_GUID) or issue.issue_import_id is not None:
        return ""  # broadcasts and old issues have none
    rows = issue.issue_items.select_related("item__feed").defer("entry", "item__entry").order_by("position")
    return Table(
        ("post", "feed"),
        (
            (Link(row.item), row.item.feed) if row.item else ("deleted", "")
            for row in rows[:ISSUE_POSTS_SHOWN]
        ),
        "No posts.",
    )


def letter(issue: Issue) -> Part:
    """Show the letter as it was or would be sent; "" for a bridge."""
    if is_bridge(issue.subscribable):
        return ""
    if issue.pruned_at is not None:
        page, words = issue_url(issue), TEXT_FORGOTTEN if issue.issue_import_id is None else ONLY_ARCHIVED
        return Text((f"{words} ", web_link(page, "See it there") if page else ""))
    return letter_frame(issue_letter(issue))
