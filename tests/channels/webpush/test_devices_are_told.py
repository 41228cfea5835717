"""From an issue to devices, by a real send pass: resent by topic, gone, unsubscribed, killed."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from channels.webpush.channel import topic_of
from common.clock import utcnow
from delivery.accounts.dkim_keys import push_public_key
from delivery.engine.send_pass import send_due
from delivery.issues.publish import late_subscribers, publish
from delivery.models import Account, Delivery, Lane
from subscriptions.models import Destination
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.devices import stop_telling, tell_device
from tests.factories import IssueFactory, IssueItemFactory, SubscribableFactory, SubscriptionFactory
from tests.races import beside
from tests.servers.api_server import Reply
from tests.servers.services.push_service import GONE, PushService

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as running:
        yield running


@pytest.fixture
def newsletter(settings: Any) -> Any:
    push_public_key()
    return SubscribableFactory(name="weekly", title="Weekly", offers_devices=True)


def told(newsletter: Any, device: dict[str, str]) -> Any:
    return tell_device(newsletter=newsletter, data=device, origin=Origin(), now=utcnow())


def an_issue(newsletter: Any) -> Any:
    issue = IssueFactory(subscribable=newsletter, published_at=None, title="Swarms")
    IssueItemFactory(issue=issue)
    return issue


def test_an_issue_goes_to_readers_and_devices_each_by_its_own_lane(
    newsletter: Any, service: PushService
) -> None:
    reader, device = SubscriptionFactory(subscribable=newsletter), told(newsletter, service.subscribe())
    issue = an_issue(newsletter)
    assert publish(issue_id=issue.pk, now=utcnow()) == 2
    rows = Delivery.objects.select_related("lane")
    assert {row.subscription_id: row.lane.kind for row in rows} == {reader.pk: "email", device.pk: "webpush"}
    assert rows.get(subscription=device).domain == "127.0.0.1"
    send_due()
    assert rows.get(subscription=reader).state == "stored"
    sent = rows.get(subscription=device)
    assert (sent.state, sent.last_error) == ("sent", "")
    [said] = service.taken
    assert said["url"].endswith(f"/s/weekly/archive/{issue.pk}/")
    assert said["tag"] == topic_of(f"{issue.token}-{sent.pk}")
    assert "/unsubscribe/" in said["leave"]


@pytest.mark.django_db
def test_who_left_is_not_told_and_who_comes_late_may_be(newsletter: Any, service: PushService) -> None:
    gone = service.subscribe("/push/gone")
    told(newsletter, gone)
    stop_telling(newsletter=newsletter, data=gone, now=utcnow())
    issue = an_issue(newsletter)
    assert publish(issue_id=issue.pk, now=utcnow() - timedelta(minutes=5)) == 0
    late = told(newsletter, service.subscribe("/push/late"))
    assert list(late_subscribers(issue.__class__.objects.get(pk=issue.pk))) == [late]


@pytest.mark.django_db
def test_while_it_is_switched_off_devices_are_told_nothing(newsletter: Any, service: PushService) -> None:
    told(newsletter, service.subscribe())
    newsletter.__class__.objects.update(offers_devices=False)
    assert publish(issue_id=an_issue(newsletter).pk, now=utcnow()) == 0


def test_a_device_that_is_gone_is_disabled_and_never_called_again(
    newsletter: Any, service: PushService
) -> None:
    device = told(newsletter, service.subscribe())
    service.says = GONE
    publish(issue_id=an_issue(newsletter).pk, now=utcnow())
    send_due()
    device.destination.refresh_from_db()
    assert "410" in device.destination.disabled_reason
    assert Delivery.objects.get().state == "failed"
    service.says = None
    assert publish(issue_id=an_issue(newsletter).pk, now=utcnow()) == 0
    send_due()
    assert len(service.requests) == 1


def test_one_slow_service_holds_up_no_other_device(newsletter: Any, service: PushService) -> None:
    told(newsletter, service.subscribe("/push/1"))
    told(newsletter, service.subscribe("/push/2"))
    service.paths["/push/1"] = Reply(503)
    service.posts = lambda request: False  # type: ignore[method-assign]
    publish(issue_id=an_issue(newsletter).pk, now=utcnow())
    send_due()
    assert sorted(Delivery.objects.values_list("state", flat=True)) == ["deferred", "sent"]
    lane = Lane.objects.get(kind="webpush")
    assert (lane.free_at, lane.failures) == (None, 0)


def test_a_key_that_cannot_be_read_rests_the_lane_and_fails_nobody(
    newsletter: Any, service: PushService, settings: Any
) -> None:
    told(newsletter, service.subscribe())
    publish(issue_id=an_issue(newsletter).pk, now=utcnow())
    Account.objects.update(secrets="damaged")
    send_due(budget=timedelta(seconds=2))
    row = Delivery.objects.get()
    assert row.state in ("queued", "deferred")
    assert "SECRET_KEY" in Lane.objects.get(kind="webpush").last_error
    assert service.requests == []


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_who_make_the_key_at_once_have_one() -> None:
    first, second = beside(push_public_key, push_public_key)
    assert first == second
    assert Account.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_device_that_asks_twice_at_once_is_told_once(newsletter: Any, service: PushService) -> None:
    device = service.subscribe()
    first, second = beside(lambda: told(newsletter, device), lambda: told(newsletter, device))
    assert first == second
    assert Destination.objects.count() == 1
