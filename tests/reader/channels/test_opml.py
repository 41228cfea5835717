"""OPML is imported line by line, and an export round-trips."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.clock import utcnow
from common.passes import TimeBudget
from common.refused import Refused
from common.text import one_line
from feeds.models import Feed
from feeds.parsing.opml import MAX_FEEDS, OpmlError
from reader.channels import opml
from reader.channels.channels import add_channel, drop_channel
from reader.channels.follows import follow_unseen
from reader.channels.opml import (
    READ_EVERY,
    ListReport,
    export_follows,
    follow_listed,
    keep_list,
    report_of,
    stop_list,
    work_off_lists,
)
from reader.models import Channel, Follow, FollowLine, FollowList, Reader, TimelineEntry
from tests.examples import NIGHTLY, some_now
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog

FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "opml"
pytestmark = pytest.mark.django_db

LIST = """<?xml version="1.0"?>
<opml version="2.0"><head><title>Mine</title></head><body>
<outline text="News, daily">
  <outline text="The Tide" xmlUrl="https://tide.example.org/feed"/>
  <outline text="Deep"><outline text="Charts" xmlUrl="https://charts.example.org/feed"/></outline>
</outline>
<outline text="Bare" xmlUrl="https://bare.example.org/feed"/>
<outline text="Filed" category="/Sea/Wrecks,Boats" xmlUrl="https://filed.example.org/feed"/>
<outline text="Again" xmlUrl="https://bare.example.org/feed/"/>
<outline text="Secret" xmlUrl="https://ada:hidden-word@secret.example.org/feed"/>
<outline text="Elsewhere" type="link" url="https://elsewhere.example.org/"/>
<outline text="Odd" xmlUrl="mailto:odd@example.org"/>
</body></opml>"""
NAMES = st.text(min_size=1, max_size=100).filter(lambda text: one_line(text) == text)


def taken(reader: Reader, body: str, channel: Channel | None = None) -> FollowList:
    kept = keep_list(reader=reader, body=body.encode(), channel=channel, now=NOW)
    follow_listed(kept, clock=lambda: NOW)
    kept.refresh_from_db()
    return kept


def where(reader: Reader) -> set[tuple[str, str, str]]:
    rows = Follow.objects.of(reader).select_related("channel", "feed")
    return {(row.channel.name, row.feed.url, row.title) for row in rows}


def test_each_line_is_followed_known_or_refused_with_a_reason(ada: Reader, home: Channel) -> None:
    follow_unseen(channel=home, url="https://bare.example.org/feed", clock=lambda: NOW)
    kept = taken(ada, LIST)
    assert where(ada) == {
        ("News, daily", "https://tide.example.org/feed", "The Tide"),
        ("Deep", "https://charts.example.org/feed", "Charts"),
        ("Home", "https://bare.example.org/feed", "bare.example.org"),
        ("Wrecks", "https://filed.example.org/feed", "Filed"),
        ("Boats", "https://filed.example.org/feed", "Filed"),
    }
    assert report_of(kept) == ListReport(followed=4, known=2, refused=3)
    refused = kept.lines.filter(outcome="refused")
    assert [(one.line, one.reason) for one in refused] == [
        (10, opml.NOT_OPEN),
        (11, "It is a link to a web page, not a feed."),
        (12, "Give an address that begins with http:// or https://."),
    ]
    assert "hidden-word" not in "".join(FollowLine.objects.values_list("url", flat=True))
    assert not Feed.objects.filter(for_letters=True).exists()
    waits = (
        Feed.objects.exclude(host="bare.example.org").order_by("pk").values_list("next_poll_at", flat=True)
    )
    assert [wait - NOW for wait in waits] == [READ_EVERY * number for number in (0, 1, 3)]
    names = list(ada.channels.order_by("-is_notifications", "position").values_list("name", flat=True))
    assert names == ["Notifications", "News, daily", "Deep", "Wrecks", "Boats", "Home"]


def test_an_address_with_feed_before_it_is_followed(ada: Reader) -> None:
    rows = "".join(
        f'<outline xmlUrl="{url}"/>' for url in ("feed://a.example.org/x", "pcast:https://b.example.org/")
    )
    taken(ada, f'<opml version="2.0"><body>{rows}</body></opml>')
    assert {url for _, url, _ in where(ada)} == {"http://a.example.org/x", "https://b.example.org/"}


def test_a_folder_whose_lines_are_all_refused_becomes_no_channel(ada: Reader) -> None:
    lines = '<outline xmlUrl="mailto:odd@example.org"/><outline xmlUrl="https://ada:w@secret.example.org/"/>'
    good = '<outline text="Good"><outline xmlUrl="https://a.example.org/x"/></outline>'
    taken(ada, f'<opml version="2.0"><body><outline text="Bad">{lines}</outline>{good}</body></opml>')
    assert ada.channels.filter(name="Good").exists()
    assert not ada.channels.filter(name="Bad").exists()


def test_a_second_time_changes_nothing(ada: Reader) -> None:
    taken(ada, LIST)
    before = where(ada)
    kept = taken(ada, LIST)
    assert where(ada) == before
    assert report_of(kept) == ListReport(followed=0, known=6, refused=3)
    assert FollowList.objects.count() == 1


def test_what_goes_out_comes_back_the_same(ada: Reader, bob: Reader, home: Channel) -> None:
    for name in ("Boats, and more", "/Wrecks", "Empty", "<b>&amp;", "news", "News"):
        add_channel(reader=ada, name=name)
    feed = FeedFactory(title="Tide & time", credentials={"user": "u", "password": "hidden-word"})
    Follow.objects.create(channel=home, feed=feed, name="My “tide”")
    for number, channel in enumerate(ada.channels.exclude(name="Empty").exclude(is_notifications=True)):
        url = f"https://x.example.org/{number % 3}?a=1&b='2'"
        follow_unseen(channel=channel, url=url, name=f"Nº {number} <i>", clock=lambda: NOW)
    before, channels = where(ada), list(ada.channels.values_list("name", flat=True))
    file = "".join(export_follows(ada, now=NOW))
    assert "hidden-word" not in file
    for channel in ada.channels.filter(is_notifications=False):
        drop_channel(channel=channel, now=NOW)
    Feed.objects.all().delete()
    taken(ada, file)
    assert where(ada) == before
    assert list(ada.channels.values_list("name", flat=True)) == channels


def test_an_empty_folder_of_another_program_becomes_no_channel(ada: Reader) -> None:
    before = list(ada.channels.values_list("name", flat=True))
    feed = "<outline type='rss' text='f' xmlUrl='https://f.example.org/'/>"
    taken(
        ada,
        "<opml version='2.0'><body><outline text='Left'/><outline text='Over'></outline>"
        f"<outline text='Above'><outline text='Within'/></outline><outline text='Used'>{feed}</outline>"
        "</body></opml>",
    )
    assert sorted(ada.channels.values_list("name", flat=True)) == sorted([*before, "Used"])


@NIGHTLY
@given(st.dictionaries(NAMES, st.dictionaries(st.sampled_from("abc"), NAMES, max_size=3), max_size=4))
def test_every_name_comes_back(wanted: dict[str, dict[str, str]]) -> None:
    from django.db import transaction

    from reader.people.readers import add_reader

    with transaction.atomic():
        ada, eve = add_reader(name="ada", now=NOW), add_reader(name="eve", now=NOW)
        home = ada.channels.get(uid="home")
        follow_unseen(channel=home, url="https://home.example.org/", clock=lambda: NOW)
        for name, feeds in wanted.items():
            if name in ("Notifications", "Home"):
                continue
            channel = add_channel(reader=ada, name=name)
            for path, title in feeds.items():
                url = f"https://x.example.org/{path}"
                follow_unseen(channel=channel, url=url, name=title, clock=lambda: NOW)
        taken(eve, "".join(export_follows(ada, now=NOW)))
        assert where(eve) == where(ada)
        names = [set(one.channels.values_list("name", flat=True)) for one in (ada, eve)]
        assert names[0] == names[1]
        transaction.set_rollback(True)


def test_a_feed_that_is_watched_brings_its_posts(ada: Reader, blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    line = f'<outline text="Mine" xmlUrl="{blog.feed.url}"/>'
    taken(ada, f"<opml><body>{line}</body></opml>")
    assert TimelineEntry.objects.filter(channel__name="Home").count() == 2
    assert Follow.objects.get().title == "Mine"


def test_lines_beyond_the_most_are_refused_and_what_is_followed_is_not(ada: Reader, settings: object) -> None:
    taken(ada, LIST)
    settings.READER_MAX_FEEDS = 5  # type: ignore[attr-defined]
    more = LIST.replace("</body>", '<outline xmlUrl="https://more.example.org/"/></body>')
    kept = taken(ada, more)
    assert report_of(kept) == ListReport(known=6, refused=4)
    assert "which is the maximum" in kept.lines.get(url="https://more.example.org/").reason


def test_what_the_time_does_not_allow_waits_for_the_stage(ada: Reader) -> None:
    kept = keep_list(reader=ada, body=LIST.encode(), now=NOW)
    assert follow_listed(kept, clock=lambda: NOW, left=TimeBudget(timedelta(0))) == 0
    assert report_of(kept).waiting == 7
    with pytest.raises(Refused, match="still being imported"):
        keep_list(reader=ada, body=LIST.encode(), now=NOW)
    assert work_off_lists(clock=lambda: NOW) == 7
    kept.refresh_from_db()
    assert (report_of(kept).waiting, kept.ended_at) == (0, NOW)


def test_a_list_whose_worker_died_is_gone_on_with(ada: Reader) -> None:
    kept = keep_list(reader=ada, body=LIST.encode(), now=NOW)
    FollowList.objects.update(lease_token="0" * 32, lease_until=NOW + timedelta(seconds=60))
    assert work_off_lists(clock=lambda: NOW) == 0
    assert work_off_lists(clock=lambda: NOW + timedelta(seconds=61)) == 7
    assert report_of(kept).followed == 5


def test_a_stopped_list_leaves_the_rest_alone(ada: Reader) -> None:
    kept = keep_list(reader=ada, body=LIST.encode(), now=NOW)
    done: list[int] = []

    def stop_after_two() -> None:
        done.append(1)
        if len(done) == 2:
            stop_list(reader=ada, now=NOW)

    assert follow_listed(kept, clock=lambda: NOW, told=stop_after_two) == 2
    assert report_of(kept) == ListReport(followed=2, refused=7)
    assert work_off_lists(clock=utcnow) == 0


def test_a_line_that_breaks_stops_no_other(ada: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaking(**given: Any) -> object:
        if "charts" in given["url"]:
            raise RuntimeError("a fault of ours")
        return follow_unseen(**given)

    monkeypatch.setattr(opml, "follow_unseen", breaking)
    kept = taken(ada, LIST)
    assert report_of(kept).followed == 4
    assert opml.OUR_FAULT in kept.lines.values_list("reason", flat=True)


@pytest.mark.parametrize(
    "body",
    some_now(
        [
            b"",
            b"<html></html>",
            b"<opml><body/></opml>",
            b'<!DOCTYPE opml [<!ENTITY a "b">]><opml><body><outline xmlUrl="https://x.test/"/></body></opml>',
            b"<opml><body>" + b'<outline xmlUrl="https://x.test/"/>' * (MAX_FEEDS + 1) + b"</body></opml>",
            b"<opml><body>"
            + b'<outline category="a,b,c" xmlUrl="https://x.test/"/>' * (MAX_FEEDS // 3 + 1)
            + b"</body></opml>",
        ]
    ),
    ids=["empty", "html", "nothing in it", "entities", "too many", "too many channels"],
)
def test_what_is_no_list_is_refused_and_the_list_before_stays(ada: Reader, body: bytes) -> None:
    taken(ada, LIST)
    with pytest.raises(OpmlError):
        keep_list(reader=ada, body=body, now=NOW)
    assert FollowLine.objects.count() == 9


def test_an_open_feed_beside_one_with_credentials_is_added_once(ada: Reader, home: Channel) -> None:
    url = "https://both.example.org/feed"
    FeedFactory(url=url, host="both.example.org", credentials={"user": "u", "password": "p"})
    for name in ("One", "Two"):
        follow_unseen(channel=add_channel(reader=ada, name=name), url=url, clock=lambda: NOW)
    assert Feed.objects.filter(url=url).count() == 2
    assert len({row.feed_id for row in Follow.objects.all()}) == 1


def test_paused_feeds_are_left_out_and_what_is_lost_is_told(ada: Reader) -> None:
    body = (FILES / "miniflux.opml").read_bytes()
    kept = keep_list(reader=ada, body=body, now=NOW)
    follow_listed(kept)
    assert [(line.name, line.outcome, line.reason.partition(".")[0]) for line in kept.lines.all()] == [
        ("River", "followed", "Not imported: blocklistRules, keepFilterEntryRules, userAgent, crawler"),
        ("Gone", "refused", "It is paused there"),
        ("Harbour", "followed", "Not imported: ignoreHTTPCache, allowSelfSignedCertificates"),
    ]
