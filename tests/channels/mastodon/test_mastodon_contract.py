"""The Mastodon channel against a fake instance: the contract, and its requests.

The Mastodon channel's interface: destination, options and check.
"""

import re
from typing import Any

import pytest

from channels.base import Permanent, Sent, Temporary
from channels.mastodon.message import Instance, instances
from common.ports.channels import InvalidDestination, ParsedDestination
from tests.channels.mastodon.letters import CHANNEL, FIELDS, STATUSES, Tooting, message, recipient
from tests.contracts.bridge import IMPATIENT, LINK, PATIENT, BridgeContract, closed_port, expect
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


def parsed(**data: str) -> ParsedDestination:
    return CHANNEL.parse_destination({**FIELDS, **data})


class TestDestination:
    @pytest.mark.parametrize(
        "typed",
        ["https://fake.example", "fake.example", " HTTPS://Fake.Example:443/ ", "https://fake.example."],
    )
    def test_spellings_of_an_instance_are_one(self, typed: str) -> None:
        made = parsed(instance_url=typed, account="@Bot ")
        assert made.core == "bot@fake.example"
        assert made.config == {"account": "bot", "instance_url": "https://fake.example"}
        assert made.secrets == {"access_token": TOKEN}
        assert made.label == "bot at fake.example"

    def test_two_names_on_an_instance_are_two_accounts(self) -> None:
        assert parsed(account="news").core != parsed(account="bot").core

    @pytest.mark.parametrize(
        ("typed", "url"),
        [
            ("bücher.example", "https://xn--bcher-kva.example"),
            ("https://fake.example:8443", "https://fake.example:8443"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("http://localhost:3000/", "http://localhost:3000"),
            ("http://[::1]:3000", "http://[::1]:3000"),
        ],
    )
    def test_an_instance_is_named_by_its_origin(self, typed: str, url: str) -> None:
        assert parsed(instance_url=typed).config["instance_url"] == url

    def test_the_lane_is_the_account_and_the_domain_its_host(self) -> None:
        assert CHANNEL.lane_account("bot@fake.example:8443", {}) == "bot@fake.example:8443"
        assert CHANNEL.domain("bot@fake.example:8443") == "fake.example"
        assert CHANNEL.domain("bot@[::1]:3000") == "::1"


class TestOptions:
    def test_a_bridge_posts_publicly_unless_told_otherwise(self) -> None:
        assert CHANNEL.parse_options({}) == {}
        assert message().body.visibility == "public"


class TestCheck(Tooting):
    @pytest.mark.parametrize(
        ("is_before_43", "scopes"),
        [
            (False, ["read", "write:statuses"]),
            (False, None),
            (False, ["read", "write"]),
            (False, ["profile", "read:statuses", "write:statuses"]),
            # It tells no scopes to tokens that may not read everything.
            (True, ["read:accounts", "read:statuses", "write:statuses"]),
        ],
    )
    def test_a_good_token_names_its_account(self, is_before_43: bool, scopes: list[str] | None) -> None:
        self.service.is_before_43, self.service.scopes = is_before_43, scopes
        assert self.check().config["account_id"] == "109"

    @pytest.mark.parametrize(
        ("scopes", "missing"), [(["read"], "post"), (["profile", "write"], "read its own posts")]
    )
    def test_a_token_that_may_not_post_or_read_is_refused_when_saved(
        self, scopes: list[str], missing: str
    ) -> None:
        self.service.scopes = scopes
        self.refuse_check(f"access_token: it isn’t allowed to {missing}")

    def test_a_bad_token_is_refused_with_the_way_to_a_good_one(self) -> None:
        assert "wrong-one" not in self.refuse_check(r"access_token: .* Development", access_token="wrong-one")

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (Reply(404, "<html>no</html>"), "doesn’t look like a Mastodon instance"),
            (Reply(200, "<html>welcome</html>"), "doesn’t respond like a Mastodon instance"),
            (Reply(200, {}), "doesn’t respond like a Mastodon instance"),
            (Reply(503), "answered 503"),
            (Reply(silent=True), "didn’t answer in time"),
            (Reply(302, headers={"Location": "https://moved.example/"}), "redirects to moved.example"),
        ],
    )
    def test_what_the_instance_said_is_told(self, reply: Reply, words: str) -> None:
        self.service.paths["/api/v1/accounts/verify_credentials"] = reply
        self.timeout = IMPATIENT if reply.silent else PATIENT
        self.refuse_check(f"instance_url: .*{words}")

    def test_a_private_instance_is_told(self, settings: Any) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = ()
        with pytest.raises(InvalidDestination, match="private address"):
            CHANNEL.check(parsed(instance_url=self.url))
        assert self.service.requests == []

    def test_an_instance_out_of_reach_is_told(self) -> None:
        self.refuse_check("refuses connections", instance_url=closed_port())
