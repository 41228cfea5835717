"""Queued emails and posts, as issues that are sent when their newsletter is started.

Their posts are marked as sent, so nothing else remembers the rest of an issue.
"""

import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from channels.placeholders import BUILT_IN, FIELD
from common.db.bulk import find_rows
from common.html.clean import clean
from common.html.plain_text import to_text
from common.text import one_line, pluralize, without_controls
from delivery.issues.contents import card_of
from delivery.issues.publish import queue
from delivery.models import Delivery, Issue, IssueItem
from delivery.models.delivery import NOT_FINISHED
from delivery.rendering.errors import Rendered, TypedFields
from feedletter_site.migrate_from.again import cancel
from feeds.parsing.entry import Entry, Media
from migrate_from.records import QUEUED, ImportResult, Line, OldNewsletter, OldStatus, hashed
from subscriptions.models import OldNumber, Subscribable, Subscription
from subscriptions.rules.sign_up import number_here

# All of ours are filled in when an email is sent.
OURS = frozenset(name.lower() for name in BUILT_IN)
KEYS = "feedletter-"
PERHAPS_SENT = "feedletter tried it before, and may have sent it. Check, then retry or cancel it."
_URL = re.compile(r"https?://[^\s<>\"]+")


@dataclass(frozen=True, slots=True)
class Queued:
    """Emails with the same text, or a post. `numbers`: subscription there → whether it may have been sent."""

    key: str
    subject: str
    numbers: Mapping[int, bool]
    html: str = ""
    post: OldStatus | None = None

    def planned(self, name: str) -> Iterator[Line]:
        tried = sum(self.numbers.values())
        if waiting := len(self.numbers) - tried:
            words = f"{pluralize(waiting, 'message')} will be sent when you resume sending."
            yield Line(ImportResult.TAKEN, QUEUED, name, words)
        if tried:
            words = (
                f"{pluralize(tried, 'message')} may have been sent, and will be held: retry or cancel them."
            )
            yield Line(ImportResult.CHANGED, QUEUED, name, words)


def queued_of(old: OldNewsletter) -> Iterator[Queued]:
    """Group emails as they were written. Values of customizers may differ by person."""
    groups: dict[tuple[str, str], dict[int, bool]] = defaultdict(dict)
    for each in old.emails:
        people = groups[each.subject, without_controls(_filled(each.template, each.values))]
        people[each.number] = people.get(each.number, False) or each.is_tried
    for (subject, html), people in groups.items():
        yield Queued(hashed(old.name, subject, html), subject, people, html)
    for post in old.statuses:
        yield Queued(post.key, one_line(post.text), {post.account: post.is_tried}, post=post)


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill all fields but ours. Unknown and blank ones stay, as upstream left them."""

    def value_of(match: re.Match[str]) -> str:
        name = match[2].lower()
        if match[1] or name in OURS or not values.get(name, "").strip():
            return match[0]
        return values[name]

    return FIELD.sub(value_of, template)


def owners_of(numbers: Iterable[int], place: int) -> dict[int, int]:
    """Return the keys of subscriptions, in any newsletter, by their numbers in the database at a place."""
    here = {number_here(number, place): number for number in numbers}
    further = find_rows(OldNumber, ["subscription"], key="number", values=frozenset(here))
    owners = [*further, *find_rows(Subscription, ["id"], key="upstream_id", values=frozenset(here))]
    return {here[number]: pk for number, pk in owners}


def take_queues(
    old: OldNewsletter, newsletter: Subscribable, *, place: int, adds: bool, now: datetime
) -> Iterator[Line]:
    """Create issues in the caller's transaction, without any event; cancel what was sent since."""
    queued = {f"{KEYS}{each.key}": each for each in queued_of(old)}
    for issue in newsletter.issues.filter(within_type_id__startswith=KEYS).defer("html", "text"):
        each = queued.pop(issue.within_type_id, None)
        if each is None:
            cancel(issue, now=now)
            continue
        kept = frozenset(owners_of(each.numbers, place).values())
        rest = issue.deliveries.filter(state__in=NOT_FINISHED).exclude(subscription__pk__any_of=kept)
        rest.update(state=Delivery.State.CANCELLED, held_for="", last_error="feedletter sent it.")
    for each in queued.values() if adds else ():
        name = f"{old.name}: {each.subject[:100]}"
        yield from each.planned(name)
        if missing := _take(each, old.name, newsletter, place, now):
            words = f"{pluralize(missing, 'message')} of people who weren’t imported won’t be sent."
            yield Line(ImportResult.REFUSED, QUEUED, name, words)


def _take(each: Queued, old_name: str, newsletter: Subscribable, place: int, now: datetime) -> int:
    """Return how many people are unknown here. Two numbers of one person are one message."""
    owners = owners_of(each.numbers, place)
    own = newsletter.subscriptions.filter(pk__any_of=frozenset(owners.values()))
    owned = frozenset(own.values_list("pk", flat=True))
    people: dict[int, bool] = {}
    for number, pk in owners.items():
        if pk in owned:
            people[pk] = people.get(pk, False) or each.numbers[number]
    if people:
        rendered, entry = _post(each.post, old_name) if each.post else _letter(each, old_name)
        _store(newsletter, each.key, rendered, entry, people, now)
    return sum(owners.get(number) not in owned for number in each.numbers)


def _letter(each: Queued, old_name: str) -> tuple[Rendered, Entry]:
    fields = TypedFields({})

    def replaced(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        return fields.in_subject(match[0]) if match[2].lower() in OURS else match[0]

    html, title = FIELD.sub(replaced, each.html), _title(each.subject, old_name)
    rendered = fields.as_placeholders(Rendered(title, each.subject, html, to_text(html), {}))
    content = fields.for_nobody(clean(html, base=""), {}, is_html=True)
    return rendered, Entry(guid=f"{KEYS}{each.key}", title=title, content=content)


def _post(post: OldStatus, old_name: str) -> tuple[Rendered, Entry]:
    links, title = _URL.findall(post.text), _title(one_line(_URL.sub("", post.text)), old_name)
    media = tuple(Media(url=url, type=type_, alt=alt) for url, type_, alt in post.pictures)
    entry = Entry(guid=f"{KEYS}{post.key}", title=title, link=links[-1] if links else "", media=media)
    # Without html, the text is posted as it is.
    return Rendered(title=title, subject=title, html="", text=post.text, placeholders={}), entry


def _title(subject: str, old_name: str) -> str:
    return subject.removeprefix(f"[{old_name}] ").removeprefix("New Post: ")


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
