"""A Discord bot: interrupted attempts, forums, announcements, and its shared account."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar

import pytest

from channels.base import Ambiguous, LaneFacts, Outcome, Sent, Temporary
from channels.discord.bot import DiscordBotBridge
from channels.discord.service import NONCE_LENGTH, nonce_of
from channels.letter import Recipient
from common.ports.channels import InvalidDestination, ParsedDestination
from delivery.accounts.accounts import facts_of
from delivery.lanes.lanes import lane_for
from delivery.models import Account
from tests.channels.discord.letters import PLACES, api_at, bot_session, bots_message, message_to, sent_by
from tests.contracts.bridge import IMPATIENT, PATIENT, entry, expect, letter
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
    Discord,
)

KIND = DiscordBotBridge()
SECRETS: Any = {"token": BOT_TOKEN}
HOUR_AGO = NOW - timedelta(hours=1)


@pytest.fixture
def discord(settings: Any) -> Iterator[Discord]:
    with Discord() as server:
        settings.DISCORD_API_URL = api_at(server.url)
        yield server


def post(discord: Discord, title: str = "T", *, newsletter: str = "bees", **arguments: Any) -> Outcome:
    options = arguments.pop("options", {})
    of = letter(title, newsletter=newsletter, newsletter_title=newsletter)
    made = bots_message(of, discord.channel_type, **options)
    return sent_by(bot_session(discord.url), made, **arguments)


def lose(discord: Discord, reply: Reply, **arguments: Any) -> None:
    """Lose the response of an accepted attempt, and let the nonce expire."""
    discord.says = reply
    options = arguments.pop("options", {})
    session = bot_session(discord.url, IMPATIENT if reply.silent else PATIENT)
    assert isinstance(sent_by(session, bots_message(**options), **arguments), Ambiguous)
    discord.says = None
    discord.forget_nonces()


class TestAfterAnInterruptedTry:
    @pytest.mark.parametrize(
        "options", [{}, {"style": "compact"}, {"style": "text"}, {"template": "{title} x"}]
    )
    @pytest.mark.parametrize("reply", [Reply(takes=True, hangs_up=True), Reply(takes=True, body="<html>")])
    def test_what_arrived_is_found_and_not_posted_again(
        self, discord: Discord, options: dict[str, Any], reply: Reply
    ) -> None:
        lose(discord, reply, options=options)
        made = bots_message(**options)
        discord.somebody_writes("Look at this")
        expect(
            sent_by(bot_session(discord.url), made, begun_at=NOW),
            Sent,
            remote_id=f"{CHANNEL}/{discord.messages[0]['id']}",
        )
        assert len(discord.messages) == 2

    def test_what_did_not_arrive_is_posted(self, discord: Discord) -> None:
        discord.somebody_writes("Look at this")
        assert isinstance(post(discord, begun_at=NOW), Sent)
        assert len(discord.messages) == 2

    def test_an_empty_channel_holds_no_earlier_message(self, discord: Discord) -> None:
        assert isinstance(post(discord, begun_at=NOW), Sent)
        assert len(discord.messages) == 1

    def test_another_newsletters_message_of_the_same_post_is_not_taken_for_ours(
        self, discord: Discord
    ) -> None:
        assert isinstance(post(discord, newsletter="wasps"), Sent)
        assert isinstance(post(discord, begun_at=NOW, key="key-2"), Sent)
        assert len(discord.messages) == 2

    def test_an_older_message_is_not_taken_for_ours(self, discord: Discord) -> None:
        discord.now = NOW - timedelta(days=1)
        assert isinstance(post(discord), Sent)
        assert isinstance(post(discord, begun_at=NOW, key="key-2"), Sent)
        assert len(discord.messages) == 2

    def test_a_post_without_a_link_is_held_where_a_message_has_the_same_words(self, discord: Discord) -> None:
        made = bots_message(letter(entries=(entry("Bees", link=""),)))
        assert isinstance(sent_by(bot_session(discord.url), made), Sent)
        expect(
            sent_by(bot_session(discord.url), made, begun_at=NOW, key="key-2"),
            Ambiguous,
            "same text",
            holds=True,
        )
        assert len(discord.messages) == 1

    def test_somebody_elses_copy_is_not_ours(self, discord: Discord) -> None:
        content = bots_message(style="text").body.full["content"]
        discord.somebody_writes(content)
        assert isinstance(post(discord, options={"style": "text"}, begun_at=NOW), Sent)
        assert len(discord.messages) == 2

    def test_a_history_that_may_not_be_read_holds_it(self, discord: Discord) -> None:
        lose(discord, Reply(takes=True, hangs_up=True))
        discord.reads_history = False
        expect(post(discord, begun_at=NOW), Ambiguous, "history", holds=True)
        assert len(discord.messages) == 1

    def test_a_channel_in_which_much_was_said_since_holds_it(self, discord: Discord) -> None:
        for _ in range(100):
            discord.somebody_writes("chat", at=NOW)
        expect(post(discord, begun_at=HOUR_AGO), Ambiguous, holds=True)
        assert len(discord.messages) == 100

    def test_while_nobody_can_look_nothing_is_posted(self, discord: Discord) -> None:
        discord.paths[f"/api/v10/channels/{CHANNEL}/messages"] = Reply(200, {"messages": []})
        expect(post(discord, begun_at=NOW), Ambiguous, holds=False)
        assert discord.messages == []

    def test_while_the_channel_is_hidden_the_lane_waits_and_it_stays_unknown(self, discord: Discord) -> None:
        said = Reply(403, {"message": "Missing Access", "code": 50001})
        discord.paths[f"/api/v10/channels/{CHANNEL}/messages"] = said
        expect(post(discord, begun_at=NOW), Temporary, forbidden=True, stops_lane=True)
        assert discord.messages == []

    def test_while_discord_is_down_the_lane_waits_and_it_stays_unknown(self, discord: Discord) -> None:
        discord.paths[f"/api/v10/channels/{CHANNEL}/messages"] = Reply(503)
        outcome = expect(post(discord, begun_at=NOW), Temporary, stops_lane=True)
        # With `suspect`, the engine would assume that this session had handled it.
        assert not outcome.suspect
        assert discord.messages == []

    def test_a_token_that_was_revoked_meanwhile_stops_the_account(self, discord: Discord) -> None:
        expect(
            sent_by(bot_session(discord.url, token="revoked"), bots_message(), begun_at=NOW),
            Temporary,
            stops_account=True,
            stops_lane=False,
        )

    def test_a_forum_is_not_looked_through(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        expect(post(discord, begun_at=NOW), Ambiguous, holds=True)
        assert discord.messages == []


class TestUnderAnotherName:
    NAMED: ClassVar[dict[str, Any]] = {
        "sender_name": "The Hive",
        "sender_picture": "https://bees.example/hive.png",
    }

    def test_all_posts_of_a_channel_share_a_webhook_that_is_made_once(self, discord: Discord) -> None:
        for _ in range(2):
            assert isinstance(post(discord, options=self.NAMED), Sent)
        assert list(discord.made.values()) == [CHANNEL]
        assert {message["username"] for message in discord.messages} == {"The Hive"}
        assert {message["avatar_url"] for message in discord.messages} == {"https://bees.example/hive.png"}

    def test_without_the_permission_it_is_posted_as_the_bot_with_a_remark(self, discord: Discord) -> None:
        discord.manages_webhooks = False
        outcome = post(discord, options={**self.NAMED, "thread_minutes": "60"})
        assert isinstance(outcome, Sent)
        assert "Manage Webhooks" in outcome.remark
        (message,) = discord.messages
        assert message["author"] == {"id": BOT}
        assert len(discord.threads) == 1

    def test_a_webhook_that_somebody_deleted_is_made_again(self, discord: Discord) -> None:
        session, made = bot_session(discord.url), bots_message(**self.NAMED)
        for key in ("key-1", "key-2"):
            assert isinstance(session.send(made, key=key, begun_at=None, now=NOW), Sent)
            discord.made.clear()
        session.close()
        assert len(discord.messages) == 2

    def test_what_arrived_is_found_and_not_posted_again(self, discord: Discord) -> None:
        lose(discord, Reply(takes=True, hangs_up=True), options=self.NAMED)
        later = NOW + timedelta(minutes=6)
        expect(
            sent_by(bot_session(discord.url), bots_message(**self.NAMED), begun_at=NOW, now=later),
            Sent,
            remote_id=f"{CHANNEL}/{discord.messages[0]['id']}",
        )
        assert len(discord.messages) == 1

    def test_what_arrived_is_found_whatever_was_chosen_since(self, discord: Discord) -> None:
        lose(discord, Reply(takes=True, hangs_up=True), options=self.NAMED)
        expect(sent_by(bot_session(discord.url), bots_message(), begun_at=NOW), Sent)
        assert len(discord.messages) == 1

    def test_the_same_post_of_another_webhook_is_not_taken_for_its_own(self, discord: Discord) -> None:
        post(discord, options=self.NAMED)
        discord.messages[0]["webhook_id"] = WEBHOOK_ID
        expect(post(discord, options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=5)), Sent)
        assert len(discord.messages) == 2

    def test_a_webhook_that_is_gone_is_known_by_what_it_posted(self, discord: Discord) -> None:
        post(discord, options=self.NAMED)
        discord.made.clear()
        expect(post(discord, options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=5)), Sent)
        assert len(discord.messages) == 1

    def test_what_is_not_there_is_posted_once_no_earlier_try_can_arrive(self, discord: Discord) -> None:
        expect(
            post(discord, options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=4)),
            Ambiguous,
            holds=False,
        )
        assert discord.messages == []
        assert isinstance(
            post(discord, options=self.NAMED, begun_at=NOW, now=NOW + timedelta(minutes=5)), Sent
        )
        assert len(discord.messages) == 1

    @pytest.mark.parametrize("is_named_since", [True, False])
    def test_it_is_edited_and_deleted_by_the_webhook_whatever_was_chosen_since(
        self, discord: Discord, is_named_since: bool
    ) -> None:
        first = post(discord, options=self.NAMED if is_named_since else {})
        assert isinstance(first, Sent)
        made = bots_message(letter("Better"), style="text", **({} if is_named_since else self.NAMED))
        session = bot_session(discord.url)
        expect(session.edit(made, remote_id=first.remote_id, parts=(), key="k-1", now=NOW), Sent)
        assert "Better" in discord.messages[0]["content"]
        assert isinstance(session.delete(made, remote_id=first.remote_id, parts=(), now=NOW), Sent)
        session.close()
        assert discord.messages == []

    def test_a_message_of_a_webhook_that_is_gone_stays_and_its_channel_is_not_disabled(
        self, discord: Discord
    ) -> None:
        first = post(discord, options=self.NAMED)
        assert isinstance(first, Sent)
        discord.made.clear()
        outcome = bot_session(discord.url).edit(
            bots_message(letter("Better")), remote_id=first.remote_id, parts=(), key="k-1", now=NOW
        )
        assert not getattr(outcome, "disables", False)
        assert len(discord.messages) == 1

    def test_in_a_thread_it_is_the_webhook_of_its_channel(self, discord: Discord) -> None:
        discord.channels["1200000000000000077"] = GUILD
        discord.about_channels["1200000000000000077"] = {"type": 11, "parent_id": CHANNEL}
        config = {**PLACES, "channel_id": "1200000000000000077", "channel_type": "11"}
        to = Recipient(1, "bees/1200000000000000077", "#news", config=config)
        made = message_to(to, **self.NAMED)
        outcome = sent_by(bot_session(discord.url), made)
        assert isinstance(outcome, Sent)
        assert discord.messages[0]["channel_id"] == "1200000000000000077"
        assert list(discord.made.values()) == [CHANNEL]
        expect(bot_session(discord.url).delete(made, remote_id=outcome.remote_id, parts=(), now=NOW), Sent)
        assert discord.messages == []

    def test_in_a_forum_each_begins_its_thread_under_that_name(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        assert isinstance(post(discord, "Bees", options=self.NAMED), Sent)
        assert discord.messages[0]["thread_name"] == "Bees"
        assert discord.messages[0]["username"] == "The Hive"


class TestPlaces:
    def test_a_forum_gets_a_thread_for_each_post(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        outcome = expect(post(discord, "Bees", options={"applied_tags": "10000"}), Sent)
        assert outcome.url == f"https://discord.com/channels/{GUILD}/{outcome.remote_id}"
        assert discord.requests[-1].json["name"] == "Bees"
        assert discord.requests[-1].json["applied_tags"] == ["10000"]
        made = bots_message(letter("Better"), FORUM)
        changed = bot_session(discord.url).edit(
            made, remote_id=outcome.remote_id, parts=(), key="k-1", now=NOW
        )
        assert changed == outcome

    def test_a_thread_that_was_chosen_takes_all(self, discord: Discord) -> None:
        assert isinstance(post(discord, options={"thread_id": FORUM_THREAD}), Sent)
        assert discord.messages[0]["channel_id"] == FORUM_THREAD

    def test_announcements_are_shown_to_followers_once(self, discord: Discord) -> None:
        discord.channel_type = NEWS
        assert isinstance(post(discord, options={"crosspost": "on"}), Sent)
        assert discord.followers_got == [discord.messages[0]["id"]]

    @pytest.mark.parametrize("crosspost", ["", "on"])
    def test_only_announcements_are(self, discord: Discord, crosspost: str) -> None:
        discord.channel_type = 0 if crosspost else NEWS
        assert isinstance(post(discord, options={"crosspost": crosspost}), Sent)
        assert discord.followers_got == []

    @pytest.mark.parametrize(
        "reply", [Reply(429, {"message": "slow", "retry_after": 1200.5}), Reply(503), Reply(hangs_up=True)]
    )
    def test_followers_get_it_later_without_another_message(self, discord: Discord, reply: Reply) -> None:
        discord.channel_type = NEWS
        first = self.fail_to_show(discord, reply)
        assert first.waits
        assert first.retry_at is not None
        assert first.retry_at > NOW
        assert first.progress is not None
        discord.crossposts = None
        again = post(discord, options={"crosspost": "on"}, progress=first.progress)
        assert again == Sent(first.progress["remote_id"], url=first.progress["url"])
        assert len(discord.messages) == len(discord.followers_got) == 1

    def fail_to_show(self, discord: Discord, reply: Reply) -> Temporary:
        discord.crossposts = reply
        outcome = post(discord, options={"crosspost": "on"})
        assert isinstance(outcome, Temporary)
        return outcome

    def test_a_refusal_to_show_it_leaves_it_posted(self, discord: Discord) -> None:
        discord.channel_type = NEWS
        made = bots_message(letter(), NEWS, crosspost="on")
        discord.channel_type = 0
        outcome = sent_by(bot_session(discord.url), made)
        assert isinstance(outcome, Sent)
        assert "not shown to the channel's followers. " in outcome.remark
        assert "Invalid message type" in outcome.remark

    def test_a_right_that_is_missing_for_showing_it_leaves_it_posted(self, discord: Discord) -> None:
        discord.channel_type = NEWS
        discord.crossposts = Reply(403, {"message": "Missing Permissions", "code": 50013})
        outcome = post(discord, options={"crosspost": "on"})
        assert isinstance(outcome, Sent)
        assert "Missing Permissions" in outcome.remark

    def test_what_is_shown_already_is_no_trouble(self, discord: Discord) -> None:
        discord.channel_type = NEWS
        discord.crossposts = Reply(400, {"message": "already crossposted", "code": 40033})
        outcome = post(discord, options={"crosspost": "on"})
        assert isinstance(outcome, Sent)
        assert not outcome.remark

    @pytest.mark.parametrize("channel_type", [0, NEWS])
    def test_a_thread_begins_beneath_each_message(self, discord: Discord, channel_type: int) -> None:
        discord.channel_type = channel_type
        assert isinstance(post(discord, options={"thread_minutes": "1440", "crosspost": "on"}), Sent)
        (message,) = discord.messages
        assert discord.threads == [(message["id"], "T", 1440)]
        assert len(discord.followers_got) == (channel_type == NEWS)

    def test_in_a_forum_its_own_thread_is_put_away(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        assert isinstance(post(discord, options={"thread_minutes": "60"}), Sent)
        assert discord.requests[-1].json["auto_archive_duration"] == 60
        assert discord.threads == []

    def test_each_thing_is_done_once_however_often_it_is_tried(self, discord: Discord) -> None:
        discord.channel_type = NEWS
        discord.crossposts = Reply(503)
        options = {"thread_minutes": "60", "crosspost": "on"}
        first = post(discord, options=options)
        assert isinstance(first, Temporary)
        discord.crossposts = None
        again = post(discord, options=options, progress=first.progress or {})
        assert isinstance(again, Sent)
        assert not again.remark
        assert post(discord, options=options, progress=first.progress or {}) == again
        assert len(discord.messages) == len(discord.threads) == 1

    def test_tags_that_are_gone_stop_no_post(self, discord: Discord) -> None:
        discord.channel_type = FORUM
        config = {**PLACES, "channel_type": str(FORUM), "tags": "10001 Honey\n10002 Queens\n10003 wax"}
        to = Recipient(1, f"bees/{CHANNEL}", "#news", config=config)
        post = letter(entries=(entry(categories=("honey", "Wax")),))
        made = message_to(to, post, tags_by_category="on", applied_tags="10000")
        assert made.body.applied_tags(config["tags"]) == ["10000", "10001", "10003"]
        discord.tags = [{"id": "10000", "name": "All"}]
        assert isinstance(sent_by(bot_session(discord.url), made), Sent)
        assert discord.requests[-1].json["applied_tags"] == ["10000"]


class TestAccount:
    def test_a_limit_of_the_whole_bot_stops_the_account(self, discord: Discord) -> None:
        discord.says = Reply(429, {"message": "x", "retry_after": 2}, {"X-RateLimit-Scope": "global"})
        expect(post(discord), Temporary, stops_account=True, retry_at=NOW + timedelta(seconds=2))

    def test_a_proxy_that_shuts_us_out_stops_the_account(self, discord: Discord) -> None:
        discord.says = Reply(429, "<html>error code: 1015</html>", {"Retry-After": "900"})
        expect(post(discord), Temporary, stops_account=True, retry_at=NOW + timedelta(minutes=15))

    @pytest.mark.parametrize("headers", [{"X-RateLimit-Scope": "user"}, {"Via": "1.1 google"}])
    def test_a_limit_of_one_channel_stops_its_lane(self, discord: Discord, headers: dict[str, str]) -> None:
        discord.says = Reply(429, {"message": "x", "retry_after": 2}, headers)
        expect(post(discord), Temporary, stops_lane=True, stops_account=False)

    def test_an_account_without_a_token_asks_nobody(self, discord: Discord) -> None:
        expect(sent_by(bot_session(discord.url, token=""), bots_message()), Temporary, stops_account=True)
        assert discord.requests == []

    def test_channels_of_a_bot_share_its_account(self) -> None:
        channel = DiscordBotBridge()
        assert channel.lane_account(f"bees/{CHANNEL}", {}) == f"bees/{CHANNEL}"
        assert channel.shared_account(f"bees/{CHANNEL}") == "bees"

    def test_the_token_is_the_accounts(self, discord: Discord) -> None:
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
        made = KIND.parse_destination({"account": "bees", "channel_id": typed})
        assert made.core == f"bees/{CHANNEL}"
        assert made.config == {"account": "bees", "channel_id": CHANNEL}
        assert made.secrets == {}

    @pytest.mark.parametrize("account", ["", "wasps", "nobody"])
    def test_only_accounts_of_discord_bots_can_be_chosen(self, account: str) -> None:
        with pytest.raises(InvalidDestination, match="account: "):
            KIND.parse_destination({"account": account, "channel_id": CHANNEL})
        choices = KIND.destination_fields[0].choices
        assert choices is not None
        assert choices() == [("bees", "bees")]

    def test_without_accounts_the_way_is_told(self) -> None:
        Account.objects.all().delete()
        with pytest.raises(InvalidDestination, match="Add one first"):
            KIND.parse_destination({"account": "bees", "channel_id": CHANNEL})

    @pytest.mark.parametrize("channel", ["", "general", "#general", "-1", "1" * 30])
    def test_a_wrong_channel_is_refused(self, channel: str) -> None:
        with pytest.raises(InvalidDestination, match="channel_id: "):
            KIND.parse_destination({"account": "bees", "channel_id": channel})

    def test_the_accounts_token_asks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = []

        def remember(session: DiscordBotBridge, destination: ParsedDestination) -> ParsedDestination:
            asked.append(session.credentials["token"])
            return destination

        monkeypatch.setattr(DiscordBotBridge, "check_destination", remember)
        KIND.check(KIND.parse_destination({"account": "bees", "channel_id": CHANNEL}))
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
        clean = KIND.account_fields[0].clean
        assert clean is not None
        with pytest.raises(ValueError, match="no such characters"):
            clean("Bot abc")


class TestCheck:
    def check(self, discord: Discord, token: str = BOT_TOKEN) -> Any:
        given = ParsedDestination(
            f"bees/{CHANNEL}", CHANNEL, config={"account": "bees", "channel_id": CHANNEL}
        )
        return bot_session(discord.url, token=token).check_destination(given)

    def test_it_says_which_channel_it_is(self, discord: Discord) -> None:
        discord.channel_type = NEWS
        made = self.check(discord)
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
    def test_what_is_wrong_is_told(self, discord: Discord, reply: Reply, words: str) -> None:
        discord.paths[f"/api/v10/channels/{CHANNEL}"] = reply
        with pytest.raises(InvalidDestination, match=words) as caught:
            self.check(discord)
        assert BOT_TOKEN not in str(caught.value)

    def test_an_account_without_a_token_is_told(self, discord: Discord) -> None:
        with pytest.raises(InvalidDestination, match=r"account: .*no token"):
            self.check(discord, token="")

    def test_a_bots_name_is_told(self, discord: Discord) -> None:
        assert bot_session(discord.url).check_credentials() == "bee-bot"

    def test_a_wrong_token_is_told_and_not_repeated(self, discord: Discord) -> None:
        with pytest.raises(InvalidDestination, match="token: ") as caught:
            bot_session(discord.url, token="wrong-one").check_credentials()
        assert "wrong-one" not in str(caught.value)
