"""Without Redis the cache is empty, and nothing else happens.

A cache with expiry stays within its size.
"""

import logging
from collections.abc import Iterator
from functools import partial

import pytest
import redis
from django.core.cache.backends.redis import RedisCache
from hypothesis import given
from hypothesis import strategies as st

from common import caching
from common.caching import SteadyRedisCache
from common.ttl_cache import TtlCache
from tests import services


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching._State, "away", False)
    monkeypatch.setattr(caching._State, "ask_at", float("-inf"))


@pytest.fixture
def nowhere() -> Iterator[SteadyRedisCache]:
    """Yield a cache in a Redis that does not exist."""
    made = SteadyRedisCache(f"redis://127.0.0.1:{services.free_port()}/0", {})
    yield made
    made.spare.clear()


@pytest.mark.usefixtures("fresh")
def test_without_redis_every_operation_is_answered_by_this_process(nowhere: SteadyRedisCache) -> None:
    assert nowhere.get("a", "nothing") == "nothing"
    assert nowhere.add("a", 1)
    assert not nowhere.add("a", 2)
    assert nowhere.incr("a") == 2
    assert nowhere.get_or_set("b", 5) == 5
    nowhere.set_many({"c": 1, "d": 2})
    assert nowhere.get_many(["c", "d", "e"]) == {"c": 1, "d": 2}
    assert nowhere.touch("c", 5)
    assert nowhere.has_key("c")
    nowhere.delete_many(["c"])
    assert nowhere.delete("d")
    nowhere.set("f", 1)
    nowhere.clear()
    assert nowhere.get("f") is None
    with pytest.raises(ValueError, match="not found"):
        nowhere.incr("unknown")


@pytest.mark.usefixtures("fresh")
def test_a_redis_that_is_away_is_told_of_once_and_asked_seldom(
    nowhere: SteadyRedisCache, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def get(_: object, key: str, *args: object, **kwargs: object) -> None:
        asked.append(key)
        raise ConnectionRefusedError

    monkeypatch.setattr(RedisCache, "get", get)
    with caplog.at_level(logging.WARNING, "common.caching"):
        for _ in range(3):
            nowhere.get("a")
        monkeypatch.setattr(caching._State, "ask_at", float("-inf"))
        nowhere.get("b")
    assert asked == ["a", "b"]
    assert len(caplog.messages) == 1
    assert "Redis is away" in caplog.messages[0]


@pytest.mark.usefixtures("fresh")
def test_when_redis_is_back_it_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    with services.redis_server() as url, caplog.at_level(logging.WARNING, "common.caching"):
        cache = SteadyRedisCache(url, {})
        caching._State.away = True
        cache.set("feedletter-test", 7, 5)
        assert cache.get("feedletter-test") == 7
        assert cache.spare.get("feedletter-test") is None
        cache.delete("feedletter-test")
    assert caplog.messages == ["Redis is back."]


@pytest.mark.usefixtures("fresh")
def test_what_another_release_wrote_is_forgotten_and_not_an_error(redis_url: str) -> None:
    cache = SteadyRedisCache(redis_url, {})
    client = redis.Redis.from_url(redis_url)
    # A class of a module that this release does not have; then half a value.
    for octets in (b"cdelivery.services.progress\nDomainFigures\n.", b"\x80\x05\x95\x10"):
        client.set(cache.make_and_validate_key("old"), octets)
        assert cache.get("old") is None
    cache.set("old", {"sent": 3})
    assert cache.get("old") == {"sent": 3}
    cache.delete("old")


def made(text: str) -> TtlCache[str]:
    shelf: TtlCache[str] = TtlCache(room=10, seconds=60, size=len)
    for letter in text:
        shelf.get(letter, partial(str.__mul__, letter, 3))
    return shelf


def test_what_stands_there_is_not_made_again() -> None:
    shelf = made("a")
    assert shelf.get("a", lambda: "made again") == "aaa"


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    shelf = made("abcad")
    assert shelf.get("a", lambda: "made again") == "aaa"
    assert shelf.get("b", lambda: "new") == "new"


def test_after_its_time_it_is_made_again() -> None:
    now = [0.0]
    shelf: TtlCache[str] = TtlCache(room=10, seconds=60, size=len, clock=lambda: now[0])
    assert shelf.get("a", lambda: "old") == "old"
    now[0] = 59.0
    assert shelf.get("a", lambda: "new") == "old"
    now[0] = 60.0
    assert shelf.get("a", lambda: "new") == "new"


def test_what_is_larger_than_the_room_is_shown_and_not_kept() -> None:
    shelf = made("a")
    assert shelf.get("x", lambda: "x" * 11) == "x" * 11
    assert shelf.get("x", lambda: "again") == "again"
    assert shelf.get("a", lambda: "gone") == "aaa"


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 12))))
def test_the_room_is_never_exceeded(asked: list[tuple[str, int]]) -> None:
    shelf: TtlCache[str] = TtlCache(room=10, seconds=0, size=len)
    for key, size in asked:
        assert shelf.get(key, partial(str.__mul__, "x", size)) == "x" * size
        assert 0 <= shelf.used <= 10
