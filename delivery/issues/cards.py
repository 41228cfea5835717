"""Cards by which the archive lists and searches issues."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from itertools import chain

from django.db.models import Q, Value
from django.db.models.functions import StrIndex
from django.db.models.lookups import GreaterThan
from django.utils import translation

from channels.languages import spoken
from common.html.clean import plain
from common.passes import TimeBudget
from delivery.models import Issue, IssueCard
from delivery.rendering.posts import first_picture
from delivery.rendering.subjects import post_title
from delivery.rules.search_words import asked_words, searchable
from feeds.parsing.entry import Entry

# A search of 5,000 issues reads at most 100 MB, usually a tenth of it.
LONGEST_CARD_TEXT = 20_000
MOST_CARD_TITLES = 500
LONGEST_TITLE = 150
_LONGEST_POST = 100_000
CARDS_AT_ONCE = 50
# Complete collections wait up to this long.
AT_FIRST = timedelta(seconds=2)
_all_filled = threading.Event()


def card_of(issue: Issue, entries: Sequence[Entry]) -> IssueCard:
    with translation.override(spoken(issue.subscribable.language)):
        titles = [post_title(entry, longest=LONGEST_TITLE) for entry in entries[:MOST_CARD_TITLES]]
    texts = (plain(entry.html[:_LONGEST_POST]) for entry in entries)
    words = searchable(
        chain([issue.title], (entry.title for entry in entries), texts), most=LONGEST_CARD_TEXT
    )
    return IssueCard(issue=issue, titles=titles, picture=first_picture(entries), words=words)


def with_words(text: str) -> Q:
    """Match issues whose title or posts have all these words or prefixes."""
    asked = asked_words(text)
    found = Q() if asked or not text else Q(pk=None)
    for word in asked:
        # `fill_cards` has not reached this issue of an earlier release.
        there = Q(GreaterThan(StrIndex("card__words", Value(word)), 0))
        found &= there | Q(card=None, title__icontains=word.strip())
    return found


def fill_cards(*, budget: timedelta | None = None) -> int:
    """Write cards of issues from earlier releases, newest first. Return how many."""
    left, filled = TimeBudget(budget), 0
    without = (
        Issue.objects.filter(card=None).defer("html", "text", "placeholders").select_related("subscribable")
    )
    while issues := list(without.order_by("-pk").prefetch_related("issue_items")[:CARDS_AT_ONCE]):
        cards = [
            card_of(issue, [Entry.from_json(row.entry) for row in issue.issue_items.all()])
            for issue in issues
        ]
        IssueCard.objects.bulk_create(cards, ignore_conflicts=True)
        filled += len(cards)
        if left.is_spent:
            break
    return filled


def fill_cards_at_first(*, budget: timedelta = AT_FIRST) -> int:
    """Call `fill_cards` until nothing is left; new issues have a card."""
    filled = 0 if _all_filled.is_set() else fill_cards(budget=budget)
    if not filled:
        _all_filled.set()
    return filled
