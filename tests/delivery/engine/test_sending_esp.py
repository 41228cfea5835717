"""Letters through a mail service: each recipient has a recorded outcome."""

from collections.abc import Iterator
from typing import Any

import pytest

from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from tests.delivery.ledger import Clock, attempts, queued, states
from tests.factories import IssueFactory
from tests.servers import esp_server as services
from tests.servers.esp_server import KEY, EspServer, Reply

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


@pytest.fixture
def postmark(settings: Any) -> Iterator[EspServer]:
    with EspServer(services.postmark) as server:
        settings.EMAIL_URL = f"anymail+postmark://{KEY}@example.org?api_url={server.url}"
        yield server


def test_every_reader_gets_one_letter_and_has_the_services_id(postmark: EspServer) -> None:
    queued(7, issue=IssueFactory())
    assert send_due(clock=Clock()).sent == 7
    assert states() == {"sent": 7}
    ids = list(Delivery.objects.values_list("remote_id", flat=True))
    assert len(set(ids)) == 7
    assert all(ids)
    messages = [one for request in postmark.requests for one in _messages(request.json)]
    assert len({message["To"] for message in messages}) == len(messages) == 7


def _messages(body: Any) -> list[dict[str, Any]]:
    return body if isinstance(body, list) else [body]


def test_one_that_the_service_does_not_write_to_fails_alone(postmark: EspServer) -> None:
    issue = IssueFactory()
    queued(3, issue=issue)
    (bad,) = queued(1, issue=issue, subscription__destination__core="ada@inactive.test")
    send_due(clock=Clock())
    assert states() == {"sent": 3, "failed": 1}
    assert [outcome for outcome, _ in attempts(bad)] == ["permanent"]


def test_a_wrong_key_fails_nobody(postmark: EspServer) -> None:
    postmark.says(Reply(401, {"ErrorCode": 10, "Message": "Bad token"}))
    queued(3, issue=IssueFactory())
    assert send_due(clock=Clock()).sent == 0
    assert set(states()) <= {"queued", "deferred"}
    assert not Delivery.objects.filter(last_error__contains=KEY).exists()
