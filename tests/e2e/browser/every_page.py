"""Every page that a reader or an admin may open, with data on it."""

from collections.abc import Iterator

from django.contrib import admin
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from common.clock import utcnow
from delivery.accounts.dkim_keys import make_key
from delivery.models import MailboxMessage
from feedletter_site.models import Arrival, ArrivalLine
from reader.people.invitations import invite
from reader.people.readers import add_reader
from subscriptions import links
from subscriptions.models import Notice, Subscribable, Subscription
from subscriptions.subscribers.address_change import ask_for_change
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from subscriptions.subscribers.tags import tag_people
from tests.delivery.collecting import a_newsletter, collect, open_collection
from tests.factories import (
    NOW,
    AttemptFactory,
    BounceFactory,
    BridgeFactory,
    BroadcastFactory,
    DeliveryFactory,
    DestinationFactory,
    FeedFactory,
    ItemFactory,
    MailboxMessageFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
    an_issue,
)

LONG = "Donaudampfschifffahrtsgesellschaft und Gesundheitsverträglichkeitsprüfung, wöchentlich"
ADDRESS = "ada.lovelace.of.the.analytical.engine@mail.example.org"
# URLs that are no pages: files, fragments, and form targets.
NO_PAGES = {
    "autocomplete",
    "jsi18n",
    "login",
    "logout",
    "search",
    "view_on_site",
    "admin_sign_in",
    "admin_password_change",
    "bridge_connected",
    "delivery_issue_edit",
    "delivery_issue_letter",
    "delivery_issue_progress",
    "delivery_issueimport_progress",
    "delivery_issueimport_report",
    "delivery_look_show",
    "delivery_new_show",
    "delivery_next_issue_edit",
    "delivery_settling_edit",
    "delivery_broadcast_keep",
    "delivery_broadcast_picture",
    "delivery_broadcast_show",
    "delivery_lettertemplate_show",
    "feeds_feed_export_opml",
    "feeds_feed_opml_look",
    "feeds_feed_opml_run",
    "feedletter_site_arrival_progress",
    "feedletter_site_arrival_report",
    "subscriptions_destination_data",
    "subscriptions_listimport_progress",
    "subscriptions_listimport_refused",
    "subscriptions_subscription_export_list",
}
# Admin pages that belong to no model.
OUR_PAGES = (
    "admin_settings",
    "discord_set_up",
    "first_steps",
    "mail_check",
    "mail_set_up",
    "add_bridge",
    "bridge_set_up",
    "bridge_reconnect",
    "your_account",
)
GIVEN = {
    "newsletter": "harbour",
    "bridge": "harbour-bridge",
    "folder": "issues",
    "template": "post",
    "app_label": "delivery",
}


def fill() -> None:
    """Create rows for every list that a person sees, with long names and addresses."""
    FeedFactory(failures=2, last_error="The server answered with an error (HTTP 500).", title=LONG)
    for state in ("unassigned", "excluded", "cleared"):
        ItemFactory(state=state, title=f"{LONG} {state}")
    newsletter = a_newsletter(title=LONG, name="harbour", description=f"{LONG}. {LONG}.")
    collect(newsletter, 3)
    open_collection(newsletter)
    reader = SubscriptionFactory(
        subscribable=newsletter, destination__core=ADDRESS, destination__label=ADDRESS, display_name="Ada"
    )
    tag_people(destinations=[reader.destination_id], names=["Engine", "London"])
    issue = an_issue(subscribable=newsletter, title=f"{LONG}, and 2 more")
    AttemptFactory(delivery=DeliveryFactory(issue=issue, state="failed", last_error="550 5.1.1 No such user"))
    MailboxMessageFactory(subject=LONG, recipient=ADDRESS)
    BounceFactory(delivery__subscription=reader, delivery__issue=issue, held=True)
    SuppressionFactory()
    UnconfirmedFactory(subscribable=newsletter)
    BroadcastFactory(subscribable=newsletter, subject=LONG)
    bridge = BridgeFactory(feeds=newsletter.feeds.all(), title=f"{LONG} on Mastodon", name="harbour-bridge")
    account = DestinationFactory(
        kind="mastodon", core="bot@m.example", label="bot at m.example", disabled_at=NOW, disabled_reason=LONG
    )
    SubscriptionFactory(subscribable=bridge, destination=account)
    make_key(domain="example.org", algorithm="ed25519", now=NOW)
    add_reader(name="countess-of-the-analytical-engine", email=ADDRESS, now=NOW)
    invite(name="The Countess of the Analytical Engine", now=NOW)
    arrive()


def arrive() -> None:
    """Create an import from another program that waits for a decision."""
    notes = [f"{LONG}.", "Posts look as they did: the style is compact."]
    row = Arrival.objects.create(
        source="cordfeeder", file_name="feeds-of-the-analytical-engine.db", state="looked", parts=9, done=9,
        size=2_400_000, by="ada", notes=notes, is_read=True, created_at=NOW,
    )  # fmt: skip
    address = "https://blog.example.org/a-very-long-path/that-nobody-types/feeds/atom.xml"
    for what, kind, name, words in (
        ("not taken", "server's feed", f"server 1200000000000000001, feed 7: {LONG}", "Its address is none."),
        ("not read", "feed", address, "The server answered with an error (HTTP 500)."),
        ("new", "post", LONG, f"of {address}"),
        ("asks first", "post", LONG, f"of {address}: a person decides first"),
        ("changed", "posts", "server 7, feed 9: Bees", "1 post that another server got will not come here"),
        ("taken", "feed", address, "2 servers. 300 posts that it had sent are marked."),
    ):
        ArrivalLine.objects.create(arrival=row, what=what, kind=kind, name=name, words=words)


def admin_pages() -> Iterator[tuple[str, str]]:
    """Yield (name, URL) for each admin page that has rows."""
    for name, keys in _patterns(get_resolver().url_patterns, ""):
        if name in NO_PAGES:
            continue
        models = [model for model in admin.site._registry if name.startswith(_base(model) + "_")]
        row = models[0]._default_manager.order_by("pk").first() if models else None
        given = {key: GIVEN.get(key, row.pk if row is not None else None) for key in keys}
        if None in given.values():
            continue
        space = "" if name in OUR_PAGES else "admin:"
        address = reverse(space + name, kwargs=given)
        yield name, address
        if name == "delivery_issue_change":
            yield f"{name}-edit", f"{address}?edit"
        if row is not None and name.endswith("_change"):
            for tab in getattr(admin.site._registry[models[0]], "tabs", ())[1:]:
                yield f"{name}-{tab.name}", f"{address}?tab={tab.name}"


def _base(model: type) -> str:
    meta = model._meta  # type: ignore[attr-defined]
    return f"{meta.app_label}_{meta.model_name}"


def _patterns(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, list[str]]]:
    for each in patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _patterns(each.url_patterns, route)
        elif route.startswith("admin/") and each.name:
            yield each.name, list(each.pattern.regex.groupindex)


def reader_pages() -> Iterator[tuple[str, str]]:
    """Yield (name, URL) for each page that opens without signing in."""
    newsletter = Subscribable.objects.get(name="harbour")
    reader = Subscription.objects.get(destination__core=ADDRESS)
    unconfirmed = Subscription.objects.get(status="unconfirmed", subscribable=newsletter)
    yield "newsletters", "/"
    yield "newsletter", "/s/harbour/"
    yield "embed", "/s/harbour/embed/"
    yield "archive", "/s/harbour/archive/"
    yield "archive-search", "/s/harbour/archive/?q=nothing"
    yield "issue", f"/s/harbour/archive/{newsletter.issues.get().pk}/"
    yield "asked", "/check-your-mail/"
    yield "sign-in", "/sign-in/"
    yield "not-found", "/s/nobody/"
    yield "bad-link", "/manage/none/"
    yield "manage", links.manage_url(reader)
    yield "leave", links.unsubscribe_url(reader)
    yield "confirm", links.confirm_url(unconfirmed, now=utcnow())
    now = utcnow()
    ask_for_change(reader=reader.destination, email="ada.new@example.org", ip="192.0.2.1", now=now)
    yield "new-address", Notice.objects.latest("pk").context["change_url"]


def mailbox_pages() -> Iterator[tuple[str, str]]:
    kept = MailboxMessage.objects.get()
    # Of the same issue, so that it has a list.
    MailboxMessageFactory(
        subject=LONG, recipient="bo@example.org", delivery__issue=kept.delivery.issue, stored_at=utcnow()
    )
    yield "mailbox", "/mailbox/"
    yield "mailbox-search", f"/mailbox/?q={LONG}"
    yield "mailbox-nothing", f"/mailbox/?q={ADDRESS}-of-nobody"
    yield "mailbox-issue", f"/mailbox/issue/{kept.delivery.issue_id}/"
    yield "mailbox-email", f"/mailbox/{kept.pk}/"


def signed_in_pages() -> Iterator[tuple[str, str]]:
    for name in ("mine", "mine_data", "mine_leave", "mine_erase", "mine_address"):
        yield name, reverse(f"subscriptions:{name}")


def sign_in_url() -> str:
    """Return a link that signs in the reader."""
    reader = Subscription.objects.get(destination__core=ADDRESS).destination
    ask_for_link(email=reader.core, ip="192.0.2.2", now=utcnow())
    mail_links(now=utcnow())
    return str(Notice.objects.filter(kind="sign_in").latest("pk").context["sign_in_url"])
