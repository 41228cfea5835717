"""The issues as RSS."""

from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from django.test import Client

from delivery.customisation import set_theme
from subscriptions.models import Subscribable
from tests.factories import NOW, IssueFactory, IssueItemFactory, SubscribableFactory, an_entry, an_issue

pytestmark = pytest.mark.django_db

SITE = "https://letters.example.org"


@pytest.fixture(autouse=True)
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


def test_before_its_first_issue_it_changed_when_the_newsletter_was_made(client: Client, letter: Any) -> None:
    Subscribable.objects.update(created_at=NOW)
    assert parsedate_to_datetime(str(channel(client).findtext("lastBuildDate"))) == NOW


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


def test_it_stays_well_formed_whatever_a_post_holds(client: Client, letter: Any) -> None:
    issue = IssueFactory(subscribable=letter, title="title \x1b")
    entry = an_entry(title="bell \x07 & ]]> <", content="<p>\x01\x0b\ufffe]]></p>").to_json()
    IssueItemFactory(issue=issue, position=0, entry=entry)
    channel(client)


def test_a_newsletter_without_issues_is_empty_and_valid(client: Client) -> None:
    SubscribableFactory(name="weekly", description="", language="")
    found = channel(client)
    assert found.findall("item") == []
    assert found.find("language") is None
    assert found.findtext("description")
