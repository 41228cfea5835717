"""Fake Twilio on loopback: one account with a sender, strict about numbers and lengths."""

import base64
import hashlib
import hmac
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from tests.servers.api_server import ApiServer, Reply, Request

ACCOUNT_SID = "AC" + "0a" * 16
TOKEN = "auth_token_0123456789abcdef"
SENDER = "+15005550006"
SERVICE = "MG" + "0b" * 16
VALUES = {"account_sid": ACCOUNT_SID, "auth_token": TOKEN, "sender": SENDER}
PLACE = f"/2010-04-01/Accounts/{ACCOUNT_SID}"
LONGEST = 1_600
LANDLINE = "+4930901820"
_LOGIN = b64encode(f"{ACCOUNT_SID}:{TOKEN}".encode()).decode()


def error(status: int, code: int, message: str) -> Reply:
    said = {"code": code, "message": message, "more_info": "https://www.twilio.com/docs", "status": status}
    return Reply(status, said)


UNAUTHORISED = error(401, 20003, "Authenticate")
STOPPED = error(400, 21610, "Attempt to send to unsubscribed recipient")


def signature(url: str, form: Mapping[str, str], *, token: str = TOKEN) -> str:
    """Return the value of X-Twilio-Signature."""
    text = url + "".join(f"{name}{form[name]}" for name in sorted(form))
    return base64.b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


class Twilio(ApiServer):
    """Twilio. `says` is the reply to every request that makes a message.

    `stopped` are numbers that answered STOP. `now` is the clock; None: the real one. `queued` messages have
    no DateSent yet.
    """

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.stopped: set[str] = set()
        self.now: datetime | None = None
        self.status = "active"
        self.queued = False
        self.begins_with = ""

    def usual(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Basic {_LOGIN}":
            return UNAUTHORISED
        if request.place == f"{PLACE}.json":
            return Reply(200, {"sid": ACCOUNT_SID, "friendly_name": "Bees Ltd", "status": self.status})
        if request.place != f"{PLACE}/Messages.json":
            return error(404, 20404, f"The requested resource {request.place} was not found")
        return self._take(request.form) if request.method == "POST" else self._list(request.query)

    def _take(self, form: dict[str, str]) -> Reply:
        to, body = form.get("To", ""), form.get("Body", "")
        if not re.fullmatch(r"\+[1-9]\d{6,14}", to):
            return error(400, 21211, f"The 'To' number {to} is not a valid phone number.")
        if to in self.stopped:
            return STOPPED
        if to == LANDLINE:
            return error(400, 21614, f"'To' number is not a valid mobile number: {to}")
        if not body:
            return error(400, 21602, "Message body is required.")
        if len(body) > LONGEST:
            return error(400, 21617, "The concatenated message body exceeds the 1600 character limit")
        if form.get("From") != SENDER and form.get("MessagingServiceSid") != SERVICE:
            return error(400, 21606, "The 'From' phone number provided is not a valid sender")
        callback = form.get("StatusCallback", "https://none.example/")
        if not re.match(r"https?://[^/]*\.[a-z]+(?::\d+)?/", callback):
            return error(400, 21609, f"The StatusCallback URL {callback} is not a valid URL.")
        moment = format_datetime(self.now or datetime.now(UTC))
        made = {
            "sid": f"SM{len(self.messages) + 1:032x}",
            "account_sid": ACCOUNT_SID,
            "to": to,
            "from": form.get("From"),
            "messaging_service_sid": form.get("MessagingServiceSid"),
            "body": self.begins_with + body,
            "status": "queued" if form.get("From") else "accepted",
            "direction": "outbound-api",
            "date_created": moment,
            "date_sent": None if self.queued else moment,
            "error_code": None,
        }
        self.messages.append({**made, "form": form})
        return Reply(201, made)

    def _list(self, query: dict[str, str]) -> Reply:
        """List messages by To and DateSent>=, newest first."""
        since = query.get("DateSent>", "")
        found = [
            {name: value for name, value in one.items() if name != "form"}
            for one in reversed(self.messages)
            if query.get("To", one["to"]) == one["to"] and (not since or one["date_sent"])
        ]
        size = int(query.get("PageSize", 50))
        return Reply(200, {"messages": found[:size], "page": 0, "page_size": size, "next_page_uri": None})
