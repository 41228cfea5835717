"""The Mastodon channel's interface: destination, options and check."""

from typing import Any

import pytest

from common.ports.channels import InvalidDestination, ParsedDestination
from tests.channels.mastodon.letters import CHANNEL, FIELDS, Tooting, message
from tests.contracts.bridge import IMPATIENT, PATIENT, closed_port
from tests.servers.mastodon_instance import TOKEN, Reply


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
