"""Tokens of a reader's own site are valid here if the server named by that site confirms them."""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from common.clock import utcnow
from common.rates import Limit
from reader.indieauth import foreign
from reader.indieauth.discovery import discover
from reader.models import Reader, Token
from reader.people.tokens import connect_site, disconnect_site
from tests.examples import some_now
from tests.reader.client import MicrosubClient
from tests.servers.feed_server import Reply
from tests.servers.own_site import OwnSite

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def site(ada: Reader, own_site: OwnSite) -> OwnSite:
    """Connect the site, with a token that it issued."""
    connect_site(reader=ada, me=own_site.me, endpoints=asdict(discover(own_site.me)), now=utcnow())
    own_site.tokens["theirs"] = {
        "active": True,
        "me": own_site.me,
        "client_id": "https://lamp.example/",
        "scope": "create read follow profile",
    }
    own_site.server.requests.clear()
    return own_site


@pytest.fixture(params=["introspection", "legacy"])
def either(request: pytest.FixtureRequest, site: OwnSite, ada: Reader) -> OwnSite:
    """By introspection, and by the token endpoint as before 2022."""
    if request.param == "legacy":
        ada.endpoints["introspection"] = ""
        ada.save()
    return site


def asked(ada: Reader, key: str = "theirs") -> int:
    return MicrosubClient(ada, key=key).get("channels")[0]


def error(ada: Reader, key: str = "theirs", action: str = "channels") -> tuple[int, str]:
    status, answer = MicrosubClient(ada, key=key).get(action)
    return status, answer.get("error", "")


def test_it_opens_what_its_scopes_say(ada: Reader, either: OwnSite) -> None:
    api = MicrosubClient(ada, key="theirs")
    assert api.get("channels")[0] == 200
    status, refused = api.post("channels", name="New")
    assert (status, refused["error"]) == (403, "insufficient_scope")
    assert not Token.objects.exists()


def test_it_is_asked_once_in_a_while(ada: Reader, either: OwnSite) -> None:
    for _ in range(3):
        assert asked(ada) == 200
        assert asked(ada, "made-up") == 401
    # Introspection does not know the token, so the token endpoint is called, too.
    assert len(either.server.requests) <= 3


@pytest.mark.parametrize("active", some_now([False, "false", "no", 0, None, "", [], 1, "True"]))
def test_only_active_is_active(ada: Reader, either: OwnSite, active: Any) -> None:
    either.tokens["theirs"]["active"] = active
    assert error(ada) == (401, "invalid_token")


def test_active_may_be_a_text(ada: Reader, either: OwnSite) -> None:
    either.tokens["theirs"]["active"] = "true"
    assert asked(ada) == 200


def test_an_introspection_that_says_nothing_of_it_is_a_no(ada: Reader, site: OwnSite) -> None:
    del site.tokens["theirs"]["active"]
    assert asked(ada) == 401


@pytest.mark.parametrize("end", some_now([-1, 0, "soon", "-5", None, "", [1], 1.5]))
def test_what_has_ended_or_ends_nobody_knows_when_is_not_good(ada: Reader, either: OwnSite, end: Any) -> None:
    past = isinstance(end, int) and not isinstance(end, bool)
    either.tokens["theirs"]["exp"] = int(utcnow().timestamp()) + end if past else end
    assert error(ada) == (401, "invalid_token")


def test_an_end_to_come_may_be_a_text_and_is_heeded(ada: Reader, either: OwnSite) -> None:
    now = utcnow()
    either.tokens["theirs"]["exp"] = str(int((now + timedelta(minutes=1)).timestamp()))
    assert foreign.foreign_token(reader=ada, key="theirs", now=now)
    found, seconds = foreign._verdict(either.tokens["theirs"], now)
    assert found.me == either.me
    assert 55 < seconds <= 60


def test_a_token_of_another_person_is_refused(ada: Reader, either: OwnSite) -> None:
    either.tokens["theirs"]["me"] = "https://bob.example/"
    assert error(ada) == (403, "forbidden")
    assert error(ada) == (403, "forbidden")


@pytest.mark.parametrize("me", ["", None, 7, ["x"], {}])
def test_a_token_of_nobody_is_refused(ada: Reader, either: OwnSite, me: Any) -> None:
    either.tokens["theirs"]["me"] = me
    assert error(ada) == (401, "invalid_token")


def test_addresses_are_compared_in_one_spelling(ada: Reader, either: OwnSite) -> None:
    either.tokens["theirs"]["me"] = either.me.replace("http://", "HTTP://") + "#top"
    assert asked(ada) == 200


def test_a_server_that_is_down_is_no_refusal(ada: Reader, either: OwnSite) -> None:
    either.is_down = True
    status, answer = MicrosubClient(ada, key="theirs").get("channels")
    assert (status, answer["error"]) == (503, "temporarily_unavailable")
    # The server is not called again for a while.
    before = len(either.server.requests)
    assert error(ada, "another") == (503, "temporarily_unavailable")
    assert len(either.server.requests) == before
    either.is_down = False
    cache.clear()
    assert asked(ada) == 200


@pytest.mark.parametrize("answer", [b"", b"[]", b"<html>", b"null", b"\xff", b"{" * 10_000])
def test_nonsense_lets_nobody_in(ada: Reader, either: OwnSite, answer: bytes) -> None:
    for name in ("token", "introspect"):
        either.server.answer(either.path + name, lambda request: Reply(answer))
    assert asked(ada) == 401


def test_scopes_may_be_a_list(ada: Reader, either: OwnSite) -> None:
    either.tokens["theirs"]["scope"] = ["read", 7, "channels", "profile"]
    found = foreign.foreign_token(reader=ada, key="theirs", now=utcnow())
    assert found is not None
    assert found.scopes == ["read", "channels"]


def test_older_servers_answer_with_a_form(ada: Reader, site: OwnSite) -> None:
    ada.endpoints["introspection"] = ""
    ada.save()
    body = f"me={site.me}&scope=read+follow".encode()
    site.server.answer("/ada/token", lambda request: Reply(body))
    assert asked(ada) == 200


def test_a_server_that_wants_to_know_who_asks_is_asked_the_older_way(ada: Reader, site: OwnSite) -> None:
    site.server.answer("/ada/introspect", lambda request: Reply(b"{}", 401))
    assert asked(ada) == 200
    assert [request.path for request in site.server.requests] == ["/ada/introspect", "/ada/token"]


def test_our_own_keys_go_nowhere(ada: Reader, site: OwnSite) -> None:
    assert asked(ada, "flr_of-somebody-who-mistyped-it") == 401
    assert site.server.requests == []


@pytest.mark.parametrize("key", ["x" * 5_000, "a b", "tab\tbed"])
def test_what_no_header_may_hold_goes_nowhere(ada: Reader, site: OwnSite, key: str) -> None:
    assert foreign.foreign_token(reader=ada, key=key, now=utcnow()) is None
    assert site.server.requests == []


def test_another_readers_address_does_not_open(ada: Reader, bob: Reader, site: OwnSite) -> None:
    assert error(bob) == (401, "invalid_token")
    other = OwnSite(site.server, "/bob/")
    connect_site(reader=bob, me=other.me, endpoints=asdict(discover(other.me)), now=utcnow())
    # Bob's server says that it is Ada's token: then it is not Bob's.
    other.tokens["theirs"] = site.tokens["theirs"]
    assert error(bob) == (403, "forbidden")
    assert asked(ada) == 200


def test_without_a_site_nobody_is_asked(ada: Reader, site: OwnSite) -> None:
    assert asked(ada) == 200
    disconnect_site(reader=ada)
    site.server.requests.clear()
    assert error(ada) == (401, "invalid_token")
    assert site.server.requests == []


def test_what_was_believed_of_one_site_is_not_believed_of_the_next(ada: Reader, site: OwnSite) -> None:
    assert asked(ada) == 200
    other = OwnSite(site.server, "/new/")
    connect_site(reader=ada, me=other.me, endpoints=asdict(discover(other.me)), now=utcnow())
    assert asked(ada) == 401


def test_made_up_tokens_do_not_make_us_ask_for_ever(ada: Reader, site: OwnSite) -> None:
    answers = [asked(ada, f"made-up-{number}") for number in range(foreign.ASKS.most + 5)]
    assert answers == [401] * foreign.ASKS.most + [503] * 5


def test_whose_token_was_good_reads_on_meanwhile(
    ada: Reader, site: OwnSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utcnow()
    found = foreign.foreign_token(reader=ada, key="theirs", now=now)
    assert found is not None
    monkeypatch.setattr(foreign, "ASKS", Limit("foreign-asks", 0))
    # The five minutes are over for which it was believed.
    cache.delete(f"foreign-verdict-{found.digest}")
    site.server.requests.clear()
    assert foreign.foreign_token(reader=ada, key="theirs", now=now)
    assert site.server.requests
    assert error(ada, "made-up") == (503, "temporarily_unavailable")


def test_only_so_many_are_asked_at_a_time(ada: Reader, site: OwnSite) -> None:
    for _ in range(2):
        assert foreign.AT_A_TIME.acquire(timeout=1)
    try:
        assert error(ada) == (503, "temporarily_unavailable")
    finally:
        foreign.AT_A_TIME.release(2)
    assert asked(ada) == 200


def test_what_is_not_public_is_not_called(ada: Reader, either: OwnSite, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    assert error(ada) == (503, "temporarily_unavailable")
    assert either.server.requests == []


@pytest.mark.parametrize("inside", ["http://169.254.169.254/", "http://10.0.0.1/", "http://[::1]:1/"])
def test_an_endpoint_within_a_private_network_is_not_called(ada: Reader, site: OwnSite, inside: str) -> None:
    ada.endpoints |= {"introspection": inside, "token": inside}
    ada.save()
    assert error(ada) == (503, "temporarily_unavailable")


def test_a_reader_who_may_not_read_is_not_asked_for(ada: Reader, site: OwnSite, settings: Any) -> None:
    settings.READER = "staff"
    assert asked(ada) == 401
    assert site.server.requests == []


def test_tokens_stand_in_no_log_and_in_no_key_of_the_cache(
    ada: Reader, site: OwnSite, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    site.is_down = True
    asked(ada, "a-secret-token")
    site.is_down = False
    cache.clear()
    asked(ada)
    assert "a-secret-token" not in caplog.text
    assert "theirs" not in str(getattr(cache, "_cache", {}).keys())
