import csv
import io
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import override_settings

from common import signing
from feedletter_site.services.secret_rotation import rotate_secrets
from subscriptions.lists.export import export_subscribers
from subscriptions.lists.importer import AmbiguousColumns, import_subscribers, try_subscribers
from subscriptions.lists.reading import LINES_A_BATCH, REFUSED_ROWS_KEPT, ImportReport, Terms
from subscriptions.models import (
    Consent,
    Destination,
    ErasedMark,
    FrequencyChange,
    Notice,
    Subscription,
    Suppression,
)
from subscriptions.privacy.erase import erase
from subscriptions.rules.lists.rows import summary
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.counts import growth
from subscriptions.subscribers.sign_up import sign_up
from subscriptions.subscribers.tags import tag_people, tags_of
from tests.factories import (
    NOW,
    BridgeFactory,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
BLOCKED_IN_OTHER_PROGRAMS = {
    "Brevo": "EMAIL;LASTNAME;FIRSTNAME;SMS;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME\n"
    "bad@example.org;B;B;;Yes;No;13-02-2024\nok@example.org;O;O;;No;No;14-02-2024\n",
    "phpList": "id\tEmail\tIs this subscriber confirmed\tIs this subscriber blacklisted\tEntered\n"
    "1\tbad@example.org\t1\t1\t2024-02-13 10:00:00\n2\tok@example.org\t1\t0\t2024-02-13 10:00:00\n",
    "Ghost": "id,email,name,note,subscribed_to_emails,created_at,deleted_at,labels\n"
    "1,bad@example.org,,,true,2024-02-13T10:00:00.000Z,2024-03-01T10:00:00.000Z,\n"
    "2,ok@example.org,,,true,2024-02-13T10:00:00.000Z,,\n",
}


def take(text: str, subscribable: Any = None, **more: Any) -> ImportReport:
    newsletter = subscribable or SubscribableFactory()
    return import_subscribers(subscribable=newsletter, lines=io.StringIO(text, newline=""), now=NOW, **more)


def counts(report: ImportReport) -> tuple[int, int, int]:
    return report.added, report.updated, report.unchanged


def only() -> Subscription:
    return Subscription.objects.get()


def test_only_the_email_is_required_and_no_status_means_unconfirmed() -> None:
    assert counts(take("email\nada@example.org\n")) == (1, 0, 0)
    assert (only().status, only().added_at, only().confirmed_at) == ("unconfirmed", NOW, None)


def test_columns_go_by_their_heading_and_others_are_ignored() -> None:
    take("Added,City,STATUS,Name,Email\n2025-01-02,Rome,Confirmed,Ada L,Ada@Example.org\n")
    assert (only().destination.core, only().display_name, only().status) == (
        "ada@example.org",
        "Ada L",
        "confirmed",
    )
    assert only().added_at == only().confirmed_at == datetime(2025, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffemail,name\r\nada@example.org,Ada\r\n",
        "email;name\nada@example.org;Ada\n",
        "email\tname\nada@example.org\tAda",
        '"email","name"\n\n"ada@example.org","Ada"\n\n',
        "email\nAda <ada@example.org>\n",
    ],
)
def test_what_spreadsheets_write_is_read(text: str) -> None:
    report = take(text)
    assert (counts(report), report.refused) == ((1, 0, 0), [])
    assert (only().destination.label, only().display_name) == ("ada@example.org", "Ada")


def test_no_one_is_mailed() -> None:
    take("email,status\na@example.org,\nb@example.org,confirmed\nc@example.org,unsubscribed\n")
    assert not Notice.objects.exists()
    assert set(Subscription.objects.values_list("confirm_nonce", flat=True)) == {""}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense,,,", "isn’t an email address"),
        (",Ada,,", "it has no email"),
        ("a@example.org,,maybe,", "“maybe” isn’t a status"),
        ("a@example.org,Doe, Jane,confirmed,", "it has 5 columns"),
        ("a@example.org,\ufffd,,", "it isn’t UTF-8"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number_and_the_others_are_taken(line: str, reason: str) -> None:
    report = take(f"email,name,status,added\nfirst@example.org\n{line}\nlast@example.org\n")
    assert counts(report) == (2, 0, 0)
    (refused,) = report.refused
    assert refused.line == 3
    assert reason in refused.reason


def test_a_quotation_mark_that_is_not_closed_is_named_where_it_begins() -> None:
    report = take('email,name\na@example.org,A\nb@example.org,"B\nc@example.org,C\n')
    assert counts(report) == (1, 0, 0)
    assert [(each.line, "quotation mark" in each.reason) for each in report.refused] == [(3, True)]


def test_an_endless_field_is_refused_and_the_rest_goes_on() -> None:
    lines = ["email\n", '"' + "x" * 200_000 + '"\n', "last@example.org\n"]
    report = import_subscribers(subscribable=SubscribableFactory(), lines=lines, now=NOW)
    assert (counts(report), report.refused[0].line) == ((1, 0, 0), 2)


@pytest.mark.parametrize("text", ["", "\n", "name,status\nAda,confirmed\n", "ada\nben\n", "email,Email\n"])
def test_a_list_without_a_usable_heading_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        take(text)


def test_a_bridge_has_no_list() -> None:
    with pytest.raises(ValidationError, match="newsletters by email"):
        take("email\na@example.org\n", BridgeFactory())
    with pytest.raises(ValidationError, match="newsletters by email"):
        export_subscribers(subscribable=BridgeFactory())


def test_a_list_never_takes_back_a_confirmation() -> None:
    there = SubscriptionFactory(display_name="")
    report = take(f"email,status\n{there.destination.core},unconfirmed\n", there.subscribable)
    assert counts(report) == (0, 0, 1)
    assert only().status == "confirmed"


@pytest.mark.parametrize("status", ["confirmed", "unconfirmed", ""])
def test_a_list_never_brings_back_who_left(status: str) -> None:
    left = LeftFactory()
    report = take(f"email,status\n{left.destination.core},{status}\n", left.subscribable)
    assert [each.line for each in report.refused] == [2]
    assert only().status == "unsubscribed"


def test_a_list_may_confirm_rename_and_remove() -> None:
    waiting = UnconfirmedFactory()
    core, newsletter = waiting.destination.core, waiting.subscribable
    assert counts(take(f"email,name,status\n{core},Grace,confirmed\n", newsletter)) == (0, 1, 0)
    assert (only().status, only().display_name, only().confirmed_at) == ("confirmed", "Grace", NOW)
    # A pending confirmation link must not work after the removal.
    assert only().confirm_nonce == ""
    assert counts(take(f"email,status\n{core},unsubscribed\n", newsletter)) == (0, 1, 0)
    assert (only().status, only().left_at, only().display_name) == ("unsubscribed", NOW, "Grace")


def test_an_existing_destination_is_never_changed() -> None:
    there = DestinationFactory(label="Mine@example.org", core="mine@example.org")
    take("email\nMINE@example.org\n")
    assert Destination.objects.get() == there
    assert Destination.objects.get().label == "Mine@example.org"


@pytest.mark.parametrize("status", ["confirmed", "unconfirmed"])
def test_a_suppressed_address_stays_suppressed(status: str) -> None:
    SuppressionFactory(core="ada@example.org")
    report = take(f"email,status\nAda@example.org,{status}\n")
    assert "Do not email" in report.refused[0].reason
    assert not Subscription.objects.exists()
    assert Suppression.objects.count() == 1


def test_a_suppressed_line_suppresses_and_confirms_no_one() -> None:
    newsletter = SubscribableFactory()
    assert counts(take("email,status\nada@example.org,suppressed\n", newsletter)) == (1, 0, 0)
    assert Suppression.objects.get().core == "ada@example.org"
    assert only().status == "unconfirmed"
    assert counts(take("email,status\nada@example.org,suppressed\n", newsletter)) == (0, 0, 1)


def test_the_same_address_twice_is_one_subscriber() -> None:
    report = take("email,name\nada@example.org,Ada\nADA@example.org,Ada\nada@example.org,Ada L\n")
    assert counts(report) == (1, 1, 1)
    assert only().display_name == "Ada L"


def test_lists_longer_than_a_batch_are_taken_whole() -> None:
    many = "".join(f"r{n}@example.org\n" for n in range(LINES_A_BATCH * 2 + 1))
    assert counts(take("email\n" + many)) == (LINES_A_BATCH * 2 + 1, 0, 0)
    assert Subscription.objects.values("token").distinct().count() == LINES_A_BATCH * 2 + 1


def test_a_batch_takes_few_queries(django_assert_max_num_queries: Any) -> None:
    newsletter = SubscribableFactory()
    many = "".join(f"r{n}@example.org\n" for n in range(LINES_A_BATCH))
    with django_assert_max_num_queries(20):
        take("email\n" + many, newsletter)


def exported(newsletter: Any) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(export_subscribers(subscribable=newsletter))
    return out.getvalue()


def agreed(subscription: Any, **facts: Any) -> None:
    usual = {"act": "confirmed", "at": NOW - timedelta(days=29), "how": "embed", "words": "I want it."}
    Consent.objects.create(subscription=subscription, **{**usual, **facts})


def test_an_export_imports_again_as_it_was() -> None:
    newsletter = SubscribableFactory(keep_ip=True)
    added = NOW - timedelta(days=30, microseconds=7)
    confirmed = {"added_at": added, "confirmed_at": NOW - timedelta(days=29)}
    one = SubscriptionFactory(subscribable=newsletter, display_name='=Doe, "Jane"; ü', **confirmed)
    agreed(one, words="Two lines,\nof which one says “yes”.", ip="2001:db8::7")
    agreed(UnconfirmedFactory(subscribable=newsletter, added_at=added, language="pt-br"), act="asked")
    agreed(LeftFactory(subscribable=newsletter, **confirmed), how="page")
    bad = SubscriptionFactory(subscribable=newsletter, **confirmed)
    agreed(bad)
    SuppressionFactory(core=bad.destination.core)
    first = exported(newsletter)
    statuses = [row["status"] for row in csv.DictReader(io.StringIO(first, newline=""))]
    assert statuses == ["confirmed", "unconfirmed", "unsubscribed", "suppressed"]
    assert counts(take(first, newsletter)) == (0, 0, 4)
    for model in (Subscription, Suppression, Destination):
        model.objects.all().delete()
    again = SubscribableFactory(keep_ip=True)
    assert take(first, again).refused == []
    assert exported(again) == first


def test_what_a_spreadsheet_would_run_is_made_text_and_comes_back_as_it_was() -> None:
    there = SubscriptionFactory(display_name="=HYPERLINK(1)", destination__core="+x@example.org")
    rows = list(csv.DictReader(io.StringIO(exported(there.subscribable), newline="")))
    assert (rows[0]["name"], rows[0]["email"]) == ("'=HYPERLINK(1)", "'+x@example.org")
    again = SubscribableFactory()
    take(exported(there.subscribable), again)
    made = again.subscriptions.get()
    assert (made.display_name, made.destination) == ("=HYPERLINK(1)", there.destination)


def test_an_export_takes_few_questions_and_does_not_hold_them_all(django_assert_max_num_queries: Any) -> None:
    newsletter = SubscribableFactory()
    SubscriptionFactory.create_batch(30, subscribable=newsletter)
    with django_assert_max_num_queries(4):
        assert len(exported(newsletter).splitlines()) == 31


def test_dates_and_language_are_taken_over() -> None:
    take(
        "email,status,added,confirmed,left,language\n"
        "a@example.org,unsubscribed,2024-01-01,2024-01-02,2024-02-01 10:00:00 UTC,pt_BR\n"
        "b@example.org,confirmed,,2024-01-02,,de\n"
    )
    gone, here = Subscription.objects.order_by("destination__core")
    assert (gone.added_at, gone.left_at) == (
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(2024, 2, 1, 10, tzinfo=UTC),
    )
    assert (gone.language, here.language) == ("pt-br", "de")
    assert here.added_at == here.confirmed_at == datetime(2024, 1, 2, tzinfo=UTC)


def test_each_keeps_how_they_agreed_by_the_lines_words_or_by_those_of_the_list() -> None:
    text = (
        "email,status,consent_words,consent_how,consent_at,consent_ip\n"
        "a@example.org,confirmed,I agree.,page,2024-01-02,192.0.2.7\n"
        "b@example.org,confirmed,,,,\n"
        "c@example.org,unsubscribed,,,,\n"
    )
    take(text, terms=Terms(words="Taken over from Mailchimp."))
    one, two = Consent.objects.order_by("subscription__destination__core")
    assert (one.act, one.words, one.how, one.at) == (
        "imported",
        "I agree.",
        "page",
        datetime(2024, 1, 2, tzinfo=UTC),
    )
    # The newsletter does not store addresses.
    assert one.ip is None
    assert (two.words, two.how, two.at) == ("Taken over from Mailchimp.", "list", NOW)


def test_old_numbers_come_along_and_each_stays_with_whom_it_has() -> None:
    newsletter = SubscribableFactory()
    known = SubscriptionFactory(subscribable=newsletter, destination__core="a@example.org")
    take(
        "email,status,upstream_id\na@example.org,confirmed,5\n"
        "b@example.org,confirmed,6\nc@example.org,confirmed,6\na@example.org,confirmed,7\n",
        newsletter,
    )
    numbers = dict(newsletter.subscriptions.values_list("destination__core", "upstream_id"))
    assert numbers == {"a@example.org": 5, "b@example.org": 6, "c@example.org": None}
    take(exported(newsletter), again := SubscribableFactory())
    assert set(again.subscriptions.values_list("upstream_id", flat=True)) == {None}
    known.refresh_from_db()
    assert known.upstream_id == 5
    text = exported(newsletter)
    newsletter.subscriptions.all().delete()
    take(text, newsletter)
    assert dict(newsletter.subscriptions.values_list("destination__core", "upstream_id")) == numbers


def test_both_old_numbers_of_two_addresses_that_became_one_are_kept() -> None:
    newsletter = SubscribableFactory()
    take("email,status,upstream_id\nAda@example.org,confirmed,5\nada@example.org,confirmed,6\n", newsletter)
    mine = only()
    assert (mine.upstream_id, list(mine.old_numbers.values_list("number", flat=True))) == (5, [6])
    # In a later list, too, and never with two of them.
    take("email,upstream_id\nADA@example.org,7\nben@example.org,6\nben@example.org,5\n", newsletter)
    assert set(mine.old_numbers.values_list("number", flat=True)) == {6, 7}
    assert Subscription.objects.get(destination__core="ben@example.org").upstream_id is None
    text = exported(newsletter)
    newsletter.subscriptions.all().delete()
    take(text, newsletter)
    again = Subscription.objects.get(destination__core="ada@example.org")
    assert (again.upstream_id, sorted(again.old_numbers.values_list("number", flat=True))) == (5, [6, 7])
    # Nothing new, nothing written.
    assert counts(take(text, newsletter)) == (0, 0, 2)


@pytest.mark.parametrize("act", [import_subscribers, try_subscribers])
def test_a_column_that_may_name_blocked_people_stops_the_list_until_it_is_explained(act: Any) -> None:
    newsletter, lines = SubscribableFactory(), ["email,status,is_blacklisted\n", "a@example.org,active,1\n"]
    with pytest.raises(AmbiguousColumns, match=r"“is_blacklisted”: “1” \(1\)") as asked:
        act(subscribable=newsletter, lines=lines, now=NOW)
    assert asked.value.advice == {"is_blacklisted": "suppressed"}
    assert not Subscription.objects.exists()
    take("".join(lines), newsletter, terms=Terms(meanings={"is_blacklisted": "suppressed"}))
    assert Suppression.objects.get().core == "a@example.org"
    assert not Subscription.objects.confirmed().exists()


@pytest.mark.parametrize("program", BLOCKED_IN_OTHER_PROGRAMS)
def test_blocked_people_of_other_programs_never_come_in(program: str) -> None:
    report = take(BLOCKED_IN_OTHER_PROGRAMS[program], terms=Terms(status="confirmed"))
    assert (report.refused, report.added) == ([], 2)
    (here,) = Subscription.objects.confirmed()
    assert here.destination.core == "ok@example.org"


def test_listmonks_own_export_is_taken_with_its_times_off_utc() -> None:
    text = (
        "uuid,email,name,attributes,status,created_at,updated_at\n"
        'x,a@example.org,Ada,"{}",enabled,2024-05-01 12:00:00.1 +0200 CEST,'
        "2024-05-01 12:00:00.12345 +0200 CEST\n"
        'y,b@example.org,Ben,"{}",blocklisted,2024-05-01 12:00:00 +0000 UTC,2024-05-01 12:00:00 +0000 UTC\n'
    )
    report = take(text)
    assert (report.refused, report.added) == ([], 2)
    assert "does not say who left" in report.note
    ada = Subscription.objects.get(destination__core="a@example.org")
    assert (ada.status, ada.added_at) == ("unconfirmed", datetime(2024, 5, 1, 10, tzinfo=UTC))
    assert Suppression.objects.get().core == "b@example.org"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_list_of_nothing_but_addresses_needs_no_first_line(end: str) -> None:
    report = take(end.join(["Ada Lovelace <ada@example.org>", "ben@example.org", ""]))
    assert (report.refused, report.added) == ([], 2)
    names = dict(Subscription.objects.values_list("destination__core", "display_name"))
    assert names == {"ada@example.org": "Ada Lovelace", "ben@example.org": ""}


def test_tags_come_along_and_add_to_those_that_somebody_has() -> None:
    newsletter = SubscribableFactory()
    reader = DestinationFactory(core="ada@example.org")
    tag_people(destinations=[reader.pk], names=["Board"])
    text = 'email,Tags\nada@example.org,"board, press"\nbob@example.org,"""Press"",""Old friend"""\n'
    assert counts(take(text, newsletter)) == (2, 0, 0)
    assert counts(take(text, newsletter)) == (0, 0, 2)
    assert counts(take("email,labels\nada@example.org,new;PRESS\n", newsletter)) == (0, 1, 0)
    found = tags_of(Destination.objects.values_list("pk", flat=True))
    assert sorted(found.values()) == [["Board", "new", "press"], ["Old friend", "press"]]
    exported = list(export_subscribers(subscribable=newsletter))
    assert [row[-1] for row in exported] == ["tags", "Board, new, press", "Old friend, press"]


def test_a_column_of_anything_else_is_no_column_of_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subscriptions.lists.store.MOST_TAGS", 2)
    report = take("email,tags\na@x.example,1\nb@x.example,2\nc@x.example,3\nd@x.example,2\n")
    assert counts(report) == (3, 0, 0)
    assert "is this a column of tags" in report.refused[0].reason


def test_a_second_time_keeps_no_second_proof() -> None:
    newsletter = SubscribableFactory()
    for _ in range(2):
        take("email,status\na@example.org,confirmed\n", newsletter)
    assert Consent.objects.count() == 1


def test_lines_without_a_status_get_that_of_the_terms() -> None:
    take("email,status\na@example.org,\nb@example.org,unconfirmed\n", terms=Terms(status="confirmed"))
    assert set(Subscription.objects.values_list("destination__core", "status")) == {
        ("a@example.org", "confirmed"),
        ("b@example.org", "unconfirmed"),
    }


def test_who_is_switching_leaves_as_a_whole() -> None:
    old = SubscriptionFactory()
    new = SubscriptionFactory(destination=old.destination)
    FrequencyChange.objects.create(
        old=old, new=new, rarer=new.subscribable, at=NOW + timedelta(days=1), made_at=NOW
    )
    take(f"email,status\n{old.destination.core},unsubscribed\n", old.subscribable)
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}


def test_a_dry_run_says_the_same_and_changes_nothing() -> None:
    left = LeftFactory()
    newsletter = left.subscribable
    waiting = UnconfirmedFactory(subscribable=newsletter)
    SuppressionFactory(core="bad@example.org")
    text = (
        f"email,status\nnew@example.org,confirmed\n{waiting.destination.core},confirmed\n"
        f"{left.destination.core},confirmed\nbad@example.org,\nnonsense,\nNEW@example.org,unsubscribed\n"
    )
    tried = try_subscribers(subscribable=newsletter, lines=io.StringIO(text, newline=""), now=NOW)
    assert (counts(tried), tried.repeated) == ((1, 1, 0), 1)
    assert [each.line for each in tried.refused] == [4, 5, 6]
    assert Subscription.objects.count() == 2
    waiting.refresh_from_db()
    assert waiting.status == "unconfirmed"


def test_every_refused_line_is_told_though_only_the_first_are_kept() -> None:
    told: list[int] = []
    many = "".join(f"nonsense{n}\n" for n in range(REFUSED_ROWS_KEPT + 5))
    report = import_subscribers(
        subscribable=SubscribableFactory(),
        lines=io.StringIO("email\n" + many, newline=""),
        now=NOW,
        on_refused=lambda _, lines: told.extend(each.line for each in lines),
    )
    assert (report.refused_count, len(report.refused)) == (REFUSED_ROWS_KEPT + 5, REFUSED_ROWS_KEPT)
    assert told == list(range(2, REFUSED_ROWS_KEPT + 7))


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\r\nemail;name\r\nann@example.org;Ann Lee\r\n",
        '"sep=;"\r\nAnn Lee <ann@example.org>;\r\n',
        "\ufeffsep=,\nemail,name\nann@example.org,Ann Lee,\n,,,,\n",
        "email,name\nann@example.org,Ann Lee,,,\n",
        'email,name\nann@example.org,"Ann\nLee"\n',
        'email,name\r\nann@example.org,"Ann\r\nLee"\r\n',
    ],
)
def test_the_habits_of_spreadsheets_are_no_errors(text: str) -> None:
    report = take(text)
    assert (counts(report), report.refused) == ((1, 0, 0), [])
    assert (only().destination.core, only().display_name) == ("ann@example.org", "Ann Lee")


@pytest.mark.parametrize(
    ("head", "line", "name"),
    [
        ("E-Mail-Adresse,Vorname,Nachname", "a@example.org,Ada,Byron", "Ada Byron"),
        ("E-Mail,Vor- und Nachname", "a@example.org,Ada Byron", "Ada Byron"),
        ("E-mail,Nome e sobrenome", "a@example.org,Ada Byron", "Ada Byron"),
        ("Courriel,Nom,Prénom", "a@example.org,Byron,Ada", "Ada Byron"),
        ("Correo electrónico,Nombre,Apellidos", "a@example.org,Ada,Byron", "Ada Byron"),
        ("Endereço de e-mail,Nome,Sobrenome", "a@example.org,Ada,Byron", "Ada Byron"),
        ("email,Nome completo", "a@example.org,Ada Byron", "Ada Byron"),
        ("email,Nom", "a@example.org,Ada Byron", "Ada Byron"),
    ],
)
def test_names_are_known_in_our_languages(head: str, line: str, name: str) -> None:
    report = take(f"{head}\n{line}\n")
    assert (only().display_name, report.not_used) == (name, ())


def test_the_summary_says_how_many_get_the_newsletter() -> None:
    left = LeftFactory()
    SuppressionFactory(core="bad@example.org")
    text = (
        "email,status\na@x.example,confirmed\nb@x.example,confirmed\nc@x.example,unsubscribed\n"
        f"d@x.example,bounced\nbad@example.org,confirmed\n{left.destination.core},confirmed\n"
        "e@x.example,pending\na@x.example,confirmed\nnonsense,\n"
    )
    lines = io.StringIO(text, newline="")
    report = try_subscribers(subscribable=left.subscribable, lines=lines, now=NOW)
    assert summary(report.outcomes) == (
        "2 will get the newsletter · 1 not confirmed · 1 unsubscribed · 2 must not be emailed"
        " · 1 unsubscribed here before · 1 duplicate · 1 unreadable"
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_counts_are_those_of_the_people_however_often_they_are_in_the_file(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subscriptions.lists.reading.LINES_A_BATCH", 3)
    dice = random.Random(seed)
    left = LeftFactory(destination__core="p0@x.example")
    SuppressionFactory(core="p1@x.example")
    statuses = ("confirmed", "confirmed", "unsubscribed", "bounced", "pending")
    lines = [f"p{dice.randrange(9)}@x.example,{dice.choice(statuses)}\n" for _ in range(25)]
    text = f"email,status\n{''.join(lines)}"
    tried = try_subscribers(subscribable=left.subscribable, lines=io.StringIO(text, newline=""), now=NOW)
    taken = take(text, left.subscribable)
    suppressed = Suppression.objects.values("core")
    there = Subscription.objects.exclude(destination__core__in=suppressed)
    for report in (tried, taken):
        assert report.outcomes["gets"] == there.filter(status="confirmed").count()
        assert report.outcomes["unconfirmed"] == there.filter(status="unconfirmed").count()
    assert sum(tried.outcomes.values()) == len(lines)


def test_people_whom_a_list_brings_as_unsubscribed_did_not_leave_here() -> None:
    head = "email,status,added,confirmed,left"
    take(f"{head}\na@x.example,unsubscribed,,,\nb@x.example,unsubscribed,2026-01-01,2026-01-02,\n")
    one = SubscriptionFactory(confirmed_at=NOW - timedelta(days=3))
    take(f"email,status\n{one.destination.core},unsubscribed\n", one.subscribable)
    assert Subscription.objects.filter(status="unsubscribed").count() == 3
    counted = growth(subscribable=None, since=(NOW - timedelta(days=300)).date(), zone=UTC)
    assert sum(counted["left"].values()) == 1


def test_a_list_never_brings_back_an_address_that_was_erased() -> None:
    one = SubscriptionFactory()
    core, newsletter = one.destination.core, one.subscribable
    text = f"email,status\n{core},confirmed\nnew@example.org,confirmed\n{core.upper()},unsubscribed\n"
    erase(destination=one.destination, now=NOW)
    for into in (newsletter, SubscribableFactory()):
        report = take(text, into)
        assert (report.added, report.outcomes["erased"]) == (1, 2)
        assert "data was erased;" in report.refused[0].reason
    assert not Destination.objects.filter(core=core).exists()
    # The digest does not reveal the address, and works with a later key.
    assert core not in str(ErasedMark.objects.values_list("digest", flat=True))
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert take(text, newsletter).outcomes["erased"] == 2
        rotate_secrets(change=True)
    with override_settings(SECRET_KEY="another"):
        assert take(text, newsletter).outcomes["erased"] == 2


def test_marks_of_the_first_release_survive_a_change_of_the_secret_key() -> None:
    newsletter, text = SubscribableFactory(), "email,status\nold@example.org,confirmed\n"
    ErasedMark.objects.create(digest=signing.stamp("erased", "email old@example.org"))
    with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        rotate_secrets(change=True)
    with override_settings(SECRET_KEY="another"):
        assert take(text, newsletter).outcomes["erased"] == 1
        erase(destination=SubscriptionFactory(destination__core="new@example.org").destination, now=NOW)
        assert take(text.replace("old", "new"), newsletter).outcomes["erased"] == 1


def test_people_who_were_erased_come_back_by_signing_up_and_no_otherwise() -> None:
    one = SubscriptionFactory()
    core, newsletter = one.destination.core, one.subscribable
    erase(destination=one.destination, now=NOW)
    sign_up(subscribables=[newsletter], email=core, name="", origin=Origin(), now=NOW)
    assert Subscription.objects.get(destination__core=core).status == "unconfirmed"
    again = SubscriptionFactory(subscribable=newsletter, destination__core="back@example.org")
    erase(destination=again.destination, now=NOW)
    SubscriptionFactory(subscribable=newsletter, destination__core="back@example.org")
    assert counts(take("email,status\nback@example.org,confirmed\n", newsletter)) == (0, 0, 1)


def test_an_address_without_a_subscription_leaves_no_mark() -> None:
    erase(destination=DestinationFactory(), now=NOW)
    assert not ErasedMark.objects.exists()
