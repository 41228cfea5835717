"""Leases are renewed for slow messages, and no message is begun on a lost one."""

from datetime import timedelta
from time import monotonic, sleep

import pytest
from django.db.models import Max

from delivery.engine import send_pass as module
from delivery.engine.child_protocol import FRESH, Permit
from delivery.engine.claim import DELIVERY_LEASE, renew
from delivery.models import Delivery
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import HOUR, SECOND, a_lane, claimed, queued, states
from tests.factories import NOW
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renew so often that a test need not wait fifteen seconds."""
    monkeypatch.setattr(module, "RENEW_EVERY", 0.05)
    monkeypatch.setattr(module, "YOUNG", timedelta())


@pytest.mark.django_db
def test_a_renewal_extends_ours_and_tells_which_still_are() -> None:
    queued(3)
    one, two, three = claimed()
    Delivery.objects.filter(pk=two.pk).update(state="queued", lease_token=None, lease_until=None)
    assert renew(tokens={one.token}, now=NOW + 30 * SECOND) == {(one.pk, one.token), (three.pk, three.token)}
    assert Delivery.objects.get(pk=one.pk).lease_until == NOW + 30 * SECOND + DELIVERY_LEASE


@pytest.mark.django_db
def test_a_renewal_touches_nobody_elses() -> None:
    queued()
    (job,) = claimed()
    queued()
    (other,) = claimed()
    renew(tokens={job.token}, now=NOW + 30 * SECOND)
    assert Delivery.objects.get(pk=other.pk).lease_until == NOW + DELIVERY_LEASE


def wait_for_renewal() -> None:
    """Wait until the pass has used a renewal that began after the call.

    The first may have begun before, and the third begins when the pass has used the second.
    """
    for _ in range(3):
        latest = Delivery.objects.aggregate(Max("lease_until"))
        wait_until(lambda: Delivery.objects.aggregate(Max("lease_until")) != latest)  # noqa: B023


@pytest.mark.usefixtures("often")
def test_a_slow_message_keeps_its_lease(smtp: SmtpServer) -> None:
    smtp.hold()
    queued()
    with sending() as report, smtp.releasing():
        wait_until(lambda: states() == {"sending": 1})
        wait_for_renewal()
    assert report.result().sent == 1


def test_a_lease_that_is_young_is_not_written_again(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW_EVERY", 0.01)
    smtp.hold()
    queued(3)
    with sending(), smtp.releasing():
        wait_until(lambda: states() == {"sending": 3})
        until = Delivery.objects.aggregate(Max("lease_until"))
        sleep(0.2)
        assert Delivery.objects.aggregate(Max("lease_until")) == until


@pytest.mark.usefixtures("often")
def test_what_was_taken_from_us_is_not_begun(smtp: SmtpServer) -> None:
    smtp.hold()
    first, *others = queued(4, lane=a_lane(concurrency=1))
    with sending() as report, smtp.releasing():
        wait_until(lambda: states() == {"sending": 4} and "mail" in smtp.commands)
        Delivery.objects.filter(pk__in=[row.pk for row in others]).update(
            state="held", lease_token=None, lease_until=None
        )
        wait_for_renewal()
    assert smtp.recipients == [first.destination.core]
    assert report.result().sent == 1
    assert states() == {"sent": 1, "held": 3}


@pytest.mark.usefixtures("often")
def test_what_another_worker_has_claimed_is_neither_begun_nor_given_back(smtp: SmtpServer) -> None:
    smtp.hold()
    first, second = queued(2, lane=a_lane(concurrency=1))
    other = "11111111-1111-4111-8111-111111111111"
    with sending(), smtp.releasing():
        wait_until(lambda: states() == {"sending": 2} and "mail" in smtp.commands)
        Delivery.objects.filter(pk=second.pk).update(lease_token=other)
        wait_for_renewal()
    assert smtp.recipients == [first.destination.core]
    second.refresh_from_db()
    assert (second.state, str(second.lease_token)) == ("sending", other)


@pytest.mark.django_db
def test_nothing_is_begun_when_the_last_renewal_is_too_long_ago() -> None:
    assert Permit(renewed_at=monotonic()).allows(1)
    assert not Permit(renewed_at=monotonic() - FRESH - 1).allows(1)


def test_at_the_end_of_its_budget_a_pass_gives_the_rest_back(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.4
    lane = a_lane(concurrency=1)
    queued(15, lane=lane)
    (unknown,) = queued(lane=lane, due_at=NOW + SECOND, begun_at=NOW - HOUR)
    with sending(budget=timedelta(seconds=2)) as report:
        pass
    sent = report.result().sent
    assert 1 <= sent <= 10
    assert len(smtp.recipients) == sent
    assert states() == {"sent": sent, "queued": 16 - sent}
    rest = Delivery.objects.filter(state="queued").exclude(pk=unknown.pk)
    assert set(rest.values_list("begun_at", "lease_token", "attempts")) == {(None, None, 0)}
    unknown.refresh_from_db()
    assert unknown.begun_at == NOW - HOUR
