"""Every picture of a post is served from our own URL, on pages and for clients."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reader.media.icons import html_by_proxy, jf2_by_proxy
from reader.media.pictures import media_path
from reader.models import Channel, Reader
from tests.reader.client import MicrosubClient
from tests.reader.greader.client import READING_LIST, GoogleApp
from tests.reader.posts import an_entry, put

SITE = "http://127.0.0.1:8000"
POST: dict[str, Any] = {
    "type": "entry",
    "url": "https://tide.example.org/1",
    "photo": ["https://else.example.com/a.png", "data:image/png;base64,AAAA"],
    "featured": ["https://else.example.com/b.png"],
    "author": {"type": "card", "name": "Ada", "photo": "https://else.example.com/ada.png"},
    "content": {
        "text": "Look",
        "html": '<p>Look <img src="https://else.example.com/c.png?a=1&amp;b=2" alt="a &quot;boat&quot;"></p>'
        '<img src="mailto:x@else.example.com" alt="&lt;none&gt;">',
    },
    "refs": {
        "https://q.example.net/": {
            "type": "cite",
            "photo": ["https://else.example.com/d.png"],
            "author": {"type": "card", "name": "Eve", "photo": "https://else.example.com/eve.png"},
        }
    },
}


def ours(url: str) -> str:
    return SITE + media_path(url)


def test_a_post_as_jf2_names_our_addresses_alone() -> None:
    found = jf2_by_proxy(POST, site=SITE)
    assert found["photo"] == [ours("https://else.example.com/a.png")]
    assert found["featured"] == [ours("https://else.example.com/b.png")]
    assert found["author"]["photo"] == ours("https://else.example.com/ada.png")
    cite = found["refs"]["https://q.example.net/"]
    assert cite["photo"] == [ours("https://else.example.com/d.png")]
    assert cite["author"]["photo"] == ours("https://else.example.com/eve.png")
    picture = ours("https://else.example.com/c.png?a=1&b=2")
    assert found["content"]["html"] == (
        f'<p>Look <img src="{picture}" alt="a &quot;boat&quot;"></p>&lt;none&gt;'
    )
    assert "else.example.com" not in json.dumps(found)
    assert POST["photo"][0] == "https://else.example.com/a.png", "what is stored stays as it was"


def test_what_has_no_picture_stays_as_it_is() -> None:
    post = {"type": "entry", "name": "Tide", "content": {"text": "six"}, "author": {"name": "Ada"}}
    assert jf2_by_proxy(post, site=SITE) == post
    assert html_by_proxy("<p>six &lt;img src=x&gt;</p>") == "<p>six &lt;img src=x&gt;</p>"


@pytest.mark.django_db
def test_clients_get_our_addresses_too(home: Channel, api: MicrosubClient) -> None:
    put(home, an_entry(jf2=POST))
    for items in (
        api.ask("timeline", channel="home")["items"],
        api.ask("search", channel="global", query="post")["items"],
    ):
        assert items[0]["author"]["photo"].startswith(f"{SITE}/reader/media/")
        assert "else.example.com" not in json.dumps(items)


@pytest.mark.django_db
def test_no_answer_of_any_protocol_names_a_foreign_picture(
    ada: Reader, home: Channel, web: Callable[[Reader], Client]
) -> None:
    """A browser or an app that loads one reveals to its server who reads what."""
    place = put(home, an_entry(jf2=POST))
    app, browser, api = GoogleApp(ada), web(ada), MicrosubClient(ada)
    pages = ["/reader/", "/reader/c/home/", "/reader/deck/", "/reader/starred/", "/reader/search/?q=post"]
    answers = [browser.get(page).content.decode() for page in (*pages, f"/reader/post/{place.entry_id}/")]
    for layout in Channel.Layout.values:
        Channel.objects.filter(pk=home.pk).update(layout=layout)
        answers.append(browser.get("/reader/c/home/").content.decode())
    answers += [json.dumps(api.ask("timeline", channel="home")), json.dumps(api.ask("channels"))]
    answers += [app.get(call, output="json", s=READING_LIST)[1] for call in ("stream/contents", "tag/list")]
    answers += [json.dumps(app.contents(place.entry_id))]
    assert sum("/reader/media/" in answer for answer in answers) >= len(answers) - 4
    for answer in answers:
        assert "else.example.com" not in answer
