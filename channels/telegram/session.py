import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

import requests
from django.conf import settings

from channels.announcement import Announcement
from channels.base import (
    NO_POST,
    NOTHING,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.bridge import OldBridgeChannel
from channels.http.client import ApiClient, ApiSession, Failed, UnreadableAnswer, told_at_fields
from channels.http.links import shown_text
from channels.http.measures import utf16_units
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.letter import Recipient
from channels.telegram.message import CAPTION_LIMIT, TEXT_LIMIT, Message, message_of
from channels.telegram.service import MESSAGE_GONE, NOT_MODIFIED, TELEGRAM, result_of, said_by
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import plain_line

T = TypeVar("T")
NAME = re.compile(r"\w{3,64}", re.ASCII)
HTML = {"parse_mode": "HTML"}
HAS_CAPTION = "there is no text in the message to edit"
UNUSABLE = "Nothing was posted because the bot’s account has no token. Save it again."
# Omitted in links.
SUPERGROUP = "-100"


class TelegramSession(ApiSession):
    """Session of a bot that posts to many chats. Used by one thread at a time.

    `moved` maps chats to their new ids as supergroups.
    """

    def __init__(
        self,
        token: str,
        *,
        moved: Mapping[str, str] = NOTHING,
        base: str,
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._token, self._base, self._moved = token, base, dict(moved)
        self._has_moved = False

    def send(
        self,
        message: Message,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Post with the picture, else as text, else plain. Attempts cannot be looked up."""
        if message.refusal:
            return Permanent(message.refusal)
        text: dict[str, Any] = {"text": message.text, "link_preview_options": dict(message.preview), **HTML}
        tries: list[tuple[str, dict[str, Any]]] = [
            ("sendMessage", text),
            ("sendMessage", {"text": message.plain}),
        ]
        if message.picture:
            photo = {"photo": message.picture, "caption": message.caption, **HTML}
            hidden = {"has_spoiler": True} if message.has_spoiler else {}
            tries.insert(0, ("sendPhoto", {**photo, **hidden}))
        if not self._token:
            return Temporary(UNUSABLE, stops_account=True)
        client, chat = self.api(now), self._moved.get(message.chat_id, message.chat_id)
        while True:
            method, body = tries[0]
            try:
                return self.call(
                    client, method, {"chat_id": chat, **message.common, **body}, _sent, posting=True
                )
            except Failed as failed:
                moved = _answer(client).at("parameters", "migrate_to_chat_id")
                if moved and str(moved) != chat:
                    chat = self._moved[message.chat_id] = str(moved)
                    self._has_moved = True
                elif len(tries) > 1 and (failed.is_about_message or _is_refused_picture(failed, method)):
                    del tries[0]
                else:
                    return failed.outcome

    def edit(
        self, message: Message, *, remote_id: str, parts: Sequence[str], key: str, now: datetime
    ) -> Outcome:
        if message.refusal:
            return Permanent(message.refusal)
        of, client = _of(remote_id), self.api(now)
        text = {**of, "text": message.text, "link_preview_options": dict(message.preview), **HTML}
        try:
            try:
                return self.call(client, "editMessageText", text, _sent)
            except Failed:
                if HAS_CAPTION not in said_by(_answer(client)):
                    raise
            return self.call(client, "editMessageCaption", {**of, "caption": message.caption, **HTML}, _sent)
        except Failed as failed:
            said = said_by(_answer(client))
            if NOT_MODIFIED in said:
                return Sent(remote_id=remote_id)
            return NO_POST if any(words in said for words in MESSAGE_GONE) else failed.outcome

    def delete(self, message: Message, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Sent if already gone."""
        client = self.api(now)
        try:
            self.call(client, "deleteMessage", _of(remote_id), lambda _: None)
        except Failed as failed:
            if not any(words in said_by(_answer(client)) for words in MESSAGE_GONE):
                return failed.outcome
        return Sent(remote_id=remote_id)

    def new_state(self) -> Mapping[str, str] | None:
        has_moved, self._has_moved = self._has_moved, False
        return dict(self._moved) if has_moved else None

    def api(self, now: datetime) -> ApiClient:
        return self.client(self._base, TELEGRAM, now, secrets=(self._token,))

    def call(
        self,
        client: ApiClient,
        method: str,
        body: Mapping[str, Any],
        read: Callable[[ApiResponse], T],
        *,
        posting: bool = False,
    ) -> T:
        url = f"{self._base}/bot{self._token}/{method}"
        return client.call("POST", url, json=body, read=read, posting=posting)


def _is_refused_picture(failed: Failed, method: str) -> bool:
    """The chat may allow only texts."""
    return method == "sendPhoto" and isinstance(failed.outcome, Permanent)


def _answer(client: ApiClient) -> ApiResponse:
    return client.transport.answer or ApiResponse(0)


def _of(remote_id: str) -> dict[str, Any]:
    chat, _, number = remote_id.rpartition("/")
    return {"chat_id": chat, "message_id": int(number)}


def _sent(answer: ApiResponse) -> Sent:
    """Return a link that works for members if the group is private. Raises UnreadableAnswer."""
    result = result_of(answer)
    number, chat = result.get("message_id"), answer.at("result", "chat", "id")
    name = answer.text_at("result", "chat", "username")
    name = name if NAME.fullmatch(name) else ""
    if not isinstance(number, int) or not isinstance(chat, int):
        raise UnreadableAnswer("Telegram returned no message.")
    place = name or (f"c/{inner}" if (inner := str(chat).removeprefix(SUPERGROUP)) != str(chat) else "")
    return Sent(remote_id=f"{chat}/{number}", url=f"https://t.me/{place}/{number}" if place else "")


class TelegramChannel(OldBridgeChannel):
    key = "telegram"
    # No idempotency key, and no reading.
    crash_policy = CrashPolicy.HOLD
    # Limits: 20 messages a minute per group, about 30 a second per bot.
    lane = LaneDefaults(spacing_seconds=3.0)
    account_lane: LaneDefaults | None = LaneDefaults(serial=False, concurrency=10, rate=25.0, burst=25)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Message:
        return message_of(said, options, recipient)

    def preview(self, message: Message) -> Looks:
        html, limit = (message.caption, CAPTION_LIMIT) if message.picture else (message.text, TEXT_LIMIT)
        text = shown_text(html)
        return Looks(
            text,
            utf16_units(text),
            limit,
            message.refusal,
            pictures=(message.picture,) if message.picture else (),
            notes=("The picture is hidden until someone taps it.",) if message.has_spoiler else (),
        )

    def connect(self, lane: LaneFacts) -> TelegramSession:
        return TelegramSession(
            lane.credentials.get("token", ""), moved=lane.state, base=settings.TELEGRAM_API_URL
        )


OUTSIDERS = ("left", "kicked")


def check_bot(token: str, *, asking: TelegramSession | None = None) -> str:
    """Return a name such as @blog_bot. Raises InvalidDestination."""
    bot, name = _asked(asking or _session(token), token, "getMe", {}, _bot, "token", "token")
    return f"@{name}" if name else str(bot)


def check_chat(
    destination: ParsedDestination, token: str, *, asking: TelegramSession | None = None
) -> ParsedDestination:
    """Add number and title. Raises InvalidDestination."""
    asking, account = asking or _session(token), destination.config["account"]

    def ask(method: str, body: dict[str, object], read: Callable[[ApiResponse], T]) -> T:
        return _asked(asking, token, method, body, read, "account", "chat")

    bot, _ = ask("getMe", {}, _bot)
    chat, kind, title = ask("getChat", {"chat_id": destination.config["chat_id"]}, _chat)
    if kind != "private":
        may = ask("getChatMember", {"chat_id": chat, "user_id": bot}, lambda answer: _may_post(answer, kind))
        if not may:
            as_what = "an administrator who can post" if kind == "channel" else "a member who can post"
            raise InvalidDestination(f"chat: the bot can’t post there. Make it {as_what}.")
    return replace(
        destination,
        core=f"{account}/{chat}",
        label=f"{title or chat}, by {account}",
        config={**destination.config, "chat_id": str(chat)},
    )


def _session(token: str) -> TelegramSession:
    return TelegramSession(token, base=settings.TELEGRAM_API_URL)


def _asked(
    asking: TelegramSession,
    token: str,
    method: str,
    body: dict[str, object],
    read: Callable[[ApiResponse], T],
    blamed: str,
    place: str,
) -> T:
    """`blamed` is the field for a refused token. Raises InvalidDestination."""
    if not token:
        raise InvalidDestination(f"{blamed}: the bot has no token. Save its account again.")
    with closing(asking), told_at_fields(place, account=blamed):
        return asking.call(asking.api(utcnow()), method, body, read)


def _bot(answer: ApiResponse) -> tuple[int, str]:
    result = result_of(answer)
    return int(result["id"]), plain_line(str(result.get("username") or ""))[:100]


def _chat(answer: ApiResponse) -> tuple[int, str, str]:
    result = result_of(answer)
    title = str(result.get("title") or result.get("first_name") or "")
    return int(result["id"]), str(result.get("type")), plain_line(title)[:100]


def _may_post(answer: ApiResponse, kind: str) -> bool:
    result = result_of(answer)
    status = result.get("status")
    if kind == "channel":
        return status == "creator" or (status == "administrator" and bool(result.get("can_post_messages")))
    return status not in OUTSIDERS and (status != "restricted" or bool(result.get("can_send_messages")))
