"""Corrections of posts that a newsletter sent: its next issue shows each once.

The issue and the record of what it tells are written in one transaction, under the newsletter's lock.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, override

from channels.languages import spoken
from common.ports import channels
from delivery.issues.contents import Collected, Telling, arranged
from delivery.models import Issue, IssueItem, ToldCorrection
from delivery.rendering.facts import web_address
from delivery.rendering.subjects import post_title
from delivery.rules.posts import Post
from feeds.items.history import VERSIONS_KEPT_FOR, is_gone
from feeds.models import ItemVersion
from feeds.parsing.entry import Entry
from feeds.polling.versions import MOST_VERSIONS
from feeds.polling.whole import has_text
from feeds.rules.changes import ADDED, REMOVED, Change, changes, excerpt, text_of
from subscriptions.models import Subscribable

# More wait for the issue after.
MOST_TOLD, MOST_COMPARED = 20, 200
LONGEST_PASSAGE = 1_500
# A version counts from the beginning of its reading, which may be before the issue that lacks it.
READING_TAKES = timedelta(hours=1)


def with_corrections(contents: Collected, *, now: datetime, told: Collection[Telling] = ()) -> Collected:
    """Add what was corrected since the newsletter sent it, without posts that are in `told`.

    May run own code, so call it outside of transactions. Raises LetterError.
    """
    newsletter = contents.subscribable
    wanted = newsletter.tells_corrections and channels.get(newsletter.channel).needs_html
    if not wanted or not contents.posts:
        return contents
    here = {post.item_id for post in contents.posts}
    passages: list[SafeString] = []
    new: list[Telling] = []
    others = {each.item for each in told if each.newsletter == newsletter.pk}
    for row in _sent(newsletter, now):
        item = row.item
        if item is None or item.pk in here or item.pk in others or len(new) == MOST_TOLD:
            continue
        version = item.versions.last()
        settled = now - timedelta(minutes=item.feed.await_stabilization_minutes)
        # More are a counter's.
        if version is None or version.seen_at > settled or item.versions.count() >= MOST_VERSIONS:
            continue
        last = _told(newsletter.pk).filter(item=item).last()
        if (parts := _news(newsletter, row, version, last)) and not is_gone(item):
            passages.append(_passage(Entry.from_json(version.entry), parts))
            new.append(Telling(newsletter.pk, item.pk, version.seen_at, last.pk if last else 0))
    if not new:
        return contents
    with override(spoken(newsletter.language)):
        heading = format_html("<h2>{}</h2>", gettext("Corrected since our last issue"))
    return replace(contents, corrected=heading + mark_safe("".join(passages)), told=tuple(new))  # noqa: S308


def _sent(newsletter: Subscribable, now: datetime) -> list[IssueItem]:
    """Return posts with a newer version that it did not tell, each as it was sent last."""
    told = _told(newsletter.pk).filter(item=OuterRef("item")).order_by("-pk").values("seen_at")[:1]
    since = now - VERSIONS_KEPT_FOR
    sent = IssueItem.objects.filter(issue__subscribable=newsletter, issue__published_at__gt=since)
    corrected = sent.annotate(known=Subquery(told)).filter(
        Q(known=None) | Q(item__versions__seen_at__gt=F("known")),
        item__versions__seen_at__gt=F("issue__created_at") - READING_TAKES,
    )
    rows = sent.filter(item__in=corrected.order_by().values("item"))
    rows = rows.select_related("item__feed").defer("item__entry").order_by("-issue_id")[:MOST_COMPARED]
    return list({row.item_id: row for row in reversed(rows)}.values())


def _told(*newsletters: int) -> "QuerySet[ToldCorrection]":
    return ToldCorrection.objects.filter(issue__subscribable__in=newsletters).order_by("pk")


def _news(
    newsletter: Subscribable, row: IssueItem, version: ItemVersion, last: ToldCorrection | None
) -> list[Change]:
    """Return the changes since the post, or its last correction, was sent."""
    before = Entry.from_json(row.entry)
    if has_text(version.item_id):
        # It was sent with its page's text; versions have the feed's excerpts.
        versions = ItemVersion.objects.filter(item=version.item_id).order_by("pk")
        sent = versions.filter(seen_at__lte=row.issue.created_at).last() or versions[0]
        before = as_sent(newsletter, Entry.from_json(sent.entry)) or before
    if last is not None and last.issue_id > row.issue_id:
        if last.seen_at >= version.seen_at:
            return []
        known = ItemVersion.objects.filter(item=version.item_id, seen_at=last.seen_at).last()
        before = as_sent(newsletter, Entry.from_json(known.entry)) or before if known else before
    after = as_sent(newsletter, Entry.from_json(version.entry))
    old, new = text_of(before), text_of(after) if after else ""
    if after is None or old == new:
        return []
    if before.title == after.title:
        # It is above the passage.
        old, new = (text.partition("\n")[2] for text in (old, new))
    return excerpt(changes(old, new), longest=LONGEST_PASSAGE)


def as_sent(newsletter: Subscribable, entry: Entry) -> Entry | None:
    """Apply the newsletter's rules and own code; None if they leave the post out."""
    posts = arranged(newsletter, [Post(0, 0, replace(entry, announce=""))]).posts
    return posts[0].entry if posts else None


def _passage(entry: Entry, parts: Sequence[Change]) -> SafeString:
    title, link = post_title(entry, longest=120), web_address(entry.link)
    named = format_html('<a href="{}">{}</a>', link, title) if link else title
    tags = {ADDED: "<ins>{}</ins>", REMOVED: "<del>{}</del> "}
    pieces = ((format_html(tags.get(kind, "{}"), words),) for kind, words in parts)
    shown = mark_safe(format_html_join("", "{}", pieces).replace("\n", "<br>"))  # noqa: S308
    return format_html('<p dir="auto"><b>{}</b><br>{}</p>', named, shown)


def record_told(issues: Sequence[tuple[Issue, Collected]]) -> bool:
    """Record what new issues tell, in the caller's transaction. Return False if another did so.

    Needs the newsletters' locks.
    """
    every = [(issue, each) for issue, contents in issues for each in contents.told]
    if not every:
        return True
    before = {(each.newsletter, each.item): each.before for _, each in every}
    there = _told(*(key for key, _ in before)).filter(item__in=[item for _, item in before])
    last = {(key, item): pk for pk, key, item in there.values_list("pk", "issue__subscribable", "item")}
    if len(before) < len(every) or any(last.get(key, 0) != pk for key, pk in before.items()):
        return False
    rows = (ToldCorrection(issue=issue, item_id=each.item, seen_at=each.seen_at) for issue, each in every)
    ToldCorrection.objects.bulk_create(rows)
    return True
