"""Panels about bridges and SMS on the pages of feeds, newsletters and bridges."""

from django.conf import settings
from django.db.models import QuerySet
from django.template.defaultfilters import urlize

from channels import channel
from channels.bridge import WARNING
from channels.http.links import sms_measure
from channels.letter import LetterError, Recipient
from channels.sms.channel import callback_of
from common.admin.html import web_link, when
from common.clock import utcnow
from common.parts import Box, Button, Code, Dot, Facts, Link, Part, Table, Template, Text
from common.ports import channels
from common.refused import Refused
from common.text import pluralize
from delivery.admin.bridges.add import add_bridge_url, set_up_url
from delivery.admin.bridges.set_up import disabled_words, reconnect_url, refusal_words
from delivery.bridges.connect import connections_of
from delivery.bridges.messages import looks_of, newest_letters, recipient_at
from delivery.issues.item_fate import SentChanges, changes_of
from delivery.lanes.lanes import has_own_credentials, in_words, lane_for, lane_status
from delivery.letters.build import issue_letter
from delivery.letters.samples import NothingToShow
from delivery.models import Delivery, Issue, Lane, ServiceAccount
from feeds.models import Feed
from subscriptions.models import Subscribable, Subscription

POSTS_SHOWN = 10
BRIDGES_SHOWN = 20
AS_OF_NOW = "Shown with the bridge’s present settings. Posts made with earlier settings haven’t changed."
ELSEWHERE = "Its posts can be published on Mastodon, in a chat or on a phone too."
SMS = "sms"
# Fictional number reserved by Ofcom.
SAMPLE_PHONE = Recipient(delivery_id=0, core="+447700900123", label="+44 7700 900123")
TEXTS_SHOWN = 2
NOWHERE = "Twilio cannot reach this site at {}. Set SITE_URL to get delivery reports and STOP replies."


def is_bridge(subscribable: Subscribable) -> bool:
    return not channels.get(subscribable.channel).public_sign_up


def bridges_of_feed(feed: Feed) -> Part:
    if feed.dropping:
        return ""
    return _listed(feed.subscribables.all(), add_bridge_url(feed=feed.pk))


def bridges_beside(subscribable: Subscribable) -> Part:
    """List the bridges of a newsletter's feeds; "" for a bridge."""
    if is_bridge(subscribable):
        return ""
    rows = Subscribable.objects.filter(feeds__in=subscribable.feeds.all()).distinct()
    return _listed(rows, add_bridge_url(newsletter=subscribable.pk))


def _listed(rows: "QuerySet[Subscribable]", add_url: str) -> Part:
    """List the oldest: a feed that a bot offers to servers has thousands."""
    bridges = rows.filter(channel__in=[kind.key for kind in channels.bridge_kinds()]).order_by("pk")
    more = bridges.count() - BRIDGES_SHOWN
    shown = ((Link(row), channels.get(row.channel).label) for row in bridges[:BRIDGES_SHOWN])
    others = f"And {pluralize(more, 'other')}." if more > 0 else ""
    return (
        Table(("bridge", "service"), shown, ELSEWHERE),
        others,
        Button(add_url, "Add a bridge", is_plain=True),
    )


def what_it_posts(subscribable: Subscribable) -> Part:
    if not is_bridge(subscribable):
        return ""
    connections = connections_of(subscribable)
    said = "It posts nothing until you start it." if subscribable.stopped else ""
    if not connections:
        said = "It posts nowhere yet. Add an account under “Subscribers”."
    way = Button(set_up_url(subscribable), "Preview and test")
    return (said, *map(_standing, connections), _last_posts(subscribable), way)


def _standing(subscription: Subscription) -> Part:
    to = subscription.destination
    again = Button(reconnect_url(subscription), "Connect again", is_plain=True)
    if refusal := refusal_words(to):
        return Text((f"{refusal} ", again if has_own_credentials(to) else ""), "alert")
    if not (why := disabled_words(to)):
        warning = to.config.get(WARNING, "")
        return (Text((Dot("good"), to.label)), Text(warning, "alert") if warning else "")
    return Text((f"Nothing is posted to {to.label} since {when(to.disabled_at)}: {why} ", again), "alert")


def what_was_posted(issue: Issue) -> Part:
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
    changes = changes_of(posted)
    return (
        Template("admin/delivery/bridge_looks.html", context),
        *(Text((f"{row.destination.label}: ", _how(row, changes.get(row.pk)))) for row in posted),
        AS_OF_NOW if issue.published_at is not None else "",
    )


def _last_posts(bridge: Subscribable) -> Part:
    every = Delivery.objects.filter(subscription__subscribable=bridge).exclude(kind__in=Delivery.CHANGES)
    related = every.select_related("issue", "destination", "remote_post").order_by("-pk")
    rows = list(related.defer("issue__html", "issue__text", "context")[:POSTS_SHOWN])
    changes = changes_of(rows)
    return Table(
        ("post", "when", "how it went"),
        (
            (
                Link(row, row.issue.title if row.issue else "Test post"),
                when(row.sent_at or row.created_at),
                _how(row, changes.get(row.pk)),
            )
            for row in rows
        ),
        "Nothing has been posted yet.",
    )


def _how(row: Delivery, changes: SentChanges | None) -> Part:
    """Return the state, with the link and later changes, or the service's error."""
    said = changes.words if changes else ""
    if changes and changes.is_gone:
        return said
    if row.state != Delivery.State.SENT:
        state = row.get_state_display().lower()
        return f"{state}: {row.last_error}" if row.last_error else state
    remote = getattr(row, "remote_post", None)
    there = web_link(remote.url, "See it there") if remote and remote.url else "posted"
    return (there, f"; {said}") if said else there


def how_it_texts(subscribable: Subscribable) -> Part:
    """Show a newsletter's newest messages as on a phone, with costs and caps."""
    if subscribable.channel != SMS:
        return ""
    try:
        letters = newest_letters(subscribable, now=utcnow(), count=TEXTS_SHOWN)
    except (NothingToShow, LetterError) as error:
        shown: Part = str(error)
    else:
        texts = [channel(SMS).compose(letter, SAMPLE_PHONE) for letter in letters]
        shown = tuple(_bubble(text.body.text, text.refusal) for text in texts)
    account = str(subscribable.options.get("account", ""))
    lane = lane_for(kind=SMS, core="", options=subscribable.options)
    return (shown, Facts(("Sent by", account), *_caps(lane)))


def _bubble(text: str, refusal: str) -> Part:
    if refusal:
        return Text(refusal, "alert")
    parts, units, room = sms_measure(text)
    # Such as “1 part of 160, 98 used”.
    cost = f"{pluralize(parts, 'part')} of {room}, {units} used"
    return (Box("bubble", Text(urlize(text, autoescape=True))), Text(cost, "quiet fl-measure"))


def _caps(lane: Lane) -> tuple[tuple[str, Part], ...]:
    status = lane_status(lane, utcnow())
    used = f"{status.used.day:,} within 24 hours" if status.counts else "not counted"
    caps = ", ".join(in_words(lane, utcnow())) or "none"
    return (("Its caps", (f"{caps} (", Link(lane), ")")), ("Sent lately", used))


def what_twilio_needs(account: ServiceAccount) -> Part:
    """Show an account's use, its caps, and the URLs that Twilio must know."""
    if account.kind != SMS:
        return ""
    lane = lane_for(kind=SMS, core="", options={"account": account.name})
    inbound = Code(f"{settings.SITE_URL}/sms/{account.name}/inbound/")
    return (
        Facts(("Incoming messages", inbound), *_caps(lane)),
        "At Twilio, under your number or messaging service, set the webhook for incoming messages to this"
        " address, by POST, so that subscribers can answer STOP, START and HELP.",
        "" if callback_of(account.name) else NOWHERE.format(settings.SITE_URL),
    )
