"""Letters that an editor writes: saved, scheduled, unscheduled, and sent once as an issue.

Letters by an editor to a segment of readers, or of several newsletters.
"""

from datetime import datetime, timedelta
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
    recipients_of,
)
from delivery.issues.broadcasts import (
    MOST_MARKDOWN,
    ChangedMeanwhile,
    begin_letter,
    drop_letter,
    release_letters,
    save_letter,
    schedule_letter,
    send_letter,
    unschedule_letter,
)
from delivery.issues.complete import complete_due
from delivery.issues.publish import late_subscribers, send_late
from delivery.letters.build import issue_letter
from delivery.letters.notices import send_latest
from delivery.models import Broadcast, Delivery, Issue, LetterTemplate
from delivery.rules.audience import UnknownAudience
from delivery.work import to_complete
from subscriptions.models import Notice, SubscriberTag
from subscriptions.subscribers.tags import delete_tags, rename_tag, tag_people
from tests.delivery.ledger import HOUR, MINUTE
from tests.factories import (
    NOW,
    BridgeFactory,
    BroadcastFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db


def a_letter(readers: int = 2, **facts: Any) -> Broadcast:
    letter: Broadcast = BroadcastFactory(**facts)
    SubscriptionFactory.create_batch(readers, subscribable=letter.subscribable)
    return letter


def saved(letter: Broadcast, subject: str = "New", markdown: str = "Words", **changes: Any) -> Any:
    facts = {"version": letter.version, "now": NOW, **changes}
    return save_letter(letter_id=letter.pk, subject=subject, markdown=markdown, **facts)


def scheduled(letter: Broadcast, at: Any = NOW + HOUR) -> Broadcast:
    schedule_letter(letter_id=letter.pk, at=at, version=letter.version, now=NOW)
    letter.refresh_from_db()
    return letter


def sent(letter: Broadcast, version: int = 1) -> int:
    return send_letter(letter_id=letter.pk, version=version, now=NOW)


def released(now: Any) -> int:
    return release_letters(clock=lambda: now)


def test_it_goes_to_everybody_who_is_confirmed_and_to_nobody_else() -> None:
    letter = a_letter(readers=3)
    for other in (UnconfirmedFactory, LeftFactory):
        other(subscribable=letter.subscribable)
    SubscriptionFactory()
    assert sent(letter) == 3
    issue = Issue.objects.get()
    letter.refresh_from_db()
    assert letter.issue == issue
    assert (issue.title, issue.subject, issue.published_at) == (letter.subject, letter.subject, NOW)
    assert Delivery.objects.filter(issue=issue, state="queued").count() == 3


def test_its_issue_looks_and_signs_off_like_all_others() -> None:
    letter = a_letter()
    sent(letter)
    made = issue_letter(Issue.objects.get())
    assert "<strong>all</strong>" in made.html
    assert 'src="https://blog.example/cat.png"' in made.html
    assert {"removelink", "managelink"} <= set(made.placeholders)
    assert made.from_email == "Letters <letters@sender.example>"
    assert "Hello all." in made.text


def test_it_stands_in_the_archive_and_in_the_feed_of_issues(client: Client) -> None:
    letter = a_letter(subscribable__name="weekly", subject="Summer & rest")
    sent(letter)
    pk = Issue.objects.get().pk
    assert "Summer &amp; rest" in client.get("/s/weekly/archive/").content.decode()
    page = client.get(f"/s/weekly/archive/{pk}/").content.decode()
    assert "<strong>all</strong>" in page
    rss = client.get("/s/weekly/feed.xml").content.decode()
    assert "<title>Summer &amp; rest</title>" in rss
    assert "cat.png" in rss


def test_the_newsletters_own_template_of_a_post_is_used() -> None:
    letter = a_letter()
    LetterTemplate.objects.create(
        subscribable=letter.subscribable, name="issues/post", html="<p>Mine</p>", text=""
    )
    sent(letter)
    assert "Mine" in Issue.objects.get().html


def test_a_draft_is_saved_and_counts_its_versions() -> None:
    letter = begin_letter(subscribable=a_letter().subscribable, author="ada", now=NOW)
    assert saved(letter, " One\nline ", "a\r\nb", now=NOW + MINUTE).version == 2
    letter.refresh_from_db()
    assert (letter.subject, letter.markdown) == ("One line", "a\nb")
    assert letter.changed_at == NOW + MINUTE
    # Saving unchanged words again changes nothing.
    assert saved(letter, "One line", "a\nb", now=NOW + HOUR).version == 2


def test_two_windows_do_not_overwrite_each_other() -> None:
    letter = a_letter()
    saved(letter)
    with pytest.raises(ChangedMeanwhile, match="another window"):
        saved(letter, "Other")
    with pytest.raises(ChangedMeanwhile):
        sent(letter)
    assert not Issue.objects.exists()


@pytest.mark.parametrize(
    ("subject", "markdown", "said"),
    [("x" * 201, "", "201 characters"), ("x", "y" * (MOST_MARKDOWN + 1), "100,001 characters")],
)
def test_what_is_too_long_is_refused(subject: str, markdown: str, said: str) -> None:
    letter = a_letter()
    with pytest.raises(CannotAct, match=said):
        saved(letter, subject, markdown)


@pytest.mark.parametrize(
    ("facts", "field"), [({"subject": ""}, "subject"), ({"markdown": " \n"}, "markdown")]
)
def test_an_empty_one_goes_nowhere(facts: Any, field: str) -> None:
    letter = a_letter(**facts)
    for act in (sent, scheduled):
        with pytest.raises(CannotAct) as refused:
            act(letter)
        assert refused.value.field == field


def test_a_bridge_has_none() -> None:
    with pytest.raises(CannotAct, match="is a bridge"):
        begin_letter(subscribable=BridgeFactory(), author="ada", now=NOW)


def test_a_scheduled_one_goes_at_its_time_and_once() -> None:
    letter = scheduled(a_letter())
    assert released(NOW + HOUR - MINUTE) == 0
    assert not any(rows.exists() for rows in to_complete(NOW + HOUR - MINUTE))
    assert any(rows.exists() for rows in to_complete(NOW + HOUR))
    complete_due(clock=lambda: NOW + HOUR)
    assert released(NOW + HOUR * 2) == 0
    assert Issue.objects.get().published_at == NOW + HOUR
    assert Delivery.objects.count() == 2
    with pytest.raises(CannotAct, match="was already sent"):
        unschedule_letter(letter_id=letter.pk)


def test_while_it_is_scheduled_its_text_stands_until_it_is_taken_off() -> None:
    letter = scheduled(a_letter())
    with pytest.raises(CannotAct, match="is scheduled"):
        saved(letter)
    unschedule_letter(letter_id=letter.pk)
    assert released(NOW + HOUR) == 0
    assert saved(letter).version == 2


def test_a_scheduled_one_can_be_sent_now_instead() -> None:
    letter = scheduled(a_letter())
    assert sent(letter) == 2
    assert released(NOW + HOUR) == 0
    assert Issue.objects.count() == 1


@pytest.mark.parametrize("at", [NOW - HOUR, NOW, NOW + timedelta(days=400)])
def test_a_time_that_passed_or_is_far_away_is_refused(at: Any) -> None:
    with pytest.raises(CannotAct) as refused:
        scheduled(a_letter(), at)
    assert refused.value.field == "at"


def test_what_cannot_be_made_is_said_and_tried_again() -> None:
    letter = scheduled(a_letter())
    broken = LetterTemplate.objects.create(
        subscribable=letter.subscribable, name="issues/post", html="{% nope %}"
    )
    assert released(NOW + HOUR) == 0
    letter.refresh_from_db()
    assert "nope" in letter.last_error
    assert (letter.failures, letter.issue) == (1, None)
    broken.delete()
    assert released(NOW + HOUR) == 0
    assert released(NOW + HOUR * 2) == 1


def test_one_that_fails_stops_no_other() -> None:
    first, second = scheduled(a_letter()), scheduled(a_letter())
    LetterTemplate.objects.create(subscribable=first.subscribable, name="issues/post", html="{% nope %}")
    assert released(NOW + HOUR) == 1
    second.refresh_from_db()
    assert second.issue is not None


def test_one_that_has_gone_out_stays() -> None:
    letter, other = a_letter(), a_letter()
    sent(letter)
    with pytest.raises(CannotAct, match="was already sent"):
        drop_letter(letter_id=letter.pk)
    drop_letter(letter_id=other.pk)
    assert Broadcast.objects.get() == letter


def test_an_audience_of_a_newer_release_is_not_taken_for_everybody() -> None:
    letter = a_letter(audience={"region": {"1": "North"}})
    with pytest.raises(UnknownAudience):
        recipients_of(letter)
    with pytest.raises(UnknownAudience):
        sent(letter)
    assert not Issue.objects.exists()
    assert not Delivery.objects.exists()


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


def letter_sent(letter: Broadcast) -> int:
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
    assert letter_sent(letter) == count
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
    assert letter_sent(letter) == 3
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
        letter_sent(letter)


def test_a_tags_new_name_changes_nothing(letter: Any) -> None:
    letter = to(letter, any_of=["vip"])
    rename_tag(tag=SubscriberTag.objects.get(key="vip"), name="Friends")
    assert audience_words(letter) == "those with the tag “Friends”"
    assert letter_sent(letter) == 2


def test_what_a_person_saw_is_what_goes(letter: Any) -> None:
    to(letter, any_of=["vip"])
    with pytest.raises(ChangedMeanwhile):
        letter_sent(letter)
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
        letter_sent(nobody)
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
    letter_sent(issue_of_all)
    letter_sent(to(letter, any_of=["vip"]))
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
    letter_sent(to(letter, none_of=["press"]))
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
    letter_sent(letter)
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
        letter_sent(letter)
    assert not Issue.objects.exists()
