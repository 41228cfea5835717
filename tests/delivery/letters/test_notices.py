"""Notices of the subscriptions app become Deliveries, each exactly once, before all letters."""

from typing import Any

import pytest
from django.db import connection, transaction

from delivery.engine.send_pass import send_due
from delivery.letters import notices as module
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import Notice
from tests.delivery.ledger import Clock, a_lane, queued
from tests.factories import NOW, DestinationFactory, NoticeFactory
from tests.races import beside
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db

CONTEXT = {"newsletter": "Letter", "confirm_url": "https://letters.example/confirm/x/", "hours": "48"}


def a_notice(**changes: Any) -> Notice:
    notice: Notice = NoticeFactory(context=CONTEXT, **changes)
    return notice


def test_a_notice_becomes_a_delivery_with_all_that_it_said() -> None:
    notice = a_notice(key="subscription-1", language="de")
    assert take_notices(now=NOW) == 1
    row = Delivery.objects.get()
    assert (row.kind, row.key, row.template, row.language) == (
        "confirmation", "subscription-1", "confirmation", "de",
    )  # fmt: skip
    assert (row.destination, row.subscription, row.context) == (
        notice.destination, notice.subscription, CONTEXT,
    )  # fmt: skip
    assert (row.state, row.due_at, row.domain, row.lane.account) == (
        "queued", NOW, "example.org", "default",
    )  # fmt: skip
    assert Notice.objects.count() == 0


def test_a_notice_that_was_taken_before_is_not_sent_again() -> None:
    a_notice(key="subscription-1")
    take_notices(now=NOW)
    a_notice(key="subscription-1")
    take_notices(now=NOW)
    assert Delivery.objects.count() == 1
    assert Notice.objects.count() == 0


def test_taking_none_is_nothing() -> None:
    assert take_notices(now=NOW) == 0


def test_more_than_a_batch_is_taken_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NOTICES_A_BATCH", 2)
    for _ in range(5):
        a_notice()
    assert take_notices(now=NOW) == 5
    assert Delivery.objects.count() == 5


def test_a_notice_for_a_channel_that_is_gone_stops_no_other() -> None:
    a_notice(destination=DestinationFactory(kind="pigeon"))
    a_notice()
    assert take_notices(now=NOW) == 2
    assert Delivery.objects.get().lane.kind == "email"


def test_a_failed_transaction_takes_nothing() -> None:
    a_notice()
    with transaction.atomic():
        assert take_notices(now=NOW) == 1
        transaction.set_rollback(True)
    assert (Notice.objects.count(), Delivery.objects.count()) == (1, 0)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_take_each_notice_once() -> None:
    for _ in range(3):
        a_notice()
    taken = beside(lambda: take_notices(now=NOW), lambda: take_notices(now=NOW), blocks=False)
    assert taken == (3, 0)
    assert Delivery.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_pass_takes_them_and_sends_them_first(smtp: SmtpServer) -> None:
    queued(3, lane=a_lane(concurrency=1))
    notice = a_notice()
    assert send_due(clock=Clock()).sent == 4
    assert smtp.recipients[0] == notice.destination.core
    assert smtp.messages[0].subject == "Confirm your subscription to Letter"
