"""Person B opens every URL with every key of A's: nothing of A's is shown or changed.

The URLs come from the URL table: a new one fails here until its key is classified.
"""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from django.core import serializers
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.test import Client

from common.signing import WITH_TAIL
from reader.channels.filters import mute
from reader.channels.follows import follow_feed
from reader.microsub.actions import ASKED, POSTED
from reader.microsub.view import EVENTS
from reader.models import (
    Channel,
    Composition,
    Follow,
    Marking,
    Mute,
    Reader,
    Star,
    TimelineEntry,
    Token,
    Unread,
)
from reader.people.tokens import make_token
from reader.urls import urlpatterns
from tests.factories import NOW, FeedFactory
from tests.reader.client import MicrosubClient
from tests.reader.posts import an_entry, put
from tests.reader.streams.open import close

pytestmark = pytest.mark.django_db

HELD: tuple[type[Model], ...] = (
    Channel,
    Follow,
    Mute,
    TimelineEntry,
    Unread,
    Star,
    Marking,
    Token,
    Composition,
)
SECRETS = ("Hers alone", "Of Ada", "Written by Ada", "muted.example")
# URLs that are authorized by something else than a sign-in, each with the reason.
ELSEWHERE = {
    "media": "its authority is a stamp of ours",
    "microsub": "its authority is a token: below",
    "greader": "its authority is a key of an app",
    "greader_php": "its authority is a key of an app",
    "invitation": "its authority is a key that is good once",
    "profile": "what a person shows everyone",
    "blogroll": "what a person shows everyone, if they want to",
    "picks": "what a person shows everyone, if they want to",
    "picks_xml": "its authority is the key",
    "picks_json": "its authority is the key",
    "webmention": "other sites tell it of their pages",
    "client_document": "says who we are, to other sites",
    "well_known_metadata": "says where the addresses below are",
    "metadata": "says where the addresses below are",
    "token": "its authority is a code, or a token",
    "revoke": "its authority is a token",
    "introspect": "its authority is a token",
    # Afterwards nobody would be signed in to try the rest.
    "erase": "one's own account",
    "password": "one's own account",
}
# The object of a key in a URL.
KEYS = {
    "channel": "channel",
    "channel_settings": "channel",
    "filters": "channel",
    "post": "entry",
    "star": "entry",
    "save": "entry",
    "feed": "feed",
    "unfollow": "feed",
    "react": "entry",
    "composed": "composition",
    "revoke_client": "token",
}
ACTS: tuple[str, ...] = (
    "",
    "all",
    "here",
    "older",
    "read",
    "unread",
    "star",
    "unstar",
    "follow",
    "find",
    "mute",
    "unmute",
    "block",
    "unblock",
    "add",
    "save",
    "delete",
    "up",
    "down",
    "order",
)
METHODS = ("", "mark_read", "mark_unread", "remove", "move", "update", "delete", "order")


@pytest.fixture(autouse=True)
def _nothing_is_found_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse look-ups, which would take seconds for each URL."""

    def refuse(url: str, **_: Any) -> None:
        raise ValidationError(f"Nothing is at {url}.")

    for module in ("channels.find", "channels.follows", "pages.feeds"):
        monkeypatch.setattr(f"reader.{module}.discover", refuse)


@pytest.fixture
def hers(ada: Reader, web: Callable[[Reader], Client]) -> dict[str, Any]:
    """Create all of Ada's objects, by the names that forms and URLs use."""
    channel = ada.channels.create(uid="hers", name="Hers alone")
    feed = FeedFactory(title="Of Ada", url="https://ada.example/feed")
    follow_feed(channel=channel, feed=feed)
    composition = Composition.objects.create(reader=ada, key="hers", said={"content": "Written by Ada"})
    token, _ = make_token(reader=ada, client="Of Ada", now=NOW)
    written = {"type": "entry", "name": "Written by Ada", "content": {"text": "Written by Ada"}}
    places = [put(channel, an_entry(feed=feed, jf2=written, text="written by ada")) for _ in range(3)]
    mute(reader=ada, channel=channel, url="https://muted.example/", now=NOW)
    Star.objects.create(reader=ada, entry=places[0].entry)
    web(ada).post("/reader/mark/", {"act": "all", "channel": "hers", "top": places[1].pk})
    return {
        "channel": channel.uid,
        "channels": channel.uid,
        "uid": channel.uid,
        "to": channel.uid,
        "entry": places[0].entry_id,
        "feed": feed.pk,
        "source": feed.pk,
        "place": [place.pk for place in places],
        "top": places[2].pk,
        "last_read_entry": places[2].pk,
        "composition": composition.pk,
        "token": token.pk,
        "mute": Mute.objects.get().pk,
        "pk": places[0].pk,
        "name": Marking.objects.get().name,
        "marked": Marking.objects.get().name,
        "url": feed.url,
        "q": "written",
        "query": "written",
        "days": "1",
    }


def of(reader: Reader) -> str:
    """Return all of a reader's rows."""
    rows = (
        row
        for model in HELD
        for row in model._default_manager.order_by("pk")
        if getattr(row, "reader_id", None) == reader.pk
        or (isinstance(row, Follow) and row.channel.reader_id == reader.pk)
    )
    return "".join(serializers.serialize("json", [row]) for row in rows)


def addresses(hers: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return each URL's name, the URL with her keys, and whether it contains a key."""
    found = []
    for pattern in urlpatterns:
        name, route = str(pattern.name), str(pattern.pattern)
        if name.removesuffix("_slash").removesuffix(WITH_TAIL) not in ELSEWHERE:
            key = str(hers[KEYS[name]]) if "<" in route else ""
            found.append((name, "/" + re.sub(r"<\w+:\w+>", key, route), bool(key)))
    return found


def said(response: Any) -> str:
    """Return the response's text and redirect. A stream is not read."""
    if response.streaming:
        close(response)
        return ""
    return f"{response.content.decode()} {response.headers.get('Location', '')}"


@pytest.mark.slow
def test_every_address_with_every_key(
    ada: Reader, bob: Reader, web: Callable[[Reader], Client], hers: dict[str, Any]
) -> None:
    before, browser = of(ada), web(bob)
    wrong = []
    for name, address, is_hers in addresses(hers):
        # With the channel, and without it by keys of posts alone.
        alone = {key: value for key, value in hers.items() if key not in ("channel", "url")}
        for given in (hers,) if is_hers else (hers, alone):
            answers = [browser.get(address, given)]
            for act in ACTS:
                answers.append(browser.post(address, {**given, "act": act}))
                if answers[-1].status_code == 405:
                    break
            for answer in answers:
                if is_hers and answer.status_code not in (404, 405):
                    wrong.append(f"{name}: {answer.status_code}")
                if any(secret in said(answer) for secret in SECRETS):
                    wrong.append(f"{name} shows what is hers")
        if of(ada) != before:
            wrong.append(f"{name} changed what is hers")
            before = of(ada)
    assert wrong == []


def test_her_microsub_address_with_another_persons_token(
    ada: Reader, bob: Reader, hers: dict[str, Any]
) -> None:
    before, api = of(ada), MicrosubClient(bob)
    api.address = "/microsub/ada"
    for action in (*ASKED, EVENTS):
        assert api.get(action, **hers)[0] == 403
    for action, method in product(
        POSTED, ("", "mark_read", "mark_unread", "remove", "move", "delete", "order")
    ):
        assert api.post(action, **hers, method=method)[0] == 403
    assert of(ada) == before


@pytest.mark.slow
def test_every_action_by_every_key_at_ones_own_address(
    ada: Reader, bob: Reader, hers: dict[str, Any]
) -> None:
    before, api = of(ada), MicrosubClient(bob)
    keys = {**hers, "entry": hers["place"]}
    for channel in ("hers", "home", "global"):
        given = {key: value for key, value in keys.items() if key != "url"} | {"channel": channel}
        answers = [api.get(action, **given) for action in ASKED if action != "preview"]
        answers += [
            api.post(action, **given, method=method)
            for action in POSTED
            if action != "preview"
            for method in METHODS
        ]
        for status, answer in answers:
            assert status < 500, answer
            assert not any(secret in str(answer) for secret in SECRETS), answer
            if channel == "hers" and status == 200:
                assert answer.get("updated", 0) == 0, answer
        bob.channels.filter(is_notifications=False).exclude(uid="home").delete()
    assert of(ada) == before
