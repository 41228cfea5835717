"""The email channel and its sessions with mail servers.

A mail host with several addresses: all are tried, and the working one is first the next time.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from email import policy
from email.parser import BytesParser
from typing import Any, ClassVar

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Channel, LaneFacts, Outcome, Sent, Session, Temporary
from channels.email import smtp_addresses
from channels.email.account_url import Mailbox, parse_email_url
from channels.email.channel import EmailChannel
from channels.email.mail_message import MailMessage
from channels.email.session import BlockingSmtpSession, MailboxSession
from channels.email.smtp_login import SmtpSettings
from delivery.checks import check_email
from tests.channels.email_letters import IMPATIENT, PATIENT, letter, message, recipient, send
from tests.contracts.channel import NOW, Answer, Arrival, ChannelContract
from tests.servers.smtp_server import STALL, Received, SmtpServer

HOST = "mail.example.test"
LANE = LaneFacts("email", "default")
WRONG = [
    "", "mail.example.org", "http://h", "smtp:", "smtp://", "smtp://:25", "smtp://h:0", "smtp://h:99999",
    "smtp://h:port", "smtp://u:s3cret@", "smtp://u@h", "smtp://:s3cret@h", "smtp://u:s3cret#x@h",
    "smtp://u:s3cret/x@h", "smtp://u:s3cret?x@h", "smtp://u:s3cret x@h", "smtp://u:s3cret\n@h",
    "smtp://u:s3cret@h/path", "smtp://u:s3cret@[h", "mailbox:x", "s3cret",
]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mailbox:", Mailbox()),
        ("smtp://mail.example.org", SmtpSettings("mail.example.org", 25)),
        ("smtp://127.0.0.1:1025/", SmtpSettings("127.0.0.1", 1025)),
        ("SMTP://[::1]:1025", SmtpSettings("::1", 1025)),
        ("smtps://u:p@h", SmtpSettings("h", 465, "u", "p", "implicit")),
        ("smtp+starttls://u:p@h", SmtpSettings("h", 587, "u", "p", "starttls")),
        (
            "smtp+starttls://a%40b.org:p%2F%23%3A%40@h:2525",
            SmtpSettings("h", 2525, "a@b.org", "p/#:@", "starttls"),
        ),
        ("smtp://a@b.org:p@ss@h", SmtpSettings("h", 25, "a@b.org", "p@ss")),
    ],
)
def test_an_email_url_is_read(url: str, expected: SmtpSettings | Mailbox) -> None:
    assert parse_email_url(url) == expected


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_email_url_is_refused_by_name_and_without_its_secrets(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        parse_email_url(url)
    said = str(caught.value)
    assert "EMAIL_URL" in said
    assert "smtp+starttls://" in said
    assert "s3cr" not in said
    assert caught.value.__cause__ is None


@given(st.text())
def test_any_other_text_is_refused_too(url: str) -> None:
    with pytest.raises(ImproperlyConfigured):
        parse_email_url(url)


def test_the_password_is_not_part_of_what_is_shown() -> None:
    assert "s3cret" not in repr(parse_email_url("smtp://u:s3cret@h"))


def test_the_url_is_read_at_use(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    assert isinstance(EmailChannel().connect(LANE), MailboxSession)
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    assert isinstance(EmailChannel().connect(LANE), BlockingSmtpSession)


def test_with_a_wrong_url_letters_wait_and_say_why(settings: Any) -> None:
    settings.EMAIL_URL = "smtp://u:s3cret@h:port"
    outcome = EmailChannel().connect(LANE).send(message(), key="k", begun_at=None, now=None)  # type: ignore[arg-type]
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert "EMAIL_URL" in outcome.text
    assert "s3cret" not in outcome.text


@pytest.mark.parametrize(
    ("url", "sender", "ids"),
    [
        ("mailbox:", "Feedletter <letters@127.0.0.1>", []),
        ("smtp://127.0.0.1:25", "letters@localhost", []),
        ("smtps://u:p@mail.example.org", "letters@example.org", []),
        ("", "letters@example.org", ["delivery.W001"]),
        ("smtp://h:port", "letters@example.org", ["delivery.E001"]),
        ("smtp://u:p@mail.example.org", "letters@example.org", ["delivery.W002"]),
        ("smtps://u:p@mail.example.org", "letters@127.0.0.1", ["delivery.W003"]),
        ("mailbox:", "letters", ["delivery.E002"]),
    ],
)
def test_the_system_check_names_what_is_wrong(settings: Any, url: str, sender: str, ids: list[str]) -> None:
    settings.EMAIL_URL, settings.DEFAULT_FROM_EMAIL = url, sender
    assert [found.id for found in check_email(None)] == ids


def test_the_mailbox_keeps_the_message_as_it_would_have_gone_out() -> None:
    outcome = send(MailboxSession())  # type: ignore[arg-type]
    assert outcome.stored.startswith(b"Date: Wed, 04 Mar 2026 05:06:07 +0000\r\n")  # type: ignore[union-attr]


@pytest.fixture
def blackhole() -> Iterator[tuple[str, int]]:
    """Yield an address that drops packets: its listener accepts nothing, and its queue is full."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.2", 0), backlog=0))
        for _ in range(4):
            full = stack.enter_context(closing(socket.socket()))
            full.setblocking(False)
            full.connect_ex(listener.getsockname())
        yield listener.getsockname()


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with SmtpServer() as made:
        yield made


def resolve(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str, int]) -> None:
    """Resolve HOST to these addresses."""

    async def known(host: str, port: int) -> list[smtp_addresses.Address]:
        families = {True: socket.AF_INET6, False: socket.AF_INET}
        return [smtp_addresses.Address(families[":" in address[0]], address) for address in addresses]

    monkeypatch.setattr(smtp_addresses, "_resolved", known)
    monkeypatch.setattr(smtp_addresses, "_last", {})


def client(**options: object) -> BlockingSmtpSession:
    return BlockingSmtpSession(
        SmtpSettings(HOST, 25), **{"helo": "letters.example.org", "timeouts": PATIENT, **options}
    )


def test_an_address_that_swallows_packets_does_not_keep_the_others_from_being_tried(
    monkeypatch: pytest.MonkeyPatch, blackhole: tuple[str, int], server: SmtpServer
) -> None:
    resolve(monkeypatch, blackhole, ("::1", closed_port()), blackhole, ("127.0.0.1", server.port))
    one = client()
    assert isinstance(send(one), Sent)
    one.close()


def test_the_address_that_worked_comes_first_the_next_time(
    monkeypatch: pytest.MonkeyPatch, blackhole: tuple[str, int], server: SmtpServer
) -> None:
    resolve(monkeypatch, blackhole, ("127.0.0.1", server.port))
    one = client()
    send(one)
    one.close()
    first = asyncio.run(smtp_addresses._addresses(HOST, 25))[0]
    assert first.sockaddr == ("127.0.0.1", server.port)


def test_an_address_that_takes_the_connection_and_says_nothing_comes_last_the_next_time(
    monkeypatch: pytest.MonkeyPatch, server: SmtpServer
) -> None:
    with socket.create_server(("127.0.0.3", 0)) as silent:
        resolve(monkeypatch, silent.getsockname(), ("127.0.0.1", server.port))
        one = client(timeouts=IMPATIENT)
        assert isinstance(send(one), Temporary)
        assert isinstance(send(one), Sent)
        one.close()


def test_where_no_address_answers_the_server_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, blackhole: tuple[str, int]
) -> None:
    resolve(monkeypatch, blackhole, ("127.0.0.1", closed_port()))
    one = client(timeouts=IMPATIENT)
    refused = send(one)
    one.close()
    assert isinstance(refused, Temporary)
    assert "can’t be reached" in refused.text


def test_the_families_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, ("::1", 1), ("::2", 1), ("::3", 1), ("127.0.0.1", 1), ("127.0.0.2", 1))
    addresses = asyncio.run(smtp_addresses._addresses(HOST, 25))
    assert [one.sockaddr[0] for one in addresses] == ["::1", "127.0.0.1", "::2", "127.0.0.2", "::3"]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


class TestEmailKeepsTheContract(ChannelContract):
    channel: ClassVar[Channel] = EmailChannel()
    not_applicable: ClassVar[dict[Answer, str]] = {
        Answer.RATE_LIMITED: "SMTP servers do not say when to come back.",
        Answer.REDIRECTS: "SMTP servers do not redirect (551 is a refusal).",
    }

    @pytest.fixture(autouse=True)
    def smtp(self, settings: object) -> Iterator[None]:
        self.timeouts = PATIENT
        with SmtpServer() as self.server:
            settings.EMAIL_URL = self.server.url  # type: ignore[attr-defined]
            yield

    def session(self) -> Session:
        session = self.channel.connect(LaneFacts("email", "default"))
        assert isinstance(session, BlockingSmtpSession)
        session.pipeline.timeouts = self.timeouts
        return session

    def message(self, *, text: str, delivery_id: int = 1) -> MailMessage:
        made = self.channel.compose(
            letter(subject=text, title=text, text=f"{text}\n", html=f"<p>{text}</p>"),
            recipient(delivery_id=delivery_id),
        )
        assert isinstance(made, MailMessage)
        return made

    def send(self, text: str = "A post", *, key: str = "key-1", begun_at: datetime | None = None) -> Outcome:
        """Send as the engine does: a delivery has one key and one Message-ID."""
        session = self.session()
        mail = self.message(text=text, delivery_id=int(key.removeprefix("key-")))
        try:
            return session.send(mail, key=key, begun_at=begun_at, now=NOW)
        finally:
            session.close()

    def server_says(self, answer: Answer) -> None:
        self.server.forget_answers()
        self.timeouts = IMPATIENT if answer in (Answer.UNREACHABLE, Answer.SILENT) else PATIENT
        if answer is Answer.BUSY:
            self.server.answer("rcpt", "451 4.3.0 try again")
        elif answer is Answer.REFUSED:
            self.server.answer("message", "554 5.6.0 not like this")
        elif answer is Answer.UNREACHABLE:
            self.server.answer("connect", STALL)
        elif answer is Answer.SILENT:
            self.server.answer("taken", STALL)

    def arrived(self) -> list[Arrival]:
        return [Arrival(str(each.email["Message-ID"]), whole_text(each)) for each in self.server.messages]

    def acceptable(self, arrival: Arrival) -> bool:
        taken = next(each for each in self.server.messages if each.email["Message-ID"] == arrival.identity)
        head = taken.data.split(b"\r\n\r\n")[0]
        clean = b"\x00" not in taken.data and taken.email["Bcc"] is None and head.isascii()
        return clean and max(map(len, taken.data.split(b"\r\n"))) <= 998 and len(head) < 10_000


def whole_text(taken: Received) -> str:
    mail = BytesParser(policy=policy.default).parsebytes(taken.data)
    body = mail.get_body(("plain",))
    assert body is not None
    return f"{mail['Subject']}\n{body.get_content()}"
