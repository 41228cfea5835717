"""Interpretation of rss2email's configuration and data file. Pure, but for reading the two files."""

import configparser
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.refused import Refused
from common.text import one_line, without_controls
from feedletter_site.migrate_from.source import ImportResult, Line
from feeds.addresses import is_address
from feeds.credentials import split_address, without_secrets

MOST_BYTES = 100 * 1024 * 1024
LONGEST_KEY = 4_000
VERSIONS = (1, 2)
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


@dataclass(frozen=True, slots=True)
class OldFeed:
    """`seen` are keys of rss2email's choice: links, ids or hashes. `to` are bare addresses."""

    name: str
    url: str
    seen: tuple[str, ...]
    to: tuple[str, ...] = ()
    sender: str = ""
    is_active: bool = True
    is_digest: bool = False
    trusts_link: bool = False
    trusts_guid: bool = True
    wants_html: bool = False
    # Names of changed settings that have no counterpart.
    lost: tuple[str, ...] = ()

    @property
    def has_hashes(self) -> bool:
        return any(SHA1.fullmatch(key) for key in self.seen)


@dataclass(frozen=True, slots=True)
class OldFiles:
    feeds: tuple[OldFeed, ...]
    refused: tuple[Line, ...]
    protocol: str
    server: str


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


def read_files(place: Path) -> OldFiles:
    """Raises Refused."""
    data, config = both_files(place)
    seen = _seen(data)
    parser = _configuration(config)
    feeds, refused = [], []
    for section in parser.sections():
        if not section.startswith(FEED):
            continue
        name = section.removeprefix(FEED)
        feed = _feed(name, parser[section], seen.pop(name, ()))
        if isinstance(feed, Line):
            refused.append(feed)
        else:
            feeds.append(feed)
    refused += [
        Line(ImportResult.REFUSED, "feed", one_line(name), "The configuration has no address for it.")
        for name in seen
    ]
    defaults = parser.defaults()
    return OldFiles(
        tuple(feeds),
        tuple(refused),
        defaults.get("email-protocol", "sendmail"),
        f"{defaults.get('smtp-server', '')}:{defaults.get('smtp-port', '')}".strip(":"),
    )


def _octets(file: Path) -> bytes:
    try:
        if file.stat().st_size > MOST_BYTES:
            raise Refused(f"{file} has more than {MOST_BYTES // 1024 // 1024} MB.")
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
    if version not in VERSIONS or not isinstance(rows, list):
        raise Refused(f"{file} is not rss2email's JSON file of version 1 or 2.")
    return {
        row["name"]: tuple(map(_key, row["seen"]))
        for row in rows
        if isinstance(row, dict) and isinstance(row.get("name"), str) and isinstance(row.get("seen"), dict)
    }


def _key(text: str) -> str:
    return without_controls(text).strip()[:LONGEST_KEY]


def _configuration(file: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False, default_section="DEFAULT")
    try:
        parser.read_string(_octets(file).decode("utf-8"))
    except (configparser.Error, UnicodeDecodeError) as error:
        raise Refused(f"{file} is not rss2email's configuration: {one_line(str(error))}") from error
    return parser


def _feed(name: str, values: Mapping[str, str], seen: tuple[str, ...]) -> OldFeed | Line:
    bare, _ = split_address(values.get("url", "").strip())
    shown = one_line(f"{name} ({without_secrets(values.get('url', ''))})")
    to = tuple(filter(None, (one.strip() for one in values.get("to", "").split(","))))
    if not is_address(bare):
        return Line(ImportResult.REFUSED, "feed", shown, "Its address is not an http or https URL.")
    if not to:
        return Line(ImportResult.REFUSED, "feed", shown, "It has no `to`, so rss2email sent it to nobody.")
    sender = values.get("from", "").strip()
    return OldFeed(
        name=one_line(name),
        url=values["url"].strip(),
        seen=seen,
        to=to,
        sender="" if sender == NO_SENDER else sender,
        is_active=_is_on(values, "active", default=True),
        is_digest=_is_on(values, "digest"),
        trusts_link=_is_on(values, "trust-link"),
        trusts_guid=_is_on(values, "trust-guid", default=True),
        wants_html=_is_on(values, "html-mail"),
        lost=tuple(key for key, usual in NOT_TAKEN.items() if values.get(key, usual).strip() != usual),
    )


def _is_on(values: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    words = configparser.ConfigParser.BOOLEAN_STATES
    return words.get(values.get(key, "").strip().lower(), default)
