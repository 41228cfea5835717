"""`python -m bench.prose [PATH …]`: find phrases that comments and sentences for people must not have.

Sentences are the strings of the code, and the text of templates and Markdown pages. Counts the words of
docstrings and comments. Without a path it checks everything; exits with 1 if it finds something.
`python -m bench.prose --sample SEED [COUNT]` prints sentences to read.
"""

import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PLAIN = (
    "bench", "channels", "chat", "common", "delivery", "demo", "feeds", "feedletter_site", "migrate_from",
    "reader", "subscriptions", "tests",
)  # fmt: skip
SENTENCES: tuple[str, ...] = (
    "channels", "chat", "common", "delivery", "demo", "docs", "feedletter_site", "feeds", "migrate_from",
    "reader", "subscriptions", "templates",
)  # fmt: skip
# Stories that the demo's blog tells, and pages that repeat texts of the code.
SKIPPED = ("content", "reference")
LONGEST_FIRST_LINE = 100
PHRASES = re.compile(
    r"(?:^|[.:!?]\s+)(?-i:What|That it)\b"
    r"|\b(?:whoever|those (?:that|who|of)|(?:is|are|was|were) told|of one's own|goes by|let in)\b"
    r"|\bstands?\b(?! for)"
    r"|\bas [^.,;]+ has it\b",
    re.IGNORECASE,
)
# A sentence for people uses the product's words: email, post, issue, subscriber, newsletter, next issue.
WORDS = re.compile(
    r"\b(?:whoever|who gets it|goes|comes|besides?|by itself|good for|its word|as it stands)\b"
    r"|\bstands?\b(?! for)"
    r"|\b(?:is|are|was|were|be|been) told\b"
    r"|\bof (?:your|their|its|our|one's) own\b"
    r"|\bmend(?:s|ed|ing)?\b"
    r"|\bput(?:s|ting)? (?:\w+ ){0,3}aside\b"
    r"|(?<!capital )(?<!small )(?<!lower-case )\bletters?\b(?!@|\.\w)(?! (?:and|or) digits?\b|, digits)"
    r"|\be-mails?\b|\bmails\b(?!/)"
    r"|\b(?:a|the|this|that|each|every|one|no|any|your|test) mail\b"
    r"(?! (?:server|program|account|app|set|service|host|box|provider|system|client|domain|check))",
    re.IGNORECASE,
)
# Three words, the first perhaps capital, are a sentence, unless they are SQL or a regular expression.
SENTENCE = re.compile(r"[a-z]{2,} [a-z]+ [a-z]+|^[A-Z][a-z]+ [a-z]+ ")
CODE = re.compile(r"\b(?:SELECT|UPDATE|INSERT|DELETE|WHERE|CREATE|ALTER|SET|FROM)\b|\w\|\w|\(\?[:!<=]")
# Not a sentence either: words to look for, one after another.
WORD_LIST = re.compile(r"[\w ]{200,}")
TRANSLATED = re.compile(r"""{% (?:translate|trans) (["'])(.*?)\1.*?%}""")
SILENT = re.compile(
    r"{#.*?#}|{% comment.*?endcomment %}|<script.*?</script>|<style.*?</style>|<!--.*?-->|{%.*?%}|{{.*?}}",
    re.DOTALL,
)
MARKUP = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
SPOKEN = re.compile(r"""\b(?:title|alt|aria-label|placeholder|data-[a-z]+)="([^"]*)\"""")
MARKDOWN_CODE = re.compile(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>", re.DOTALL | re.MULTILINE)
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


def faults(every: Iterable[Text]) -> Iterator[tuple[int, str]]:
    """Line and sentence for each fault."""
    for line, words, is_docstring in every:
        first = words.partition("\n")[0]
        if is_docstring and len(first) > LONGEST_FIRST_LINE:
            yield line, f"The first line has {len(first)} characters; the most are {LONGEST_FIRST_LINE}."
        for match in PHRASES.finditer(words):
            yield line, f"Say it without “{match.group().lstrip('.:!? ')}”."


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each sentence that the file says to people; … replaces what is filled in."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from _strings(ast.parse(source))
        return
    if path.suffix == ".md":
        text = MARKDOWN_CODE.sub(_blank, source)
    else:
        text = MARKUP.sub(_attributes, SILENT.sub(_blank, TRANSLATED.sub(r"\2", source)))
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip(" …"):
            yield number, line


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, Documented) and ast.get_docstring(node) is not None:
            silent.add(id(node.body[0].value))  # type: ignore[attr-defined]  # the docstring
        if isinstance(node, ast.JoinedStr):
            silent.update(map(id, node.values))
            parts = [str(each.value) if isinstance(each, ast.Constant) else "…" for each in node.values]
            text = "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            text = node.value
        else:
            continue
        if SENTENCE.search(text) and not CODE.search(text) and not WORD_LIST.fullmatch(text):
            yield node.lineno, text


def _blank(match: re.Match[str]) -> str:
    return "…" + "\n" * match.group().count("\n")


def _attributes(match: re.Match[str]) -> str:
    return " ".join(SPOKEN.findall(match.group())) + "\n" * match.group().count("\n")


def wrong_words(path: Path) -> Iterator[tuple[int, str]]:
    """Line and sentence for each word that a sentence for people must not have."""
    for line, sentence in sentences(path):
        for match in WORDS.finditer(sentence):
            yield line, f"Say it without “{match.group()}”: {' '.join(sentence.split())[:100]}"


def modules(paths: list[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        every = [path] if path.is_file() else sorted(path.rglob("*.py"))
        yield from (each for each in every if each.suffix == ".py" and "migrations" not in each.parts)


def spoken(paths: list[str]) -> Iterator[Path]:
    """Files that have sentences for people."""
    for path in map(Path, paths):
        for each in [path] if path.is_file() else sorted(path.rglob("*")):
            if each.suffix in (".py", ".html", ".txt", ".md") and not {"migrations", *SKIPPED} & {
                *each.parts
            }:
                yield each


def sample(seed: str, count: str = "200") -> None:
    every = [(path, line, text) for path in spoken(list(SENTENCES)) for line, text in sentences(path)]
    for path, line, text in random.Random(seed).sample(every, int(count)):
        print(f"{path}:{line}: {' '.join(text.split())}")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--sample"]:
        sample(*arguments[1:])
        return 0
    count = words = 0
    for path in modules(arguments or list(PLAIN)):
        every = list(texts(path.read_text("utf-8")))
        words += sum(len(each.words.split()) for each in every)
        for line, sentence in faults(every):
            count += 1
            print(f"{path}:{line}: {sentence}")
    for path in spoken(arguments or list(SENTENCES)):
        for line, sentence in wrong_words(path):
            count += 1
            print(f"{path}:{line}: {sentence}")
    if arguments:
        print(f"{words:,} words, {count} to say in another way")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
