"""Rows of a part as JSON objects, and back; files for people and other programs."""

import base64
import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, time
from functools import lru_cache, partial
from itertools import chain, count, islice
from typing import Any
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import QuerySet
from django.template.loader import render_to_string

from common.db.bulk import pieces_by_key
from common.refused import Refused
from common.secrets import Sealed, SecretsField
from delivery.models import Issue
from delivery.views.issues import shown_of
from feedletter_site.export.parts import NATURAL_KEYS, ExportedPart, is_secret
from feeds.adding.opml import export_opml
from feeds.models import Feed
from reader.channels.opml import export_follows
from reader.models import Reader
from subscriptions.lists.export import export_subscribers
from subscriptions.models import Subscribable, Subscription

NONCE = 12
SHORTEST = 12
DOES_NOT_FIT = "The pass phrase is another than the archive's, or the archive is damaged."
ROWS_A_QUERY = 200
# Some are megabytes.
BLOBS_A_QUERY = 5
KEYS_REMEMBERED = 20_000
# The newest issues have a page each, which takes 2 KB of memory, and a place in the zip's list of files.
MOST_PAGES = 20_000
# Issues in a page of older ones.
OLDER_TOGETHER = 200
PEOPLE_A_QUERY = 2_000
# Other programs may give a whole file one status.
SUBSCRIBERS = {"subscribers": ("confirmed",), "do-not-email": ("unconfirmed", "unsubscribed", "suppressed")}
_MISSING = object()
TYPES: Mapping[str, tuple[type, ...]] = {"BooleanField": (bool,), "FloatField": (float, int)}
NONE = type(None)


class Cipher:
    """AES-256-GCM with a key by scrypt. `about` says whose secret it is, and is authenticated."""

    def __init__(self, phrase: str, salt: bytes) -> None:
        self.salt = salt
        # 32 MB and a tenth of a second.
        key = Scrypt(salt=salt, length=32, n=2**15, r=8, p=1).derive(phrase.encode())
        self._cipher = AESGCM(key)

    def seal(self, value: Any, about: str) -> str:
        nonce = os.urandom(NONCE)
        text = json.dumps(value, sort_keys=True).encode()
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, text, about.encode())).decode()

    def open(self, sealed: str, about: str) -> Any:
        """Raises Refused."""
        try:
            octets = base64.b64decode(sealed, validate=True)
            return json.loads(self._cipher.decrypt(octets[:NONCE], octets[NONCE:], about.encode()))
        except (InvalidTag, ValueError, TypeError, OverflowError) as error:
            raise Refused(DOES_NOT_FIT) from error


class Column:
    """Field of a row. `paths`: the values read for it; a reference by a natural key has several."""

    def __init__(self, field: "models.Field[Any, Any]") -> None:
        self.field = field
        self.target: Any = field.related_model if isinstance(field, models.ForeignKey) else None
        self.key = NATURAL_KEYS.get(self.target._meta.label, ()) if self.target else ()
        self.paths = tuple(f"{field.name}__{path}" for path in self.key) or (field.attname,)
        self.is_secret = is_secret(field)
        # The proxy of Django's `connection` takes a fifth of the time.
        self.database = connections[DEFAULT_DB_ALIAS]
        self.prepared = self._preparation()

    def default(self) -> Any:
        return self.field.get_db_prep_save(self.field.get_default(), self.database)

    def _preparation(self) -> Callable[[Any], Any]:
        """Return a function that makes a value for the database of one from JSON."""
        field, parse = self.field, PARSERS.get(_kind(self.field))
        if parse is None:
            return _checked(field)

        def prepare(value: Any) -> Any:
            return field.get_db_prep_save(None if value is None else parse(value), self.database)

        # Many times are equal.
        return lru_cache(1000)(prepare) if isinstance(field, models.DateTimeField) else prepare


class Rows:
    def __init__(self, part: ExportedPart, cipher: Cipher | None) -> None:
        self.part, self._cipher = part, cipher
        self.columns = sorted(map(Column, part.fields), key=lambda column: len(column.paths))
        self._names = [column.field.name for column in self.columns if len(column.paths) == 1]
        self._several = self.columns[len(self._names) :]
        self.lost = dict.fromkeys((column.field.name for column in self.columns if column.is_secret), 0)
        self._seen: dict[Any, dict[tuple[Any, ...], Any]] = {}

    def lines(self) -> Iterator[bytes]:
        """Yield the rows by number."""
        paths = [path for column in self.columns for path in column.paths]
        rows = self.part.rows.values_list(*paths, "pk")
        has_blobs = any(isinstance(column.field, models.BinaryField) for column in self.columns)
        size = BLOBS_A_QUERY if has_blobs else ROWS_A_QUERY
        return map(self._line, chain.from_iterable(pieces_by_key(rows, size)))

    def _line(self, values: Sequence[Any]) -> bytes:
        row = dict(zip(self._names, values, strict=False))
        start = len(self._names)
        for column in self._several:
            end = start + len(column.paths)
            row[column.field.name] = None if values[start] is None else values[start:end]
            start = end
        for name in self.lost:
            row[name] = self._sealed(name, row[name], values[-1])
        return f"{_ENCODER.encode(row)}\n".encode()

    def _sealed(self, name: str, value: Any, pk: object) -> str | None:
        """Return None for a secret that is left out."""
        if self._cipher is None:
            self.lost[name] += bool(value)
            return None
        try:
            secret = value.open() if isinstance(value, Sealed) else value
        except ValueError as error:
            raise Refused(str(error)) from error
        return self._cipher.seal(secret, f"{self.part.label}.{name} {pk}")

    def values(self, rows: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        """Return the rows' values for the database, by field. Raises Refused and ValueError."""
        names = {column.field.name for column in self.columns}
        for row in rows:
            if unknown := row.keys() - names:
                raise ValueError(f"“{min(unknown)}” is unknown here")
        found = [self._column(column, rows) for column in self.columns]
        return [list(values) for values in zip(*found, strict=True)]

    def _column(self, column: Column, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
        field, name = column.field, column.field.name
        given = [row.get(name, _MISSING) for row in rows]
        if not column.is_secret and not column.key:
            default, prepared = column.default, column.prepared
            return [default() if value is _MISSING else prepared(value) for value in given]
        if column.is_secret:
            values = [self._opened(field, row, value) for row, value in zip(rows, given, strict=True)]
        else:
            values = self._numbers(column, given)
        return [field.get_db_prep_save(value, column.database) for value in values]

    def _opened(self, field: "models.Field[Any, Any]", row: Mapping[str, Any], value: Any) -> Any:
        if value is not None and value is not _MISSING and self._cipher is not None:
            secret = self._cipher.open(value, f"{self.part.label}.{field.name} {row.get('id')}")
            return secret if isinstance(field, SecretsField) else _checked(field)(secret)
        return {} if isinstance(field, SecretsField) else make_password(None)

    def _numbers(self, column: Column, given: Sequence[Any]) -> list[Any]:
        """Look up references by their natural keys, many at once."""
        keys = [_key(column, value) for value in given]
        seen = self._seen.setdefault(column.field.name, {})
        if len(seen) > KEYS_REMEMBERED:
            seen.clear()
        missing: dict[tuple[Any, ...], list[Any]] = {}
        for key in dict.fromkeys(keys):
            if key is not None and key not in seen:
                missing.setdefault(key[:-1], []).append(key[-1])
        *heads, last = column.key
        for head, ends in missing.items():
            same = dict(zip(heads, head, strict=True)) | {f"{last}__in": ends}
            for pk, *key in column.target._base_manager.filter(**same).values_list("pk", *column.key):
                seen[tuple(key)] = pk
        for key in keys:
            if key is not None and key not in seen:
                name = column.target._meta.verbose_name
                raise ValueError(f"there is no {name} “{' '.join(key)}”")
        return [None if key is None else seen[key] for key in keys]


def _key(column: Column, value: Any) -> tuple[Any, ...] | None:
    if value is None or value is _MISSING:
        return None
    key = tuple(value) if len(column.key) > 1 and isinstance(value, list) else (value,)
    if len(key) != len(column.key) or not all(isinstance(each, str) for each in key):
        raise ValueError(f"“{column.field.name}” is no key")
    return key


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | time):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    return base64.b64encode(value).decode()


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_plain)


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError("a time has no zone")
    return moment


def _same(value: Any) -> Any:
    return value


# Other values are for the database as they are.
PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "DateTimeField": _moment,
    "TimeField": time.fromisoformat,
    "UUIDField": UUID,
    "BinaryField": partial(base64.b64decode, validate=True),
    "JSONField": _same,
    "GenericIPAddressField": _same,
}


def _kind(field: "models.Field[Any, Any]") -> str:
    return (field.target_field if isinstance(field, models.ForeignKey) else field).get_internal_type()


def _checked(field: "models.Field[Any, Any]") -> Callable[[Any], Any]:
    kind = _kind(field)
    types = (NONE, *(TYPES.get(kind) or ((int,) if "Integer" in kind or "Auto" in kind else (str,))))
    longest = field.max_length if isinstance(field, models.CharField) else None

    def checked(value: Any) -> Any:
        if type(value) not in types or (longest and value is not None and len(value) > longest):
            raise ValueError(f"“{field.name}” cannot be {value!r:.40}")
        return value

    return checked


def files(*, now: datetime) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield names and contents. Read each content before the next name."""
    yield "people/feeds.opml", _encoded(export_opml(Feed.objects.all(), now=now))
    for reader in Reader.objects.order_by("slug").iterator():
        yield f"people/readers/{reader.slug}.opml", _encoded(export_follows(reader, now=now))
    for newsletter in Subscribable.objects.order_by("name"):
        # Bridges have no list.
        with suppress(ValidationError):
            for folder, statuses in SUBSCRIBERS.items():
                rows = export_subscribers(subscribable=newsletter, statuses=statuses)
                yield f"people/{folder}/{newsletter.name}.csv", _csv(rows)
    keys = _published().values_list("subscribable__name", "pk")
    issues = chain.from_iterable(pieces_by_key(keys, PEOPLE_A_QUERY, newest_first=True))
    for name, pk in islice(issues, MOST_PAGES):
        yield f"people/issues/{name}-{pk}.html", _page([pk])
    older = (pk for _name, pk in issues)
    for number in count(1):
        if not (pks := list(islice(older, OLDER_TOGETHER))):
            return
        yield f"people/issues/older-{number:05}.html", _page(pks)


def count_rows() -> int:
    """Return how many rows `files` writes, apart from feeds."""
    return Subscription.objects.count() + 2 * Subscribable.objects.count() + _published().count()


def _published() -> "QuerySet[Issue]":
    return Issue.objects.filter(published_at__isnull=False)


def _page(pks: Sequence[int]) -> Iterator[bytes]:
    for number, pk in enumerate(pks, 1):
        issue = Issue.objects.select_related("subscribable").defer("html", "text").get(pk=pk)
        context = {
            "issue": issue,
            "shown": shown_of(issue),
            "title": issue.title if len(pks) == 1 else f"Older issues ({len(pks)})",
            "is_first": number == 1,
            "is_last": number == len(pks),
        }
        yield render_to_string("export/issue.html", context).encode()


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode() for text in texts)


def _csv(rows: Iterable[list[str]]) -> Iterator[bytes]:
    for row in rows:
        line = io.StringIO(newline="")
        csv.writer(line).writerow(row)
        yield line.getvalue().encode()
