"""The demo's Ada: she follows a newsletter by real requests, and her page shows what she gets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from common.clock import utcnow
from demo.bridges import let_ada_follow
from demo.discord.places import API
from demo.fediverse import Ada
from demo.services import ServicesServer
from fediverse.exchange import exchange_due
from fediverse.models import Follower, Reaction
from subscriptions.models import Subscribable
from tests.delivery.corrected import BridgedBlog, dated
from tests.factories import SubscribableFactory
from tests.feeds.watched import at
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord_client import OURS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("loopback_allowed")]


class Page:
    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def text(self) -> str:
        return requests.get(self.url, timeout=10).text

    def press(self, do: str, *, origin: str = "", **fields: str) -> requests.Response:
        number = self.text.partition('name="post" value="')[2].partition('"')[0]
        form = {"do": do, "post": number, **fields}
        headers = {"Origin": origin} if origin else {}
        answer = requests.post(self.url, data=form, headers=headers, timeout=10)
        exchange_due()
        return answer


@pytest.fixture
def notes(live_server: Any, settings: Any, tmp_path: Path) -> Subscribable:
    settings.SITE_URL, settings.DATA_DIR = live_server.url, str(tmp_path)
    made: Subscribable = SubscribableFactory(name="harbour-notes", arrangement="each", visibility="public")
    return made


@pytest.fixture
def ada(notes: Subscribable, settings: Any, tmp_path: Path) -> Iterator[Page]:
    server = ServicesServer(tmp_path, utcnow, application=OURS, port=0)
    url = f"http://127.0.0.1:{server.server_port}"
    settings.DISCORD_API_URL = f"{url}{API}"
    with server.in_thread():
        let_ada_follow(notes, at(0))
        yield Page(f"{url}/fediverse/")


@pytest.fixture
def blog(ada: Page, notes: Subscribable) -> Iterator[BridgedBlog]:
    with FeedServer() as feeds:
        blog = BridgedBlog(feeds)
        blog.watch()
        notes.feeds.set([blog.feed])
        blog.read(0)
        blog.new(dated("a", 10, title="Bee hotels"))
        blog.pass_by(20, 40, 60)
        yield blog


def test_an_issue_is_shown_then_marked_as_edited_and_as_deleted(ada: Page, blog: BridgedBlog) -> None:
    assert "Bee hotels" in (first := ada.text)
    assert "· edited" not in first
    blog.new(dated("a", 10, title="Bee hotels, corrected"))
    blog.pass_by(70, 80, 90, 100)
    assert "corrected" in (shown := ada.text)
    assert "· edited" in shown
    blog.new()
    blog.pass_by(110, 200, 300, 400)
    assert "Bee hotels" not in (shown := ada.text)
    assert "The newsletter deleted this." in shown


def test_a_reply_and_a_like_reach_the_issue(ada: Page, blog: BridgedBlog) -> None:
    assert "Ada:</b> &lt;b&gt;Hm" in ada.press("reply", text="<b>Hm").text
    assert "Liked" in ada.press("like").text
    rows = Reaction.objects.order_by("kind").values_list("kind", "handle", "text")
    handle = f"ada@{ada.url.split('/')[2]}"
    assert list(rows) == [("like", handle, ""), ("reply", handle, "<b>Hm")]
    assert "Liked" not in ada.press("unlike").text
    assert Reaction.objects.get().kind == "reply"
    assert "the reply is empty" in ada.press("reply", text=" ").text


def test_she_unfollows_and_follows_again(ada: Page) -> None:
    assert "Unfollow" in ada.text
    assert ">Follow<" in ada.press("unfollow").text
    assert not Follower.objects.exists()
    assert "has asked to follow" in ada.press("follow").text
    assert Follower.objects.get().uri == ada.url
    assert "has asked to follow" not in ada.text


def test_nobody_else_speaks_to_her_or_for_her(ada: Page, blog: BridgedBlog) -> None:
    note = {"type": "Create", "object": {"id": "http://elsewhere.example/1"}}
    assert requests.post(f"{ada.url}inbox", json=note, timeout=10).status_code == 401
    assert ada.press("unfollow", origin="http://elsewhere.example").status_code == 403
    assert Follower.objects.exists()


def test_a_site_that_is_away_is_named(ada: Page, blog: BridgedBlog, tmp_path: Path) -> None:
    known = Ada.load(tmp_path)
    assert known
    known.save(tmp_path, newsletter="http://127.0.0.1:9/s/harbour-notes/")
    for do in ("like", "unfollow"):
        assert "answered nothing" in ada.press(do).text
    assert "Liked" not in ada.text
    assert "Unfollow" in ada.text
