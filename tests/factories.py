"""Rows for tests: `IssueFactory()` creates all that an issue needs. Times are aware, near `NOW`."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import factory as factory_boy
from factory.django import DjangoModelFactory

from delivery.models import Attempt, Bounce, Broadcast, Delivery, Issue, IssueItem, Lane, MailboxMessage
from feeds.addresses import host_of_url
from feeds.models import Feed, FeedDocument, Item, Poll
from feeds.parsing.entry import Entry
from subscriptions.models import (
    Assignable,
    Assignment,
    Destination,
    Notice,
    Subscribable,
    Subscription,
    Suppression,
)

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)

# factory-boy's own annotations describe declarations, not the rows.
factory: Any = factory_boy
AnyFactory: Any = DjangoModelFactory


class Factory(AnyFactory):  # type: ignore[misc]
    """Base of all factories; to mypy its rows are Any."""

    class Meta:
        abstract = True


def an_entry(number: int = 1, **changes: Any) -> Entry:
    """Return a complete, clean entry; `changes` are fields of Entry."""
    facts: dict[str, Any] = {
        "guid": f"https://blog.example/posts/{number}",
        "title": f"Post {number}",
        "link": f"https://blog.example/posts/{number}",
        "authors": ("Ada Lovelace",),
        "content": f"<p>The text of post {number}.</p>",
        "published": NOW - timedelta(hours=1),
    }
    return Entry(**{**facts, **changes})


def guid_hash(guid: str) -> str:
    return hashlib.sha256(guid.encode()).hexdigest()


class FeedFactory(Factory):
    class Meta:
        model = Feed

    url = factory.Sequence(lambda n: f"https://blog.example/{n}/feed.xml")
    host = factory.LazyAttribute(lambda feed: host_of_url(feed.url))
    title = factory.Sequence(lambda n: f"Blog {n}")
    site_url = "https://blog.example/"
    added_at = NOW - timedelta(days=1)
    next_poll_at = NOW


class FeedDocumentFactory(Factory):
    class Meta:
        model = FeedDocument

    feed = factory.SubFactory(FeedFactory)
    body = b""
    sha256 = hashlib.sha256(b"").hexdigest()
    order = b""
    fetched_at = NOW


class PollFactory(Factory):
    """A reading that found nothing new."""

    class Meta:
        model = Poll

    feed = factory.SubFactory(FeedFactory)
    at = NOW
    outcome = "unchanged"
    status = 304
    duration_ms = 12
    next_poll_at = factory.LazyAttribute(lambda o: o.at + timedelta(minutes=10))
    next_poll_why = "interval"


class ItemFactory(Factory):
    """Unassigned and not final; items in states cleared and excluded have no entry."""

    class Meta:
        model = Item
        exclude = ("number",)

    number = factory.Sequence(lambda n: n + 1)
    feed = factory.SubFactory(FeedFactory)
    guid = factory.LazyAttribute(lambda o: f"https://blog.example/posts/{o.number}")
    guid_hash = factory.LazyAttribute(lambda o: guid_hash(o.guid))
    link = factory.LazyAttribute(lambda o: f"https://blog.example/posts/{o.number}")
    title = factory.LazyAttribute(lambda o: f"Post {o.number}")
    published_at = NOW - timedelta(hours=1)
    first_seen = NOW - timedelta(hours=1)
    stable_since = NOW - timedelta(hours=1)
    last_checked = NOW
    content_hash = "v1:test"
    entry = factory.LazyAttribute(
        lambda o: (
            None
            if getattr(o, "state", "unassigned") in ("cleared", "excluded")
            else an_entry(o.number, guid=o.guid, link=o.link, title=o.title).to_json()
        )
    )


class FinalItemFactory(ItemFactory):
    final_at = NOW


class SubscribableFactory(Factory):
    """A public newsletter of each post; `feeds=[…]` or `feeds=2` attach feeds, otherwise it has one."""

    class Meta:
        model = Subscribable
        skip_postgeneration_save = True

    name = factory.Sequence(lambda n: f"letter-{n}")
    title = factory.Sequence(lambda n: f"Letter {n}")
    description = "Words about machines."
    from_email = "Letters <letters@sender.example>"

    @factory.post_generation
    def feeds(self, create: bool, extracted: Any, **kwargs: Any) -> None:
        if not create:
            return
        chosen = FeedFactory.create_batch(extracted) if isinstance(extracted, int) else extracted
        self.feeds.set([FeedFactory()] if chosen is None else chosen)


class DailyFactory(SubscribableFactory):
    arrangement = "daily"


class EveryNFactory(SubscribableFactory):
    arrangement = "every_n"
    n = 3


class BridgeFactory(SubscribableFactory):
    channel = "mastodon"
    sign_up = "closed"


class DestinationFactory(Factory):
    class Meta:
        model = Destination

    kind = "email"
    core = factory.Sequence(lambda n: f"reader{n}@example.org")
    label = factory.LazyAttribute(lambda o: o.core)
    added_at = NOW


class SuppressionFactory(Factory):
    class Meta:
        model = Suppression

    core = factory.Sequence(lambda n: f"suppressed{n}@example.org")


class SubscriptionFactory(Factory):
    """Confirmed; UnconfirmedFactory for unconfirmed ones."""

    class Meta:
        model = Subscription

    subscribable = factory.SubFactory(SubscribableFactory)
    destination = factory.SubFactory(DestinationFactory)
    display_name = factory.Sequence(lambda n: f"Reader {n}")
    status = "confirmed"
    added_at = NOW - timedelta(days=1)
    confirmed_at: Any = NOW - timedelta(days=1)


class UnconfirmedFactory(SubscriptionFactory):
    display_name = ""
    asked_name = "Ada"
    status = "unconfirmed"
    confirmed_at = None
    confirm_nonce = factory.Sequence(lambda n: f"nonce{n}")


class LeftFactory(SubscriptionFactory):
    status = "unsubscribed"
    left_at = NOW - timedelta(hours=1)


class AssignableFactory(Factory):
    class Meta:
        model = Assignable

    subscribable = factory.SubFactory(SubscribableFactory)
    within_type_id = factory.Sequence(lambda n: str(n + 1))
    opened_at = NOW - timedelta(hours=1)
    next_try_at = NOW - timedelta(hours=1)


class AssignmentFactory(Factory):
    class Meta:
        model = Assignment

    assignable = factory.SubFactory(AssignableFactory)
    item = factory.SubFactory(FinalItemFactory, state="assigned")
    assigned_at = NOW


class NoticeFactory(Factory):
    class Meta:
        model = Notice

    kind = "confirmation"
    key = factory.Sequence(lambda n: f"notice-{n}")
    subscription = factory.SubFactory(UnconfirmedFactory)
    destination = factory.LazyAttribute(lambda o: o.subscription.destination)
    template = "confirmation"
    created_at = NOW


class LaneFactory(Factory):
    class Meta:
        model = Lane
        django_get_or_create = ("kind", "account")

    kind = "email"
    account = "default"


class IssueFactory(Factory):
    """Published, without items; `an_issue` for one with posts."""

    class Meta:
        model = Issue

    subscribable = factory.SubFactory(SubscribableFactory)
    within_type_id = factory.Sequence(lambda n: str(n + 1))
    token = factory.Sequence(lambda n: f"{n:032x}")
    title = factory.Sequence(lambda n: f"Issue {n}")
    subject = factory.LazyAttribute(lambda o: o.title)
    html = "<p>The letter.</p>"
    text = "The letter.\n"
    created_at = NOW
    published_at = NOW


class BroadcastFactory(Factory):
    """A draft with a subject and a text."""

    class Meta:
        model = Broadcast

    subscribable = factory.SubFactory(SubscribableFactory)
    subject = factory.Sequence(lambda n: f"A word from us {n}")
    markdown = "Hello **all**.\n\n![A cat](https://blog.example/cat.png)\n"
    created_at = NOW
    changed_at = NOW


class IssueItemFactory(Factory):
    class Meta:
        model = IssueItem

    issue = factory.SubFactory(IssueFactory)
    position = factory.Sequence(lambda n: n)
    item = factory.SubFactory(ItemFactory, state="cleared")
    entry = factory.LazyAttribute(
        lambda o: an_entry(guid=o.item.guid, link=o.item.link, title=o.item.title).to_json()
    )


def an_issue(*, posts: int = 2, **facts: Any) -> Issue:
    """Return a published issue with that many posts."""
    issue = IssueFactory(**facts)
    for position in range(posts):
        IssueItemFactory(issue=issue, position=position)
    return issue


class DeliveryFactory(Factory):
    """Of an issue, queued and due. With another `kind=`, key and template replace the issue."""

    class Meta:
        model = Delivery

    kind = "issue"
    issue = factory.Maybe(
        factory.LazyAttribute(lambda o: o.kind == "issue"), factory.SubFactory(IssueFactory), None
    )
    subscription = factory.Maybe(
        factory.LazyAttribute(lambda o: o.kind == "issue"),
        factory.SubFactory(SubscriptionFactory, subscribable=factory.SelfAttribute("..issue.subscribable")),
        factory.SubFactory(SubscriptionFactory),
    )
    destination = factory.LazyAttribute(
        lambda o: o.subscription.destination if o.subscription else DestinationFactory()
    )
    key = factory.Maybe(
        factory.LazyAttribute(lambda o: o.kind == "issue"), "", factory.Sequence(lambda n: f"key-{n}")
    )
    template = factory.LazyAttribute(lambda o: "" if o.kind == "issue" else o.kind)
    lane = factory.SubFactory(LaneFactory)
    domain = "example.org"
    created_at = NOW
    due_at = NOW


class AttemptFactory(Factory):
    class Meta:
        model = Attempt

    delivery = factory.SubFactory(DeliveryFactory)
    at = NOW
    outcome = "temporary"
    text = "451 4.3.0 Try again later"


class BounceFactory(Factory):
    class Meta:
        model = Bounce

    delivery = factory.SubFactory(DeliveryFactory, state="sent", sent_at=NOW)
    destination = factory.LazyAttribute(lambda o: o.delivery.destination if o.delivery else None)
    domain = "example.org"
    kind = "hard"
    status = "5.1.1"
    diagnostic = "550 5.1.1 No such user"
    recipient = factory.LazyAttribute(lambda o: o.destination.core if o.destination else "who@example.org")
    at = NOW
    effect = "Nothing arrives at this address."
    digest = factory.Sequence(lambda n: f"{n:064x}")


class MailboxMessageFactory(Factory):
    class Meta:
        model = MailboxMessage

    delivery = factory.SubFactory(DeliveryFactory, state="stored", sent_at=NOW)
    recipient = factory.LazyAttribute(lambda o: o.delivery.destination.core)
    subject = "A letter"
    stored_at = NOW
    raw = b"From: a@sender.example\r\nSubject: A letter\r\n\r\nThe letter.\r\n"
