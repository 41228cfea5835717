"""Acceptances: many rows in one statement, repeatable, and recorded by any holder of the row."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from channels.base import Sent
from delivery.engine.outcomes import record_accepted
from delivery.engine.send_task import ClaimedDelivery, SendTask
from delivery.models import Attempt, Delivery, Issue
from subscriptions.models import Subscribable
from tests.delivery.ledger import a_lane, attempts, claimed, queued, states
from tests.examples import some_now
from tests.factories import NOW
from tests.races import beside

pytestmark = pytest.mark.django_db

AT = NOW + timedelta(seconds=7, microseconds=123456)
IDS = [
    "250 2.0.0 Ok: queued as 4F1",
    "it's \"quoted\" ''",
    "back\\slash \\u0041 \\\\ %s %(x)s {} $1",
    "žluťoučký 日本語 🦄 é",
    '{"json": [1, null]}',
    "a\x00b\x01\ud800c",
    "12345678901234567890123456789012",
    "1e5",
    "007",
    "",
    "null",
    "x" * 400,
]


def jobs(count: int = 3) -> list[ClaimedDelivery]:
    queued(count, lane=a_lane(concurrency=50))
    return list(claimed())


def acceptance(job: ClaimedDelivery, at: datetime, remote_id: str, *, stored: bool = False) -> SendTask:
    return SendTask(job, outcome=Sent(remote_id, stored=b"" if stored else None), at=at)


def accepted(given: list[ClaimedDelivery]) -> list[SendTask]:
    return [acceptance(job, AT, f"as {job.pk}") for job in given]


def ledger() -> list[tuple[object, ...]]:
    fields = ("pk", "state", "sent_at", "remote_id", "attempts", "lease_token", "begun_at", "last_error")
    return list(Delivery.objects.order_by("pk").values_list(*fields))


def row_of(job: ClaimedDelivery) -> Delivery:
    return Delivery.objects.get(pk=job.pk)


def taken_by_another(job: ClaimedDelivery) -> None:
    Delivery.objects.filter(pk=job.pk).update(lease_token=uuid4())


def test_many_are_recorded_in_one_statement_and_one_look_at_their_issue() -> None:
    given = accepted(jobs(120))
    Delivery.objects.update(last_error="once", attempts=2)
    with CaptureQueriesContext(connection) as asked:
        record_accepted(given)
    assert len(asked) == 2, [query["sql"][:80] for query in asked]
    assert ledger() == [(one.pk, "sent", AT, f"as {one.pk}", 3, None, None, "") for one in given]
    assert not Attempt.objects.exists()


def test_each_has_a_moment_a_name_and_a_state_of_its_own() -> None:
    one, two, three = jobs(3)
    other_zone = timezone(timedelta(hours=5, minutes=45))
    record_accepted(
        [
            acceptance(two, AT, "two", stored=True),
            acceptance(three, (AT + timedelta(days=1)).astimezone(other_zone), "three"),
            acceptance(one, AT.replace(microsecond=0, tzinfo=UTC), "one"),
        ]
    )
    assert list(Delivery.objects.order_by("pk").values_list("remote_id", "state", "sent_at")) == [
        ("one", "sent", AT.replace(microsecond=0)),
        ("two", "stored", AT),
        ("three", "sent", AT + timedelta(days=1)),
    ]


@pytest.mark.parametrize("stop", ["paused_at", "cancelled_at", "newsletter", ""])
def test_tasks_of_an_issue_that_was_stopped_meanwhile_are_recalled(stop: str) -> None:
    given = accepted(jobs(2))
    issues = Issue.objects.filter(deliveries=given[0].pk)
    if stop == "newsletter":
        Subscribable.objects.filter(issues__in=issues).update(sending_paused_at=NOW)
    elif stop:
        Issue.objects.filter(pk__in=issues.values("pk")).update(**{stop: NOW})
    record_accepted(given)
    assert {one.recalled for one in given} == {bool(stop)}


def test_none_at_all_asks_nothing() -> None:
    with CaptureQueriesContext(connection) as asked:
        record_accepted([])
    assert len(asked) == 0


@pytest.mark.parametrize("remote_id", some_now(IDS))
def test_a_name_is_kept_as_the_server_gave_it(remote_id: str) -> None:
    job, other = jobs(2)
    record_accepted([acceptance(job, AT, remote_id), *accepted([other])])
    kept = remote_id.replace("\x00", "").replace("\x01", "").replace("\ud800", "")[:255]
    assert row_of(job).remote_id == kept
    assert states() == {"sent": 2}
    # It is known on a repeat.
    record_accepted([acceptance(job, AT, remote_id)])
    assert attempts(row_of(job)) == []
    assert row_of(job).attempts == 1


def test_a_repetition_after_a_lost_commit_changes_nothing() -> None:
    given = accepted(jobs(5))
    record_accepted(given)
    before = ledger()
    record_accepted(given)
    record_accepted(given[:2])
    assert ledger() == before
    assert not Attempt.objects.exists()


def test_what_only_a_part_of_was_committed_is_completed() -> None:
    given = accepted(jobs(5))
    record_accepted(given[1:3])
    record_accepted(given)
    assert [row[1:5] for row in ledger()] == [("sent", AT, f"as {one.pk}", 1) for one in given]
    assert not Attempt.objects.exists()


def test_one_that_another_worker_has_by_now_is_recorded_and_the_others_too() -> None:
    first, second, third = jobs(3)
    taken_by_another(second)
    record_accepted(accepted([first, second, third]))
    assert [row[1:6] for row in ledger()] == [
        ("sent", AT, f"as {job.pk}", 1, None) for job in (first, second, third)
    ]
    assert attempts(row_of(second)) == [("accepted twice", f"as {second.pk}")]
    assert Attempt.objects.count() == 1


def test_one_that_was_accepted_before_keeps_its_first_name() -> None:
    first, second = jobs(2)
    before = NOW - timedelta(minutes=1)
    sent = {
        "state": "sent",
        "sent_at": before,
        "remote_id": "before",
        "lease_token": None,
        "lease_until": None,
    }
    Delivery.objects.filter(pk=second.pk).update(**sent, attempts=1)
    record_accepted(accepted([first, second]))
    row = row_of(second)
    assert (row.state, row.sent_at, row.remote_id, row.attempts) == ("sent", before, "before", 1)
    assert attempts(row) == [("accepted twice", f"as {second.pk}")]
    assert row_of(first).remote_id == f"as {first.pk}"


@pytest.mark.parametrize("state", ["queued", "deferred", "failed", "held", "cancelled"])
def test_what_was_taken_back_meanwhile_is_sent_after_all(state: str) -> None:
    first, second = jobs(2)
    lost = {"state": state, "lease_token": None, "lease_until": None, "held_for": "pause"}
    Delivery.objects.filter(pk=second.pk).update(**lost, last_error="lost")
    record_accepted(accepted([first, second]))
    row = row_of(second)
    assert (row.state, row.remote_id, row.held_for, row.last_error) == ("sent", f"as {second.pk}", "", "")
    assert attempts(row) == []


def test_one_that_was_dropped_meanwhile_is_no_trouble() -> None:
    first, second, third = jobs(3)
    Delivery.objects.filter(pk=second.pk).delete()
    record_accepted(accepted([first, second, third]))
    assert states() == {"sent": 2}
    assert not Attempt.objects.exists()


def test_a_row_is_known_by_its_key_and_its_token_together() -> None:
    """Two rows with swapped tokens are both late, not each other."""
    first, second = jobs(2)
    one, two = first._replace(token=uuid4()), second._replace(token=first.token)
    record_accepted(accepted([one, two]))
    assert [row[3] for row in ledger()] == [f"as {first.pk}", f"as {second.pk}"]
    assert {name for name, _ in [*attempts(row_of(first)), *attempts(row_of(second))]} == {"accepted twice"}


def test_nobody_elses_rows_are_touched() -> None:
    first, _ = jobs(2)
    before = ledger()[1]
    record_accepted(accepted([first]))
    assert ledger()[1] == before


def test_within_a_transaction_that_fails_nothing_is_recorded() -> None:
    given = accepted(jobs(3))
    before = ledger()

    def fails() -> None:
        with transaction.atomic():
            record_accepted(given)
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert ledger() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_while_another_worker_is_taking_the_row_it_is_waited_for() -> None:
    first, second = jobs(2)
    beside(lambda: taken_by_another(second), lambda: record_accepted(accepted([first, second])))
    assert [row[1:6] for row in ledger()] == [
        ("sent", AT, f"as {job.pk}", 1, None) for job in (first, second)
    ]
    assert attempts(row_of(second)) == [("accepted twice", f"as {second.pk}")]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_late_acceptance_beside_the_failure_of_the_next_attempt_is_recorded() -> None:
    (job,) = jobs(1)
    taken_by_another(job)

    def fails() -> None:
        Delivery.objects.update(state="deferred", lease_token=None, lease_until=None)

    beside(fails, lambda: record_accepted(accepted([job])))
    assert [row[1:4] for row in ledger()] == [("sent", AT, f"as {job.pk}")]
