"""The SMS channel against a fake Twilio: the contract, the look-up, and error codes."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from channels.base import Ambiguous, LaneFacts, Message, Permanent, Sent, Temporary
from channels.http.links import sms_parts
from channels.letter import Recipient
from channels.sms.channel import SmsChannel, message_to
from channels.sms.message import TextMessage
from common.ports.channels import InvalidDestination
from tests.contracts.bridge import BridgeContract, ServiceCase, expect
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

CHANNEL = SmsChannel()
NUMBER = "+4915123456789"
TEXT = TextMessage("Bees https://blog.example/1")
MESSAGE = message_to(NUMBER, TEXT, delivery_id=7)


class Texting(ServiceCase):
    channel = CHANNEL
    lane = LaneFacts("sms", "bees", VALUES)
    service: Twilio

    def server(self) -> Twilio:
        made = Twilio()
        made.now = NOW
        return made

    def connected(self, timeout: float, **lane: Any) -> Any:
        made = super().connected(timeout, **lane)
        made.address, made.callback = lambda to: self.url, ""
        return made

    def recipient(self) -> Recipient:
        return Recipient(1, NUMBER, "+49 1512 3456789")

    def text(self, what: Message[TextMessage] = MESSAGE, **arguments: Any) -> Any:
        return self.post(what, **arguments)


class TestSmsContract(Texting, BridgeContract):
    shares_token = True
    refused = error(400, 21617, "The concatenated message body exceeds the 1600 character limit")
    unauthorised = UNAUTHORISED
    gone = STOPPED
    secrets = (TOKEN,)
    options: ClassVar[dict[str, str]] = {"account": "bees", "parts": "3"}

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


class TestSending(Texting):
    def test_a_messaging_service_sends_it_and_tells_what_became_of_it(self) -> None:
        session = self.session(credentials={**VALUES, "sender": SERVICE})
        session.callback = "https://l.example/sms/bees/status/"
        assert self.text(on=session) == Sent(f"SM{1:032x}")
        assert self.service.messages[0]["form"] == {
            "To": NUMBER, "MessagingServiceSid": SERVICE, "Body": TEXT.text,
            "StatusCallback": "https://l.example/sms/bees/status/7/",
        }  # fmt: skip

    def test_a_code_is_of_no_use_after_ten_minutes(self) -> None:
        code = message_to(NUMBER, TextMessage("123456 is your code", 600))
        self.text(code)
        assert self.service.messages[0]["form"]["ValidityPeriod"] == "600"

    @pytest.mark.parametrize(
        ("status", "codes", "kind", "fields"),
        [
            # A number that takes nothing is disabled; an unreachable phone is tried again.
            (400, (21211, 21408, 21610, 21612, 21614), Permanent, {"disables": True}),
            (400, (30003, 30008), Temporary, {"stops_lane": False, "stops_account": False}),
            # An account that may not send rests, and disables nobody.
            (400, (20003, 20404, 21606, 21703, 30002), Temporary, {"stops_account": True}),
            (429, (20429,), Temporary, {"stops_lane": True}),
        ],
    )
    def test_a_code_has_its_outcome(
        self, status: int, codes: tuple[int, ...], kind: type, fields: dict[str, bool]
    ) -> None:
        for code in codes:
            self.service.says = error(status, code, "No.")
            expect(self.text(), kind, str(code), **fields)

    def test_the_fake_refuses_what_twilio_refuses(self) -> None:
        self.service.stopped.add("+4915100000000")
        for to, body in (("0151", "a"), (LANDLINE, "a"), ("+4915100000000", "a"), (NUMBER, "x" * 1601)):
            outcome = self.text(message_to(to, TextMessage(body)))
            assert isinstance(outcome, Permanent), (to, outcome)
        assert self.service.messages == []

    def test_without_a_token_nothing_is_asked(self) -> None:
        expect(self.text(on=self.session(credentials={})), Temporary)
        assert self.service.requests == []


class TestLookUp(Texting):
    @pytest.mark.parametrize("queued", [False, True])
    @pytest.mark.parametrize("begins_with", ["", "Sent from your Twilio trial account - "])
    def test_what_was_taken_is_found_though_it_still_waits_there(
        self, queued: bool, begins_with: str
    ) -> None:
        self.service.queued, self.service.begins_with = queued, begins_with
        self.text()
        assert self.text(begun_at=NOW) == Sent(f"SM{1:032x}")
        assert len(self.service.messages) == 1

    @pytest.mark.parametrize(
        "other",
        [message_to("+4915123456780", TEXT), message_to(NUMBER, TextMessage("Wasps https://blog.example/2"))],
    )
    def test_another_message_is_not_taken_for_it(self, other: Message[TextMessage]) -> None:
        self.text(other)
        self.text(begun_at=NOW)
        assert len(self.service.messages) == 2

    def test_the_same_words_of_yesterday_are_not_it(self) -> None:
        self.service.now = NOW - timedelta(days=1)
        self.text()
        self.service.now = NOW
        self.text(begun_at=NOW)
        assert len(self.service.messages) == 2

    @pytest.mark.parametrize("reply", [Reply(503), Reply(200, {"messages": None}), UNAUTHORISED])
    def test_what_cannot_be_looked_up_waits_for_a_person(self, reply: Reply) -> None:
        self.service.paths[f"{PLACE}/Messages.json"] = reply
        expect(self.text(begun_at=NOW), Ambiguous, holds=True)
        assert self.service.messages == []


class TestAccount(Texting):
    def name(self, **given: str) -> str:
        made: str = self.session(credentials={**VALUES, **given}).check_credentials()
        return made

    def test_it_is_called_as_twilio_calls_it(self) -> None:
        assert self.name() == "Bees Ltd, as +15005550006"

    @pytest.mark.parametrize(
        ("given", "field"),
        [({"auth_token": "wrong"}, "auth_token"), ({"account_sid": "AC" + "1" * 32}, "auth_token")],
    )
    def test_a_wrong_token_is_refused(self, given: dict[str, str], field: str) -> None:
        with pytest.raises(InvalidDestination, match=f"^{field}: "):
            self.name(**given)

    def test_a_suspended_account_is_refused(self) -> None:
        self.service.status = "suspended"
        with pytest.raises(InvalidDestination, match="suspended"):
            self.name()

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
        field = next(one for one in CHANNEL.account_fields if one.name == name)
        assert field.clean is not None
        with pytest.raises(ValueError, match=r"\w"):
            field.clean(value)

    @pytest.mark.parametrize("sender", [SERVICE, "+1 (202) 555-0123", "Bees"])
    def test_a_sender_is_a_service_a_number_or_a_name(self, sender: str) -> None:
        field = next(one for one in CHANNEL.account_fields if one.name == "sender")
        assert field.clean is not None
        assert field.clean(sender)
