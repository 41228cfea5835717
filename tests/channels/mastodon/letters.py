"""Letters for Mastodon, and helpers that send them."""

import socket
from datetime import datetime
from ipaddress import ip_network
from typing import Any

from channels.base import Message, Outcome
from channels.letter import Letter, Recipient
from channels.mastodon.message import Instance, Status, instances
from channels.mastodon.session import MastodonChannel, MastodonSession
from common.net.client import SafeClient
from common.ttl_cache import TtlCache
from feeds.parsing.entry import Entry
from tests.contracts.channel import NOW, RETRY_AFTER
from tests.servers.mastodon_instance import TOKEN, Reply

# Seconds: enough on a busy machine; and enough for a server that never responds.
PATIENT, IMPATIENT = 10.0, 1.0
LOOPBACK = SafeClient(allow=[ip_network("127.0.0.1/32")])
CHANNEL = MastodonChannel()
LINK = "https://blog.example/posts/bees?a=1&b=2"
TOO_MANY = Reply(429, {"error": "Too many requests"}, {"Retry-After": str(int(RETRY_AFTER.total_seconds()))})


def letter(title: str = "A post", *, link: str = LINK, **fields: Any) -> Letter:
    entry = Entry(guid="1", title=title, link=link, authors=("Ada",))
    usual: dict[str, Any] = {
        "kind": "issue", "newsletter": "bees", "title": title, "subject": "", "html": "", "text": "",
        "token": "", "from_email": "", "entries": (entry,),
    }  # fmt: skip
    return Letter(**{**usual, **fields})


def recipient(url: str, token: str = TOKEN) -> Recipient:
    config = {"account": "bot", "instance_url": url}
    return Recipient(
        1, "bot@fake.example", "bot at fake.example", config=config, secrets={"access_token": token}
    )


def message(url: str, title: str = "A post", **fields: Any) -> Message[Status]:
    return CHANNEL.composer(letter(title, **fields))(recipient(url))


def session(known: TtlCache[Instance] | None = None, *, timeout: float = PATIENT) -> MastodonSession:
    """Return a session with the safe client, which may call loopback here."""
    return MastodonSession(session=LOOPBACK.session(), timeout=timeout, known=known or instances())


def send(
    what: Message[Status],
    *,
    begun_at: datetime | None = None,
    cache: TtlCache[Instance] | None = None,
    timeout: float = PATIENT,
) -> Outcome:
    opened = session(cache, timeout=timeout)
    try:
        return opened.send(what, key="key-1", begun_at=begun_at, now=NOW)
    finally:
        opened.close()


def closed_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"
