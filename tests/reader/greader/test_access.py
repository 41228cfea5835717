"""Person B uses every id of A's in every call: B sees nothing of A's, and changes nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import serializers

from feeds.models import Feed
from reader.greader.view import CHANGES, QUESTIONS
from reader.models import AppPassword, Channel, Follow, Mute, Reader, Star, TimelineEntry, Unread
from tests.reader.greader.client import READ, READING_LIST, STARRED, UNREAD, GoogleApp, label, stream_path

pytestmark = pytest.mark.django_db
HELD = (Channel, Follow, Mute, TimelineEntry, Unread, Star)


def everything() -> str:
    return "".join(serializers.serialize("json", model.objects.order_by("pk")) for model in HELD)


def test_with_every_name_of_another_reader_nothing_is_seen_and_nothing_changed(
    ada: Reader, bob: Reader, app: GoogleApp, feed: Feed, post: Callable[..., TimelineEntry], channel: Any
) -> None:
    channel("hers").follows.create(feed=feed)
    places = [post(), post(is_unread=False), post(channel("hers"))]
    app.do("edit-tag", i=places[0].entry_id, a=STARRED)
    posts = [place.entry_id for place in places]
    before, his = everything(), GoogleApp(bob)
    for stream in (READING_LIST, READ, UNREAD, STARRED, label("hers"), f"feed/{feed.pk}", f"feed/{feed.url}"):
        assert his.ids(stream) == his.ids(stream, xt=READ) == [], stream
        assert his.ask(stream_path(stream))["items"] == []
    assert his.contents(*posts) == []
    assert his.ask("subscription/list") == {"subscriptions": []}
    assert "hers" not in his.get("tag/list")[1]
    assert his.ask("unread-count")["unreadcounts"] == []
    for tag in (READ, UNREAD, STARRED):
        for way in "ar":
            his.do("edit-tag", i=posts, **{way: tag})
            assert everything() == before, (way, tag)
    his.do("mark-all-as-read", s=READING_LIST)
    refused: list[tuple[str, dict[str, Any]]] = [
        ("mark-all-as-read", {"s": label("hers")}),
        ("mark-all-as-read", {"s": f"feed/{feed.pk}"}),
        ("subscription/edit", {"ac": "unsubscribe", "s": f"feed/{feed.pk}"}),
        ("subscription/edit", {"ac": "edit", "s": f"feed/{feed.pk}", "a": label("x"), "r": label("hers")}),
        ("rename-tag", {"s": label("hers"), "dest": label("his")}),
        ("disable-tag", {"s": label("hers")}),
    ]
    for call, given in refused:
        assert his.post(call, **given)[0] == 404, (call, given)
    assert everything() == before


def test_without_a_key_every_call_is_401(app: GoogleApp) -> None:
    AppPassword.objects.update(digest="0" * 64)
    for call in {*QUESTIONS, *CHANGES}:
        assert app.post(call, s=READING_LIST, i=1) == (401, "Unauthorized"), call
