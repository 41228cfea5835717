"""The SMS channel against a fake Twilio: the contract, the look-up, and error codes."""

from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar

import pytest

from channels.base import Ambiguous, Channel, LaneFacts, Message, Permanent, Sent, Session, Temporary
from channels.http.measures import sms_parts
from channels.letter import Recipient
from channels.sms.message import TextMessage
from channels.sms.session import SmsChannel, SmsSession, message_to
from channels.sms.spec import SmsSpec
from common.ports.channels import InvalidDestination
from tests.contracts.bridge import LOOPBACK, PATIENT, BridgeContract, served_at
from tests.contracts.channel import NOW, Answer, Arrival
from tests.servers.api_server import Reply
from tests.servers.services.twilio import (
    LANDLINE,
    LONGEST,
    PLACE,
    SERVICE,
    STOPPED,
    TOKEN,
    UNAUTHORISED,
    VALUES,
    Twilio,
    error,
)

CHANNEL, KIND = SmsChannel(), SmsSpec()
NUMBER = "+4915123456789"
TEXT = TextMessage("Bees https://blog.example/1")
MESSAGE = message_to(NUMBER, TEXT, delivery_id=7)


@pytest.fixture
def server() -> Iterator[Twilio]:
    with Twilio() as running:
        running.now = NOW
        yield running


@pytest.fixture
def session(server: Twilio) -> Iterator[SmsSession]:
    opened = opened_at(server.url)
    yield opened
    opened.close()


def opened_at(url: str, *, timeout: float = PATIENT, callback: str = "", sender: str = "") -> SmsSession:
    values = {**VALUES, **({"sender": sender} if sender else {})}
    made, lane = served_at(SmsSession, url), LaneFacts("sms", "bees", values)
    return made(lane, session=LOOPBACK.session(), timeout=timeout, callback=callback)


class TestSmsContract(BridgeContract):
    channel: ClassVar[Channel] = CHANNEL
    shares_token = True
    refused = error(400, 21617, "The concatenated message body exceeds the 1600 character limit")
    unauthorised = UNAUTHORISED
    gone = STOPPED
    secrets = (TOKEN,)
    options: ClassVar[dict[str, str]] = {"account": "bees", "parts": "3"}
    service: Twilio

    def server(self) -> Twilio:
        made = Twilio()
        made.now = NOW
        return made

    def connected(self, timeout: float) -> Session:
        return opened_at(self.url, timeout=timeout)

    def recipient(self) -> Recipient:
        return Recipient(1, NUMBER, "+49 1512 3456789")

    def arrived(self) -> list[Arrival]:
        return [Arrival(one["sid"], one["body"]) for one in self.service.messages]

    def acceptable(self, arrival: Arrival) -> bool:
        return len(arrival.text) <= LONGEST and sms_parts(arrival.text) <= 3

    def is_harmless(self, text: str) -> bool:
        """A text message has no markup."""
        return text.isprintable()

    def test_the_same_key_twice_is_one_message(self) -> None:
        """Twilio has no idempotency keys: the session looks up an earlier attempt."""
        self.meet(Answer.OK)
        assert isinstance(self.send(key="key-9"), Sent)
        assert isinstance(self.send(key="key-9", begun_at=NOW), Sent)
        assert len(self.service.messages) == 1


class TestSending:
    def test_a_messaging_service_sends_it_and_tells_what_became_of_it(self, server: Twilio) -> None:
        session = opened_at(server.url, sender=SERVICE, callback="https://l.example/sms/bees/status/")
        assert session.send(MESSAGE, key="k", begun_at=None, now=NOW) == Sent(f"SM{1:032x}")
        assert server.messages[0]["form"] == {
            "To": NUMBER, "MessagingServiceSid": SERVICE, "Body": TEXT.text,
            "StatusCallback": "https://l.example/sms/bees/status/7/",
        }  # fmt: skip

    def test_a_code_is_of_no_use_after_ten_minutes(self, server: Twilio, session: SmsSession) -> None:
        code = message_to(NUMBER, TextMessage("123456 is your code", 600))
        session.send(code, key="k", begun_at=None, now=NOW)
        assert server.messages[0]["form"]["ValidityPeriod"] == "600"

    @pytest.mark.parametrize("code", [21211, 21408, 21610, 21612, 21614])
    def test_a_number_that_takes_nothing_is_disabled(
        self, server: Twilio, session: SmsSession, code: int
    ) -> None:
        server.says = error(400, code, "No.")
        outcome = session.send(MESSAGE, key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Permanent)
        assert outcome.disables
        assert str(code) in outcome.text

    @pytest.mark.parametrize("code", [30003, 30008])
    def test_an_unreachable_phone_is_tried_again(
        self, server: Twilio, session: SmsSession, code: int
    ) -> None:
        server.says = error(400, code, "Later.")
        outcome = session.send(MESSAGE, key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Temporary)
        assert not outcome.stops_lane

    @pytest.mark.parametrize("code", [20003, 20404, 21606, 21703, 30002])
    def test_an_account_that_may_not_send_rests_and_disables_nobody(
        self, server: Twilio, session: SmsSession, code: int
    ) -> None:
        server.says = error(400, code, "No.")
        outcome = session.send(MESSAGE, key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Temporary)
        assert outcome.stops_account

    def test_too_many_requests_stop_the_lane(self, server: Twilio, session: SmsSession) -> None:
        server.says = error(429, 20429, "Too many requests")
        assert getattr(session.send(MESSAGE, key="k", begun_at=None, now=NOW), "stops_lane", False)

    def test_the_fake_refuses_what_twilio_refuses(self, server: Twilio, session: SmsSession) -> None:
        server.stopped.add("+4915100000000")
        for to, body in (("0151", "a"), (LANDLINE, "a"), ("+4915100000000", "a"), (NUMBER, "x" * 1601)):
            outcome = session.send(message_to(to, TextMessage(body)), key="k", begun_at=None, now=NOW)
            assert isinstance(outcome, Permanent), (to, outcome)
        assert server.messages == []

    def test_without_a_token_nothing_is_asked(self, server: Twilio) -> None:
        outcome = served_at(SmsSession, server.url)().send(MESSAGE, key="k", begun_at=None, now=NOW)
        assert isinstance(outcome, Temporary)
        assert server.requests == []


class TestLookUp:
    @pytest.mark.parametrize("queued", [False, True])
    @pytest.mark.parametrize("begins_with", ["", "Sent from your Twilio trial account - "])
    def test_what_was_taken_is_found_though_it_still_waits_there(
        self, server: Twilio, session: SmsSession, queued: bool, begins_with: str
    ) -> None:
        server.queued, server.begins_with = queued, begins_with
        session.send(MESSAGE, key="k", begun_at=None, now=NOW)
        assert session.send(MESSAGE, key="k", begun_at=NOW, now=NOW) == Sent(f"SM{1:032x}")
        assert len(server.messages) == 1

    @pytest.mark.parametrize(
        "other",
        [message_to("+4915123456780", TEXT), message_to(NUMBER, TextMessage("Wasps https://blog.example/2"))],
    )
    def test_another_message_is_not_taken_for_it(
        self, server: Twilio, session: SmsSession, other: Message[TextMessage]
    ) -> None:
        session.send(other, key="o", begun_at=None, now=NOW)
        session.send(MESSAGE, key="k", begun_at=NOW, now=NOW)
        assert len(server.messages) == 2

    def test_the_same_words_of_yesterday_are_not_it(self, server: Twilio, session: SmsSession) -> None:
        server.now = NOW - timedelta(days=1)
        session.send(MESSAGE, key="k", begun_at=None, now=NOW)
        server.now = NOW
        session.send(MESSAGE, key="k", begun_at=NOW, now=NOW)
        assert len(server.messages) == 2

    @pytest.mark.parametrize("reply", [Reply(503), Reply(200, {"messages": None}), UNAUTHORISED])
    def test_what_cannot_be_looked_up_waits_for_a_person(
        self, server: Twilio, session: SmsSession, reply: Reply
    ) -> None:
        server.paths[f"{PLACE}/Messages.json"] = reply
        outcome = session.send(MESSAGE, key="k", begun_at=NOW, now=NOW)
        assert isinstance(outcome, Ambiguous)
        assert outcome.holds
        assert server.messages == []


class TestAccount:
    def check(self, url: str, **given: str) -> str:
        lane = LaneFacts("sms", "", {**VALUES, **given})
        return served_at(SmsSession, url)(lane, session=LOOPBACK.session(), timeout=PATIENT).check_account()

    def test_it_is_called_as_twilio_calls_it(self, server: Twilio) -> None:
        assert self.check(server.url) == "Bees Ltd, as +15005550006"

    @pytest.mark.parametrize(
        ("given", "field"),
        [({"auth_token": "wrong"}, "auth_token"), ({"account_sid": "AC" + "1" * 32}, "auth_token")],
    )
    def test_a_wrong_token_is_refused(self, server: Twilio, given: dict[str, str], field: str) -> None:
        with pytest.raises(InvalidDestination, match=f"^{field}: "):
            self.check(server.url, **given)

    def test_a_suspended_account_is_refused(self, server: Twilio) -> None:
        server.status = "suspended"
        with pytest.raises(InvalidDestination, match="suspended"):
            self.check(server.url)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("account_sid", "AC12"),
            ("sender", "a name that is long"),
            ("sender", "12345"),
            ("auth_token", "a b"),
        ],
    )
    def test_what_cannot_be_right_is_refused_by_its_field(self, name: str, value: str) -> None:
        field = next(one for one in KIND.account_fields if one.name == name)
        assert field.clean is not None
        with pytest.raises(ValueError, match=r"\w"):
            field.clean(value)

    @pytest.mark.parametrize("sender", [SERVICE, "+1 (202) 555-0123", "Bees"])
    def test_a_sender_is_a_service_a_number_or_a_name(self, sender: str) -> None:
        field = next(one for one in KIND.account_fields if one.name == "sender")
        assert field.clean is not None
        assert field.clean(sender)
