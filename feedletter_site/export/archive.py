"""The zip file of an export: written and read in streams, and distrusted when read."""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from common.archives import BadArchive, open_zip
from common.body_limits import MEGABYTE
from common.refused import Refused

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
