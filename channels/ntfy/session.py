"""https://docs.ntfy.sh/publish/#publish-as-json"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
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
from channels.http.client import ApiClient, ApiSession, Failed, UnreadableAnswer, an_id, told_at_fields
from channels.http.measures import octets
from channels.http.outcomes import ApiService
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse
from channels.letter import Recipient
from channels.ntfy.message import LONGEST_MESSAGE, LONGEST_SEQUENCE_ID, Push, push_of, sequence_id_of
from common.clock import utcnow
from common.ports.channels import ParsedDestination
from common.truncation import DoesNotFit

NTFY = ApiService(
    name="an ntfy server",
    words=lambda answer: answer.text_at("error"),
    advice="Save a token, or a user and password, that can write to this topic.",
)


class NtfySession(ApiSession):
    def send(
        self,
        message: Push,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """A repetition replaces the first, as the key is the sequence id."""
        return self._publish(message, sequence_id_of(key), now)

    def edit(
        self, message: Push, *, remote_id: str, parts: Sequence[str], key: str, now: datetime
    ) -> Outcome:
        return self._publish(message, remote_id, now)

    def delete(self, message: Push, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        """Servers before 2.16 cannot."""
        url = f"{message.config['server_url']}/{message.config['topic']}/{remote_id}"
        try:
            self._to(message, now).call(
                "DELETE", url, read=_published, headers=_credentials(message.config, message.secrets)
            )
        except Failed as failed:
            return failed.outcome
        return Sent(remote_id)

    def _publish(self, message: Push, sequence_id: str, now: datetime) -> Outcome:
        if message.refusal:
            return Permanent(message.refusal)
        client = self._to(message, now)
        headers = {"Content-Type": "application/json", **_credentials(message.config, message.secrets)}
        # A server may have lower limits, or no attachments.
        for most, picture in ((LONGEST_MESSAGE, True), (LONGEST_MESSAGE // 2, False)):
            try:
                body = message.body(sequence_id, most=most, picture=picture)
                url = f"{message.config['server_url']}/"
                client.call("POST", url, read=_published, posting=True, data=body, headers=headers)
                return Sent(sequence_id)
            except DoesNotFit:
                return Permanent(f"The link alone is longer than {client.host} allows.")
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        return outcome

    def _to(self, message: Push, now: datetime) -> ApiClient:
        return self.client(message.config["server_url"], NTFY, now, secrets=tuple(message.secrets.values()))


def check_topic(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> None:
    """Check the credentials. Raises InvalidDestination.

    A server cannot be asked who may write. For a write-only token, ask for its account.
    """
    config, secrets = destination.config, destination.secrets
    opened = NtfySession(session=session, timeout=timeout)
    client = opened.client(config["server_url"], NTFY, utcnow(), secrets=tuple(secrets.values()))
    headers = _credentials(config, secrets)
    elsewhere = f"{client.host} doesn’t look like {NTFY.name}."
    with closing(opened), told_at_fields("server_url", credentials="access_token", elsewhere=elsewhere):
        try:
            client.call(
                "GET", f"{config['server_url']}/{config['topic']}/auth", read=_success, headers=headers
            )
        except Failed:
            answer = client.transport.answer
            if not headers or answer is None or answer.status != 403:
                raise
            url = f"{config['server_url']}/v1/account"
            client.call("GET", url, read=lambda answer: an_id(answer.at("username")), headers=headers)


def _credentials(config: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    if token := secrets.get("access_token"):
        return {"Authorization": f"Bearer {token}"}
    if user := config.get("user"):
        login = f"{user}:{secrets.get('password', '')}".encode()
        return {"Authorization": f"Basic {b64encode(login).decode()}"}
    return {}


def _published(answer: ApiResponse) -> str:
    return an_id(answer.at("id"))


def _success(answer: ApiResponse) -> None:
    if answer.at("success") is not True:
        raise UnreadableAnswer("no success")


class NtfyChannel(BridgeChannel):
    key = "ntfy"
    # Since 2.16, a repetition replaces the first message.
    crash_policy = CrashPolicy.RESEND
    # ntfy.sh allows sixty at once, then one every five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Push:
        return push_of(said, options, recipient)

    def preview(self, message: Push) -> Looks:
        try:
            body = json.loads(message.body("0" * LONGEST_SEQUENCE_ID))
        except DoesNotFit:
            return Looks("", refusal="The link alone is longer than ntfy allows.")
        return Looks(
            body["message"],
            octets(body["message"]),
            LONGEST_MESSAGE,
            message.refusal,
            shape=Shape.PUSH,
            title=body.get("title", ""),
            pictures=(body["attach"],) if "attach" in body else (),
            notes=tuple(_notes(body)),
            unit="bytes",
        )

    def connect(self, lane: LaneFacts) -> NtfySession:
        return NtfySession()


def _notes(body: Mapping[str, Any]) -> Iterator[str]:
    if tags := body.get("tags"):
        yield f"Tags: {', '.join(tags)}"
    if link := body.get("click"):
        yield f"Opens {link}"
