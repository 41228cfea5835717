"""Helpers that send letters to Bluesky."""

from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Any

from channels.base import NOTHING, LaneFacts, Message, Outcome
from channels.bluesky.bridge import BlueskyBridge
from channels.bluesky.message import Thread
from channels.letter import Recipient
from common.net.client import SafeClient
from common.pictures.picture import CleanPicture
from tests.contracts.bridge import PATIENT, letter
from tests.contracts.channel import NOW
from tests.servers.services.bluesky import DID, HANDLE, PASSWORD

LOOPBACK = SafeClient(allow=[ip_network("127.0.0.1/32")])
CHANNEL = BlueskyBridge()


def recipient(url: str, *, pds: str = "", password: str = PASSWORD) -> Recipient:
    config = {"handle": HANDLE, "did": DID, "service_url": url, "pds": pds or url}
    return Recipient(1, DID, f"@{HANDLE}", config=config, secrets={"app_password": password})


def message(url: str, title: str = "A post", *, pds: str = "", **fields: Any) -> Message[Thread]:
    return CHANNEL.composer(letter(title, **fields))(recipient(url, pds=pds))


def session(
    state: Mapping[str, str] = NOTHING,
    *,
    timeout: float = PATIENT,
    picture_of: Callable[[str], CleanPicture | None] = lambda _: None,
) -> BlueskyBridge:
    """Return a session with the safe client, which may call loopback here."""
    lane = LaneFacts("bluesky", DID, state=state)
    made = BlueskyBridge(lane, session=LOOPBACK.session(), timeout=timeout)
    made.picture_of = picture_of  # type: ignore[assignment, method-assign]
    return made


def send(
    what: Message[Thread], on: BlueskyBridge | None = None, *, key: str = "key-1", **given: Any
) -> Outcome:
    opened = on or session()
    try:
        return opened.send(what, **{"key": key, "begun_at": None, "now": NOW, **given})
    finally:
        opened.close()
