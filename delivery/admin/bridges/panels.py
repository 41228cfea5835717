"""Panels about bridges and SMS on the pages of feeds, newsletters and bridges."""

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.template.defaultfilters import urlize
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from channels import channel
from channels.bridge import WARNING
from channels.http.measures import SmsMeasure, sms_measure
from channels.letter import LetterError, Recipient
from channels.sms.session import callback_of
from common.admin.html import button, facts, html_table, link_to, paragraph, web_link, when
from common.clock import utcnow
from common.ports import channels
from common.refused import Refused
from common.text import pluralize
from delivery.admin.bridges.add import add_bridge_url, set_up_url
from delivery.admin.bridges.set_up import reconnect_url, refusal_words
from delivery.bridges.connect import connections_of
from delivery.bridges.messages import looks_of, newest_letters, recipient_at
from delivery.issues.sent_changes import SentChanges, changes_of
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


def how_it_texts(subscribable: Subscribable) -> SafeString | str:
    """Show a newsletter's newest messages as on a phone, with costs and caps."""
    if subscribable.channel != SMS:
        return ""
    try:
        letters = newest_letters(subscribable, now=utcnow(), count=TEXTS_SHOWN)
    except (NothingToShow, LetterError) as error:
        shown = paragraph(str(error))
    else:
        texts = [channel(SMS).compose(letter, SAMPLE_PHONE) for letter in letters]
        shown = format_html_join("", "{}", ((_bubble(text.body.text, text.refusal),) for text in texts))
    account = str(subscribable.options.get("account", ""))
    lane = lane_for(kind=SMS, core="", options=subscribable.options)
    return format_html("{}{}", shown, facts([("Sent by", account), *_caps(lane)]))


def _bubble(text: str, refusal: str) -> SafeString:
    if refusal:
        return format_html('<p class="fl-alert">{}</p>', refusal)
    return format_html(
        '<div class="fl-bubble"><p>{}</p></div><p class="fl-quiet fl-measure">{}</p>',
        urlize(text),
        measure_words(sms_measure(text)),
    )


def measure_words(measure: SmsMeasure) -> str:
    """Return a message's cost, such as “1 part of 160, 98 used”."""
    parts = f"{pluralize(measure.parts, 'part')} of {measure.room}"
    return f"{parts}, {measure.units} used"


def _caps(lane: Lane) -> list[tuple[str, Any]]:
    status = lane_status(lane, utcnow())
    used = f"{status.used.day:,} within 24 hours" if status.counts else "not counted"
    return [
        ("Its caps", format_html("{} ({})", ", ".join(in_words(lane, utcnow())) or "none", link_to(lane))),
        ("Sent lately", used),
    ]


def what_twilio_needs(account: ServiceAccount) -> SafeString | str:
    """Show an account's use, its caps, and the URLs that Twilio must know."""
    if account.kind != SMS:
        return ""
    lane = lane_for(kind=SMS, core="", options={"account": account.name})
    inbound = format_html("<code>{}/sms/{}/inbound/</code>", settings.SITE_URL, account.name)
    told = paragraph(
        "At Twilio, under your number or messaging service, set the webhook for incoming messages to this"
        " address, by POST, so that subscribers can answer STOP, START and HELP."
    )
    unreachable = "" if callback_of(account.name) else paragraph(NOWHERE.format(settings.SITE_URL))
    rows = [("Incoming messages", inbound), *_caps(lane)]
    return format_html("{}{}{}", facts(rows), told, unreachable)
