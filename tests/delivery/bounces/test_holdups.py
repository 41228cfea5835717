"""A refusal that is our fault suppresses nobody: emails wait, and admins are notified."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from channels.base import Holdup, Temporary
from channels.rules.meaning import Meaning
from delivery.alerts.pauses import tell_of_pauses
from delivery.issues.pause import resume_issue, resume_newsletter
from delivery.lanes.limits import resume_domain, resume_lanes
from delivery.letters.build import mail_letter
from delivery.models import Bounce, Delivery, Issue, Lane, LaneDomain
from subscriptions.models import Subscribable, Suppression
from tests.delivery.answered import send
from tests.delivery.ledger import HOUR, MINUTE, SECOND, a_lane, a_mail, claimed, ended, queued
from tests.examples import some_now
from tests.factories import NOW, DestinationFactory, IssueFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)

DOMAINS = [f"{name}.example" for name in ("one", "two", "three", "four", "five")]
NOT_OURS = "553 5.7.1 <letters@example.org>: Sender address rejected: not owned by user letters"
LISTED = "554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org"
NO_NAME = "550 5.7.25 The IP address sending this message does not have a PTR record"
NO_RELAY = "554 5.7.1 <reader@one.example>: Relay access denied"
TOO_MUCH = "550 5.7.28 Our system has detected an unusual rate of unsolicited mail"
TOO_LARGE = "552 5.3.4 Message size exceeds fixed limit"
# Postfix with recipient verification quotes another host.
VERIFIED = (
    "550 5.1.1 <reader@odd.example>: Recipient address rejected: undeliverable address: "
    "host mx.odd.example[192.0.2.9] said: "
)


@pytest.fixture(autouse=True)
def admin(client: Client) -> None:
    """Sign in an admin with an address."""
    client.force_login(User.objects.create_superuser("ada", "ada@boss.example", "x"))


@pytest.fixture(autouse=True)
def smtp(settings: Any) -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        yield server


def an_issue_for(*domains: str, each: int = 4) -> Issue:
    """Create an issue to that many readers in each domain, in turn."""
    issue: Issue = IssueFactory()
    lane = a_lane(concurrency=2)
    for number in range(each * len(domains)):
        domain = domains[number % len(domains)]
        to = DestinationFactory(core=f"reader{number}@{domain}", label=f"reader{number}@{domain}")
        queued(issue=issue, lane=lane, domain=domain, destination=to)
    return issue


def of(issue: Issue) -> set[str]:
    return set(Delivery.objects.filter(issue=issue).values_list("state", flat=True))


def told(now: datetime = NOW) -> str:
    """Return the only mail that the admins get now."""
    assert tell_of_pauses(now=now) == 1
    assert tell_of_pauses(now=now + MINUTE) == 0
    row = Delivery.objects.filter(kind="alert").latest("pk")
    return " ".join(mail_letter(row, now=now).text.split())


def nobody_is_blamed() -> bool:
    lost = Delivery.objects.filter(state__in=("failed", "cancelled"))
    return not (lost.exists() or Suppression.objects.exists() or Bounce.objects.filter(held=True).exists())


def all_arrive(smtp: SmtpServer, issue: Issue, now: datetime) -> bool:
    smtp.forget_answers()
    send(now)
    readers = sorted(row.destination.core for row in Delivery.objects.filter(issue=issue))
    got = [one for one in smtp.recipients if one.startswith("reader")]
    return of(issue) == {"sent"} and sorted(got) == readers


# --- refusals of every recipient


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["mail", "rcpt", "message"])
def test_a_sender_that_is_refused_pauses_its_newsletter(smtp: SmtpServer, stage: str) -> None:
    issue = an_issue_for(*DOMAINS)
    smtp.answer(stage, NOT_OURS)
    send()
    newsletter = Subscribable.objects.get()
    assert NOT_OURS in newsletter.sending_paused_reason
    assert nobody_is_blamed()
    assert of(issue) <= {"queued", "deferred", "held"}
    assert Lane.objects.get().free_at is None
    mail = told()
    assert NOT_OURS in mail
    assert "EMAIL_URL) to send from that address" in mail
    smtp.forget_answers()
    send(NOW + MINUTE)
    resume_newsletter(subscribable_id=newsletter.pk, now=NOW + HOUR)
    assert all_arrive(smtp, issue, NOW + 5 * HOUR)


def test_a_newsletter_with_two_readers_is_paused_too(smtp: SmtpServer) -> None:
    issue = an_issue_for("one.example", each=2)
    smtp.answer("rcpt", NOT_OURS)
    send()
    assert Subscribable.objects.get().sending_paused_at == NOW
    assert of(issue) <= {"queued", "deferred", "held"}


@pytest.mark.slow
def test_one_odd_domain_that_refuses_the_sender_pauses_nothing_and_its_letters_wait(smtp: SmtpServer) -> None:
    issue = an_issue_for(*DOMAINS)
    for number in range(0, 20, 5):
        smtp.answer("rcpt", NOT_OURS, recipient=f"reader{number}@one.example")
    assert send().sent == 16
    assert Subscribable.objects.get().sending_paused_at is None
    now, created = NOW, NOW - timedelta(days=3, hours=12)
    Delivery.objects.update(created_at=created)
    for _ in range(14):
        now = max(Delivery.objects.filter(state="deferred").values_list("due_at", flat=True))
        send(now)
    assert now > created + timedelta(days=4)
    assert of(issue) == {"sent", "deferred"}
    assert all_arrive(smtp, issue, now + 5 * HOUR)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "todo"),
    [
        (LISTED, "ask to be removed"),
        (NO_NAME, "check_mail"),
        (TOO_MUCH, "Lower the sending limit"),
        (NO_RELAY, "or EMAIL_URL)"),
    ],
)
def test_what_all_domains_refuse_because_of_us_lets_the_lane_rest(
    smtp: SmtpServer, reply: str, todo: str, client: Client
) -> None:
    issue = an_issue_for(*DOMAINS)
    smtp.answer("rcpt", reply)
    send()
    lane = Lane.objects.get()
    assert nobody_is_blamed()
    assert of(issue) <= {"queued", "deferred", "held"}
    assert (lane.refused_since, lane.failures) == (NOW, 1)
    assert lane.free_at is not None
    assert reply in lane.last_error
    page = client.get(reverse("admin:delivery_lane_change", args=[lane.pk])).content.decode()
    assert "What to do" in page
    # Large domains that reject our identity also pause the newsletter.
    newsletter = Subscribable.objects.get()
    assert (newsletter.sending_paused_at is None) == (reply in (LISTED, NO_RELAY))
    asked = len(smtp.commands)
    send(NOW + SECOND)
    assert len(smtp.commands) == asked
    mail = told()
    assert mail.count(reply) >= 1
    assert todo in mail
    assert "Emails of the account “default” are waiting" in mail
    smtp.forget_answers()
    resume_newsletter(subscribable_id=newsletter.pk, now=NOW + HOUR)
    assert all_arrive(smtp, issue, NOW + 5 * HOUR)
    lane.refresh_from_db()
    assert (lane.refused_since, lane.failures) == (None, 0)


def test_a_lane_that_is_resumed_by_hand_sends_what_its_domains_let_wait(smtp: SmtpServer) -> None:
    issue = an_issue_for(*DOMAINS)
    smtp.answer("rcpt", LISTED)
    send()
    resume_lanes(lane_ids=[Lane.objects.get().pk], now=NOW + SECOND)
    assert all_arrive(smtp, issue, NOW + SECOND)


# --- refusals of one domain


@pytest.mark.parametrize(
    "quoted",
    some_now(
        [
            "550 5.7.1 blocked using Spamhaus (in reply to RCPT TO command)",
            "554 5.7.1 <reader@odd.example>: Relay access denied (in reply to RCPT TO command)",
            "550 5.1.8 Sender address rejected: Domain not found (in reply to MAIL FROM command)",
        ]
    ),
)
def test_what_a_foreign_host_says_of_us_lets_its_domain_rest_and_nobody_else(
    smtp: SmtpServer, quoted: str
) -> None:
    issue = an_issue_for("odd.example", "fine.example", each=5)
    for number in range(0, 10, 2):
        smtp.answer("rcpt", VERIFIED + quoted, recipient=f"reader{number}@odd.example")
    assert send().sent == 5
    assert nobody_is_blamed()
    assert of(issue) == {"sent", "queued"}
    row = LaneDomain.objects.get()
    assert (row.domain, row.paused, row.failures, row.refused_since) == ("odd.example", False, 1, NOW)
    assert quoted in row.last_error
    assert Lane.objects.get().failures == 0
    asked = smtp.commands.count("rcpt")
    assert send(NOW + MINUTE).deferred == 0
    assert smtp.commands.count("rcpt") == asked
    assert "Emails to odd.example wait" in told()
    assert all_arrive(smtp, issue, NOW + 2 * HOUR)


@pytest.mark.django_db
@pytest.mark.slow
def test_a_domain_that_goes_on_refusing_rests_longer_and_in_the_end_waits_for_a_person() -> None:
    an_issue_for("odd.example", each=1)
    now, rests = NOW, []
    while True:
        (row,) = ended(blocked(), *claimed(now=now), at=now)
        domain = LaneDomain.objects.get()
        if domain.paused:
            break
        assert (row.state, row.attempts) == ("queued", 0)
        assert domain.free_at is not None
        rests.append(domain.free_at - now)
        now = domain.free_at
    assert rests[0] < 10 * MINUTE
    assert rests[-1] > HOUR
    assert max(rests) <= 6 * HOUR
    assert now - NOW > timedelta(days=4)
    assert domain.refused_since == NOW
    assert "every email since" in domain.paused_reason
    assert claimed(now=now + HOUR) == ()
    assert resume_domain(lane_id=domain.lane.pk, domain="odd.example", now=now) == 1
    assert len(claimed(now=now)) == 1


def blocked() -> Temporary:
    said = f"{Holdup.DOMAIN}: {LISTED}"
    return Temporary(said, status="5.7.1", holdup=Holdup.DOMAIN, meaning=Meaning.BLOCKED)


@pytest.mark.django_db
def test_several_connections_that_hear_it_of_one_claim_count_once() -> None:
    an_issue_for("odd.example", each=3)
    for job in claimed():
        ended(blocked(), job, at=NOW + SECOND)
    assert LaneDomain.objects.get().failures == 1


@pytest.mark.django_db
def test_a_domain_that_was_well_for_a_while_begins_anew() -> None:
    an_issue_for("odd.example", each=2)
    first, second = claimed()
    ended(blocked(), first)
    later = NOW + timedelta(days=9)
    ended(blocked(), second._replace(claimed_at=later), at=later)
    row = LaneDomain.objects.get()
    assert (row.failures, row.refused_since, row.paused) == (1, later, False)


@pytest.mark.django_db
def test_a_resting_domain_that_is_resumed_by_hand_is_tried_at_once(client: Client) -> None:
    an_issue_for("odd.example", each=2)
    ended(blocked(), *claimed())
    assert claimed(now=NOW + SECOND) == ()
    lane = Lane.objects.get()
    LaneDomain.objects.update(free_at=datetime.now(NOW.tzinfo) + HOUR)
    page = client.get(reverse("admin:delivery_lane_change", args=[lane.pk])).content.decode()
    assert "Resume a domain" in page
    assert "ask to be removed" in page
    resume_domain(lane_id=lane.pk, domain="odd.example", now=NOW + SECOND)
    assert len(claimed(now=NOW + SECOND)) == 2


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("reply", "state"),
    [
        ("450 4.1.8 <letters@example.org>: Sender address rejected: Domain not found", "held"),
        ("450 4.2.0 Greylisted", "failed"),
    ],
)
def test_what_was_put_off_for_days_because_of_us_waits_for_a_person_in_the_end(
    reply: str, state: str
) -> None:
    an_issue_for("odd.example", each=1)
    now = NOW
    for _ in range(60):
        jobs = claimed(now=now)
        if not jobs:
            break
        (row,) = ended(Temporary(reply, status=reply.split()[1]), *jobs, at=now)
        now = row.due_at
    assert (row.state, row.last_error) == (state, reply)
    assert now - NOW > timedelta(days=3)


# --- letters that are too large


@pytest.mark.parametrize("where", some_now(["ehlo", "mail", "message"]))
def test_a_letter_that_is_too_large_waits_as_a_whole(where: str, settings: Any, client: Client) -> None:
    limit = 2000 if where == "ehlo" else 10_000_000
    with SmtpServer(size_limit=limit) as smtp:
        settings.EMAIL_URL = smtp.url
        issue = an_issue_for(*DOMAINS, each=2)
        Issue.objects.update(html="<p>Long</p>" * 300)
        if where != "ehlo":
            smtp.answer(where, TOO_LARGE)
        send()
        assert nobody_is_blamed()
        issue.refresh_from_db()
        assert issue.paused_at == NOW
        assert "it is too large" in issue.paused_reason
        assert of(issue) <= {"queued", "held"}
        mail = told()
        assert "message_size_limit" in mail
        assert "bytes" in mail if where == "ehlo" else TOO_LARGE in mail
        page = client.get(reverse("admin:delivery_issue_change", args=[issue.pk])).content.decode()
        assert "it is too large" in page
    with SmtpServer() as well:
        settings.EMAIL_URL = well.url
        resume_issue(issue_id=issue.pk, now=NOW + HOUR)
        assert all_arrive(well, issue, NOW + 2 * HOUR)
        issue.refresh_from_db()
        assert issue.paused_reason == ""


def test_one_reader_whose_letter_is_too_large_waits_for_a_person_and_the_others_get_it(
    smtp: SmtpServer,
) -> None:
    issue = an_issue_for("one.example", each=3)
    Lane.objects.update(concurrency=1)
    smtp.answer("message", TOO_LARGE, recipient="reader2@one.example")
    assert send().sent == 2
    assert of(issue) == {"sent", "held"}
    assert Issue.objects.get().paused_at is None


def test_a_single_mail_that_is_too_large_fails_and_says_so(smtp: SmtpServer) -> None:
    a_lane()
    row = a_mail()
    smtp.answer("mail", TOO_LARGE)
    assert send().deferred == 1
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("failed", f"The email is too large: {TOO_LARGE}")


# --- dead addresses


@pytest.mark.parametrize(
    "reply",
    some_now(
        [
            "550 No such user here",
            "550 5.4.4 Host or domain name not found",
            "550 5.4.1 Recipient address rejected: Access denied",
            "550 5.1.10 Recipient address has null MX",
            "554 delivery error: dd This user doesn't have a yahoo.com account (reader@yahoo.com)",
            "556 Domain does not accept mail",
        ]
    ),
)
def test_an_address_that_is_dead_by_words_or_codes_is_not_written_to_again(
    smtp: SmtpServer, reply: str
) -> None:
    an_issue_for("one.example", each=3)
    smtp.answer("rcpt", reply, recipient="reader1@one.example")
    report = send()
    assert (report.sent, report.failed) == (2, 1)
    assert Suppression.objects.get().core == "reader1@one.example"
    assert Bounce.objects.get().kind == "hard"


@pytest.mark.slow
def test_a_domain_that_denies_everybody_in_words_alone_suppresses_nobody(smtp: SmtpServer) -> None:
    an_issue_for("odd.example", each=30)
    smtp.answer("rcpt", "550 No such user here")
    send()
    assert LaneDomain.objects.get().paused
    assert not Suppression.objects.exists()


@pytest.mark.parametrize(
    "reply", ["552 5.2.2 Over quota", "552 Requested mail action aborted", "550 Mailbox full"]
)
def test_a_full_mailbox_is_the_readers_and_counts_as_soft(smtp: SmtpServer, reply: str) -> None:
    an_issue_for("one.example", each=1)
    smtp.answer("rcpt", reply)
    assert send().failed == 1
    assert Bounce.objects.get().kind == "soft"
    assert not Suppression.objects.exists()
    assert Issue.objects.get().paused_at is None
