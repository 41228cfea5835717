"""Public pages for search engines and link previews."""

import io
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from PIL import Image

from delivery.customisation import set_theme
from subscriptions.branding.brands import alter_site
from tests.factories import (
    NOW,
    BridgeFactory,
    DestinationFactory,
    FeedFactory,
    IssueFactory,
    IssueItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_entry,
    an_issue,
)

pytestmark = pytest.mark.django_db
SITE = "https://letters.example.org"


@pytest.fixture(autouse=True)
def _site(settings: Any) -> None:
    settings.SITE_URL = SITE


def locations(client: Client, path: str) -> list[str]:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("application/xml")
    return re.findall("<loc>(.*?)</loc>", answer.content.decode())


def data_of(client: Client, path: str) -> dict[str, Any]:
    (text,) = re.findall(
        r'<script type="application/ld\+json">(.*?)</script>', client.get(path).content.decode()
    )
    data: dict[str, Any] = json.loads(text)
    return data


def a_bridge(feed: Any, kind: str = "bluesky", **facts: Any) -> Any:
    bridge = BridgeFactory(channel=kind, feeds=[feed], **facts)
    place = DestinationFactory(kind=kind, config={"handle": "valley.example"})
    SubscriptionFactory(subscribable=bridge, destination=place)
    return bridge


def test_sitemaps_list_public_newsletters_and_the_issues_that_have_pages(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    old, new = (an_issue(subscribable=letter, published_at=NOW + timedelta(days=day)) for day in (1, 2))
    IssueFactory(subscribable=letter, published_at=None)
    IssueFactory(subscribable=letter, is_hidden=True)
    SubscribableFactory(name="secret", visibility="unlisted")
    SubscribableFactory(name="own", visibility="private")
    BridgeFactory(name="toots")
    assert locations(client, "/sitemap.xml") == [f"{SITE}/s/weekly/sitemap.xml"]
    archive = f"{SITE}/s/weekly/archive/"
    shown = [f"{SITE}/s/weekly/", archive, f"{archive}{new.pk}/", f"{archive}{old.pk}/"]
    assert locations(client, "/s/weekly/sitemap.xml") == shown
    assert {client.get(f"/s/{name}/sitemap.xml").status_code for name in ("secret", "own")} == {404}
    robots = client.get("/robots.txt").content.decode()
    assert re.search("^Sitemap: http.*/sitemap.xml$", robots, re.MULTILINE)


def test_a_sitemap_asks_the_database_the_same_however_long_it_is(
    client: Client, django_assert_num_queries: Any
) -> None:
    letter = SubscribableFactory(name="weekly")
    IssueFactory.create_batch(20, subscribable=letter)
    with django_assert_num_queries(2):
        client.get("/s/weekly/sitemap.xml")
    with django_assert_num_queries(1):
        client.get("/sitemap.xml")


def test_an_issue_is_an_article_of_its_newsletter(client: Client) -> None:
    alter_site(name="The Valley", about="Walks")
    feed = FeedFactory()
    letter = SubscribableFactory(name="weekly", title="Notes", language="de", feeds=[feed])
    issue = IssueFactory(subscribable=letter, title="Rain </script><script>1")
    IssueItemFactory(issue=issue, entry=an_entry(content="<p>Much</p>").to_json())
    a_bridge(feed)
    path = f"/s/weekly/archive/{issue.pk}/"
    data = data_of(client, path)
    assert data["@type"] == "NewsArticle"
    assert data["headline"] == issue.title
    assert data["url"] == SITE + path
    assert data["inLanguage"] == "de"
    assert data["image"] == f"{SITE}{path}picture.png"
    newsletter = data["isPartOf"]
    assert (newsletter["@type"], newsletter["url"]) == ("Periodical", f"{SITE}/s/weekly/")
    assert newsletter["sameAs"] == ["https://bsky.app/profile/valley.example"]
    assert data["publisher"] == {
        "@type": "Organization",
        "name": "The Valley",
        "url": f"{SITE}/",
        "description": "Walks",
    }
    assert data_of(client, "/s/weekly/")["sameAs"] == newsletter["sameAs"]
    assert data_of(client, "/") == {"@context": "https://schema.org", **data["publisher"]}


@pytest.mark.parametrize("facts", [{"visibility": "unlisted"}, {"visibility": "private"}, {"stopped": True}])
def test_accounts_of_bridges_that_are_not_listed_are_not_named(client: Client, facts: dict[str, Any]) -> None:
    feed = FeedFactory()
    SubscribableFactory(name="weekly", feeds=[feed])
    a_bridge(feed, **facts)
    assert "bsky.app" not in client.get("/s/weekly/").content.decode()


def test_pages_say_which_address_counts(client: Client) -> None:
    letter = SubscribableFactory(name="weekly")
    IssueFactory.create_batch(51, subscribable=letter)
    for path, address in {
        "/": "/",
        "/?x=1": "/",
        "/s/weekly/archive/": "/s/weekly/archive/",
        "/s/weekly/archive/?page=2&x=1": "/s/weekly/archive/?page=2",
        "/s/weekly/archive/?year=2026&page=9": "/s/weekly/archive/?year=2026&amp;page=2",
    }.items():
        assert f'<link rel="canonical" href="{SITE}{address}">' in client.get(path).content.decode(), path
    assert "canonical" not in client.get("/s/weekly/archive/?q=issue").content.decode()


def test_an_issue_without_a_picture_has_its_title_as_one(client: Client) -> None:
    letter = SubscribableFactory(name="weekly", title="Notes")
    set_theme(subscribable=letter, accent="#ffd400")
    issue = IssueFactory(subscribable=letter, title="Über Reiher")
    path = f"/s/weekly/archive/{issue.pk}/"
    page = client.get(path).content.decode()
    assert f'<meta property="og:image" content="{SITE}{path}picture.png">' in page
    answer = client.get(f"{path}picture.png")
    assert answer["Content-Type"] == "image/png"
    picture = Image.open(io.BytesIO(answer.content)).convert("RGB")
    assert picture.size == (1200, 630)
    assert picture.getpixel((5, 5)) == (0xFF, 0xD4, 0)
    assert client.get(f"{path}picture.png", headers={"if-none-match": answer["ETag"]}).status_code == 304
    hidden = IssueFactory(subscribable=letter, is_hidden=True)
    assert client.get(f"/s/weekly/archive/{hidden.pk}/picture.png").status_code == 404


def test_the_picture_follows_the_title(client: Client) -> None:
    issue = IssueFactory(subscribable=SubscribableFactory(name="weekly"), title="Before")
    path = f"/s/weekly/archive/{issue.pk}/picture.png"
    before = client.get(path)
    issue.title = "After"
    issue.save()
    after = client.get(path)
    assert before["ETag"] != after["ETag"]
    assert before.content != after.content
