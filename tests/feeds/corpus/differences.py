"""Comparison of a parsed document with its expected values."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from common.html.clean import clean
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed

FEED_KEYS = {"title", "link", "language", "guids", "guids_has", "entries", "warnings", "channel"}
OTHER_KEYS = {"odd", "content_type", "error", "never", "xfail"}
SUFFIXES = ("_has", "_lacks", "_count", "_at_most")


def differences(feed: ParsedFeed, expected: Mapping[str, Any]) -> list[str]:
    """Return one line for each difference."""
    found: list[str] = []
    for key in ("title", "link", "language"):
        found += _compared(f"feed {key}", getattr(feed, key), expected.get(key, getattr(feed, key)))
    found += _guids(feed.guids, expected)
    found += _warnings(feed.warnings, expected.get("warnings", []))
    found += _held("channel", _channel(feed.channel), expected.get("channel", {}))
    return found + _entries(feed.entries, expected.get("entries"))


def _guids(guids: tuple[str, ...], expected: Mapping[str, Any]) -> Iterator[str]:
    wanted = expected.get("guids", list(guids))
    yield from _compared("guids", len(guids) if isinstance(wanted, int) else list(guids), wanted)
    yield from _held("feed", {"guids": guids}, {k: v for k, v in expected.items() if k == "guids_has"})


def _warnings(warnings: tuple[str, ...], expected: list[str] | str) -> list[str]:
    if expected == "any":
        return []
    missing = [f"no warning says {text!r}: {warnings}" for text in expected if text not in " ".join(warnings)]
    return missing or ([f"warnings: {warnings}"] if len(warnings) != len(expected) else [])


def _entries(entries: tuple[Entry, ...], expected: list[dict[str, Any]] | None) -> list[str]:
    if expected is None:
        return []
    if len(entries) != len(expected):
        return [f"{len(entries)} entries instead of {len(expected)}: {[entry.guid for entry in entries]}"]
    pairs = zip(entries, expected, strict=True)
    return [line for entry, wanted in pairs for line in _held(entry.guid[:40], _fields(entry), wanted)]


def _fields(entry: Entry) -> dict[str, Any]:
    fields = {name: getattr(entry, name) for name in entry.__dataclass_fields__}
    return {
        **fields,
        "html": entry.html,
        "clean": clean(entry.html, base=entry.base or entry.link),
        "published": _second(entry.published),
        "updated": _second(entry.updated),
        "authors": list(entry.authors),
        "categories": list(entry.categories),
        "media": [_medium(medium) for medium in entry.media],
    }


def _channel(channel: Channel) -> dict[str, Any]:
    values = {name: getattr(channel, name) for name in channel.__dataclass_fields__}
    return {key: sorted(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _second(moment: datetime | None) -> datetime | None:
    """Fractions of a second do not matter."""
    return moment and moment.astimezone(UTC).replace(microsecond=0)


def _medium(medium: Media) -> list[Any]:
    return [medium.url, medium.type, medium.length, *([medium.alt] if medium.alt else [])]


def _held(where: str, values: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    for key, wanted in expected.items():
        suffix = next((end for end in SUFFIXES if key.endswith(end)), "")
        value, name = values[key.removesuffix(suffix)], f"{where} {key}"
        if suffix == "_has":
            yield from (f"{name}: {text!r} not in {value!r}" for text in wanted if text not in value)
        elif suffix == "_lacks":
            yield from (f"{name}: {text!r} in {value!r}" for text in wanted if text in value)
        elif suffix == "_count":
            yield from _compared(name, len(value), wanted)
        elif suffix == "_at_most":
            yield from [] if value is None or value <= wanted else [f"{name}: {value} is above {wanted}"]
        else:
            yield from _compared(name, value, wanted)


def _compared(name: str, value: object, wanted: object) -> Iterator[str]:
    if value != wanted:
        yield f"{name}: {value!r} instead of {wanted!r}"
