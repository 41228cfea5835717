"""Events of the replay, at their times: people subscribe, leave and bounce, the editor writes."""

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from delivery.bounces.fields import BounceFinding
from delivery.bounces.record import take_finding
from delivery.issues.send_series import begin_for
from delivery.models import Delivery
from delivery.rules.bounce_policy import BounceKind
from demo.bridges import BRIDGED, FOLLOWED, connect_all, let_ada_follow
from demo.dressing import (
    APPROVED,
    APPROVED_FROM,
    ask_for_approval,
    begin_draft,
    extend_series,
    send_editors_email,
)
from demo.reader import PICKS, pick
from demo.replay import DAY, beginning
from reader.entries.place import place_due
from reader.models import Reader
from reader.timelines.marks import mark_all_read
from reader.timelines.pages import Timeline
from subscriptions.models import Subscribable, Subscription
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.leave import leave, say_why
from subscriptions.subscribers.tags import tag_people

PEOPLE = 184
# They have come for so long, most of them lately.
SPAN = timedelta(weeks=20)
FIRST_NAMES = (
    "Ana", "Bo", "Cleo", "Dan", "Eva", "Finn", "Gil", "Hana", "Ida", "Jon", "Kira", "Leo", "Mia", "Nils",
    "Olga", "Pia", "Quinn", "Rosa", "Sam", "Tove", "Uma", "Vera", "Wim",
)  # fmt: skip
LAST_NAMES = (
    "Aldous", "Bakker", "Castel", "Duarte", "Eklund", "Faber", "Greve", "Haldane", "Iwasaki", "Jansen",
    "Keller",
)  # fmt: skip
DOMAINS = ("example.org", "mail.example.com", "post.example.net", "inbox.example.com")
# A newsletter and its share of the people; some have two.
SHARES = {
    "harbour-weekly": 55,
    "harbour-monthly": 20,
    "harbour-morning": 7,
    "harbour-notes": 6,
    "harbour-ferry": 7,
    "harbour-handful": 5,
}
REASONS = ("too_often", "no_time", "elsewhere", "no_time", "not_for_me")
BOUNCES = {
    BounceKind.HARD: ("5.1.1", "550 5.1.1 No such user here"),
    BounceKind.SOFT: ("4.2.2", "452 4.2.2 The mailbox is full"),
    BounceKind.COMPLAINT: ("", "abuse report from the provider"),
}
BOUNCED = (BounceKind.HARD, BounceKind.SOFT, BounceKind.COMPLAINT, BounceKind.HARD)
EVERY_LEAVER, EVERY_FRIEND, EVERY_NEWCOMER = 11, 4, 4
# By then a Monday's issue had the posts, whatever day it is.
EXTENDED_FROM = 23 * DAY


@dataclass(frozen=True, slots=True)
class Person:
    """`left` is set for people who leave."""

    name: str
    email: str
    newsletters: tuple[str, ...]
    came: datetime
    left: datetime | None = None

    @property
    def address(self) -> str:
        return f"{self.name} <{self.email}>"


@dataclass(frozen=True, slots=True)
class Happening:
    at: datetime
    do: Callable[[datetime], object]


def people(end: datetime) -> list[Person]:
    """Return the same people on each day, and more new ones each week."""
    chance = random.Random(1931)  # noqa: S311
    names = [f"{first} {last}" for last in LAST_NAMES for first in FIRST_NAMES]
    chance.shuffle(names)
    found = []
    for number, name in enumerate(names[:PEOPLE]):
        came = end - SPAN * (1 - (number / PEOPLE) ** 0.45) - timedelta(hours=chance.uniform(1, 20))
        chosen = chance.choices(list(SHARES), list(SHARES.values()), k=2 if number % 9 == 4 else 1)
        email = f"{name.lower().replace(' ', '.')}@{chance.choice(DOMAINS)}"
        left = came + (end - came) * chance.uniform(0.3, 0.95) if number % EVERY_LEAVER == 5 else None
        found.append(Person(name, email, tuple(dict.fromkeys(chosen)), came, left))
    return found


class History:
    """Calls of `until` with rising times make everything happen that is due."""

    def __init__(
        self,
        newsletters: Mapping[str, Subscribable],
        end: datetime,
        *,
        with_bridges: bool = True,
        reader: Reader | None = None,
    ) -> None:
        self.newsletters, self.began, self.reader = newsletters, beginning(end), reader
        weekly = newsletters["harbour-weekly"]
        happenings = [
            Happening(end - timedelta(hours=7), self.unconfirmed),
            Happening(end - timedelta(days=12), partial(send_editors_email, weekly)),
            Happening(end - timedelta(days=1), partial(begin_draft, weekly)),
            Happening(end - APPROVED_FROM, lambda _: ask_for_approval(newsletters[APPROVED])),
        ]
        for number, person in enumerate(people(end)):
            happenings.append(Happening(person.came, self.coming(number, person)))
            if person.left:
                happenings.append(Happening(person.left, self.leaving(number, person)))
        for place, kind in enumerate(BOUNCED):
            happenings.append(Happening(end - timedelta(days=9 - 2 * place), self.bounce(kind, place)))
        if with_bridges:
            feed = weekly.feeds.get()
            happenings.append(Happening(end - BRIDGED, partial(connect_all, feed)))
            happenings.append(Happening(end - BRIDGED, partial(let_ada_follow, newsletters[FOLLOWED])))
        if weekly.welcome == Subscribable.Welcome.SERIES:
            happenings.append(Happening(end - EXTENDED_FROM, partial(extend_series, weekly)))
        if reader is not None:
            happenings.append(Happening(end - 10 * DAY, lambda _: mark_all_read(Timeline(reader))))
            for picked in PICKS:
                happenings.append(Happening(end - picked.days_ago * DAY, partial(pick, reader, picked)))
        self.waiting = sorted(happenings, key=lambda one: one.at, reverse=True)

    def until(self, now: datetime) -> None:
        if self.reader is not None:
            place_due(clock=lambda: now)
        while self.waiting and self.waiting[-1].at <= now:
            happening = self.waiting.pop()
            happening.do(happening.at)

    def coming(self, number: int, person: Person) -> Callable[[datetime], None]:
        def come(now: datetime) -> None:
            for name in person.newsletters:
                newsletter = self.newsletters[name]
                row = subscribe(subscribable=newsletter, data={"email": person.address}, now=now)
                # Others were there before, or were added by hand. Each email takes 60 ms of the replay.
                is_new = now > self.began and number % EVERY_NEWCOMER == 3
                if is_new and newsletter.welcome == Subscribable.Welcome.SERIES:
                    begin_for(subscription=row, now=now)
            if number % EVERY_FRIEND == 0:
                tag_people(destinations=[row.destination_id], names=["friends"])

        return come

    def leaving(self, number: int, person: Person) -> Callable[[datetime], None]:
        def go(now: datetime) -> None:
            for row in Subscription.objects.filter(destination__core=person.email):
                leave(subscription=row, now=now)
                say_why(subscription=row, why=REASONS[number % len(REASONS)])

        return go

    def bounce(self, kind: BounceKind, place: int) -> Callable[[datetime], None]:
        def come_back(now: datetime) -> None:
            rows = Delivery.objects.filter(
                state=Delivery.State.STORED,
                issue__subscribable__name="harbour-weekly",
                subscription__status=Subscription.Status.CONFIRMED,
                destination__core__contains=".",
                bounces=None,
            ).exclude(destination__core__endswith="@example.org")
            delivery = rows.order_by("-issue_id", "pk")[5 * place + 2]
            status, words = BOUNCES[kind]
            finding = BounceFinding(kind, (delivery.destination.core,), status, words)
            digest = hashlib.sha256(f"{kind}{place}".encode()).hexdigest()
            take_finding(delivery=delivery, finding=finding, digest=digest, now=now)

        return come_back

    def unconfirmed(self, now: datetime) -> None:
        for name in ("Noor Visser", "Otis Wren", "Paula Young"):
            email = f"{name} <{name.lower().replace(' ', '.')}@example.org>"
            weekly = self.newsletters["harbour-weekly"]
            subscribe(subscribable=weekly, data={"email": email}, now=now, confirmed=False)
