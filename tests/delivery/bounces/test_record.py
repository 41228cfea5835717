"""Bounced letters, from a pipe to the suppression of the address; forged reports have no effect."""

import io
import sys
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError

from channels.email.headers import return_path
from channels.email.letter_form import message_mark
from delivery.bounces.record import KEEP, KEEP_UNPROVEN, prune_bounces, release_bounces, take_report
from delivery.engine.send_pass import send_due
from delivery.management import bounces as bounce_commands
from delivery.management.bounces import TRY_AGAIN
from delivery.models import Bounce, Delivery, LaneDomain
from delivery.rules.bounce_policy import BounceKind
from subscriptions.models import Subscription, Suppression
from tests.console import json_of, refused
from tests.delivery.bounces.hosts import KINDS, report
from tests.delivery.bounces.mails import QMAIL, complaint, dsn, failed, reply
from tests.delivery.ledger import Clock, queued
from tests.examples import some_now
from tests.factories import NOW, DeliveryFactory, IssueFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture(autouse=True)
def _bounce_domain(settings: Any) -> None:
    settings.BOUNCE_DOMAIN = "bounces.example"


def sent(core: str = "", **changes: Any) -> Delivery:
    """Return a letter that was sent an hour ago."""
    if core:
        changes["subscription__destination__core"] = core
    row: Delivery = DeliveryFactory(**{"state": "sent", "sent_at": NOW - HOUR, **changes})
    return row


def back(delivery: Delivery) -> str:
    return return_path(delivery.pk)


def core(delivery: Delivery) -> str:
    return delivery.destination.core


def bounced(delivery: Delivery, status: str = "5.1.1", said: str = "", *, at: Any = NOW, **kw: Any) -> str:
    """Return the effect of a correct report about that delivery."""
    raw = dsn(failed(core(delivery), status, said), to=back(delivery), **kw)
    return take_report(raw=raw, now=at).effect


def suppressed() -> list[str]:
    return sorted(Suppression.objects.values_list("core", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_letter_that_comes_back_by_the_pipe_suppresses_its_address(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = queued()
    assert send_due(clock=Clock()).sent == 1
    envelope = smtp.messages[0].sender
    assert envelope == back(row)
    assert envelope.endswith("@bounces.example")
    assert len(envelope.partition("@")[0]) <= 64
    raw = dsn(failed(core(row), said="Unknown <user>"), to=envelope.lower())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert json_of("handle_bounce")["kind"] == "hard"
    assert suppressed() == [core(row)]
    assert "550 5.1.1 Unknown <user>" in Suppression.objects.get().reason
    assert Bounce.objects.get().delivery == row


def test_nothing_by_standard_input_is_a_mistake_that_the_mail_server_repeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert "Standard input was empty" in refused("handle_bounce")


@pytest.mark.parametrize("error", [OperationalError("away"), RuntimeError("odd")])
def test_whatever_goes_wrong_the_mail_server_keeps_the_mail_and_tries_again(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(**facts: Any) -> None:
        raise error

    monkeypatch.setattr(bounce_commands, "take_mail", failing)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QMAIL)))
    command = bounce_commands.HandleBounce(stderr=io.StringIO())
    assert command._exit_code(["manage.py", "handle_bounce"]) == TRY_AGAIN


@pytest.mark.parametrize(
    ("name", "reader"),
    some_now([*((name, "ada@example.org") for name in KINDS), ("dragonfly", "an-alias@else.example")]),
)
def test_a_return_address_of_ours_says_whom_any_hosts_report_is_about(name: str, reader: str) -> None:
    row = sent(reader)
    taken = take_report(raw=report(name, back(row)), now=NOW, recipient=back(row))
    assert taken.kind == KINDS[name]
    takes_off = KINDS[name] in (BounceKind.HARD, BounceKind.COMPLAINT)
    assert suppressed() == ([reader] if takes_off else [])


def test_a_report_that_names_nobody_is_about_the_letter_that_it_came_back_for() -> None:
    row = sent("ada@example.org")
    raw = QMAIL.replace(b"<ada@example.org>:", b"To whom it concerns:")
    assert take_report(raw=raw, now=NOW, recipient=back(row)).kind == "hard"
    assert suppressed() == ["ada@example.org"]


def test_the_same_report_twice_changes_nothing() -> None:
    row = sent()
    bounced(row)
    Suppression.objects.all().delete()
    raw = dsn(failed(core(row)), to=back(row)).replace(b"\n", b"\r\n")
    again = take_report(raw=b"Received: by another way\r\n" + raw, now=NOW)
    assert again.effect == "Known already."
    assert (suppressed(), Bounce.objects.count()) == ([], 1)


def test_the_recipient_of_the_envelope_proves_it_where_the_header_does_not() -> None:
    row = sent()
    raw = dsn(failed(core(row)))
    assert take_report(raw=raw, now=NOW, recipient=back(row).upper()).kind == "hard"
    assert suppressed() == [core(row)]


@pytest.mark.parametrize("mail", [dsn(failed("ada@example.org")), QMAIL, complaint(whom="ada@example.org")])
def test_a_report_that_proves_nothing_is_recorded_and_suppresses_no_one(mail: bytes) -> None:
    sent("ada@example.org")
    taken = take_report(raw=mail, now=NOW)
    assert (taken.kind, suppressed()) == ("unknown", [])
    bounce = Bounce.objects.get()
    assert (bounce.delivery, bounce.recipient, bounce.kind) == (None, "ada@example.org", "unknown")


def test_a_forged_return_address_proves_nothing() -> None:
    row, other = sent(), sent()
    stamp = back(other).split("-")[1]
    raw = dsn(failed(core(row)), to=f"bounces+{row.pk:x}-{stamp}")
    assert take_report(raw=raw, now=NOW).kind == "unknown"
    assert suppressed() == []


def test_a_return_address_outlives_a_change_of_the_key(settings: Any) -> None:
    row = sent()
    raw = dsn(failed(core(row)), to=back(row))
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    assert take_report(raw=raw, now=NOW).kind == "hard"


def about(delivery: Delivery, token: str = "") -> str:
    assert delivery.issue
    return f"<{message_mark(token or delivery.issue.token, delivery.pk)}.{delivery.pk}@sender.example>"


def test_a_message_id_of_ours_proves_it_together_with_the_right_recipient(settings: Any) -> None:
    row, other = sent(), sent()
    assert take_report(raw=dsn(failed(core(other)), about=about(row)), now=NOW).kind == "unknown"
    forged = dsn(failed(core(row)), about=about(row, token="guessed"), id="2")
    assert take_report(raw=forged, now=NOW).kind == "unknown"
    assert suppressed() == []
    assert take_report(raw=dsn(failed(core(row)), about=about(row), id="3"), now=NOW).kind == "hard"
    assert suppressed() == [core(row)]


@pytest.mark.django_db(transaction=True)
def test_the_message_id_that_is_sent_is_the_one_that_proves(smtp: SmtpServer, settings: Any) -> None:
    settings.BOUNCE_DOMAIN = ""
    (row,) = queued()
    send_due(clock=Clock())
    assert smtp.messages[0].sender == "letters@sender.example"
    raw = dsn(failed(core(row)), about=str(smtp.messages[0].email["Message-ID"]))
    assert take_report(raw=raw, now=NOW).kind == "hard"


def test_a_confirmations_message_id_could_be_guessed_and_proves_nothing() -> None:
    row = sent(kind="confirmation")
    mark = message_mark(f"{row.kind}-{row.key}", row.pk)
    raw = dsn(failed(core(row)), about=f"<{mark}.{row.pk}@sender.example>")
    assert take_report(raw=raw, now=NOW).kind == "unknown"
    assert bounced(row, id="2") == "Nothing arrives at this address."


def test_a_full_mailbox_suppresses_on_the_third_day() -> None:
    rows = [sent("ada@example.org")]
    rows += [sent(subscription=rows[0].subscription, issue=IssueFactory()) for _ in range(3)]
    said = [
        bounced(row, "5.2.2", "Mailbox full", at=NOW + DAY * day)
        for row, day in zip(rows, (0, 0, 1, 2), strict=True)
    ]
    assert [text[:15] for text in said[:3]] == ["Recorded: day 1", "Recorded: day 1", "Recorded: day 2"]
    assert said[3] == "Bounced on 3 days within 30."
    assert suppressed() == ["ada@example.org"]


def months(count: int) -> list[Delivery]:
    """Return the letters of a monthly newsletter to one reader."""
    rows = [sent("ada@example.org")]
    rows += [sent(subscription=rows[0].subscription, issue=IssueFactory()) for _ in range(count - 1)]
    return rows


def test_a_monthly_newsletter_cleans_its_list_too() -> None:
    effects = [bounced(row, "5.2.2", at=NOW + number * 31 * DAY) for number, row in enumerate(months(3))]
    assert effects[:2] == ["Recorded: day 1 of 3 within 30 days."] * 2
    assert effects[2] == "The last 3 emails bounced, over 62 days."
    assert suppressed() == ["ada@example.org"]


def test_a_single_mail_that_came_back_has_no_row() -> None:
    row = sent("ada@example.org", kind="welcome")
    assert bounced(row, "5.2.2") == "Recorded: day 1 of 3 within 30 days."


def test_a_letter_that_arrives_between_ends_the_row() -> None:
    for number, row in enumerate(months(5)):
        if number != 2:
            bounced(row, "5.2.2", at=NOW + number * 31 * DAY)
    assert suppressed() == []


def test_three_letters_of_one_week_are_no_row() -> None:
    letters = months(3)
    effects = [bounced(row, "5.2.2", at=NOW + number * HOUR) for number, row in enumerate(letters)]
    assert (suppressed(), effects[2]) == ([], "Recorded: day 1 of 3 within 30 days.")


def test_letters_after_the_one_that_came_back_say_nothing_yet() -> None:
    letters = months(4)
    for number, row in enumerate(letters[:3]):
        bounced(row, "5.2.2", at=NOW + number * 31 * DAY)
    assert suppressed() == ["ada@example.org"]


def test_a_row_of_refusals_that_are_about_us_takes_nobody_off() -> None:
    for number, row in enumerate(months(4)):
        bounced(row, "5.1.1", "blocked using a list", at=NOW + number * 31 * DAY)
    assert suppressed() == []


@pytest.mark.parametrize(
    ("status", "said"), [("5.7.1", "Message rejected as spam"), ("5.7.26", "DMARC"), ("5.6.0", "No")]
)
def test_what_is_about_us_does_not_suppress(status: str, said: str) -> None:
    assert bounced(sent(), status, said).startswith("Recorded only: it is about our email")
    assert (suppressed(), Bounce.objects.get().kind) == ([], "policy")


def test_a_delay_is_recorded_only() -> None:
    row = sent()
    raw = dsn({**failed(core(row), "4.4.1"), "Action": "delayed"}, to=back(row))
    assert take_report(raw=raw, now=NOW).kind == "delayed"
    assert suppressed() == []


@pytest.mark.parametrize("action", ["delivered", "relayed", "expanded"])
def test_a_report_of_success_leaves_no_trace(action: str) -> None:
    row = sent()
    raw = dsn({**failed(core(row), "2.0.0"), "Action": action}, to=back(row))
    assert take_report(raw=raw, now=NOW).effect == "Ignored."
    assert Bounce.objects.count() == 0


def test_an_alias_works_as_long_as_one_of_its_members_does() -> None:
    row = sent("all@example.org")
    reached = {**failed("bo@example.org", "2.0.0"), "Action": "relayed"}
    take_report(raw=dsn(failed("ada@example.org"), reached, to=back(row)), now=NOW)
    assert suppressed() == []
    raw = dsn(failed("ada@example.org"), failed("bo@example.org"), to=back(row), id="2")
    take_report(raw=raw, now=NOW)
    assert suppressed() == ["all@example.org"]


def test_of_many_recipients_ours_counts() -> None:
    row = sent("ada@example.org")
    raw = dsn(failed("Bo@example.org"), failed("Ada@EXAMPLE.org", "4.2.2", "over quota"), to=back(row))
    assert take_report(raw=raw, now=NOW).kind == "soft"
    assert suppressed() == []


@pytest.mark.parametrize("whom", ["", "ada@example.org"])
def test_a_complaint_suppresses_and_unsubscribes(whom: str) -> None:
    row = sent("ada@example.org")
    raw = complaint(return_path=back(row), whom=whom)
    assert take_report(raw=raw, now=NOW).effect == "Marked as spam by the subscriber."
    assert suppressed() == ["ada@example.org"]
    assert Subscription.objects.get().status == "unsubscribed"


def test_not_spam_and_automatic_replies_are_ignored() -> None:
    row = sent()
    for raw in (
        complaint("not-spam", return_path=back(row)),
        reply("Out of office", Auto_Submitted="auto-replied", X_To=back(row)),
    ):
        assert take_report(raw=raw, now=NOW).effect == "Ignored."
    assert (suppressed(), Bounce.objects.count()) == ([], 0)


def test_what_a_person_writes_to_the_return_address_is_recorded_only() -> None:
    row = sent()
    assert take_report(raw=reply(X_To=back(row)), now=NOW).kind == "unknown"
    bounce = Bounce.objects.get()
    assert (bounce.delivery, suppressed()) == (row, [])
    assert "Thank you!" in bounce.diagnostic


def test_a_late_report_does_not_suppress_who_has_confirmed_since() -> None:
    row = sent(subscription__confirmed_at=NOW - HOUR / 2)
    assert bounced(row) == "Recorded only: the subscriber has confirmed since that email."
    assert suppressed() == []


def test_a_domain_that_refuses_everybody_is_held_for_a_person() -> None:
    rows = [sent(issue=issue) for issue in [IssueFactory()] for _ in range(40)]
    said = [bounced(row, id=str(number)) for number, row in enumerate(rows[:12])]
    assert {text[:5] for text in said[9:]} == {"Held "}
    held = Bounce.objects.filter(held=True)
    assert (held.count(), suppressed()) == (12, [])
    assert LaneDomain.objects.get(paused=True).domain == "example.org"
    assert release_bounces(bounces=held[:1], suppressing=True, now=NOW) == 1
    assert release_bounces(bounces=Bounce.objects.filter(held=True), suppressing=False, now=NOW) == 11
    assert (len(suppressed()), Bounce.objects.filter(held=True).count()) == (1, 0)


@pytest.mark.slow
def test_as_many_bounces_of_a_large_domain_are_its_readers_own() -> None:
    issue = IssueFactory()
    rows = [sent(issue=issue) for _ in range(150)]
    for number, row in enumerate(rows[:12]):
        bounced(row, id=str(number))
    assert len(suppressed()) == 12


def test_old_reports_are_forgotten() -> None:
    bounced(sent())
    take_report(raw=QMAIL, now=NOW)
    assert prune_bounces(now=NOW + KEEP_UNPROVEN - DAY) == 0
    assert prune_bounces(now=NOW + KEEP_UNPROVEN + DAY) == 1
    assert prune_bounces(now=NOW + KEEP + DAY) == 1


@pytest.mark.parametrize("raw", [b"", b"\0\xff", b"x" * 100, b"Content-Type: text/plain\n" * 300 + b"\nx"])
def test_what_is_no_mail_is_recorded_with_the_reason(raw: bytes) -> None:
    assert take_report(raw=raw, now=NOW).kind == "unknown"
    assert Bounce.objects.get().diagnostic.startswith("It ")
