"""Files with the other program's secrets (Java properties), and with ours. No value is printed."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from common.refused import Refused
from common.text import joined
from migrate_from.feedletter.environment import as_file

LARGEST_SECRET = 1_000_000
_BREAK = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_CONTINUED = re.compile(r"(?:[^\\]|\A)(?:\\\\)*\\\Z")
# A key ends before an unescaped blank, = or :.
_PAIR = re.compile(r"((?:\\.|[^\\ \t\f=:])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.|\Z)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_secrets(file: Path) -> dict[str, str]:
    """Read Java properties. Raises Refused."""
    try:
        with file.open("rb") as stream:
            return parse_secrets(stream.read(LARGEST_SECRET + 1))
    except OSError as error:
        raise Refused(f"--secrets: {file} can’t be read: {error.strerror}.") from error
    except Refused as error:
        raise Refused(f"--secrets: {file} {error}") from None


def parse_secrets(octets: bytes) -> dict[str, str]:
    """Raises Refused; the message is about the file, such as “is larger …”."""
    if len(octets) > LARGEST_SECRET:
        raise Refused("is larger than a megabyte. Give feedletter-secrets.properties.")
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        # Java's older encoding.
        text = octets.decode("latin-1")
    try:
        return read_properties(text)
    except ValueError:
        # `from None`: the error may show a secret.
        raise Refused("isn’t a valid properties file.") from None


def refuse_existing(file: Path) -> None:
    """Raises Refused."""
    if file.exists() or file.is_symlink():
        raise Refused(f"--env-out: {file} exists already. Give another name, or move it away first.")


def write_environment(file: Path, values: Mapping[str, str]) -> str:
    """Write a new file that only its owner reads. Return a sentence. Raises Refused."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(descriptor, 0o600)
            stream.write(as_file(values))
    except OSError as error:
        raise Refused(f"--env-out: {file} can’t be written: {error.strerror}.") from error
    return f"{file} has {joined(values)}. Start Feedletter with these settings."


def read_properties(text: str) -> dict[str, str]:
    r"""Later values win. Raises ValueError for a broken \uXXXX."""
    values = {}
    for line in _logical_lines(text.removeprefix("\ufeff")):
        match = _PAIR.match(line)
        if match is not None:
            values[_unescaped(match[1])] = _unescaped(match[2])
    return values


def _logical_lines(text: str) -> Iterator[str]:
    line, is_continued = "", False
    for natural in _BREAK.split(text):
        part = natural.lstrip(_BLANKS)
        if not is_continued and (not part or part[0] in "#!"):
            continue
        line, is_continued = line + part, bool(_CONTINUED.search(part))
        if is_continued:
            line = line[:-1]
            continue
        yield line
        line = ""
    if line:
        yield line


def _unescaped(text: str) -> str:
    plain = _ESCAPE.sub(_character, text)
    # Two escapes may be the halves of one character.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(match: re.Match[str]) -> str:
    code = match[1]
    if code == "u":
        raise ValueError("malformed \\u")
    if len(code) == 5:
        return chr(int(code[1:], 16))
    return _LETTERS.get(code, code)
