"""Panels about bridges on the pages of feeds, newsletters and bridges."""

from typing import Any

from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from channels.bridge import WARNING
from channels.letter import LetterError
from common.admin.html import button, html_table, link_to, paragraph, web_link, when
from common.ports import channels
from common.refused import Refused
from common.text import pluralize
from delivery.admin.bridges.add import add_bridge_url, set_up_url
from delivery.admin.bridges.set_up import reconnect_url, refusal_words
from delivery.bridges.connect import connections_of
from delivery.bridges.messages import looks_of, recipient_at
from delivery.issues.sent_changes import SentChanges, changes_of
from delivery.lanes.lanes import has_own_credentials
from delivery.letters.build import issue_letter
from delivery.models import Delivery, Issue
from feeds.models import Feed
from subscriptions.models import Subscribable, Subscription

POSTS_SHOWN = 10
BRIDGES_SHOWN = 20
AS_OF_NOW = "Shown with the bridge’s present settings. Posts made with earlier settings haven’t changed."
ELSEWHERE = "Its posts can be published on Mastodon, in a chat or on a phone too."


def is_bridge(subscribable: Subscribable) -> bool:
    return not channels.get(subscribable.channel).public_sign_up


def bridges_of_feed(feed: Feed) -> SafeString | str:
    if feed.dropping:
        return ""
    return _listed(feed.subscribables.all(), add_bridge_url(feed=feed.pk))


def bridges_beside(subscribable: Subscribable) -> SafeString | str:
    """List the bridges of a newsletter's feeds; "" for a bridge."""
    if is_bridge(subscribable):
        return ""
    rows = Subscribable.objects.filter(feeds__in=subscribable.feeds.all()).distinct()
    return _listed(rows, add_bridge_url(newsletter=subscribable.pk))


def _listed(rows: "QuerySet[Subscribable]", add_url: str) -> SafeString:
    """List the oldest: a feed that a bot offers to servers has thousands."""
    bridges = rows.filter(channel__in=[kind.key for kind in channels.bridge_kinds()]).order_by("pk")
    more = bridges.count() - BRIDGES_SHOWN
    table = html_table(
        ("bridge", "service"),
        ((link_to(row), channels.get(row.channel).label) for row in bridges[:BRIDGES_SHOWN]),
        ELSEWHERE,
    )
    others = paragraph(f"And {pluralize(more, 'other')}.") if more > 0 else ""
    link = '<a class="fl-button fl-button-plain" href="{}">Add a bridge</a>'
    return format_html(f"{{}}{{}}<p>{link}</p>", table, others, add_url)


def what_it_posts(subscribable: Subscribable) -> SafeString | str:
    if not is_bridge(subscribable):
        return ""
    connections = connections_of(subscribable)
    said = format_html_join("", "{}", ((_standing(each),) for each in connections))
    if not connections:
        said = paragraph("It posts nowhere yet. Add an account under “Subscribers”.")
    elif subscribable.stopped:
        said = format_html("{}{}", paragraph("It posts nothing until you start it."), said)
    way = button(set_up_url(subscribable), "Preview and test")
    return format_html("{}{}<p>{}</p>", said, _last_posts(subscribable), way)


def _standing(subscription: Subscription) -> SafeString:
    to = subscription.destination
    again = format_html('<a class="fl-link" href="{}">Connect again</a>', reconnect_url(subscription))
    if refusal := refusal_words(to):
        return format_html('<p class="fl-alert">{} {}</p>', refusal, again if has_own_credentials(to) else "")
    if not to.disabled_at:
        good = format_html('<p><span class="fl-dot fl-dot-good" aria-hidden="true"></span>{}</p>', to.label)
        warning = to.config.get(WARNING, "")
        return format_html('{}<p class="fl-alert">{}</p>', good, warning) if warning else good
    return format_html(
        '<p class="fl-alert">Nothing is posted to {} since {}: {} {}</p>',
        to.label,
        when(to.disabled_at),
        to.disabled_reason or "The service refused it.",
        again,
    )


def what_was_posted(issue: Issue) -> SafeString | str:
    """Show the post of a bridge's issue, composed again from stored data."""
    bridge = issue.subscribable
    if not is_bridge(bridge):
        return ""
    rows = Delivery.objects.filter(issue=issue).select_related("destination", "remote_post").order_by("pk")
    posted = list(rows[:POSTS_SHOWN])
    to = posted[0].destination if posted else next((one.destination for one in connections_of(bridge)), None)
    if to is None:
        return "It posts nowhere yet."
    try:
        looks = looks_of(issue_letter(issue), recipient_at(to), kind=bridge.channel)
    except (LetterError, Refused) as error:
        return str(error)
    context = {"each": looks, "kind": channels.get(bridge.channel)}
    shown = render_to_string("admin/delivery/bridge_looks.html", context)
    changes = changes_of(posted)
    each = ((row.destination.label, _how(row, changes.get(row.pk))) for row in posted)
    states = format_html_join("", "<p>{}: {}</p>", each)
    told = paragraph(AS_OF_NOW) if issue.published_at is not None else ""
    return format_html("{}{}{}", shown, states, told)


def _last_posts(bridge: Subscribable) -> SafeString:
    every = Delivery.objects.filter(subscription__subscribable=bridge).exclude(kind__in=Delivery.CHANGES)
    related = every.select_related("issue", "destination", "remote_post").order_by("-pk")
    rows = list(related.defer("issue__html", "issue__text", "context")[:POSTS_SHOWN])
    changes = changes_of(rows)
    return html_table(
        ("post", "when", "how it went"),
        (
            (
                link_to(row, row.issue.title if row.issue else "Test post"),
                when(row.sent_at or row.created_at),
                _how(row, changes.get(row.pk)),
            )
            for row in rows
        ),
        "Nothing has been posted yet.",
    )


def _how(row: Delivery, changes: SentChanges | None) -> Any:
    """Return the state, with the link and later changes, or the service's error."""
    said = changes.words if changes else ""
    if changes and changes.is_gone:
        return said
    if row.state != Delivery.State.SENT:
        state = row.get_state_display().lower()
        return f"{state}: {row.last_error}" if row.last_error else state
    remote = getattr(row, "remote_post", None)
    there = web_link(remote.url, "See it there") if remote and remote.url else "posted"
    return format_html("{}; {}", there, said) if said else there
