from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from channels.announcement import Announcement
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
from channels.http.client import ApiSession, Failed
from channels.http.links import shown_text
from channels.letter import Recipient
from channels.matrix.client import MATRIX, Homeserver
from channels.matrix.message import KEY, LONGEST_CONTENT, Notice, notice_of, size_of
from common.ttl_cache import TtlCache

# Encryption may be enabled later.
ROOM_REMEMBERED_SECONDS = 60 * 60.0
MOST_ROOMS = 1000
ENCRYPTED = (
    "The room is now encrypted, and encryption can’t be turned off. Nothing was posted, "
    "because bridges post unencrypted text. Use a room without encryption."
)


def encrypted_rooms() -> TtlCache[bool]:
    return TtlCache(room=MOST_ROOMS, seconds=ROOM_REMEMBERED_SECONDS, size=lambda _: 1)


ENCRYPTED_ROOMS = encrypted_rooms()


class MatrixSession(ApiSession):
    def __init__(self, *, encrypted: TtlCache[bool] = ENCRYPTED_ROOMS, **options: Any) -> None:
        super().__init__(**options)
        self._encrypted = encrypted

    def send(
        self,
        message: Notice,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """The transaction is repeatable for minutes; later, the event is looked up."""
        if message.refusal:
            return Permanent(message.refusal)
        server, room = self._server(message, now), message.config["room"]
        if begun_at is not None:
            try:
                found = server.find(room, key, since=begun_at)
            except Failed as failed:
                why = "" if isinstance(failed.outcome, Sent) else failed.outcome.text
                return Ambiguous(f"Couldn’t check whether the post was published. {why}", holds=True)
            if found:
                return _sent(message, found)
        if (obstacle := self._obstacle(server, message)) is not None:
            return obstacle
        for plain, txn in ((False, key), (True, f"{key}-plain")):
            try:
                content = {**message.content(plain=plain), KEY: key}
                return _sent(message, server.post(room, content, txn))
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        return outcome

    def edit(
        self, message: Notice, *, remote_id: str, parts: Sequence[str], key: str, now: datetime
    ) -> Outcome:
        if message.refusal:
            return Permanent(message.refusal)
        server, room = self._server(message, now), message.config["room"]
        if (obstacle := self._obstacle(server, message)) is not None:
            return obstacle
        try:
            server.post(room, message.new_content(remote_id), key)
        except Failed as failed:
            return failed.outcome
        return _sent(message, remote_id)

    def delete(self, message: Notice, *, remote_id: str, parts: Sequence[str], now: datetime) -> Outcome:
        txn = sha256(remote_id.encode()).hexdigest()
        try:
            self._server(message, now).redact(message.config["room"], remote_id, txn)
        except Failed as failed:
            return failed.outcome
        return Sent(remote_id)

    def _obstacle(self, server: Homeserver, message: Notice) -> Outcome | None:
        """Return why the room cannot get readable text."""
        room = message.config["room"]
        key = f"{message.config['server_url']} {room}"
        try:
            is_encrypted = self._encrypted.get(key, lambda: server.is_encrypted(room))
        except Failed as failed:
            # Not a sign of encryption: the post itself succeeds or fails.
            return failed.outcome if isinstance(failed.outcome, Temporary) else None
        return Permanent(ENCRYPTED, disables=True) if is_encrypted else None

    def _server(self, message: Notice, now: datetime) -> Homeserver:
        url, token = message.config["server_url"], message.secrets["access_token"]
        return Homeserver(self.client(url, MATRIX, now, secrets=(token,)), url, token)


def _sent(message: Notice, event_id: str) -> Sent:
    """The link works from other servers."""
    room, via = message.config["room"], message.config.get("via", "")
    place = f"{quote(room, safe='!:')}/{quote(event_id, safe='$:')}" + (f"?via={quote(via)}" if via else "")
    return Sent(event_id, url=f"https://matrix.to/#/{place}")


class MatrixChannel(OldBridgeChannel):
    key = "matrix"
    crash_policy = CrashPolicy.LOOK_UP
    # Usual limit: one message in five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)

    def message(self, said: Announcement, options: Mapping[str, str], recipient: Recipient) -> Notice:
        return notice_of(said, options, recipient)

    def preview(self, message: Notice) -> Looks:
        """The limit is for the event, which has the text twice."""
        words = shown_text(message.html.replace("<br>", "\n"))
        return Looks(words, size_of(message), LONGEST_CONTENT, message.refusal, unit="bytes")

    def connect(self, lane: LaneFacts) -> MatrixSession:
        return MatrixSession()
