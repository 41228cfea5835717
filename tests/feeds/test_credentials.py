"""Credentials of a feed: checked, encrypted, sent to its own host only, and never shown."""

import base64
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from feeds.adding.add import add_feed, alter_feed
from feeds.credentials import (
    checked_credentials,
    exposure,
    headers_for,
    kind_of,
    split_address,
    without_secrets,
)
from feeds.models import Feed
from feeds.polling.poll import poll_feed
from tests.factories import NOW, FeedFactory, SubscribableFactory
from tests.feeds.watched import Blog, at
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

BASIC = {"user": "ada", "password": "pass: wörd"}
HEADER = {"header": "X-Api-Key", "value": "s3cret"}
SENT = "Basic " + base64.b64encode("ada:pass: wörd".encode()).decode()


@pytest.mark.parametrize("given", [BASIC, HEADER, {}, None, {"user": "ada", "password": ""}])
def test_good_ones_are_taken(given: dict[str, str] | None) -> None:
    assert checked_credentials(given) == (given or {})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"user": "a:b", "password": "x"}, "user"),
        ({"password": "x"}, "user"),
        ({"user": "a\nb", "password": "x"}, "user"),
        ({"user": "a", "password": "x\r\ny"}, "password"),
        ({"user": "a", "password": "x" * 2001}, "password"),
        ({"header": "X Key", "value": "x"}, "header"),
        ({"header": "X-Key:", "value": "x"}, "header"),
        ({"header": "Ключ", "value": "x"}, "header"),
        ({"header": "X" * 101, "value": "x"}, "header"),
        ({"header": "Host", "value": "x"}, "header"),
        ({"header": "content-LENGTH", "value": "1"}, "header"),
        ({"header": "If-None-Match", "value": "x"}, "header"),
        ({"header": "X-Key"}, "value"),
        ({"value": "x"}, "header"),
        ({"header": "X-Key", "value": "a\r\nHost: evil.test"}, "value"),
        ({"header": "X-Key", "value": "a\x00b"}, "value"),
        ({"header": "X-Key", "value": "x" * 2001}, "value"),
        ({"user": "a", "header": "X-Key", "value": "x"}, "credentials"),
        ({"token": "x"}, "credentials"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_part_and_not_repeated(
    given: dict[str, str], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        checked_credentials(given)
    assert set(refused.value.message_dict) == {field}
    assert "evil" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "bare", "found"),
    [
        ("https://ada:secret@x.test:8443/f?a=b@c#d", "https://x.test:8443/f?a=b@c#d", ("ada", "secret")),
        ("https://a%40b:p%3Aq@x.test/", "https://x.test/", ("a@b", "p:q")),
        ("https://token@x.test/", "https://x.test/", ("token", "")),
        ("https://@x.test/", "https://x.test/", None),
        ("https://x.test/@ada", "https://x.test/@ada", None),
        ("http://[::1", "http://[::1", None),
    ],
)
def test_user_and_password_are_taken_out_of_an_address(url: str, bare: str, found: Any) -> None:
    expected = {"user": found[0], "password": found[1]} if found else {}
    assert split_address(url) == (bare, expected)


def test_texts_lose_what_stands_before_an_at() -> None:
    text = "see https://ada:p@ss@x.test/a@b and http://y.test/@c"
    assert without_secrets(text) == "see https://x.test/a@b and http://y.test/@c"


@pytest.mark.django_db
def test_what_is_pasted_with_the_address_is_kept_apart_and_encrypted() -> None:
    # A user name that the characters of a token cannot spell by chance.
    feed = add_feed(url=" https://lovelace:geheim@X.test:8443/feed ", now=NOW)
    assert (feed.url, feed.host) == ("https://X.test:8443/feed", "x.test:8443")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM feeds_feed")
        stored = str(cursor.fetchall())
    assert "geheim" not in stored
    assert "lovelace" not in stored
    feed.refresh_from_db()
    assert feed.credentials.open() == {"user": "lovelace", "password": "geheim"}
    assert "geheim" not in f"{feed!r} {vars(feed)}"


@pytest.mark.django_db
def test_what_is_said_goes_before_what_is_pasted() -> None:
    feed = add_feed(url="https://ada:old@x.test/", now=NOW, credentials=HEADER)
    assert headers_for(feed) == {"X-Api-Key": "s3cret"}


@pytest.mark.django_db
def test_basic_credentials_are_utf_8() -> None:
    assert headers_for(FeedFactory(credentials=BASIC)) == {"Authorization": SENT}
    assert headers_for(FeedFactory()) == {}


@pytest.mark.django_db
def test_kinds_are_told_and_values_are_not() -> None:
    told = [kind_of(FeedFactory(credentials=each)) for each in (BASIC, HEADER, {})]
    assert told == ["a user name and password", "the header X-Api-Key", ""]


@pytest.mark.django_db
def test_after_a_change_of_the_secret_key_a_sentence_says_what_to_do(settings: Any) -> None:
    pk = FeedFactory(credentials=BASIC).pk
    settings.SECRET_KEY = "another"
    feed = Feed.objects.get(pk=pk)
    with pytest.raises(ValueError, match="SECRET_KEY has changed"):
        headers_for(feed)
    assert kind_of(feed) == "something that can no longer be decrypted"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("https://x.test/a", "https://x.test/b", True),
        ("http://x.test/a", "https://x.test/a", True),
        ("https://x.test/a", "http://x.test/a", False),
        ("https://x.test/a", "https://y.test/a", False),
        ("https://x.test/a", "https://x.test:8443/a", False),
    ],
)
def test_a_new_address_keeps_them_only_at_the_same_host(old: str, new: str, kept: bool) -> None:
    feed = alter_feed(feed=FeedFactory(url=old, credentials=BASIC), url=new)
    feed.refresh_from_db()
    assert bool(feed.credentials) is kept
    assert feed.url == new


@pytest.mark.django_db
def test_a_new_address_takes_new_ones_along() -> None:
    feed = alter_feed(feed=FeedFactory(credentials=BASIC), url="https://y.test/", credentials=HEADER)
    assert headers_for(feed) == {"X-Api-Key": "s3cret"}
    feed = alter_feed(feed=feed, url="https://eve:pw@z.test/")
    assert headers_for(feed)["Authorization"] == "Basic " + base64.b64encode(b"eve:pw").decode()


@pytest.mark.django_db
def test_nothing_else_touches_them_and_an_empty_one_forgets_them() -> None:
    feed = alter_feed(feed=FeedFactory(credentials=BASIC), title="Other")
    feed.refresh_from_db()
    assert headers_for(feed)
    assert headers_for(alter_feed(feed=feed, credentials={})) == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "name", "value"), [(BASIC, "authorization", SENT), (HEADER, "x-api-key", "s3cret")]
)
def test_the_feeds_own_server_gets_them(blog: Blog, given: dict[str, str], name: str, value: str) -> None:
    blog.show("a")
    blog.watch(credentials=given)
    blog.read(0)
    (request,) = blog.server.asked("/feed.xml")
    assert request.headers[name] == value


@pytest.mark.django_db
@pytest.mark.parametrize("given", [BASIC, HEADER])
def test_another_server_that_it_redirects_to_does_not(blog: Blog, given: dict[str, str]) -> None:
    with FeedServer() as other:
        target = other.serve("/moved.xml", rss([]))
        blog.server.redirect("/feed.xml", target, status=301)
        blog.watch(credentials=given)
        for minutes in range(0, 200, 20):  # also when a permanent redirect is believed in the end
            blog.poll(minutes)
        assert other.asked("/moved.xml")
        for request in other.asked("/moved.xml"):
            assert not {"authorization", "x-api-key"} & set(request.headers)


@pytest.mark.django_db
def test_unreadable_ones_fail_that_feed_with_a_sentence_and_no_other(blog: Blog, settings: Any) -> None:
    blog.show("a")
    other = blog.watch()
    bad = blog.watch(credentials=BASIC)
    settings.SECRET_KEY = "another"
    result = poll_feed(feed_id=bad.pk, now=at(0))
    assert result is not None
    assert "SECRET_KEY has changed" in result.error
    assert "geheim" not in result.error
    blog.feed = other
    assert blog.poll(0).ok


@pytest.mark.django_db
def test_an_open_newsletter_over_a_closed_feed_is_warned_about_by_name() -> None:
    feed = FeedFactory(credentials=BASIC)
    SubscribableFactory(feeds=[feed], title="Shut", visibility="private", sign_up="closed")
    assert exposure(feed) == ""
    SubscribableFactory(feeds=[feed], title="Wide")
    SubscribableFactory(feeds=[feed], title="Ajar", visibility="private", sign_up="open")
    assert "“Wide”" in exposure(feed)
    assert "“Ajar”" in exposure(feed)
    assert "Shut" not in exposure(feed)
    assert exposure(FeedFactory()) == ""
