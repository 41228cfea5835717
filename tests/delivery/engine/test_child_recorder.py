"""The child process records acceptances; if it cannot, the worker does."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import pytest
from django.db import connection, transaction

from channels.base import Sent
from channels.email.mail_message import MailMessage
from delivery.engine import child_client, claimer, recorder, send_pass
from delivery.engine.child_protocol import ChildTask
from delivery.engine.outcomes import record_accepted
from delivery.engine.recorder import Recorder
from delivery.engine.send_pass import send_due
from delivery.engine.send_task import ClaimedDelivery, SendTask
from delivery.models import Delivery, Lane
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, claimed, queued, states
from tests.factories import NOW, IssueFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("commits"),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite the worker alone writes"),
]

LETTERS = 40
OURS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"
RECORDING = f"{OURS} AND query LIKE '%%AS given (id, token, at%%'"


@pytest.fixture(autouse=True)
def _far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claimer, "has_much", lambda lane, now: True)
    child_client.end_idle_child_process(idle_for=0)


@pytest.fixture
def by_worker(monkeypatch: pytest.MonkeyPatch) -> list[SendTask]:
    """Capture the tasks that the worker records."""
    recorded: list[SendTask] = []

    def record(accepted: list[SendTask]) -> None:
        recorded.extend(accepted)
        record_accepted(accepted)

    monkeypatch.setattr(send_pass, "record_accepted", record)
    return recorded


def all_are_sent(smtp: SmtpServer, count: int = LETTERS) -> None:
    assert len(smtp.recipients) == len(set(smtp.recipients)) == count
    assert states() == {"sent": count}
    assert set(Delivery.objects.values_list("attempts", "lease_token", "last_error")) == {(1, None, "")}
    assert not Delivery.objects.filter(sent_at=None).exists()
    assert all(name.startswith("250 ") for name in Delivery.objects.values_list("remote_id", flat=True))


def test_the_loop_process_records_what_a_healthy_lane_sent(
    smtp: SmtpServer, by_worker: list[SendTask]
) -> None:
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=4))
    assert send_due().sent == LETTERS
    all_are_sent(smtp)
    assert by_worker == []


def test_a_child_process_that_has_no_lane_holds_no_connection_to_the_database(smtp: SmtpServer) -> None:
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=4))
    assert send_due().sent == LETTERS
    wait_until(lambda: not _recording())


def test_a_lane_that_was_not_well_is_recorded_by_the_worker_who_tells_it_so(smtp: SmtpServer) -> None:
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=4, failures=1))
    assert send_due().sent == LETTERS
    all_are_sent(smtp)
    assert Lane.objects.get().failures == 0


def test_without_a_way_to_the_database_the_worker_records(
    smtp: SmtpServer, by_worker: list[SendTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {**(child_client.place_of_records() or {}), "port": 1}
    monkeypatch.setattr(child_client, "place_of_records", lambda: place)
    queued(LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=4))
    assert send_due().sent == LETTERS
    all_are_sent(smtp)
    assert len(by_worker) == LETTERS


def test_a_connection_that_is_cut_loses_and_doubles_nothing(smtp: SmtpServer) -> None:
    smtp.state.delay = 0.02
    queued(3 * LETTERS, issue=IssueFactory(), lane=a_lane(concurrency=4))
    cut: set[int] = set()
    with sending() as report:
        for number in (10, 50, 90):
            smtp.wait_for(number)
            cut |= _cut()
    assert cut
    assert report.result().sent == 3 * LETTERS
    all_are_sent(smtp, 3 * LETTERS)


def test_what_somebody_took_from_us_meanwhile_is_recorded_all_the_same(
    smtp: SmtpServer, by_worker: list[SendTask]
) -> None:
    # Long enough that it is in flight while somebody claims it, even on a busy machine.
    smtp.state.delay = 1.0
    (row,) = queued(1, issue=IssueFactory(), lane=a_lane(concurrency=1))
    with sending():
        wait_until(lambda: states() == {"sending": 1})
        smtp.wait_for(1)
        Delivery.objects.update(state="queued", lease_token=None, lease_until=None)
    row.refresh_from_db()
    assert (row.state, bool(row.remote_id)) == ("sent", True)
    assert len(by_worker) == 1


def _recording() -> set[int]:
    """Return the backend processes of the recording connections."""
    with connection.cursor() as cursor:
        cursor.execute(RECORDING, [connection.connection.info.backend_pid])
        return {pid for (pid,) in cursor.fetchall()}


def _cut() -> set[int]:
    """Terminate these connections."""
    found = _recording()
    with connection.cursor() as cursor:
        for pid in found:
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    return found


def accepted(row: ClaimedDelivery) -> ChildTask:
    """Return a message as the recorder sees it."""
    mail = MailMessage("", "", "", ())
    return ChildTask(1, row.pk, row.pk, 5, row.token.hex, mail, outcome=Sent("250 Ok"), at=NOW)


def test_behind_a_pooler_that_knows_no_prepared_statements_it_goes_on_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "REST", 0.0)
    queued(3, issue=IssueFactory(), lane=a_lane())
    tasks = [accepted(job) for job in claimed()]
    assert asyncio.run(_recorded_with_a_pooler(tasks)) == [True, False, True]
    assert states() == {"sent": 2, "sending": 1}


async def _recorded_with_a_pooler(tasks: list[ChildTask]) -> list[bool]:
    """Return whether each was recorded; after the first, the prepared statement is gone."""
    ends: SimpleQueue[bool] = SimpleQueue()
    made = Recorder(child_client.place_of_records() or {}, lambda _, is_durable: ends.put(is_durable))
    told = []
    for task in tasks:
        made.take([task])
        while ends.empty():
            await asyncio.sleep(0.01)
        told.append(ends.get())
        if len(told) == 1:
            made._idle[0]._libpq.exec_(b"DEALLOCATE accept")
    made.close()
    return told


def test_what_ends_while_the_database_is_slow_to_answer_does_not_wait_for_it() -> None:
    queued(2, issue=IssueFactory(), lane=a_lane())
    slow, quick = (accepted(job) for job in claimed())
    ends: SimpleQueue[int] = SimpleQueue()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Delivery.objects.select_for_update().get(pk=slow.pk)
            recording = pool.submit(lambda: asyncio.run(_recorded([slow, quick], ends)))
            assert ends.get(timeout=5) == quick.pk
        assert ends.get(timeout=5) == slow.pk
        recording.result()
    assert states() == {"sent": 2}


async def _recorded(tasks: list[ChildTask], ends: "SimpleQueue[int]") -> None:
    """Record tasks one by one; put the durable ones into the queue."""
    left = asyncio.Semaphore(0)

    def end(ended: Sequence[ChildTask], is_durable: bool) -> None:
        for task in ended:
            assert is_durable
            ends.put(task.pk)
            left.release()

    made = Recorder(child_client.place_of_records() or {}, end)
    for task in tasks:
        made.take([task])
    for _ in tasks:
        await left.acquire()
    made.close()
