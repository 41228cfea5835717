"""Asks Twilio whether an account's token is good, before it is saved."""

from collections.abc import Mapping

import requests

from channels.base import Sent
from channels.http.client import Failed, UnreadableAnswer
from channels.http.session import ApiSession
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.sms.service import TWILIO, TWILIO_API
from common.clock import utcnow
from common.ports.channels import InvalidDestination

ACTIVE = "active"


def check_twilio(
    values: Mapping[str, str],
    *,
    base: str = "",
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> str:
    """What the account is called at Twilio, and its sender. Raises InvalidDestination."""
    sid, token, url = values["account_sid"], values["auth_token"], base or TWILIO_API
    opened = ApiSession(session=session, timeout=timeout)
    client = opened.client(url, TWILIO, utcnow(), secrets=(token,))
    try:
        name, status = client.call(
            "GET", f"{url}/2010-04-01/Accounts/{sid}.json", auth=(sid, token), read=_account
        )
    except Failed as failed:
        answer = client.transport.answer
        why = "" if isinstance(failed.outcome, Sent) else failed.outcome.text
        field = "auth_token" if answer is not None and answer.status in (401, 403, 404) else "account_sid"
        raise InvalidDestination(f"{field}: {why}") from None
    finally:
        opened.close()
    if status != ACTIVE:
        raise InvalidDestination(f"account_sid: Twilio says that the account is {status}.")
    return f"{name}, as {values['sender']}"


def _account(answer: ApiResponse) -> tuple[str, str]:
    name, status = answer.at("friendly_name"), answer.at("status")
    if not isinstance(name, str) or not isinstance(status, str):
        raise UnreadableAnswer("no account")
    return name[:100], status[:20]
