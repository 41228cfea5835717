"""A year of a series in simulated time: people join, pause, leave, come back, switch and move house.

Passes are killed, and the database is restored from backups of a day and a half before.
"""

import random
from collections import defaultdict
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from channels.base import Sent
from delivery.engine import claim
from delivery.issues import publish
from delivery.issues import send_series as sending
from delivery.issues.frequency_switches import apply_frequency_changes, switches_to_apply
from delivery.issues.pause import cancel_delivery
from delivery.issues.send_series import begin_for, due_series, send_series
from delivery.issues.series import add_email, emails_of, set_days, switch_on
from delivery.models import Delivery, Lane
from subscriptions.models import SeriesRun, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.address_change import DIGESTS, confirm_change
from subscriptions.subscribers.frequency import CannotSwitch, switch, undo_switch
from subscriptions.subscribers.leave import leave, undo_leaving
from subscriptions.subscribers.sign_in import digest_of
from subscriptions.subscribers.sign_up import confirm_waiting
from tests.delivery.ledger import HOUR, claimed, ended
from tests.examples import NIGHTLY
from tests.factories import (
    NOW,
    DestinationFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

DAY = timedelta(days=1)
LESSONS = [f"Lesson {number}" for number in range(1, 8)]
ZONES = ("", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati")
# Restores on these days, of a backup made 36 hours before.
RESTORED = (15, 100, 220)
BACKUP_AGE = timedelta(hours=36)


class Killed(BaseException):
    """The process ended here."""


class Year:
    """`arrived`: what came to each person, in order, whatever the database knows."""

    def __init__(self, people: int, days: int, seed: int) -> None:
        self.chance = random.Random(seed)
        self.people, self.days = people, days
        self.arrived: dict[str, list[str]] = defaultdict(list)
        # From a person's present address to the first.
        self.moved: dict[str, str] = {}
        self.is_lost = False
        self.daily: Any = SubscribableFactory(
            arrangement="daily", welcome="series", time_zone="Europe/Berlin"
        )
        feeds = list(self.daily.feeds.all())
        self.weekly: Any = SubscribableFactory(arrangement="weekly", feeds=feeds, welcome="words")
        for number, subject in enumerate(LESSONS):
            letter = add_email(newsletter=self.daily, author="ada", now=NOW, subject=subject, markdown="Hi")
            switch_on(letter_id=letter.pk, version=letter.version, now=NOW)
            set_days(letter_id=letter.pk, days=number and 1 + number % 3, now=NOW)

    def run(self) -> None:
        moment = NOW
        backups = {NOW + day * DAY for day in RESTORED if day < self.days}
        while moment < NOW + self.days * DAY:
            if moment in backups:
                self.restore(moment)
                moment += BACKUP_AGE
                continue
            self.hour(moment)
            moment += HOUR
        # Everybody who pauses or waits comes to the end.
        Subscription.objects.update(paused_until=None)
        for day in range(60):
            self.work(moment + day * DAY)
            self.work(moment + day * DAY + 12 * HOUR)

    def hour(self, now: datetime) -> None:
        joins = self.people / (self.days * 20)
        while self.chance.random() < joins:
            self.join(now)
            joins -= 1
        if self.chance.random() < self.people / 3000:
            self.something(now)
        self.work(now)

    def join(self, now: datetime) -> None:
        zone = self.chance.choice(ZONES)
        if self.chance.random() < 0.1:
            row = SubscriptionFactory(subscribable=self.daily)  # as by an import
            if self.chance.random() < 0.5:
                begin_for(subscription=row, now=now)
            return
        confirm_waiting([UnconfirmedFactory(subscribable=self.daily)], now=now, origin=Origin(zone=zone))

    def something(self, now: datetime) -> None:
        """Let somebody who is in the series do something."""
        rows = SeriesRun.objects.filter(ended_at=None).select_related("subscription__destination")
        runs = list(rows.order_by("pk"))
        if not runs:
            return
        row = self.chance.choice(runs).subscription
        {
            0: self.pause, 1: self.leave, 2: self.come_back, 3: self.switch, 4: self.move, 5: self.undo
        }[self.chance.randrange(6)](row, now)  # fmt: skip

    def pause(self, row: Subscription, now: datetime) -> None:
        until = now + self.chance.randrange(1, 20) * DAY
        Subscription.objects.filter(pk=row.pk).update(paused_until=self.chance.choice((None, until)))

    def leave(self, row: Subscription, now: datetime) -> None:
        leave(subscription=row, now=now, by_reader=self.chance.random() < 0.7)

    def undo(self, row: Subscription, now: datetime) -> None:
        if not self.is_lost:
            undo_leaving(subscription=row, now=now)
        try:
            undo_switch(subscription=row, now=now)
        except CannotSwitch:
            return

    def come_back(self, row: Subscription, now: datetime) -> None:
        # If their return is lost with the database, nothing tells that they got more.
        if row.status == "unsubscribed" and not self.is_lost:
            row.ended_at = None
            row.status = "unconfirmed"
            confirm_waiting([row], now=now, origin=Origin())

    def switch(self, row: Subscription, now: datetime) -> None:
        to = self.weekly if row.subscribable_id == self.daily.pk else self.daily
        try:
            switch(subscription=row, to=to, now=now, at_once=self.chance.random() < 0.5)
        except CannotSwitch:
            return

    def move(self, row: Subscription, now: datetime) -> None:
        old, new = row.destination, DestinationFactory()
        digest = digest_of(str(new.pk), DIGESTS)
        old.changes_away.create(new=new, asked_at=now, expires_at=now + DAY, confirm_digest=digest)
        confirm_change(token=str(new.pk), now=now)
        self.moved[new.core] = self.moved.get(old.core, old.core)

    def work(self, now: datetime) -> None:
        """Run what workers run. One pass in twenty is killed where it hurts."""
        questions = (*switches_to_apply(now), due_series(now), Delivery.objects.due(now))
        if not any(question.exists() for question in questions):
            return
        apply_frequency_changes(now=now)
        if self.chance.random() < 0.05:
            self.killed_pass(now)
        send_series(clock=lambda: now)
        for lane in Lane.objects.filter(kind="email"):
            while rows := claimed(now=now, lane=lane):
                ended(Sent(), *rows, at=now)
                for row in rows:
                    if row.issue_id is not None:
                        core = row.destination.core
                        self.arrived[self.moved.get(core, core)].append(self.subjects[row.issue_id])

    def killed_pass(self, now: datetime) -> None:
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            patch.setattr(sending, "queue", self.dying(publish.queue))
            send_series(clock=lambda: now)

    def dying(self, act: Any) -> Any:
        def die(**facts: Any) -> int:
            act(**facts)
            raise Killed

        return die

    @property
    def subjects(self) -> dict[int, str]:
        return dict(emails_of(self.daily).values_list("issue", "subject"))

    def restore(self, now: datetime) -> None:
        """Go on for a day and a half, then lose it. An admin cancels what had arrived."""
        moved, self.is_lost = dict(self.moved), True
        point = transaction.savepoint()
        for hour in range(int(BACKUP_AGE / HOUR)):
            self.hour(now + hour * HOUR)
        transaction.savepoint_rollback(point)
        self.moved, self.is_lost = moved, False
        now += BACKUP_AGE
        claim.begin(now=now)
        self.work(now)
        # Claims hold one email to each person at a time.
        while Delivery.objects.waiting().exists():
            self.work(now)
        for row in Delivery.objects.filter(state="held").select_related("destination", "issue"):
            core = row.destination.core
            if row.issue is not None and row.issue.subject in self.arrived[self.moved.get(core, core)]:
                cancel_delivery(delivery=row)
        claim.go(now=now)


def check(year: Year) -> None:
    lessons = set(LESSONS)
    complete = 0
    for core, subjects in year.arrived.items():
        assert len(set(subjects)) == len(subjects), f"{core}: twice"
        assert subjects == LESSONS[: len(subjects)], f"{core}: order"
    runs = SeriesRun.objects.select_related("subscription__destination")
    for run in runs:
        core = run.subscription.destination.core
        subjects = year.arrived[year.moved.get(core, core)]
        if run.ended_at is not None:
            assert set(subjects) == lessons, f"{core} lacks some"
            complete += 1
        elif run.subscription.status == "confirmed" and run.subscription.ended_at is None:
            pytest.fail(f"{core} still waits: {run.due_at}, {subjects}")
    assert complete > year.people / 3


@pytest.mark.parametrize(("people", "days", "seed"), [(30, 35, 1), pytest.param(1000, 365, 2, marks=NIGHTLY)])
def test_each_email_arrives_once_in_order_and_none_is_missing(people: int, days: int, seed: int) -> None:
    year = Year(people, days, seed)
    year.run()
    check(year)
