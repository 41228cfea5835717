"""rss2email, a command that sends each post to an address: its configuration and its data file.

Child process that finds the keys under which rss2email knows the posts of a feed.

rss2email hashes what an unchanged feedparser gives, so this must not run in a process with our additions.
"""

import configparser
import json
import re
import resource
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from email.utils import parseaddr
from hashlib import sha1
from io import BytesIO
from pathlib import Path
from typing import Any

from common.child_process import Child, framed, messages, set_limits
from common.refused import Refused
from common.text import one_line, without_controls
from migrate_from.records import (
    EACH,
    Contents,
    Fate,
    ImportResult,
    Line,
    OldFeed,
    OldNewsletter,
    OldPost,
    OldSubscriber,
    text_at,
)

CPU_SECONDS, MEMORY = 20, 1024 * 1024 * 1024
MOST_POSTS = 2_000
HTML_FIRST = ("application/xhtml+xml", "text/html", "text/plain")
TEXT_FIRST = tuple(reversed(HTML_FIRST))
LARGEST_FILE = 100 * 1024 * 1024
LONGEST_KEY = 4_000
READABLE_VERSIONS = (1, 2)
FEED = "feed."
# Never delivered: rss2email's own default.
NO_SENDER = "user@rss2email.invalid"
SHA1 = re.compile(r"[0-9a-f]{40}")
# Settings without a counterpart here, with the value that needs none.
NOT_TAKEN = {
    "reply-changes": "False",
    "post-process": "",
    "digest-post-process": "",
    "bonus-header": "",
    "proxy": "",
    "user-agent": "rss2email/__VERSION__ (__URL__)",
    "name-format": "{feed-title}: {author}",
    "subject-format": "{feed-title}",
    "use-publisher-email": "False",
    "date-header": "False",
}
# Posts older than this at the last run are not sent, even if rss2email did not know them.
LOOKS_BACK = timedelta(days=7)
DIGEST_AT = time(7)
CHILD = "migrate_from.rss2email"
CHILD_SECONDS, MOST_OCTETS = 30.0, 16 * 1024 * 1024
NOTES = (
    "Take rss2email out of your crontab first. Otherwise both programs send.",
    "Each feed becomes a private newsletter for its own addresses. Sending is paused until you resume it.",
    "Mail filters that look for X-RSS-Feed or for a List-ID of `<name.localhost>` need new rules.",
    "Times of posts aren't in rss2email's files. All known posts get the time of its last run.",
)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys `seen` of a feed are of rss2email's choice: links, ids or hashes."""

    seen: tuple[str, ...]
    trusts_link: bool = False
    trusts_guid: bool = True
    wants_html: bool = False

    @property
    def are_hashes(self) -> bool:
        return any(SHA1.fullmatch(key) for key in self.seen)

    def key_of(self, post: Mapping[str, str]) -> str:
        if self.trusts_link and post["link"]:
            return post["link"]
        if self.trusts_guid and post["id"]:
            return post["id"]
        return post["hash"]

    def recognise(self, body: bytes, content_type: str, url: str) -> list[str] | None:
        """Return the ids of known posts in a document, or None if it has none or can’t be read."""
        if not self.seen:
            return None
        options = {"content_type": content_type, "url": url, "wants_html": self.wants_html}
        child = Child(CHILD)
        try:
            job = json.dumps(options).encode("utf-8") + b"\0" + body
            octets = next(child.ask(job, seconds=CHILD_SECONDS, most=MOST_OCTETS), b"[]")
        except OSError:
            return None
        finally:
            child.close()
        posts: list[dict[str, str]] = json.loads(octets)
        known = [post["id"] or post["link"] for post in posts if self.key_of(post) in self.seen]
        return known if posts else None


def read(place: Path, *, now: datetime) -> Contents:
    """Raises Refused."""
    data, config = both_files(place)
    seen, parser = _seen(data), _configuration(config)
    ran_at = min(datetime.fromtimestamp(data.stat().st_mtime, UTC), now)
    feeds, refused = [], []
    for section in parser.sections():
        if section.startswith(FEED):
            name = section.removeprefix(FEED)
            feed = _feed(name, parser[section], seen.pop(name, ()), ran_at)
            if isinstance(feed, Line):
                refused.append(feed)
            else:
                feeds.append(feed)
    why = "The configuration has no address for it."
    refused += [Line(ImportResult.REFUSED, "feed", one_line(name), why) for name in seen]
    usual = parser.defaults()
    protocol = usual.get("email-protocol", "sendmail")
    server = f"{usual.get('smtp-server', '')}:{usual.get('smtp-port', '')}".strip(":")
    sent = f"It sent by {protocol}. Feedletter needs a mail server: see Email set-up."
    if protocol == "smtp":
        sent = f"It sent through {server}: enter that server under Settings, Email set-up."
    return Contents(feeds, refused, [*NOTES, sent])


def both_files(place: Path) -> tuple[Path, Path]:
    """Return the data file and the configuration. `place` is one of them, or the folder of both.

    Raises Refused.
    """
    if place.is_dir():
        data, config = place / "rss2email.json", place / "rss2email.cfg"
    elif place.suffix == ".cfg":
        data, config = place.with_suffix(".json"), place
    else:
        # An upload keeps the second file under the name of the first.
        beside = place.with_name(place.name + ".cfg")
        data, config = place, beside if beside.exists() else place.with_suffix(".cfg")
    for file in (data, config):
        if not file.is_file():
            raise Refused(
                f"There is no {file}. Copy rss2email.json (from ~/.local/share) and rss2email.cfg (from"
                " ~/.config) into one folder, and give that folder."
            )
    return data, config


def _octets(file: Path) -> bytes:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise Refused(f"{file} has more than {LARGEST_FILE // 1024 // 1024} MB.")
        return file.read_bytes()
    except OSError as error:
        raise Refused(f"{file} cannot be read: {error.strerror}.") from error


def _seen(file: Path) -> dict[str, tuple[str, ...]]:
    """Return the keys of each feed. Pickles are never loaded: they can run code."""
    octets = _octets(file)
    try:
        document: Any = json.loads(octets.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        is_pickle = octets[:1] == b"\x80" or file.suffix == ".dat"
        remedy = (
            "It was written by rss2email 2. Run rss2email 3 once (`r2e list`): it converts the file."
            if is_pickle
            else "Give the file that rss2email 3 writes."
        )
        raise Refused(f"{file} is not rss2email's JSON file. {remedy}") from error
    version = document.get("version") if isinstance(document, dict) else None
    rows = document.get("feeds") if isinstance(document, dict) else None
    if version not in READABLE_VERSIONS or not isinstance(rows, list):
        raise Refused(f"{file} is not rss2email's JSON file of version 1 or 2.")
    return {
        row["name"]: tuple(without_controls(key).strip()[:LONGEST_KEY] for key in row["seen"])
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("seen"), dict)
    }


def _configuration(file: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, default_section="DEFAULT")
    try:
        parser.read_string(_octets(file).decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise Refused(f"{file} is not rss2email's configuration: {one_line(str(error))}") from error
    return parser


def _feed(name: str, values: Mapping[str, str], seen: tuple[str, ...], ran_at: datetime) -> OldFeed | Line:
    to = tuple(filter(None, (one.strip() for one in values.get("to", "").split(","))))
    name, sender = one_line(name), values.get("from", "").strip()
    if not to:
        return Line(ImportResult.REFUSED, "feed", name, "It has no `to`, so rss2email sent it to nobody.")
    keys = Keys(
        seen,
        trusts_link=_is_on(values, "trust-link"),
        trusts_guid=_is_on(values, "trust-guid", default=True),
        wants_html=_is_on(values, "html-mail"),
    )
    is_digest = _is_on(values, "digest")
    newsletter = OldNewsletter(
        name=name,
        sender="" if sender == NO_SENDER else sender,
        is_private=True,
        subscribers=tuple(OldSubscriber(parseaddr(each)[1] or each, ran_at) for each in to),
        arrangement="daily" if is_digest else EACH,
        at=DIGEST_AT if is_digest else None,
    )
    lost = [key for key, usual in NOT_TAKEN.items() if values.get(key, usual).strip() != usual]
    words = f"These settings have no equivalent here: {', '.join(lost)}."
    known = () if keys.are_hashes else dict.fromkeys(filter(None, seen))
    return OldFeed(
        key=name[:100],
        name=name,
        url=values.get("url", "").strip(),
        # A feed that was never read begins now.
        read_from=ran_at - LOOKS_BACK if seen else None,
        read_until=ran_at if seen else None,
        posts=tuple(OldPost(guid, ran_at, Fate.SENT) for guid in known),
        newsletters=(newsletter,),
        is_active=_is_on(values, "active", default=True),
        has_hashes=keys.are_hashes,
        recognise=keys.recognise,
        lines=(Line(ImportResult.CHANGED, "settings", name, words),) if lost else (),
    )


def _is_on(values: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    words = configparser.ConfigParser.BOOLEAN_STATES
    return words.get(values.get(key, "").strip().lower(), default)


def serve(line: socket.socket) -> None:
    """Answer one job: options as JSON, a zero octet, and the document."""
    set_limits({resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_FSIZE: 0})
    options, _, body = next(messages(line)).partition(b"\0")
    line.sendall(framed(json.dumps(posts_of(body, **json.loads(options))).encode("utf-8")))


def posts_of(body: bytes, *, content_type: str, url: str, wants_html: bool) -> list[dict[str, str]]:
    """Return id, link and hash of each post."""
    import feedparser

    headers = {"content-type": content_type, "content-location": url}
    parsed = feedparser.parse(BytesIO(body), response_headers=headers)
    return [
        {"id": text_at(each, "id"), "link": text_at(each, "link"), "hash": _hash(each, wants_html)}
        for each in parsed.entries[:MOST_POSTS]
    ]


def _hash(entry: Any, wants_html: bool) -> str:
    contents = [
        *entry.get("content", ()),
        *([entry["summary_detail"]] if entry.get("summary_detail") else ()),
    ]
    kinds = HTML_FIRST if wants_html else TEXT_FIRST
    best = next(
        (one for kind in kinds for one in contents if one.get("type") == kind),
        contents[0] if contents else {},
    )
    text = text_at(best, "value").strip() or text_at(entry, "link") or text_at(entry, "title")
    return sha1(text.encode("unicode-escape"), usedforsecurity=False).hexdigest()
