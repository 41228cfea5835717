"""feedletter's queues: emails and posts of bridges that it has left to send. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from email.utils import parseaddr
from urllib.parse import parse_qs, parse_qsl, urlsplit

from common.text import one_line, without_controls
from migrate_from.feedletter.dump import Row, text
from migrate_from.records import (
    QUEUED,
    ImportResult,
    Line,
    OldEmail,
    OldFeed,
    OldNewsletter,
    OldStatus,
    hashed,
)

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

# Columns of a row's place and subject, by table.
COLUMNS = {
    "immediately_mailable": ("mail_to", "subject"),
    "mailable": ("mail_to", "mail_subject"),
    "masto_postable": ("name", "final_content"),
    "bsky_postable": ("identifier", "final_content"),
}


def asked_by(row: Row) -> tuple[str, str]:
    """Return whom an unsent confirmation asks: newsletter and address."""
    match = _ASKS.match(text(row, "subject"))
    return (match[1], parseaddr(text(row, "mail_to"))[1]) if match else ("", "")


def dropped(feeds: Iterable[OldFeed], tables: Mapping[str, Sequence[Row]]) -> Iterator[Line]:
    yield from _immediate(feeds, tables)
    for table in ("mailable", "masto_postable", "bsky_postable"):
        for row in tables[table]:
            yield _refused(row, table, ADVICE)


def _immediate(feeds: Iterable[OldFeed], tables: Mapping[str, Sequence[Row]]) -> Iterator[Line]:
    newsletters = [newsletter for feed in feeds for newsletter in feed.newsletters]
    unasked = {
        (newsletter.name, one.address)
        for newsletter in newsletters
        for one in newsletter.subscribers
        if one.is_unasked
    }
    for row in tables["immediately_mailable"]:
        if asked_by(row) in unasked:
            yield _refused(row, "immediately_mailable", UNASKED, ImportResult.CHANGED)
        else:
            yield _refused(row, "immediately_mailable", NEVER_SENT)


def with_queues(
    feeds: Iterable[OldFeed], tables: Mapping[str, Sequence[Row]]
) -> tuple[list[OldFeed], list[Line]]:
    """Add emails and posts to their newsletters. Returns lines about the others, too."""
    feeds = list(feeds)
    newsletters = [each for feed in feeds for each in feed.newsletters]
    lines = list(_immediate(feeds, tables))
    emails = _emails(tables, newsletters, lines)
    statuses = _statuses(tables, newsletters, lines)

    def queued(each: OldNewsletter) -> OldNewsletter:
        return replace(each, emails=tuple(emails[each.name]), statuses=tuple(statuses[each.name]))

    return [replace(feed, newsletters=tuple(map(queued, feed.newsletters))) for feed in feeds], lines


def _emails(
    tables: Mapping[str, Sequence[Row]], newsletters: Iterable[OldNewsletter], lines: list[Line]
) -> Mapping[str, list[OldEmail]]:
    templates = {text(row, "sha3_256").strip(): text(row, "template") for row in tables["mailable_template"]}
    owners = {each.number: one.name for one in newsletters for each in one.subscribers}
    made: dict[str, list[OldEmail]] = defaultdict(list)
    for row in tables["mailable"]:
        template = templates.get(text(row, "sha3_256").strip(), "")
        values = {name.lower(): value for name, value in parse_qsl(text(row, "template_params"))}
        number = _number(values.get("removelink", ""))
        if number not in owners or not template:
            lines.append(_refused(row, "mailable", _why_not(number, bool(template))))
            continue
        is_tried = text(row, "retried") not in ("", "0")
        subject = one_line(text(row, "mail_subject"))
        made[owners[number]].append(OldEmail(number, subject, template, values, is_tried))
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


def _statuses(
    tables: Mapping[str, Sequence[Row]], newsletters: Iterable[OldNewsletter], lines: list[Line]
) -> Mapping[str, list[OldStatus]]:
    bridges = [each for each in newsletters if each.is_bridge]
    made: dict[str, list[OldStatus]] = defaultdict(list)
    for table, server, channel in (
        ("masto_postable", "instance_url", "mastodon"),
        ("bsky_postable", "entryway_url", "bluesky"),
    ):
        media = defaultdict(list)
        for row in sorted(tables[f"{table}_media"], key=lambda row: int(text(row, "position") or 0)):
            media[text(row, f"{table}_id")].append(row)
        for row in sorted(tables[table], key=lambda row: int(text(row, "seqnum"))):
            account, words = (text(row, COLUMNS[table][0]), text(row, server)), text(row, "final_content")
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
                    pictures.append((without_controls(text(each, "media_url")), kind, alt))
                else:
                    others += 1
            if others:
                what = f"{others} of its files are no pictures, and aren’t posted."
                lines.append(_refused(row, table, what, ImportResult.CHANGED))
            made[bridge.name].append(
                OldStatus(
                    key=hashed(bridge.name, words, text(row, "seqnum")),
                    account=one.number,
                    text=without_controls(words),
                    pictures=tuple(pictures),
                    is_tried=text(row, "retried") not in ("", "0"),
                )
            )
    return made


def _refused(row: Row, table: str, words: str, result: ImportResult = ImportResult.REFUSED) -> Line:
    place, subject = COLUMNS[table]
    name = f"{text(row, place)}: {one_line(text(row, subject))[:100]}"
    return Line(result, QUEUED, name, words)
