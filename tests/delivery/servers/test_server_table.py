"""Table of mail servers' habits: a letter to ten readers, and the resulting rows.

Whatever the server does, every reachable reader has got the letter once when it works again.
"""

from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from delivery.issues.pause import resume_issue, resume_newsletter
from delivery.lanes.limits import resume_domain
from delivery.models import Attempt, Delivery, Issue, LaneDomain
from subscriptions.models import Subscribable, Suppression
from tests.channels.email_certificates import make_certificate, server_context
from tests.delivery.answered import send
from tests.delivery.ledger import HOUR, a_lane, queued
from tests.examples import some_now
from tests.factories import NOW, DestinationFactory, IssueFactory
from tests.servers.smtp_server import DROP, SmtpServer
from tests.services import free_port

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]

READERS = 10
ODD = "reader3@three.example"
QUOTED = "550 5.1.1 Recipient address rejected: undeliverable address: host mx.three.example said: "
ALL = {"queued", "deferred", "held", "sent"}
PUT_OFF = {"deferred", "sent"}


@dataclass(frozen=True)
class Row:
    """Server, and states afterwards: of all readers, of ODD if it differs, and of ODD in the end."""

    server: dict[str, Any] = field(default_factory=dict)
    answers: tuple[tuple[Any, ...], ...] = ()
    states: Set[str] = frozenset({"sent"})
    odd: str = ""
    in_the_end: str = "sent"
    suppressed: bool = False
    twice: bool = False


def always(stage: str, reply: str) -> tuple[tuple[Any, ...], ...]:
    return ((stage, reply, "*", None),)


def once(stage: str, reply: str, times: int = 1) -> tuple[tuple[Any, ...], ...]:
    return ((stage, reply, "*", times),)


def to_odd(stage: str, reply: str) -> tuple[tuple[Any, ...], ...]:
    return ((stage, reply, ODD, None),)


def gone(reply: str) -> Row:
    """ODD does not exist."""
    return Row(answers=to_odd("rcpt", reply), odd="failed", in_the_end="failed", suppressed=True)


def waits(reply: str) -> Row:
    """ODD's domain refuses our letters."""
    return Row(answers=to_odd("rcpt", reply), odd="queued")


TABLE = {
    "well": Row(),
    "slow after DATA": Row({"delay": 0.3}),
    "421 now and then": Row(answers=once("mail", "421 4.3.2 Closing", 1), states=ALL),
    "no SMTPUTF8": Row({"utf8": False}),
    "drops one connection": Row(answers=once("rcpt", DROP), states=PUT_OFF),
    "lost after the final dot": Row(answers=once("taken", DROP), states=PUT_OFF, twice=True),
    "greylists all once": Row(answers=once("rcpt", "450 4.2.0 Greylisted", READERS), states={"deferred"}),
    "takes three connections": Row({"takes": 3}),
    "takes one connection": Row({"takes": 1, "full": DROP}),
    "takes none": Row({"takes": 0}, states={"queued"}),
    "wants another password": Row({"login": ("letters", "right")}, states={"queued"}),
    "refuses the sender at MAIL": Row(
        answers=always("mail", "553 5.7.1 Sender address rejected: not owned by user"), states=ALL
    ),
    "refuses the sender at RCPT": Row(
        answers=always("rcpt", "553 5.7.1 Sender address rejected: not owned by user"), states=ALL
    ),
    "is on a block list": Row(
        answers=always("rcpt", "554 5.7.1 Client host blocked using zen.spamhaus.org"), states=ALL
    ),
    "relay for": Row(answers=always("rcpt", "554 5.7.1 Relay access denied"), states=ALL),
    "daily quota": Row(answers=always("message", "550 5.4.5 Daily sending limit exceeded"), states=ALL),
    "SIZE in EHLO": Row({"size_limit": 300}, states={"queued", "held"}),
    "552 at MAIL": Row(answers=always("mail", "552 5.3.4 Message too large"), states={"queued", "held"}),
    "a foreign host on a list": waits(f"{QUOTED}550 5.7.1 Spamhaus"),
    "a foreign host that relays not": waits(f"{QUOTED}554 5.7.1 Relay access denied"),
    "no such user, by code": gone("550 5.1.1 No"),
    "no such user, by words": gone("550 No such user here"),
    "no host": gone("550 5.4.4 Host not found"),
    "null MX": gone("556 5.1.10 Null MX"),
    "access denied": gone("550 5.4.1 Recipient address rejected: Access denied"),
    "mailbox full": Row(answers=to_odd("message", "552 5.2.2 Over quota"), odd="failed", in_the_end="failed"),
    "spam to one": Row(
        answers=to_odd("message", "554 5.7.1 Looks like spam"), odd="failed", in_the_end="failed"
    ),
}


@pytest.mark.parametrize("name", some_now(TABLE))
def test_every_reader_has_got_it_once_or_it_says_why(name: str, settings: Any) -> None:
    row = TABLE[name]
    issue = a_letter()
    with SmtpServer(**row.server) as server:
        settings.EMAIL_URL = server.url.replace("right", "wrong")
        for stage, reply, recipient, times in row.answers:
            server.answer(stage, reply, recipient=recipient, times=times)
        send()
        states = ledger(issue)
        odd = states.pop(ODD)
        assert set(states.values()) <= row.states, states
        assert odd == row.odd if row.odd else odd in row.states
        got = list(server.recipients)
    assert Suppression.objects.filter(core=ODD).exists() == row.suppressed
    assert Suppression.objects.count() == row.suppressed
    got += afterwards(issue, settings)
    in_the_end = ledger(issue)
    assert in_the_end.pop(ODD) == row.in_the_end
    assert set(in_the_end.values()) == {"sent"}
    assert set(got) == {reader for reader in ledger(issue) if reader != ODD or row.in_the_end == "sent"}
    assert len(got) - len(set(got)) == row.twice
    assert not Delivery.objects.filter(issue=issue, lease_token__isnull=False).exists()


@contextmanager
def unreachable(folder: Path) -> Iterator[str]:
    yield f"smtp://127.0.0.1:{free_port()}"


@contextmanager
def self_signed(folder: Path) -> Iterator[str]:
    with SmtpServer(tls="implicit", context=server_context(make_certificate(folder))) as server:
        yield server.url


@pytest.mark.parametrize("server", some_now([unreachable, self_signed]))
def test_a_server_that_cannot_be_talked_to_costs_no_attempt(
    server: Any, settings: Any, tmp_path: Path
) -> None:
    issue = a_letter()
    with server(tmp_path) as settings.EMAIL_URL:
        send()
    assert set(ledger(issue).values()) == {"queued"}
    assert not Attempt.objects.exists()
    assert sorted(afterwards(issue, settings)) == sorted(ledger(issue))
    assert set(ledger(issue).values()) == {"sent"}


def a_letter() -> Issue:
    """Create a letter to ten readers in ten domains."""
    issue: Issue = IssueFactory()
    lane = a_lane(concurrency=4)
    words = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    for number in range(READERS):
        core = f"reader{number}@{words[number]}.example"
        to = DestinationFactory(core=core, label=core)
        queued(issue=issue, lane=lane, domain=core.partition("@")[2], destination=to)
    return issue


def ledger(issue: Issue) -> dict[str, str]:
    rows = Delivery.objects.filter(issue=issue)
    return dict(rows.values_list("destination__core", "state"))


def afterwards(issue: Issue, settings: Any) -> list[str]:
    """Return who gets the letter when the server works and a person has resumed all pauses."""
    later = NOW + timedelta(days=1)
    with SmtpServer() as well:
        settings.EMAIL_URL = well.url
        for row in LaneDomain.objects.filter(paused=True):
            resume_domain(lane_id=row.lane_id, domain=row.domain, now=later)
        resume_issue(issue_id=issue.pk, now=later)
        resume_newsletter(subscribable_id=Subscribable.objects.get().pk, now=later)
        for hour in range(3):
            send(later + hour * HOUR)
        return list(well.recipients)
