"""Handlers of feedparser's parsers: `_start_` or `_end_`, prefix, element."""

from functools import partialmethod
from typing import Any
from xml.sax.xmlreader import AttributesNSImpl

import feedparser.api
import feedparser.util

from feeds.parsing import entry
from feeds.parsing.hints import NAMESPACE
from feeds.parsing.people import mailboxes

MAX_HINTS = 10
MAX_SKIPPED = 200
MAX_CATEGORIES = 200
MAX_ELEMENT_ATTRIBUTES = 100
MAX_BASE = 2_000
RELATIONS = "http://www.iana.org/assignments/relation/"
_IFFY = {f"{scheme}://{NAMESPACE}{slash}": "iffy" for scheme in ("http", "https") for slash in ("", "/")}


class _Media:
    """feedparser takes media:description for the content and ignores media:group."""

    _groups = 0
    _group = ""

    def _start_media_group(self: Any, attrs: dict[str, str]) -> None:
        self._groups += 1
        self._group = str(self._groups)

    def _end_media_group(self: Any) -> None:
        self._group = ""

    def _start_media_content(self: Any, attrs: dict[str, str]) -> None:
        super()._start_media_content({**attrs, "group": self._group})  # type: ignore[misc]

    def _start_media_rating(self: Any, attrs: dict[str, str]) -> None:
        self.push("media_rating", 0)

    def _end_media_rating(self: Any) -> None:
        if (self.pop("media_rating") or "").strip().lower() == "adult":
            self._get_context()["sensitive"] = True

    def _start_media_description(self: Any, attrs: dict[str, str]) -> None:
        self.push("media_description", 1)

    def _end_media_description(self: Any) -> None:
        text = self.pop("media_description")
        media = self._get_context().get("media_content")
        if text and media:
            media[-1].setdefault("description", text)


class _Skipped:
    """feedparser keeps only the last skipHours and skipDays (RSS 2.0)."""

    def _begin(self: Any, name: str, attrs: dict[str, str]) -> None:
        self.push(name, 0)

    def _skip(self: Any, name: str) -> None:
        text = self.pop(name)
        known = self.feeddata.setdefault(f"skipped_{name}s", [])
        if text and not self.inentry and len(known) < MAX_SKIPPED:
            known.append(text)

    _start_hour, _end_hour = partialmethod(_begin, "hour"), partialmethod(_skip, "hour")
    _start_day, _end_day = partialmethod(_begin, "day"), partialmethod(_skip, "day")


class _Hints:
    """feedparser would mix nested elements into the post."""

    _hint: dict[str, Any] | None = None

    def track_namespace(self: Any, prefix: str | None, uri: str) -> None:
        super().track_namespace(prefix, uri)  # type: ignore[misc]
        if prefix and NAMESPACE in uri.lower():
            self.namespacemap[prefix] = "iffy"

    def _start_hint(self: Any, attrs: dict[str, str]) -> None:
        self._hint = {"policy": "", "restricted": False}
        self.push("iffy_hint-announce", 0)

    def _end_hint(self: Any) -> None:
        self.pop("iffy_hint-announce")
        hint, self._hint = self._hint, None
        if hint is not None and self.inentry and not self.insource:
            hints = self.entries[-1].setdefault("iffy_hints", [])
            if len(hints) < MAX_HINTS:
                hints.append(hint)

    def _start_iffy_policy(self: Any, attrs: dict[str, str]) -> None:
        self.push("iffy_policy", 0)

    def _end_iffy_policy(self: Any) -> None:
        text = self.pop("iffy_policy")
        if self._hint is not None and not self._hint["policy"]:
            self._hint["policy"] = text or ""

    def _start_iffy_restriction(self: Any, attrs: dict[str, str]) -> None:
        self.push("iffy_restriction", 0)
        if self._hint is not None:
            self._hint["restricted"] = True

    def _end_iffy_restriction(self: Any) -> None:
        self.pop("iffy_restriction")


class _Names:
    def _start_link(self: Any, attrs: dict[str, str]) -> None:
        # RFC 4287 §4.2.7.2.
        rel = attrs.get("rel", "").removeprefix(RELATIONS)
        if rel == "enclosure":
            # feedparser assumes text/html.
            attrs.setdefault("type", "")
        super()._start_link({**attrs, "rel": rel} if rel else attrs)  # type: ignore[misc]

    def _start_guid(self: Any, attrs: dict[str, str]) -> None:
        permalink = attrs.get("ispermalink", "true").strip().lower()
        super()._start_guid({**attrs, "ispermalink": permalink})  # type: ignore[misc]

    def _sync_author_detail(self: Any, key: str = "author") -> None:
        """feedparser ends addresses after four letters."""
        context = self._get_context()
        text, people = context.get(key), context.get(f"{key}s") or [feedparser.util.FeedParserDict()]
        if people[-1]:
            super()._sync_author_detail(key)  # type: ignore[misc]
        elif isinstance(text, str) and text:
            for name, address in mailboxes(text):
                if people[-1]:
                    people.append(feedparser.util.FeedParserDict())
                people[-1].update({"name": name} if name else {}, **({"email": address} if address else {}))
            context.setdefault(f"{key}_detail", people[-1])


class _Params(feedparser.util.FeedParserDict):  # type: ignore[misc]
    """Saves feedparser's search for synonyms and a deep copy."""

    get = dict.get
    __getitem__ = dict.__getitem__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return feedparser.util.FeedParserDict(self)


class _Savings:
    def push_content(self: Any, *arguments: Any) -> None:
        super().push_content(*arguments)  # type: ignore[misc]
        self.contentparams = _Params(self.contentparams)

    # `feeds.parsing.fields.moment` parses them.
    def _end_date(self: Any) -> None:
        self.pop("published")

    def _end_change(self: Any) -> None:
        self.pop("updated")

    _end_published = _end_issued = _end_pubdate = _end_date
    _end_updated = _end_modified = _end_lastbuilddate = _end_change


class _Bounds:
    def _add_tag(self: Any, term: str | None, scheme: str | None, label: str | None) -> None:
        if len(self._get_context().get("tags") or ()) < MAX_CATEGORIES:
            super()._add_tag(term, scheme, label)  # type: ignore[misc]

    def startElementNS(self: Any, name: Any, qname: Any, attrs: Any) -> None:
        kept = AttributesNSImpl({}, {}) if len(attrs) > MAX_ELEMENT_ATTRIBUTES else attrs
        super().startElementNS(name, qname, kept)  # type: ignore[misc]

    def unknown_starttag(self: Any, tag: str, attrs: list[tuple[str, str]]) -> None:
        entry.check_allowance()
        if attrs and (len(self.baseuri) > MAX_BASE or any(len(value) > MAX_BASE for _, value in attrs)):
            attrs = [(name, value) for name, value in attrs if name.lower() not in ("xml:base", "base")]
        super().unknown_starttag(tag, attrs)  # type: ignore[misc]


def install() -> None:
    """Extend feedparser, which has no setting for its parser classes. Idempotent."""
    for name in ("StrictFeedParser", "LooseFeedParser"):
        known = getattr(feedparser.api, name)
        if issubclass(known, _Hints):
            continue
        more = {
            "namespaces": {**known.namespaces, **_IFFY},
            # Built from `namespaces` on first use.
            "_matchnamespaces": {},
            # RFC 4287 §4.2.6.1: ids are not resolved.
            "can_be_relative_uri": known.can_be_relative_uri - {"id"},
            "_start_iffy_hint-announce": _Hints._start_hint,
            "_end_iffy_hint-announce": _Hints._end_hint,
        }
        bases = (_Media, _Skipped, _Hints, _Names, _Savings, _Bounds, known)
        setattr(feedparser.api, name, type(name, bases, more))
