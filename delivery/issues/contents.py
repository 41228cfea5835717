"""Posts of an issue: which are sent, in which order, with which text.

The newsletter's rules apply first, then own code, then the publishers' wishes. Rendering gets copies, no
models. Cards are for the archive, which lists and searches issues.
"""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple

from django.conf import settings
from django.db.models import Prefetch, Q, Value
from django.db.models.functions import Concat, StrIndex, Trim
from django.db.models.lookups import GreaterThan
from django.utils import translation

from channels.languages import spoken
from channels.letter import LetterError
from common.html.clean import html_of, plain
from common.passes import TimeBudget
from common.ports import channels
from common.ports.hooks import HookError, Hooks
from delivery.accounts.accounts import senders_of
from delivery.customisation import own_issue_sources, themes_of
from delivery.issues import own_code
from delivery.links import archive_url
from delivery.models import Issue, IssueCard
from delivery.rendering import subjects
from delivery.rendering.errors import Rendered
from delivery.rendering.facts import USUAL_THEME, IssueFacts, TemplateSource, ThemeFacts
from delivery.rendering.issue import NO_POSTS_IN_IT, render_issue
from delivery.rendering.posts import first_picture
from delivery.rules.posts import Post, announced, asked_words, searchable, without
from feeds.models import Item
from feeds.parsing.entry import Entry
from subscriptions.branding.brands import site_facts
from subscriptions.collections.edits import BY_HAND
from subscriptions.collections.post_rules import left_out_words, note_left_out
from subscriptions.links import page_url
from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.newsletters.own_code import context_of, hooks_of
from subscriptions.rules.edits import NO_WORDS, Wording, in_places
from subscriptions.rules.post_rules import Trouble, in_order, rewrite
from subscriptions.rules.site import SiteFacts

# A search of 5,000 issues reads at most 100 MB, usually a tenth of it.
LONGEST_CARD_TEXT = 20_000
MOST_CARD_TITLES = 500
LONGEST_TITLE = 150
_LONGEST_POST = 100_000
CARDS_AT_ONCE = 50
# Complete collections wait up to this long.
AT_FIRST = timedelta(seconds=2)
_all_filled = threading.Event()
# Not the feed's long row.
_OF_POSTS = ("entry", "content_hash", "set_aside_at", "feed__url")


@dataclass(frozen=True, slots=True)
class Arranged:
    """Posts to send, in order, and posts left out.

    `reasons`: why own code dropped a post, by item key. `announcement`: own code's text instead of the usual
    one.
    """

    posts: tuple[Post, ...]
    left_out: tuple[Post, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    announcement: str = ""
    troubles: tuple[Trouble, ...] = ()


def arranged(subscribable: Subscribable, posts: Sequence[Post]) -> Arranged:
    """Apply rules, order, hooks and publishers' wishes to posts, which are given newest first.

    Raises LetterError if own code fails: then nothing is sent or lost.
    """
    rules = subscribable.active_rules
    done = [rewrite(post.entry, rules) for post in posts]
    ready = [post.with_entry(each.entry) for post, each in zip(posts, done, strict=True)]
    ready = in_order(ready, subscribable.post_order, lambda post: post.entry.title)
    troubles = tuple(trouble for each in done for trouble in each.troubles)
    try:
        hooks = hooks_of(subscribable)
        if hooks.functions:
            return replace(_by_hooks(subscribable, hooks, ready), troubles=troubles)
    except HookError as error:
        raise LetterError(str(error)) from error
    sent = announced(ready)
    return Arranged(tuple(sent), without(ready, sent), troubles=troubles)


def note_dropped(subscribable: Subscribable, reasons: Mapping[int, str], *, now: datetime) -> None:
    """Record why own code dropped posts, in the caller's transaction."""
    note_left_out(subscribable, dict(reasons), now=now)
    for pk, reason in sorted(reasons.items()):
        said = Value(f" {left_out_words(subscribable, reason)}")
        Item.objects.filter(pk=pk).update(reason=Trim(Concat("reason", said)))


def _by_hooks(subscribable: Subscribable, hooks: Hooks, posts: Sequence[Post]) -> Arranged:
    context = context_of(subscribable)
    # A digest's sample may have more posts.
    is_single = subscribable.arrangement == Subscribable.Arrangement.EACH and len(posts) == 1
    chosen = own_code.chosen(hooks, context, posts, is_single=is_single)
    restricted = [own_code.restricted(hooks, context, post) for post in chosen]
    sent = announced(restricted)
    found = Arranged(tuple(sent), without(restricted, sent))
    found = dropping(found, without(posts, chosen), "the newsletter’s own code (contents) has dropped it")
    kind = channels.get(subscribable.channel).announcement_hook
    if not found.posts or not is_single or kind not in hooks:
        return found
    text = own_code.announcement(hooks, kind, context, found.posts[0])
    if not text:
        reason = f"the newsletter’s own code ({kind}) has no words for it"
        return dropping(replace(found, posts=()), found.posts, reason)
    return replace(found, announcement=text)


def dropping(found: Arranged, dropped: Sequence[Post], reason: str) -> Arranged:
    """Leave out posts, whatever their publishers ask."""
    unhinted = (post.with_entry(replace(post.entry, announce="")) for post in dropped)
    reasons = dict.fromkeys((post.item_id for post in dropped), reason)
    return replace(found, left_out=(*found.left_out, *unhinted), reasons={**found.reasons, **reasons})


class Telling(NamedTuple):
    """A correction that an issue tells; `before` is the key of the last one's record, or 0."""

    newsletter: int
    item: int
    seen_at: datetime
    before: int


@dataclass(frozen=True, slots=True)
class Collected:
    """Sealed collection: its newsletter and its posts after rules and own code.

    The posts in `left_out` leave the collection unsent. `reasons` and `announcement` are as in `Arranged`.
    A sample has no `assignable_id`.
    """

    subscribable: Subscribable
    within_type_id: str
    period_start: datetime | None
    period_end: datetime | None
    posts: tuple[Post, ...]
    left_out: tuple[Post, ...] = ()
    reasons: Mapping[int, str] = field(default_factory=dict)
    announcement: str = ""
    troubles: tuple[Trouble, ...] = ()
    wording: Wording = NO_WORDS
    # Left out by an editor; also in `left_out`.
    by_hand: tuple[Post, ...] = ()
    # By their feeds.
    withdrawn: tuple[Post, ...] = ()
    assignable_id: int = 0
    # See delivery.issues.corrected.
    corrected: str = ""
    told: tuple[Telling, ...] = ()

    @property
    def unsent(self) -> tuple[Post, ...]:
        return (*self.left_out, *self.withdrawn)


def assignments_of(assignables: Iterable[Assignable]) -> dict[int, list[Assignment]]:
    """Return assignments with their posts, newest first. Collections of a post share its row."""
    held = {row.pk: row for row in assignables}
    items = Item.objects.select_related("feed").only(*_OF_POSTS)
    rows = Assignment.objects.filter(assignable__in=held).only("assignable", "item", "left_out_at", "place")
    rows = rows.order_by("-item__first_seen", "-item_id").prefetch_related(Prefetch("item", queryset=items))
    found: dict[int, list[Assignment]] = defaultdict(list)
    for row in rows:
        row.assignable = held[row.assignable_id]
        found[row.assignable_id].append(row)
    return found


def collected(assignable: Assignable, rows: Sequence[Assignment] | None = None) -> Collected:
    """Return the collection's posts after rules, own code and edits.

    May run own code: call it outside of any transaction. Raises LetterError if that fails, ValueError for a
    cleared item.
    """
    rows = assignments_of([assignable])[assignable.pk] if rows is None else rows
    posts = {row.item_id: _post(row) for row in rows}
    by_hand = [posts[row.item_id] for row in rows if row.left_out_at is not None]
    withdrawn = [posts[row.item_id] for row in rows if row.is_withdrawn]
    kept = [post for post in posts.values() if post not in by_hand and post not in withdrawn]
    done = arranged(assignable.subscribable, kept)
    # The editor's edits come last.
    sent = {post.item_id: post for post in done.posts}
    order = in_places(list(sent), {row.item_id: row.place for row in rows})
    if by_hand:
        done = dropping(done, by_hand, BY_HAND)
    return Collected(
        subscribable=assignable.subscribable,
        within_type_id=assignable.within_type_id,
        period_start=assignable.period_start,
        period_end=assignable.period_end,
        posts=tuple(sent[key] for key in order),
        left_out=done.left_out,
        reasons=done.reasons,
        announcement=done.announcement,
        troubles=done.troubles,
        wording=Wording(assignable.subject, assignable.note_top, assignable.note_foot),
        by_hand=tuple(by_hand),
        withdrawn=tuple(withdrawn),
        assignable_id=assignable.pk,
    )


def _post(row: Assignment) -> Post:
    if row.item.entry is None:
        raise ValueError(f"Item {row.item_id} has no content any more.")
    entry = Entry.from_json(row.item.entry)
    return Post(row.item_id, row.pk, entry, row.item.feed.url, row.item.content_hash)


def note_html(markdown: str) -> str:
    return html_of(markdown, base=settings.SITE_URL) if markdown else ""


def _chosen_subject(contents: Collected) -> str:
    """Return the subject, "" for the usual one. Raises LetterError."""
    try:
        return contents.wording.subject or own_code.subject_of(contents.subscribable, contents.posts)
    except HookError as error:
        raise LetterError(str(error)) from error


@dataclass(frozen=True, slots=True)
class LetterSettings:
    """Settings of a newsletter's letters in other tables. `own`: custom templates."""

    sender: str
    site: SiteFacts
    theme: ThemeFacts
    own: Mapping[str, TemplateSource]


def letter_settings_of(newsletters: Collection[Subscribable]) -> dict[int, LetterSettings]:
    """Return settings by newsletter, read together."""
    keys = [row.pk for row in newsletters]
    site, themes, own = site_facts(), themes_of(keys), own_issue_sources(keys)
    senders = senders_of(newsletters)
    return {
        row.pk: LetterSettings(
            sender=senders[row.pk], site=site, theme=themes.get(row.pk, USUAL_THEME), own=own.get(row.pk, {})
        )
        for row in newsletters
    }


def issue_facts(
    contents: Collected, *, now: datetime, letter_settings: LetterSettings | None = None
) -> IssueFacts:
    """Return the facts for rendering. Raises LetterError."""
    subscribable, wording = contents.subscribable, contents.wording
    subject = _chosen_subject(contents)
    return replace(
        newsletter_facts(
            subscribable, [post.entry for post in contents.posts], now=now, letter_settings=letter_settings
        ),
        within_type_id=contents.within_type_id,
        period_start=contents.period_start,
        period_end=contents.period_end,
        subject=subject,
        note_top=note_html(wording.note_top),
        note_foot=note_html(wording.note_foot) + contents.corrected,
    )


def rendered_issue(
    contents: Collected, *, now: datetime, letter_settings: LetterSettings | None = None
) -> Rendered:
    """Render the issue. Raises LetterError.

    Channels without HTML get a title, a subject and own code's announcement.
    """
    if channels.get(contents.subscribable.channel).needs_html:
        return render_issue(issue_facts(contents, now=now, letter_settings=letter_settings))
    if not contents.posts:
        raise LetterError(NO_POSTS_IN_IT)
    title = subjects.title([post.entry for post in contents.posts], contents.subscribable.language)
    subject = _chosen_subject(contents) or title
    return Rendered(title=title, subject=subject, html="", text=contents.announcement, placeholders={})


def newsletter_facts(
    subscribable: Subscribable,
    entries: Sequence[Entry],
    *,
    now: datetime,
    letter_settings: LetterSettings | None = None,
) -> IssueFacts:
    """Return the newsletter's facts for a letter without a period."""
    letter_settings = letter_settings or letter_settings_of([subscribable])[subscribable.pk]
    return IssueFacts(
        name=subscribable.name,
        newsletter=subscribable.title or subscribable.name,
        description=subscribable.description,
        from_email=letter_settings.sender,
        reply_to=subscribable.reply_to,
        language=subscribable.language,
        site_url=settings.SITE_URL,
        archive_url=archive_url(subscribable),
        params=dict(subscribable.params),
        arrangement=subscribable.arrangement,
        time_zone=subscribable.time_zone,
        n=subscribable.n,
        template=subscribable.template,
        theme=letter_settings.theme,
        site=letter_settings.site,
        own=letter_settings.own,
        most_posts=subscribable.max_posts,
        content=subscribable.content,
        takes_replies=bool(subscribable.reply_to),
        sign_up_url=page_url(subscribable) if subscribable.sign_up == Subscribable.SignUp.OPEN else "",
        entries=tuple(entries),
        now=now,
    )


def card_of(issue: Issue, entries: Sequence[Entry]) -> IssueCard:
    with translation.override(spoken(issue.subscribable.language)):
        titles = [subjects.post_title(entry, longest=LONGEST_TITLE) for entry in entries[:MOST_CARD_TITLES]]
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
