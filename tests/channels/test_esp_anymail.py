"""Anymail's own test backend: the messages it gets, and the outcome of its statuses.

The contract of every channel, through mail services.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from importlib.util import find_spec
from typing import Any, ClassVar

import pytest
from anymail.backends import test as anymail_test
from anymail.exceptions import AnymailAPIError, AnymailConfigurationError
from anymail.message import ANYMAIL_STATUSES, AnymailRecipientStatus
from django.core import mail

from channels.base import Ambiguous, Channel, LaneFacts, Outcome, Permanent, Sent, Session, Temporary
from channels.email.channel import EmailChannel
from channels.email.esp.message_form import delivery_of
from channels.email.esp.services import SERVICES, Style
from channels.email.esp.session import EspSession
from channels.email.esp.settings import EspSettings
from channels.email.mail_message import MailMessage
from tests.channels.email_letters import NOW, letter, recipient
from tests.channels.esp_letters import EMAIL, HOLES, NAME, a_letter, a_recipient, batch, recipients
from tests.contracts.channel import NOW as CONTRACT_NOW
from tests.contracts.channel import RETRY_AFTER, Answer, Arrival, ChannelContract
from tests.servers import esp_server as services
from tests.servers.esp_server import KEY, EspServer, Reply, Request


class Backend(anymail_test.EmailBackend):  # type: ignore[misc]
    """Backend that answers each recipient with a status, or raises."""

    says: Callable[[str], Any] = staticmethod(lambda address: ("sent", f"id of {address}"))

    def post_to_esp(self, payload: Any, message: Any) -> Any:
        super().post_to_esp(payload, message)
        told = {}
        for address in payload.recipient_emails:
            status, identity = self.says(address)
            told[address.upper()] = AnymailRecipientStatus(identity, status)
        return {"recipient_status": told}


def session(esp: str = "mailgun", says: Callable[[str], Any] | None = None) -> EspSession:
    def backend(target: EspSettings, *, seconds: float) -> Any:
        made = Backend(payload_class=anymail_test.TestPayload, ignore_recipient_status=True)
        if says:
            made.says = says
        return made

    return EspSession(EspSettings(esp, "k"), form=EmailChannel().form, backend=backend)


def given() -> list[dict[str, Any]]:
    """Return anymail's parameters of each message."""
    return [getattr(message, "anymail_test_params") for message in mail.outbox]  # noqa: B009 - untyped


@pytest.fixture
def _outbox() -> None:
    mail.outbox = []


@pytest.mark.usefixtures("_outbox")
def test_a_batch_is_one_message_in_which_nobody_sees_another() -> None:
    assert batch(session()) == [Sent(f"id of reader{n}@example.test") for n in (1, 2, 3)]
    (params,) = given()
    assert params["is_batch_send"]
    assert [str(address) for address in params["to"]] == [
        f"Reader {n} <reader{n}@example.test>" for n in (1, 2, 3)
    ]
    assert params["merge_data"]["reader2@example.test"][f"{NAME}t"] == "Reader 2"
    assert params["merge_data"]["reader2@example.test"][f"{EMAIL}h"] == "reader2@example.test"
    assert params["subject"] == f"Bees for %recipient.{NAME}t%"
    assert params["tags"] == ["example-weekly"]
    assert "List-Unsubscribe" not in params["extra_headers"]
    assert params["extra_headers"]["List-Post"] == "NO"
    leave = {address: headers["List-Unsubscribe"] for address, headers in params["merge_headers"].items()}
    assert leave["reader1@example.test"].startswith("<https://letters.example.org/unsubscribe/1-abc/>")
    told = params["merge_metadata"]["reader3@example.test"]
    assert delivery_of(told) == 3


@pytest.mark.usefixtures("_outbox")
def test_a_batch_without_holes_and_links_still_shows_nobody_another() -> None:
    whom = [a_recipient(n) for n in (1, 2)]
    batch(
        session(), whom, a_letter(kind="confirmation", subject="Bees", html="", text="Bees", placeholders={})
    )
    assert given()[0]["is_batch_send"]


@pytest.mark.parametrize("esp", sorted(SERVICES))
@pytest.mark.usefixtures("_outbox")
def test_whatever_the_service_every_message_has_one_reader_or_is_a_batch(esp: str) -> None:
    outcomes = batch(session(esp), recipients(count=7))
    assert [type(outcome) for outcome in outcomes] == [Sent] * 7
    assert all(len(params["to"]) == 1 or params["is_batch_send"] for params in given())
    assert (len(given()) == 7) == (SERVICES[esp].style is Style.SINGLE)
    for params in given():
        assert ("metadata" in params or "merge_metadata" in params) == SERVICES[esp].metadata
        assert HOLES["removelink"] not in str(params.get("html_body")) or SERVICES[esp].style is Style.MERGE


@pytest.mark.parametrize("status", ANYMAIL_STATUSES)
@pytest.mark.usefixtures("_outbox")
def test_each_recipient_has_a_status_of_their_own(status: str) -> None:
    def says(address: str) -> tuple[str, str | None]:
        return ("queued", "id") if address.startswith("reader1") else (status, None)

    first, *others = batch(session(says=says))
    assert first == Sent("id")
    refusals = {"invalid": Permanent, "rejected": Permanent, "failed": Temporary, "unknown": Ambiguous}
    expected = refusals.get(status, Sent)
    assert [type(outcome) for outcome in others] == [expected] * 2
    assert [getattr(outcome, "disables", False) for outcome in others] == [status == "invalid"] * 2


@pytest.mark.usefixtures("_outbox")
def test_an_unknown_end_with_an_id_is_an_acceptance() -> None:
    assert batch(session(says=lambda address: ("unknown", "id"))) == [Sent("id")] * 3


@pytest.mark.usefixtures("_outbox")
def test_a_recipient_whom_the_service_forgets_may_have_got_it() -> None:
    class Forgetful(Backend):
        def parse_recipient_status(self, *args: Any) -> Any:
            return {"reader1@example.test": AnymailRecipientStatus("1", "sent")}

    to = EspSession(
        EspSettings("mailgun", "k"), form=EmailChannel().form, backend=lambda *_, **__: Forgetful()
    )
    assert [type(outcome) for outcome in batch(to)] == [Sent, Ambiguous, Ambiguous]


def raising(error: Exception) -> Callable[[str], Any]:
    def says(address: str) -> Any:
        raise error

    return says


@pytest.mark.usefixtures("_outbox")
def test_an_error_without_an_answer_may_have_been_an_acceptance() -> None:
    outcomes = batch(session(says=raising(AnymailAPIError("lost"))))
    assert {type(outcome) for outcome in outcomes} == {Ambiguous}


@pytest.mark.usefixtures("_outbox")
def test_settings_that_will_not_do_stop_the_lane_without_showing_the_key() -> None:
    def backend(target: EspSettings, *, seconds: float) -> Any:
        raise AnymailConfigurationError(f"What is {target.key}")

    to = EspSession(EspSettings("mailgun", "s3cret"), form=EmailChannel().form, backend=backend)
    assert set(batch(to)) == {Temporary("What is …", stops_lane=True)}


@pytest.mark.usefixtures("_outbox")
def test_a_missing_package_is_named() -> None:
    to = EspSession(
        EspSettings("ses", "k", options={"region": "eu-west-1"}, secret="s"), form=EmailChannel().form
    )
    if find_spec("boto3"):
        pytest.skip("boto3 is not missing")
    (outcome,) = to.send_batch(a_letter(), recipients(count=1), now=NOW)
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert "boto3" in outcome.text


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
            return session.send(mail, key=key, begun_at=begun_at, now=CONTRACT_NOW)
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
