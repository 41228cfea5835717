"""Gotify against a fake server: the contract, and Gotify's own features."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Channel, CrashPolicy, Message, Permanent, Sent, Session
from channels.gotify.session import LONGEST_MESSAGE, GotifyChannel, GotifySession
from channels.gotify.spec import GotifySpec
from channels.letter import Recipient
from common.ports.channels import InvalidDestination
from tests.contracts.bridge import LINK, LOOPBACK, PATIENT, BridgeContract, entry, letter
from tests.contracts.channel import NOW, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.gotify import TOKEN, GotifyServer, error

CHANNEL, KIND = GotifyChannel(), GotifySpec()
PICTURE = "https://e.example/a.png"


def at(url: str, **given: str) -> Recipient:
    made = KIND.parse_destination({"account": "phone", "server_url": url, "access_token": TOKEN, **given})
    return Recipient(1, made.core, made.label, config=made.config, secrets=made.secrets)


def push(url: str, of: Any = None, **options: str) -> Message[Any]:
    return CHANNEL.composer(replace(of or letter(), options=options))(at(url))


@pytest.fixture
def server() -> Iterator[GotifyServer]:
    with GotifyServer() as running:
        yield running


class TestGotifyContract(BridgeContract):
    channel: ClassVar[Channel] = CHANNEL
    refused = error(400, "Field 'message' is required")
    unauthorised = error(401, "you need to provide a valid access token")
    # The application was deleted, and its token with it.
    gone = None
    secrets = (TOKEN,)
    service: GotifyServer

    def server(self) -> GotifyServer:
        return GotifyServer()

    def connected(self, timeout: float) -> Session:
        return GotifySession(session=LOOPBACK.session(), timeout=timeout)

    def recipient(self) -> Recipient:
        return at(self.url)

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(number), said["message"]) for number, said in enumerate(self.service.messages)]

    def acceptable(self, arrival: Arrival) -> bool:
        clicks = [said["extras"]["client::notification"]["click"]["url"] for said in self.service.messages]
        return len(arrival.text) <= LONGEST_MESSAGE and set(clicks) == {LINK}

    def is_harmless(self, text: str) -> bool:
        """Gotify shows plain text if the message asks for it."""
        kinds = {said["extras"]["client::display"]["contentType"] for said in self.service.messages}
        return kinds == {"text/plain"}

    def test_an_option_says_what_happens_when_nobody_knows(self) -> None:
        assert CHANNEL.crash_policy is CrashPolicy.HOLD
        assert KIND.parse_options({"when_unsure": "repeat"}) == {"when_unsure": "repeat"}


def test_a_push_opens_the_post_and_shows_its_picture(server: GotifyServer) -> None:
    session = GotifySession(session=LOOPBACK.session(), timeout=PATIENT)
    post = letter(entries=(entry("Bees", summary="On <b>bees</b>.", image=PICTURE),))
    what = push(server.url, post, priority="8")
    assert session.send(what, key="k", begun_at=None, now=NOW) == Sent("1")
    [said] = server.messages
    assert (said["title"], said["priority"]) == ("Bees", 8)
    assert said["message"] == "[bees] New Post: Bees, by Ada\nOn bees."
    assert said["extras"]["client::notification"] == {"click": {"url": LINK}, "bigImageUrl": PICTURE}
    assert TOKEN not in repr(what)
    session.send(push(server.url, post, picture="no"), key="k2", begun_at=None, now=NOW)
    assert "bigImageUrl" not in server.messages[-1]["extras"]["client::notification"]


def test_a_link_beyond_measure_is_refused_here(server: GotifyServer) -> None:
    long = letter(entries=(entry(link="https://e.example/" + "x" * 9_000),))
    session = GotifySession(session=LOOPBACK.session(), timeout=PATIENT)
    what = push(server.url, long, template="{link}")
    assert isinstance(session.send(what, key="k", begun_at=None, now=NOW), Permanent)
    assert server.requests == []


@pytest.mark.parametrize(
    "given", [{"account": ""}, {"server_url": "ftp://gotify.example"}, {"access_token": "a b"}]
)
def test_what_does_not_fit_is_refused_by_name(given: dict[str, str]) -> None:
    with pytest.raises(InvalidDestination, match=f"{next(iter(given))}: "):
        at("https://gotify.example", **given)


def check(url: str) -> None:
    to = KIND.parse_destination({"account": "phone", "server_url": url, "access_token": TOKEN})
    GotifySession(session=LOOPBACK.session(), timeout=PATIENT).check(to)


def test_a_server_is_asked_whether_it_is_one_without_showing_it_the_token(server: GotifyServer) -> None:
    check(server.url)
    assert "x-gotify-key" not in server.requests[0].headers
    for reply in (Reply(body="<html>"), Reply(404, "<html>"), Reply(503)):
        server.paths["/version"] = reply
        with pytest.raises(InvalidDestination, match="server_url: "):
            check(server.url)


HOSTILE = st.text(max_size=3_000) | st.sampled_from(["\x00\ud800" * 900, "🦄" * 3_000])


@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_push_is_as_short_as_one_reads(title: str, summary: str, template: str) -> None:
    post = letter(entries=(entry(title, summary=summary, content=summary),))
    body = push("https://gotify.example", post, template=template).body
    assert 0 < len(body["message"]) <= LONGEST_MESSAGE
    assert not template or LINK in body["message"]
