from collections.abc import Iterator
from datetime import datetime
from email import policy
from email.parser import BytesParser
from typing import ClassVar

import pytest

from channels.base import Channel, LaneFacts, Outcome, Session
from channels.email.channel import EmailChannel
from channels.email.mail_message import MailMessage
from channels.email.session import BlockingSmtpSession
from tests.channels.email_letters import IMPATIENT, PATIENT, letter, recipient
from tests.contracts.channel import NOW, Answer, Arrival, ChannelContract
from tests.servers.smtp_server import STALL, Received, SmtpServer


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
