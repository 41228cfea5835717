"""Queued emails and posts, as issues that are sent when their newsletter is started."""

import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from channels.placeholders import FIELD
from common.db.bulk import find_rows
from common.html.clean import clean
from common.html.plain_text import to_text
from common.text import one_line, pluralize
from delivery.issues.cards import card_of
from delivery.issues.publish import queue
from delivery.models import Delivery, Issue, IssueItem
from delivery.models.delivery import NOT_FINISHED
from delivery.rendering.errors import Rendered
from delivery.rendering.typed_fields import TypedFields
from feedletter_site.migrate_from.again import cancel
from feedletter_site.migrate_from.feedletter.model import OldLetter, OldNewsletter, OldPost
from feedletter_site.migrate_from.feedletter.queues import OURS, QUEUED
from feedletter_site.migrate_from.source import ImportResult, Line
from feeds.parsing.entry import Entry, Media
from subscriptions.models import OldNumber, Subscribable, Subscription

KEYS = "feedletter-"
PERHAPS_SENT = "feedletter tried it before, and may have sent it. Check, then retry or cancel it."
_URL = re.compile(r"https?://[^\s<>\"]+")


def planned_queues(old: OldNewsletter) -> Iterator[Line]:
    for letter in old.letters:
        yield from _planned(f"{old.name}: {letter.subject[:100]}", len(letter.numbers), len(letter.tried))
    for post in old.posts:
        yield from _planned(f"{old.name}: {one_line(post.text)[:100]}", 1, int(post.is_tried))


def _planned(name: str, count: int, tried: int) -> Iterator[Line]:
    if waiting := count - tried:
        words = f"{pluralize(waiting, 'message')} will be sent when you resume sending."
        yield Line(ImportResult.TAKEN, QUEUED, name, words)
    if tried:
        words = f"{pluralize(tried, 'message')} may have been sent, and will be held: retry or cancel them."
        yield Line(ImportResult.CHANGED, QUEUED, name, words)


def take_queues(old: OldNewsletter, newsletter: Subscribable, *, adds: bool, now: datetime) -> Iterator[Line]:
    """Create issues in the caller's transaction, without any event; cancel what was sent since."""
    waiting: tuple[OldLetter | OldPost, ...] = (*old.letters, *old.posts)
    queued = {f"{KEYS}{each.key}": each for each in waiting}
    there = {
        issue.within_type_id: issue
        for issue in newsletter.issues.filter(within_type_id__startswith=KEYS).defer("html", "text")
    }
    for key, issue in there.items():
        letter = queued.pop(key, None)
        if letter is None:
            cancel(issue, now=now)
        elif isinstance(letter, OldLetter):
            kept = frozenset(owners_of(letter.numbers).values())
            rest = issue.deliveries.filter(state__in=NOT_FINISHED).exclude(subscription__pk__any_of=kept)
            rest.update(state=Delivery.State.CANCELLED, held_for="", last_error="feedletter sent it.")
    if not adds:
        return
    new = {each.key for each in queued.values()}
    yield from planned_queues(
        replace(
            old,
            letters=tuple(one for one in old.letters if one.key in new),
            posts=tuple(one for one in old.posts if one.key in new),
        )
    )
    for each in queued.values():
        if isinstance(each, OldLetter):
            if missing := _take_letter(each, old.name, newsletter, now):
                words = f"{pluralize(missing, 'message')} of people who weren’t imported won’t be sent."
                yield Line(ImportResult.REFUSED, QUEUED, f"{old.name}: {each.subject[:100]}", words)
        elif not _take_post(each, old.name, newsletter, now):
            words = "Its account isn’t imported, so it isn’t posted."
            yield Line(ImportResult.REFUSED, QUEUED, f"{old.name}: {one_line(each.text)[:100]}", words)


def _take_letter(letter: OldLetter, old_name: str, newsletter: Subscribable, now: datetime) -> int:
    """Return how many people are unknown here. Two numbers of one person are one letter."""
    owners = owners_of(letter.numbers)
    own = newsletter.subscriptions.filter(pk__any_of=frozenset(owners.values()))
    owned = frozenset(own.values_list("pk", flat=True))
    people: dict[int, bool] = {}
    for number, pk in owners.items():
        if pk in owned:
            people[pk] = people.get(pk, False) or number in letter.tried
    missing = sum(owners.get(number) not in owned for number in letter.numbers)
    if people:
        fields = TypedFields({})

        def replaced(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            return fields.in_subject(match[0]) if match[2].lower() in OURS else match[0]

        html = FIELD.sub(replaced, letter.html)
        title = letter.subject.removeprefix(f"[{old_name}] ").removeprefix("New Post: ")
        rendered = fields.as_placeholders(Rendered(title, letter.subject, html, to_text(html), {}))
        content = fields.for_nobody(clean(html, base=""), {}, is_html=True)
        entry = Entry(guid=f"feedletter-{letter.key}", title=title, content=content)
        _store(newsletter, letter.key, rendered, entry, people, now)
    return missing


def owners_of(numbers: frozenset[int]) -> dict[int, int]:
    """Return the keys of subscriptions, in any newsletter, by their old numbers."""
    further = find_rows(OldNumber, ["subscription"], key="number", values=numbers)
    return dict([*further, *find_rows(Subscription, ["id"], key="upstream_id", values=numbers)])


def _take_post(post: OldPost, old_name: str, bridge: Subscribable, now: datetime) -> bool:
    row = Subscription.objects.filter(subscribable=bridge, upstream_id=post.account).first()
    if row is None:
        return False
    links = _URL.findall(post.text)
    media = tuple(Media(url=each.url, type=each.type, alt=each.alt) for each in post.pictures)
    title = one_line(_URL.sub("", post.text)).removeprefix(f"[{old_name}] ").removeprefix("New Post: ")
    link = links[-1] if links else ""
    entry = Entry(guid=f"feedletter-{post.key}", title=title, link=link, media=media)
    # Without html, the text is posted as it is.
    rendered = Rendered(title=title, subject=title, html="", text=post.text, placeholders={})
    _store(bridge, post.key, rendered, entry, {row.pk: post.is_tried}, now)
    return True


def _store(
    newsletter: Subscribable,
    key: str,
    rendered: Rendered,
    entry: Entry,
    people: Mapping[int, bool],
    now: datetime,
) -> None:
    """Store an issue with held deliveries. `people`: subscription → whether it may have been sent."""
    issue = Issue.objects.create(
        subscribable=newsletter,
        within_type_id=f"{KEYS}{key}",
        token=secrets.token_hex(12),
        title=rendered.title,
        subject=rendered.subject,
        html=rendered.html,
        text=rendered.text,
        placeholders=rendered.placeholders,
        created_at=now,
        published_at=now,
    )
    IssueItem.objects.create(issue=issue, position=0, entry=entry.to_json())
    card_of(issue, [entry]).save(force_insert=True)
    queue(issue=issue, recipients=Subscription.objects.filter(pk__any_of=frozenset(people)), now=now)
    rows = issue.deliveries.all()
    rows.update(state=Delivery.State.HELD, held_for=Delivery.HeldFor.PAUSE)
    tried = frozenset(pk for pk, is_tried in people.items() if is_tried)
    rows.filter(subscription__pk__any_of=tried).update(held_for="", last_error=PERHAPS_SENT)
