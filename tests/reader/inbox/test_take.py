from datetime import timedelta
from typing import Any

import pytest

from common.rates import Limit
from common.refused import Refused
from feeds.models import Feed, Item
from feeds.polling.claims import own_document
from reader.channels.channels import drop_channel
from reader.channels.follows import shared_feed_at, unfollow
from reader.channels.opml import export_follows
from reader.inbox import take
from reader.inbox.addresses import add_address, recipient_of, replace_key
from reader.inbox.take import accept, prune_mail, refuse, take_mail
from reader.models import (
    Channel,
    Entry,
    Follow,
    MailAddress,
    MailMessage,
    MailSource,
    Reader,
    Star,
    TimelineEntry,
)
from reader.people.picks import open_picks, picks_of
from reader.people.readers import leave
from tests.factories import NOW
from tests.reader.inbox.conftest import newsletter


def taken(address: MailAddress, raw: bytes, *, now: Any = NOW) -> str | None:
    return take_mail(raw, [recipient_of(address)], now)


def titles(channel: Channel) -> list[str]:
    places = TimelineEntry.objects.seen().filter(channel=channel).order_by("pk")
    return list(places.values_list("entry__jf2__name", flat=True))


def test_an_email_becomes_an_unread_post_of_its_sender(address: MailAddress, home: Channel) -> None:
    assert taken(address, newsletter()) == "Stored."
    place = TimelineEntry.objects.get(channel=home)
    assert place.unread
    jf2 = place.entry.jf2 or {}
    assert (jf2["name"], jf2["author"]["name"]) == ("The first issue", "Jane Doe")
    assert jf2["content"]["html"].strip() == "<p>Hello</p>"
    assert jf2["published"] == "2026-03-01T10:00:00+00:00"
    assert Follow.objects.get(channel=home).title == "Jane Doe"


def test_a_list_is_one_source_whoever_writes(address: MailAddress, home: Channel) -> None:
    for number, sender in enumerate(("jane@news.example", "bob@news.example")):
        raw = newsletter(
            subject=f"Issue {number}", sender=sender, List_Id="Weekly news <weekly.news.example>"
        )
        assert taken(address, raw) == "Stored."
    follow = Follow.objects.get()
    assert follow.title == "Weekly news"
    assert titles(home) == ["Issue 0", "Issue 1"]
    authors = Entry.objects.order_by("pk").values_list("jf2__author__name", flat=True)
    assert list(authors) == ["jane@news.example", "bob@news.example"]


def test_an_address_of_a_channel_follows_there(ada: Reader, channel: Any, home: Channel) -> None:
    there = add_address(reader=ada, channel=channel("news"), asks_first=False, now=NOW)
    taken(there, newsletter())
    assert titles(channel("news")) == ["The first issue"]
    assert titles(home) == []
    # Without its channel, the first one.
    drop_channel(channel=channel("news"), now=NOW)
    there.refresh_from_db()
    taken(there, newsletter(sender="other@news.example", subject="Other"))
    assert titles(home) == ["Other"]


def test_the_same_message_counts_once(address: MailAddress, home: Channel) -> None:
    assert taken(address, newsletter()) == "Stored."
    assert taken(address, newsletter(html="<p>Other words</p>")) == "Known."
    assert titles(home) == ["The first issue"]


def test_a_message_is_read_again_if_the_process_died(address: MailAddress, home: Channel) -> None:
    taken(address, newsletter())
    MailMessage.objects.all().delete()
    assert taken(address, newsletter()) == "Stored."
    assert titles(home) == ["The first issue"]


@pytest.mark.parametrize(
    "fields",
    [
        {"Auto_Submitted": "auto-replied (vacation)"},
        {"X_Autoreply": "yes"},
        {"Return_Path": "<>"},
        {"sender": "MAILER-DAEMON@news.example"},
        {"Return_Path": "<bounces+1-2@in.example>"},
        {"List_Unsubscribe": "<http://testserver/unsubscribe/x>"},
    ],
)
def test_replies_and_mail_of_this_site_are_ignored(address: MailAddress, fields: Any, settings: Any) -> None:
    settings.SITE_URL = "http://testserver"
    assert str(taken(address, newsletter(**fields))).startswith("Ignored")
    assert not MailSource.objects.exists()


def test_mail_to_others_is_left_to_others(address: MailAddress) -> None:
    assert take_mail(newsletter(), ["bounces+1-2@in.example"], NOW) is None
    assert (
        take_mail(newsletter(), [f"read+{'a' * 20}@in.example"], NOW)
        == "Ignored: no reader has this address."
    )
    old = recipient_of(address)
    assert take.knows_recipient(old.upper())
    replace_key(address=address, now=NOW)
    assert not take.knows_recipient(old)
    leave(reader=address.reader, now=NOW)
    assert not take.knows_recipient(recipient_of(address))


def test_new_senders_are_held_if_the_address_asks(address: MailAddress, home: Channel) -> None:
    address.asks_first = True
    address.save()
    confirm = '<p>Please <a href="https://news.example/c">confirm</a> your subscription</p>'
    assert taken(address, newsletter(html=confirm)) == "Held."
    assert titles(home) == []
    assert accept(source=MailSource.objects.get(), now=NOW)
    assert titles(home) == ["The first issue"]
    assert (Entry.objects.get().jf2 or {})["confirm"] == ["https://news.example/c"]
    assert taken(address, newsletter(subject="Second")) == "Stored."


def test_a_refused_sender_is_dropped(address: MailAddress, home: Channel) -> None:
    taken(address, newsletter())
    refuse(source=MailSource.objects.get())
    assert taken(address, newsletter(subject="Second")) == "Dropped: its sender is refused."
    assert titles(home) == ["The first issue"]
    accept(source=MailSource.objects.get(), now=NOW)
    taken(address, newsletter(subject="Third"))
    assert titles(home) == ["The first issue", "Third"]


def test_an_unfollowed_sender_is_refused(address: MailAddress, home: Channel) -> None:
    taken(address, newsletter())
    unfollow(channel=home, feed=Feed.objects.get(), now=NOW)
    assert taken(address, newsletter(subject="Second")) == "Dropped: nobody follows it any more."
    # Pruning deletes the feed later.
    Feed.objects.all().delete()
    assert str(taken(address, newsletter(subject="Third"))).startswith("Dropped")
    accept(source=MailSource.objects.get(), now=NOW)
    taken(address, newsletter(subject="Fourth"))
    assert titles(home) == ["The first issue", "Fourth"]


def test_at_the_limit_of_feeds_a_sender_is_held(address: MailAddress, home: Channel) -> None:
    address.reader.max_feeds = 1
    address.reader.save()
    taken(address, newsletter())
    assert taken(address, newsletter(sender="bob@news.example", subject="Second")) == "Held."
    source = MailSource.objects.get(state="held")
    assert not accept(source=source, now=NOW)
    assert MailMessage.objects.filter(source=source, held__isnull=False).exists()


def test_floods_are_refused_and_noted(address: MailAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(take, "TO_AN_ADDRESS", Limit("reader-mail", 2, 3600))
    for number in range(2):
        taken(address, newsletter(subject=f"Issue {number}"))
    with pytest.raises(Refused, match="Too many messages"):
        taken(address, newsletter(subject="Another"))
    address.refresh_from_db()
    assert (address.problem, address.problem_at) == ("many", NOW)


def test_senders_and_held_messages_have_a_limit(
    address: MailAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take, "MOST_SOURCES", 1)
    monkeypatch.setattr(take, "MOST_HELD", 2)
    address.asks_first = True
    address.save()
    for number in range(3):
        assert taken(address, newsletter(subject=f"Issue {number}")) == "Held."
    assert MailMessage.objects.filter(held__isnull=False).count() == 2
    with pytest.raises(Refused, match="Too many senders"):
        taken(address, newsletter(sender="bob@news.example", subject="Another"))


def test_a_message_too_large_is_noted(address: MailAddress) -> None:
    with pytest.raises(Refused, match="too large"):
        taken(address, newsletter() + b"x" * 25_000_000)
    address.refresh_from_db()
    assert address.problem == "large"


def test_nobody_else_gets_the_posts(address: MailAddress, home: Channel) -> None:
    taken(address, newsletter())
    feed = Feed.objects.get()
    # Newsletters send items, admins see titles, and picks and other readers take open feeds.
    assert not Item.objects.exists()
    assert (feed.title, feed.for_letters) == ("", False)
    assert shared_feed_at(feed.url) is None
    assert feed.url not in "".join(export_follows(address.reader, now=NOW))
    reader = address.reader
    reader.picks = "public"
    open_picks(reader=reader, now=NOW)
    Star.objects.create(reader=reader, entry=Entry.objects.get(), at=NOW)
    assert picks_of(reader) == []


def test_its_feed_is_read_without_network_if_somebody_asks(address: MailAddress) -> None:
    taken(address, newsletter())
    feed = Feed.objects.get()
    assert not Feed.objects.due(NOW + timedelta(days=300)).exists()
    own = own_document(feed.url, NOW)
    assert own is not None
    assert own.fetched.status == 200


def test_old_messages_are_forgotten(address: MailAddress) -> None:
    taken(address, newsletter())
    prune_mail(now=NOW + timedelta(days=31))
    assert not MailMessage.objects.exists()


def test_a_message_without_a_way_to_unsubscribe_keeps_the_last_one(address: MailAddress) -> None:
    taken(address, newsletter(List_Unsubscribe="<mailto:u@news.example>"))
    taken(address, newsletter(subject="Second"))
    assert MailSource.objects.get().leaving["mailto"] == "u@news.example"
