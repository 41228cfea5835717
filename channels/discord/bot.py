"""A bot, which can look up messages after a lost answer."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from channels import fields
from channels.base import Ambiguous, CrashPolicy, LaneDefaults, LaneFacts, Outcome, Permanent, Sent, Temporary
from channels.bridge import account_field
from channels.discord.bridge import DiscordService, post_by_webhook
from channels.discord.message import Post
from channels.discord.options import COMMON, THREAD_MINUTES, an_id_of_discord, sender
from channels.discord.service import (
    ALREADY_CROSSPOSTED,
    BOT,
    FORUMS,
    HAS_A_THREAD,
    NO_WEBHOOKS,
    UNKNOWN_WEBHOOK,
    code_of,
    name_of,
    nonce_of,
    sent,
    snowflake,
)
from channels.http.client import ApiClient, Failed, Target, UnreadableAnswer, an_id
from channels.http.links import normalised
from channels.http.session import NO_LANE, not_looked_up
from channels.http.transport import ApiResponse
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import plain_line

ANNOUNCEMENT, THREADS_BENEATH, THREADS = "5", ("0", "5"), ("10", "11", "12")
# Discord's maximum.
MESSAGES_LOOKED_AT = 100
CLOCKS_DIFFER = timedelta(minutes=10)
DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
REST_LATER = timedelta(minutes=10)
# Already shown to followers, or already has a thread.
DONE_ALREADY = (ALREADY_CROSSPOSTED, HAS_A_THREAD)
SAME_WORDS = "A message with the same text exists, and the post has no link to identify it."
AS_ITSELF = (
    "Posted with the bot’s own name and picture. To use others, the bot needs the permission "
    "“Manage Webhooks” in the channel, and the channel must have room for one more webhook."
)
NOT_YET = "Checking again whether the post was published."
# After so long an interrupted request has ended. Webhooks have no nonce against duplicates.
WEBHOOK_SETTLES = timedelta(minutes=5)
WEBHOOK_NAME = "Feedletter"
# https://discord.com/developers/docs/resources/channel#forum-tag-object
MOST_FORUM_TAGS, MOST_OF_A_TAG = 20, 50
# Categories and directories hold channels, not messages.
HOLD_CHANNELS = (4, 14)


class DiscordBotBridge(DiscordService):
    """A bot that posts to many channels.

    Another name or picture requires a webhook in the channel.
    """

    key = "discord_bot"
    label = "Discord bot"
    sentence = "Posts to a channel of any server that your bot has joined."
    crash_policy = CrashPolicy.LOOK_UP
    # Limit: 50 requests per second per bot, for the burst and the rate together.
    account_lane = LaneDefaults(serial=False, concurrency=10, rate=40.0, burst=10)
    address_field = "channel_id"
    account_fields = (fields.secret("token", "Bot token", "From Discord's developer portal, under Bot."),)
    destination_fields = (
        account_field("discord_bot", "Bot", "The bot account that posts."),
        fields.needed(
            "channel_id",
            "Channel",
            "ID of the channel, or a link to it. The bot needs permission to view it, post, embed "
            "links and read its history.",
            an_id_of_discord,
        ),
    )
    own_options = (
        *COMMON,
        fields.choice(
            "thread_minutes",
            "A thread for each post",
            "Started below the message, and archived after this long without messages. Forums always "
            "have threads. The bot needs permission to create public threads.",
            THREAD_MINUTES,
        ),
        fields.switch(
            "tags_by_category",
            "Tags by category",
            "In forums, adds the tags that have the same name as a category of the post. Save the "
            "bridge again after adding tags to the forum.",
        ),
        fields.switch(
            "crosspost",
            "Publish to followers",
            "In announcement channels, also sends posts to servers that follow the channel.",
        ),
        *sender(
            "the bot's",
            "To use another name or picture, the bot needs the permission “Manage Webhooks” in the "
            "channel. Without it, it posts as itself.",
        ),
    )
    service = BOT

    def __init__(self, lane: LaneFacts = NO_LANE, **options: Any) -> None:
        super().__init__(lane, **options)
        # By channel, the paths; "" if there can be none.
        self._webhooks: dict[str, str] = {}
        self._hidden = list(self.credentials.values())

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is the account's name and the channel's id."""
        account, channel = given["account"], given["channel_id"]
        return ParsedDestination(
            core=f"{account}/{channel}",
            label=f"Channel {channel}, by {account}",
            config={"account": account, "channel_id": channel},
        )

    def hidden(self, to: Target) -> list[str]:
        """Includes webhooks as soon as they are found."""
        return self._hidden

    def headers(self, to: Target) -> Mapping[str, str]:
        return {**super().headers(to), "Authorization": f"Bot {self.credentials['token']}"}

    def post(self, api: ApiClient, body: Post) -> Outcome:
        """Post once, after a look-up of an unfinished attempt.

        `progress` names a message already posted and the steps done.
        """
        outcome: Outcome | None = None
        if done := api.progress:
            outcome = Sent(done["remote_id"], url=done["url"])
        elif api.begun_at is not None:
            outcome = self._looked_up(api, body, api.begun_at)
        return self._followed_up(api, body, outcome or super().post(api, body))

    def begins_thread(self, api: ApiClient, body: Post) -> bool:
        return api.config.get("channel_type") in FORUMS and not body.thread_id

    def place_of(self, api: ApiClient, remote_id: str) -> tuple[str, dict[str, str]]:
        channel, _, number = remote_id.partition("/")
        return f"/channels/{channel}/messages/{number}", {}

    def posted(self, api: ApiClient, body: Post, version: Mapping[str, Any], *, in_thread: bool) -> Sent:
        if not body.look:
            return self._posted_by_bot(api, body, version, in_thread=in_thread)
        thread_id = body.thread_id or _own_thread(api)
        # Somebody may have deleted the webhook.
        for is_again in (False, True):
            path = self._webhook(api, anew=is_again)
            if not path:
                break
            try:
                return post_by_webhook(api, path, body, version, in_thread=in_thread, thread_id=thread_id)
            except Failed:
                if is_again or code_of(api.answer) != UNKNOWN_WEBHOOK:
                    raise
        posted = self._posted_by_bot(api, body, version, in_thread=in_thread)
        return replace(posted, remark=AS_ITSELF)

    def place_of_another(self, api: ApiClient, remote_id: str) -> tuple[str, dict[str, str]] | None:
        channel, _, number = remote_id.partition("/")
        path = self._webhook(api)
        is_thread = channel != api.config.get("channel_id") or bool(_own_thread(api))
        return (f"{path}/messages/{number}", {"thread_id": channel} if is_thread else {}) if path else None

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Add Discord's data."""
        config = destination.config

        def read(answer: ApiResponse) -> tuple[str, int, str, str]:
            snowflake(answer.at("id"))
            # A direct message has no server.
            guild = answer.at("guild_id")
            return name_of(answer), int(answer.at("type")), snowflake(guild) if guild else "", _tags(answer)

        name, kind, guild, tags = api.call("GET", f"/channels/{config['channel_id']}", read=read)
        if kind in HOLD_CHANNELS or not guild:
            raise InvalidDestination(
                "channel_id: this channel doesn’t accept posts. Enter the ID of a server’s channel."
            )
        known = {"channel_type": str(kind), "guild_id": guild, **({"tags": tags} if tags else {})}
        return replace(destination, label=f"#{name}, by {config['account']}", config={**config, **known})

    def account_name(self, api: ApiClient) -> str:
        def read(answer: ApiResponse) -> str:
            return name_of(answer, "username") or snowflake(answer.at("id"))

        return api.call("GET", "/users/@me", read=read)

    def _webhook(self, api: ApiClient, *, anew: bool = False) -> str:
        """Return the path of the bot's webhook, new if necessary; "" if not allowed. Raises Failed."""
        channel = api.config.get("channel_id", "")
        if anew or channel not in self._webhooks:
            try:
                self._webhooks[channel] = self._found_webhook(api)
            except Failed:
                if code_of(api.answer) not in NO_WEBHOOKS:
                    raise
                self._webhooks[channel] = ""
        return self._webhooks[channel]

    def _found_webhook(self, api: ApiClient) -> str:
        me, place = self._me(api), self._place_of_webhooks(api)
        for webhook in api.call("GET", place, read=_objects):
            if _creator(webhook) == me and (path := self._path_of(webhook)):
                return path
        return api.call(
            "POST", place, json={"name": WEBHOOK_NAME}, read=lambda answer: an_id(self._path_of(answer.json))
        )

    def _place_of_webhooks(self, api: ApiClient) -> str:
        channel = api.config.get("channel_id", "")
        if _own_thread(api):
            # Threads use their channel's webhooks.
            channel = api.call(
                "GET", f"/channels/{channel}", read=lambda answer: snowflake(answer.at("parent_id"))
            )
        return f"/channels/{channel}/webhooks"

    def _creators(self, api: ApiClient) -> dict[str, str]:
        """Return {} if the bot may not ask. Raises Failed."""
        try:
            webhooks = api.call("GET", self._place_of_webhooks(api), read=_objects)
        except Failed:
            if code_of(api.answer) not in NO_WEBHOOKS:
                raise
            return {}
        return {str(webhook.get("id")): _creator(webhook) for webhook in webhooks}

    def _path_of(self, webhook: Any) -> str:
        """Return the path, and mask its token from now on."""
        token = webhook.get("token") if isinstance(webhook, Mapping) else None
        if not isinstance(token, str) or not token:
            return ""
        if token not in self._hidden:
            self._hidden.append(token)
        return f"/webhooks/{snowflake(webhook.get('id'))}/{token}"

    def _posted_by_bot(
        self, api: ApiClient, body: Post, version: Mapping[str, Any], *, in_thread: bool
    ) -> Sent:
        # A forum's threads have no nonce.
        new: dict[str, Any] = {**version, "nonce": nonce_of(api.key), "enforce_nonce": True}
        if in_thread:
            new = {"name": body.thread_name, "message": dict(version)}
            is_plain, known = version is body.plain, api.config.get("tags", "")
            if tags := list(body.chosen_tags) if is_plain else body.applied_tags(known):
                new["applied_tags"] = tags
            if body.thread_minutes:
                new["auto_archive_duration"] = int(body.thread_minutes)

        def read(answer: ApiResponse) -> Sent:
            path = ("message",) if in_thread else ()
            channel, number = answer.at(*path, "channel_id"), answer.at(*path, "id")
            return sent(api.config.get("guild_id", ""), snowflake(channel), snowflake(number))

        path = f"{_channel(api, body)}/{'threads' if in_thread else 'messages'}"
        return api.call("POST", path, json=new, read=read, posting=True)

    def _looked_up(self, api: ApiClient, body: Post, begun_at: datetime) -> Outcome | None:
        """Return the outcome of an earlier attempt; None if nothing was posted."""
        if self.begins_thread(api, body):
            return Ambiguous("Posts in a forum can’t be looked up.", holds=True)
        place = _channel(api, body)
        try:
            me = self._me(api)
            newest = api.call("GET", f"{place}/messages?limit={MESSAGES_LOOKED_AT}", read=_objects)
            # Without the right to read the history, a channel looks empty.
            is_told_all = bool(newest) or not api.call(
                "GET", place, read=lambda answer: answer.at("last_message_id")
            )
            creators = self._creators(api) if any(map(_webhook_of, newest)) else {}
        except Failed as failed:
            why = failed.outcome
            # Not the message's fault: it stays unknown, and before later ones.
            if isinstance(why, Temporary) and (why.stops_account or why.stops_lane):
                return replace(why, suspect=False)
            return not_looked_up(why, holds=isinstance(why, Permanent))
        since = begun_at - CLOCKS_DIFFER
        for message in newest:
            author, is_recent = message.get("author"), _posted_at(message["id"]) >= since
            is_own = isinstance(author, Mapping) and author.get("id") == me
            if webhook := _webhook_of(message):
                # A deleted or hidden webhook was the bot's, if it uses one.
                is_own = creators.get(webhook, me if body.look else "") == me
            if is_own and is_recent and any(_is_alike(message, each) for each in (body.full, body.plain)):
                if not body.link:
                    return Ambiguous(SAME_WORDS, holds=True)
                channel = str(message.get("channel_id", ""))
                return sent(api.config.get("guild_id", ""), channel, message["id"])
        reaches_back = len(newest) < MESSAGES_LOOKED_AT or _posted_at(newest[-1]["id"]) < since
        if is_told_all and reaches_back:
            is_settled = not body.look or api.now >= begun_at + WEBHOOK_SETTLES
            return None if is_settled else Ambiguous(NOT_YET)
        hidden = "it is too long ago" if is_told_all else "the bot may not read the channel's message history"
        return Ambiguous(f"Couldn’t check whether it arrived: {hidden}.", holds=True)

    def _me(self, api: ApiClient) -> str:
        return api.call("GET", "/users/@me", read=lambda answer: snowflake(answer.at("id")))

    def _followed_up(self, api: ApiClient, body: Post, outcome: Outcome) -> Outcome:
        """Crosspost a posted message or begin its thread, each once.

        A refusal becomes a remark. A delayed step, such as the eleventh crosspost of an hour, is done later.
        """
        if not isinstance(outcome, Sent):
            return outcome
        path, _ = self.place_of(api, outcome.remote_id)
        done, remarks = list(api.progress.get("done", ())), list(api.progress.get("remarks", ()))
        if outcome.remark:
            remarks.append(outcome.remark)
        for name, lacks, json in _steps(api, body):
            if name in done:
                continue
            try:
                api.call("POST", f"{path}/{name}", read=lambda answer: None, json=json)
            except Failed as failed:
                why = failed.outcome
                is_forbidden = isinstance(why, Temporary) and why.forbidden
                if isinstance(why, Temporary | Ambiguous) and not is_forbidden:
                    again = why.retry_at if isinstance(why, Temporary) else None
                    place = {"remote_id": outcome.remote_id, "url": outcome.url}
                    kept = {**place, "done": done, "remarks": remarks}
                    text = f"Posted, but {lacks} yet. {why.text}"
                    return Temporary(text, retry_at=again or api.now + REST_LATER, waits=True, progress=kept)
                if not isinstance(why, Sent) and code_of(api.answer) not in DONE_ALREADY:
                    remarks.append(f"Posted, but {lacks}. {why.text}")
            done.append(name)
        return replace(outcome, remark=" ".join(remarks))


def _steps(api: ApiClient, body: Post) -> Iterator[tuple[str, str, Mapping[str, Any] | None]]:
    """Yield requests beneath the message's URL: path, what it lacks without them, body."""
    kind = api.config.get("channel_type")
    if body.wants_crosspost and kind == ANNOUNCEMENT:
        yield "crosspost", "not shown to the channel's followers", None
    if body.thread_minutes and kind in THREADS_BENEATH and not body.thread_id:
        thread = {"name": body.thread_name, "auto_archive_duration": int(body.thread_minutes)}
        yield "threads", "without a thread", thread


def _own_thread(api: ApiClient) -> str:
    """Return the channel's id if it is a thread."""
    is_thread = api.config.get("channel_type") in THREADS
    return api.config.get("channel_id", "") if is_thread else ""


def _channel(api: ApiClient, body: Post) -> str:
    return f"/channels/{body.thread_id or api.config.get('channel_id', '')}"


def _tags(answer: ApiResponse) -> str:
    """Return one tag per line: id, space, name."""
    said = answer.at("available_tags")
    found = [
        (tag.get("id"), plain_line(str(tag.get("name") or ""))[:MOST_OF_A_TAG])
        for tag in (said if isinstance(said, list) else [])[:MOST_FORUM_TAGS]
        if isinstance(tag, Mapping)
    ]
    return "\n".join(f"{snowflake(number)} {name}" for number, name in found if name)


def _creator(webhook: Mapping[str, Any]) -> str:
    user = webhook.get("user")
    return str(user.get("id")) if isinstance(user, Mapping) else ""


def _webhook_of(message: Mapping[str, Any]) -> str:
    return str(message.get("webhook_id") or "")


def _objects(answer: ApiResponse) -> list[Mapping[str, Any]]:
    rows = answer.json
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise UnreadableAnswer("no list of objects")
    return [row for row in rows if isinstance(row.get("id"), str) and row["id"].isdecimal()]


def _posted_at(number: str) -> datetime:
    """The upper 42 bits of an id are milliseconds since 2015."""
    return DISCORD_EPOCH + timedelta(milliseconds=int(number) >> 22)


def _is_alike(found: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Compare text and card. Preview cards are Discord's own."""
    if _unspaced(found.get("content")) != _unspaced(body["content"]):
        return False
    return not body["embeds"] or _look(found.get("embeds")) == _look(body["embeds"])


def _look(embeds: Any) -> tuple[str, ...]:
    card = embeds[0] if isinstance(embeds, list) and embeds and isinstance(embeds[0], Mapping) else {}
    footer = card.get("footer")
    name = footer.get("text") if isinstance(footer, Mapping) else ""
    return _unspaced(card.get("title")), normalised(str(card.get("url"))), _unspaced(name)


def _unspaced(text: Any) -> str:
    """Remove white space, which Discord may change."""
    return "".join(str(text or "").split())
