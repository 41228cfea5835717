"""Posts messages with a bot's token, and finds those whose answer was lost."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import requests

from delivery.channels.base import NOTHING, Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.channels.discord.compose import Message
from delivery.channels.discord.service import BOT, agent, nonce_of, sent, snowflake
from delivery.channels.discord.session import DiscordSession
from delivery.channels.http.client import ApiClient, Failed, UnreadableAnswer
from delivery.channels.http.links import normalised
from delivery.channels.http.transport import TIMEOUT_SECONDS, ApiResponse

T = TypeVar("T")
ANNOUNCEMENT, FORUMS = "5", ("15", "16")
# As many as Discord gives at once.
MESSAGES_LOOKED_AT = 100
CLOCKS_DIFFER = timedelta(minutes=10)
DISCORD_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)
CROSSPOST_LATER = timedelta(minutes=10)
UNUSABLE = "Nothing was posted: the bot's account has no token. Save it again."


class BotSession(DiscordSession):
    """Posts to the channels that a bot may post to; `base` is the API's address. Used by one thread at a
    time."""

    def __init__(
        self,
        token: str,
        *,
        base: str,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._token, self._base = token, base

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Posts once: an unfinished earlier attempt is looked for first. `progress` names a message that was
        posted and is to be shown to the followers of an announcement channel yet."""
        if message.refusal:
            return Permanent(message.refusal)
        if not self._token:
            return Temporary(UNUSABLE, stops_account=True)
        client = self.api(message, now)
        outcome: Outcome | None = Sent(**progress) if progress else None
        if outcome is None and begun_at is not None:
            outcome = self._looked_up(client, message, begun_at)
        if outcome is None:
            outcome = self.post(client, message, key)
        wants = message.wants_crosspost and message.config.get("channel_type") == ANNOUNCEMENT
        return self._crossposted(client, message, outcome, now) if wants else outcome

    def api(self, message: Message, now: datetime) -> ApiClient:
        return self.client(self._base, BOT, now, secrets=(self._token,))

    def headers(self) -> dict[str, str]:
        return {**agent(), "Authorization": f"Bot {self._token}"}

    def begins_thread(self, message: Message) -> bool:
        return message.config.get("channel_type") in FORUMS and not message.thread_id

    def place(self, message: Message, remote_id: str) -> tuple[str, dict[str, str]]:
        channel, _, number = remote_id.partition("/")
        return f"{self._base}/channels/{channel}/messages/{number}", {}

    def posted(
        self, client: ApiClient, message: Message, body: Mapping[str, Any], key: str, *, in_thread: bool
    ) -> Sent:
        # A forum's threads have no nonce.
        new: dict[str, Any] = {**body, "nonce": nonce_of(key), "enforce_nonce": True}
        if in_thread:
            new = {"name": message.thread_name, "message": dict(body)}
            if message.applied_tags:
                new["applied_tags"] = list(message.applied_tags)

        def read(answer: ApiResponse) -> Sent:
            path = ("message",) if in_thread else ()
            channel, number = answer.at(*path, "channel_id"), answer.at(*path, "id")
            return sent(message.config.get("guild_id", ""), snowflake(channel), snowflake(number))

        url = f"{self._channel(message)}/{'threads' if in_thread else 'messages'}"
        return client.call("POST", url, json=new, headers=self.headers(), read=read, posting=True)

    def _channel(self, message: Message) -> str:
        return f"{self._base}/channels/{message.thread_id or message.config.get('channel_id', '')}"

    def _looked_up(self, client: ApiClient, message: Message, begun_at: datetime) -> Outcome | None:
        """The message of an earlier attempt, if it stands in the channel; None if it does not."""
        if self.begins_thread(message):
            return Ambiguous("Whether the post went out cannot be looked up in a forum.", holds=True)
        try:
            me = self._ask(client, f"{self._base}/users/@me", lambda answer: snowflake(answer.at("id")))
            newest = self._ask(
                client, f"{self._channel(message)}/messages?limit={MESSAGES_LOOKED_AT}", _messages
            )
            # Who may not read a channel's history is told that there is none.
            is_told_all = bool(newest) or not self._ask(
                client, self._channel(message), lambda answer: answer.at("last_message_id")
            )
        except Failed as failed:
            why = failed.outcome
            # Nobody can ask now, which is not the message's fault: what is unknown stays unknown, and the
            # message keeps its place before later ones.
            if isinstance(why, Temporary) and (why.stops_account or why.stops_lane):
                return replace(why, suspect=False)
            words = "" if isinstance(why, Sent) else why.text
            text = f"Whether the post went out could not be looked up. {words}"
            return Ambiguous(text, holds=isinstance(why, Permanent))
        since = begun_at - CLOCKS_DIFFER
        for found in newest:
            author, is_recent = found.get("author"), _posted_at(found["id"]) >= since
            is_own = isinstance(author, Mapping) and author.get("id") == me
            if is_own and is_recent and any(_is_alike(found, body) for body in (message.full, message.plain)):
                channel = str(found.get("channel_id", ""))
                return sent(message.config.get("guild_id", ""), channel, found["id"])
        reaches_back = len(newest) < MESSAGES_LOOKED_AT or _posted_at(newest[-1]["id"]) < since
        if is_told_all and reaches_back:
            return None
        hidden = "it is too long ago" if is_told_all else "the bot may not read the channel's message history"
        return Ambiguous(f"Whether the post went out could not be looked up: {hidden}.", holds=True)

    def _ask(self, client: ApiClient, url: str, read: Callable[[ApiResponse], T]) -> T:
        return client.call("GET", url, headers=self.headers(), read=read)

    def _crossposted(self, client: ApiClient, message: Message, outcome: Outcome, now: datetime) -> Outcome:
        """Shows what was posted to the channel's followers; their servers get ten such messages an hour."""
        if not isinstance(outcome, Sent):
            return outcome
        url, _ = self.place(message, outcome.remote_id)
        try:
            client.call("POST", f"{url}/crosspost", headers=self.headers(), read=lambda answer: None)
        except Failed as failed:
            why = failed.outcome
            if isinstance(why, Temporary | Ambiguous):
                again = why.retry_at if isinstance(why, Temporary) else None
                done = {"remote_id": outcome.remote_id, "url": outcome.url}
                text = f"Posted, but not shown to the channel's followers yet. {why.text}"
                return Temporary(text, retry_at=again or now + CROSSPOST_LATER, waits=True, progress=done)
        return outcome


def _messages(answer: ApiResponse) -> list[Mapping[str, Any]]:
    """The newest first. Raises UnreadableAnswer."""
    found = answer.json
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        raise UnreadableAnswer("no list of messages")
    return [one for one in found if isinstance(one.get("id"), str) and one["id"].isdecimal()]


def _posted_at(number: str) -> datetime:
    """The time that a message's id holds: its upper 42 bits are milliseconds since 2015."""
    return DISCORD_EPOCH + timedelta(milliseconds=int(number) >> 22)


def _is_alike(found: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether a message has the words and the card of a body. Cards of previews are Discord's own."""
    if _unspaced(found.get("content")) != _unspaced(body["content"]):
        return False
    return not body["embeds"] or _look(found.get("embeds")) == _look(body["embeds"])


def _look(embeds: Any) -> tuple[str, ...]:
    """What a card has of its post and of its newsletter."""
    card = embeds[0] if isinstance(embeds, list) and embeds and isinstance(embeds[0], Mapping) else {}
    footer = card.get("footer")
    name = footer.get("text") if isinstance(footer, Mapping) else ""
    return _unspaced(card.get("title")), normalised(str(card.get("url"))), _unspaced(name)


def _unspaced(text: Any) -> str:
    """Without its spaces and lines, which Discord may write otherwise."""
    return "".join(str(text or "").split())
