"""Sends with Apprise and interprets its log."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from channels.announcement import Announcement
from channels.apprise.message import MOST_CHARACTERS, PlainMessage, plain_message_of
from channels.apprise.service import ApprisedService, CannotUse, ServiceReply, secrets_of, service_address
from channels.base import (
    NOTHING,
    Ambiguous,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.bridge import OldBridgeChannel
from channels.http.client import masked
from channels.http.links import WORD_JOINER
from channels.http.outcomes import ABOUT_MESSAGE, LONGEST_WORDS, SERVICE_DOWN
from channels.http.transport import TIMEOUT_SECONDS
from channels.letter import Recipient
from common.net.addresses import Network
from common.ports.channels import InvalidDestination, ParsedDestination
from common.truncation import DoesNotFit, fit_parts


def check_url(
    destination: ParsedDestination,
    *,
    allow: Sequence[Network] | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> None:
    """Nothing is posted, so the token is not tested. Raises InvalidDestination."""
    url = destination.secrets["apprise_url"]
    try:
        ApprisedService(url, timeout=timeout, allow=allow).reach()
    except CannotUse as error:
        raise InvalidDestination(f"apprise_url: {error}") from None


# Apprise hides the answer's text, so a refusal counts only if it persists.
REFUSALS, REFUSALS_BELIEVED = (401, 403, 404, 410), 3
# Status codes in Apprise's logs.
_STATUS = re.compile(r"error=(\d{3})\b")


class AppriseSession:
    """Used by one thread at a time. `allow` lists permitted private networks."""

    def __init__(self, *, allow: Sequence[Network] | None = None, timeout: float = TIMEOUT_SECONDS) -> None:
        self._allow, self._timeout = allow, timeout

    def send(
        self,
        message: PlainMessage,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Three refusals, counted in `progress`, disable the destination."""
        if message.refusal:
            return Permanent(message.refusal)
        url = message.secrets["apprise_url"]
        try:
            service = ApprisedService(url, timeout=self._timeout, allow=self._allow)
            most = min(service.most_characters, MOST_CHARACTERS)
            text = fit_parts(message.parts, lambda text: len(text) <= most)
            reply = service.send(text)
        except DoesNotFit:
            return Permanent("The link alone is longer than the service allows.")
        except CannotUse as error:
            return masked(Temporary(f"Nothing was posted: {error}", stops_lane=True), secrets_of(url))
        return masked(_outcome(reply, service_address(url).schema, progress), secrets_of(url))

    def close(self) -> None:
        """Nothing to close."""


def _outcome(reply: ServiceReply, schema: str, progress: Mapping[str, Any]) -> Outcome:
    if reply.taken:
        return Sent()
    said = f"{schema}, by Apprise: {reply.words[:LONGEST_WORDS] or 'not sent.'}"
    match = _STATUS.search(reply.words)
    if match is None:
        # A lost answer cannot be told from other failures.
        return Ambiguous(said)
    status = int(match[1])
    if status in REFUSALS:
        count = int(progress.get("refusals", 0)) + 1
        if count >= REFUSALS_BELIEVED:
            return Permanent(f"{said} Save a working URL.", disables=True)
        return Temporary(said, progress={"refusals": count})
    if status in ABOUT_MESSAGE:
        return Permanent(said)
    stops = status == 429 or status in SERVICE_DOWN or 300 <= status < 400
    return Temporary(said, stops_lane=stops, suspect=stops)


class AppriseChannel(OldBridgeChannel):
    key = "apprise"
    # No key, and no look-up.
    crash_policy = CrashPolicy.HOLD
    # Its slowest services require 5.5 seconds between messages.
    lane = LaneDefaults(spacing_seconds=6.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PlainMessage:
        return plain_message_of(said, options, recipient)

    def preview(self, message: PlainMessage) -> Looks:
        """Our own limit; the service's may be lower."""
        try:
            text = fit_parts(message.parts, lambda text: len(text) <= MOST_CHARACTERS)
        except DoesNotFit:
            return Looks("", refusal="The link alone is longer than the service allows.")
        return Looks(text.replace(WORD_JOINER, ""), len(text), MOST_CHARACTERS, message.refusal)

    def connect(self, lane: LaneFacts) -> AppriseSession:
        return AppriseSession()
