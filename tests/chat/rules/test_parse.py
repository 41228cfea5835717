"""Signed data may still contain anything: it is parsed, or refused as no interaction.

The polling interval of a shared feed, by its servers' choices.
The bot's permissions in a channel: its server's roles, then the channel's overwrites.
"""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.rules.parse import (
    LONGEST_INTERVAL,
    USUAL,
    Interval,
    Malformed,
    Pressed,
    pressed,
    read,
    shared_interval,
)
from chat.rules.permissions import (
    ADMINISTRATOR,
    EMBED,
    INVITED,
    SEND,
    SEND_IN_THREADS,
    VIEW,
    bits_of,
    manages,
    missing_in,
    permissions_in,
)

GUILD, BOT, ROLE, OTHER_ROLE = 700, "900", "701", "702"
ANY_FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "permissions", "allow", "deny", "roles"]), inner, max_size=3)
    ),
)
CHOICES = st.lists(st.none() | st.integers(1, LONGEST_INTERVAL), max_size=6)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = ("id", "token", "guild_id", "member", "channel", "channel_id", "data", "locale", "app_permissions")
PAYLOADS = st.fixed_dictionaries(
    {"type": st.sampled_from([2, 3, 4, 5]) | ANYTHING}, optional=dict.fromkeys(NAMES, ANYTHING)
)


def sent(**changes: Any) -> dict[str, Any]:
    member = {"user": {"id": "42"}, "permissions": "32", "roles": ["5"]}
    command = {"name": "feed", "options": [{"type": 1, "name": "list", "options": []}]}
    usual = {"id": "9", "type": 2, "token": "t", "guild_id": "7", "member": member, "data": command}
    return {**usual, **changes}


@given(PAYLOADS)
def test_anything_is_read_or_malformed(payload: dict[str, Any]) -> None:
    with suppress(Malformed):
        asked = read(payload)
        assert "\0" not in asked.locale + asked.command + "".join(asked.fields.values())


@given(ANYTHING)
def test_any_data_is_read_or_malformed(data: Any) -> None:
    for kind in (2, 3, 4, 5):
        with suppress(Malformed):
            read(sent(type=kind, data=data))


def test_what_is_no_text_of_a_database_is_left_out() -> None:
    options = [{"name": "url", "value": "a\0b\ud800c"}]
    data = {"name": "feed", "options": [{"type": 1, "name": "add", "options": options}]}
    assert read(sent(data=data)).fields == {"url": "abc"}


@pytest.mark.parametrize("number", ["", "-1", "1.5", "9" * 20, "٣", 7, None])
def test_an_id_is_a_number_of_discord_s(number: Any) -> None:
    with pytest.raises(Malformed):
        read(sent(id=number))


@given(st.text(max_size=120))
def test_any_name_of_a_button_is_known_or_none(name: str) -> None:
    found = pressed(name)
    assert found is None or pressed(str(found)) == found


def test_a_button_is_named_by_its_act_and_number() -> None:
    assert pressed("v1:pause:3") == Pressed("pause", 3)
    assert pressed("v2:pause:3") is None


def test_who_manages_a_server_and_what_a_bot_lacks() -> None:
    assert [manages(bits_of(bits)) for bits in ("32", "8", "16", "x", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert missing_in(1 << 10, 0) == ["Send Messages", "Embed Links"]
    assert missing_in(1 << 10 | 1 << 14 | 1 << 38, 11) == []
    assert missing_in(1 << 3, 0) == []


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ([], USUAL),
        ([None, None], USUAL),
        ([5], Interval(5, 5)),
        ([120], Interval(10, 120)),
        ([120, 30], Interval(10, 30)),
        ([120, None], USUAL),
        ([30, None], Interval(10, 30)),
        ([5, None], Interval(5, 5)),
    ],
)
def test_the_most_eager_server_counts(chosen: list[int | None], expected: Interval) -> None:
    assert shared_interval(chosen) == expected


@given(CHOICES)
def test_no_server_waits_longer_than_it_chose(chosen: list[int | None]) -> None:
    found = shared_interval(chosen)
    assert 1 <= found.shortest <= found.longest
    assert found.shortest <= USUAL.shortest
    assert all(found.longest <= (minutes or USUAL.longest) for minutes in chosen)


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


@given(channel=ANY_FACTS, roles=ANY_FACTS, member=ANY_FACTS)
def test_no_answer_does_harm(channel: Any, roles: Any, member: Any) -> None:
    said = {"permission_overwrites": channel}
    permissions_in(said, roles=roles, member={"roles": member}, guild_id=GUILD, user_id=BOT)
