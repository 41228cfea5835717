"""OPML import (each feed once, with its tags, spread over time) and export."""

from datetime import timedelta
from threading import Thread

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from feeds.adding.add import add_feed
from feeds.adding.discover import addresses
from feeds.adding.opml import (
    FEEDS_A_STEP,
    OpmlPlan,
    OpmlReport,
    count_import,
    export_opml,
    import_chunk,
    plan_import,
)
from feeds.models import Feed, Item, Tag
from feeds.parsing.opml import parse_opml
from tests.examples import NIGHTLY
from tests.factories import NOW, FeedFactory

pytestmark = pytest.mark.django_db


def opml(*rows: str) -> bytes:
    return f'<opml version="2.0"><body>{"".join(rows)}</body></opml>'.encode()


def row(url: str, title: str = "", category: str = "") -> str:
    return f'<outline type="rss" text="{title or url}" xmlUrl="{url}" category="{category}"/>'


def planned(*rows: str, **options: object) -> OpmlPlan:
    return plan_import(parse_opml(opml(*rows)), now=NOW, **options)  # type: ignore[arg-type]


def take_over(plan: OpmlPlan) -> OpmlReport:
    report = OpmlReport()
    for begin in range(0, len(plan.outlines), FEEDS_A_STEP):
        report += import_chunk(plan, begin=begin, now=NOW)
    return report


def tags(url: str) -> list[str]:
    return [tag.name for tag in Feed.objects.get(url=url).tags.all()]


def test_feeds_are_added_from_now_on_with_title_site_host_and_tags() -> None:
    body = (
        b'<opml><body><outline text="News"><outline text="A" category="x" htmlUrl="https://a.test/"'
        b' xmlUrl="https://A.test:8443/feed"/></outline></body></opml>'
    )
    plan = plan_import(parse_opml(body), tags=["mine"], now=NOW)
    assert take_over(plan) == OpmlReport(added=1)
    feed = Feed.objects.get()
    assert (feed.title, feed.site_url, feed.host, feed.start) == (
        "A",
        "https://a.test/",
        "a.test:8443",
        "from_now",
    )
    assert feed.added_at == NOW
    assert tags(feed.url) == ["News", "mine", "x"]


def test_nothing_is_changed_by_looking() -> None:
    plan = planned(row("https://a.test/", category="x"), row("https://b.test/"))
    assert count_import(plan) == OpmlReport(added=2)
    assert not Feed.objects.exists()
    assert not Tag.objects.exists()


@pytest.mark.parametrize(
    "url",
    [
        "https://a.test/feed",
        "http://a.test/feed",
        "https://A.TEST:443/feed",
        "https://a.test/feed/",
        "https://a.test/feed#x",
    ],
)
def test_a_feed_that_is_there_is_left_alone_but_gets_the_tags(url: str) -> None:
    add_feed(url="https://a.test/feed", now=NOW, tags=["Old"], title="Ours")
    plan = planned(row(url, "Theirs", "old,new"))
    assert count_import(plan) == take_over(plan) == OpmlReport(known=1, tagged=1)
    assert Feed.objects.get().title == "Ours"
    assert tags("https://a.test/feed") == ["Old", "new"]
    assert count_import(plan) == OpmlReport(known=1)


def test_another_query_is_another_feed() -> None:
    add_feed(url="https://a.test/feed?tag=x", now=NOW)
    assert take_over(planned(row("https://a.test/feed?tag=y"))) == OpmlReport(added=1)


def test_what_is_twice_in_the_file_is_added_once_with_the_tags_of_both() -> None:
    plan = planned(row("https://a.test/", "First", "x"), row("http://a.test", "Second", "X,y"))
    assert (len(plan.outlines), plan.repeated) == (1, 1)
    take_over(plan)
    assert Feed.objects.get().title == "First"
    assert tags("https://a.test/") == ["x", "y"]


def test_doing_it_again_changes_nothing() -> None:
    plan = planned(*(row(f"https://{n}.test/", category="x") for n in range(FEEDS_A_STEP + 10)))
    assert take_over(plan) == OpmlReport(added=FEEDS_A_STEP + 10)
    assert take_over(plan) == OpmlReport(known=FEEDS_A_STEP + 10)
    assert Feed.objects.count() == FEEDS_A_STEP + 10


@pytest.mark.parametrize(
    "url",
    ["ftp://a.test/", "a.test/feed", "feed://", "https://", "https://a.test:99999/", "javascript:alert(1)"],
)
def test_what_cannot_be_a_feed_is_refused_with_line_title_and_reason(url: str) -> None:
    plan = planned(row("https://good.test/"), "\n", row(url, "Bad"))
    (refused,) = plan.refused
    assert (refused.line, refused.title) == (2, "Bad")
    assert "begins with http:// or https://" in refused.reason
    assert take_over(plan) == OpmlReport(added=1)


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("feed://a.test/x", "http://a.test/x"),
        ("FEED:https://a.test/x", "https://a.test/x"),
        ("feed://https://a.test/x", "https://a.test/x"),
        ("pcast://a.test/x", "http://a.test/x"),
        ("itpc://a.test/x?feed://b", "http://a.test/x?feed://b"),
        ("//a.test/x", "http://a.test/x"),
    ],
)
def test_schemes_by_which_feeds_are_handed_on_are_read_as_for_a_single_feed(url: str, asked: str) -> None:
    plan = planned(row(url))
    assert ([one.url for one in plan.outlines], plan.refused) == ([asked], [])
    assert asked in addresses(url)


def test_a_wrong_tag_for_all_refuses_the_whole() -> None:
    with pytest.raises(ValidationError):
        planned(row("https://a.test/"), tags=["a,b"])


def test_first_readings_are_spread_over_the_interval() -> None:
    take_over(planned(*(row(f"https://{n}.test/") for n in range(600))))
    due = list(Feed.objects.order_by("pk").values_list("next_poll_at", flat=True))
    assert due == sorted(due)
    assert due[0] == NOW
    assert timedelta(minutes=9.9) < due[-1] - NOW < timedelta(minutes=10)
    assert len(set(due)) == 600


def test_user_name_and_password_go_into_the_credentials_and_nowhere_else() -> None:
    url = "https://ada:geheim@a.test/feed"
    plan = planned(row(url, url), row("ftp://ada:geheim@b.test/", "ftp://ada:geheim@b.test/"))
    take_over(plan)
    feed = Feed.objects.get()
    assert feed.url == "https://a.test/feed"
    assert feed.credentials.open() == {"user": "ada", "password": "geheim"}
    assert "geheim" not in f"{feed.title} {plan.refused}"
    assert "geheim" not in "".join(export_opml(Feed.objects.all()))
    assert count_import(plan) == OpmlReport(known=1)


def test_a_feed_about_to_be_deleted_is_not_there() -> None:
    FeedFactory(url="https://a.test/", dropping=True, status="stopped")
    assert take_over(planned(row("https://a.test/"))) == OpmlReport(added=1)


def test_export_and_import_agree_on_titles_sites_and_all_tags() -> None:
    add_feed(url="https://a.test/?x=1&y=2", now=NOW, title='A <&> "B"', tags=["TV/Film", "news", "Zoë"])
    add_feed(url="https://b.test/", now=NOW)
    Feed.objects.update(site_url="https://site.test/?a&b")
    before = {(feed.url, feed.title, feed.site_url, *names(feed)) for feed in Feed.objects.all()}
    text = "".join(export_opml(Feed.objects.all(), now=NOW))
    Feed.objects.all().delete()
    Tag.objects.all().delete()
    assert take_over(plan_import(parse_opml(text.encode()), now=NOW)) == OpmlReport(added=2)
    assert {(feed.url, feed.title, feed.site_url, *names(feed)) for feed in Feed.objects.all()} == before


def names(feed: Feed) -> list[str]:
    return [tag.name for tag in feed.tags.all()]


@NIGHTLY
def test_ten_thousand_feeds_are_taken_over_and_given_away() -> None:
    plan = planned(*(row(f"https://{n}.test/", category=f"t{n % 40}") for n in range(10_000)))
    assert take_over(plan) == OpmlReport(added=10_000)
    assert not Item.objects.exists()
    assert len(parse_opml("".join(export_opml(Feed.objects.all())).encode()).outlines) == 10_000


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_one_file_at_the_same_time_add_each_feed_once() -> None:
    plan = planned(*(row(f"https://{n}.test/", category="x") for n in range(100)))
    reports: list[OpmlReport] = []

    def run() -> None:
        try:
            reports.append(import_chunk(plan, begin=0, now=NOW))
        finally:
            connection.close()

    threads = [Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.added for report in reports) == Feed.objects.count() == 100


def test_paused_feeds_stay_paused_and_what_is_lost_is_told() -> None:
    plan = planned(
        '<outline text="Gone" xmlUrl="https://a.test/" miniflux:disabled="true" miniflux:crawler="true"/>'
    )
    take_over(plan)
    assert Feed.objects.get().status == "paused"
    (changed,) = plan.changed
    assert changed.reason == "It is paused there, and so it is here. Not imported: crawler."
