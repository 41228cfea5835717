"""https://www.twilio.com/docs/messaging/api/message-resource"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings

from channels.base import Channel, CrashPolicy, LaneDefaults, LaneFacts, Message, Sent
from channels.bridge import body_or_refusal
from channels.http.client import ApiClient, Target, UnreadableAnswer
from channels.http.session import ServiceSession
from channels.http.transport import ApiResponse
from channels.letter import Letter, Recipient
from channels.sms.message import TextMessage, sms_of
from channels.sms.service import TWILIO, TWILIO_API
from common.ports.channels import InvalidDestination

T = TypeVar("T")
ACTIVE = "active"


MESSAGE_SID = re.compile(r"[SM]M[0-9a-f]{32}", re.ASCII)
# Possible difference of the clocks.
CLOCKS_APART = timedelta(minutes=2)
LOOKED_THROUGH = 50


class SmsSession(ServiceSession):
    """`callback` is the URL for status reports, without the delivery's number; may be empty."""

    service = TWILIO
    needs = ("auth_token", "account_sid", "sender")

    def __init__(self, *arguments: Any, callback: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._callback = callback

    def address(self, to: Target) -> str:
        return TWILIO_API

    def hidden(self, to: Target) -> list[str]:
        """Twilio's text is logged, but must not name the recipient."""
        number = to.config.get("number", "")
        return [self.credentials["auth_token"], number, number.removeprefix("+")]

    def post(self, api: ApiClient, body: TextMessage) -> Sent:
        sender, delivery = self.credentials["sender"], api.config["delivery"]
        by = "MessagingServiceSid" if sender.startswith("MG") else "From"
        form = {"To": api.config["number"], by: sender, "Body": body.text}
        if body.seconds:
            form["ValidityPeriod"] = str(body.seconds)
        if self._callback and delivery:
            form["StatusCallback"] = f"{self._callback}{delivery}/"
        return Sent(self._call(api, "POST", "/Messages", data=form, read=_sid_of, posting=True))

    def find(self, api: ApiClient, body: TextMessage, begun_at: datetime) -> Sent | None:
        """Twilio has no idempotency key. Not by DateSent, which queued messages lack."""
        since = begun_at - CLOCKS_APART

        def read(answer: ApiResponse) -> Sent | None:
            messages = answer.at("messages")
            if not isinstance(messages, list):
                raise UnreadableAnswer("Twilio listed no messages.")
            for message in messages:
                if isinstance(message, Mapping) and _is_it(message, api.config["number"], body.text, since):
                    return Sent(str(message.get("sid")))
            return None

        query = {"To": api.config["number"], "PageSize": str(LOOKED_THROUGH)}
        return self._call(api, "GET", "/Messages", params=query, read=read)

    def account_name(self, api: ApiClient) -> str:
        name, status = self._call(api, "GET", "", read=_account)
        if status != ACTIVE:
            raise InvalidDestination(f"account_sid: Twilio reports that the account is {status}.")
        return f"{name}, as {self.credentials['sender']}"

    def _call(
        self, api: ApiClient, method: str, place: str, *, read: Callable[[ApiResponse], T], **options: Any
    ) -> T:
        sid, token = self.credentials["account_sid"], self.credentials["auth_token"]
        path = f"/2010-04-01/Accounts/{sid}{place}.json"
        answer: T = api.call(method, path, auth=(sid, token), read=read, **options)
        return answer


def _is_it(message: Mapping[str, Any], number: str, text: str, since: datetime) -> bool:
    body = message.get("body")
    # Trial accounts prepend a text.
    if message.get("to") != number or not isinstance(body, str) or not body.endswith(text):
        return False
    try:
        created = parsedate_to_datetime(str(message.get("date_created"))).astimezone(UTC)
    except ValueError:
        return False
    return created >= since and bool(MESSAGE_SID.fullmatch(str(message.get("sid"))))


def _account(answer: ApiResponse) -> tuple[str, str]:
    name, status = answer.at("friendly_name"), answer.at("status")
    if not isinstance(name, str) or not isinstance(status, str):
        raise UnreadableAnswer("no account")
    return name[:100], status[:20]


def _sid_of(answer: ApiResponse) -> str:
    sid = answer.at("sid")
    if not isinstance(sid, str) or not MESSAGE_SID.fullmatch(sid):
        raise UnreadableAnswer("Twilio returned no message.")
    return sid


class SmsChannel(Channel):
    """Newsletters choose the Twilio account. Lanes are accounts themselves."""

    key = "sms"
    # No key, but messages can be listed.
    crash_policy = CrashPolicy.LOOK_UP
    # Twilio queues what exceeds a number's rate; the caps limit the cost of a mistake.
    lane = LaneDefaults(serial=False, concurrency=5, rate=10.0, per_day=1_000, per_recipient=10)

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return options.get("account", "")

    def composer(self, letter: Letter) -> Callable[[Recipient], Message[TextMessage]]:
        text, refusal = body_or_refusal(lambda: sms_of(letter))
        empty = TextMessage("")
        return lambda to: message_to(to.core, text or empty, delivery_id=to.delivery_id, refusal=refusal)

    def connect(self, lane: LaneFacts) -> SmsSession:
        return SmsSession(lane, callback=callback_of(lane.account))


def message_to(
    number: str, text: TextMessage, *, delivery_id: int = 0, refusal: str = ""
) -> Message[TextMessage]:
    """`number` is in E.164."""
    return Message(text, {"number": number, "delivery": str(delivery_id or "")}, refusal=refusal)


def callback_of(account: str) -> str:
    """Return the URL for status reports, without the delivery's number.

    Empty if unreachable: Twilio refuses such URLs (21609).
    """
    host = urlsplit(settings.SITE_URL).hostname or ""
    is_reachable = "." in host and not host.replace(".", "").isdigit()
    return f"{settings.SITE_URL}/sms/{account}/status/" if is_reachable else ""
