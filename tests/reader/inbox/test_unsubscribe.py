from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs

import pytest

from delivery.models import Delivery
from reader.inbox.addresses import recipient_of
from reader.inbox.take import take_mail
from reader.inbox.unsubscribe import unsubscribe
from reader.models import MailAddress, MailSource
from reader.rules.mail_posts import Leaving
from tests.factories import NOW
from tests.reader.inbox.conftest import newsletter
from tests.servers.feed_server import FeedServer


@pytest.fixture
def source(address: MailAddress) -> MailSource:
    take_mail(newsletter(), [recipient_of(address)], NOW)
    return MailSource.objects.get()


def left(source: MailSource, **ways: str) -> tuple[str, str]:
    source.leaving = asdict(Leaving(**ways))
    unsubscribe(source=source, now=NOW)
    source.refresh_from_db()
    assert source.left_at == NOW
    return source.left, source.left_problem


def test_one_click_is_one_post(source: MailSource, server: FeedServer) -> None:
    url = server.serve("/u?a=1", "Bye")
    assert left(source, one_click=url, mailto="u@news.example") == ("done", "")
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/u?a=1")
    # RFC 8058 §3.1.
    assert parse_qs(request.body.decode()) == {"List-Unsubscribe": ["One-Click"]}
    assert "cookie" not in request.headers
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("status", [404, 500, 302])
def test_another_answer_is_told(source: MailSource, server: FeedServer, status: int) -> None:
    url = server.serve("/u", status=status, headers={"Location": "/elsewhere"})
    assert left(source, one_click=url) == ("failed", f"The server answered HTTP {status}.")
    assert len(server.requests) == 1


def test_private_addresses_are_never_asked(source: MailSource, server: FeedServer, settings: Any) -> None:
    settings.ALLOW_PRIVATE_NETWORKS = []
    state, problem = left(source, one_click=server.serve("/u"))
    assert (state, server.requests) == ("failed", [])
    assert "127.0.0.1" in problem


def test_a_message_can_name_an_address(source: MailSource, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    assert left(source, mailto="u@news.example", subject="leave 17") == ("mailed", "")
    mail = Delivery.objects.get()
    assert mail.destination.core == "u@news.example"
    assert mail.context == {"subject": "leave 17", "address": source.sent_to}


def test_a_wrong_address_is_told(source: MailSource, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    assert left(source, mailto="u@@news")[0] == "failed"
    assert left(source) == ("failed", "The messages name no way to unsubscribe.")


def test_without_a_mail_server_nothing_is_sent(source: MailSource) -> None:
    assert left(source, mailto="u@news.example") == ("failed", "This site can’t send email.")
