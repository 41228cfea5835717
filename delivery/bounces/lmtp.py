"""LMTP (RFC 2033) for mail to BOUNCE_DOMAIN: bounces, requests to leave, and mail to readers."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import Envelope, Session
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

from channels.rules.verp import tokens
from common.clock import utcnow
from common.ports.registries import mail_recipients
from common.refused import Refused
from delivery.bounces.sources import ADDRESS, MAX_WHOLE_BYTES, take_mail

MOST_CONNECTIONS = 10
MOST_RECIPIENTS = 50
# Without a line, and of a connection.
SILENT_SECONDS, CONNECTED_SECONDS = 60.0, 600.0
# TERM waits for messages that are being stored.
LAST_SECONDS = 20.0
BUSY = b"421 4.3.2 Too many connections. Try again later.\r\n"

log = logging.getLogger(__name__)


def knows(address: str) -> bool:
    """Return whether mail to this address is taken."""
    local, _, domain = address.rpartition("@")
    if not settings.BOUNCE_DOMAIN or domain.lower() != settings.BOUNCE_DOMAIN.lower():
        return False
    is_ours = local.partition("+")[0].lower() == ADDRESS or bool(tokens(local.encode("utf-8", "replace")))
    return is_ours or any(ask(address) for ask in mail_recipients)


@sync_to_async
def in_thread(ask: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Ask the database. All run in one thread, so messages are stored one after the other."""
    close_old_connections()
    try:
        return ask(*args, **options)
    finally:
        close_old_connections()


class Door:
    """Handler of one process."""

    async def handle_RCPT(
        self, server: LMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if len(envelope.rcpt_tos) >= MOST_RECIPIENTS:
            return "452 4.5.3 Too many recipients"
        try:
            is_known = await in_thread(knows, address)
        except Exception:
            log.exception("could not look up a recipient")
            return "451 4.3.0 Try again later"
        if not is_known:
            return "550 5.1.1 No such address here"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: LMTP, session: Session, envelope: Envelope) -> str:
        """Return a line per recipient (RFC 2033 §4.2)."""
        raw = envelope.content or b""
        content = raw if isinstance(raw, bytes) else raw.encode()
        lines = [await self._taken(content, recipient) for recipient in envelope.rcpt_tos]
        return "\r\n".join(lines)

    async def _taken(self, raw: bytes, recipient: str) -> str:
        try:
            taken = await in_thread(take_mail, raw=raw, now=utcnow(), recipient=recipient)
        except Exception:
            log.exception("an email could not be taken")
            return "451 4.3.0 Try again later"
        return f"552 5.3.4 {taken.effect}" if taken.is_refused else "250 2.0.0 OK"


class BoundedLmtp(LMTP):
    # Some newsletters have longer lines than RFC 5321 §4.5.3.1.6 allows.
    line_length_limit = 65_536
    connected = 0
    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        if BoundedLmtp.connected >= MOST_CONNECTIONS:
            transport.write(BUSY)
            transport.close()
            return
        BoundedLmtp.connected += 1
        self._end = asyncio.get_running_loop().call_later(CONNECTED_SECONDS, transport.close)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._end is not None:
            self._end.cancel()
            BoundedLmtp.connected -= 1
            super().connection_lost(error)


def checked_place(text: str) -> tuple[str, int] | Path:
    """Parse unix:/path, or host:port of the loopback. Raises Refused."""
    if text.startswith("unix:/"):
        return Path(text.removeprefix("unix:"))
    host, _, port = text.rpartition(":")
    host = host.strip("[]").replace("localhost", "127.0.0.1")
    with suppress(ValueError):
        if ip_address(host).is_loopback and 0 <= int(port) < 65_536:
            return host, int(port)
    raise Refused("Give unix:/path of a socket, or an address of this machine such as 127.0.0.1:2424.")


async def serve(place: tuple[str, int] | Path, *, ready: Callable[[str], object]) -> None:
    """Serve until TERM or Ctrl-C."""
    loop, stop, door = asyncio.get_running_loop(), asyncio.Event(), Door()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)

    def protocol() -> BoundedLmtp:
        return BoundedLmtp(
            door, data_size_limit=MAX_WHOLE_BYTES - 1, enable_SMTPUTF8=True, timeout=SILENT_SECONDS, loop=loop
        )

    if isinstance(place, Path):
        # Of a process that was killed.
        place.unlink(missing_ok=True)
        server = await loop.create_unix_server(protocol, place)
        os.chmod(place, 0o660)
        ready(f"unix:{place}")
    else:
        server = await loop.create_server(protocol, *place)
        ready("{}:{}".format(*server.sockets[0].getsockname()[:2]))
    await stop.wait()
    server.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(LAST_SECONDS):
            while BoundedLmtp.connected:
                await asyncio.sleep(0.05)
    if isinstance(place, Path):
        place.unlink(missing_ok=True)
