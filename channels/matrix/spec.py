import re
from functools import partial

from channels import fields
from channels.bridge import BridgeSpec
from channels.http.transport import server_url


def room_name(typed: str) -> str:
    """Check a room's id or alias. Raises ValueError."""
    # "MUST NOT exceed 255 bytes"; since room version 12 ids have no server.
    if not re.fullmatch(r"![!-~]{1,254}|#[^\s:]+:[!-~]+", typed) or len(typed.encode()) > 255:
        raise ValueError("enter an alias such as #news:matrix.example, or an ID that starts with !.")
    return typed


class MatrixSpec(BridgeSpec):
    """Posts to an unencrypted room. A check replaces an alias with the room's id."""

    key = "matrix"
    label = "Matrix"
    sentence = "Posts notices to an unencrypted room."
    edits = deletes = True
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
