"""Amazon SES, if boto3 is installed: which brings its HTTP client."""

import base64
import json
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any

import pytest

from channels.base import Ambiguous, Outcome, Sent, Temporary
from channels.email.esp.message_form import delivery_of
from tests.channels.email_letters import NOW
from tests.channels.esp_letters import a_letter, recipients, session
from tests.servers.esp_server import EspServer, Reply, Request

pytest.importorskip("boto3")
ACCOUNT = {"key": "AKIAEXAMPLE:s3cret", "more": "&region=eu-west-1"}


@pytest.fixture
def ses() -> Iterator[EspServer]:
    def usual(request: Request, number: int) -> Reply:
        return Reply(body={"MessageId": f"0102-{number}"})

    with EspServer(usual) as server:
        yield server


def refused(status: int, code: str, message: str) -> Reply:
    return Reply(status, {"message": message}, {"x-amzn-ErrorType": code})


def sent(to: EspServer, **changes: Any) -> list[Outcome]:
    return session("ses", to, **{**ACCOUNT, **changes}).send_batch(a_letter(), recipients(count=2), now=NOW)


def test_each_reader_gets_a_message_of_their_own(ses: EspServer) -> None:
    assert sent(ses) == [Sent("0102-1"), Sent("0102-2")]
    for number, request in enumerate(ses.requests, 1):
        assert request.json["Destination"] == {"ToAddresses": [f"reader{number}@example.test"]}
        raw = base64.b64decode(request.json["Content"]["Raw"]["Data"])
        mail = message_from_bytes(raw, policy=policy.default)
        assert mail["Subject"] == f"Bees for Reader {number}"
        assert f"unsubscribe/{number}-abc/" in mail["List-Unsubscribe"]
        assert delivery_of(json.loads(mail["X-Metadata"])) == number
        assert "s3cret" not in str(request)


@pytest.mark.parametrize(
    "reply",
    [
        refused(429, "TooManyRequestsException", "Maximum sending rate exceeded."),
        refused(403, "UnrecognizedClientException", "The security token is invalid."),
        refused(400, "MessageRejected", "Email address is not verified: letters@example.org"),
        Reply(500, {"message": "internal"}),
    ],
)
def test_a_refusal_stops_the_lane(ses: EspServer, reply: Reply) -> None:
    ses.says(reply)
    for outcome in sent(ses):
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane
    assert len(ses.requests) == 1


def test_silence_is_ambiguous_and_asked_once(ses: EspServer) -> None:
    ses.says(Reply(silent=True))
    assert {type(outcome) for outcome in sent(ses, seconds=0.4)} == {Ambiguous}
    assert len(ses.requests) == 2


def test_a_server_that_is_not_there_got_nothing(ses: EspServer) -> None:
    with EspServer(ses.usual) as gone:
        pass
    for outcome in sent(gone):
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane
