"""The ntfy channel against a fake server: the contract, and ntfy's own features."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Channel, Message, Permanent, Sent, Session
from channels.letter import Recipient
from channels.ntfy.session import NtfyChannel, NtfySession, Push, sequence_id_of
from channels.ntfy.spec import NtfySpec
from common.ports.channels import InvalidDestination
from feeds.parsing.entry import Media
from tests.contracts.bridge import LINK, LOOPBACK, PATIENT, BridgeContract, entry, letter
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.ntfy import (
    FORBIDDEN,
    LONGEST,
    PASSWORD,
    TOKEN,
    UNAUTHORISED,
    USER,
    NtfyServer,
    error,
)

CHANNEL, KIND = NtfyChannel(), NtfySpec()


def at(url: str, **given: str) -> Recipient:
    usual = {"server_url": url, "topic": "news", **(given or {"access_token": TOKEN})}
    made = KIND.parse_destination(usual)
    return Recipient(1, made.core, made.label, config=made.config, secrets=made.secrets)


def push(url: str, of: Any = None, **options: str) -> Message[Push]:
    return CHANNEL.composer(replace(of or letter(), options=options))(at(url))


@pytest.fixture
def server() -> Iterator[NtfyServer]:
    with NtfyServer() as running:
        yield running


@pytest.fixture
def session() -> Iterator[NtfySession]:
    opened = NtfySession(session=LOOPBACK.session(), timeout=PATIENT)
    yield opened
    opened.close()


class TestNtfyContract(BridgeContract):
    channel: ClassVar[Channel] = CHANNEL
    refused = error(400, 40009, "invalid request: topic invalid")
    unauthorised = UNAUTHORISED
    gone = FORBIDDEN
    secrets = (TOKEN,)
    service: NtfyServer

    def server(self) -> NtfyServer:
        return NtfyServer()

    def connected(self, timeout: float) -> Session:
        return NtfySession(session=LOOPBACK.session(), timeout=timeout)

    def recipient(self) -> Recipient:
        return at(self.url)

    def arrived(self) -> list[Arrival]:
        return [Arrival(said["sequence_id"], said["message"]) for said in self.service.shown.values()]

    def acceptable(self, arrival: Arrival) -> bool:
        [said] = self.service.shown.values()
        return len(arrival.text.encode()) <= self.service.longest and said["click"] == LINK

    def is_harmless(self, text: str) -> bool:
        """ntfy shows plain text unless the message is marked as Markdown."""
        return all("markdown" not in said for said in self.service.published)


class TestPublishing:
    def test_a_push_opens_the_post_and_shows_its_picture(
        self, server: NtfyServer, session: NtfySession
    ) -> None:
        post = entry(
            "Bees", summary="On <b>bees</b>.", media=(Media("https://e.example/a.png", "image/png"),)
        )
        what = push(server.url, letter(entries=(post,)), priority="4", tags="bee,newspaper")
        assert session.send(what, key="t-1", begun_at=None, now=NOW) == Sent("t-1")
        assert server.shown["t-1"] == {
            "id": "m0", "topic": "news", "title": "Bees", "click": LINK, "tags": ["bee", "newspaper"],
            "priority": 4, "attach": "https://e.example/a.png", "sequence_id": "t-1",
            "message": "[bees] New Post: Bees, by Ada\nOn bees.",
        }  # fmt: skip

    def test_an_edit_takes_the_place_of_the_first(self, server: NtfyServer, session: NtfySession) -> None:
        sent = session.send(push(server.url), key="t-1", begun_at=None, now=NOW)
        assert isinstance(sent, Sent)
        corrected = push(server.url, letter(entries=(entry("Better"),)))
        edited = session.edit(corrected, remote_id=sent.remote_id, parts=(), key="t-1-2", now=NOW)
        assert edited == Sent("t-1")
        assert ["Better" in said["message"] for said in server.shown.values()] == [True]

    def test_a_push_is_taken_back_once_or_twice(self, server: NtfyServer, session: NtfySession) -> None:
        session.send(push(server.url), key="t-1", begun_at=None, now=NOW)
        for _ in range(2):
            assert session.delete(push(server.url), remote_id="t-1", parts=(), now=NOW) == Sent("t-1")
        assert server.shown == {}

    def test_a_server_that_takes_no_pictures_gets_the_push_without(
        self, server: NtfyServer, session: NtfySession
    ) -> None:
        server.longest = 2_048
        post = entry("Long", summary="Wörter " * 2000, image="https://e.example/a.png")
        outcome = session.send(push(server.url, letter(entries=(post,))), key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Sent)
        assert "attach" not in server.shown["k"]

    def test_a_user_with_a_password_may_publish(self, server: NtfyServer, session: NtfySession) -> None:
        what = CHANNEL.composer(letter())(at(server.url, user=USER, password=PASSWORD))
        assert isinstance(session.send(what, key="k", begun_at=None, now=NOW), Sent)
        assert PASSWORD not in repr(what)

    def test_a_quota_that_is_used_up_stops_the_lane(self, server: NtfyServer, session: NtfySession) -> None:
        server.says = error(429, 42908, "limit reached: daily message quota reached")
        outcome = session.send(push(server.url), key="k", begun_at=None, now=NOW)
        assert getattr(outcome, "stops_lane", False)

    def test_a_link_beyond_measure_is_refused_here(self, server: NtfyServer, session: NtfySession) -> None:
        long = letter(entries=(entry(link="https://e.example/" + "x" * 9_000),))
        assert isinstance(session.send(push(server.url, long), key="k", begun_at=None, now=NOW), Permanent)
        assert server.requests == []


class TestDestination:
    def test_it_is_a_topic_of_a_server(self) -> None:
        assert at("https://NTFY.example/").core == "news@ntfy.example"

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"topic": "a b"}, "topic"),
            ({"topic": ""}, "topic"),
            ({"user": "phil"}, "password"),
            ({"access_token": TOKEN, "user": USER, "password": PASSWORD}, "access_token"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name(self, given: dict[str, str], field: str) -> None:
        with pytest.raises(InvalidDestination, match=f"{field}: "):
            KIND.parse_destination({"server_url": "https://ntfy.example", "topic": "news", **given})

    @pytest.mark.parametrize(
        "options", [{"tags": "a,b,c,d,e,f"}, {"tags": "<b>"}, {"priority": "9"}, {"picture": "maybe"}]
    )
    def test_a_wrong_option_is_refused(self, options: dict[str, str]) -> None:
        with pytest.raises(InvalidDestination):
            KIND.parse_options(options)

    def test_tags_are_kept_in_one_way(self) -> None:
        assert KIND.parse_options({"tags": " bee,  newspaper ,"}) == {"tags": "bee,newspaper"}


class TestCheck:
    def check(self, url: str, **given: str) -> None:
        usual = {"server_url": url, "topic": "news", **given}
        session = NtfySession(session=LOOPBACK.session(), timeout=PATIENT)
        session.check(KIND.parse_destination(usual))

    @pytest.mark.parametrize("reads", [True, False])
    def test_a_good_token_is_accepted_even_if_it_may_only_write(
        self, server: NtfyServer, reads: bool
    ) -> None:
        server.reads = reads
        self.check(server.url, access_token=TOKEN)

    @pytest.mark.parametrize("given", [{}, {"access_token": "tk_old"}, {"user": USER, "password": "wrong"}])
    def test_a_topic_that_is_closed_to_them_is_refused(
        self, server: NtfyServer, given: dict[str, str]
    ) -> None:
        with pytest.raises(InvalidDestination, match="access_token: "):
            self.check(server.url, **given)

    @pytest.mark.parametrize("reply", [Reply(body="<html>"), Reply(404, "<html>"), Reply(503)])
    def test_another_server_is_refused_by_its_address(self, server: NtfyServer, reply: Reply) -> None:
        server.paths["/news/auth"] = reply
        with pytest.raises(InvalidDestination, match="server_url: "):
            self.check(server.url, access_token=TOKEN)


HOSTILE = st.text(max_size=3_000) | st.sampled_from(['"\\' * 3_000, "\x00\ud800" * 900, "🦄" * 3_000])


@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_push_is_within_the_servers_limits(title: str, summary: str, template: str) -> None:
    post = letter(entries=(entry(title, summary=summary, content=summary),))
    body = push("https://ntfy.example", post, template=template).body.json("news", "k")
    said = json.loads(body)
    assert len(body) <= 2 * LONGEST
    assert 0 < len(said["message"].encode()) <= LONGEST
    assert said["click"] == LINK
    assert not template or LINK in said["message"]


@given(st.text(min_size=1))
def test_any_key_makes_a_sequence_id(key: str) -> None:
    assert 0 < len(sequence_id_of(key)) <= 64
    assert sequence_id_of(key) == sequence_id_of(sequence_id_of(key))
