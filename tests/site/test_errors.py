"""If the database is unreachable, pages return 503; errors of ours remain 500."""

import logging

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from feedletter_site.logs import OutageInOneLine
from feedletter_site.monitoring import stages


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("connection is closed")])
def test_without_the_database_a_page_is_503_and_one_line(
    client: Client, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> str:
        raise error

    monkeypatch.setattr(stages, "what_is_missing", away)
    with caplog.at_level(logging.WARNING, "django.request"):
        answer = client.get("/readyz")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert b"try again" in answer.content
    assert caplog.messages == [f"The database is busy or unavailable, so /readyz is not answered: {error}"]
    assert not caplog.records[0].exc_info


@pytest.mark.parametrize("error", [OperationalError("no such table: feeds_feed"), KeyError("ours")])
def test_what_does_not_end_by_itself_is_500_and_told_in_full(
    client: Client, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong() -> str:
        raise error

    monkeypatch.setattr(stages, "what_is_missing", wrong)
    with caplog.at_level(logging.WARNING, "django.request"):
        answer = client.get("/readyz")
    assert answer.status_code == 500
    assert caplog.records[0].exc_info


def test_a_pass_without_the_database_is_one_line_in_a_while() -> None:
    told = OutageInOneLine()

    def record(error: Exception) -> logging.LogRecord:
        trace = (type(error), error, None)
        return logging.LogRecord("celery.app.trace", logging.ERROR, "", 1, "Task %s", ("send",), trace)

    first, other = record(OperationalError("gone")), record(KeyError("ours"))
    assert told.filter(first)
    assert first.exc_info is None
    assert not told.filter(record(InterfaceError("gone")))
    assert told.filter(other)
    assert other.exc_info
