"""Posts for apps: required fields are always present, in the required type."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from feeds.models import Feed
from reader.media.pictures import media_path
from reader.models import Channel, Reader, Star, TimelineEntry
from reader.rules.google_names import post_name
from reader.timelines.stars import star
from tests.factories import NOW
from tests.reader.greader.client import READ, READING_LIST, STARRED, GoogleApp, label
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
Post = Callable[..., TimelineEntry]


@pytest.fixture
def shown(app: GoogleApp, post: Post) -> Callable[..., dict[str, Any]]:
    """Return a function from jf2 to the post in the API."""

    def one(**jf2: Any) -> dict[str, Any]:
        (item,) = app.contents(post(jf2=jf2).entry_id)
        return item

    return one


def test_a_whole_post(app: GoogleApp, ada: Reader, post: Post, feed: Feed) -> None:
    Feed.objects.update(site_url="https://blog.example/")
    jf2 = {
        "url": "https://blog.example/1",
        "name": "Tide <3",
        "content": {"html": "<p>High &amp; low</p>", "text": "High & low"},
        "author": {"name": "Ada", "url": "https://ada.example/"},
        "audio": ["https://blog.example/a.ogg", "https://blog.example/play?id=1"],
    }
    place = post(jf2=jf2, published=minutes(-60), came_at=minutes(1), is_unread=False)
    star(reader=ada, entries=[place.entry_id], now=NOW)
    came = int(minutes(1).timestamp() * 1_000_000)
    assert app.contents(place.entry_id) == [
        {
            "id": post_name(place.entry_id),
            "crawlTimeMsec": str(came // 1_000),
            "timestampUsec": str(came),
            "published": int(minutes(-60).timestamp()),
            "updated": int(minutes(-60).timestamp()),
            "title": "Tide <3",
            "canonical": [{"href": "https://blog.example/1"}],
            "alternate": [{"href": "https://blog.example/1", "type": "text/html"}],
            "summary": {"content": "<p>High &amp; low</p>"},
            "author": "Ada",
            "categories": [READING_LIST, READ, STARRED, label("Home")],
            "origin": {"streamId": f"feed/{feed.pk}", "title": "Blog", "htmlUrl": "https://blog.example/"},
            "enclosure": [
                {"href": "https://blog.example/a.ogg", "type": "audio/ogg"},
                {"href": "https://blog.example/play?id=1", "type": "audio/mpeg"},
            ],
        }
    ]


def test_what_a_post_lacks_is_empty_and_not_missing(shown: Callable[..., dict[str, Any]], feed: Feed) -> None:
    item = shown()
    assert (item["title"], item["summary"]) == ("", {"content": ""})
    assert item["canonical"] == [{"href": feed.site_url}]
    assert item["published"] == int(NOW.timestamp())
    assert not {"author", "enclosure"} & item.keys()


def test_a_post_without_title_has_its_first_words_as_title(shown: Callable[..., dict[str, Any]]) -> None:
    assert shown(content={"html": "<p>High &amp; low</p>"})["title"] == "High & low"
    assert len(shown(content={"html": f"<p>{'tide ' * 100}</p>"})["title"]) <= 80


def test_a_text_without_html_is_escaped(shown: Callable[..., dict[str, Any]]) -> None:
    assert shown(content={"text": "a < b"})["summary"]["content"] == "a &lt; b"


def test_pictures_beside_the_text_are_shown_once(shown: Callable[..., dict[str, Any]]) -> None:
    inside, beside = "https://e.example/in.png", "https://e.example/be.png?a=1&b=%22"
    item = shown(content={"html": f'<img src="{inside}">'}, photo=[inside, beside])
    assert item["summary"]["content"] == (
        f'<img src="{settings.SITE_URL}{media_path(inside)}" alt="">'
        f'<p><img src="{settings.SITE_URL}{media_path(beside)}" alt=""></p>'
    )
    assert [one["type"] for one in item["enclosure"]] == ["image/png", "image/png"]


def test_a_post_of_an_address_alone_leads_there(shown: Callable[..., dict[str, Any]]) -> None:
    liked = "https://e.example/?a=1&b=2"
    assert shown(**{"like-of": [liked]})["summary"]["content"].count("https://e.example/?a=1&amp;b=2") == 2


def test_a_starred_post_without_place_or_feed_has_all_that_apps_insist_on(
    app: GoogleApp, ada: Reader, home: Channel
) -> None:
    place = put(home, an_entry(jf2={"author": {"name": "Eve"}}))
    star(reader=ada, entries=[place.entry_id], now=NOW)
    place.delete()
    assert Star.objects.count() == 1
    (item,) = app.contents(place.entry_id)
    assert item["origin"] == {"streamId": "feed/0", "title": "Eve", "htmlUrl": ""}
    assert item["categories"] == [READING_LIST, READ, STARRED]
    assert item["canonical"] == [{"href": ""}]
