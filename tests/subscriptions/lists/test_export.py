"""Lists for other programs: people who left must not get mail there.

Lists as other programs export them: whom each brings, and as what.
"""

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from common.clock import utcnow
from common.refused import Refused
from subscriptions.lists.export import EXPORT_FORMATS, export_subscribers
from subscriptions.lists.importer import import_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.models import Subscribable, Subscription, Suppression
from subscriptions.subscribers.tags import tag_people
from tests.console import json_of, printed
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, SuppressionFactory

AGREED = Terms("confirmed")
pytestmark = pytest.mark.django_db
JOINED = datetime(2025, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def pier() -> Subscribable:
    """Return a newsletter with a person of each status."""
    made: Subscribable = SubscribableFactory(name="pier")
    people: dict[str, dict[str, Any]] = {
        "gets": {"display_name": "Ada King Byron", "language": "de", "added_at": JOINED},
        "asked": {"status": "unconfirmed"},
        "left": {"status": "unsubscribed", "left_at": NOW},
        "switched": {"ended_at": NOW},
        "bounced": {"destination__disabled_at": NOW},
        "complained": {},
    }
    for name, values in people.items():
        address = f"{name}@example.org"
        SubscriptionFactory(
            subscribable=made, destination__core=address, destination__label=address, **values
        )
    SuppressionFactory(core="complained@example.org")
    return made


def exported(pier: Subscribable, statuses: Collection[str] = (), program: str = "") -> list[dict[str, str]]:
    rows = export_subscribers(subscribable=pier, statuses=statuses, program=program)
    header = next(rows)
    return [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("confirmed", ["gets"]),
        ("unconfirmed", ["asked"]),
        ("unsubscribed", ["left", "switched"]),
        ("suppressed", ["bounced", "complained"]),
    ],
)
def test_a_status_is_chosen(status: str, names: list[str], pier: Subscribable) -> None:
    rows = exported(pier, [status])
    assert [row["email"].partition("@")[0] for row in rows] == names
    assert {row["status"] for row in rows} == {status}


def test_without_a_choice_everybody_is_in_it(pier: Subscribable) -> None:
    assert len(exported(pier)) == 6


@pytest.mark.parametrize("program", EXPORT_FORMATS)
def test_other_programs_get_only_people_who_get_it(program: str, pier: Subscribable) -> None:
    (row,) = exported(pier, program=program)
    assert row.get("email", row.get("Email Address")) == "gets@example.org"
    with pytest.raises(Refused, match="one --status at a time"):
        exported(pier, ["confirmed", "unsubscribed"], program)


def test_their_columns_are_those_that_they_read(pier: Subscribable) -> None:
    one = pier.subscriptions.get(destination__core="gets@example.org")
    tag_people(destinations=[one.destination_id], names=["Friends"])
    rows = {program: exported(pier, program=program)[0] for program in EXPORT_FORMATS}
    assert rows == {
        "buttondown": {"email": "gets@example.org", "name": "Ada King Byron", "tags": "Friends"},
        "ghost": {
            "email": "gets@example.org",
            "name": "Ada King Byron",
            "subscribed_to_emails": "true",
            "created_at": "2025-03-04T05:06:00+00:00",
            "labels": "Friends",
        },
        "listmonk": {
            "email": "gets@example.org",
            "name": "Ada King Byron",
            "attributes": '{"language": "de", "tags": "Friends"}',
        },
        "mailchimp": {
            "Email Address": "gets@example.org",
            "First Name": "Ada",
            "Last Name": "King Byron",
            "Tags": "Friends",
        },
    }
    (left, _) = exported(pier, ["unsubscribed"], "ghost")
    assert left["subscribed_to_emails"] == "false"


def test_the_command_takes_both_choices(pier: Subscribable) -> None:
    lines = printed("export_subscribers", "pier", "--status", "unsubscribed", "--status", "suppressed")
    assert len(list(csv.DictReader(lines.splitlines()))) == 4
    (row,) = json_of("export_subscribers", "pier", "--for", "ghost")
    assert row["subscribed_to_emails"] == "true"


@dataclass(frozen=True)
class Case:
    """`people`: status by the part before the @, “suppressed” for people who must not be emailed."""

    text: str
    people: Mapping[str, str]
    added: str = ""
    terms: Terms = AGREED


CASES = {
    "listmonk, off UTC, with fractions": Case(
        "uuid,email,name,attributes,status,created_at,updated_at\n"
        "1,ann@a.org,Ann,{},enabled,2026-03-02 12:00:00.1 +0200 CEST,2026-03-02 12:00:00 +0000 UTC\n"
        "2,bob@a.org,Bob,{},blocklisted,2026-03-02 12:00:00.123456 +0000 UTC,2026-03-02 12:00:00 +0000 UTC\n"
        "3,cat@a.org,Cat,{},disabled,2026-03-02 12:00:00 -0330 -0330,2026-03-02 12:00:00 +0000 UTC\n"
        "4,dan@a.org,Dan,{},enabled,2026-03-02 12:00:00.12345 +0000 +0000,2026-03-02 12:00:00 +0000 UTC\n",
        {"ann": "confirmed", "bob": "suppressed", "cat": "unsubscribed", "dan": "confirmed"},
        "2026-03-02T10:00:00+00:00",
    ),
    "phpList": Case(
        "id\tEmail\tIs this subscriber confirmed\tIs this subscriber blacklisted\tDid this subscriber"
        " manually confirm\tNumber of bounces\tEntered\tLast Modified\tUnique ID\tSend this subscriber"
        " HTML emails\tIs this account disabled?\tForeign Key\tList Membership\n"
        "1\tann@a.org\t1\t0\t0\t0\t2026-03-02 12:00:00\t2026-03-02 12:00:00\tu1\t1\t0\t\tnews\n"
        "2\tbob@a.org\t1\t1\t0\t0\t2026-03-02 12:00:00\t2026-03-02 12:00:00\tu2\t1\t0\t\tnews\n"
        "3\tcat@a.org\t0\t0\t0\t0\t2026-03-02 12:00:00\t2026-03-02 12:00:00\tu3\t1\t0\t\tnews\n"
        "4\tdan@a.org\t1\t0\t0\t7\t2026-03-02 12:00:00\t2026-03-02 12:00:00\tu4\t1\t1\t\tnews\n",
        {"ann": "confirmed", "bob": "suppressed", "cat": "unconfirmed", "dan": "unsubscribed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "Brevo": Case(
        "EMAIL;LASTNAME;FIRSTNAME;SMS;EMAIL_BLACKLISTED;SMS_BLACKLISTED;WHATSAPP_BLACKLISTED;ADDED_TIME;MODIFIED_TIME\n"
        "ann@a.org;A;Ann;;No;No;No;03-04-2026 10:00:00;03-04-2026 10:00:00\n"
        "bob@a.org;B;Bob;;Yes;No;No;03-04-2026 10:00:00;03-04-2026 10:00:00\n",
        {"ann": "confirmed", "bob": "unsubscribed"},
        "2026-04-03T10:00:00+00:00",
    ),
    "FeedBurner": Case(
        "Email Address,Subscribed,Status\n"
        "ann@a.org,3/4/2026,Active\n"
        "bob@a.org,3/4/2026,Pending Verification\n",
        {"ann": "confirmed", "bob": "unconfirmed"},
        "2026-03-04T00:00:00+00:00",
    ),
    "Ghost": Case(
        "id,email,name,note,subscribed_to_emails,complimentary_plan,stripe_customer_id,created_at,deleted_at,labels,tiers\n"
        "1,ann@a.org,Ann,,true,false,,2026-03-02T12:00:00.000Z,,,\n"
        "2,bob@a.org,Bob,,false,false,,2026-03-02T12:00:00.000Z,,,\n"
        "3,cat@a.org,Cat,,true,false,,2026-03-02T12:00:00.000Z,2026-03-05T12:00:00.000Z,,\n",
        {"ann": "confirmed", "bob": "unsubscribed", "cat": "unsubscribed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "beehiiv": Case(
        "email,status,tier,created_at,utm_source,unsubscribed_at\n"
        "ann@a.org,active,free,2026-03-02 12:00:00 UTC,,\n"
        "bob@a.org,validating,free,2026-03-02 12:00:00 UTC,,\n"
        "cat@a.org,inactive,free,2026-03-02 12:00:00 UTC,,2026-03-05 12:00:00 UTC\n"
        "dan@a.org,invalid,free,2026-03-02 12:00:00 UTC,,\n"
        "eve@a.org,pending,free,2026-03-02 12:00:00 UTC,,\n",
        {
            "ann": "confirmed",
            "bob": "unconfirmed",
            "cat": "unsubscribed",
            "dan": "suppressed",
            "eve": "unconfirmed",
        },
        "2026-03-02T12:00:00+00:00",
    ),
    "Curated": Case(
        "Email Address,Subscribed at,UTM Source\nann@a.org,2026-03-02 12:00:00 UTC,x\n",
        {"ann": "confirmed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "Kit": Case(
        "first_name,email,created_at,status\n"
        "Ann,ann@a.org,2026-03-02T12:00:00Z,active\n"
        "Bob,bob@a.org,2026-03-02T12:00:00Z,inactive\n"
        "Cat,cat@a.org,2026-03-02T12:00:00Z,cancelled\n"
        "Dan,dan@a.org,2026-03-02T12:00:00Z,bounced\n"
        "Eve,eve@a.org,2026-03-02T12:00:00Z,complained\n",
        {
            "ann": "confirmed",
            "bob": "unconfirmed",
            "cat": "unsubscribed",
            "dan": "suppressed",
            "eve": "suppressed",
        },
        "2026-03-02T12:00:00+00:00",
    ),
    "MailerLite": Case(
        "Subscriber,Name,Last name,Subscribed,Groups\nann@a.org,Ann,A,2026-03-02 12:00:00,harbour\n",
        {"ann": "confirmed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "ActiveCampaign": Case(
        "Email,First Name,Last Name,Phone,Date Created,IP,Status\n"
        "ann@a.org,Ann,A,,2026-03-02 12:00:00,192.0.2.1,Active\n"
        "bob@a.org,Bob,B,,2026-03-02 12:00:00,192.0.2.1,Unsubscribed\n"
        "cat@a.org,Cat,C,,2026-03-02 12:00:00,192.0.2.1,Bounced\n"
        "dan@a.org,Dan,D,,2026-03-02 12:00:00,192.0.2.1,Unconfirmed\n",
        {"ann": "confirmed", "bob": "unsubscribed", "cat": "suppressed", "dan": "unconfirmed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "systeme.io": Case(
        "Email,First name,Tag,Date registered\nann@a.org,Ann,harbour,2026-03-02 12:00:00\n",
        {"ann": "confirmed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "Mailman 2, list_members -f": Case(
        'Ann A <ann@a.org>\nbob@a.org\n"Cat, C" <cat@a.org>\n',
        {"ann": "confirmed", "bob": "confirmed", "cat": "confirmed"},
    ),
    "Mailman 3, members": Case("ann@a.org\nBob B <bob@a.org>\n", {"ann": "confirmed", "bob": "confirmed"}),
    "Postorius, without a first line": Case(
        "ann@a.org,Ann\nbob@a.org,Bob\n",
        {"ann": "confirmed", "bob": "confirmed"},
        terms=Terms("confirmed", meanings={"column 2": "name"}),
    ),
    "Mailman 3, REST as CSV": Case(
        "email,display_name,delivery_status\nann@a.org,Ann,enabled\nbob@a.org,Bob,by_bounces\ncat@a.org,Cat,by_user\n",
        {"ann": "confirmed", "bob": "suppressed", "cat": "unsubscribed"},
    ),
    "Mailchimp": Case(
        "Email Address,First Name,Last Name,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,"
        "LAST_CHANGED,UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_REASON\n"
        "ann@a.org,Ann,A,2,2026-03-02 12:00:00,192.0.2.1,2026-03-02 12:00:00,192.0.2.1,"
        "2026-03-02 12:00:00,2026-03-03 12:00:00,x,NORMAL\n",
        {"ann": "unsubscribed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "Substack": Case(
        "email,active_subscription,expiry,plan,email_disabled,created_at,first_payment_at\n"
        "ann@a.org,false,,,false,2026-03-02T12:00:00.000Z,\n"
        "bob@a.org,false,,,true,2026-03-02T12:00:00.000Z,\n",
        {"ann": "confirmed", "bob": "unsubscribed"},
        "2026-03-02T12:00:00+00:00",
    ),
    "Buttondown": Case(
        "email,type,creation_date,metadata,tags,unsubscription_date\n"
        "ann@a.org,regular,2026-03-02T12:00:00Z,{},harbour,\n"
        "bob@a.org,unsubscribed,2026-03-02T12:00:00Z,{},,2026-03-03T12:00:00Z\n"
        "cat@a.org,unactivated,2026-03-02T12:00:00Z,{},,\n"
        "dan@a.org,undeliverable,2026-03-02T12:00:00Z,{},,\n"
        "eve@a.org,removed,2026-03-02T12:00:00Z,{},,\n",
        {
            "ann": "confirmed",
            "bob": "unsubscribed",
            "cat": "unconfirmed",
            "dan": "suppressed",
            "eve": "unsubscribed",
        },
        "2026-03-02T12:00:00+00:00",
    ),
}


@pytest.mark.parametrize("program", CASES)
def test_each_programs_people_come_as_what_they_are(program: str) -> None:
    case, newsletter = CASES[program], SubscribableFactory()
    report = import_subscribers(
        subscribable=newsletter, lines=case.text.splitlines(keepends=True), now=utcnow(), terms=case.terms
    )
    assert not report.refused
    suppressed = set(Suppression.objects.values_list("core", flat=True))
    rows = Subscription.objects.filter(subscribable=newsletter).select_related("destination")
    people = {
        row.destination.core.partition("@")[0]: "suppressed"
        if row.destination.core in suppressed
        else row.status
        for row in rows
    }
    assert people == case.people
    if case.added:
        first = rows.get(destination__core="ann@a.org")
        assert first.added_at.astimezone(UTC) == datetime.fromisoformat(case.added)
