"""What a newsletter's rules would do to the posts that stand in its feeds now. Changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from common.hooks import HookError
from common.text import one_line
from feeds.models import Feed
from feeds.parsing.entry import Entry
from feeds.services.present import present_entries
from subscriptions.models import Subscribable
from subscriptions.rules.post_rules import Rule, Trouble, Verdict, judge, rewrite, sentence
from subscriptions.services.hooking import is_wanted
from subscriptions.services.post_rules import BY_ITS_HOOK, rules_of

TRIED = 20


@dataclass(frozen=True, slots=True)
class Tried:
    """One post. `reason` says why it is left out; `changed_by` what changed it, `title` is as it would be.

    `troubles` are sentences: of rules that could not judge it, or of code that failed.
    """

    title: str
    link: str
    feed: Feed
    is_kept: bool
    reason: str = ""
    old_title: str = ""
    changed_by: tuple[str, ...] = ()
    troubles: tuple[str, ...] = field(default=())


def try_rules(subscribable: Subscribable, count: int = TRIED) -> list[Tried]:
    """The newest posts of its feeds, newest first. A rule that fails with one is not tried on those after."""
    entries = [(feed, entry) for feed in subscribable.feeds.all() for entry in present_entries(feed, count)]
    entries.sort(key=lambda pair: pair[1].published.timestamp() if pair[1].published else 0, reverse=True)
    rules: tuple[Rule, ...] = rules_of(subscribable)
    found = []
    for feed, entry in entries[:count]:
        tried, troubles = _tried(subscribable, feed, entry, rules)
        found.append(tried)
        failed = {trouble.rule for trouble in troubles}
        rules = tuple(rule for rule in rules if rule not in failed)
    return found


def _tried(
    subscribable: Subscribable, feed: Feed, entry: Entry, rules: Sequence[Rule]
) -> tuple[Tried, tuple[Trouble, ...]]:
    said = judge(entry, rules)
    wants, failure = _wants(subscribable, feed, entry, said)
    done = rewrite(entry, rules)
    title = one_line(done.entry.title) or done.entry.link or "Untitled"
    troubles = (*said.troubles, *done.troubles)
    tried = Tried(
        title=title,
        link=done.entry.link,
        feed=feed,
        is_kept=wants,
        reason=said.reason or ("" if wants else failure or BY_ITS_HOOK),
        old_title=entry.title if done.entry.title != entry.title else "",
        changed_by=tuple(sentence(rule) for rule in done.changed_by) if wants else (),
        troubles=(*(f"{sentence(each.rule)} {each.why}" for each in troubles), *filter(None, (failure,))),
    )
    return tried, troubles


def _wants(subscribable: Subscribable, feed: Feed, entry: Entry, said: Verdict) -> tuple[bool, str]:
    """Whether the post is taken, and how the newsletter's own code failed if it did: the post waits then."""
    if not said.is_kept:
        return False, ""
    try:
        return is_wanted(subscribable, entry, feed=feed), ""
    except HookError as error:
        return False, str(error)
