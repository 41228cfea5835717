"""Posts for Micropub (www.w3.org/TR/micropub)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from common.backoff import delay
from common.formats.written_dates import parsed_moment
from common.html.clean import plain
from common.text import one_line, shortened, without_controls
from feeds.parsing.media import absolute

NOTE, ARTICLE, REPLY, LIKE = "note", "article", "reply", "like"
REPOST, BOOKMARK, RSVP = "repost", "bookmark", "rsvp"
WRITTEN_KINDS = (NOTE, ARTICLE, REPLY, RSVP, LIKE, REPOST, BOOKMARK)
# A button can post these.
WORDLESS = (LIKE, REPOST, BOOKMARK)
PROPERTY = {
    REPLY: "in-reply-to",
    RSVP: "in-reply-to",
    LIKE: "like-of",
    REPOST: "repost-of",
    BOOKMARK: "bookmark-of",
}
WORDY = (NOTE, ARTICLE, REPLY, RSVP, BOOKMARK)
# All kinds have the other fields.
KINDS_WITH = {
    "url": tuple(PROPERTY),
    "name": (ARTICLE, BOOKMARK),
    "content": WORDY,
    "categories": WORDY,
    "rsvp": (RSVP,),
}
RSVPS = ("yes", "no", "maybe", "interested")
VISIBILITIES = ("", "public", "unlisted", "private")
LONGEST_CONTENT = 50_000
LONGEST_NAME = 500
LONGEST_POST_URL = 4_000
LONGEST_ALT = 2_000
LONGEST_CATEGORY = 100
MOST_CATEGORIES = 20
MOST_TARGETS = 30
MOST_PHOTOS = 4
LONGEST_UID = 1_000
LONGEST_PROBLEM = 400

FIRST_RETRY, LONGEST_RETRY = timedelta(minutes=1), timedelta(hours=1)
MOST_TRIES = 10
# New posts may be listed late.
LOOKS_UP_AFTER = (timedelta(seconds=20), timedelta(minutes=2), timedelta(minutes=15))
CLOCKS_DIFFER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Said:
    """`targets` are uids of `syndicate-to`; "" as `visibility` is the site's default."""

    kind: str = NOTE
    url: str = ""
    name: str = ""
    content: str = ""
    rsvp: str = ""
    categories: tuple[str, ...] = ()
    visibility: str = ""
    targets: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Said":
        lists = {name: tuple(data.get(name) or ()) for name in ("categories", "targets")}
        return cls(**{**data, **lists})


@dataclass(frozen=True, slots=True)
class Target:
    uid: str
    name: str


@dataclass(frozen=True, slots=True)
class Config:
    media: str = ""
    targets: tuple[Target, ...] = ()


def cleaned(said: Said) -> Said:
    """Enforce limits. Keeps fields that the kind lacks: the user may choose another kind."""
    targets = dict.fromkeys(uid for uid in said.targets if uid and len(uid) <= LONGEST_UID)
    return Said(
        kind=said.kind if said.kind in WRITTEN_KINDS else NOTE,
        url=one_line(said.url)[:LONGEST_POST_URL],
        name=shortened(one_line(said.name), LONGEST_NAME),
        content=without_controls(said.content.replace("\r\n", "\n")).strip(),
        rsvp=said.rsvp if said.rsvp in RSVPS else "",
        categories=categories_of(",".join(said.categories)),
        visibility=said.visibility if said.visibility in VISIBILITIES else "",
        targets=tuple(targets)[:MOST_TARGETS],
    )


def fitting(said: Said) -> Said:
    """Drop fields that the kind lacks."""
    lacking = [name for name, kinds in KINDS_WITH.items() if said.kind not in kinds]
    return replace(said, **{name: getattr(Said(), name) for name in lacking})


def categories_of(text: str) -> tuple[str, ...]:
    words = (one_line(part).lstrip("#").strip()[:LONGEST_CATEGORY] for part in text.split(","))
    return tuple(dict.fromkeys(filter(None, words)))[:MOST_CATEGORIES]


def lacks(said: Said, *, photos: int) -> str:
    if said.kind in PROPERTY and not absolute(said.url, ""):
        return "url"
    if said.kind == RSVP and not said.rsvp:
        return "rsvp"
    if said.kind == ARTICLE and not said.name:
        return "name"
    needs_words = said.kind in (ARTICLE, REPLY) or (said.kind == NOTE and not photos)
    return "content" if needs_words and not said.content else ""


def as_form(said: Said, photos: Iterable[str] = ()) -> list[tuple[str, str]]:
    """Return form fields (§3.3)."""
    pairs = [("h", "entry")]
    for name, values in _properties(said).items():
        is_list = name in ("category", "mp-syndicate-to")
        pairs += [(f"{name}[]" if is_list else name, value) for value in values]
    urls = list(photos)
    return pairs + [("photo[]" if len(urls) > 1 else "photo", url) for url in urls]


def as_json(said: Said, photos: Iterable[tuple[str, str]] = ()) -> dict[str, Any]:
    """Return JSON (§3.4), which has descriptions of pictures."""
    properties: dict[str, Any] = dict(_properties(said))
    if pictures := [{"value": url, "alt": alt} if alt else url for url, alt in photos]:
        properties["photo"] = pictures
    return {"type": ["h-entry"], "properties": properties}


def _properties(said: Said) -> dict[str, list[str]]:
    properties = {
        "name": [said.name],
        "content": [said.content],
        "category": list(said.categories),
        "rsvp": [said.rsvp],
        "visibility": [said.visibility],
        "mp-syndicate-to": list(said.targets),
    }
    if said.kind in PROPERTY:
        properties[PROPERTY[said.kind]] = [said.url]
    return {name: values for name, values in properties.items() if any(values)}


def config_of(found: Mapping[str, Any], endpoint: str) -> Config:
    """Parse an answer to `q=config`."""
    media = found.get("media-endpoint")
    media = absolute(media, endpoint) if isinstance(media, str) else ""
    # This endpoint gets the token, so accept only the server that issued it.
    return Config(media if same_origin(media, endpoint) else "", targets_of(found))


def targets_of(found: Mapping[str, Any]) -> tuple[Target, ...]:
    """Parse answers to `q=config` or `q=syndicate-to`."""
    listed = found.get("syndicate-to")
    targets = {}
    for target in listed if isinstance(listed, list) else ():
        uid = target.get("uid") if isinstance(target, dict) else target
        name = target.get("name") if isinstance(target, dict) else target
        if isinstance(uid, str) and 1 <= len(uid) <= LONGEST_UID:
            targets[uid] = Target(uid, shortened(one_line(str(name or uid)), 100))
    return tuple(targets.values())[:MOST_TARGETS]


def same_origin(one: str, other: str) -> bool:
    """Invalid addresses have none."""
    here, there = urlsplit(one), urlsplit(other)
    return bool(here.netloc) and (here.scheme, here.netloc.lower()) == (there.scheme, there.netloc.lower())


def find_posted(items: Sequence[object], said: Said, *, since: datetime) -> str | None:
    """Find a post in the answer to `q=source`; return its address ("" if not listed), or None."""
    for item in items:
        values = item.get("properties", item) if isinstance(item, dict) else None
        if not isinstance(values, dict):
            continue
        published = parsed_moment(_text(values, "published"))
        is_new = published is not None and published >= since - CLOCKS_DIFFER
        if is_new and _says_same(values, said):
            return absolute(_text(values, "url"), "")
    return None


def _says_same(values: Mapping[str, Any], said: Said) -> bool:
    if said.kind in PROPERTY and _text(values, PROPERTY[said.kind]) != said.url:
        return False
    if said.kind in WORDLESS or said.kind == RSVP:
        return said.kind != RSVP or _text(values, "rsvp") == said.rsvp
    return bool(said.content) and _text(values, "content").split() == said.content.split()


def _text(values: Mapping[str, Any], name: str) -> str:
    """Return the first value; for HTML its text."""
    value = values.get(name)
    value = next(iter(value), "") if isinstance(value, list) else value
    if isinstance(value, dict):
        value = value.get("value") or value.get("text") or plain(str(value.get("html", "")))
    return value if isinstance(value, str) else ""


def next_try(
    attempts: int, *, wish: timedelta | None = None, chance: float | None = None
) -> timedelta | None:
    """Return the delay before sending again; `attempts` includes the last."""
    if attempts >= MOST_TRIES:
        return None
    wait = delay(attempts, first=FIRST_RETRY, limit=LONGEST_RETRY, chance=chance)
    return max(wait, min(wish, LONGEST_RETRY)) if wish else wait


def next_look_up(looks: int) -> timedelta | None:
    """Return the delay before looking again, if at all."""
    return LOOKS_UP_AFTER[looks] if looks < len(LOOKS_UP_AFTER) else None
