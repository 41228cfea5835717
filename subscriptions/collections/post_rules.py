from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, Q

from common.ports.hooks import HookError
from common.text import one_line
from feeds.items.held import present_entries
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry
from subscriptions.models import LeftOut, PostRule, Subscribable
from subscriptions.newsletters.own_code import is_wanted
from subscriptions.rules.post_rules import InvalidRule, Trouble, Verdict, check_on, judge, rewrite, sentence

MOST_RULES = 50
TRIED_WHEN_SAVED = 10
BY_ITS_HOOK = "the newsletter’s own code (filter) does not want it"
TRIED = 20


def verdict(subscribable: Subscribable, entry: Entry, *, feed: Feed) -> Verdict:
    """Apply the rules, then the hook. Raises HookError."""
    judgement = judge(entry, subscribable.active_rules)
    if judgement.is_kept and not is_wanted(subscribable, entry, feed=feed):
        return replace(judgement, is_kept=False, reason=BY_ITS_HOOK)
    return judgement


def verdicts(item: Item, *, now: datetime) -> dict[int, Verdict]:
    """Return verdicts of newsletters with rules or hooks. Raises HookError.

    Call it outside of transactions: expressions and hooks may take long.
    """
    picky = Q(post_rules__active=True) | ~Q(hooks="")
    takers = Subscribable.objects.filter(picky, feeds=item.feed_id, stopped=False).distinct()
    if not takers or item.entry is None:
        return {}
    entry = Entry.from_json(item.entry)
    answers = {}
    for taker in takers.prefetch_related("post_rules"):
        answers[taker.pk] = verdict(taker, entry, feed=item.feed)
        note_troubles(answers[taker.pk].troubles, title=item.title or item.link, now=now)
    return answers


def note_troubles(troubles: Iterable[Trouble], *, title: str, now: datetime) -> None:
    for trouble in troubles:
        message = one_line(f"{trouble.why} (“{title}”)")[:1000]
        rows = PostRule.objects.filter(pk=trouble.rule.key).exclude(trouble=message)
        rows.update(trouble=message, trouble_at=now)


def note_left_out(subscribable: Subscribable, reasons: dict[int, str], *, now: datetime) -> None:
    """Runs in the caller's transaction."""
    LeftOut.objects.bulk_create(
        [LeftOut(subscribable=subscribable, item_id=pk, reason=why, at=now) for pk, why in reasons.items()],
        update_conflicts=True,
        unique_fields=["subscribable", "item"],
        update_fields=["reason", "at"],
    )


def left_out_words(subscribable: Subscribable, reason: str) -> str:
    return f"“{subscribable}” left it out: {reason}."


def add_rule(*, subscribable: Subscribable, **fields: Any) -> PostRule:
    """Raises ValidationError with the field."""
    last = subscribable.post_rules.aggregate(last=Max("position"))["last"]
    row = PostRule(subscribable=subscribable, position=0 if last is None else last + 1, **fields)
    change_rules(subscribable=subscribable, saved=[row])
    return row


def drop_rule(*, rule: PostRule) -> str:
    words = str(rule)
    change_rules(subscribable=rule.subscribable, gone=[rule])
    return words


def change_rules(
    *, subscribable: Subscribable, saved: Sequence[PostRule] = (), gone: Sequence[PostRule] = ()
) -> None:
    """Raises ValidationError with the field.

    Rules apply to posts that become final later, replacements to letters made later.
    """
    for row in saved:
        row.full_clean(exclude=["subscribable"])
        refuse_slow_rule(row)
    with transaction.atomic():
        subscribable = Subscribable.objects.select_for_update(no_key=True).get(pk=subscribable.pk)
        PostRule.objects.filter(pk__in=[row.pk for row in gone], subscribable=subscribable).delete()
        for row in saved:
            row.subscribable, row.trouble, row.trouble_at = subscribable, "", None
            row.save()
        if (count := subscribable.post_rules.count()) > MOST_RULES:
            raise ValidationError(f"At most {MOST_RULES} rules for a newsletter; these would be {count}.")


def refuse_slow_rule(row: PostRule) -> None:
    """Raise ValidationError if it is too slow on current posts."""
    if row.test != PostRule.Test.MATCHES:
        return
    try:
        check_on(row.rule, present_posts(row.subscribable, TRIED_WHEN_SAVED))
    except InvalidRule as error:
        raise ValidationError({error.field: str(error)}) from error


def present_posts(subscribable: Subscribable, count: int) -> list[Entry]:
    return [entry for _, entry in _present(subscribable, count)]


def _present(subscribable: Subscribable, count: int) -> list[tuple[Feed, Entry]]:
    pairs = [(feed, entry) for feed in subscribable.feeds.all() for entry in present_entries(feed, count)]
    pairs.sort(key=lambda pair: pair[1].published.timestamp() if pair[1].published else 0, reverse=True)
    return pairs[:count]


@dataclass(frozen=True, slots=True)
class Tried:
    """`troubles`: sentences on rules and hooks that failed. The title is after replacements."""

    title: str
    link: str
    feed: Feed
    is_kept: bool
    reason: str = ""
    old_title: str = ""
    changed_by: tuple[str, ...] = ()
    troubles: tuple[str, ...] = field(default=())


def try_rules(subscribable: Subscribable, count: int = TRIED) -> list[Tried]:
    """A rule that fails is not tried again."""
    rules = subscribable.active_rules
    results = []
    for feed, entry in _present(subscribable, count):
        judgement = judge(entry, rules)
        # If the hook fails, the post would wait.
        wants, failure = judgement.is_kept, ""
        if wants:
            try:
                wants = is_wanted(subscribable, entry, feed=feed)
            except HookError as error:
                wants, failure = False, str(error)
        done = rewrite(entry, rules)
        troubles = (*judgement.troubles, *done.troubles)
        sentences = (*(f"{sentence(each.rule)} {each.why}" for each in troubles), *filter(None, (failure,)))
        tried = Tried(
            title=one_line(done.entry.title) or done.entry.link or "Untitled",
            link=done.entry.link,
            feed=feed,
            is_kept=wants,
            reason=judgement.reason or ("" if wants else failure or BY_ITS_HOOK),
            old_title=entry.title if done.entry.title != entry.title else "",
            changed_by=tuple(sentence(rule) for rule in done.changed_by) if wants else (),
            troubles=sentences,
        )
        results.append(tried)
        failed = {trouble.rule for trouble in troubles}
        rules = tuple(rule for rule in rules if rule not in failed)
    return results
