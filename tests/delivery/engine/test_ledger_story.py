"""Any order of events leaves each delivery in the state that it must have."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from channels.base import Permanent, Sent, Temporary
from common.ports.panels import CannotAct
from delivery.engine.claim import DELIVERY_LEASE, give_back, reap_expired, renew
from delivery.engine.outcomes import record_outcomes
from delivery.engine.send_task import ClaimedDelivery
from delivery.issues.pause import cancel_issue, finish_pauses, pause_issue, resume_issue
from delivery.models import Delivery
from delivery.models.delivery import NOT_FINISHED, WAITING
from tests.delivery.ledger import a_lane, claimed, ended_task, queued
from tests.examples import examples
from tests.factories import NOW, IssueFactory

COUNT = 3
ANY = st.integers(0, 50)


@dataclass
class Expected:
    state: str = "queued"
    due_at: datetime = NOW
    token: UUID | None = None
    lease_until: datetime = NOW
    attempts: int = 0

    def end(self, state: str) -> None:
        self.state, self.token = state, None


class Story(RuleBasedStateMachine):
    """Workers are alike: a row belongs to the one that has its token."""

    @initialize()
    def begin(self) -> None:
        self.undone = transaction.atomic()
        self.undone.__enter__()
        self.now, self.is_paused, self.is_cancelled = NOW, False, False
        self.issue = IssueFactory()
        rows = queued(COUNT, issue=self.issue, lane=a_lane(concurrency=50))
        self.expected = {row.pk: Expected() for row in rows}
        # Also those whose lease is lost: their servers may still answer.
        self.on_the_way: list[ClaimedDelivery] = []

    @rule()
    def claim(self) -> None:
        rows = claimed(now=self.now)
        due = [pk for pk, row in self.expected.items() if row.state in WAITING and row.due_at <= self.now]
        if self.is_cancelled or self.is_paused:
            for pk in due:
                self.expected[pk].end("cancelled" if self.is_cancelled else "held")
            due = []
        assert sorted(row.pk for row in rows) == due
        for row in rows:
            ours = self.expected[row.pk]
            ours.state, ours.token, ours.lease_until = "sending", row.token, self.now + DELIVERY_LEASE
        self.on_the_way += rows
        self.check()

    @rule(
        which=ANY, outcome=st.sampled_from((Sent("250 queued"), Temporary("451 later"), Permanent("550 no")))
    )
    def answer(self, which: int, outcome: Sent | Temporary | Permanent) -> None:
        if not self.on_the_way:
            return
        row = self.on_the_way.pop(which % len(self.on_the_way))
        record_outcomes([ended_task(row, outcome, self.now)])
        ours = self.expected[row.pk]
        if isinstance(outcome, Sent):
            if ours.state != "sent":
                ours.attempts += 1
            # It did arrive, also if another worker holds the row by now.
            ours.end("sent")
        elif ours.token == row.token:
            ours.attempts += 1
            ours.end("deferred" if isinstance(outcome, Temporary) else "failed")
            ours.due_at = Delivery.objects.get(pk=row.pk).due_at
            assert ours.state == "failed" or ours.due_at > self.now
        self.check()

    @rule(which=ANY)
    def give_back(self, which: int) -> None:
        if not self.on_the_way:
            return
        row = self.on_the_way.pop(which % len(self.on_the_way))
        give_back(rows=[row])
        if self.expected[row.pk].token == row.token:
            self.expected[row.pk].end("queued")
        self.check()

    @rule(seconds=st.sampled_from((30, 66, 300)), is_reaped=st.booleans())
    def wait(self, seconds: int, is_reaped: bool) -> None:
        """Perhaps until another worker has them, while the first one still waits for servers."""
        self.now += timedelta(seconds=seconds)
        if is_reaped:
            self.reap()
            self.claim()

    @rule(which=ANY)
    def renew(self, which: int) -> None:
        """Also after the lease ran out, as long as nobody reaped it."""
        tokens = sorted({row.token for row in self.on_the_way})[which % (len(self.on_the_way) + 1) :]
        kept = renew(tokens=tokens, now=self.now)
        ours = {(pk, row.token) for pk, row in self.expected.items() if row.token in tokens}
        assert kept == ours
        for pk, _ in ours:
            self.expected[pk].lease_until = self.now + DELIVERY_LEASE
        self.check()

    def reap(self) -> None:
        lost = [row for row in self.expected.values() if row.token and row.lease_until < self.now]
        assert reap_expired(now=self.now) == len(lost)
        for row in lost:
            row.attempts += 1
            row.end("queued" if row.attempts == 1 else "deferred")
        for pk, due_at in Delivery.objects.waiting().values_list("pk", "due_at"):
            self.expected[pk].due_at = due_at
        self.check()

    @rule(what=st.sampled_from(("pause", "resume", "resume", "finish", "cancel")))
    def act(self, what: str) -> None:
        getattr(self, what)()

    def pause(self) -> None:
        is_over = self.is_cancelled or not any(row.state in NOT_FINISHED for row in self.expected.values())
        try:
            if pause_issue(issue_id=self.issue.pk, now=self.now):
                self.is_paused = True
                self.end_all(WAITING, "held")
        except CannotAct:
            assert is_over
        self.check()

    def resume(self) -> None:
        resume_issue(issue_id=self.issue.pk, now=self.now)
        self.is_paused = False
        if not self.is_cancelled:
            self.end_all(("held",), "queued")
        self.check()

    def cancel(self) -> None:
        cancel_issue(issue_id=self.issue.pk, now=self.now)
        self.is_cancelled = True
        self.end_all((*WAITING, "held"), "cancelled")
        self.check()

    def finish(self) -> None:
        """Rows that came back from workers since follow their issue."""
        finish_pauses(now=self.now)
        if self.is_cancelled:
            self.end_all((*WAITING, "held"), "cancelled")
        elif self.is_paused:
            self.end_all(WAITING, "held")
        self.check()

    def end_all(self, states: tuple[str, ...], end: str) -> None:
        for row in self.expected.values():
            if row.state in states:
                row.end(end)

    def check(self) -> None:
        rows = Delivery.objects.values_list("pk", "state", "lease_token", "attempts")
        ours = self.expected.items()
        assert sorted(rows) == [(pk, row.state, row.token, row.attempts) for pk, row in ours]

    def teardown(self) -> None:
        """Whatever happened: once all goes well, each one was sent, failed for good or was cancelled."""
        if not hasattr(self, "undone"):
            return
        try:
            self.resume()
            for _ in range(3):
                self.now += timedelta(hours=9)
                self.reap()
                self.claim()
                while self.on_the_way:
                    self.answer(0, Sent("250 queued"))
            assert {row.state for row in self.expected.values()} <= {"sent", "failed", "cancelled"}
        finally:
            transaction.set_rollback(True)
            self.undone.__exit__(None, None, None)


@pytest.mark.django_db
def test_any_order_of_events_gives_the_right_states() -> None:
    run_state_machine_as_test(Story, settings=settings(max_examples=examples(100), stateful_step_count=25))
