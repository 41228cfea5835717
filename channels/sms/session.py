"""https://www.twilio.com/docs/messaging/api/message-resource"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings

from channels.base import (
    NOTHING,
    Ambiguous,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.http.client import ApiClient, ApiSession, Failed, UnreadableAnswer
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.letter import Letter, Recipient
from channels.rules.breakers import Breaker
from channels.sms.message import TextMessage, sms_of, to_recipient
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
        raise InvalidDestination(f"account_sid: Twilio reports that the account is {status}.")
    return f"{name}, as {values['sender']}"


def _account(answer: ApiResponse) -> tuple[str, str]:
    name, status = answer.at("friendly_name"), answer.at("status")
    if not isinstance(name, str) or not isinstance(status, str):
        raise UnreadableAnswer("no account")
    return name[:100], status[:20]


NOT_SET_UP = "Nothing was sent because the Twilio account has no token. Save it again."
MESSAGE_SID = re.compile(r"[SM]M[0-9a-f]{32}", re.ASCII)
# Possible difference of the clocks.
CLOCKS_APART = timedelta(minutes=2)
LOOKED_THROUGH = 50


class SmsSession(ApiSession):
    """Used by one thread at a time.

    `callback` is the URL for status reports, without the delivery's number; may be empty.
    """

    def __init__(
        self,
        account: Mapping[str, str],
        *,
        callback: str = "",
        base: str = "",
        session: requests.Session | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._sid, self._token = account.get("account_sid", ""), account.get("auth_token", "")
        self._sender, self._callback, self._base = account.get("sender", ""), callback, base or TWILIO_API

    def send(
        self,
        message: TextMessage,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Look up an earlier attempt: Twilio has no idempotency key."""
        if message.refusal:
            return Permanent(message.refusal)
        if not (self._sid and self._token and self._sender):
            return Temporary(NOT_SET_UP, stops_account=True)
        # Twilio's text is logged, but must not name the recipient.
        hidden = (self._token, message.to, message.to.removeprefix("+"))
        client = self.client(self._base, TWILIO, now, secrets=hidden)
        if begun_at is not None:
            try:
                found = self._find(client, message, begun_at)
            except Failed as failed:
                why = "" if isinstance(failed.outcome, Sent) else failed.outcome.text
                return Ambiguous(f"Couldn’t check whether it was sent. {why}", holds=True)
            if found:
                return Sent(found)
        try:
            return Sent(self.call(client, "POST", data=self._form(message), read=_sid_of, posting=True))
        except Failed as failed:
            return failed.outcome

    def call(self, client: ApiClient, method: str, **options: Any) -> Any:
        url = f"{self._base}/2010-04-01/Accounts/{self._sid}/Messages.json"
        return client.call(method, url, auth=(self._sid, self._token), **options)

    def _form(self, message: TextMessage) -> dict[str, str]:
        by = "MessagingServiceSid" if self._sender.startswith("MG") else "From"
        form = {"To": message.to, by: self._sender, "Body": message.body}
        if message.seconds:
            form["ValidityPeriod"] = str(message.seconds)
        if self._callback and message.delivery_id:
            form["StatusCallback"] = f"{self._callback}{message.delivery_id}/"
        return form

    def _find(self, client: ApiClient, message: TextMessage, begun_at: datetime) -> str:
        """Return the SID of a message accepted since then, or "". Raises Failed.

        Not by DateSent, which queued messages lack.
        """
        since = begun_at - CLOCKS_APART

        def read(answer: ApiResponse) -> str:
            listed = answer.at("messages")
            if not isinstance(listed, list):
                raise UnreadableAnswer("Twilio listed no messages.")
            for one in listed:
                if isinstance(one, Mapping) and _is_it(one, message, since):
                    return str(one.get("sid"))
            return ""

        found: str = self.call(
            client, "GET", params={"To": message.to, "PageSize": str(LOOKED_THROUGH)}, read=read
        )
        return found


def _is_it(said: Mapping[str, Any], message: TextMessage, since: datetime) -> bool:
    body, to = said.get("body"), said.get("to")
    # Trial accounts prepend a text.
    if to != message.to or not isinstance(body, str) or not body.endswith(message.body):
        return False
    try:
        created = parsedate_to_datetime(str(said.get("date_created"))).astimezone(UTC)
    except ValueError:
        return False
    return created >= since and bool(MESSAGE_SID.fullmatch(str(said.get("sid"))))


def _sid_of(answer: ApiResponse) -> str:
    sid = answer.at("sid")
    if not isinstance(sid, str) or not MESSAGE_SID.fullmatch(sid):
        raise UnreadableAnswer("Twilio returned no message.")
    return sid


class SmsChannel:
    """Newsletters choose the Twilio account."""

    key = "sms"
    # No key, but messages can be listed.
    crash_policy = CrashPolicy.LOOK_UP
    # Twilio queues what exceeds a number's rate; the caps limit the cost of a mistake.
    lane = LaneDefaults(serial=False, concurrency=5, rate=10.0, per_day=1_000, per_recipient=10)
    account_lane: LaneDefaults | None = None
    breaker: Breaker | None = None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return options.get("account", "")

    def shared_account(self, core: str) -> str:
        """Lanes are accounts themselves."""
        return ""

    def domain(self, core: str) -> str:
        return ""

    def compose(self, letter: Letter, recipient: Recipient) -> TextMessage:
        return self.composer(letter)(recipient)

    def composer(self, letter: Letter) -> Callable[[Recipient], TextMessage]:
        message = sms_of(letter)
        return lambda recipient: to_recipient(message, recipient)

    def sessions(self, lane: LaneFacts) -> None:
        return

    def connect(self, lane: LaneFacts) -> SmsSession:
        return SmsSession(lane.credentials, callback=callback_of(lane.account))


def callback_of(account: str) -> str:
    """Return the URL for status reports, without the delivery's number.

    Empty if unreachable: Twilio refuses such URLs (21609).
    """
    host = urlsplit(settings.SITE_URL).hostname or ""
    is_reachable = "." in host and not host.replace(".", "").isdigit()
    return f"{settings.SITE_URL}/sms/{account}/status/" if is_reachable else ""
