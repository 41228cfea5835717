"""After a person is erased, no row of the database mentions them, and sending still works.

Data that is deleted after a time, data that is kept, and that nothing is sent twice for it.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, models, transaction
from django.test import Client
from django.urls import reverse

from channels.base import Permanent, Sent
from common.ports.personal_data import sources
from delivery.engine.send_pass import send_due
from delivery.issues.pause import NotRetryable, retry_delivery
from delivery.issues.publish import publish
from delivery.models import Attempt, Bounce, Delivery, Issue, MailboxMessage, Webhook, WebhookCall
from delivery.models.delivery import FORGOTTEN_CONTEXT, NOT_FINISHED
from delivery.privacy.retention import prunable, prune_old_data
from fediverse.models import Actor, Follower
from subscriptions.models import (
    Consent,
    Destination,
    Notice,
    SeriesRun,
    SignIn,
    Subscription,
    Suppression,
    Tagging,
)
from subscriptions.privacy.erase import ERASED, KEPT_AFTER_ERASURE, count_held, erase, sweep_erased
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.address_change import ask_for_change
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from subscriptions.subscribers.sign_up import sign_up
from subscriptions.subscribers.tags import tag_people
from tests.console import json_of, printed, refused
from tests.delivery.ledger import Clock, a_lane, a_mail, claimed, ended, queued
from tests.factories import (
    NOW,
    AttemptFactory,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    IssueFactory,
    LeftFactory,
    MailboxMessageFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    an_issue,
)
from tests.races import beside
from tests.servers.smtp_server import SmtpServer

DAY = timedelta(days=1)
LATER = NOW + 91 * DAY
OVER: dict[str, Any] = {"state": "sent", "sent_at": NOW}
pytestmark = pytest.mark.django_db
NAMES = ("ada.lovelace", "Ada Lovelace", "lovelace.example")
ADDRESS = "ada.lovelace@lovelace.example"


@pytest.fixture
def ada() -> Destination:
    """Create a person with every kind of data."""
    reader: Destination = DestinationFactory(core=ADDRESS, label="Ada.Lovelace@lovelace.example")
    names = {"display_name": "Ada Lovelace", "asked_name": "Ada Lovelace"}
    one = SubscriptionFactory(destination=reader, language="de", **names)
    LeftFactory(destination=reader, **names)
    Consent.objects.create(subscription=one, act="asked", words="Ada Lovelace wants it", ip="192.0.2.7")
    SeriesRun.objects.create(subscription=one, newsletter=one.subscribable, time_zone="Europe/London")
    tag_people(destinations=[reader.pk], names=["Friends of the harbour"])
    NoticeFactory(subscription=one, context={"for": ADDRESS})
    facts = {"subscription": one, "domain": "lovelace.example", "language": "de"}
    words = {"last_error": f"550 <{ADDRESS}> unknown", "remote_id": f"<1.{ADDRESS}>"}
    for state in ("sent", "stored", "failed", "cancelled", "queued", "deferred", "held"):
        sent_at = NOW if state in ("sent", "stored") else None
        row = DeliveryFactory(state=state, sent_at=sent_at, **facts, **words)
        AttemptFactory(delivery=row, text=f"550 <{ADDRESS}> unknown")
        BounceFactory(delivery=row, diagnostic=f"550 {ADDRESS}", domain="lovelace.example", held=True)
    stored = Delivery.objects.get(state="stored")
    MailboxMessageFactory(delivery=stored, raw=f"To: {ADDRESS}".encode())
    DeliveryFactory(kind="sign_in", context={"sign_in_url": "secret"}, **facts)
    BounceFactory(delivery=None, destination=None, recipient=ADDRESS.title(), diagnostic=f"No {ADDRESS}")
    ask_for_link(email=ADDRESS, ip="192.0.2.7", now=NOW)
    mail_links(now=NOW)
    ask_for_change(reader=reader, email="ada@new.example", ip="192.0.2.7", now=NOW)
    # The second sign-in request is not processed yet.
    ask_for_link(email=ADDRESS, ip="192.0.2.7", now=NOW)
    hook = Webhook.objects.create(name="CRM", url="https://crm.example/", events=["subscription.confirmed"])
    WebhookCall.objects.create(
        webhook=hook, event_id="evt_1", kind="subscription.confirmed", body=ADDRESS, destination=reader,
        give_up_at=NOW,
    )  # fmt: skip
    admin = get_user_model().objects.create_user("admin")
    for about in (reader, one):
        LogEntry.objects.log_actions(admin.pk, [about], CHANGE, change_message=f"Wrote to {ADDRESS}")
    return reader


def told_of(*needles: str) -> list[str]:
    """Return the columns of the whole database that contain any of these."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        for row in model._default_manager.values():
            text = " ".join(
                bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
                for value in row.values()
            ).lower()
            found += [f"{model.__name__}: {needle}" for needle in needles if needle.lower() in text]
    return found


def test_nothing_in_the_database_tells_of_somebody_who_was_erased(ada: Destination) -> None:
    assert told_of(*NAMES, "192.0.2.7", "secret")
    erase(destination=ada, now=NOW)
    assert told_of(*NAMES, "192.0.2.7", "secret") == []
    for model in (Subscription, Consent, Tagging, Notice, SignIn, Attempt, MailboxMessage, WebhookCall):
        assert not model._default_manager.exists(), model


def test_others_keep_all_that_is_theirs(ada: Destination) -> None:
    subscription = SubscriptionFactory(language="fr")
    row = DeliveryFactory(
        subscription=subscription, state="failed", last_error="550 No", remote_id="1", language="fr"
    )
    AttemptFactory(delivery=row)
    bounce = BounceFactory(delivery=row)
    theirs = [subscription, row, bounce, subscription.destination]
    before = [str(type(one).objects.values().get(pk=one.pk)) for one in theirs]
    held = count_held(subscription.destination)
    erase(destination=ada, now=NOW)
    assert [str(type(one).objects.values().get(pk=one.pk)) for one in theirs] == before
    assert count_held(subscription.destination) == held


def test_the_ledger_stays_narrow_and_nobodys(ada: Destination) -> None:
    sent = Delivery.objects.get(state="sent")
    erase(destination=ada, now=NOW)
    row = Delivery.objects.get(pk=sent.pk)
    assert (row.issue_id, row.state, row.sent_at, row.subscription) == (sent.issue_id, "sent", NOW, None)
    nobody = row.destination
    assert (nobody.pk, nobody.core, nobody.erased_at) == (ada.pk, f"erased-{ada.pk}", NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        DeliveryFactory(issue=row.issue, subscription=None, destination=nobody)


def test_what_waits_is_cancelled_with_the_reason(ada: Destination) -> None:
    waiting = list(Delivery.objects.filter(state__in=["queued", "deferred", "held"]))
    assert len(waiting) == 4
    erase(destination=ada, now=NOW)
    for row in waiting:
        row.refresh_from_db()
        assert (row.state, row.held_for, row.last_error) == ("cancelled", "", ERASED)
    assert claimed() == ()


def test_a_bounce_that_waited_for_an_admin_waits_no_more(ada: Destination) -> None:
    erase(destination=ada, now=NOW)
    assert not Bounce.objects.filter(held=True).exists()
    # They still count, without personal data, so that bounce rates stay right.
    assert Bounce.objects.filter(destination=ada, kind="hard").count() == 7


def test_a_suppression_stays_and_says_nothing_more_than_it_must(ada: Destination) -> None:
    SuppressionFactory(core=ADDRESS, reason=f"The server said: <{ADDRESS}> Ada Lovelace does not live here.")
    erase(destination=ada, now=NOW)
    assert told_of(*NAMES) == [f"Suppression: {name}" for name in ("ada.lovelace", "lovelace.example")]
    assert Suppression.objects.get().reason == KEPT_AFTER_ERASURE


def test_a_second_time_there_is_nothing_left_to_erase(ada: Destination) -> None:
    assert erase(destination=ada, now=NOW)["subscriptions"] == 2
    gone = Destination.objects.get(pk=ada.pk)
    assert set(erase(destination=gone, now=NOW + timedelta(days=1)).values()) == {0}
    gone.refresh_from_db()
    assert gone.erased_at == NOW


def test_whoever_comes_back_is_somebody_new(ada: Destination) -> None:
    letter = SubscribableFactory()
    erase(destination=ada, now=NOW)
    sign_up(subscribables=[letter], email=ADDRESS, name="", origin=Origin(), now=NOW + timedelta(days=1))
    fresh = Subscription.objects.get()
    assert fresh.destination_id != ada.pk
    assert (fresh.status, fresh.destination.core) == ("unconfirmed", ADDRESS)


def test_nobody_is_no_recipient(ada: Destination) -> None:
    letter = Subscription.objects.get(status="confirmed").subscribable
    a_lane()
    erase(destination=ada, now=NOW)
    assert publish(issue_id=IssueFactory(subscribable=letter, published_at=None).pk, now=NOW) == 0


def test_other_programs_hear_that_they_left_and_forget_it(ada: Destination) -> None:
    Webhook.objects.update(events=["subscription.left"])
    erase(destination=ada, now=NOW)
    call = WebhookCall.objects.get()
    assert (call.kind, call.destination, call.forget) == ("subscription.left", None, True)
    assert '"how":"erased"' in call.body


@pytest.mark.parametrize("words", ["", f"550 <{ADDRESS}> unknown"])
def test_what_a_worker_had_in_its_hands_is_swept_later(words: str) -> None:
    reader = DestinationFactory(core=ADDRESS)
    queued(1, subscription=SubscriptionFactory(destination=reader), domain="lovelace.example")
    (job,) = claimed()
    erase(destination=reader, now=NOW)
    outcome: Any = Permanent(words) if words else Sent(f"<1.{ADDRESS}>")
    (row,) = ended(outcome, job)
    assert row.state == ("failed" if words else "sent")
    assert told_of(*NAMES)
    assert sweep_erased(now=NOW + timedelta(hours=1)) > 0
    assert told_of(*NAMES) == []
    assert sweep_erased(now=NOW + timedelta(hours=2)) == 0
    row.refresh_from_db()
    assert row.state == ("failed" if words else "sent")


def test_sweeping_suppresses_nobody(ada: Destination) -> None:
    erase(destination=ada, now=NOW)
    gone = Destination.objects.get(pk=ada.pk)
    SuppressionFactory(core=gone.core, reason=f"The server said: {ADDRESS}")
    sweep_erased(now=NOW)
    assert not Suppression.objects.exists()


def test_every_count_is_the_number_of_rows(ada: Destination) -> None:
    SuppressionFactory(core=ADDRESS)
    actor = Actor.objects.create(newsletter=SubscribableFactory())
    Follower.objects.create(actor=actor, uri="https://e.example/ada", handle="ada@e.example", server=ada)
    for holding in sources:
        rows = list(holding.rows(ada))
        assert len(rows) == holding.count(ada) > 0, holding.key
        assert set(holding.columns) <= set(rows[0]), holding.key


def test_all_that_is_about_a_destination_has_a_holding() -> None:
    """A new model that points at people has to be considered here."""
    covered = {
        "Subscription", "Tagging", "AddressChange", "Notice", "SignIn", "Delivery", "Bounce", "WebhookCall",
        # Deleted with the subscription or the delivery.
        "Consent", "OldNumber", "FrequencyChange", "SignUpCode", "Attempt", "MailboxMessage", "RemotePost",
        "Receipt", "Follower", "SeriesRun",
    }  # fmt: skip
    pointing = {
        relation.related_model.__name__
        for model in (Destination, Subscription, Delivery)
        for relation in model._meta.related_objects
        if isinstance(relation, models.ManyToOneRel)
    }
    assert pointing <= covered


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_who_signs_up_again_while_being_erased_waits_and_stops_nothing() -> None:
    subscription = LeftFactory(destination__core=ADDRESS, destination__label=ADDRESS)
    reader, letter = subscription.destination, subscription.subscribable
    beside(
        lambda: erase(destination=reader, now=NOW),
        lambda: sign_up(subscribables=[letter], email=ADDRESS, name="Ada Lovelace", origin=Origin(), now=NOW),
    )
    sweep_erased(now=NOW)
    assert "Subscription: Ada Lovelace" not in told_of("Ada Lovelace") or (
        Subscription.objects.get().destination_id != reader.pk
    )


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_two_who_erase_at_the_same_moment_erase_once(ada: Destination) -> None:
    first, second = beside(lambda: erase(destination=ada, now=NOW), lambda: erase(destination=ada, now=NOW))
    assert (first["subscriptions"], second["subscriptions"]) == (2, 0)
    assert told_of(*NAMES) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_an_issue_that_is_published_meanwhile_goes_out_to_the_others(ada: Destination) -> None:
    letter = Subscription.objects.get(status="confirmed").subscribable
    issue = IssueFactory(subscribable=letter, published_at=None)
    count, _ = beside(lambda: publish(issue_id=issue.pk, now=NOW), lambda: erase(destination=ada, now=NOW))
    assert count == 1
    row = Delivery.objects.get(issue=issue)
    assert (row.state, row.last_error, row.subscription) == ("cancelled", ERASED, None)


def pruned(**options: Any) -> dict[str, int]:
    counts = prune_old_data(now=LATER, days=90, **options)
    return {name: count for name, count in counts.items() if count}


def test_attempts_of_finished_deliveries_are_forgotten() -> None:
    AttemptFactory(delivery=DeliveryFactory(state="failed", issue=IssueFactory(pruned_at=NOW)))
    young = AttemptFactory(delivery=DeliveryFactory(**OVER, issue=Issue.objects.get()), at=NOW + 2 * DAY)
    assert pruned() == {"attempts": 1}
    assert Attempt.objects.get() == young
    assert Delivery.objects.count() == 2


@pytest.mark.parametrize("state", NOT_FINISHED)
def test_nothing_is_forgotten_of_what_is_not_finished(state: str) -> None:
    lease: dict[str, Any] = {"lease_token": "0" * 32, "lease_until": NOW} if state == "sending" else {}
    issue = IssueFactory()
    DeliveryFactory(issue=issue, **OVER)
    AttemptFactory(delivery=DeliveryFactory(issue=issue, state=state, **lease))
    a_mail(state=state, **lease)
    assert pruned() == {}
    issue.refresh_from_db()
    assert (issue.html, issue.pruned_at) == ("<p>The letter.</p>", None)


def test_texts_of_a_finished_issue_are_forgotten_and_its_rows_stay() -> None:
    issue = an_issue()
    DeliveryFactory(issue=issue, **OVER)
    assert pruned() == {"issues": 1}
    issue.refresh_from_db()
    assert (issue.html, issue.text, issue.pruned_at) == ("", "", LATER)
    assert (issue.issue_items.count(), issue.deliveries.get().state) == (2, "sent")
    assert pruned() == {}


def test_a_draft_keeps_its_texts_until_it_is_discarded() -> None:
    issue = IssueFactory(published_at=None)
    assert pruned() == {}
    Issue.objects.update(cancelled_at=NOW)
    assert pruned() == {"issues": 1}
    issue.refresh_from_db()
    assert issue.html == ""


def test_links_of_old_mails_are_forgotten() -> None:
    mail = a_mail(**OVER)
    assert pruned() == {"mails": 1}
    mail.refresh_from_db()
    assert (mail.context, mail.state) == (FORGOTTEN_CONTEXT, "sent")
    assert pruned() == {}
    Delivery.objects.update(state="failed")
    mail.refresh_from_db()
    with pytest.raises(NotRetryable, match="KEEP_DAYS"):
        retry_delivery(delivery=mail, now=LATER)


def test_kept_letters_are_forgotten_but_not_that_they_were_kept() -> None:
    MailboxMessageFactory(delivery=DeliveryFactory(state="stored", issue=IssueFactory(pruned_at=NOW)))
    assert pruned() == {"mailbox": 1}
    assert not MailboxMessage.objects.exists()
    assert Delivery.objects.get().state == "stored"


def test_reports_that_prove_nothing_go_after_a_month() -> None:
    BounceFactory(delivery=None)
    BounceFactory(delivery=DeliveryFactory(**OVER, issue=IssueFactory(pruned_at=NOW)))
    assert pruned() == {"bounces": 1}
    assert Bounce.objects.count() == 1


def test_batches_and_a_budget_bound_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("delivery.privacy.retention.ROWS_A_BATCH", 2)
    issue = IssueFactory(pruned_at=NOW)
    for _ in range(5):
        AttemptFactory(delivery=DeliveryFactory(issue=issue, **OVER))
    heard: list[int] = []
    assert pruned(budget=timedelta(0), told=heard.append) == {"attempts": heard[0]}
    assert len(heard) == 1
    assert pruned(told=heard.append) == {"attempts": 5 - heard[0]} or heard == [5]


@pytest.mark.django_db(transaction=True)
def test_an_issue_published_again_after_pruning_goes_to_nobody_twice(smtp: SmtpServer) -> None:
    issue = an_issue(published_at=None)
    SubscriptionFactory.create_batch(3, subscribable=issue.subscribable)
    assert publish(issue_id=issue.pk, now=NOW) == 3
    send_due(clock=Clock())
    assert pruned() == {"issues": 1}
    assert publish(issue_id=issue.pk, now=LATER) == 0
    send_due(clock=Clock(LATER))
    assert len(smtp.messages) == len(set(smtp.recipients)) == 3


def test_a_letter_that_was_forgotten_cannot_be_tried_again() -> None:
    row = DeliveryFactory(state="failed")
    pruned()
    with pytest.raises(NotRetryable, match="KEEP_DAYS"):
        retry_delivery(delivery=row, now=LATER)
    assert Delivery.objects.get().state == "failed"


def test_an_issue_whose_texts_are_gone_is_still_in_the_archive_and_the_admin(admin_client: Client) -> None:
    issue = an_issue(posts=2)
    DeliveryFactory(issue=issue, **OVER)
    pruned()
    page = admin_client.get(f"/s/{issue.subscribable.name}/archive/{issue.pk}/").content.decode()
    for entry in issue.issue_items.values_list("entry", flat=True):
        assert entry["title"] in page
    assert admin_client.get(f"/s/{issue.subscribable.name}/feed.xml").status_code == 200
    shown = admin_client.get(reverse("admin:delivery_issue_change", args=[issue.pk])).content.decode()
    assert "The text of this email was deleted." in shown


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_retry_beside_pruning_keeps_the_texts() -> None:
    row = DeliveryFactory(state="failed")
    _, counts = beside(lambda: retry_delivery(delivery=row, now=LATER), pruned)
    row.issue.refresh_from_db()
    assert (counts, row.issue.pruned_at) == ({}, None)


def test_the_command_counts_first_and_then_forgets() -> None:
    Attempt.objects.all().delete()
    AttemptFactory(delivery=DeliveryFactory(**OVER, issue=IssueFactory(pruned_at=NOW)))
    assert json_of("prune", "--dry-run", "--days", "1")["attempts"] == 1
    assert prunable(now=LATER)["attempts"] == 1
    assert printed("prune", "--days", "1") == "Forgotten: 1 failed attempt.\n"
    assert printed("prune") == "Forgotten: nothing.\n"
    assert "from 1 to" in refused("prune", "--days", "0")
