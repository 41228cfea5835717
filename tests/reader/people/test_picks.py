"""Stars with notes become a feed, which newsletters collect like any other."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from delivery.issues.complete import complete_due
from delivery.models import Issue
from feeds.adding.add import add_feed
from feeds.adding.discover import discover
from feeds.adding.preview import preview
from feeds.models import Feed, Item
from feeds.parsing.document import parse
from feeds.polling.poll import poll_due, poll_feed
from reader.models import Channel, Reader, Star, TimelineEntry
from reader.people.picks import LONGEST_NOTE, TYPES, address_of, annotate, open_picks, own_document, picks_of
from reader.people.readers import leave
from reader.timelines.stars import unstar
from subscriptions.collections.assign import assign_final
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory
from tests.reader.client import MicrosubClient
from tests.reader.greader.client import STARRED, GoogleApp, label
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db
# A Friday.
OPENED = datetime(2026, 3, 6, 9, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return OPENED + timedelta(minutes=minutes)


@pytest.fixture
def picks(ada: Reader) -> Reader:
    ada.picks, ada.picks_title = "private", "Ada’s picks"
    open_picks(reader=ada, now=OPENED)
    return ada


@pytest.fixture
def post(home: Channel) -> Callable[[str], TimelineEntry]:
    """Return a function that puts a post with this name into Home."""
    feed = FeedFactory(title="Harbour news", url="https://harbour.example/feed")
    home.follows.create(feed=feed)

    def one(name: str) -> TimelineEntry:
        url = f"https://harbour.example/{name}"
        return put(home, an_entry(feed=feed, jf2={"type": "entry", "name": name, "url": url}), at=OPENED)

    return one


def note(reader: Reader, post: TimelineEntry, words: str, *, tags: str = "", minutes: float = 1) -> None:
    annotate(reader=reader, entry=post.entry_id, note=words, tags=tags, now=at(minutes))


def watched(reader: Reader, **options: Any) -> Feed:
    return add_feed(url=address_of(reader, "xml"), now=OPENED, hold_floods=False, **options)


def read(feed: Feed, minutes: float) -> None:
    result = poll_feed(feed_id=feed.pk, now=at(minutes))
    assert result is not None, "not claimed"
    assert result.ok, result.error


def settle(minutes: float) -> None:
    assign_final(clock=lambda: at(minutes))


def titles(feed: Feed) -> set[str]:
    return {item.title for item in Item.objects.filter(feed=feed, vanished_at=None, set_aside_at=None)}


@pytest.mark.parametrize("kind", TYPES)
def test_a_pick_has_the_posts_title_the_note_and_the_source(
    picks: Reader, post: Callable[[str], TimelineEntry], client: Client, kind: str
) -> None:
    note(picks, post("Tides"), "Read <this>\n\nfirst", tags="maps, Sea, maps")
    response = client.get(address_of(picks, kind).removeprefix(settings.SITE_URL))
    assert response.headers["Content-Type"] == TYPES[kind]
    again = client.get(response.request["PATH_INFO"], headers={"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304
    (entry,) = parse(response.content, content_type=TYPES[kind], url=address_of(picks, kind)).entries
    assert (entry.title, entry.link) == ("Tides", "https://harbour.example/Tides")
    assert entry.published == at(1)
    assert entry.html == "<p>Read &lt;this&gt;</p>\n\n<p>first</p><p>— Harbour news</p>"
    document = own_document(address_of(picks, kind), at(2))
    assert document is not None
    assert document.fetched.body == response.content
    if kind == "json":
        assert json.loads(response.content)["items"][0]["tags"] == ["maps", "Sea"]


def test_stars_from_before_the_opening_stay_private(
    picks: Reader, post: Callable[[str], TimelineEntry], client: Client
) -> None:
    Star.objects.create(reader=picks, entry=post("Old").entry, at=at(-1))
    note(picks, post("New"), "")
    page = client.get(f"/reader/picks/{picks.picks_key}/feed.xml").content.decode()
    assert "New" in page
    assert "Old" not in page


def test_only_public_picks_have_a_page_and_closing_ends_the_address(
    picks: Reader, post: Callable[[str], TimelineEntry], client: Client
) -> None:
    note(picks, post("Tides"), "Worth it", tags="sea")
    page, feed = f"/reader/picks/{picks.picks_key}/", f"/reader/picks/{picks.picks_key}/feed.json"
    assert client.get(page).status_code == 404
    assert client.get("/@ada/").content.decode().count("picks") == 0
    picks.picks = "public"
    open_picks(reader=picks, now=at(5))
    text = client.get(page).content.decode()
    assert "Worth it" in text
    assert "#sea" in text
    assert page in client.get("/@ada/").content.decode()
    picks.picks = "off"
    open_picks(reader=picks, now=at(6))
    assert {client.get(each).status_code for each in (page, feed)} == {404}
    picks.picks = "public"
    open_picks(reader=picks, now=at(7))
    assert picks.picks_key not in page


def test_posts_of_feeds_that_need_credentials_are_left_out(
    picks: Reader, post: Callable[[str], TimelineEntry]
) -> None:
    row = post("Tides")
    note(picks, row, "")
    assert [pick.title for pick in picks_of(picks)] == ["Tides"]
    feed = Feed.objects.get(title="Harbour news")
    feed.credentials = {"user": "ada", "password": "x"}
    feed.save()
    assert picks_of(picks) == []


def test_who_leaves_has_no_feed(picks: Reader, client: Client) -> None:
    leave(reader=picks, now=at(1))
    assert client.get(f"/reader/picks/{picks.picks_key}/feed.xml").status_code == 404
    document = own_document(address_of(picks, "xml"), at(2))
    assert document is not None
    assert document.fetched.status == 404


def test_notes_and_tags_are_cut_to_their_limits(picks: Reader, post: Callable[[str], TimelineEntry]) -> None:
    note(picks, post("Tides"), "a\r\n" + "b" * 3_000, tags=",".join(f"{n} " + "t" * 90 for n in range(30)))
    star = Star.objects.get()
    assert len(star.note) == LONGEST_NOTE
    tags = star.tags.split(", ")
    assert len(tags) == 10
    assert max(map(len, tags)) == 50


class TestNewsletter:
    def test_a_week_from_a_star_in_an_app_to_fridays_issue(
        self, picks: Reader, post: Callable[[str], TimelineEntry], browser: Client
    ) -> None:
        """No network: conftest refuses loopback unless a test asks for it."""
        feed = watched(picks)
        newsletter = SubscribableFactory(
            feeds=[feed],
            title="The week's links",
            time_zone="UTC",
            arrangement="weekly",
            weekday=4,
            at="16:00",
        )
        SubscriptionFactory(subscribable=newsletter)
        newsletter.refresh_from_db()
        read(feed, 0)
        tides, gulls = post("Tides"), post("Gulls")
        app = GoogleApp(picks)
        app.do("edit-tag", i=[tides.entry_id, gulls.entry_id], a=[STARRED, label("Sea")])
        Star.objects.update(at=at(5))
        back = {"act": "note", "note": "The best on tides", "tags": "Sea"}
        assert browser.post(f"/reader/post/{tides.entry_id}/star/", back).status_code == 302
        read(feed, 10)
        read(feed, 60)
        settle(61)
        assert titles(feed) == {"Tides", "Gulls"}
        app.do("edit-tag", i=gulls.entry_id, r=STARRED)
        note(picks, tides, "The very best on tides", minutes=100)
        # The issue is sealed after a reading that began after 16:00.
        assert complete_due(clock=lambda: at(7 * 60 + 1)) == 0
        read(feed, 7 * 60 + 2)
        assert complete_due(clock=lambda: at(7 * 60 + 20)) == 1
        html = Issue.objects.get().html
        assert "The very best on tides" in html
        assert "Harbour news" in html
        assert html.index("The very best") < html.index("Harbour news")
        assert "Gulls" not in html

    @pytest.mark.parametrize("gone", [("A",), ("B",), ("A", "B")])
    def test_what_is_unstarred_leaves_even_the_oldest_and_the_last(
        self, picks: Reader, post: Callable[[str], TimelineEntry], gone: tuple[str, ...]
    ) -> None:
        feed = watched(picks)
        SubscribableFactory(feeds=[feed], arrangement="weekly")
        read(feed, 0)
        rows = {name: post(name) for name in ("A", "B")}
        for minutes, row in enumerate(rows.values(), 1):
            note(picks, row, "", minutes=minutes)
        read(feed, 10)
        read(feed, 60)
        settle(61)
        unstar(reader=picks, entries=[rows[name].entry_id for name in gone])
        note(picks, post("C"), "", minutes=65)
        read(feed, 70)
        assert titles(feed) == {"A", "B", "C"} - set(gone)
        assert not Item.objects.filter(held_at__isnull=False).exists()

    def test_a_star_that_is_back_is_back_in_the_issue(
        self, picks: Reader, post: Callable[[str], TimelineEntry]
    ) -> None:
        feed = watched(picks)
        SubscribableFactory(feeds=[feed], arrangement="weekly")
        read(feed, 0)
        row = post("A")
        note(picks, row, "", minutes=1)
        read(feed, 10)
        read(feed, 60)
        settle(61)
        unstar(reader=picks, entries=[row.entry_id])
        read(feed, 70)
        assert titles(feed) == set()
        note(picks, row, "", minutes=75)
        read(feed, 80)
        assert titles(feed) == {"A"}
        assert Item.objects.count() == 1

    def test_a_pass_reads_it_without_the_network(
        self, picks: Reader, post: Callable[[str], TimelineEntry]
    ) -> None:
        note(picks, post("A"), "")
        feed = watched(picks, start="all")
        Feed.objects.exclude(pk=feed.pk).delete()
        (result,) = poll_due(clock=lambda: at(2))
        assert (result.ok, titles(feed)) == (True, {"A"})

    def test_an_editor_finds_it_by_its_address_without_the_network(
        self, picks: Reader, post: Callable[[str], TimelineEntry]
    ) -> None:
        note(picks, post("A"), "")
        found = discover(address_of(picks, "json"), now=at(2))
        assert (found.is_feed, [one.title for one in found.candidates]) == (True, ["Ada’s picks"])
        assert [each.title for each in preview(address_of(picks, "xml"), now=at(2)).posts] == ["A"]

    def test_it_is_known_at_an_address_of_a_former_host(self, picks: Reader, settings: Any) -> None:
        feed = watched(picks)
        settings.SITE_URL, settings.FORMER_HOSTS = "https://new.example.org", [feed.host]
        read(feed, 1)

    def test_closed_picks_are_a_feed_that_is_gone(self, picks: Reader) -> None:
        feed = watched(picks)
        picks.picks = "off"
        open_picks(reader=picks, now=at(1))
        result = poll_feed(feed_id=feed.pk, now=at(2))
        assert result is not None
        assert "HTTP 404" in result.error

    def test_who_makes_newsletters_gets_the_form_for_fridays(self, picks: Reader, browser: Client) -> None:
        assert browser.post("/reader/picks/newsletter/").status_code == 404
        assert "reader/picks/newsletter" not in browser.get("/reader/account/").content.decode()
        picks.user.is_staff = True
        picks.user.save()
        names = ("add_feed", "add_subscribable", "view_feed", "view_subscribable")
        picks.user.user_permissions.set(Permission.objects.filter(codename__in=names))
        assert "reader/picks/newsletter" in browser.get("/reader/account/").content.decode()
        for _ in range(2):
            response = browser.post("/reader/picks/newsletter/")
        feed = Feed.objects.get(url=address_of(picks, "xml"))
        assert response.headers["Location"].startswith(reverse("admin:subscriptions_subscribable_add"))
        page = browser.get(response.headers["Location"])
        form = page.context["adminform"].form
        shown = {name: form[name].value() for name in ("arrangement", "weekdays", "at", "title")}
        assert shown == {"arrangement": "weekly", "weekdays": "4", "at": "16:00", "title": "Ada’s picks"}
        assert form.initial["feeds"] == [str(feed.pk)]
        assert re.search(r'name="weekdays" value="4"[^>]* checked', page.content.decode())


class TestApps:
    def test_labels_are_tags_of_stars_and_an_annotation_is_the_note(
        self, picks: Reader, post: Callable[[str], TimelineEntry]
    ) -> None:
        app, row, other = GoogleApp(picks), post("A"), post("B")
        app.do("edit-tag", i=row.entry_id, a=STARRED, annotation="Good")
        app.do("edit-tag", i=[row.entry_id, other.entry_id], a=[label("Sea"), label("Maps")])
        app.do("edit-tag", i=row.entry_id, a=label("sea"), r=label("Maps"))
        assert list(Star.objects.values_list("entry", "note", "tags")) == [(row.entry_id, "Good", "Sea")]

    def test_without_picks_posts_take_no_labels(
        self, ada: Reader, post: Callable[[str], TimelineEntry]
    ) -> None:
        assert GoogleApp(ada).post("edit-tag", i=post("A").entry_id, a=label("Sea"))[0] == 400

    def test_microsub_stars_without_a_note(
        self, picks: Reader, post: Callable[[str], TimelineEntry], bob: Reader
    ) -> None:
        row, api = post("A"), MicrosubClient(picks)
        MicrosubClient(bob).do("timeline", channel="home", method="star", entry=row.pk)
        assert not Star.objects.exists()
        assert api.do("timeline", channel="home", method="star", entry=row.pk)["updated"] == 1
        assert Star.objects.get().entry_id == row.entry_id
        api.do("timeline", channel="home", method="unstar", entry=row.pk)
        assert not Star.objects.exists()


class TestPages:
    def test_the_account_opens_and_closes_them(self, ada: Reader, browser: Client) -> None:
        answer = browser.post("/reader/account/", {"act": "picks", "picks": "private", "picks_title": "Mine"})
        assert answer.status_code == 302
        ada.refresh_from_db()
        assert (ada.has_picks, ada.picks_title) == (True, "Mine")
        key = ada.picks_key
        assert address_of(ada, "xml") in browser.get("/reader/account/").content.decode()
        browser.post("/reader/account/", {"act": "picks", "picks": "public"})
        ada.refresh_from_db()
        assert ada.picks_key == key
        assert browser.post("/reader/account/", {"act": "picks", "picks": "x"}).status_code == 400

    def test_a_note_stars_its_post_and_is_shown_again(
        self, picks: Reader, post: Callable[[str], TimelineEntry], browser: Client
    ) -> None:
        row = post("A")
        form = {"act": "note", "note": "Mine", "tags": "sea", "back": "/reader/c/home/"}
        answer = browser.post(f"/reader/post/{row.entry_id}/star/", form)
        assert answer.headers["Location"] == "/reader/c/home/"
        for page in ("/reader/c/home/", "/reader/starred/", f"/reader/post/{row.entry_id}/"):
            text = browser.get(page).content.decode()
            assert ">Mine</textarea>" in text, page
            assert 'value="sea"' in text, page

    def test_without_picks_pages_ask_and_query_nothing_more(
        self, ada: Reader, post: Callable[[str], TimelineEntry], browser: Client
    ) -> None:
        row = post("A")
        browser.post(f"/reader/post/{row.entry_id}/star/", {"act": "star"})
        with CaptureQueriesContext(connection) as off:
            assert "textarea" not in browser.get("/reader/c/home/").content.decode()
        ada.picks = "private"
        open_picks(reader=ada, now=OPENED)
        with CaptureQueriesContext(connection) as on:
            browser.get("/reader/c/home/")
        assert len(on) == len(off) + 1
