"""Telegram has error texts only."""

from collections.abc import Mapping
from typing import Any

from channels.http.client import UnreadableAnswer
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse

NOT_MODIFIED = "message is not modified"
MESSAGE_GONE = ("message to delete not found", "message to edit not found")
# No codes besides HTTP's. All of these have status 400.
_CHAT_IS_GONE = (
    "chat not found",
    "message thread not found",
    "not enough rights",
    "have no rights to send",
    "need administrator rights",
    "chat_write_forbidden",
    "topic_closed",
    "topic_deleted",
)


def said_by(answer: ApiResponse) -> str:
    return answer.text_at("description")


def _code(answer: ApiResponse) -> Any:
    words = said_by(answer).lower()
    if answer.status == 400 and any(phrase in words for phrase in _CHAT_IS_GONE):
        return "chat"
    # An unknown token gives 404.
    return "token" if answer.status in (401, 404) else None


TELEGRAM = ApiService(
    name="Telegram",
    words=said_by,
    code=_code,
    verdicts={"chat": Verdict.DESTINATION, "token": Verdict.SHARED},
    waits=lambda answer: answer.at("parameters", "retry_after"),
    advice="Check the bot’s token, and that it can post in the chat.",
)


def result_of(answer: ApiResponse) -> Mapping[str, Any]:
    result = answer.at("result")
    if answer.at("ok") is not True or not isinstance(result, Mapping):
        raise UnreadableAnswer("Telegram returned no result.")
    return result
