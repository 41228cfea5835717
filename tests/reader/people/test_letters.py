"""A channel by email: the posts of a reader's channel are a private newsletter to its owner."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from common.clock import utcnow
from common.ports.events import Event, EventKind, happened
from common.refused import Refused
from common.signing import TokenError
from delivery.engine.claim import begin
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.letters.notices import take_notices
from delivery.models import Issue
from feedletter_site import channel_letters
from feeds.models import Feed
from feeds.parsing.document import parse
from feeds.polling.poll import poll_feed
from reader.channels.channels import alter_channel, drop_channel
from reader.models import Channel, Letters, Reader, TimelineEntry, Unread
from reader.people import letters
from reader.people.letters import address_of, own_document, save_letters
from reader.people.readers import drop_reader
from reader.rules.placement import Hidden
from reader.timelines.marks import mark_read, mark_unread, remove
from reader.timelines.pages import Timeline
from subscriptions.collections.assign import assign_final, drop_subscribable
from subscriptions.models import Destination, Subscribable, Subscription, Suppression
from subscriptions.privacy.erase import erase
from subscriptions.subscribers.leave import leave, undo_leaving
from subscriptions.subscribers.sign_up import confirm_subscriptions
from tests.delivery.conftest import smtp
from tests.factories import FeedFactory
from tests.reader.posts import an_entry, put
from tests.servers.smtp_server import Received, SmtpServer

__all__ = ["smtp"]
pytestmark = pytest.mark.django_db(transaction=True)
# A Friday.
ON = datetime(2026, 3, 6, 9, tzinfo=UTC)
SEVEN = 22 * 60
A_DAY = 24 * 60
# Rows in the admin's lists.
WHAT = {"newsletters": 0, "bridges": 0, "channels": 1}


def at(minutes: float) -> datetime:
    return ON + timedelta(minutes=minutes)


@pytest.fixture
def blog() -> Feed:
    feed: Feed = FeedFactory(title="Harbour news", url="https://harbour.example/feed")
    return feed


@pytest.fixture
def post(home: Channel, blog: Feed) -> Callable[..., TimelineEntry]:
    """Return a function that puts a post with this name into Home."""

    def one(name: str, minutes: float = 10, **jf2: Any) -> TimelineEntry:
        url = f"https://harbour.example/{name}"
        content = {"html": f"<p>All about {name}.</p>", "text": f"All about {name}."}
        about = {"type": "entry", "name": name, "url": url, "content": content, **jf2}
        return put(home, an_entry(feed=blog, jf2=about), at=at(minutes))

    return one


def switch(channel: Channel, arrangement: str = "daily", *, minutes: float = 0, **fields: Any) -> None:
    channel.refresh_from_db()
    row = Letters.objects.filter(channel=channel).first() or Letters(channel=channel)
    for name, value in {"arrangement": arrangement, **fields}.items():
        setattr(row, name, value)
    save_letters(letters=row, now=at(minutes))
    channel.refresh_from_db()


def delivered(smtp: SmtpServer, minutes: float) -> list[Received]:
    """Send what is due; return what arrived since."""
    before = len(smtp.messages)
    take_notices(now=at(minutes))
    send_due(clock=lambda: at(minutes))
    return smtp.messages[before:]


def words_of(mail: Received, kind: str = "plain") -> str:
    part = mail.email.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def confirm(mail: Received, minutes: float) -> None:
    """Open the link of a confirmation, and press its button."""
    (token,) = set(re.findall(r"/confirm/([^/\s]+)/", words_of(mail)))
    confirm_subscriptions(token=token, now=at(minutes))


def work(minutes: float) -> int:
    """Read the channels' feeds, and make issues; return how many."""
    for feed in Feed.objects.watched().filter(url__contains="/reader/letters/"):
        result = poll_feed(feed_id=feed.pk, now=at(minutes))
        assert result is not None
        assert result.ok, result.error
    assign_final(clock=lambda: at(minutes))
    return complete_due(clock=lambda: at(minutes))


@pytest.fixture
def daily(ada: Reader, home: Channel, smtp: SmtpServer) -> Channel:
    """Return Home, sent to Ada every day at seven in UTC, and confirmed."""
    ada.user.email = "ada@example.org"
    ada.user.save()
    switch(home, content="full")
    (mail,) = delivered(smtp, 1)
    confirm(mail, 2)
    home.refresh_from_db()
    return home


def text_of(mails: list[Received]) -> str:
    """Return the only email's text."""
    (mail,) = mails
    return words_of(mail)


def is_read(place: TimelineEntry) -> bool:
    return not Unread.objects.filter(place=place.pk).exists()


def newsletter() -> Subscribable:
    return Subscribable.objects.get()


class TestIssues:
    def test_what_is_unread_at_the_time_is_sent(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        post("Tides", 10)
        gulls, seals = post("Gulls", 11), post("Seals", 12)
        assert work(60) == 0
        mark_read(Timeline(daily.reader, daily), [gulls.pk])
        post("Lamps", SEVEN - 60)
        work(SEVEN - 20)
        # The collection waits for a reading after its end.
        mark_read(Timeline(daily.reader, daily), [seals.pk])
        assert work(SEVEN + 1) == 1
        mails = delivered(smtp, SEVEN + 2)
        text = text_of(mails)
        assert mails[0].recipient == "ada@example.org"
        assert "All about Tides" in text
        assert "All about Lamps" in text
        assert "Gulls" not in text
        assert "Seals" not in text
        assert "Harbour news" in text
        html = words_of(mails[0], "html")
        assert '<a href="https://harbour.example/Tides"' in html
        assert "Home" in mails[0].subject or "Home" in html
        assert not is_read(TimelineEntry.objects.get(entry__jf2__name="Tides"))

    @pytest.mark.slow
    def test_nothing_is_sent_twice_or_from_before_it_was_on(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        post("Old", -60)
        post("Tides", 10)
        work(60)
        assert work(SEVEN + 1) == 1
        assert "Old" not in text_of(delivered(smtp, SEVEN + 2))
        post("Gulls", SEVEN + 100)
        work(SEVEN + 110)
        assert work(SEVEN + A_DAY + 1) == 1
        text = text_of(delivered(smtp, SEVEN + A_DAY + 2))
        assert "Gulls" in text
        assert "Tides" not in text

    @pytest.mark.slow
    def test_on_fridays_at_the_owners_time(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        """Seven in Auckland was 18:00 on Thursday in UTC."""
        switch(daily, "weekly", time_zone="Pacific/Auckland", minutes=5)
        post("Tides", 10)
        work(60)
        thursday = 6 * A_DAY + 9 * 60
        assert work(thursday - 1) == 0
        assert work(thursday + 1) == 1
        assert "Tides" in text_of(delivered(smtp, thursday + 2))

    def test_without_new_posts_there_is_no_email(self, daily: Channel, smtp: SmtpServer) -> None:
        work(60)
        assert work(SEVEN + 1) == 0
        assert delivered(smtp, SEVEN + 2) == []

    def test_read_posts_are_sent_if_wished(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        switch(daily, unread_only=False, minutes=5)
        mark_read(Timeline(daily.reader, daily), [post("Tides").pk])
        work(60)
        assert work(SEVEN + 1) == 1
        assert "Tides" in text_of(delivered(smtp, SEVEN + 2))

    @pytest.mark.slow
    def test_hidden_posts_are_not_sent(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        post("Tides")
        muted, later = post("Gulls"), post("Seals")
        TimelineEntry.objects.filter(pk=muted.pk).update(hidden=Hidden.MUTED)
        work(60)
        remove(Timeline(daily.reader, daily), [later.pk])
        work(SEVEN + 1)
        text = text_of(delivered(smtp, SEVEN + 2))
        assert "Gulls" not in text
        assert "Seals" not in text

    @pytest.mark.slow
    def test_the_last_post_that_is_read_leaves_no_empty_email(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        tides = post("Tides")
        work(60)
        mark_read(Timeline(daily.reader, daily), [tides.pk])
        work(SEVEN + 1)
        assert delivered(smtp, SEVEN + 2) == []
        mark_unread(Timeline(daily.reader, daily), [tides.pk])
        work(SEVEN + 40)
        assert work(SEVEN + A_DAY + 1) == 1
        assert "Tides" in text_of(delivered(smtp, SEVEN + A_DAY + 2))


class TestMarks:
    def test_posts_that_are_shown_are_marked_read_and_listed_ones_are_not(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        switch(daily, mark_read=True, max_posts=2, minutes=5)
        places = [post(name, 10 + number) for number, name in enumerate(("A", "B", "C"))]
        work(60)
        late = post("Late", SEVEN)
        assert work(SEVEN + 1) == 1
        issue = Issue.objects.get()
        shown = list(issue.issue_items.order_by("position").values_list("entry__title", flat=True)[:2])
        read = [(place.entry.jf2 or {})["name"] for place in places if is_read(place)]
        assert sorted(read) == sorted(shown)
        assert not is_read(late)

    def test_an_error_does_not_keep_the_email_back(
        self,
        daily: Channel,
        post: Callable[..., TimelineEntry],
        smtp: SmtpServer,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        switch(daily, mark_read=True, minutes=5)
        post("Tides")
        work(60)
        monkeypatch.setattr(channel_letters, "mark_sent", lambda *_: 1 / 0)
        assert work(SEVEN + 1) == 1
        assert "Tides" in text_of(delivered(smtp, SEVEN + 2))

    @pytest.mark.slow
    def test_a_worker_killed_before_the_commit_has_neither_published_nor_marked(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        switch(daily, mark_read=True, minutes=5)
        tides = post("Tides")
        work(60)

        def die(event: Event, **_: Any) -> None:
            if event.kind is EventKind.PUBLISHED:
                raise KeyboardInterrupt

        happened.connect(die, dispatch_uid="die")
        try:
            with pytest.raises(KeyboardInterrupt):
                work(SEVEN + 1)
        finally:
            happened.disconnect(dispatch_uid="die")
        assert not is_read(tides)
        assert not Issue.objects.exists()
        # Its seal runs out.
        assert work(SEVEN + 10) == 1
        assert is_read(tides)
        assert "Tides" in text_of(delivered(smtp, SEVEN + 11))


class TestAddress:
    def test_nothing_is_sent_to_an_address_that_was_not_confirmed(
        self, ada: Reader, home: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        User.objects.filter(pk=ada.user_id).update(email="eve@example.org")
        switch(home)
        assert "Home" in text_of(delivered(smtp, 1))
        post("Tides", 10)
        work(60)
        assert work(SEVEN + 1) == 0
        assert delivered(smtp, SEVEN + 2) == []

    def test_a_second_channel_needs_no_further_confirmation(
        self, daily: Channel, channel: Callable[[str], Channel], smtp: SmtpServer
    ) -> None:
        switch(channel("News"), "weekly", minutes=5)
        assert delivered(smtp, 6) == []
        assert channel("News").letters.since == at(5)

    def test_a_confirmed_address_of_somebody_else_proves_nothing(
        self, daily: Channel, bob: Reader, smtp: SmtpServer
    ) -> None:
        User.objects.filter(pk=bob.user_id).update(email="ada@example.org")
        bobs = bob.channels.get(uid="home")
        switch(bobs, minutes=20)
        bobs.refresh_from_db()
        assert bobs.letters.since is None

    @pytest.mark.slow
    def test_a_changed_address_gets_the_next_issue_once_it_is_confirmed(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        user = daily.reader.user
        for address in ("typo@example.org", "new@example.org"):
            user.email = address
            user.save(update_fields=["email"])
            take_notices(now=utcnow())
            send_due()
        typo, right = smtp.messages[1:]
        assert [typo.recipient, right.recipient] == ["typo@example.org", "new@example.org"]
        post("Tides")
        work(60)
        with pytest.raises(TokenError):
            confirm(typo, 70)
        assert newsletter().subscriptions.confirmed().get().destination.core == "ada@example.org"
        confirm(right, 70)
        work(SEVEN + 1)
        assert delivered(smtp, SEVEN + 2)[0].recipient == "new@example.org"

    def test_without_an_address_it_ends(self, daily: Channel) -> None:
        daily.reader.user.email = ""
        daily.reader.user.save()
        daily.refresh_from_db()
        assert daily.letters.arrangement == "off"
        assert newsletter().stopped

    @pytest.mark.django_db
    def test_a_suppressed_address_is_refused(self, ada: Reader, home: Channel) -> None:
        User.objects.filter(pk=ada.user_id).update(email="ada@example.org")
        Suppression.objects.create(core="ada@example.org")
        with pytest.raises(Refused, match="Nothing may be sent"):
            switch(home)
        assert not Subscribable.objects.exists()

    @pytest.mark.slow
    def test_strangers_get_few_confirmations(
        self, ada: Reader, channel: Callable[[str], Channel], smtp: SmtpServer
    ) -> None:
        for number in range(10):
            User.objects.filter(pk=ada.user_id).update(email=f"eve{number}@example.org")
            switch(channel(f"Channel {number}"))
        with pytest.raises(Refused, match="Too many attempts"):
            switch(channel("Another"))
        assert len(delivered(smtp, 1)) == 10


class TestEnds:
    @pytest.mark.slow
    def test_the_emails_link_ends_it_and_other_settings_leave_it_off(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer, browser: Client
    ) -> None:
        post("Tides")
        work(60)
        work(SEVEN + 1)
        (mail,) = delivered(smtp, SEVEN + 2)
        path = urlsplit(str(mail.email["List-Unsubscribe"]).strip("<>").split(">")[0]).path
        assert Client().post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
        daily.refresh_from_db()
        assert daily.letters.arrangement == "off"
        assert newsletter().stopped
        assert newsletter().feeds.get().status == "paused"
        browser.post("/reader/c/home/settings/", {"name": "Harbour", "unread": "flag"})
        daily.refresh_from_db()
        assert daily.letters.arrangement == "off"
        switch(daily, minutes=SEVEN + 60)
        post("Gulls", SEVEN + 70)
        work(SEVEN + 80)
        work(SEVEN + A_DAY + 1)
        assert "Gulls" in text_of(delivered(smtp, SEVEN + A_DAY + 2))

    def test_leaving_can_be_undone(self, daily: Channel) -> None:
        row = newsletter().subscriptions.get()
        leave(subscription=row, now=at(60), by_reader=True)
        daily.refresh_from_db()
        assert daily.letters.arrangement == "off"
        undo_leaving(subscription=row, now=at(70))
        daily.refresh_from_db()
        assert (daily.letters.arrangement, daily.letters.since) == ("daily", at(70))
        assert not newsletter().stopped

    @pytest.mark.slow
    @pytest.mark.parametrize("end", ["channel", "reader"])
    def test_a_deleted_channel_leaves_nothing(
        self, ada: Reader, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer, end: str
    ) -> None:
        post("Tides")
        work(60)
        work(SEVEN + 1)
        delivered(smtp, SEVEN + 2)
        post("Gulls", SEVEN + 10)
        work(SEVEN + 20)
        if end == "channel":
            drop_channel(channel=daily, now=at(SEVEN + 30))
        else:
            drop_reader(reader=ada, now=at(SEVEN + 30))
        for model in (Subscribable, Issue, Subscription, Destination):
            assert not model._default_manager.exists(), model
        assert list(Feed.objects.values_list("title", flat=True)) == ["Harbour news"]
        assert work(SEVEN + A_DAY) == 0

    @pytest.mark.parametrize("why", ["deactivated", "leaving", "switched off"])
    def test_while_its_owner_may_not_read_nothing_is_sent_and_nothing_fails(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer, why: str, settings: Any
    ) -> None:
        post("Tides")
        work(60)
        if why == "deactivated":
            User.objects.update(is_active=False)
        elif why == "leaving":
            Reader.objects.update(leaving_at=at(61))
        else:
            settings.READER = "off"
        work(SEVEN + 1)
        assert delivered(smtp, SEVEN + 2) == []
        assert Feed.objects.get(url__contains="/letters/").failures == 0

    def test_who_is_erased_as_a_subscriber_gets_nothing(self, daily: Channel) -> None:
        erase(destination=Destination.objects.get(core="ada@example.org"), now=at(60))
        daily.refresh_from_db()
        assert daily.letters.arrangement == "off"
        assert not Subscription.objects.confirmed().exists()

    def test_a_newsletter_that_an_admin_deletes_is_off(self, daily: Channel, browser: Client) -> None:
        drop_subscribable(subscribable=newsletter(), force=True, now=at(60))
        page = browser.get("/reader/c/home/settings/").content.decode()
        assert 'value="off" selected' in page
        switch(daily, minutes=70)
        assert Feed.objects.get(url=address_of(daily.letters)) == newsletter().feeds.get()

    def test_a_new_name_is_the_newsletters_title(self, daily: Channel) -> None:
        alter_channel(channel=daily, name="Harbour")
        assert newsletter().title == "Harbour"

    def test_nothing_of_a_restored_database_is_sent_again(
        self, daily: Channel, post: Callable[..., TimelineEntry], smtp: SmtpServer
    ) -> None:
        post("Tides")
        begin(now=at(60))
        work(61)
        work(SEVEN + 1)
        assert delivered(smtp, SEVEN + 2) == []


@pytest.mark.slow
def test_the_newsletter_is_invisible_to_others(daily: Channel, client: Client, admin_client: Client) -> None:
    row = newsletter()
    assert (row.visibility, row.sign_up) == ("private", "closed")
    assert "ada" in row.description
    assert row.name not in client.get("/").content.decode()
    assert client.get(f"/newsletters/{row.name}/").status_code == 404
    lists = {what: admin_client.get(f"/admin/subscriptions/subscribable/?what={what}") for what in WHAT}
    assert {what: page.context["cl"].result_count for what, page in lists.items()} == WHAT


def test_the_feed_has_no_page_and_a_wrong_key_has_no_feed(daily: Channel, client: Client) -> None:
    path = urlsplit(address_of(daily.letters)).path
    assert client.get(path).status_code == 404
    document = own_document(address_of(daily.letters)[:-12] + "x/feed.json", at(1))
    assert document is not None
    assert document.fetched.status == 404
    assert own_document("https://harbour.example/feed", at(1)) is None


def test_a_post_in_the_feed_has_its_text_author_source_and_files(
    daily: Channel, post: Callable[..., TimelineEntry]
) -> None:
    place = post(
        "Tides",
        author={"name": "Grace"},
        category=["sea"],
        photo=["https://harbour.example/a.png"],
        audio=["https://harbour.example/a"],
    )
    document = own_document(address_of(daily.letters), at(1))
    assert document is not None
    assert document.is_complete
    fetched = document.fetched
    (entry,) = parse(fetched.body, content_type=fetched.headers["content-type"], url=fetched.url).entries
    assert entry.guid == f"urn:feedletter:post:{daily.reader_id}:{place.entry_id}"
    assert (entry.title, entry.link) == ("Tides", "https://harbour.example/Tides")
    assert entry.authors == ("Grace", "Harbour news")
    assert entry.html == "<p>All about Tides.</p>"
    assert [(one.url, one.type) for one in entry.media] == [
        ("https://harbour.example/a.png", "image/png"),
        ("https://harbour.example/a", "audio/mpeg"),
    ]


def test_a_long_feed_ends_and_says_that_more_is_missing(
    daily: Channel, post: Callable[..., TimelineEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        post(f"Post {number}", 10 + number)
    monkeypatch.setattr(letters, "MOST_CHARACTERS", 35)
    document = own_document(address_of(daily.letters), at(60))
    assert document is not None
    titles = [item["title"] for item in json.loads(document.fetched.body)["items"]]
    assert titles == ["Post 4", "Post 3"]
    assert not document.is_complete
