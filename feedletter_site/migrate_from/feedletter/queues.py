"""feedletter's queues, as issues that are sent when their newsletter is started.

Their posts are marked as sent, so nothing else remembers the rest of an issue.
"""

import hashlib
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parseaddr
from urllib.parse import parse_qs, parse_qsl, urlsplit

from channels.placeholders import BUILT_IN, FIELD
from common.db.bulk import find_rows
from common.html.clean import clean
from common.html.plain_text import to_text
from common.text import one_line, pluralize, without_controls
from delivery.issues.contents import card_of
from delivery.issues.publish import queue
from delivery.models import Delivery, Issue, IssueItem
from delivery.models.delivery import NOT_FINISHED
from delivery.rendering.errors import Rendered
from delivery.rendering.typed_fields import TypedFields
from feedletter_site.migrate_from.again import cancel
from feedletter_site.migrate_from.feedletter.dump import Row, text
from feedletter_site.migrate_from.feedletter.model import (
    OldFeed,
    OldLetter,
    OldNewsletter,
    OldPicture,
    OldPost,
)
from feedletter_site.migrate_from.source import ImportResult, Line
from feeds.parsing.entry import Entry, Media
from subscriptions.models import OldNumber, Subscribable, Subscription
from subscriptions.rules.invitations import number_here

QUEUED = "queued message"
ADVICE = (
    "It waits in a queue. Start feedletter once more until its queues are empty, then stop it and import"
    " again; or keep it (--queued keep)."
)
NEVER_SENT = "It was never sent, and isn’t imported."
UNASKED = (
    "It was never sent. After the import, send ours: press Send confirmations on its page, or run"
    " send_confirmations."
)
_ASKS = re.compile(r"\[(.*)\] Please confirm", re.DOTALL)
# All of ours are filled in when an email is sent.
OURS = frozenset(name.lower() for name in BUILT_IN)
KEYS = "feedletter-"
PERHAPS_SENT = "feedletter tried it before, and may have sent it. Check, then retry or cancel it."
_URL = re.compile(r"https?://[^\s<>\"]+")


@dataclass(frozen=True, slots=True)
class QueueTable:
    name: str
    place: str
    subject: str


IMMEDIATE = QueueTable("immediately_mailable", "mail_to", "subject")
TABLES = (
    QueueTable("mailable", "mail_to", "mail_subject"),
    QueueTable("masto_postable", "name", "final_content"),
    QueueTable("bsky_postable", "identifier", "final_content"),
)


def asked_by(row: Row) -> tuple[str, str]:
    """Return whom an unsent confirmation asks: newsletter and address."""
    match = _ASKS.match(text(row, "subject"))
    return (match[1], parseaddr(text(row, "mail_to"))[1]) if match else ("", "")


def dropped(feeds: Iterable[OldFeed], tables: Mapping[str, Sequence[Row]]) -> Iterator[Line]:
    yield from _immediate(feeds, tables)
    for table in TABLES:
        for row in tables[table.name]:
            yield _refused(row, table, ADVICE)


def _immediate(feeds: Iterable[OldFeed], tables: Mapping[str, Sequence[Row]]) -> Iterator[Line]:
    newsletters = [newsletter for feed in feeds for newsletter in feed.newsletters]
    unasked = {
        (newsletter.name, one.address)
        for newsletter in newsletters
        for one in newsletter.subscriptions
        if one.is_unasked
    }
    for row in tables[IMMEDIATE.name]:
        if asked_by(row) in unasked:
            yield _refused(row, IMMEDIATE, UNASKED, ImportResult.CHANGED)
        else:
            yield _refused(row, IMMEDIATE, NEVER_SENT)


def with_queues(
    feeds: Iterable[OldFeed], tables: Mapping[str, Sequence[Row]], place: int
) -> tuple[list[OldFeed], list[Line]]:
    """Add letters and posts to their newsletters. Returns lines about the others, too."""
    feeds = list(feeds)
    newsletters = {each.name: each for feed in feeds for each in feed.newsletters}
    lines = list(_immediate(feeds, tables))
    letters = _letters(tables, newsletters, place, lines)
    posts = _posts(tables, newsletters.values(), lines)
    queued = {
        name: replace(each, letters=tuple(letters[name]), posts=tuple(posts[name]))
        for name, each in newsletters.items()
    }
    made = [
        replace(feed, newsletters=tuple(queued[each.name] for each in feed.newsletters)) for feed in feeds
    ]
    return made, lines


def _letters(
    tables: Mapping[str, Sequence[Row]],
    newsletters: Mapping[str, OldNewsletter],
    place: int,
    lines: list[Line],
) -> Mapping[str, list[OldLetter]]:
    """Group them by newsletter, text and subject, as they were written."""
    templates = {text(row, "sha3_256").strip(): text(row, "template") for row in tables["mailable_template"]}
    owners = {each.number: name for name, one in newsletters.items() for each in one.subscriptions}
    groups: dict[tuple[str, str, str], list[tuple[int, bool]]] = defaultdict(list)
    for row in tables["mailable"]:
        template = templates.get(text(row, "sha3_256").strip(), "")
        values = {name.lower(): value for name, value in parse_qsl(text(row, "template_params"))}
        number = number_here(_number(values.get("removelink", "")), place)
        if number not in owners or not template:
            lines.append(_refused(row, TABLES[0], _why_not(number, bool(template))))
            continue
        # Values of customizers may differ by person.
        html = without_controls(_filled(template, values))
        subject = one_line(text(row, "mail_subject"))
        groups[owners[number], subject, html].append((number, text(row, "retried") not in ("", "0")))
    made: dict[str, list[OldLetter]] = defaultdict(list)
    for (name, subject, html), people in groups.items():
        made[name].append(
            OldLetter(
                key=_key(name, subject, html),
                subject=subject,
                html=html,
                numbers=frozenset(number for number, _ in people),
                tried=frozenset(number for number, is_tried in people if is_tried),
            )
        )
    return made


def _why_not(number: int, has_template: bool) -> str:
    if not has_template:
        return "Its text is missing, so it can’t be sent."
    if not number:
        return "It doesn’t say to which subscription it belongs, so it isn’t sent."
    return "Its subscriber left or isn’t imported, so it isn’t sent."


def _number(remove_link: str) -> int:
    try:
        given = parse_qs(urlsplit(remove_link).query).get("subscriptionId", [""])[0]
    except ValueError:
        return 0
    return int(given) if given.isascii() and given.isdigit() and len(given) < 20 else 0


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill all fields but ours. Unknown and blank ones stay, as upstream left them."""

    def value_of(match: re.Match[str]) -> str:
        name = match[2].lower()
        if match[1] or name in OURS or not values.get(name, "").strip():
            return match[0]
        return values[name]

    return FIELD.sub(value_of, template)


def _posts(
    tables: Mapping[str, Sequence[Row]], newsletters: Iterable[OldNewsletter], lines: list[Line]
) -> Mapping[str, list[OldPost]]:
    bridges = [each for each in newsletters if each.is_bridge]
    made: dict[str, list[OldPost]] = defaultdict(list)
    for table, server, channel in (
        (TABLES[1], "instance_url", "mastodon"),
        (TABLES[2], "entryway_url", "bluesky"),
    ):
        media = defaultdict(list)
        for row in sorted(tables[f"{table.name}_media"], key=lambda row: int(text(row, "position") or 0)):
            media[text(row, f"{table.name}_id")].append(row)
        for row in sorted(tables[table.name], key=lambda row: int(text(row, "seqnum"))):
            account, words = (text(row, table.place), text(row, server)), text(row, "final_content")
            candidates = [
                (bridge, one)
                for bridge in bridges
                if bridge.channel == channel
                for one in bridge.accounts
                if one.old_name == account
            ]
            named = [each for each in candidates if words.startswith(f"[{each[0].name}]")]
            if not (candidates := named or candidates):
                lines.append(
                    _refused(row, table, "No bridge to that account is imported, so it isn’t posted.")
                )
                continue
            bridge, one = candidates[0]
            pictures, others = [], 0
            for each in media[text(row, "seqnum")]:
                if text(each, "mime_type").startswith("image"):
                    kind, alt = text(each, "mime_type"), without_controls(text(each, "alt"))
                    pictures.append(OldPicture(without_controls(text(each, "media_url")), kind, alt))
                else:
                    others += 1
            if others:
                what = f"{others} of its files are no pictures, and aren’t posted."
                lines.append(_refused(row, table, what, ImportResult.CHANGED))
            made[bridge.name].append(
                OldPost(
                    key=_key(bridge.name, words, text(row, "seqnum")),
                    account=one.number,
                    text=without_controls(words),
                    pictures=tuple(pictures),
                    is_tried=text(row, "retried") not in ("", "0"),
                )
            )
    return made


def _refused(row: Row, table: QueueTable, words: str, result: ImportResult = ImportResult.REFUSED) -> Line:
    name = f"{text(row, table.place)}: {one_line(text(row, table.subject))[:100]}"
    return Line(result, QUEUED, name, words)


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]


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
