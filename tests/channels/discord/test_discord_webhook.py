"""A Discord webhook: requests, responses, edits and deletions."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from channels.base import Permanent, Sent, Temporary
from channels.discord.bridge import DiscordBridge
from common.ports.channels import InvalidDestination, ParsedDestination
from tests.channels.discord.letters import api_at, sent_by, webhook_message, webhook_session
from tests.contracts.bridge import LINK, expect, letter
from tests.contracts.channel import NOW
from tests.servers.api_server import Reply
from tests.servers.services.discord import (
    CHANNEL,
    FORUM,
    FORUM_THREAD,
    GUILD,
    TOKEN,
    WEBHOOK,
    WEBHOOK_ID,
    Discord,
)

KIND = DiscordBridge()
URL = f"https://discord.com{WEBHOOK}"


@pytest.fixture
def discord(settings: Any) -> Iterator[Discord]:
    with Discord() as server:
        settings.DISCORD_API_URL = api_at(server.url)
        yield server


def post(discord: Discord, title: str = "T", **options: str) -> Any:
    return sent_by(webhook_session(discord.url), webhook_message(letter(title), **options))


class TestPosting:
    def test_what_is_sent_is_linked(self, discord: Discord) -> None:
        outcome = post(discord)
        [message] = discord.messages
        assert outcome == Sent(
            remote_id=f"{CHANNEL}/{message['id']}",
            url=f"https://discord.com/channels/{GUILD}/{CHANNEL}/{message['id']}",
        )

    def test_the_sender_looks_as_was_wished(self, discord: Discord) -> None:
        post(discord, sender_name="Bees", sender_picture="https://b.example/l.png")
        [message] = discord.messages
        assert (message["username"], message["avatar_url"]) == ("Bees", "https://b.example/l.png")

    def test_a_card_that_is_refused_goes_out_in_words(self, discord: Discord) -> None:
        discord.takes_no_cards = True
        assert isinstance(post(discord, sender_picture="https://b.example/l.png"), Sent)
        [message] = discord.messages
        assert f"<{LINK}>" in message["content"]
        assert "avatar_url" not in message

    def test_a_forum_gets_a_thread_for_each_post(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        outcome = post(discord, "Bees", applied_tags="10000 10001")
        [message] = discord.messages
        assert isinstance(outcome, Sent)
        assert outcome.remote_id == f"{FORUM_THREAD}/{message['id']}"
        assert (message["thread_name"], message["applied_tags"]) == ("Bees", ["10000", "10001"])

    def test_a_named_thread_is_asked_for_at_once(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        assert isinstance(post(discord, "Bees", thread_name="News: {title}"), Sent)
        assert discord.messages[0]["thread_name"] == "News: Bees"
        assert len(discord.requests) == 1

    def test_a_missing_tag_is_said(self, discord: Discord) -> None:
        discord.channel_type, discord.needs_tag = FORUM, True
        expect(post(discord), Permanent, "tag is required", disables=False)
        assert len(discord.requests) <= 4

    def test_a_thread_that_was_chosen_takes_all(self, discord: Discord) -> None:
        expect(post(discord, thread_id=FORUM_THREAD, thread_name="{title}"), Sent)
        assert discord.messages[0]["channel_id"] == FORUM_THREAD

    @pytest.mark.parametrize(("status", "code"), [(404, 10003), (404, 10004), (404, 10015), (401, 50027)])
    def test_a_webhook_that_is_gone_is_not_called_again(
        self, discord: Discord, status: int, code: int
    ) -> None:
        discord.says = Reply(status, {"message": "no", "code": code})
        expect(post(discord), Permanent, disables=True)
        assert len(discord.requests) == 1

    @pytest.mark.parametrize("code", [50001, 50013, 50009, 40012, 50083, 160005, 160006])
    def test_a_right_that_may_be_given_back_stops_the_lane_and_loses_nothing(
        self, discord: Discord, code: int
    ) -> None:
        discord.says = Reply(403, {"message": "no", "code": code})
        outcome = expect(post(discord), Temporary, forbidden=True, stops_lane=True)
        # With `suspect`, attempts are counted, and after four days it fails.
        assert not outcome.suspect

    def test_an_unknown_refusal_disables_nothing(self, discord: Discord) -> None:
        discord.says = Reply(403, {"message": "Something new", "code": 999999})
        expect(post(discord), Temporary, suspect=True)

    def test_nor_is_one_that_a_proxy_does_not_find(self, discord: Discord) -> None:
        discord.says = Reply(404, "<html>not found</html>")
        expect(post(discord), Permanent, disables=True)

    def test_one_session_serves_several_webhooks(self, discord: Discord) -> None:
        gone = f"/api/v10/webhooks/1100000/{TOKEN}"
        opened = webhook_session(discord.url)
        for url, outcome in ((f"https://discord.com{gone}", Permanent), (URL, Sent)):
            made = replace(webhook_message(), secrets={"webhook_url": url})
            assert isinstance(opened.send(made, key="k", begun_at=None, now=NOW), outcome)
        opened.close()
        assert [request.place for request in discord.requests] == [
            "/api/v10/webhooks/1100000/" + TOKEN,
            WEBHOOK,
        ]

    @pytest.mark.parametrize("code", [50006, 40005, 200000, 200001, 240000, 40067, 40058])
    def test_a_message_that_is_refused_is_tried_once_more(self, discord: Discord, code: int) -> None:
        discord.says = Reply(403, {"message": "Blocked by AutoMod", "code": code})
        expect(post(discord), Permanent, disables=False)
        assert len(discord.requests) == 2

    @pytest.mark.parametrize("code", [20016, 20028, 20029, 30046, 40062, 40004, 40006, 40333, 50083])
    def test_some_refusals_pass(self, discord: Discord, code: int) -> None:
        discord.says = Reply(403, {"message": "later", "code": code})
        assert isinstance(post(discord), Temporary)

    @pytest.mark.parametrize("code", [{}, [], "x", True, None, 1e400])
    def test_nonsense_for_a_code_does_no_harm(self, discord: Discord, code: Any) -> None:
        discord.says = Reply(400, {"message": {"a": 1}, "code": code, "errors": []})
        assert isinstance(post(discord), Permanent)

    def test_the_body_says_how_long_to_wait(self, discord: Discord) -> None:
        discord.says = Reply(
            429, {"message": "slow", "retry_after": 0.65, "global": True}, {"X-RateLimit-Scope": "global"}
        )
        expect(post(discord), Temporary, retry_at=NOW + timedelta(seconds=0.65), stops_lane=True)


class TestChanges:
    def test_an_edit_says_it_anew_and_calls_nobody(self, discord: Discord) -> None:
        first = post(discord, role="14000")
        made = webhook_message(letter("Corrected"), role="14000")
        outcome = self.edit(discord, made, first.remote_id)
        assert outcome == first
        assert discord.messages[0]["embeds"][0]["title"] == "Corrected"
        assert discord.requests[-1].json["allowed_mentions"] == {"parse": []}

    def test_a_post_in_a_forum_is_edited_and_deleted_in_its_thread(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        first = post(discord)
        made = webhook_message(letter("Corrected"))
        assert isinstance(self.edit(discord, made, first.remote_id), Sent)
        assert isinstance(self.delete(discord, made, first.remote_id), Sent)
        assert discord.messages == []

    def test_an_edit_whose_card_is_refused_is_made_plain(self, discord: Discord) -> None:
        first = post(discord)
        discord.takes_no_cards = True
        assert isinstance(self.edit(discord, webhook_message(letter("Corrected")), first.remote_id), Sent)
        assert "Corrected" in discord.messages[0]["content"]

    def test_what_was_deleted_there_is_neither_edited_nor_the_webhooks_end(self, discord: Discord) -> None:
        first = post(discord)
        discord.messages.clear()
        expect(self.edit(discord, webhook_message(), first.remote_id), Permanent, disables=False)

    def test_deleting_twice_is_deleting(self, discord: Discord) -> None:
        first, made = post(discord), webhook_message()
        assert isinstance(self.delete(discord, made, first.remote_id), Sent)
        assert isinstance(self.delete(discord, made, first.remote_id), Sent)
        assert discord.messages == []

    @pytest.mark.parametrize("act", ["edit", "delete"])
    def test_a_thread_that_is_archived_stops_no_other_post(self, discord: Discord, act: str) -> None:
        made = webhook_message()
        first = sent_by(webhook_session(discord.url), made)
        assert isinstance(first, Sent)
        _, _, number = first.remote_id.partition("/")
        said = Reply(400, {"message": "Thread is archived", "code": 50083})
        discord.paths[f"{WEBHOOK}/messages/{number}"] = said
        expect(getattr(self, act)(discord, made, first.remote_id), Temporary, stops_lane=False)

    def test_a_failure_to_delete_is_said_without_the_address(self, discord: Discord) -> None:
        first, made = post(discord), webhook_message()
        discord.paths[f"{WEBHOOK}/messages/{discord.messages[0]['id']}"] = Reply(503, f"{TOKEN} down")
        outcome = self.delete(discord, made, first.remote_id)
        assert isinstance(outcome, Temporary)
        assert TOKEN not in repr(outcome)

    def edit(self, discord: Discord, message: Any, remote_id: str) -> Any:
        return webhook_session(discord.url).edit(message, remote_id=remote_id, parts=(), key="k-1", now=NOW)

    def delete(self, discord: Discord, message: Any, remote_id: str) -> Any:
        return webhook_session(discord.url).delete(message, remote_id=remote_id, parts=(), now=NOW)


class TestKind:
    @pytest.mark.parametrize(
        "typed",
        [
            URL,
            f"https://discordapp.com/api/webhooks/{WEBHOOK_ID}/{TOKEN}",
            f" https://Canary.discord.com/api/webhooks/{WEBHOOK_ID}/{TOKEN}/?thread_id=5 ",
        ],
    )
    def test_spellings_of_a_webhook_are_one(self, typed: str) -> None:
        made = KIND.parse_destination({"webhook_url": typed})
        assert made.core == WEBHOOK_ID
        assert made.secrets == {"webhook_url": URL}
        assert TOKEN not in made.label

    @pytest.mark.parametrize(
        "typed",
        [
            "", "none", URL.replace("https", "http"), f"https://evil.example{WEBHOOK}",
            f"https://u@discord.com{WEBHOOK}", f"https://discord.com.evil.example{WEBHOOK}", f"{URL}/github",
            f"https://discord.com/api/webhooks/{WEBHOOK_ID}",
            "https://[discord.com", f"https://discord.com:99{WEBHOOK}",
        ],
    )  # fmt: skip
    def test_another_address_is_refused_and_not_repeated(self, typed: str) -> None:
        with pytest.raises(InvalidDestination, match="webhook_url: ") as caught:
            KIND.parse_destination({"webhook_url": typed})
        assert TOKEN not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("role", "everyone"), ("role", "<@&1400000>"), ("thread_id", "x"), ("applied_tags", "10000 x"),
            ("applied_tags", "10001 10002 10003 10004 10005 10006"), ("sender_name", "My Discord"),
            ("sender_name", "clyde"), ("sender_name", "x" * 81), ("sender_name", "Here"),
            ("sender_picture", "javascript:alert(1)"), ("thread_name", "{nothing}"), ("style", "loud"),
            ("silent", "no way"),
        ],
    )  # fmt: skip
    def test_a_wrong_option_is_refused_by_name(self, name: str, value: str) -> None:
        with pytest.raises(InvalidDestination, match=f"{name}: "):
            KIND.parse_options({name: value})

    def test_options_are_kept_tidy(self) -> None:
        given = {
            "role": "https://discord.com/channels/70000/90000",
            "applied_tags": "10000, 10001",
            "sender_name": " Bee\n news ",
            "silent": "on",
            "when_unsure": "repeat",
        }
        assert KIND.parse_options(given) == {
            "role": "90000",
            "applied_tags": "10000 10001",
            "sender_name": "Bee news",
            "silent": "on",
            "when_unsure": "repeat",
        }


class TestCheck:
    def check(self, discord: Discord) -> Any:
        given = ParsedDestination(WEBHOOK_ID, "Webhook", secrets={"webhook_url": URL})
        return webhook_session(discord.url).check_destination(given)

    def test_it_says_which_channel_it_is_for(self, discord: Discord) -> None:
        made = self.check(discord)
        assert made.config == {"channel_id": CHANNEL, "guild_id": GUILD}
        assert made.label == f"Bees ({WEBHOOK_ID})"

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (Reply(404, {"message": "Unknown Webhook", "code": 10015}), "Unknown Webhook"),
            (Reply(503, "down"), "answered 503"),
            (Reply(200, "<html>"), "doesn’t respond like Discord"),
            (
                Reply(200, {"id": "1", "type": 3, "channel_id": "2", "guild_id": "3"}),
                "another kind of webhook",
            ),
        ],
    )
    def test_what_is_wrong_with_it_is_told(self, discord: Discord, reply: Reply, words: str) -> None:
        discord.paths[WEBHOOK] = reply
        with pytest.raises(InvalidDestination, match=f"webhook_url: .*{words}") as caught:
            self.check(discord)
        assert TOKEN not in str(caught.value)
