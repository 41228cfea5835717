"""`manage.py lmtp`, asked by a mail server."""

import asyncio
import json
import smtplib
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from channels.email.headers import return_path
from common.refused import Refused
from delivery.bounces import lmtp
from delivery.bounces.lmtp import BoundedLmtp, Door, checked_place, knows
from tests.load.installation import Installation, sqlite_installation
from tests.reader.inbox.conftest import newsletter

DOMAIN = "in.example"
MAKE = """
import json
from common.clock import utcnow
from reader.inbox.addresses import add_address, recipient_of
from reader.people.readers import add_reader
ada = add_reader(name="ada", now=utcnow())
print(json.dumps([recipient_of(add_address(reader=ada, channel=None, asks_first=False, now=utcnow()))] * 2))
"""
READ = """
import json
from delivery.models import Bounce
from reader.models import MailAddress, TimelineEntry
rows = TimelineEntry.objects.order_by("pk").values_list("entry__jf2__name", flat=True)
print(json.dumps([list(rows), Bounce.objects.count(), MailAddress.objects.get().problem]))
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Installation]:
    with sqlite_installation(tmp_path, BOUNCE_DOMAIN=DOMAIN, LOG_FORMAT="console") as made:
        yield made


def place_of(site: Installation, *arguments: str) -> tuple[Any, str]:
    """Start the command, and return the process and where it listens."""
    process = site.start("manage.py", "lmtp", *arguments)
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        lines = [line for line in site.log().splitlines() if line.startswith("Listening on ")]
        if lines:
            return process, lines[-1].removeprefix("Listening on ").rstrip(".")
        time.sleep(0.05)
    raise AssertionError(site.log())


@pytest.mark.slow
@pytest.mark.needs("reader")
def test_a_mail_server_delivers_to_readers_and_bounces(site: Installation, tmp_path: Path) -> None:
    reader, _ = json.loads(site.script(MAKE))
    process, place = place_of(site, "--listen", "127.0.0.1:0")
    host, _, port = place.rpartition(":")
    with smtplib.LMTP(host, int(port)) as server:
        server.ehlo_or_helo_if_needed()
        assert server.esmtp_features["size"] == "25000000"
        for stranger in (
            f"read+{'a' * 20}@{DOMAIN}",
            f"ada@{DOMAIN}",
            reader.replace(DOMAIN, "other.example"),
        ):
            with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
                server.sendmail("jane@news.example", stranger, newsletter())
            assert refused.value.recipients[stranger][0] == 550
        assert server.sendmail("jane@news.example", reader, newsletter()) == {}
        # An answer for each recipient.
        server.mail("jane@news.example")
        for recipient in (reader, f"leave+x@{DOMAIN}"):
            assert server.rcpt(recipient)[0] == 250
        assert server.data(newsletter(subject="Second"))[0] == 250
        assert server.getreply()[0] == 250
        nested = newsletter(subject="Bomb").replace(
            b"\n\n", b"\n" + b"Content-Type: text/plain\n" * 300 + b"\n", 1
        )
        server.mail("jane@news.example")
        server.rcpt(reader)
        answer = server.data(nested)
        assert answer[0] == 552, answer
    with smtplib.LMTP(host, int(port)) as server:
        server.ehlo_or_helo_if_needed()
        assert server.mail("jane@news.example", ["SIZE=25000001"])[0] == 552
    site.stop(process)
    assert process.returncode == 0, site.log()
    assert json.loads(site.script(READ)) == [["The first issue", "Second"], 0, "complex"]


@pytest.mark.slow
def test_a_socket_of_the_file_system(site: Installation, tmp_path: Path) -> None:
    path = tmp_path / "lmtp"
    process, place = place_of(site, "--listen", f"unix:{path}")
    assert place == f"unix:{path}"
    assert path.stat().st_mode & 0o777 == 0o660
    with smtplib.LMTP(str(path)) as server:
        assert server.noop()[0] == 250
    site.stop(process)
    # A socket that a killed process left is no obstacle.
    assert not path.exists()


def test_only_this_machine_is_listened_on() -> None:
    assert checked_place("127.0.0.1:2424") == ("127.0.0.1", 2424)
    assert checked_place("localhost:2424") == ("127.0.0.1", 2424)
    assert checked_place("[::1]:2424") == ("::1", 2424)
    assert checked_place("unix:/run/feedletter/lmtp") == Path("/run/feedletter/lmtp")
    for wrong in ("0.0.0.0:2424", "192.0.2.1:25", "2424", "unix:lmtp", "127.0.0.1:99999", ""):
        with pytest.raises(Refused, match="of this machine"):
            checked_place(wrong)


@pytest.mark.django_db
def test_addresses_of_this_site_are_known(settings: Any) -> None:
    assert not knows(f"leave@{DOMAIN}")
    settings.BOUNCE_DOMAIN = DOMAIN
    assert knows(f"leave@{DOMAIN}")
    assert knows(f"Leave+1-abc@{DOMAIN.upper()}")
    assert knows(return_path(17))
    assert not knows(f"postmaster@{DOMAIN}")
    assert not knows("leave@other.example")
    assert not knows("leave")


@contextmanager
def connected(port: int) -> Iterator[Any]:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        yield connection.makefile("rb")


def test_connections_are_bounded_in_number_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmtp, "MOST_CONNECTIONS", 1)
    monkeypatch.setattr(lmtp, "CONNECTED_SECONDS", 0.3)

    async def talk() -> list[bytes]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: BoundedLmtp(Door(), loop=loop), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        def both() -> list[bytes]:
            with connected(port) as first, connected(port) as second:
                return [first.readline()[:3], second.readline()[:3], second.read(), first.read()]

        answers = await asyncio.to_thread(both)
        server.close()
        return answers

    assert asyncio.run(talk()) == [b"220", b"421", b"", b""]
    assert BoundedLmtp.connected == 0
