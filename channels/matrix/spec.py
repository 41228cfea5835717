import re
from collections.abc import Mapping
from functools import partial
from urllib.parse import urlsplit

from channels.bridge import BridgeSpec
from channels.fields import secret_word
from channels.http.transport import server_url
from common.ports.channels import Field, ParsedDestination


def room_name(typed: str) -> str:
    """Check a room's id or alias. Raises ValueError."""
    # "MUST NOT exceed 255 bytes"; since room version 12 ids have no server.
    if not re.fullmatch(r"![!-~]{1,254}|#[^\s:]+:[!-~]+", typed) or len(typed.encode()) > 255:
        raise ValueError("enter an alias such as #news:matrix.example, or an ID that starts with !.")
    return typed


class MatrixSpec(BridgeSpec):
    """Posts to an unencrypted room."""

    key = "matrix"
    label = "Matrix"
    sentence = "Posts notices to an unencrypted room."
    edits = deletes = True
    destination_fields = (
        Field(
            "server_url",
            "Homeserver",
            "The account’s server, such as https://matrix.example.",
            required=True,
            clean=partial(server_url, example="matrix.example"),
        ),
        Field(
            "access_token",
            "Access token",
            "Use a separate account. In Element, choose All settings, Help & About, Access Token. "
            "Then close the window without signing out.",
            required=True,
            secret=True,
            clean=secret_word,
        ),
        Field(
            "room",
            "Room",
            "For example #news:matrix.example. Invite the account, or make the room public.",
            required=True,
            clean=room_name,
        ),
    )

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is room@host; `check` replaces an alias with the id."""
        url, room = given["server_url"], given["room"]
        host = urlsplit(url).netloc
        return ParsedDestination(
            core=f"{room}@{host}",
            label=f"{room} at {host}",
            config={"server_url": url, "room": room},
            secrets={"access_token": given["access_token"]},
        )

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        """Join the room and check the permission to post (network). Raises InvalidDestination."""
        from channels.matrix.check import resolved

        return resolved(destination)
