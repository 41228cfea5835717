"""Edits after publication: each person gets exactly one of the texts, and the ledger says which."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Ambiguous, Sent, Temporary
from common.ports.panels import CannotAct
from delivery.engine import claim, send_task
from delivery.engine.claimer import LetterCache
from delivery.issues.audience import audience_words, recipients_of
from delivery.issues.broadcasts import (
    ChangedMeanwhile,
    LetterText,
    begin_correction,
    copy_letter,
    send_letter,
)
from delivery.issues.complete import complete_due
from delivery.issues.draft_edits import leave_out_of_draft, reword_draft, rewrite_letter, undo_in_draft
from delivery.issues.pause import pause_issue, resume_issue, retry_failed
from delivery.issues.publish import queue, send_late
from delivery.letters.build import issue_letter
from delivery.links import issue_url
from delivery.models import Broadcast, Delivery, Issue, IssueCard, IssueVersion
from delivery.privacy.retention import prune_old_data
from feeds.models import Item
from subscriptions.rules.edits import CannotEdit, Wording
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.delivery.ledger import HOUR, MINUTE, claimed, ended
from tests.factories import NOW, BroadcastFactory, SubscriptionFactory, an_issue

pytestmark = pytest.mark.django_db

LATER = MIDNIGHT + HOUR
ACTS = st.sampled_from(["claim", "sent", "deferred", "lost", "pause", "edit", "resume"])


def sent_issue(readers: int = 3, posts: int = 2) -> Issue:
    """Return an issue that was queued for its readers."""
    collect(a_newsletter(readers=readers), posts)
    complete_due(clock=lambda: MIDNIGHT)
    return Issue.objects.get()


def paused_after_one() -> tuple[Issue, Any]:
    """Return an issue that was paused after one of three readers got it, and that row."""
    issue = sent_issue()
    first = claimed(now=LATER)[0]
    ended(Sent("1"), first, at=LATER)
    Delivery.objects.filter(state="sending").update(
        state="queued", lease_token=None, lease_until=None, begun_at=None
    )
    pause_issue(issue_id=issue.pk, now=LATER)
    return issue, first


def reword(issue: Issue, note: str) -> None:
    assert reword_draft(issue_id=issue.pk, wording=Wording("", note, ""), now=LATER)


def text_of(row: Any) -> str:
    """Return the html that a worker would send."""
    return LetterCache().prepare(row, now=LATER)[0].letter.html


def versions() -> list[int]:
    return list(Delivery.objects.order_by("pk").values_list("version", flat=True))


def test_the_rest_of_a_paused_issue_goes_out_with_the_new_text() -> None:
    issue, first = paused_after_one()
    reword(issue, "We were wrong about rye.")
    assert versions() == [0, 1, 1]
    resume_issue(issue_id=issue.pk, now=LATER)
    rest = claimed(now=LATER)
    assert [row.version for row in rest] == [1, 1]
    assert all("wrong about rye" in text_of(row) for row in rest)
    assert "wrong about rye" not in text_of(first)
    issue.refresh_from_db()
    assert "wrong about rye" not in issue_letter(issue, 0).html
    assert "wrong about rye" in issue_letter(issue).html


def test_what_a_worker_has_during_the_edit_keeps_its_text_and_takes_the_new_one_if_it_comes_back() -> None:
    issue = sent_issue(readers=2)
    ours, lost = claimed(now=LATER)
    pause_issue(issue_id=issue.pk, now=LATER)
    reword(issue, "Mended.")
    assert versions() == [0, 0]
    assert "Mended." not in text_of(ours)
    ended(Temporary("450 later"), ours, at=LATER)
    ended(Ambiguous("gone"), lost, at=LATER)
    resume_issue(issue_id=issue.pk, now=LATER)
    known, unknown = Delivery.objects.order_by("pk")
    assert (known.version, unknown.version, unknown.begun_at is None) == (1, 0, False)


def test_a_letter_that_was_read_before_an_edit_and_leased_after_it_has_the_new_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    issue = sent_issue(readers=1)
    read = send_task.read_claimed

    def read_then_edited(*args: Any, **kwargs: Any) -> Any:
        rows = read(*args, **kwargs)
        pause_issue(issue_id=issue.pk, now=LATER)
        reword(issue, "Between.")
        resume_issue(issue_id=issue.pk, now=LATER)
        return rows

    monkeypatch.setattr(claim, "read_claimed", read_then_edited)
    (row,) = claimed(now=LATER)
    assert (row.version, versions()) == (1, [1])
    assert "Between." in text_of(row)


def test_while_it_is_being_sent_an_issue_must_be_paused_first() -> None:
    issue = sent_issue()
    with pytest.raises(CannotAct, match="Pause it first"):
        reword(issue, "No")
    assert (versions(), IssueVersion.objects.count()) == ([0, 0, 0], 0)


def test_after_it_was_sent_an_edit_changes_only_its_page(client: Client) -> None:
    issue = sent_issue()
    ended(Sent("1"), *claimed(now=LATER), at=LATER)
    page = urlsplit(issue_url(issue)).path
    item = issue.issue_items.order_by("position")[0]
    before = client.get(page).content.decode()
    assert item.entry["title"] in before
    assert "Updated" not in before
    leave_out_of_draft(issue_id=issue.pk, item_id=item.item_id or 0, now=LATER)
    reword(issue, "A post was taken out.")
    shown = client.get(page).content.decode()
    assert "A post was taken out." in shown
    assert 'Updated <time dir="auto" datetime="2026-' in shown
    assert item.entry["title"] not in shown
    assert item.entry["title"] not in IssueCard.objects.get().titles
    assert versions() == [0, 0, 0]
    assert "left it out" not in Item.objects.get(title=item.entry["title"]).reason
    undo_in_draft(issue_id=issue.pk, now=LATER)
    undo_in_draft(issue_id=issue.pk, now=LATER)
    assert item.entry["title"] in client.get(page).content.decode()


def test_who_is_sent_it_later_gets_the_newest_text() -> None:
    issue = sent_issue(readers=2)
    ended(Sent("1"), *claimed(now=LATER)[:1], at=LATER)
    Delivery.objects.filter(state="sending").update(
        state="failed", lease_token=None, lease_until=None, begun_at=None
    )
    reword(issue, "Newest.")
    SubscriptionFactory(subscribable=issue.subscribable, confirmed_at=LATER)
    assert send_late(issue_id=issue.pk, now=LATER) == 1
    assert retry_failed(issue_id=issue.pk, now=LATER + MINUTE) == 1
    assert versions() == [0, 1, 1]


def a_sent_letter(readers: int = 2) -> Broadcast:
    letter = BroadcastFactory(subject="Fair on Sunday", markdown="Come on **Sunday**.")
    SubscriptionFactory.create_batch(readers, subscribable=letter.subscribable)
    send_letter(letter_id=letter.pk, version=letter.version, now=NOW)
    letter.refresh_from_db()
    return letter


def test_an_own_email_is_rewritten_while_it_is_paused() -> None:
    letter = a_sent_letter()
    pause_issue(issue_id=Issue.objects.get().pk, now=NOW)
    new = LetterText("Fair on Saturday", "Come on **Saturday**.")
    rewrite_letter(letter_id=letter.pk, text=new, version=letter.version, now=NOW)
    resume_issue(issue_id=Issue.objects.get().pk, now=NOW)
    rows = claimed(now=NOW)
    assert all("Saturday" in text_of(row) for row in rows)
    ended(Sent("1"), *rows)
    issue = Issue.objects.get()
    assert (issue.subject, issue.title) == ("Fair on Saturday", "Fair on Saturday")
    assert "Sunday" in issue_letter(issue, 0).text
    with pytest.raises(ChangedMeanwhile):
        rewrite_letter(letter_id=letter.pk, text=new, version=letter.version, now=NOW)
    with pytest.raises(CannotEdit, match="An editor wrote this email"):
        reword(issue, "A note")


def test_an_old_text_is_deleted_with_the_others() -> None:
    issue = sent_issue()
    ended(Sent("1"), *claimed(now=LATER), at=LATER)
    reword(issue, "Newest.")
    prune_old_data(now=LATER + 400 * 24 * HOUR)
    issue.refresh_from_db()
    assert (IssueVersion.objects.count(), issue.html) == (0, "")
    reword(issue, "Still edited.")
    issue.refresh_from_db()
    assert (IssueVersion.objects.count(), issue.html, issue.note_top) == (0, "", "Still edited.")


def test_a_correction_goes_to_those_who_got_the_mistake() -> None:
    issue, first = paused_after_one()
    reword(issue, "Mended.")
    resume_issue(issue_id=issue.pk, now=LATER)
    ended(Sent("2"), *claimed(now=LATER), at=LATER)
    issue.refresh_from_db()
    letter = begin_correction(issue=issue, author="ada", now=LATER)
    assert letter.subject == f"Correction: {issue.title}"
    assert [row.destination_id for row in recipients_of(letter)] == [first.destination_id]
    assert audience_words(letter) == f"everybody who is confirmed, who got “{issue.title}”"
    # It is on no page: others need no correction.
    Broadcast.objects.filter(pk=letter.pk).update(markdown="Rye is not wheat.")
    assert send_letter(letter_id=letter.pk, version=1, now=LATER) == 1
    assert not Issue.objects.latest("pk").has_page


def test_a_copy_has_the_text_and_recipients_of_its_original() -> None:
    letter = a_sent_letter()
    copy = copy_letter(letter=letter, author="bo", now=NOW)
    assert (copy.subject, copy.markdown, copy.author) == (letter.subject, letter.markdown, "bo")
    assert (copy.state, copy.audience) == ("draft", letter.audience)


@given(st.lists(ACTS, max_size=25))
@pytest.mark.django_db
def test_whatever_happens_each_person_gets_one_text_and_the_ledger_says_which(acts: list[str]) -> None:
    Issue.objects.all().delete()
    issue = an_issue(published_at=NOW, html="<p>Text 0</p>", text="Text 0")
    subscriptions = SubscriptionFactory.create_batch(3, subscribable=issue.subscribable)
    queue(issue=issue, recipients=issue.subscribable.subscriptions.all(), now=NOW)
    under_way: list[Any] = []
    perhaps: dict[int, set[str]] = {row.destination_id: set() for row in subscriptions}
    now, edits = NOW, 0

    def end(outcome: Any, arrives: bool) -> None:
        if under_way:
            row = under_way.pop()
            if arrives:
                perhaps[row.destination_id].add(text_of(row))
            ended(outcome, row, at=now)

    for act in [*acts, "resume", "claim", "sent", "sent", "sent", "claim", "sent", "sent", "sent"]:
        now += HOUR
        paused = Issue.objects.get(pk=issue.pk).paused_at is not None
        match act:
            case "claim" if not under_way:
                under_way += claimed(now=now)
            case "sent":
                end(Sent("1"), arrives=True)
            case "deferred":
                end(Temporary("450 later"), arrives=False)
            case "lost":
                end(Ambiguous("gone"), arrives=True)
            case "pause" if not paused and Delivery.objects.exclude(state="sent").exists():
                pause_issue(issue_id=issue.pk, now=now)
            case "edit" if paused:
                edits += 1
                reword(issue, f"Note {edits}.")
            case "resume" if paused:
                resume_issue(issue_id=issue.pk, now=now)
    issue.refresh_from_db()
    for row in Delivery.objects.all():
        assert perhaps[row.destination_id] <= {issue_letter(issue, row.version).html}
    assert issue.version == edits
