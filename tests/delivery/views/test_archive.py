"""Past issues, and one issue.

The issues as RSS.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from django.test import Client

from delivery.customisation import set_theme
from delivery.issues.contents import card_of
from subscriptions.models import Subscribable
from tests.factories import NOW, IssueFactory, IssueItemFactory, SubscribableFactory, an_entry, an_issue

SITE = "https://letters.example.org"
pytestmark = pytest.mark.django_db


def issue_with(**entry: Any) -> Any:
    issue = IssueFactory(subscribable=SubscribableFactory(name="weekly"))
    IssueItemFactory(issue=issue, position=0, entry=an_entry(**entry).to_json())
    return issue


def page_of(client: Client, issue: Any) -> str:
    answer = client.get(f"/s/weekly/archive/{issue.pk}/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_archive_lists_published_issues_newest_first(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    for days in (3, 1, 2):
        IssueFactory(subscribable=letter, title=f"{days} days old", published_at=NOW - timedelta(days=days))
    IssueFactory(subscribable=letter, title="Not out", published_at=None)
    IssueFactory(title="Of another letter")
    page = client.get("/s/weekly/archive/").content.decode()
    assert page.index("1 days old") < page.index("2 days old") < page.index("3 days old")
    assert "Not out" not in page
    assert "Of another letter" not in page


def test_an_archive_without_issues_says_so(client: Client) -> None:
    SubscribableFactory(name="weekly")
    assert "Nothing has been sent yet" in client.get("/s/weekly/archive/").content.decode()


def test_a_long_archive_comes_in_pages_and_takes_any_page_number(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    IssueFactory.create_batch(51, subscribable=letter)
    assert "Older issues" in client.get("/s/weekly/archive/").content.decode()
    assert "Newer issues" in client.get("/s/weekly/archive/?page=2").content.decode()
    for number in ("0", "-1", "x", "9" * 30):
        assert client.get(f"/s/weekly/archive/?page={number}").status_code == 200


def test_an_issue_shows_its_posts_as_they_stood(client: Client) -> None:
    issue = issue_with(title="A post", content="<p>With <em>words</em>.</p>", authors=("Ada", "Grace"))
    issue.html = "<p>Dear SECRETHOLE</p>"
    issue.save()
    page = page_of(client, issue)
    assert "A post" in page
    assert "<p>With <em>words</em>.</p>" in page
    assert "Ada, Grace" in page
    assert "SECRETHOLE" not in page


def test_a_field_in_a_post_stays_text(client: Client) -> None:
    assert "%ToEmail%" in page_of(client, issue_with(content="<p>Write %ToEmail%.</p>"))


def test_everything_of_a_post_but_its_text_is_escaped(client: Client) -> None:
    page = page_of(client, issue_with(title="<script>1</script>", authors=("<b>me</b>",), guid="x"))
    assert "<script>" not in page
    assert "<b>me" not in page


@pytest.mark.parametrize("link", ["javascript:alert(1)", "data:text/html,x", "//x", "http://[", ""])
def test_a_link_that_is_none_of_the_web_is_no_link(client: Client, link: str) -> None:
    page = page_of(client, issue_with(title="A post", link=link, image=link))
    assert "A post" in page
    assert "javascript:" not in page
    assert "data:text" not in page


def test_pictures_and_sounds_of_a_post_are_there_once(client: Client) -> None:
    entry = an_entry(content="<p>Text.</p>").to_json()
    entry["media"] = [
        {"url": "https://blog.example/cat.jpg", "type": "image/jpeg", "length": 1, "alt": "A cat"},
        {"url": "https://blog.example/talk.mp3", "type": "audio/mpeg", "length": 1, "alt": ""},
        {"url": "javascript:alert(1)", "type": "audio/mpeg", "length": 1, "alt": ""},
    ]
    issue = IssueFactory(subscribable=SubscribableFactory(name="weekly"))
    IssueItemFactory(issue=issue, entry=entry)
    page = page_of(client, issue)
    assert page.count('<img src="https://blog.example/cat.jpg"') == 1
    assert 'alt="A cat"' in page
    assert ">talk.mp3</a>" in page
    assert "javascript:" not in page


def test_an_issue_is_found_only_under_its_own_newsletter(client: Client) -> None:
    issue = issue_with()
    SubscribableFactory(name="other")
    unpublished = IssueFactory(subscribable=issue.subscribable, published_at=None)
    for path in (f"other/archive/{issue.pk}/", f"weekly/archive/{unpublished.pk}/", "weekly/archive/999999/"):
        assert client.get(f"/s/{path}").status_code == 404
    assert client.get(f"/s/weekly/archive/{'9' * 40}/").status_code == 404


def test_issues_lead_to_their_neighbours(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    first, second, third = (
        IssueFactory(subscribable=letter, title=f"Number {n}", published_at=NOW + timedelta(days=n))
        for n in (1, 2, 3)
    )
    page = page_of(client, second)
    assert f"/archive/{first.pk}/" in page
    assert f"/archive/{third.pk}/" in page


def test_pages_run_no_script_and_stay_out_of_frames(client: Client) -> None:
    issue = issue_with()
    for path in ("", "archive/", f"archive/{issue.pk}/"):
        answer = client.get(f"/s/weekly/{path}")
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert not answer.cookies


def test_the_archive_asks_the_database_a_few_times_however_many_posts(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    issue = an_issue(posts=20, subscribable=SubscribableFactory(name="weekly"))
    with django_assert_max_num_queries(4):
        page_of(client, issue)
    # The issue itself, and the site's settings.
    with django_assert_max_num_queries(2):
        page_of(client, issue)


def test_years_lead_to_the_issues_of_each_in_the_newsletters_own_zone(client: Client) -> None:
    letter = SubscribableFactory(name="weekly", time_zone="America/New_York")
    # Half past eleven on New Year's Eve in New York.
    IssueFactory(
        subscribable=letter, title="The last one", published_at=datetime(2026, 1, 1, 4, 30, tzinfo=UTC)
    )
    IssueFactory(subscribable=letter, title="The first one", published_at=datetime(2026, 1, 1, 5, tzinfo=UTC))
    every = client.get("/s/weekly/archive/").content.decode()
    assert every.index(">2026</h2>") < every.index("The first one") < every.index(">2025</h2>")
    old = client.get("/s/weekly/archive/?year=2025").content.decode()
    assert "The last one" in old
    assert "The first one" not in old
    for nonsense in ("x", "0", "1999", "99999", "-1", "²⁰²⁵"):
        assert "The first one" in client.get(f"/s/weekly/archive/?year={nonsense}").content.decode()


def test_a_long_archive_is_searched_by_words_of_titles(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    IssueFactory.create_batch(12, subscribable=letter)
    assert 'type="search"' not in client.get("/s/weekly/archive/").content.decode()
    IssueFactory(subscribable=letter, title="Herons, and 100 % of owls")
    page = client.get("/s/weekly/archive/").content.decode()
    assert 'type="search"' in page
    for words in ("owls HERONS", "% of", " % ", " owls "):
        found = client.get("/s/weekly/archive/", {"q": words}).content.decode()
        assert found.count("/s/weekly/archive/") == 1, words
        assert "noindex" in found
    for words in ("swallows", "\x00", "<b>", "x" * 5000):
        nothing = client.get("/s/weekly/archive/", {"q": words})
        assert nothing.status_code == 200
        assert "<b>" not in nothing.content.decode()
    assert (
        "No issue matches your search" in client.get("/s/weekly/archive/", {"q": "swallows"}).content.decode()
    )


def carded(newsletter: Any, title: str, *entries: Any, days: int = 0) -> Any:
    issue = IssueFactory(subscribable=newsletter, title=title, published_at=NOW - timedelta(days=days))
    card_of(issue, entries).save()
    return issue


def test_the_archive_lists_the_titles_of_each_issues_posts(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    carded(
        letter, "Rain, and 12 more", *(an_entry(n, title="Rain" if not n else f"<b>{n}") for n in range(13))
    )
    carded(letter, "Snow", an_entry(20, title="Snow"))
    carded(letter, "Posts, 2026-03-05", an_entry(21, title="Hail"), an_entry(22, title="גשם"))
    page = client.get("/s/weekly/archive/").content.decode()
    assert page.count("Rain") == page.count("Snow") == 1
    assert "<bdi>&lt;b&gt;1</bdi> · <bdi>&lt;b&gt;2</bdi>" in page
    assert "&lt;b&gt;10</bdi> and 2 more" in page
    assert "&lt;b&gt;11" not in page
    assert "<bdi>Hail</bdi> · <bdi>גשם</bdi>" in page


def test_a_search_finds_words_of_posts(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    carded(letter, "First", an_entry(1, title="Über Reiher", content="<p>Der Graureiher fischt.</p>"))
    carded(letter, "Second", an_entry(2, title="Owls", content="<p>Élan, <b>100 %</b> of them.</p>"))
    IssueFactory(subscribable=letter, title="Third owl, without a card")
    for words, found in {
        "graureiher": ["First"],
        "ÜBER fisch": ["First"],
        "uber": ["First"],
        "elan": ["Second"],
        "owl": ["Second", "Third"],
        "owl 100 %": ["Second"],
        "reiher owls": [],
        "eiher": [],
        "b": [],
        "%": [],
        "_": [],
    }.items():
        page = client.get("/s/weekly/archive/", {"q": words}).content.decode()
        titles = re.findall(r'/archive/\d+/"><bdi>(\w+)', page)
        assert sorted(titles) == found, words


def test_the_list_of_issues_asks_the_database_a_few_times(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    letter = SubscribableFactory(name="weekly")
    for number in range(20):
        carded(letter, f"Issue {number}", an_entry(number), an_entry(number + 100))
    with django_assert_max_num_queries(5):
        client.get("/s/weekly/archive/", {"q": "post"})


def test_pages_of_a_search_keep_its_words_and_its_year(client: Client) -> None:
    IssueFactory.create_batch(51, subscribable=SubscribableFactory(name="weekly"))
    page = client.get("/s/weekly/archive/", {"q": "issue", "year": "2026"}).content.decode()
    assert 'href="?q=issue&amp;year=2026&amp;page=2"' in page


def test_issues_of_the_same_moment_are_neighbours_as_well(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    first, second, third = IssueFactory.create_batch(3, subscribable=letter)
    assert f"/archive/{first.pk}/" in (page := page_of(client, second))
    assert f"/archive/{third.pk}/" in page


def test_a_link_to_an_issue_shows_what_is_in_it(client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    issue = issue_with(content="<p>All of <b>it</b>.</p>", image="https://blog.example/cat.jpg")
    page = page_of(client, issue)
    address = f"https://letters.example.org/s/weekly/archive/{issue.pk}/"
    for property_, content in (
        ("og:type", "article"),
        ("og:url", address),
        ("og:title", issue.title),
        ("og:description", "All of it."),
        ("og:image", "https://blog.example/cat.jpg"),
    ):
        assert f'<meta property="{property_}" content="{content}">' in page
    assert f'<link rel="canonical" href="{address}">' in page
    assert '<meta name="twitter:card" content="summary_large_image">' in page


def test_an_issue_is_in_its_language_and_the_page_in_its_readers(client: Client) -> None:
    issue = issue_with(title="iPhone: שלום", content="<p>שלום</p>", language="he")
    issue.subscribable.language = "he"
    issue.subscribable.save()
    page = page_of(client, issue)
    assert '<html lang="en" dir="ltr">' in page
    assert '<article class="issue" lang="he" dir="rtl">' in page
    assert '<section class="post" dir="rtl" lang="he" id="post-1">' in page


def test_an_issue_ends_with_the_form_of_its_newsletter_while_that_is_open(client: Client) -> None:
    issue = issue_with()
    page = page_of(client, issue)
    assert page.index("</article>") < page.index('<form class="sign-up" method="post" action="/s/weekly/"')
    issue.subscribable.sign_up = "closed"
    issue.subscribable.save()
    assert "<form" not in page_of(client, issue)


def test_pages_may_be_kept_for_a_while_by_anybody(client: Client) -> None:
    issue = issue_with()
    for path in ("archive/", f"archive/{issue.pk}/", "feed.xml", ""):
        answer = client.get(f"/s/weekly/{path}")
        assert "public" in answer["Cache-Control"], path
        assert "max-age=" in answer["Cache-Control"], path


def test_an_unlisted_newsletters_pages_are_not_indexed(client: Client) -> None:
    issue = an_issue(subscribable=SubscribableFactory(name="weekly", visibility="unlisted"))
    for path in ("", "archive/", f"archive/{issue.pk}/"):
        assert '<meta name="robots" content="noindex">' in client.get(f"/s/weekly/{path}").content.decode()


def test_the_list_shows_the_first_picture_of_each_issue(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    carded(
        letter, "Rain", an_entry(1), an_entry(2, content='<img src="https://blog.example/rain.jpg" alt="">')
    )
    carded(letter, "Words", an_entry(3))
    shown = '<img class="thumbnail" src="https://blog.example/rain.jpg" alt=""'
    page = client.get("/s/weekly/archive/").content.decode()
    assert (page.count("thumbnail"), page.count(shown)) == (1, 1)


@pytest.fixture
def _site(settings: Any) -> None:
    settings.SITE_URL = SITE


@pytest.fixture
def letter() -> Any:
    return SubscribableFactory(name="weekly", title="Tea & Cake", language="en_GB")


def channel(client: Client) -> ElementTree.Element:
    document = ElementTree.fromstring(client.get("/s/weekly/feed.xml").content)  # noqa: S314
    found = document.find("channel")
    assert found is not None
    return found


@pytest.mark.usefixtures("_site")
def test_it_has_the_issues_with_their_posts(client: Client, letter: Any) -> None:
    issue = an_issue(posts=2, subscribable=letter, title="Issue <1>")
    IssueFactory(subscribable=letter, published_at=None)
    answer = client.get("/s/weekly/feed.xml")
    assert answer["Content-Type"] == "application/rss+xml; charset=utf-8"
    feed = feedparser.parse(answer.content)
    assert not feed.bozo
    assert (feed.feed.title, feed.feed.language) == ("Tea & Cake", "en-GB")
    (entry,) = feed.entries
    assert entry.link == entry.id == f"{SITE}/s/weekly/archive/{issue.pk}/"
    assert entry.summary.startswith("Post ")
    assert entry.content[0].value.count("The text of post") == 2


@pytest.mark.usefixtures("_site")
def test_it_keeps_to_what_validators_ask_for(client: Client, letter: Any) -> None:
    """https://validator.w3.org/feed/docs/rss2.html"""
    set_theme(subscribable=letter, logo_url="https://letters.example.org/logo.png")
    an_issue(subscribable=letter)
    found = channel(client)
    self_link = found.find("{http://www.w3.org/2005/Atom}link")
    assert self_link is not None
    assert self_link.attrib == {"rel": "self", "href": f"{SITE}/s/weekly/feed.xml"}
    image = {each.tag: each.text for each in found.findall("image/*")}
    assert image == {"url": f"{SITE}/logo.png", "title": "Tea & Cake", "link": f"{SITE}/s/weekly/"}
    assert found.findtext("link") == f"{SITE}/s/weekly/"
    assert found.findtext("description")
    for date in (found.findtext("lastBuildDate"), found.findtext("item/pubDate")):
        assert parsedate_to_datetime(str(date)) == NOW
    guids = [guid.attrib["isPermaLink"] for guid in found.findall("item/guid")]
    assert guids == ["true"]


@pytest.mark.usefixtures("_site")
def test_before_its_first_issue_it_changed_when_the_newsletter_was_made(client: Client, letter: Any) -> None:
    Subscribable.objects.update(created_at=NOW)
    assert parsedate_to_datetime(str(channel(client).findtext("lastBuildDate"))) == NOW


@pytest.mark.usefixtures("_site")
def test_who_has_it_already_is_told_so_without_reading_the_posts(
    client: Client, letter: Any, django_assert_num_queries: Any
) -> None:
    an_issue(subscribable=letter)
    first = client.get("/s/weekly/feed.xml")
    with django_assert_num_queries(3):
        again = client.get("/s/weekly/feed.xml", headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Cache-Control"] == first["Cache-Control"] == "public, max-age=300"
    since = client.get("/s/weekly/feed.xml", headers={"if-modified-since": first["Last-Modified"]})
    assert since.status_code == 304
    assert parsedate_to_datetime(first["Last-Modified"]) == NOW


@pytest.mark.parametrize("change", ["title", "logo", "issue"])
@pytest.mark.usefixtures("_site")
def test_what_changes_the_feed_changes_its_tag(client: Client, letter: Any, change: str) -> None:
    an_issue(subscribable=letter)
    tag = client.get("/s/weekly/feed.xml")["ETag"]
    if change == "title":
        letter.title = "Tea"
        letter.save()
    elif change == "logo":
        set_theme(subscribable=letter, logo_url="https://letters.example.org/logo.png")
    else:
        an_issue(subscribable=letter)
    answer = client.get("/s/weekly/feed.xml", headers={"if-none-match": tag})
    assert answer.status_code == 200
    assert answer["ETag"] != tag


@pytest.mark.usefixtures("_site")
def test_it_stays_well_formed_whatever_a_post_holds(client: Client, letter: Any) -> None:
    issue = IssueFactory(subscribable=letter, title="title \x1b")
    entry = an_entry(title="bell \x07 & ]]> <", content="<p>\x01\x0b\ufffe]]></p>").to_json()
    IssueItemFactory(issue=issue, position=0, entry=entry)
    channel(client)


@pytest.mark.usefixtures("_site")
def test_a_newsletter_without_issues_is_empty_and_valid(client: Client) -> None:
    SubscribableFactory(name="weekly", description="", language="")
    found = channel(client)
    assert found.findall("item") == []
    assert found.find("language") is None
    assert found.findtext("description")
