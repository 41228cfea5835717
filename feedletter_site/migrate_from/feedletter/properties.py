"""Java's properties files (java.util.Properties.load). Pure."""

import re
from collections.abc import Iterator

_BREAK = re.compile(r"\r\n|\r|\n")
_BLANKS = " \t\f"
_CONTINUED = re.compile(r"(?:[^\\]|\A)(?:\\\\)*\\\Z")
# A key ends before an unescaped blank, = or :.
_PAIR = re.compile(r"((?:\\.|[^\\ \t\f=:])*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)\Z", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.|\Z)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


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
