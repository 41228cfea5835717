"""The cards by which the archive lists and finds issues."""

import pytest

from delivery.issues.complete import complete_due
from delivery.issues.contents import CARDS_AT_ONCE, LONGEST_CARD_TEXT, card_of, fill_cards
from delivery.models import Issue, IssueCard
from tests.delivery.collecting import MIDNIGHT, a_newsletter, collect
from tests.factories import IssueFactory, SubscribableFactory, an_entry, an_issue

pytestmark = pytest.mark.django_db


def test_a_card_has_the_titles_in_order_and_every_word_once() -> None:
    issue = IssueFactory(title="Rain, and 1 more", subscribable__language="de")
    entries = [
        an_entry(1, title="Rain", content="<p>It rains.</p><p>Again.</p>"),
        an_entry(2, title="", content=""),
    ]
    card = card_of(issue, entries)
    assert card.titles == ["Rain", "Beitrag ohne Titel"]
    assert card.words.split() == ["rain", "and", "1", "more", "it", "rains", "again"]


def test_an_issue_gets_its_card_when_it_is_made() -> None:
    items = collect(a_newsletter(), posts=2)
    assert complete_due(clock=lambda: MIDNIGHT) == 1
    card = IssueCard.objects.get(issue=Issue.objects.get())
    assert sorted(card.titles) == sorted(item.title for item in items)


def test_a_card_is_bounded() -> None:
    text = " ".join(f"word{number}" for number in range(50_000))
    assert len(card_of(IssueFactory(), [an_entry(title="Rain", content=text)]).words) <= LONGEST_CARD_TEXT


def test_issues_of_a_release_before_get_theirs_as_far_as_the_budget_goes() -> None:
    letter = SubscribableFactory()
    with_posts = an_issue(subscribable=letter, posts=2)
    IssueFactory.create_batch(CARDS_AT_ONCE, subscribable=letter)
    assert fill_cards() == CARDS_AT_ONCE + 1
    assert len(IssueCard.objects.get(issue=with_posts).titles) == 2
    assert fill_cards() == 0
    letter.delete()
    assert not IssueCard.objects.exists()
