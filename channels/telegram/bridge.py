"""https://core.telegram.org/bots/api"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.conf import settings

from channels import fields
from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, Looks, Outcome, Permanent, Sent
from channels.bridge import Bridge, account_field
from channels.http.client import ApiClient, Failed, Target, UnreadableAnswer, first_accepted
from channels.http.links import shown_text, utf16_units
from channels.http.outcomes import ApiService, Verdict
from channels.http.session import DeletingSession, EditingSession
from channels.http.transport import ApiResponse
from channels.telegram.message import CAPTION_LIMIT, TEXT_LIMIT, Body, body_of
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.truncation import plain_line

NAME = re.compile(r"\w{3,64}", re.ASCII)
HTML = {"parse_mode": "HTML"}
HAS_CAPTION = "there is no text in the message to edit"
# Omitted in links.
SUPERGROUP = "-100"
OUTSIDERS = ("left", "kicked")
NOT_MODIFIED = "message is not modified"
# No codes besides HTTP's. All of these have status 400.
_POST_IS_GONE = re.compile("message to (?:delete|edit) not found")
_CHAT_IS_GONE = re.compile(
    "(?:chat|message thread) not found|not enough rights|have no rights to send|need administrator rights|"
    "chat_write_forbidden|topic_(?:closed|deleted)"
)
_TYPED_CHAT = re.compile(r"(?:https?://)?(?:t\.me/)?@?([A-Za-z]\w{3,31})/?", re.ASCII)


def chat(typed: str) -> str:
    """Accept an id or @name. Raises ValueError."""
    if re.fullmatch(r"-?\d{1,20}", typed, re.ASCII):
        return typed
    if found := _TYPED_CHAT.fullmatch(typed):
        return f"@{found[1]}"
    raise ValueError("enter the name of a public chat, such as @blog_example, or the number of any chat.")


thread = fields.matching(r"[1-9]\d{0,17}", "enter the number of a topic, which is the last part of its link.")
bot_token = fields.matching(
    r"\d{1,20}:[\w-]{20,100}", "this isn’t a bot token, which has a number, a colon and other characters."
)


def said_by(answer: ApiResponse) -> str:
    return answer.text_at("description")


def _code(answer: ApiResponse) -> Any:
    words = said_by(answer).lower() if answer.status == 400 else ""
    if _CHAT_IS_GONE.search(words):
        return "chat"
    if _POST_IS_GONE.search(words):
        return "post"
    # An unknown token gives 404.
    return "token" if answer.status in (401, 404) else None


class TelegramBridge(EditingSession, DeletingSession, Bridge):
    """A bot that posts to many chats. `state` maps chats to their new ids as supergroups."""

    key = "telegram"
    label = "Telegram"
    sentence = "Posts to a channel or group with your bot."
    # No idempotency key, and no reading.
    crash_policy = CrashPolicy.HOLD
    # Limits: 20 messages a minute per group, about 30 a second per bot.
    lane = LaneDefaults(spacing_seconds=3.0)
    account_lane = LaneDefaults(serial=False, concurrency=10, rate=25.0, burst=25)
    address_field, token_field = "chat", ""
    account_fields = (fields.secret("token", "Bot token", "You get it from @BotFather.", bot_token),)
    destination_fields = (
        account_field("telegram", "Bot", "The bot account that posts."),
        fields.needed(
            "chat",
            "Chat",
            "For example @blog_example, or the number of a private chat. In a channel the bot must "
            "be an administrator who can post.",
            chat,
        ),
    )
    own_options = (
        fields.choice(
            "link_preview", "Preview of the link", "", {"": "Large", "small": "Small", "none": "None"}
        ),
        fields.choice(
            "photo",
            "The post's picture",
            "Posted with the text below it, which is then limited to 1,024 characters.",
            {"": "In the preview only", "on": "As a photo"},
        ),
        Field("thread_id", "Thread", "The number of a group’s topic that gets all posts.", clean=thread),
        fields.SILENT,
    )
    service = ApiService(
        name="Telegram",
        words=said_by,
        code=_code,
        verdicts={"chat": Verdict.DESTINATION, "post": Verdict.GONE, "token": Verdict.SHARED},
        waits=lambda answer: answer.at("parameters", "retry_after"),
        advice="Check the bot’s token, and that it can post in the chat.",
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        account, place = given["account"], given["chat"]
        return ParsedDestination(
            core=f"{account}/{place.lower()}",
            label=f"{place}, by {account}",
            config={"account": account, "chat_id": place},
        )

    def body(self, post: Announcement, options: Mapping[str, str]) -> Body:
        return body_of(post, options)

    def looks(self, body: Body) -> Looks:
        html, limit = (body.caption, CAPTION_LIMIT) if body.picture else (body.text, TEXT_LIMIT)
        text = shown_text(html)
        return Looks(
            text,
            utf16_units(text),
            limit,
            pictures=(body.picture,) if body.picture else (),
            notes=("The picture is hidden until someone taps it.",) if body.has_spoiler else (),
        )

    def address(self, to: Target) -> str:
        return f"{settings.TELEGRAM_API_URL}/bot{self.credentials['token']}"

    def post(self, api: ApiClient, body: Body) -> Sent:
        """Post with the picture, else as text, else plain. Attempts cannot be looked up."""
        versions = [("/sendMessage", _text(body)), ("/sendMessage", {"text": body.plain})]
        if body.picture:
            photo = {"photo": body.picture, "caption": body.caption, **HTML}
            hidden = {"has_spoiler": True} if body.has_spoiler else {}
            versions.insert(0, ("/sendPhoto", {**photo, **hidden}))
        return first_accepted(versions, lambda version: self._post(api, *version, body.common))

    def _post(
        self, api: ApiClient, method: str, content: Mapping[str, Any], common: Mapping[str, Any]
    ) -> Sent:
        chat_id = api.config["chat_id"]
        chat = self.state.get(chat_id, chat_id)
        try:
            message = {"chat_id": chat, **common, **content}
            return api.call("POST", method, json=message, read=_sent, posting=True)
        except Failed as failed:
            moved = api.answer.at("parameters", "migrate_to_chat_id")
            if moved and str(moved) != chat:
                self.state[chat_id] = str(moved)
                return self._post(api, method, content, common)
            if method == "/sendPhoto" and isinstance(failed.outcome, Permanent):
                # The chat may allow only texts.
                raise Failed(replace(failed.outcome, disables=False)) from None
            raise

    def change(self, api: ApiClient, body: Body, remote_id: str, parts: Sequence[str]) -> Outcome:
        of = _of(remote_id)
        try:
            try:
                return api.call("POST", "/editMessageText", json={**of, **_text(body)}, read=_sent)
            except Failed:
                if HAS_CAPTION not in said_by(api.answer):
                    raise
            caption = {**of, "caption": body.caption, **HTML}
            return api.call("POST", "/editMessageCaption", json=caption, read=_sent)
        except Failed:
            if NOT_MODIFIED in said_by(api.answer):
                return Sent(remote_id)
            raise

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        api.call("POST", "/deleteMessage", json=_of(remote_id), read=lambda _: None)
        return Sent(remote_id)

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Add number and title."""
        account, place = destination.config["account"], destination.config["chat_id"]
        bot, _ = api.call("POST", "/getMe", json={}, read=_bot)
        chat, kind, title = api.call("POST", "/getChat", json={"chat_id": place}, read=_chat)
        if kind != "private":
            who = {"chat_id": chat, "user_id": bot}
            read = partial(_may_post, kind=kind)
            if not api.call("POST", "/getChatMember", json=who, read=read):
                as_what = "an administrator who can post" if kind == "channel" else "a member who can post"
                raise InvalidDestination(f"chat: the bot can’t post there. Make it {as_what}.")
        return replace(
            destination,
            core=f"{account}/{chat}",
            label=f"{title or chat}, by {account}",
            config={**destination.config, "chat_id": str(chat)},
        )

    def account_name(self, api: ApiClient) -> str:
        """Return a name such as @blog_bot."""
        bot, name = api.call("POST", "/getMe", json={}, read=_bot)
        return f"@{name}" if name else str(bot)


def _text(body: Body) -> dict[str, Any]:
    return {"text": body.text, "link_preview_options": body.preview, **HTML}


def _of(remote_id: str) -> dict[str, Any]:
    chat, _, number = remote_id.rpartition("/")
    return {"chat_id": chat, "message_id": int(number)}


def _sent(answer: ApiResponse) -> Sent:
    """Return a link that works for members if the group is private. Raises UnreadableAnswer."""
    result_of(answer)
    number, chat = answer.needed(int, "result", "message_id"), answer.needed(int, "result", "chat", "id")
    name = answer.text_at("result", "chat", "username")
    name = name if NAME.fullmatch(name) else ""
    place = name or (f"c/{inner}" if (inner := str(chat).removeprefix(SUPERGROUP)) != str(chat) else "")
    return Sent(remote_id=f"{chat}/{number}", url=f"https://t.me/{place}/{number}" if place else "")


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


def result_of(answer: ApiResponse) -> Mapping[str, Any]:
    result = answer.at("result")
    if answer.at("ok") is not True or not isinstance(result, Mapping):
        raise UnreadableAnswer("Telegram returned no result.")
    return result
