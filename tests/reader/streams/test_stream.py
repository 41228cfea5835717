"""Streams by Microsub and on pages: access, limits, and their end."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from common.shutdown import stopping
from reader.models import Channel, Reader, Token
from reader.people.tokens import revoke
from reader.streams import stream
from tests.factories import NOW
from tests.reader.client import MicrosubClient
from tests.reader.posts import minutes, put
from tests.reader.streams.open import close, events_of, streamed

pytestmark = pytest.mark.django_db

Open = Callable[[Reader], Any]


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LOOKED_EVERY", 0.01)
    monkeypatch.setattr(stream, "COUNTED_EVERY", 0.02)


@pytest.fixture
def by_microsub() -> Open:
    def one(reader: Reader, **headers: str) -> Any:
        client = MicrosubClient(reader)
        address = f"{client.address}?action=events"
        return client.http.get(address, headers={**client.headers, **headers})

    return one


@pytest.fixture
def by_page(web: Callable[[Reader], Client]) -> Open:
    def one(reader: Reader, **headers: str) -> Any:
        return web(reader).get("/reader/events", headers=headers)

    return one


@pytest.fixture(params=["microsub", "page"])
def ask(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(f"by_{request.param}")


def refused(response: Any) -> bool:
    if response.status_code == 200:
        close(response)
        return False
    assert (response.status_code, response.headers["Retry-After"]) == (503, "60")
    return True


def test_a_client_hears_of_posts_and_counts(by_microsub: Open, home: Channel, ada: Reader) -> None:
    response = by_microsub(ada)
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    with streamed(response) as read:
        ((name, _, data),) = read()
        assert (name, [one["uid"] for one in data["channels"]]) == ("started", ["notifications", "home"])
        place = put(home, at=minutes(1))
        (post, count) = read()
        assert (post[0], post[2]["_id"], post[2]["_is_read"]) == ("new-item", str(place.pk), False)
        assert post[2]["_channel"] == {"uid": "home", "name": "Home"}
        assert count[0::2] == ("unread-count", {"channel": "home", "unread": 1})
    with streamed(by_microsub(ada, **{"Last-Event-ID": post[1]})) as read:
        assert [name for name, *_ in read()] == ["started"]
    for id_, names in (("0-0", ["started", "new-item"]), ("nonsense", ["started", "reset"])):
        with streamed(by_microsub(ada, **{"Last-Event-ID": id_})) as read:
            assert [name for name, *_ in read()] == names


def test_a_page_hears_only_that_something_happened(by_page: Open, home: Channel, ada: Reader) -> None:
    with streamed(by_page(ada)) as read:
        assert [(name, data) for name, _, data in read()] == [("started", {})]
        put(home, at=minutes(1))
        assert [(name, data) for name, _, data in read()] == [("new-item", {}), ("unread-count", {})]


def test_nothing_of_another_reader_is_heard(ask: Open, ada: Reader, bob: Reader, home: Channel) -> None:
    with streamed(ask(bob)) as read:
        read()
        put(home, at=minutes(1))
        mine = put(bob.channels.get(uid="home"), at=minutes(2))
        events = read()
    assert events[0][1].endswith(f"-{mine.pk}")
    assert [name for name, *_ in events] == ["new-item", "unread-count"]


def test_so_many_are_open_at_a_time_and_the_others_are_told_to_poll(
    ask: Open, ada: Reader, bob: Reader, settings: Any
) -> None:
    settings.READER_STREAMS = 3
    opened = [ask(ada), ask(ada)]
    assert refused(ask(ada)), "two a person"
    opened.append(ask(bob))
    assert refused(ask(bob)), "three in all"
    for response in opened:
        close(response)
    assert not refused(ask(bob))
    settings.READER_STREAMS = 0
    assert refused(ask(ada))


@pytest.mark.parametrize("method", ["head", "post"])
def test_only_get_opens_one(ada: Reader, web: Callable[[Reader], Client], settings: Any, method: str) -> None:
    settings.READER_STREAMS = 1
    assert getattr(web(ada), method)("/reader/events").status_code == 405
    client = MicrosubClient(ada)
    answer = getattr(client.http, method)(f"{client.address}?action=events", headers=client.headers)
    assert answer.status_code == 400
    assert not refused(web(ada).get("/reader/events"))


@pytest.fixture
def in_time(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that makes a period seem over at every look."""

    def one(name: str) -> None:
        monkeypatch.setattr(stream, name, 0.0)

    return one


@pytest.mark.parametrize("why", ["it is old", "the client left", "the process ends"])
def test_it_ends_by_itself(
    ask: Open, ada: Reader, monkeypatch: pytest.MonkeyPatch, in_time: Callable[[str], None], why: str
) -> None:
    if why == "the client left":
        monkeypatch.setattr(stream, "whether_left", lambda _: lambda: True)
    try:
        with streamed(ask(ada)) as read:
            assert [name for name, *_ in read()] == ["started"]
            if why == "it is old":
                in_time("LONGEST")
            if why == "the process ends":
                stopping.set()
            assert read() == []
    finally:
        stopping.clear()
    assert not refused(ask(ada))


def revoked(ada: Reader, _: Any) -> None:
    revoke(Token.objects.get(), now=NOW)


def without_read(ada: Reader, _: Any) -> None:
    Token.objects.update(scopes=["follow"])


def signed_out(ada: Reader, _: Any) -> None:
    Session.objects.all().delete()


def new_password(ada: Reader, _: Any) -> None:
    user = User.objects.get(pk=ada.user_id)
    user.set_password("another")
    user.save()


def inactive(ada: Reader, _: Any) -> None:
    User.objects.update(is_active=False)


def not_staff(ada: Reader, settings: Any) -> None:
    settings.READER = "staff"


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        ("by_microsub", revoked),
        ("by_microsub", without_read),
        ("by_microsub", inactive),
        ("by_microsub", not_staff),
        ("by_page", signed_out),
        ("by_page", new_password),
        ("by_page", inactive),
        ("by_page", not_staff),
    ],
)
def test_it_ends_when_the_right_to_it_does(
    request: pytest.FixtureRequest,
    ada: Reader,
    home: Channel,
    settings: Any,
    in_time: Callable[[str], None],
    asked: str,
    what: Callable[[Reader, Any], None],
) -> None:
    in_time("ALLOWED_EVERY")
    with streamed(request.getfixturevalue(asked)(ada)) as read:
        read()
        put(home, at=minutes(1))
        assert [name for name, *_ in read()] == ["new-item", "unread-count"]
        what(ada, settings)
        put(home, at=minutes(2))
        assert read() == []


def test_without_the_scope_there_is_none(ada: Reader) -> None:
    client = MicrosubClient(ada, scopes=["follow"])
    answer = client.http.get(f"{client.address}?action=events", headers=client.headers)
    assert (answer.status_code, answer.json()["error"]) == (403, "insufficient_scope")


def test_it_says_something_now_and_then(ask: Open, ada: Reader, in_time: Callable[[str], None]) -> None:
    in_time("PINGED_EVERY")
    response = ask(ada)
    pieces: Iterator[bytes] = iter(response.streaming_content)
    first = next(pieces).decode()
    assert first.startswith("retry: 5000\n\n")
    assert events_of(first)
    assert next(pieces) == b": ping\n\n"
    close(response)


def test_a_stream_that_is_refused_is_no_error_in_the_log(
    ask: Open, ada: Reader, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.READER_STREAMS = 0
    assert refused(ask(ada))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
