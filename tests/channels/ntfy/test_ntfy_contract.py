"""The ntfy channel against a fake server: the contract, and ntfy's own features."""

import json
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Permanent, Sent, Temporary
from channels.ntfy.bridge import NtfyBridge, sequence_id_of
from feeds.parsing.entry import Media
from tests.contracts.bridge import LINK, BridgeContract, ServiceCase, entry, expect, letter, recipient_of
from tests.contracts.channel import Arrival
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

CHANNEL = NtfyBridge()
FIELDS = {"server_url": "https://ntfy.example", "topic": "news"}
PICTURE = "https://e.example/a.png"
HOSTILE = st.text(max_size=3_000) | st.sampled_from(['"\\' * 3_000, "\x00\ud800" * 900, "🦄" * 3_000])


class Ntfy(ServiceCase):
    channel, made_by = CHANNEL, NtfyServer
    given: ClassVar = {"server_url": "{url}", "topic": "news", "access_token": TOKEN}
    service: NtfyServer


class TestNtfyContract(Ntfy, BridgeContract):
    refused = error(400, 40009, "invalid request: topic invalid")
    unauthorised = UNAUTHORISED
    gone = FORBIDDEN
    secrets = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(said["sequence_id"], said["message"]) for said in self.service.shown.values()]

    def acceptable(self, arrival: Arrival) -> bool:
        [said] = self.service.shown.values()
        return len(arrival.text.encode()) <= self.service.longest and said["click"] == LINK

    def is_harmless(self, text: str) -> bool:
        """ntfy shows plain text unless the message is marked as Markdown."""
        return all("markdown" not in said for said in self.service.published)


class TestPublishing(Ntfy):
    def test_a_push_opens_the_post_and_shows_its_picture(self) -> None:
        post = entry("Bees", summary="On <b>bees</b>.", media=(Media(PICTURE, "image/png"),))
        what = letter(entries=(post,))
        assert self.post(what, key="t-1", priority="4", tags="bee,newspaper") == Sent("t-1")
        assert self.service.shown["t-1"] == {
            "id": "m0", "topic": "news", "title": "Bees", "click": LINK, "tags": ["bee", "newspaper"],
            "priority": 4, "attach": PICTURE, "sequence_id": "t-1",
            "message": "[bees] New Post: Bees, by Ada\nOn bees.",
        }  # fmt: skip

    def test_an_edit_takes_the_place_of_the_first(self) -> None:
        sent = self.post(key="t-1")
        assert self.edit(letter(entries=(entry("Better"),)), sent.remote_id) == Sent("t-1")
        assert ["Better" in said["message"] for said in self.service.shown.values()] == [True]

    def test_a_push_is_taken_back_once_or_twice(self) -> None:
        self.post(key="t-1")
        for _ in range(2):
            assert self.delete("t-1") == Sent("t-1")
        assert self.service.shown == {}

    def test_a_server_that_takes_no_pictures_gets_the_push_without(self) -> None:
        self.service.longest = 2_048
        post = entry("Long", summary="Wörter " * 2000, image=PICTURE)
        expect(self.post(letter(entries=(post,)), key="k"), Sent)
        assert "attach" not in self.service.shown["k"]

    def test_a_user_with_a_password_may_publish(self) -> None:
        fields = {**FIELDS, "server_url": self.url, "user": USER, "password": PASSWORD}
        what = self.composed(to=recipient_of(CHANNEL, fields))
        expect(self.post(what), Sent)
        assert PASSWORD not in repr(what)

    def test_a_quota_that_is_used_up_stops_the_lane(self) -> None:
        self.service.says = error(429, 42908, "limit reached: daily message quota reached")
        expect(self.post(), Temporary, stops_lane=True)

    def test_a_link_beyond_measure_is_refused_here(self) -> None:
        expect(self.post(letter(entries=(entry(link="https://e.example/" + "x" * 9_000),))), Permanent)
        assert self.service.requests == []


class TestDestination:
    def test_it_is_a_topic_of_a_server(self) -> None:
        made = CHANNEL.parse_destination({**FIELDS, "server_url": "https://NTFY.example/"})
        assert made.core == "news@ntfy.example"


class TestCheck(Ntfy):
    @pytest.mark.parametrize("reads", [True, False])
    def test_a_good_token_is_accepted_even_if_it_may_only_write(self, reads: bool) -> None:
        self.service.reads = reads
        self.check()

    @pytest.mark.parametrize("given", [{}, {"access_token": "tk_old"}, {"user": USER, "password": "wrong"}])
    def test_a_topic_that_is_closed_to_them_is_refused(self, given: dict[str, str]) -> None:
        self.refuse_check("access_token: ", **{"access_token": "", **given})

    @pytest.mark.parametrize("reply", [Reply(body="<html>"), Reply(404, "<html>"), Reply(503)])
    def test_another_server_is_refused_by_its_address(self, reply: Reply) -> None:
        self.service.paths["/news/auth"] = reply
        self.refuse_check("server_url: ")


@given(HOSTILE, HOSTILE, st.sampled_from(["", "{title}\n{summary} {link}", "{{x}} {link} {authors}"]))
def test_any_push_is_within_the_servers_limits(title: str, summary: str, template: str) -> None:
    post = letter(entries=(entry(title, summary=summary, content=summary),), options={"template": template})
    body = CHANNEL.compose(post, recipient_of(CHANNEL, FIELDS)).body.json("news", "k")
    said = json.loads(body)
    assert len(body) <= 2 * LONGEST
    assert 0 < len(said["message"].encode()) <= LONGEST
    assert said["click"] == LINK
    assert not template or LINK in said["message"]


@given(st.text(min_size=1))
def test_any_key_makes_a_sequence_id(key: str) -> None:
    assert 0 < len(sequence_id_of(key)) <= 64
    assert sequence_id_of(key) == sequence_id_of(sequence_id_of(key))
