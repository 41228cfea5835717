"""Access to pages. Person B with every key of A's sees nothing of A's and changes nothing."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import serializers
from django.test import Client

from reader.channels.follows import follow_feed
from reader.models import Channel, Follow, Marking, Mute, Reader, Star, TimelineEntry, Unread
from tests.factories import FeedFactory
from tests.reader.posts import put

pytestmark = pytest.mark.django_db
HELD = (Channel, Follow, Mute, TimelineEntry, Unread, Star, Marking)


def everything() -> str:
    return "".join(serializers.serialize("json", model.objects.order_by("pk")) for model in HELD)


def test_with_every_key_of_another_reader_nothing_is_seen_and_nothing_changed(
    web: Callable[[Reader], Client], ada: Reader, bob: Reader, channel: Callable[[str], Channel]
) -> None:
    hers = channel("hers")
    place, top = put(hers), put(hers)
    feed = FeedFactory(title="Of Ada")
    follow_feed(channel=hers, feed=feed)
    Star.objects.create(reader=ada, entry=top.entry)
    web(ada).post("/reader/mark/", {"act": "all", "top": top.pk})
    marking = Marking.objects.get()
    put(hers)
    before, browser = everything(), web(bob)
    for address in (
        "/reader/c/hers/",
        f"/reader/post/{place.entry_id}/",
        f"/reader/feeds/{feed.pk}/",
        "/reader/search/?q=post&channel=hers",
    ):
        assert browser.get(address).status_code == 404, address
    forms: list[tuple[str, dict[str, Any]]] = [
        ("/reader/mark/", {"act": "here", "top": top.pk, "place": place.pk}),
        ("/reader/mark/", {"act": "all", "top": top.pk}),
        ("/reader/mark/", {"act": "all", "top": top.pk, "channel": "hers"}),
        ("/reader/mark/", {"act": "older", "days": 1, "channel": "hers"}),
        ("/reader/mark/", {"act": "read", "place": place.pk, "channel": "hers"}),
        ("/reader/undo/", {"name": marking.name}),
        (f"/reader/post/{place.entry_id}/star/", {"act": "star"}),
        (f"/reader/post/{top.entry_id}/star/", {"act": "unstar"}),
        (f"/reader/feeds/{feed.pk}/unfollow/", {"channel": "hers"}),
        ("/reader/follow/", {"act": "follow", "url": feed.url, "channel": "hers"}),
    ]
    for address, given in forms:
        assert browser.post(address, given).status_code == 404, (address, given)
    # By keys of posts alone: other readers' keys are ignored like unknown ones.
    for act in ("read", "unread"):
        browser.post("/reader/mark/", {"act": act, "place": [place.pk, top.pk]})
    for address in ("/reader/", "/reader/feeds/", "/reader/starred/", "/reader/search/?q=post"):
        page = browser.get(address).content.decode()
        assert "Of Ada" not in page
        assert "<article" not in page
    assert everything() == before


@pytest.mark.parametrize(
    ("setting", "who", "status"),
    [
        ("staff", "ada", 403),
        ("staff", "boss", 200),
        ("invited", "ada", 200),
        ("open", "ada", 200),
        ("invited", "stranger", 403),
        ("staff", "stranger", 403),
        ("open", "stranger", 200),
    ],
)
def test_the_setting_is_heeded(
    settings: Any, ada: Reader, bob: Reader, setting: str, who: str, status: int
) -> None:
    bob.user.is_staff = True
    bob.user.save()
    users = {"ada": ada.user, "boss": bob.user, "stranger": User.objects.create_user("stranger")}
    settings.READER = setting
    client = Client()
    client.force_login(users[who])
    assert client.get("/reader/", follow=True).status_code == status


def test_who_may_begin_chooses_a_name_and_reads(settings: Any, db: None) -> None:
    settings.READER = "open"
    client = Client()
    client.force_login(User.objects.create_user("Eve.Smith"))
    assert 'value="evesmith"' in client.get("/reader/begin/").content.decode()
    client.force_login(User.objects.create_user("eve@example.org"))
    assert 'value="eve"' in client.get("/reader/begin/").content.decode()
    assert client.post("/reader/begin/", {"name": "No Good"}).status_code == 400
    assert client.post("/reader/begin/", {"name": "eve"}).headers["Location"] == "/reader/"
    assert Reader.objects.get().slug == "eve"


def test_one_signs_in_with_a_password_and_lands_where_one_was_going(ada: Reader) -> None:
    ada.user.set_password("a long enough one")
    ada.user.save()
    client = Client()
    asked = client.get("/reader/c/home/?unread").headers["Location"]
    assert asked == "/account/sign-in/?next=/reader/c/home/%3Funread"
    assert client.get(asked).status_code == 200
    given = {"login": "ada", "password": "wrong", "next": "/reader/c/home/?unread"}
    assert client.post("/account/sign-in/", given).status_code == 200
    answer = client.post("/account/sign-in/", {**given, "password": "a long enough one"})
    assert answer.headers["Location"] == "/reader/c/home/?unread"
    assert client.get("/reader/").status_code == 200
    assert client.post("/account/sign-out/").headers["Location"] == "/account/sign-in/"
    assert client.get("/reader/").status_code == 302


def test_too_many_wrong_passwords_have_to_wait(ada: Reader) -> None:
    ada.user.set_password("a long enough one")
    ada.user.save()
    client = Client()
    for _ in range(10):
        client.post("/account/sign-in/", {"login": "ada", "password": "wrong"})
    answer = client.post("/account/sign-in/", {"login": "ada", "password": "a long enough one"})
    assert "Too many wrong passwords" in answer.content.decode()


def test_a_form_from_another_site_is_refused(ada: Reader, home: Channel) -> None:
    place = put(home)
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada.user)
    assert client.post("/reader/mark/", {"act": "read", "place": place.pk}).status_code == 403
    assert Unread.objects.count() == 1
