"""Asks Telegram what a bot or a chat is, before it is saved."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TypeVar

from django.conf import settings

from channels.http.checking import told_at_fields
from channels.http.transport import ApiResponse
from channels.telegram.service import result_of
from channels.telegram.session import TelegramSession
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import plain_line

T = TypeVar("T")
OUTSIDERS = ("left", "kicked")


def check_bot(token: str, *, asking: TelegramSession | None = None) -> str:
    """The bot's name, such as @blog_bot. Raises InvalidDestination."""
    bot, name = _asked(asking or _session(token), token, "getMe", {}, _bot, "token", "token")
    return f"@{name}" if name else str(bot)


def check_chat(
    destination: ParsedDestination, token: str, *, asking: TelegramSession | None = None
) -> ParsedDestination:
    """The destination by the chat's number, with its title. Raises InvalidDestination."""
    asking, account = asking or _session(token), destination.config["account"]

    def ask(method: str, body: dict[str, object], read: Callable[[ApiResponse], T]) -> T:
        return _asked(asking, token, method, body, read, "account", "chat")

    bot, _ = ask("getMe", {}, _bot)
    chat, kind, title = ask("getChat", {"chat_id": destination.config["chat_id"]}, _chat)
    if kind != "private":
        may = ask("getChatMember", {"chat_id": chat, "user_id": bot}, lambda answer: _may_post(answer, kind))
        if not may:
            as_what = "an administrator who may post" if kind == "channel" else "a member who may post"
            raise InvalidDestination(f"chat: the bot may not post there. Make it {as_what}.")
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
    """`blamed` is the field that a refused token is told of. Raises InvalidDestination."""
    if not token:
        raise InvalidDestination(f"{blamed}: the bot has no token. Save its account again.")
    with closing(asking), told_at_fields(place, account=blamed):
        return asking.call(asking.api(utcnow()), method, body, read)


def _bot(answer: ApiResponse) -> tuple[int, str]:
    result = result_of(answer)
    return int(result["id"]), plain_line(str(result.get("username") or ""))[:100]


def _chat(answer: ApiResponse) -> tuple[int, str, str]:
    """Number, sort and title."""
    result = result_of(answer)
    title = str(result.get("title") or result.get("first_name") or "")
    return int(result["id"]), str(result.get("type")), plain_line(title)[:100]


def _may_post(answer: ApiResponse, kind: str) -> bool:
    result = result_of(answer)
    status = result.get("status")
    if kind == "channel":
        return status == "creator" or (status == "administrator" and bool(result.get("can_post_messages")))
    return status not in OUTSIDERS and (status != "restricted" or bool(result.get("can_send_messages")))
