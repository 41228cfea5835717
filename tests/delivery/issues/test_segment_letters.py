"""Letters by an editor to a segment of readers, or of several newsletters."""

from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.test import Client

from common.ports.panels import CannotAct
from common.refused import Refused
from delivery.issues.audience import (
    WaitsForPerson,
    altered_audience,
    audience_words,
    chosen_audience,
    count_readers,
)
from delivery.issues.broadcasts import ChangedMeanwhile, save_letter, schedule_letter, send_letter
from delivery.issues.complete import complete_due
from delivery.issues.publish import late_subscribers, send_late
from delivery.letters.notices import send_latest
from delivery.models import Broadcast, Delivery, Issue
from subscriptions.models import Notice, SubscriberTag
from subscriptions.subscribers.tags import delete_tags, rename_tag, tag_people
from tests.delivery.ledger import HOUR
from tests.factories import (
    NOW,
    BridgeFactory,
    BroadcastFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db


def reader(newsletter: Any, *tags: str, **facts: Any) -> Any:
    row = SubscriptionFactory(subscribable=newsletter, **facts)
    if tags:
        tag_people(destinations=[row.destination_id], names=tags)
    return row


@pytest.fixture
def letter() -> Broadcast:
    made: Broadcast = BroadcastFactory(subscribable__name="weekly", subject="For you")
    for tags in (("vip",), ("vip", "press"), ("press",), ("donor",), ()):
        reader(made.subscribable, *tags)
    return made


def moment(now: datetime) -> datetime:
    return now


def to(letter: Broadcast, **named: Any) -> Broadcast:
    audience = chosen_audience(letter.subscribable, **named)
    return save_letter(letter_id=letter.pk, audience=audience, version=letter.version, now=NOW)


def sent(letter: Broadcast) -> int:
    return send_letter(letter_id=letter.pk, version=letter.version, now=NOW)


@pytest.mark.parametrize(
    ("named", "count"),
    [
        ({"any_of": ["VIP"]}, 2),
        ({"any_of": ["vip", "donor"]}, 3),
        ({"none_of": ["press"]}, 3),
        ({"any_of": ["vip"], "none_of": ["press"]}, 1),
        ({}, 5),
    ],
)
def test_it_goes_to_as_many_as_were_counted_before(letter: Any, named: Any, count: int) -> None:
    LeftFactory(subscribable=letter.subscribable)
    reader(letter.subscribable, "vip", "donor", destination__disabled_at=NOW)
    letter = to(letter, **named)
    assert count_readers(letter) == (count, 5)
    assert sent(letter) == count
    assert Delivery.objects.count() == count


def test_who_reads_several_of_its_newsletters_gets_it_once_by_its_own(letter: Any) -> None:
    other, third = SubscribableFactory(name="daily"), SubscribableFactory(name="monthly")
    both = letter.subscribable.subscriptions.earliest("pk")
    # They subscribed to the other one first.
    for newsletter in (other, third):
        reader(newsletter, destination=both.destination)
    only = reader(other, "vip")
    reader(third, destination=only.destination)
    BridgeFactory(name="bridge")
    letter = to(letter, any_of=["vip"], others=["daily", "monthly"])
    assert count_readers(letter) == (3, 6)
    assert sent(letter) == 3
    rows = dict(Delivery.objects.values_list("destination", "subscription"))
    assert rows[both.destination_id] == both.pk
    assert rows[only.destination_id] == only.pk
    assert "is subscribed to" in Issue.objects.get().text
    assert f"{letter.subscribable} / {other} / {third}" in " ".join(Issue.objects.get().text.split())


def test_who_is_in_it_is_looked_up_when_it_goes(letter: Any) -> None:
    letter = to(letter, any_of=["vip"])
    schedule_letter(letter_id=letter.pk, at=NOW + HOUR, version=letter.version, now=NOW)
    reader(letter.subscribable, "vip")
    complete_due(clock=lambda: NOW + HOUR)
    assert Delivery.objects.count() == 3


@pytest.mark.parametrize("part", ["any_of", "none_of", "others"])
def test_of_a_tag_or_newsletter_that_was_deleted_it_waits_for_a_person_and_says_so(
    letter: Any, part: str
) -> None:
    other = SubscribableFactory(name="daily", title="The Daily")
    name = "daily" if part == "others" else "vip"
    letter = to(letter, **{part: [name]})
    schedule_letter(letter_id=letter.pk, at=NOW + HOUR, version=letter.version, now=NOW)
    if part == "others":
        other.delete()
    else:
        delete_tags(tags=SubscriberTag.objects.filter(key="vip").values_list("pk", flat=True))
    for now in (NOW + HOUR, NOW + 48 * HOUR):
        complete_due(clock=partial(moment, now))
    assert not Delivery.objects.exists()
    assert not Issue.objects.exists()
    letter.refresh_from_db()
    said = "The Daily" if part == "others" else "vip"
    assert f"“{said}”, which no longer exists" in letter.last_error
    assert (letter.failures, letter.next_try_at) == (1, None)
    assert f"{said} (deleted)" in audience_words(letter)
    with pytest.raises(WaitsForPerson):
        sent(letter)


def test_a_tags_new_name_changes_nothing(letter: Any) -> None:
    letter = to(letter, any_of=["vip"])
    rename_tag(tag=SubscriberTag.objects.get(key="vip"), name="Friends")
    assert audience_words(letter) == "those with the tag “Friends”"
    assert sent(letter) == 2


def test_what_a_person_saw_is_what_goes(letter: Any) -> None:
    to(letter, any_of=["vip"])
    with pytest.raises(ChangedMeanwhile):
        sent(letter)
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"any_of": ["vpi"]}, "“vpi”"),
        ({"any_of": ["vip"], "none_of": ["vip"]}, "on both sides"),
        ({"others": ["bridge"]}, "no email newsletter “bridge”"),
        ({"others": ["weekly"]}, "already get this email"),
        ({"none_of": [f"t{number}" for number in range(21)]}, "at most 20 tags"),
    ],
)
def test_an_audience_that_cannot_be_is_refused(letter: Any, named: Any, said: str) -> None:
    BridgeFactory(name="bridge")
    with pytest.raises(Refused, match=said):
        to(letter, **named)


def test_what_is_not_given_stays_of_an_audience(letter: Any) -> None:
    letter = to(letter, any_of=["vip"], none_of=["press"])
    made = altered_audience(letter, none_of=["donor"])
    assert (list(made.any_of.values()), list(made.none_of.values())) == (["vip"], ["donor"])
    with pytest.raises(Refused, match="on both sides"):
        altered_audience(letter, none_of=["vip"])


def test_a_letter_to_nobody_is_refused_and_a_scheduled_one_waits(letter: Any) -> None:
    nobody = BroadcastFactory()
    with pytest.raises(CannotAct, match="Nobody would get it"):
        sent(nobody)
    letter = to(letter, any_of=["vip"], none_of=["donor"])
    schedule_letter(letter_id=letter.pk, at=NOW + HOUR, version=letter.version, now=NOW)
    letter.subscribable.subscriptions.update(status="unsubscribed")
    complete_due(clock=lambda: NOW + HOUR)
    letter.refresh_from_db()
    assert "Nobody would get it: it is for those with the tag “vip”" in letter.last_error
    assert letter.next_try_at is None
    assert not Issue.objects.exists()


def test_a_letter_to_some_is_on_no_page_of_readers_and_welcomes_nobody(client: Client, letter: Any) -> None:
    issue_of_all = BroadcastFactory(subscribable=letter.subscribable, subject="For everybody")
    sent(issue_of_all)
    sent(to(letter, any_of=["vip"]))
    secret = Issue.objects.latest("pk")
    assert secret.is_for_some
    for place in ("archive/", "feed.xml", ""):
        shown = client.get(f"/s/weekly/{place}").content.decode()
        assert "For everybody" in shown
        assert "For you" not in shown
    assert client.get(f"/s/weekly/archive/{secret.pk}/").status_code == 404
    assert "archive" not in secret.text
    new = reader(letter.subscribable, confirmed_at=NOW)
    notice = Notice(kind="welcome", destination=new.destination, subscription=new, template="latest")
    assert send_latest(notice, now=NOW)
    welcomed = Issue.objects.get(deliveries__destination=new.destination)
    assert welcomed.subject == "For everybody"


def test_late_subscribers_are_those_of_the_segment(letter: Any) -> None:
    sent(to(letter, none_of=["press"]))
    issue = Issue.objects.get()
    late, _ = (reader(letter.subscribable, *tags, confirmed_at=NOW + HOUR) for tags in ((), ("press",)))
    assert list(late_subscribers(issue)) == [late]
    delete_tags(tags=SubscriberTag.objects.filter(key="press").values_list("pk", flat=True))
    assert not late_subscribers(issue).exists()
    with pytest.raises(WaitsForPerson):
        send_late(issue_id=issue.pk, now=NOW + HOUR)


def test_fields_are_the_readers_own_in_the_letter_and_left_out_of_the_archive(client: Client) -> None:
    letter = BroadcastFactory(
        subscribable__name="weekly",
        subject="For you, %toNickname%",
        markdown="Hello %toNickname%, [leave](%removeLink%) or pay 5%.",
    )
    SubscriptionFactory(subscribable=letter.subscribable, display_name="Ada & Co")
    sent(letter)
    issue = Issue.objects.get()
    placeholders = issue.placeholders
    assert f"Hello {placeholders['tonickname']}," in issue.html
    assert f'href="{placeholders["removelink"]}"' in issue.html
    assert issue.subject == f"For you, {placeholders['tonickname']}"
    assert issue.title == "For you"
    page = client.get(f"/s/weekly/archive/{issue.pk}/").content.decode()
    assert "Hello, leave or pay 5%." in page
    assert placeholders["tonickname"] not in page
    assert f"/{placeholders['removelink']}" not in issue.html


def test_a_field_that_there_is_not_stops_it(letter: Any) -> None:
    letter = save_letter(letter_id=letter.pk, markdown="Hello %toNickame%", version=1, now=NOW)
    with pytest.raises(Refused, match="%toNickname%"):
        sent(letter)
    assert not Issue.objects.exists()
