"""Past issues, one issue, and RSS."""

from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from django.test import Client

from tests.factories import NOW, IssueFactory, IssueItemFactory, SubscribableFactory, an_entry, an_issue

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
    assert "Nothing has gone out yet" in client.get("/s/weekly/archive/").content.decode()


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
    assert "<script" not in page
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
    assert page.count("https://blog.example/cat.jpg") == 1
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
    with django_assert_max_num_queries(6):
        page_of(client, issue)


def test_rss_has_the_issues_with_their_posts(client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    letter = SubscribableFactory(name="weekly", title="Tea & Cake")
    issue = an_issue(posts=2, subscribable=letter, title="Issue <1>")
    IssueFactory(subscribable=letter, published_at=None)
    answer = client.get("/s/weekly/feed.xml")
    assert answer["Content-Type"] == "application/rss+xml; charset=utf-8"
    feed = feedparser.parse(answer.content)
    assert not feed.bozo
    assert feed.feed.title == "Tea & Cake"
    (entry,) = feed.entries
    assert entry.link == f"https://letters.example.org/s/weekly/archive/{issue.pk}/"
    assert entry.id == entry.link
    assert entry.summary.count("The text of post") == 2


def test_rss_stays_well_formed_whatever_a_post_holds(client: Client) -> None:
    issue = issue_with(title="bell \x07 & ]]> <", content="<p>\x01\x0b\ufffe]]></p>")
    issue.title = "title \x1b"
    issue.save()
    ElementTree.fromstring(client.get("/s/weekly/feed.xml").content)  # noqa: S314


def test_rss_of_a_newsletter_without_issues_is_empty_and_valid(client: Client) -> None:
    SubscribableFactory(name="weekly", description="")
    assert feedparser.parse(client.get("/s/weekly/feed.xml").content).entries == []
