"""https://gotify.net/docs/pushmsg"""

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

import requests

from channels.announcement import Announcement
from channels.base import (
    NOTHING,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Outcome,
    Permanent,
    Sent,
    Shape,
)
from channels.bridge import BridgeChannel
from channels.gotify.message import LONGEST_MESSAGE, GotifyPush, push_of
from channels.http.client import ApiSession, Failed, UnreadableAnswer, told_at_fields
from channels.http.outcomes import ApiService
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.letter import Recipient
from common.clock import utcnow
from common.ports.channels import ParsedDestination

GOTIFY = ApiService(
    name="a Gotify server",
    words=lambda answer: answer.text_at("errorDescription"),
    advice="Save the token of an existing application.",
)


class GotifySession(ApiSession):
    """An application's token cannot find or change messages."""

    def send(
        self,
        message: GotifyPush,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        if message.refusal:
            return Permanent(message.refusal)
        url, token = message.config["server_url"], message.secrets["access_token"]
        client = self.client(url, GOTIFY, now, secrets=(token,))
        headers = {"X-Gotify-Key": token}
        try:
            number = client.call(
                "POST", f"{url}/message", read=_number, posting=True, json=message.body, headers=headers
            )
        except Failed as failed:
            return failed.outcome
        return Sent(str(number))


def check_server(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> None:
    url = destination.config["server_url"]
    opened = GotifySession(session=session, timeout=timeout)
    client = opened.client(url, GOTIFY, utcnow(), secrets=tuple(destination.secrets.values()))
    elsewhere = f"{client.host} doesn’t look like {GOTIFY.name}."
    with closing(opened), told_at_fields("server_url", elsewhere=elsewhere):
        client.call("GET", f"{url}/version", read=_version)


def _number(answer: ApiResponse) -> int:
    number = answer.at("id")
    if not isinstance(number, int):
        raise UnreadableAnswer("no id")
    return number


def _version(answer: ApiResponse) -> str:
    if not (answer.text_at("version") and answer.text_at("buildDate")):
        raise UnreadableAnswer("no version")
    return answer.text_at("version")


class GotifyChannel(BridgeChannel):
    key = "gotify"
    # Application tokens cannot read messages.
    crash_policy = CrashPolicy.HOLD
    lane = LaneDefaults(spacing_seconds=1.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> GotifyPush:
        return push_of(said, options, recipient)

    def preview(self, message: GotifyPush) -> Looks:
        text = message.body.get("message", "")
        return Looks(
            text,
            len(text),
            LONGEST_MESSAGE,
            message.refusal,
            shape=Shape.PUSH,
            title=message.body.get("title", ""),
            pictures=(message.picture,) if message.picture else (),
            notes=(f"Opens {message.link}",) if message.link else (),
        )

    def connect(self, lane: LaneFacts) -> GotifySession:
        return GotifySession()
