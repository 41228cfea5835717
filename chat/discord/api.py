"""Not inside transactions."""

from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import transaction

from channels.base import Permanent, Sent, Temporary
from channels.discord.service import BOT, agent, code_of
from channels.http.client import ApiClient, Failed
from channels.http.transport import Transport
from common.clock import utcnow
from common.refused import Refused
from delivery.lanes.lanes import count_refusals, resting_kinds

KIND = "discord_bot"
UNKNOWN_WEBHOOK, UNKNOWN_INTERACTION, ACKNOWLEDGED = 10015, 10062, 40060
# The bot is not there, or may not see it.
GONE_CODES = (10003, 10004, 50001)


class ApiRefused(Refused):
    """`status` is 0 without an answer."""

    def __init__(self, message: str, *, status: int, code: Any, is_temporary: bool) -> None:
        super().__init__(message)
        self.status, self.code, self.is_temporary = status, code, is_temporary


def ask_bot(method: str, path: str, *, json: Any = None) -> Any:
    """Return JSON (network). Raises ApiRefused."""
    token = settings.DISCORD_BOT_TOKEN
    return _asked(method, path, json=json, headers={"Authorization": f"Bot {token}"}, secret=token)


def answer_later(token: str, body: Any) -> None:
    """Replace “is thinking …” by the message (network). Raises ApiRefused."""
    path = f"/webhooks/{settings.DISCORD_APPLICATION_ID}/{token}/messages/@original"
    _asked("PATCH", path, json=body, headers={}, secret=token)


def is_resting() -> bool:
    return KIND in resting_kinds(utcnow())


def _asked(method: str, path: str, *, json: Any, headers: dict[str, str], secret: str) -> Any:
    url, now = f"{settings.DISCORD_API_URL}{path}", utcnow()
    with closing(Transport()) as transport:
        client = ApiClient(transport, url, BOT, now, secrets=(secret,))
        options = {} if json is None else {"json": json}
        try:
            return client.call(
                method, url, headers={**agent(), **headers}, read=lambda answer: answer.json, **options
            )
        except Failed as failed:
            answer, outcome, refusals = transport.answer, failed.outcome, transport.refusals
        words = "" if isinstance(outcome, Sent) else outcome.text
    if refusals:
        with transaction.atomic():
            count_refusals({KIND: refusals}, said=words, now=now)
    raise ApiRefused(
        words,
        status=answer.status if answer else 0,
        code=code_of(answer) if answer else None,
        is_temporary=not isinstance(outcome, Permanent)
        and not (isinstance(outcome, Temporary) and outcome.forbidden),
    )
