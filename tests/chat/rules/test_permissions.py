"""The bot's permissions in a channel: its server's roles, then the channel's overwrites."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.rules.permissions import (
    ADMINISTRATOR,
    EMBED,
    INVITED,
    SEND,
    SEND_IN_THREADS,
    VIEW,
    missing_in,
    permissions_in,
)

GUILD, BOT, ROLE, OTHER_ROLE = 700, "900", "701", "702"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "permissions", "allow", "deny", "roles"]), inner, max_size=3)
    ),
)


def bits(*overwrites: tuple[str, int, int], everybody: int = 0, own: int = INVITED) -> int:
    """Return the bits for overwrites of (id, allow, deny)."""
    said = [{"id": key, "allow": str(allow), "deny": str(deny)} for key, allow, deny in overwrites]
    roles = [
        {"id": str(GUILD), "permissions": str(everybody)},
        {"id": ROLE, "permissions": str(own)},
        {"id": OTHER_ROLE, "permissions": str(ADMINISTRATOR)},
    ]
    channel = {"permission_overwrites": said}
    return permissions_in(channel, roles=roles, member={"roles": [ROLE]}, guild_id=GUILD, user_id=BOT)


@pytest.mark.parametrize(
    ("overwrites", "missing"),
    [
        ([], []),
        ([(str(GUILD), 0, SEND)], ["Send Messages"]),
        ([(str(GUILD), 0, SEND | VIEW), (ROLE, SEND, 0)], ["View Channel"]),
        ([(ROLE, 0, EMBED), (BOT, EMBED, 0)], []),
        ([(ROLE, EMBED, 0), (BOT, 0, EMBED)], ["Embed Links"]),
        ([(OTHER_ROLE, 0, VIEW)], []),
    ],
)
def test_overwrites_count_from_everybody_to_the_member(
    overwrites: list[tuple[str, int, int]], missing: list[str]
) -> None:
    assert missing_in(bits(*overwrites), 0) == missing


def test_an_administrator_may_do_all() -> None:
    assert missing_in(bits((str(GUILD), 0, VIEW), own=ADMINISTRATOR), 11) == []


def test_a_thread_wants_its_own_right() -> None:
    said = bits(own=INVITED & ~SEND_IN_THREADS)
    assert missing_in(said, 0) == []
    assert missing_in(said, 11) == ["Send Messages in Threads"]


@given(channel=ANYTHING, roles=ANYTHING, member=ANYTHING)
def test_no_answer_does_harm(channel: Any, roles: Any, member: Any) -> None:
    said = {"permission_overwrites": channel}
    permissions_in(said, roles=roles, member={"roles": member}, guild_id=GUILD, user_id=BOT)
