"""Export of a whole site as a streamed zip, and its import by an empty one, which distrusts it."""

import base64
import hashlib
import io
import json
import os
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction

from common.archives import BadArchive, open_zip
from common.body_limits import MEGABYTE
from common.cli.progress import Progress
from common.db.lookups import disable_sqlite_mmap
from common.postgresql.base import UNBOUNDED
from common.program import MANAGE
from common.refused import Refused
from feedletter_site.export.parts import EXPORTED_PARTS, ExportedPart, is_secret
from feedletter_site.export.rows import Cipher, Rows, count_rows, files
from subscriptions.models import Subscribable
from subscriptions.privacy.erase import keep_erasure_keys

CHECK = "pass phrase"
ROWS_A_BATCH = 200
LARGEST_BATCH = 16 * 1024 * 1024
ARRIVED = "Imported from another site. Look at its settings, then resume it."
FORMAT = 1
MANIFEST = "manifest.json"
# The zip's list of files: about 350,000 files, and 200 MB of memory.
LONGEST_LIST = 16 * MEGABYTE
LONGEST_MANIFEST = 64 * MEGABYTE
LONGEST_ROW = 32 * MEGABYTE
# Rows of a real site shrink to a twentieth; a zip bomb to a thousandth.
MOST_SHRUNK = 200


class Writer:
    """Each file has the time 1980, so that equal content makes equal bytes."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self.parts: dict[str, dict[str, object]] = {}

    def write(self, name: str, lines: Iterable[bytes]) -> None:
        digest, count = hashlib.sha256(), 0
        with self._open(name) as member:
            for line in lines:
                member.write(line)
                digest.update(line)
                count += 1
        self.parts[name] = {"lines": count, "sha256": digest.hexdigest()}

    def finish(self, manifest: Mapping[str, object]) -> None:
        text = json.dumps({**manifest, "parts": self.parts}, indent=1, sort_keys=True)
        with self._open(MANIFEST) as member:
            member.write(text.encode())
        self._zip.close()

    def _open(self, name: str) -> Any:
        info = zipfile.ZipInfo(name)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
        return self._zip.open(info, "w", force_zip64=True)


class Reader:
    """Reads the manifest and the files it names. Nothing is unpacked. Raises Refused."""

    def __init__(self, opened: zipfile.ZipFile) -> None:
        self._zip = opened
        self._members = {info.filename: _checked(info) for info in opened.infolist()}
        if len(self._members) < len(opened.infolist()):
            raise Refused("The archive has two files of one name, so it is damaged.")
        self.manifest = self._manifest()
        self.parts: dict[str, Mapping[str, Any]] = self.manifest["parts"]

    def _manifest(self) -> dict[str, Any]:
        if MANIFEST not in self._members:
            raise Refused(f"The archive has no {MANIFEST}: export_site did not make it.")
        with self._zip.open(MANIFEST) as member:
            text = member.read(LONGEST_MANIFEST + 1)
        if len(text) > LONGEST_MANIFEST:
            raise Refused(f"{MANIFEST} is too large.")
        try:
            found = json.loads(text)
            number, parts = found["format"], found["parts"]
            is_right = type(number) is int and all(
                type(part["lines"]) is int and isinstance(part["sha256"], str) for part in parts.values()
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Refused(f"{MANIFEST} is damaged.") from error
        if is_right and number > FORMAT:
            raise Refused(f"A newer Feedletter made the archive (format {number}). Upgrade this one first.")
        if not is_right or number < 1:
            raise Refused(f"{MANIFEST} is damaged.")
        return dict(found)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield a part's lines. At its end the digest is compared, so use them in a transaction."""
        if name not in self._members:
            raise Refused(f"{name} is missing in the archive.")
        digest, count = hashlib.sha256(), 0
        with io.BufferedReader(self._zip.open(name), MEGABYTE) as member:  # type: ignore[type-var]
            while line := member.readline(LONGEST_ROW + 1):
                if len(line) > LONGEST_ROW:
                    raise Refused(f"Row {count + 1} of {name} is too large.")
                count += 1
                if count > self.parts[name]["lines"]:
                    break
                digest.update(line)
                yield line
        if count != self.parts[name]["lines"] or digest.hexdigest() != self.parts[name]["sha256"]:
            raise Refused(f"{name} is not what was exported: its digest differs. Copy the archive again.")


def _checked(info: zipfile.ZipInfo) -> zipfile.ZipInfo:
    if info.file_size > max(MEGABYTE, MOST_SHRUNK * info.compress_size):
        name, size = info.filename[:80], info.file_size
        raise Refused(f"“{name}” would become {size:,} bytes. export_site did not make it.")
    return info


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    try:
        with path.open("rb") as file, open_zip(file, LONGEST_LIST) as opened:
            yield Reader(opened)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror or error}.") from error
    except (BadArchive, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        why = f" {error}" if isinstance(error, BadArchive) else ""
        raise Refused(f"{path} is no archive of export_site, or damaged.{why}") from error


def export_site(
    path: Path, phrase: str, *, now: datetime, progress: Progress | None = None
) -> dict[str, int]:
    """Write the archive; return what is left out for lack of a pass phrase. Raises Refused."""
    if path.exists():
        raise Refused(f"{path} is there already. Name a new file, such as one with the date.")
    cipher = Cipher(phrase, os.urandom(16)) if phrase else None
    keep_erasure_keys()
    part_file = path.with_name(f"{path.name}.part")
    try:
        part_file.unlink(missing_ok=True)
        part_file.touch(mode=0o600)
        with part_file.open("wb") as file, _snapshot():
            lost = _write(Writer(file), cipher, now, progress or Progress("", sys.stderr))
            file.flush()
            os.fsync(file.fileno())
        part_file.replace(path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        part_file.unlink(missing_ok=True)
    return lost


def _write(writer: Writer, cipher: Cipher | None, now: datetime, progress: Progress) -> dict[str, int]:
    lost: dict[str, int] = {}
    progress.total = sum(part.rows.count() for part in EXPORTED_PARTS) + count_rows()
    for part in EXPORTED_PARTS:
        rows = Rows(part, cipher)
        if part.needs_secrets and cipher is None:
            lost[part.label] = part.rows.count()
            continue
        writer.write(part.file, _counted(rows.lines(), progress))
        lost |= {f"{part.label}.{name}": count for name, count in rows.lost.items()}
    for name, lines in files(now=now):
        writer.write(name, lines if name.endswith(".opml") else _counted(lines, progress))
    secrets = [
        f"{part.label}.{field.name}" for part in EXPORTED_PARTS for field in part.fields if is_secret(field)
    ]
    sealed = cipher and {"salt": base64.b64encode(cipher.salt).decode(), "check": cipher.seal(CHECK, CHECK)}
    writer.finish(
        {
            "format": FORMAT,
            "made_by": f"Feedletter {settings.VERSION}",
            "made_at": now.isoformat(),
            "site_url": settings.SITE_URL,
            "secrets": sealed,
            "left_out": [] if cipher else secrets,
        }
    )
    return {name: count for name, count in lost.items() if count}


def _counted(lines: Iterable[bytes], progress: Progress) -> Iterator[bytes]:
    for line in lines:
        progress.advance()
        yield line


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read one state of the database, beside workers that go on."""
    disable_sqlite_mmap()
    database: Any = connection
    mode = getattr(database, "transaction_mode", None)
    # IMMEDIATE would make writers wait.
    database.transaction_mode = None
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            _unbounded()
            yield
    finally:
        database.transaction_mode = mode


def _unbounded() -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            for name in UNBOUNDED:
                cursor.execute(f"SET LOCAL {name} = 0")


def import_site(
    path: Path, phrase: str, *, without_secrets: bool, now: datetime, progress: Progress | None = None
) -> dict[str, int]:
    """Fill an empty site, in one transaction, and pause newsletters. Return rows. Raises Refused."""
    with reading(path) as archive:
        cipher = None if without_secrets else _cipher(archive, phrase)
        known = {part.file: part for part in EXPORTED_PARTS}
        names = [name for name in archive.parts if not name.startswith("people/")]
        if unknown := sorted(set(names) - known.keys()):
            raise Refused(f"“{unknown[0][:80]}” in the archive is unknown here.")
        progress = progress or Progress("", sys.stderr)
        progress.total = sum(archive.parts[name]["lines"] for name in names)
        try:
            with transaction.atomic():
                _unbounded()
                _refuse_full()
                parts = [part for file, part in known.items() if file in names]
                if without_secrets:
                    parts = [part for part in parts if not part.needs_secrets]
                counts = {part.label: _fill(archive, Rows(part, cipher), progress) for part in parts}
                paused = {"sending_paused_at": now, "sending_paused_reason": ARRIVED}
                Subscribable.objects.update(**paused)
                _reset_sequences(parts)
        except DatabaseError as error:
            raise Refused(f"The archive does not fit together: {str(error).splitlines()[0]}.") from error
    return counts


def _cipher(archive: Reader, phrase: str) -> Cipher | None:
    sealed = archive.manifest.get("secrets")
    if sealed is None:
        return None
    if not phrase:
        raise Refused("The archive has secrets: give --passphrase-file, or --without-secrets.")
    try:
        cipher, check = Cipher(phrase, base64.b64decode(sealed["salt"])), sealed["check"]
    except (ValueError, KeyError, TypeError) as error:
        raise Refused("manifest.json is damaged.") from error
    cipher.open(check, CHECK)
    return cipher


def _refuse_full() -> None:
    for part in EXPORTED_PARTS:
        if part.model._base_manager.exists():
            raise Refused(
                f"This site has rows already ({part.model._meta.verbose_name_plural}). An archive is imported"
                f" into an empty site only: name a new database, and run “{MANAGE} migrate”."
            )


def _fill(archive: Reader, rows: Rows, progress: Progress) -> int:
    part, count = rows.part, 0
    fields = [column.field for column in rows.columns]
    fixed = [field for field in part.model._meta.concrete_fields if field not in fields]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(field.column or "") for field in (*fields, *fixed))
    places = ", ".join(["%s"] * (len(fields) + len(fixed)))
    statement = f"INSERT INTO {quote(part.model._meta.db_table)} ({columns}) VALUES ({places})"  # noqa: S608
    rest = [field.get_db_prep_save(field.get_default(), connection) for field in fixed]
    with connection.cursor() as cursor:
        for lines in _batches(archive.lines(part.file)):
            try:
                values = rows.values([_row(line) for line in lines])
            except Refused:
                raise
            except (ValueError, TypeError, RecursionError) as error:
                raise Refused(f"{part.file}, rows {count + 1} to {count + len(lines)}: {error}.") from error
            cursor.executemany(statement, [[*row, *rest] for row in values])
            count += len(lines)
            progress.advance(len(lines))
        if connection.vendor == "postgresql" and count:
            # Otherwise look-ups are planned for an empty table.
            cursor.execute(f"ANALYZE {quote(part.model._meta.db_table)}")
    return count


def _batches(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if len(batch) == ROWS_A_BATCH or size > LARGEST_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _row(line: bytes) -> dict[str, Any]:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("a row is no object")
    return row


def _reset_sequences(parts: Iterable[ExportedPart]) -> None:
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [part.model for part in parts]):
            cursor.execute(statement)
