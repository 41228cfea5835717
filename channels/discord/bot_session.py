"""Bot's session, which can look up messages after a lost answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import requests

from channels.base import NOTHING, Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.discord.message import Message
from channels.discord.service import (
    ALREADY_CROSSPOSTED,
    BOT,
    HAS_A_THREAD,
    NO_WEBHOOKS,
    UNKNOWN_WEBHOOK,
    agent,
    code_of,
    nonce_of,
    sent,
    snowflake,
)
from channels.discord.session import DiscordSession, last_code, post_by_webhook
from channels.http.client import ApiClient, Failed, UnreadableAnswer
from channels.http.links import normalised
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse

T = TypeVar("T")
ANNOUNCEMENT, FORUMS, THREADS_BENEATH, THREADS = "5", ("15", "16"), ("0", "5"), ("10", "11", "12")
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
UNUSABLE = "Nothing was posted because the bot’s account has no token. Save it again."


class BotSession(DiscordSession):
    """Session of a bot that posts to many channels. Used by one thread.

    Another name or picture requires a webhook in the channel.
    """

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
        # By channel; "" if there can be none.
        self._webhooks: dict[str, str] = {}
        self._secrets = [token]

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Post once, after a look-up of an unfinished attempt.

        `progress` names a message already posted and the steps done.
        """
        if message.refusal:
            return Permanent(message.refusal)
        if not self._token:
            return Temporary(UNUSABLE, stops_account=True)
        client = self.api(message, now)
        outcome: Outcome | None = Sent(progress["remote_id"], url=progress["url"]) if progress else None
        if outcome is None and begun_at is not None:
            outcome = self._looked_up(client, message, begun_at)
        if outcome is None:
            outcome = self.post(client, message, key)
        return self._followed_up(client, message, outcome, progress, now)

    def api(self, message: Message, now: datetime) -> ApiClient:
        return self.client(self._base, BOT, now, secrets=self._secrets)

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
        if not message.look:
            return self._posted_by_bot(client, message, body, key, in_thread=in_thread)
        thread_id = message.thread_id or _own_thread(message)
        # Somebody may have deleted the webhook.
        for is_again in (False, True):
            url = self._webhook(client, message, anew=is_again)
            if not url:
                break
            try:
                return post_by_webhook(client, url, message, body, in_thread=in_thread, thread_id=thread_id)
            except Failed:
                if is_again or last_code(client) != UNKNOWN_WEBHOOK:
                    raise
        posted = self._posted_by_bot(client, message, body, key, in_thread=in_thread)
        return replace(posted, remark=AS_ITSELF)

    def place_of_another(
        self, client: ApiClient, message: Message, remote_id: str
    ) -> tuple[str, dict[str, str]] | None:
        channel, _, number = remote_id.partition("/")
        url = self._webhook(client, message)
        is_thread = channel != message.config.get("channel_id") or bool(_own_thread(message))
        return (f"{url}/messages/{number}", {"thread_id": channel} if is_thread else {}) if url else None

    def _webhook(self, client: ApiClient, message: Message, *, anew: bool = False) -> str:
        """Return the bot's webhook, new if necessary; "" if not allowed. Raises Failed."""
        channel = message.config.get("channel_id", "")
        if anew or channel not in self._webhooks:
            try:
                self._webhooks[channel] = self._found_webhook(client, channel, message)
            except Failed:
                if last_code(client) not in NO_WEBHOOKS:
                    raise
                self._webhooks[channel] = ""
        return self._webhooks[channel]

    def _found_webhook(self, client: ApiClient, channel: str, message: Message) -> str:
        me, place = self._me(client), self._place_of_webhooks(client, channel, message)
        for webhook in self._ask(client, place, _objects):
            if _creator(webhook) == me and (url := self._url_of(webhook)):
                return url
        return client.call(
            "POST",
            place,
            json={"name": WEBHOOK_NAME},
            headers=self.headers(),
            read=lambda answer: self._url_of(answer.json) or _unreadable("no webhook"),
        )

    def _place_of_webhooks(self, client: ApiClient, channel: str, message: Message) -> str:
        if _own_thread(message):
            # Threads use their channel's webhooks.
            place = f"{self._base}/channels/{channel}"
            channel = self._ask(client, place, lambda answer: snowflake(answer.at("parent_id")))
        return f"{self._base}/channels/{channel}/webhooks"

    def _creators(self, client: ApiClient, message: Message) -> dict[str, str]:
        """Return {} if the bot may not ask. Raises Failed."""
        try:
            place = self._place_of_webhooks(client, message.config.get("channel_id", ""), message)
            return {str(row.get("id")): _creator(row) for row in self._ask(client, place, _objects)}
        except Failed:
            if last_code(client) not in NO_WEBHOOKS:
                raise
            return {}

    def _url_of(self, webhook: Any) -> str:
        """Return the URL, and mask its token from now on."""
        token = webhook.get("token") if isinstance(webhook, Mapping) else None
        if not isinstance(token, str) or not token:
            return ""
        if token not in self._secrets:
            self._secrets.append(token)
        return f"{self._base}/webhooks/{snowflake(webhook.get('id'))}/{token}"

    def _posted_by_bot(
        self, client: ApiClient, message: Message, body: Mapping[str, Any], key: str, *, in_thread: bool
    ) -> Sent:
        # A forum's threads have no nonce.
        new: dict[str, Any] = {**body, "nonce": nonce_of(key), "enforce_nonce": True}
        if in_thread:
            new = {"name": message.thread_name, "message": dict(body)}
            tags = message.chosen_tags if body is message.plain else message.applied_tags
            if tags:
                new["applied_tags"] = list(tags)
            if message.thread_minutes:
                new["auto_archive_duration"] = int(message.thread_minutes)

        def read(answer: ApiResponse) -> Sent:
            path = ("message",) if in_thread else ()
            channel, number = answer.at(*path, "channel_id"), answer.at(*path, "id")
            return sent(message.config.get("guild_id", ""), snowflake(channel), snowflake(number))

        url = f"{self._channel(message)}/{'threads' if in_thread else 'messages'}"
        return client.call("POST", url, json=new, headers=self.headers(), read=read, posting=True)

    def _channel(self, message: Message) -> str:
        return f"{self._base}/channels/{message.thread_id or message.config.get('channel_id', '')}"

    def _looked_up(self, client: ApiClient, message: Message, begun_at: datetime) -> Outcome | None:
        """Return the outcome of an earlier attempt; None if nothing was posted."""
        if self.begins_thread(message):
            return Ambiguous("Posts in a forum can’t be looked up.", holds=True)
        try:
            me = self._me(client)
            newest = self._ask(
                client, f"{self._channel(message)}/messages?limit={MESSAGES_LOOKED_AT}", _objects
            )
            # Without the right to read the history, a channel looks empty.
            is_told_all = bool(newest) or not self._ask(
                client, self._channel(message), lambda answer: answer.at("last_message_id")
            )
            creators = self._creators(client, message) if any(map(_webhook_of, newest)) else {}
        except Failed as failed:
            why = failed.outcome
            # Not the message's fault: it stays unknown, and before later ones.
            if isinstance(why, Temporary) and (why.stops_account or why.stops_lane):
                return replace(why, suspect=False)
            words = "" if isinstance(why, Sent) else why.text
            text = f"Couldn’t check whether the post was published. {words}"
            return Ambiguous(text, holds=isinstance(why, Permanent))
        since = begun_at - CLOCKS_DIFFER
        for found in newest:
            author, is_recent = found.get("author"), _posted_at(found["id"]) >= since
            is_own = isinstance(author, Mapping) and author.get("id") == me
            if webhook := _webhook_of(found):
                # A deleted or hidden webhook was the bot's, if it uses one.
                is_own = creators.get(webhook, me if message.look else "") == me
            if is_own and is_recent and any(_is_alike(found, body) for body in (message.full, message.plain)):
                if not message.link:
                    return Ambiguous(SAME_WORDS, holds=True)
                channel = str(found.get("channel_id", ""))
                return sent(message.config.get("guild_id", ""), channel, found["id"])
        reaches_back = len(newest) < MESSAGES_LOOKED_AT or _posted_at(newest[-1]["id"]) < since
        if is_told_all and reaches_back:
            is_settled = not message.look or client.now >= begun_at + WEBHOOK_SETTLES
            return None if is_settled else Ambiguous(NOT_YET)
        hidden = "it is too long ago" if is_told_all else "the bot may not read the channel's message history"
        return Ambiguous(f"Couldn’t check whether the post was published: {hidden}.", holds=True)

    def _me(self, client: ApiClient) -> str:
        return self._ask(client, f"{self._base}/users/@me", lambda answer: snowflake(answer.at("id")))

    def _ask(self, client: ApiClient, url: str, read: Callable[[ApiResponse], T]) -> T:
        return client.call("GET", url, headers=self.headers(), read=read)

    def _followed_up(
        self,
        client: ApiClient,
        message: Message,
        outcome: Outcome,
        progress: Mapping[str, Any],
        now: datetime,
    ) -> Outcome:
        """Crosspost a posted message or begin its thread, each once.

        A refusal becomes a remark. A delayed step, such as the eleventh crosspost of an hour, is done later.
        """
        if not isinstance(outcome, Sent):
            return outcome
        url, _ = self.place(message, outcome.remote_id)
        done, remarks = list(progress.get("done", ())), list(progress.get("remarks", ()))
        if outcome.remark:
            remarks.append(outcome.remark)
        for name, step in _steps(message).items():
            if name in done:
                continue
            try:
                client.call(
                    "POST",
                    f"{url}/{name}",
                    headers=self.headers(),
                    read=lambda answer: None,
                    json=step.body,
                )
            except Failed as failed:
                why, answer = failed.outcome, client.transport.answer
                is_forbidden = isinstance(why, Temporary) and why.forbidden
                if isinstance(why, Temporary | Ambiguous) and not is_forbidden:
                    again = why.retry_at if isinstance(why, Temporary) else None
                    place = {"remote_id": outcome.remote_id, "url": outcome.url}
                    kept = {**place, "done": done, "remarks": remarks}
                    text = f"Posted, but {step.lacks} yet. {why.text}"
                    return Temporary(text, retry_at=again or now + REST_LATER, waits=True, progress=kept)
                was_done = answer is not None and code_of(answer) in DONE_ALREADY
                if not isinstance(why, Sent) and not was_done:
                    remarks.append(f"Posted, but {step.lacks}. {why.text}")
            done.append(name)
        return replace(outcome, remark=" ".join(remarks))


@dataclass(frozen=True, slots=True)
class _Step:
    """Request beneath a message's URL. `lacks` describes the message without it."""

    lacks: str
    body: Mapping[str, Any] | None = None


def _steps(message: Message) -> dict[str, _Step]:
    kind, steps = message.config.get("channel_type"), {}
    if message.wants_crosspost and kind == ANNOUNCEMENT:
        steps["crosspost"] = _Step("not shown to the channel's followers")
    if message.thread_minutes and kind in THREADS_BENEATH and not message.thread_id:
        minutes = int(message.thread_minutes)
        body = {"name": message.thread_name, "auto_archive_duration": minutes}
        steps["threads"] = _Step("without a thread", body)
    return steps


def _own_thread(message: Message) -> str:
    """Return the channel's id if it is a thread."""
    is_thread = message.config.get("channel_type") in THREADS
    return message.config.get("channel_id", "") if is_thread else ""


def _creator(webhook: Mapping[str, Any]) -> str:
    user = webhook.get("user")
    return str(user.get("id")) if isinstance(user, Mapping) else ""


def _webhook_of(message: Mapping[str, Any]) -> str:
    return str(message.get("webhook_id") or "")


def _unreadable(words: str) -> str:
    raise UnreadableAnswer(words)


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
