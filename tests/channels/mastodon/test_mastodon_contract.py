"""The Mastodon channel against a fake instance: the contract, and its requests."""

import re
from typing import Any

import pytest

from channels.base import Permanent, Sent, Temporary
from channels.mastodon.message import Instance, instances
from tests.channels.mastodon.letters import STATUSES, Tooting, recipient
from tests.contracts.bridge import LINK, BridgeContract, expect
from tests.contracts.channel import Arrival
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply

LONG = "Wörter " * 200
V1, V2 = "/api/v1/instance", "/api/v2/instance"


class TestMastodonContract(Tooting, BridgeContract):
    refused = Reply(422, {"error": "Validation failed: Text can't be blank"})
    unauthorised = Reply(401, {"error": "The access token was revoked"})
    gone = None
    secrets = (TOKEN,)

    def arrived(self) -> list[Arrival]:
        return [Arrival(status["id"], status["text"]) for status in self.service.statuses]

    def acceptable(self, arrival: Arrival) -> bool:
        return self.service.length(arrival.text) <= self.service.characters and LINK in arrival.text

    def is_harmless(self, text: str) -> bool:
        return re.search(r"(?<![\w/=])@\w", text) is None


class TestLimits(Tooting):
    def test_the_instances_own_limit_counts(self) -> None:
        self.service.characters = 120
        expect(self.toot("Wörter und mehr " * 50), Sent)
        [status] = self.service.statuses
        assert self.service.length(status["text"]) <= 120
        assert status["text"].endswith(f"…, by Ada {LINK}")

    def test_a_content_warning_takes_its_part(self) -> None:
        expect(self.toot(LONG, options={"spoiler": "w" * 100}), Sent)

    def test_limits_are_asked_once_a_day(self) -> None:
        opened = self.session()
        for key in ("a", "b", "c"):
            expect(self.post(on=opened, key=key), Sent)
        assert len(self.service.asked(V2)) == 1

    def test_a_refusal_reads_the_limits_anew(self) -> None:
        self.known = instances()
        self.known.get(self.url, Instance)
        self.service.characters = 300
        expect(self.toot(LONG), Permanent)
        expect(self.toot(LONG), Sent)

    def test_an_instance_without_v2_is_asked_by_v1(self) -> None:
        self.service.paths[V2] = Reply(404)
        self.service.paths[V1] = Reply(body={"version": "3.5", "max_toot_chars": 200})
        expect(self.toot(LONG), Sent)
        assert 150 < self.service.length(self.service.statuses[0]["text"]) <= 200

    @pytest.mark.parametrize(
        "replies",
        [
            {V2: Reply(404), V1: Reply(404)},
            {V2: Reply(body={"configuration": "no"})},
            {V2: Reply(body={"configuration": {"statuses": {"max_characters": -1}}})},
            {V2: Reply(body=[])},
        ],
    )
    def test_a_server_that_tells_no_limits_gets_the_usual_ones(self, replies: dict[str, Reply]) -> None:
        self.service.paths |= replies
        expect(self.toot(LONG), Sent)

    def test_a_page_instead_of_limits_is_no_time_to_post(self) -> None:
        self.service.paths[V2] = Reply(body="<html>")
        expect(self.toot(), Temporary)
        assert self.service.statuses == []


class TestRequest(Tooting):
    def test_options_reach_the_instance(self) -> None:
        self.post(visibility="unlisted", language="de", spoiler="Bienen")
        [request] = self.service.asked(STATUSES)
        form: Any = request.form
        assert (form["visibility"], form["language"]) == ("unlisted", "de")
        assert form["spoiler_text"] == "Bienen"
        assert request.headers["idempotency-key"] == "key-1"
        assert request.headers["authorization"] == f"Bearer {TOKEN}"

    def test_one_session_serves_several_accounts(self) -> None:
        opened = self.session()
        with MastodonInstance() as other:
            for url in (self.url, other.url):
                expect(self.post(self.composed(to=recipient(url)), on=opened), Sent)
            assert len(self.service.statuses) == len(other.statuses) == 1
