"""`python -m bench.prose [PATH …]`: find phrases that docstrings and comments must not have.

Counts their words, too. Without a path it checks all packages; exits with 1 if it finds something.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PLAIN = (
    "bench", "channels", "chat", "common", "delivery", "demo", "feeds", "feedletter_site", "reader",
    "subscriptions", "tests",
)  # fmt: skip
LONGEST_FIRST_LINE = 100
PHRASES = re.compile(
    r"(?:^|[.:!?]\s+)(?-i:What|That it)\b"
    r"|\b(?:whoever|those (?:that|who|of)|(?:is|are|was|were) told|of one's own|goes by|let in)\b"
    r"|\bstands?\b(?! for)"
    r"|\bas [^.,;]+ has it\b",
    re.IGNORECASE,
)
# Not prose: marks for tools.
MARKS = re.compile(r"#\s*(?:type:|noqa|fmt:|pragma|ruff:|!)")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Text(NamedTuple):
    """A docstring, or comment lines that follow one another."""

    line: int
    words: str
    is_docstring: bool


def texts(source: str) -> Iterator[Text]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Documented) and (docstring := ast.get_docstring(node)):
            yield Text(node.body[0].lineno, docstring, True)
    block, last = Text(0, "", False), 0  # the comment lines so far, and the line of the last one
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or MARKS.match(token.string):
            continue
        words, line = token.string.lstrip("#: "), token.start[0]
        if last and line == last + 1:
            block = block._replace(words=f"{block.words} {words}")
        else:
            if last:
                yield block
            block = Text(line, words, False)
        last = line
    if last:
        yield block


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Line and sentence for each fault."""
    for line, words, is_docstring in texts(source):
        first = words.partition("\n")[0]
        if is_docstring and len(first) > LONGEST_FIRST_LINE:
            yield line, f"The first line has {len(first)} characters; the most are {LONGEST_FIRST_LINE}."
        for match in PHRASES.finditer(words):
            yield line, f"Say it without “{match.group().lstrip('.:!? ')}”."


def modules(paths: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        every = [path] if path.is_file() else sorted(path.rglob("*.py"))
        yield from (each for each in every if "migrations" not in each.parts)


def main(arguments: list[str]) -> int:
    count = words = 0
    for path in modules(arguments or list(PLAIN)):
        source = path.read_text("utf-8")
        words += sum(len(each.words.split()) for each in texts(source))
        for line, sentence in faults(source):
            count += 1
            print(f"{path}:{line}: {sentence}")
    if arguments:
        print(f"{words:,} words, {count} to say in another way")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
