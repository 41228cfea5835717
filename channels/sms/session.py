"""Sends text messages by Twilio, https://www.twilio.com/docs/messaging/api/message-resource."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import requests

from channels.base import NOTHING, Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.http.client import ApiClient, Failed, UnreadableAnswer
from channels.http.session import ApiSession
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.sms.compose import TextMessage
from channels.sms.service import TWILIO, TWILIO_API

NOT_SET_UP = "Nothing was sent: the Twilio account has no token. Save it again."
MESSAGE_SID = re.compile(r"[SM]M[0-9a-f]{32}", re.ASCII)
# Its clock and ours may differ by so much.
CLOCKS_APART = timedelta(minutes=2)
LOOKED_THROUGH = 50


class SmsSession(ApiSession):
    """Sends as one account. Used by one thread at a time.

    `callback` is where Twilio tells what became of a message, without the delivery's number; empty: nowhere.
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
        """Sends once: what may have been sent before is looked for first, for Twilio knows no key."""
        if message.refusal:
            return Permanent(message.refusal)
        if not (self._sid and self._token and self._sender):
            return Temporary(NOT_SET_UP, stops_account=True)
        # What Twilio says goes into logs, where nobody's number belongs.
        hidden = (self._token, message.to, message.to.removeprefix("+"))
        client = self.client(self._base, TWILIO, now, secrets=hidden)
        if begun_at is not None:
            try:
                found = self._find(client, message, begun_at)
            except Failed as failed:
                why = "" if isinstance(failed.outcome, Sent) else failed.outcome.text
                return Ambiguous(f"Whether it was sent could not be looked up. {why}", holds=True)
            if found:
                return Sent(found)
        try:
            return Sent(self.call(client, "POST", data=self._form(message), read=_sid_of, posting=True))
        except Failed as failed:
            return failed.outcome

    def call(self, client: ApiClient, method: str, **options: Any) -> Any:
        """Asks for the account's messages. Raises Failed."""
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
        """The SID of the message if it was taken since; "" if it was not. Raises Failed.

        Not by DateSent: a message that waits in Twilio's queue has none, and would be missed.
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
    # A trial account's messages begin with words of Twilio's.
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
        raise UnreadableAnswer("Twilio named no message.")
    return sid
