"""A Discord bot: interrupted attempts, forums, announcements, and its shared account."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from channels.base import Ambiguous, LaneFacts, Sent, Temporary
from channels.discord.bot import DiscordBotBridge
from channels.discord.service import NONCE_LENGTH, nonce_of
from channels.letter import Recipient
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.accounts.accounts import facts_of
from delivery.lanes.lanes import lane_for
from delivery.models import Account
from tests.channels.discord.letters import PLACES, Botted, bots_message
from tests.contracts.bridge import entry, expect, letter
from tests.contracts.channel import NOW
from tests.servers.api_server import Reply
from tests.servers.services.discord import (
    BOT,
    BOT_TOKEN,
    CHANNEL,
    FORUM,
    FORUM_THREAD,
    GUILD,
    NEWS,
    WEBHOOK_ID,
)

SECRETS: Any = {"token": BOT_TOKEN}
HOUR_AGO = NOW - timedelta(hours=1)


class Losing(Botted):
    def lose(self, reply: Reply, **options: str) -> None:
        """Lose the response of an accepted attempt, and let the nonce expire."""
        self.service.says = reply
        expect(self.post(**options), Ambiguous)
        self.service.says = None
        self.service.forget_nonces()


class TestAfterAnInterruptedTry(Losing):
    @pytest.mark.parametrize(
        "options", [{}, {"style": "compact"}, {"style": "text"}, {"template": "{title} x"}]
    )
    @pytest.mark.parametrize("reply", [Reply(takes=True, hangs_up=True), Reply(takes=True, body="<html>")])
    def test_what_arrived_is_found_and_not_posted_again(self, options: dict[str, Any], reply: Reply) -> None:
        self.lose(reply, **options)
        made = bots_message(**options)
        self.service.somebody_writes("Look at this")
        expect(self.post(made, begun_at=NOW), Sent, remote_id=f"{CHANNEL}/{self.service.messages[0]['id']}")
        assert len(self.service.messages) == 2

    def test_what_did_not_arrive_is_posted(self) -> None:
        self.service.somebody_writes("Look at this")
        assert isinstance(self.say(begun_at=NOW), Sent)
        assert len(self.service.messages) == 2

    def test_an_empty_channel_holds_no_earlier_message(self) -> None:
        assert isinstance(self.say(begun_at=NOW), Sent)
        assert len(self.service.messages) == 1

    def test_another_newsletters_message_of_the_same_post_is_not_taken_for_ours(self) -> None:
        assert isinstance(self.say(newsletter="wasps"), Sent)
        assert isinstance(self.say(begun_at=NOW, key="key-2"), Sent)
        assert len(self.service.messages) == 2

    def test_an_older_message_is_not_taken_for_ours(self) -> None:
        self.service.now = NOW - timedelta(days=1)
        assert isinstance(self.say(), Sent)
        assert isinstance(self.say(begun_at=NOW, key="key-2"), Sent)
        assert len(self.service.messages) == 2

    def test_a_post_without_a_link_is_held_where_a_message_has_the_same_words(self) -> None:
        made = bots_message(letter(entries=(entry("Bees", link=""),)))
        assert isinstance(self.post(made), Sent)
        expect(self.post(made, begun_at=NOW, key="key-2"), Ambiguous, "same text", holds=True)
        assert len(self.service.messages) == 1

    def test_somebody_elses_copy_is_not_ours(self) -> None:
        content = bots_message(style="text").body.full["content"]
        self.service.somebody_writes(content)
        assert isinstance(self.say(options={"style": "text"}, begun_at=NOW), Sent)
        assert len(self.service.messages) == 2

    def test_a_history_that_may_not_be_read_holds_it(self) -> None:
        self.lose(Reply(takes=True, hangs_up=True))
        self.service.reads_history = False
        expect(self.say(begun_at=NOW), Ambiguous, "history", holds=True)
        assert len(self.service.messages) == 1

    def test_a_channel_in_which_much_was_said_since_holds_it(self) -> None:
        for _ in range(100):
            self.service.somebody_writes("chat", at=NOW)
        expect(self.say(begun_at=HOUR_AGO), Ambiguous, holds=True)
        assert len(self.service.messages) == 100

    def test_while_nobody_can_look_nothing_is_posted(self) -> None:
        self.service.paths[f"/api/v10/channels/{CHANNEL}/messages"] = Reply(200, {"messages": []})
        expect(self.say(begun_at=NOW), Ambiguous, holds=False)
        assert self.service.messages == []

    def test_while_the_channel_is_hidden_the_lane_waits_and_it_stays_unknown(self) -> None:
        said = Reply(403, {"message": "Missing Access", "code": 50001})
        self.service.paths[f"/api/v10/channels/{CHANNEL}/messages"] = said
        expect(self.say(begun_at=NOW), Temporary, forbidden=True, stops_lane=True)
        assert self.service.messages == []

    def test_while_discord_is_down_the_lane_waits_and_it_stays_unknown(self) -> None:
        self.service.paths[f"/api/v10/channels/{CHANNEL}/messages"] = Reply(503)
        outcome = expect(self.say(begun_at=NOW), Temporary, stops_lane=True)
        # With `suspect`, the engine would assume that this session had handled it.
        assert not outcome.suspect
        assert self.service.messages == []

    def test_a_token_that_was_revoked_meanwhile_stops_the_account(self) -> None:
        expect(
            self.post(on=self.session(credentials={"token": "revoked"}), begun_at=NOW),
            Temporary,
            stops_account=True,
            stops_lane=False,
        )

    def test_a_forum_is_not_looked_through(self) -> None:
        self.service.channel_type = FORUM
        expect(self.say(begun_at=NOW), Ambiguous, holds=True)
        assert self.service.messages == []


class TestUnderAnotherName(Losing):
    NAMED: ClassVar[dict[str, Any]] = {
        "sender_name": "The Hive",
        "sender_picture": "https://bees.example/hive.png",
    }

    def test_all_posts_of_a_channel_share_a_webhook_that_is_made_once(self) -> None:
        for _ in range(2):
            assert isinstance(self.say(options=self.NAMED), Sent)
        assert list(self.service.made.values()) == [CHANNEL]
        assert {message["username"] for message in self.service.messages} == {"The Hive"}
        assert {message["avatar_url"] for message in self.service.messages} == {
            "https://bees.example/hive.png"
        }

    def test_without_the_permission_it_is_posted_as_the_bot_with_a_remark(self) -> None:
        self.service.manages_webhooks = False
        outcome = expect(self.say(options={**self.NAMED, "thread_minutes": "60"}), Sent)
        assert "Manage Webhooks" in outcome.remark
        (message,) = self.service.messages
        assert message["author"] == {"id": BOT}
        assert len(self.service.threads) == 1

    def test_a_webhook_that_somebody_deleted_is_made_again(self) -> None:
        session, made = self.session(), bots_message(**self.NAMED)
        for key in ("key-1", "key-2"):
            assert isinstance(session.send(made, key=key, begun_at=None, now=NOW), Sent)
            self.service.made.clear()
        session.close()
        assert len(self.service.messages) == 2

    def test_what_arrived_is_found_and_not_posted_again(self) -> None:
        self.lose(Reply(takes=True, hangs_up=True), **self.NAMED)
        later = NOW + timedelta(minutes=6)
        expect(
            self.post(bots_message(**self.NAMED), begun_at=NOW, now=later),
            Sent,
            remote_id=f"{CHANNEL}/{self.service.messages[0]['id']}",
        )
        assert len(self.service.messages) == 1

    def test_what_arrived_is_found_whatever_was_chosen_since(self) -> None:
        self.lose(Reply(takes=True, hangs_up=True), **self.NAMED)
        expect(self.post(bots_message(), begun_at=NOW), Sent)
        assert len(self.service.messages) == 1

    def test_the_same_post_of_another_webhook_is_not_taken_for_its_own(self) -> None:
        self.say(options=self.NAMED)
        self.service.messages[0]["webhook_id"] = WEBHOOK_ID
        expect(self.say(options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=5)), Sent)
        assert len(self.service.messages) == 2

    def test_a_webhook_that_is_gone_is_known_by_what_it_posted(self) -> None:
        self.say(options=self.NAMED)
        self.service.made.clear()
        expect(self.say(options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=5)), Sent)
        assert len(self.service.messages) == 1

    def test_what_is_not_there_is_posted_once_no_earlier_try_can_arrive(self) -> None:
        expect(
            self.say(options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=4)), Ambiguous, holds=False
        )
        assert self.service.messages == []
        assert isinstance(self.say(options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=5)), Sent)
        assert len(self.service.messages) == 1

    @pytest.mark.parametrize("is_named_since", [True, False])
    def test_it_is_edited_and_deleted_by_the_webhook_whatever_was_chosen_since(
        self, is_named_since: bool
    ) -> None:
        first = expect(self.say(options=self.NAMED if is_named_since else {}), Sent)
        made = bots_message(letter("Better"), style="text", **({} if is_named_since else self.NAMED))
        session = self.session()
        expect(session.edit(made, remote_id=first.remote_id, parts=(), key="k-1", now=NOW), Sent)
        assert "Better" in self.service.messages[0]["content"]
        assert isinstance(session.delete(made, remote_id=first.remote_id, parts=(), now=NOW), Sent)
        session.close()
        assert self.service.messages == []

    def test_a_message_of_a_webhook_that_is_gone_stays_and_its_channel_is_not_disabled(self) -> None:
        first = expect(self.say(options=self.NAMED), Sent)
        self.service.made.clear()
        outcome = self.edit(bots_message(letter("Better")), first.remote_id)
        assert not getattr(outcome, "disables", False)
        assert len(self.service.messages) == 1

    def test_in_a_thread_it_is_the_webhook_of_its_channel(self) -> None:
        self.service.channels["1200000000000000077"] = GUILD
        self.service.about_channels["1200000000000000077"] = {"type": 11, "parent_id": CHANNEL}
        config = {**PLACES, "channel_id": "1200000000000000077", "channel_type": "11"}
        to = Recipient(1, "bees/1200000000000000077", "#news", config=config)
        made = self.composed(to=to, **self.NAMED)
        outcome = expect(self.post(made), Sent)
        assert self.service.messages[0]["channel_id"] == "1200000000000000077"
        assert list(self.service.made.values()) == [CHANNEL]
        expect(self.delete(outcome.remote_id, to=to), Sent)
        assert self.service.messages == []

    def test_in_a_forum_each_begins_its_thread_under_that_name(self) -> None:
        self.service.channel_type = FORUM
        assert isinstance(self.say("Bees", options=self.NAMED), Sent)
        assert self.service.messages[0]["thread_name"] == "Bees"
        assert self.service.messages[0]["username"] == "The Hive"


class TestPlaces(Botted):
    def test_a_forum_gets_a_thread_for_each_post(self) -> None:
        self.service.channel_type = FORUM
        outcome = expect(self.say("Bees", options={"applied_tags": "10000"}), Sent)
        assert outcome.url == f"https://discord.com/channels/{GUILD}/{outcome.remote_id}"
        assert self.service.requests[-1].json["name"] == "Bees"
        assert self.service.requests[-1].json["applied_tags"] == ["10000"]
        made = bots_message(letter("Better"), FORUM)
        changed = self.edit(made, outcome.remote_id)
        assert changed == outcome

    def test_a_thread_that_was_chosen_takes_all(self) -> None:
        assert isinstance(self.say(options={"thread_id": FORUM_THREAD}), Sent)
        assert self.service.messages[0]["channel_id"] == FORUM_THREAD

    def test_announcements_are_shown_to_followers_once(self) -> None:
        self.service.channel_type = NEWS
        assert isinstance(self.say(options={"crosspost": "on"}), Sent)
        assert self.service.followers_got == [self.service.messages[0]["id"]]

    @pytest.mark.parametrize("crosspost", ["", "on"])
    def test_only_announcements_are(self, crosspost: str) -> None:
        self.service.channel_type = 0 if crosspost else NEWS
        assert isinstance(self.say(options={"crosspost": crosspost}), Sent)
        assert self.service.followers_got == []

    @pytest.mark.parametrize(
        "reply", [Reply(429, {"message": "slow", "retry_after": 1200.5}), Reply(503), Reply(hangs_up=True)]
    )
    def test_followers_get_it_later_without_another_message(self, reply: Reply) -> None:
        self.service.channel_type = NEWS
        first = self.fail_to_show(reply)
        assert first.waits
        assert first.retry_at is not None
        assert first.retry_at > NOW
        assert first.progress is not None
        self.service.crossposts = None
        again = self.say(options={"crosspost": "on"}, progress=first.progress)
        assert again == Sent(first.progress["remote_id"], url=first.progress["url"])
        assert len(self.service.messages) == len(self.service.followers_got) == 1

    def fail_to_show(self, reply: Reply) -> Temporary:
        self.service.crossposts = reply
        outcome = expect(self.say(options={"crosspost": "on"}), Temporary)
        return outcome

    def test_a_refusal_to_show_it_leaves_it_posted(self) -> None:
        self.service.channel_type = NEWS
        made = bots_message(letter(), NEWS, crosspost="on")
        self.service.channel_type = 0
        outcome = expect(self.post(made), Sent)
        assert "not shown to the channel's followers. " in outcome.remark
        assert "Invalid message type" in outcome.remark

    def test_a_right_that_is_missing_for_showing_it_leaves_it_posted(self) -> None:
        self.service.channel_type = NEWS
        self.service.crossposts = Reply(403, {"message": "Missing Permissions", "code": 50013})
        outcome = expect(self.say(options={"crosspost": "on"}), Sent)
        assert "Missing Permissions" in outcome.remark

    def test_what_is_shown_already_is_no_trouble(self) -> None:
        self.service.channel_type = NEWS
        self.service.crossposts = Reply(400, {"message": "already crossposted", "code": 40033})
        outcome = expect(self.say(options={"crosspost": "on"}), Sent)
        assert not outcome.remark

    @pytest.mark.parametrize("channel_type", [0, NEWS])
    def test_a_thread_begins_beneath_each_message(self, channel_type: int) -> None:
        self.service.channel_type = channel_type
        assert isinstance(self.say(options={"thread_minutes": "1440", "crosspost": "on"}), Sent)
        (message,) = self.service.messages
        assert self.service.threads == [(message["id"], "T", 1440)]
        assert len(self.service.followers_got) == (channel_type == NEWS)

    def test_in_a_forum_its_own_thread_is_put_away(self) -> None:
        self.service.channel_type = FORUM
        assert isinstance(self.say(options={"thread_minutes": "60"}), Sent)
        assert self.service.requests[-1].json["auto_archive_duration"] == 60
        assert self.service.threads == []

    def test_each_thing_is_done_once_however_often_it_is_tried(self) -> None:
        self.service.channel_type = NEWS
        self.service.crossposts = Reply(503)
        options = {"thread_minutes": "60", "crosspost": "on"}
        first = expect(self.say(options=options), Temporary)
        self.service.crossposts = None
        again = expect(self.say(options=options, progress=first.progress or {}), Sent)
        assert not again.remark
        assert self.say(options=options, progress=first.progress or {}) == again
        assert len(self.service.messages) == len(self.service.threads) == 1

    def test_tags_that_are_gone_stop_no_post(self) -> None:
        self.service.channel_type = FORUM
        config = {**PLACES, "channel_type": str(FORUM), "tags": "10001 Honey\n10002 Queens\n10003 wax"}
        to = Recipient(1, f"bees/{CHANNEL}", "#news", config=config)
        post = letter(entries=(entry(categories=("honey", "Wax")),))
        made = self.composed(post, to, tags_by_category="on", applied_tags="10000")
        assert made.body.applied_tags(config["tags"]) == ["10000", "10001", "10003"]
        self.service.tags = [{"id": "10000", "name": "All"}]
        assert isinstance(self.post(made), Sent)
        assert self.service.requests[-1].json["applied_tags"] == ["10000"]


class TestAccount(Botted):
    def test_a_limit_of_the_whole_bot_stops_the_account(self) -> None:
        self.service.says = Reply(429, {"message": "x", "retry_after": 2}, {"X-RateLimit-Scope": "global"})
        expect(self.say(), Temporary, stops_account=True, retry_at=NOW + timedelta(seconds=2))

    def test_a_proxy_that_shuts_us_out_stops_the_account(self) -> None:
        self.service.says = Reply(429, "<html>error code: 1015</html>", {"Retry-After": "900"})
        expect(self.say(), Temporary, stops_account=True, retry_at=NOW + timedelta(minutes=15))

    @pytest.mark.parametrize("headers", [{"X-RateLimit-Scope": "user"}, {"Via": "1.1 google"}])
    def test_a_limit_of_one_channel_stops_its_lane(self, headers: dict[str, str]) -> None:
        self.service.says = Reply(429, {"message": "x", "retry_after": 2}, headers)
        expect(self.say(), Temporary, stops_lane=True, stops_account=False)

    def test_an_account_without_a_token_asks_nobody(self) -> None:
        expect(self.post(on=self.session(credentials={"token": ""})), Temporary, stops_account=True)
        assert self.service.requests == []

    def test_channels_of_a_bot_share_its_account(self) -> None:
        channel = DiscordBotBridge()
        assert channel.lane_account(f"bees/{CHANNEL}", {}) == f"bees/{CHANNEL}"
        assert channel.shared_account(f"bees/{CHANNEL}") == "bees"

    def test_the_token_is_the_accounts(self) -> None:
        facts = LaneFacts("discord_bot", f"bees/{CHANNEL}", {"token": BOT_TOKEN})
        assert DiscordBotBridge(facts).headers(bots_message())["Authorization"] == f"Bot {BOT_TOKEN}"
        assert BOT_TOKEN not in repr(facts)

    @pytest.mark.parametrize("key", ["a", "b" * 37, "ü"])
    def test_a_key_has_a_nonce_that_discord_takes(self, key: str) -> None:
        assert len(nonce_of(key)) == NONCE_LENGTH
        assert nonce_of(key) == nonce_of(key) != nonce_of(key + "1")


@pytest.mark.django_db
class TestKind:
    @pytest.fixture(autouse=True)
    def _account(self) -> None:
        Account(kind="discord_bot", name="bees", secrets=SECRETS).save()
        Account(kind="telegram", name="wasps", secrets=SECRETS).save()

    @pytest.mark.parametrize(
        "typed", [CHANNEL, f"https://discord.com/channels/{GUILD}00/{CHANNEL}", f" {CHANNEL} "]
    )
    def test_spellings_of_a_channel_are_one(self, typed: str) -> None:
        made = Botted.channel.parse_destination({"account": "bees", "channel_id": typed})
        assert made.core == f"bees/{CHANNEL}"
        assert made.config == {"account": "bees", "channel_id": CHANNEL}
        assert made.secrets == {}

    @pytest.mark.parametrize("account", ["", "wasps", "nobody"])
    def test_only_accounts_of_discord_bots_can_be_chosen(self, account: str) -> None:
        with pytest.raises(InvalidDestination, match="account: "):
            Botted.channel.parse_destination({"account": account, "channel_id": CHANNEL})
        choices = Botted.channel.destination_fields[0].choices
        assert choices is not None
        assert choices() == [("bees", "bees")]

    def test_without_accounts_the_way_is_told(self) -> None:
        Account.objects.all().delete()
        with pytest.raises(InvalidDestination, match="Add one first"):
            Botted.channel.parse_destination({"account": "bees", "channel_id": CHANNEL})

    def test_the_accounts_token_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def remember(session: DiscordBotBridge, destination: ParsedDestination) -> ParsedDestination:
            asked.append(session.credentials["token"])
            return destination

        monkeypatch.setattr(DiscordBotBridge, "check_destination", remember)
        Botted.channel.check(Botted.channel.parse_destination({"account": "bees", "channel_id": CHANNEL}))
        assert asked == [BOT_TOKEN]

    def test_lanes_of_channels_stand_below_the_bots(self) -> None:
        lanes = [lane_for(kind="discord_bot", core=f"bees/{channel}") for channel in (CHANNEL, "12345")]
        [parent] = {lane.parent for lane in lanes}
        assert parent is not None
        assert (parent.account, parent.rate, parent.serial) == ("bees", 40.0, False)
        assert (parent.rate or 0) + (parent.burst or 0) <= 50, "what may go in the busiest second"
        assert all(lane.serial for lane in lanes)
        assert facts_of(lanes[0]).credentials == {"token": BOT_TOKEN}

    def test_a_token_has_no_spaces(self) -> None:
        clean = Botted.channel.account_fields[0].clean
        assert clean is not None
        with pytest.raises(ValueError, match="no such characters"):
            clean("Bot abc")


class TestCheck(Botted):
    def ask(self, token: str = BOT_TOKEN) -> Any:
        config = {"account": "bees", "channel_id": CHANNEL}
        given = ParsedDestination(f"bees/{CHANNEL}", CHANNEL, config=config)
        return self.session(credentials={"token": token}).check_destination(given)

    def test_it_says_which_channel_it_is(self) -> None:
        self.service.channel_type = NEWS
        made = self.ask()
        assert made.label == "#news, by bees"
        assert made.config["channel_type"] == "5"
        assert made.config["guild_id"] == GUILD

    @pytest.mark.parametrize(
        ("reply", "words"),
        [
            (Reply(404, {"message": "Unknown Channel", "code": 10003}), "channel_id: .*Unknown Channel"),
            (Reply(403, {"message": "Missing Access", "code": 50001}), "channel_id: .*Missing Access"),
            (Reply(401, {"message": "401: Unauthorized", "code": 0}), "account: .*token"),
            (
                Reply(200, {"id": "1", "type": 4, "guild_id": "7"}),
                "channel_id: this channel doesn’t accept posts",
            ),
            (Reply(200, {"id": "1", "type": 1}), "channel_id: this channel doesn’t accept posts"),
            (Reply(200, {"id": "1", "type": "x"}), "doesn’t respond like Discord"),
        ],
    )
    def test_what_is_wrong_is_told(self, reply: Reply, words: str) -> None:
        self.service.paths[f"/api/v10/channels/{CHANNEL}"] = reply
        with pytest.raises(InvalidDestination, match=words) as caught:
            self.ask()
        assert BOT_TOKEN not in str(caught.value)

    def test_an_account_without_a_token_is_told(self) -> None:
        with pytest.raises(InvalidDestination, match=r"account: .*no token"):
            self.ask(token="")

    def test_a_bots_name_is_told(self) -> None:
        assert self.session().check_credentials() == "bee-bot"

    def test_a_wrong_token_is_told_and_not_repeated(self) -> None:
        with pytest.raises(InvalidDestination, match="token: ") as caught:
            self.session(credentials={"token": "wrong-one"}).check_credentials()
        assert "wrong-one" not in str(caught.value)
