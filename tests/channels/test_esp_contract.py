"""The contract of every channel, through mail services."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

import pytest

from channels.base import Channel, LaneFacts, Outcome, Session
from channels.email.channel import EmailChannel
from channels.email.esp.session import EspSession
from channels.email.mail_message import MailMessage
from tests.channels.email_letters import letter, recipient
from tests.contracts.channel import NOW, RETRY_AFTER, Answer, Arrival, ChannelContract
from tests.servers import esp_server as services
from tests.servers.esp_server import KEY, EspServer, Reply, Request


class ThroughAService(ChannelContract):
    """`esp` names the service, `usual` is its normal response."""

    channel: ClassVar[Channel] = EmailChannel()
    esp: ClassVar[str]
    usual: ClassVar[Any]

    @pytest.fixture(autouse=True)
    def service(self, settings: Any, loopback_allowed: None) -> Iterator[None]:
        self.seconds = 2.0
        with EspServer(type(self).usual) as self.server, EspServer(type(self).usual) as self.elsewhere:
            self.url = f"anymail+{self.esp}://{KEY}@mg.example.org?api_url="
            settings.EMAIL_URL = f"{self.url}{self.server.url}"
            self.settings = settings
            yield

    def session(self) -> Session:
        session = self.channel.connect(LaneFacts("email", "default"))
        assert isinstance(session, EspSession)
        session.seconds = self.seconds
        return session

    def message(self, *, text: str, delivery_id: int = 1) -> MailMessage:
        made = self.channel.compose(
            letter(subject=text, title=text, text=f"{text}\n", html=f"<p>{text}</p>"),
            recipient(delivery_id=delivery_id),
        )
        assert isinstance(made, MailMessage)
        return made

    def send(self, text: str = "A post", *, key: str = "key-1", begun_at: datetime | None = None) -> Outcome:
        session = self.session()
        mail = self.message(text=text, delivery_id=int(key.removeprefix("key-")))
        try:
            return session.send(mail, key=key, begun_at=begun_at, now=NOW)
        finally:
            session.close()

    def server_says(self, answer: Answer) -> None:
        self.seconds = 0.4 if answer is Answer.SILENT else 2.0
        self.settings.EMAIL_URL = f"{self.url}{self.server.url}"
        if answer is Answer.UNREACHABLE:
            self.settings.EMAIL_URL = f"{self.url}http://127.0.0.1:1/"
        elsewhere = {"Location": f"{self.elsewhere.url}anything"}
        self.server.says(
            {
                Answer.RATE_LIMITED: Reply(429, {}, {"Retry-After": f"{RETRY_AFTER.total_seconds():.0f}"}),
                Answer.BUSY: Reply(503, "<html>busy</html>", {"Content-Type": "text/html"}),
                Answer.REFUSED: Reply(422, {"message": "The recipient address is invalid."}),
                Answer.SILENT: Reply(silent=True),
                Answer.REDIRECTS: Reply(307, "", elsewhere),
            }.get(answer)
        )

    def arrived(self) -> list[Arrival]:
        taken = [*self.server.taken, *self.elsewhere.taken]
        return [Arrival(self.identity(request), self.text(request)) for request in taken]

    def acceptable(self, arrival: Arrival) -> bool:
        return "\r" not in arrival.text and "\nBcc:" not in arrival.text.partition("\n\n")[0]

    def identity(self, request: Request) -> str:
        """Return the id that we sent along."""
        raise NotImplementedError

    def text(self, request: Request) -> str:
        raise NotImplementedError


class TestMailgunKeepsTheContract(ThroughAService):
    esp = "mailgun"
    usual = staticmethod(services.mailgun)

    def identity(self, request: Request) -> str:
        return request.form["v:feedletter"]

    def text(self, request: Request) -> str:
        return f"{request.form['subject']}\n\n{request.form['text']}"


class TestPostmarkKeepsTheContract(ThroughAService):
    esp = "postmark"
    usual = staticmethod(services.postmark)

    def identity(self, request: Request) -> str:
        return str(request.json["Metadata"])

    def text(self, request: Request) -> str:
        return f"{request.json['Subject']}\n\n{request.json['TextBody']}"
