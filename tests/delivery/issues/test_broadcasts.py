"""Letters that an editor writes: saved, scheduled, unscheduled, and sent once as an issue."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from common.ports.panels import CannotAct
from delivery.issues.audience import recipients_of
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
from delivery.letters.build import issue_letter
from delivery.models import Broadcast, Delivery, Issue, LetterTemplate
from delivery.rules.audience import UnknownAudience
from delivery.work import to_complete
from tests.delivery.ledger import HOUR, MINUTE
from tests.factories import (
    NOW,
    BridgeFactory,
    BroadcastFactory,
    LeftFactory,
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
