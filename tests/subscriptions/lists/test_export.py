"""Lists for other programs: people who left must not get mail there."""

import csv
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import pytest

from common.refused import Refused
from subscriptions.lists.export import EXPORT_FORMATS, export_subscribers
from subscriptions.models import Subscribable
from subscriptions.subscribers.tags import tag_people
from tests.console import json_of, printed
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, SuppressionFactory

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
