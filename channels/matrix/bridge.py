import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from channels import fields
from channels.announcement import Announcement
from channels.base import CrashPolicy, LaneDefaults, Looks, Permanent, Sent, Temporary
from channels.bridge import Bridge
from channels.http.client import ApiClient, Failed, first_accepted, told_at_fields
from channels.http.links import shown_text
from channels.http.session import DeletingSession, EditingSession
from channels.http.transport import ApiResponse, server_url
from channels.matrix.client import KEY, LONGEST_CONTENT, MATRIX, Homeserver, Notice
from channels.wording import listing_parts
from common.ports.channels import InvalidDestination, ParsedDestination
from common.ttl_cache import TtlCache

# Encryption may be enabled later.
ROOM_REMEMBERED_SECONDS = 60 * 60.0
MOST_ROOMS = 1000
ENCRYPTED = (
    "The room is now encrypted, and encryption can’t be turned off. Nothing was posted, "
    "because bridges post unencrypted text. Use a room without encryption."
)
CHOSE_ENCRYPTED = (
    "room: this room is encrypted, and encryption can’t be turned off. Use a room without encryption."
)


def room_name(typed: str) -> str:
    """Check a room's id or alias. Raises ValueError."""
    # "MUST NOT exceed 255 bytes"; since room version 12 ids have no server.
    if not re.fullmatch(r"![!-~]{1,254}|#[^\s:]+:[!-~]+", typed) or len(typed.encode()) > 255:
        raise ValueError("enter an alias such as #news:matrix.example, or an ID that starts with !.")
    return typed


class MatrixBridge(EditingSession, DeletingSession, Bridge):
    """Posts to an unencrypted room. A check replaces an alias with the room's id."""

    key = "matrix"
    label = "Matrix"
    sentence = "Posts notices to an unencrypted room."
    crash_policy = CrashPolicy.LOOK_UP
    # Usual limit: one message in five seconds.
    lane = LaneDefaults(spacing_seconds=5.0)
    name_field = "room"
    destination_fields = (
        fields.needed(
            "server_url",
            "Homeserver",
            "The account’s server, such as https://matrix.example.",
            partial(server_url, example="matrix.example"),
        ),
        fields.secret(
            "access_token",
            "Access token",
            "Use a separate account. In Element, choose All settings, Help & About, Access Token. "
            "Then close the window without signing out.",
        ),
        fields.needed(
            "room",
            "Room",
            "For example #news:matrix.example. Invite the account, or make the room public.",
            room_name,
        ),
    )
    service = MATRIX
    encrypted = TtlCache[bool](room=MOST_ROOMS, seconds=ROOM_REMEMBERED_SECONDS, size=lambda _: 1)

    def body(self, post: Announcement, options: Mapping[str, str]) -> Notice:
        return Notice.of(
            listing_parts(
                post,
                options.get("template", ""),
                lambda parts: Notice.of(parts).size <= LONGEST_CONTENT,
                titles=(50, 10, 0),
            )
        )

    def looks(self, body: Notice) -> Looks:
        """The limit is for the event, which has the text twice."""
        words = shown_text(body.html.replace("<br>", "\n"))
        return Looks(words, body.size, LONGEST_CONTENT, unit="bytes")

    def find(self, api: ApiClient, body: Notice, begun_at: datetime) -> Sent | None:
        """The transaction is repeatable for minutes only."""
        found = Homeserver(api).find(api.config["room"], api.key, since=begun_at)
        return _sent(api, found) if found else None

    def post(self, api: ApiClient, body: Notice) -> Sent:
        room = self._readable_room(api)

        def post(version: tuple[bool, str]) -> Sent:
            plain, txn = version
            content = {**body.content(plain=plain), KEY: api.key}
            return _sent(api, Homeserver(api).post(room, content, txn))

        return first_accepted(((False, api.key), (True, f"{api.key}-plain")), post)

    def change(self, api: ApiClient, body: Notice, remote_id: str, parts: Sequence[str]) -> Sent:
        Homeserver(api).post(self._readable_room(api), body.new_content(remote_id), api.key)
        return _sent(api, remote_id)

    def remove(self, api: ApiClient, remote_id: str, parts: Sequence[str]) -> Sent:
        txn = sha256(remote_id.encode()).hexdigest()
        Homeserver(api).redact(api.config["room"], remote_id, txn)
        return Sent(remote_id)

    def _readable_room(self, api: ApiClient) -> str:
        """Return the room, unless it cannot get readable text. Raises Failed."""
        room = api.config["room"]
        try:
            is_encrypted = self.encrypted.get(f"{api.url} {room}", lambda: Homeserver(api).is_encrypted(room))
        except Failed as failed:
            # Other failures are no sign of encryption: the post itself succeeds or fails.
            if isinstance(failed.outcome, Temporary):
                raise
            return room
        if is_encrypted:
            raise Failed(Permanent(ENCRYPTED, disables=True))
        return room

    def checked(self, api: ApiClient, destination: ParsedDestination) -> ParsedDestination:
        """Resolve server and room id, joining if possible, and check the permission to post."""
        config = {**destination.config, "server_url": _resolved(api)}
        api = self.api(replace(destination, config=config), api.now)
        server = Homeserver(api)
        account = server.whoami()
        with told_at_fields("room"):
            room = server.join(config["room"])
            if server.is_encrypted(room):
                raise InvalidDestination(CHOSE_ENCRYPTED)
            levels = server.state(room, "m.room.power_levels")
            # From room version 12 on, ids have no server. Servers that ignore `format` return the content.
            created = {} if ":" in room else server.state(room, "m.room.create", params={"format": "event"})
        if not (_may_post(account, levels) or _may_be_creator(account, created)):
            raise InvalidDestination(f"room: {account} isn’t allowed to post there. Make it a moderator.")
        config |= {"room": room, "via": account.partition(":")[2]}
        return replace(destination, core=f"{room}@{api.host}", config=config)


def _sent(api: ApiClient, event_id: str) -> Sent:
    """The link works from other servers."""
    room, via = api.config["room"], api.config.get("via", "")
    place = f"{quote(room, safe='!:')}/{quote(event_id, safe='$:')}" + (f"?via={quote(via)}" if via else "")
    return Sent(event_id, url=f"https://matrix.to/#/{place}")


def _resolved(api: ApiClient) -> str:
    """From .well-known, or else the domain's. Without the token."""

    def read(answer: ApiResponse) -> str:
        return server_url(answer.text_at("m.homeserver", "base_url"), example="matrix.example")

    try:
        return api.call("GET", f"{api.url}/.well-known/matrix/client", read=read)
    except Failed:
        return api.url


def _may_post(account: str, levels: dict[str, Any]) -> bool:
    """See §m.room.power_levels."""
    needed = _level(levels.get("events"), "m.room.message", levels.get("events_default", 0))
    return _level(levels.get("users"), account, levels.get("users_default", 0)) >= needed


def _may_be_creator(account: str, created: dict[str, Any]) -> bool:
    """Creators are above all levels (MSC4289)."""
    if not created:
        return False
    content = created.get("content", created)
    more = content.get("additional_creators") if isinstance(content, dict) else None
    # Without the event the sender is unknown.
    return created.get("sender", account) == account or (isinstance(more, list) and account in more)


def _level(among: Any, name: str, otherwise: Any) -> int:
    said = among.get(name, otherwise) if isinstance(among, dict) else otherwise
    # Before room version 10 a level could be a string.
    return int(said) if isinstance(said, int) or str(said).lstrip("-").isdecimal() else 0
