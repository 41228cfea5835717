from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import requests

from channels.http.client import Failed, UnreadableAnswer, told_at_fields
from channels.http.transport import TIMEOUT_SECONDS, ApiResponse, server_url
from channels.matrix.client import MATRIX, Homeserver
from channels.matrix.session import MatrixSession
from common.clock import utcnow
from common.ports.channels import InvalidDestination, ParsedDestination

ENCRYPTED = "room: this room is encrypted, and encryption can’t be turned off. Use a room without encryption."


def resolved(
    destination: ParsedDestination,
    *,
    session: requests.Session | None = None,
    timeout: float = TIMEOUT_SECONDS,
) -> ParsedDestination:
    """Resolve server and room id, joining if possible. Raises InvalidDestination."""
    config, token = destination.config, destination.secrets["access_token"]
    opened = MatrixSession(session=session, timeout=timeout)
    with closing(opened):
        url = _found(opened, config["server_url"])
        server = Homeserver(opened.client(url, MATRIX, utcnow(), secrets=(token,)), url, token)
        elsewhere = f"{urlsplit(url).netloc} doesn’t look like {MATRIX.name}."
        with told_at_fields("server_url", credentials="access_token", elsewhere=elsewhere):
            account = server.whoami()
        with told_at_fields("room"):
            room = server.join(config["room"])
            if server.is_encrypted(room):
                raise InvalidDestination(ENCRYPTED)
            levels = server.state(room, "m.room.power_levels")
            # From room version 12 on, ids have no server.
            created = {} if ":" in room else server.creation(room)
    if not (_may_post(account, levels) or _may_be_creator(account, created)):
        raise InvalidDestination(f"room: {account} isn’t allowed to post there. Make it a moderator.")
    host = urlsplit(url).netloc
    return replace(
        destination,
        core=f"{room}@{host}",
        config={**config, "server_url": url, "room": room, "via": account.partition(":")[2]},
    )


def _found(opened: MatrixSession, typed: str) -> str:
    """From .well-known, or else the domain's."""

    def read(answer: ApiResponse) -> str:
        try:
            return server_url(answer.text_at("m.homeserver", "base_url"), example="matrix.example")
        except ValueError:
            raise UnreadableAnswer("no address") from None

    client = opened.client(typed, MATRIX, utcnow(), secrets=())
    try:
        return client.call("GET", f"{typed}/.well-known/matrix/client", read=read)
    except Failed:
        return typed


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
