"""Rules for posts. In HTML they apply to text between tags."""

import html as entities
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from common import patterns
from common.html.balance import MAX_HTML
from common.html.clean import clean
from common.patterns import CONTAINS, EQUALS, MATCHES, Deadline, InvalidPattern, OutOfTime
from common.refused import Refused
from common.text import comparable, one_line, words
from feeds.parsing.entry import Entry

MOST_WORDS, LONGEST_WORD = 50, 60
_SEPARATORS = re.compile(r"[\n,;]+")
KEEP, DROP, REPLACE = "keep", "drop", "replace"
ANY, TITLE, AUTHOR, CATEGORY, CONTENT, LINK = "any", "title", "author", "category", "content", "link"
REPLACEABLE = (ANY, TITLE, CONTENT)
LONGEST_TITLE = 2_000
NOUNS = {TITLE: "title", AUTHOR: "author", CATEGORY: "category", CONTENT: "text", LINK: "link"}
TOO_SLOW = "Its regular expression takes too long for this post."
T = TypeVar("T")
# HTML from common.html.clean.clean has < and > only in tags.
_TAG = re.compile(r"</?[a-zA-Z](?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>")
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)")
_WITHIN_WORDS = words(
    "a abbr b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup"
    " tt u var wbr"
)


@dataclass(frozen=True, slots=True)
class Rule:
    action: str
    field: str
    test: str
    pattern: str
    replacement: str = ""
    key: int = 0


@dataclass(frozen=True, slots=True)
class Trouble:
    """Rule that could not judge a post. The post is kept."""

    rule: Rule
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` completes “Weekly left it out: …”."""

    is_kept: bool = True
    reason: str = ""
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewritten:
    entry: Entry
    changed_by: tuple[Rule, ...] = ()
    troubles: tuple[Trouble, ...] = ()


class InvalidRule(Refused):
    """The message is one sentence."""


def check_rule(rule: Rule) -> None:
    """Raise InvalidRule if it cannot work or may be slow."""
    if not rule.pattern.strip():
        raise InvalidRule("Say what to look for.", "pattern")
    if rule.action == REPLACE and rule.field not in REPLACEABLE:
        raise InvalidRule("A rule can replace text only in the title and the content.", "field")
    if rule.action != REPLACE and rule.replacement:
        raise InvalidRule("Only “replace” rules use this. Leave it empty.", "replacement")
    try:
        patterns.check_pattern(rule.test, rule.pattern, rule.replacement)
    except InvalidPattern as error:
        raise InvalidRule(str(error), "pattern") from error


def check_on(rule: Rule, entries: Iterable[Entry]) -> None:
    """Raise InvalidRule if it is slow on these posts."""
    if rule.test != MATCHES:
        return
    for entry in entries:
        for _, value in _values(rule.field, entry):
            try:
                patterns.refuse_slow_pattern(rule.pattern, value)
            except InvalidPattern as error:
                raise InvalidRule(f"{error} (Tried on “{entry.title or entry.link}”.)", "pattern") from error


def judge(entry: Entry, rules: Sequence[Rule]) -> Verdict:
    """Apply drop rules, then keep rules, of which one must match if any. A rule that fails keeps the post."""
    troubles: list[Trouble] = []
    for rule in _of(DROP, rules):
        if field := _fits(rule, entry, troubles, otherwise=""):
            return Verdict(False, f"its {NOUNS[field]} {_verb(rule)}", tuple(troubles))
    keeping = list(_of(KEEP, rules))
    if not keeping or any(_fits(rule, entry, troubles, otherwise=rule.field) for rule in keeping):
        return Verdict(True, "", tuple(troubles))
    reason = f"it fits none of the {len(keeping)} rules for what to keep"
    if len(keeping) == 1:
        (rule,) = keeping
        reason = f"{'nothing in it' if rule.field == ANY else f'no {NOUNS[rule.field]} of it'} {_verb(rule)}"
    return Verdict(False, reason, tuple(troubles))


def rewrite(entry: Entry, rules: Sequence[Rule]) -> Rewritten:
    changed_by, troubles = [], []
    for rule in _of(REPLACE, rules):
        try:
            after = _replaced(rule, entry)
        except (OutOfTime, ValueError) as error:
            troubles.append(_trouble(rule, error))
            continue
        if after != entry:
            changed_by.append(rule)
        entry = after
    return Rewritten(entry, tuple(changed_by), tuple(troubles))


def in_order(posts: Sequence[T], order: str, title: Callable[[T], str]) -> list[T]:
    """Sort posts that are newest first. Titles ignore case and accents; untitled posts are last."""

    def alphabetical(post: T) -> tuple[bool, str]:
        marks = unicodedata.normalize("NFKD", title(post))
        plain = "".join(char for char in marks if not unicodedata.combining(char))
        key = plain.casefold().lstrip(" \t“”„«»‘’‚'\"([¡¿…")
        return not key, key

    if order == "oldest":
        return list(reversed(posts))
    if order == "title":
        return sorted(posts, key=alphabetical)
    return list(posts)


def sentence(rule: Rule) -> str:
    """Return “Leave out posts whose title contains “sponsored”.”"""
    what = f"{'' if rule.field == ANY else NOUNS[rule.field] + ' '}{_verb(rule)}"
    if rule.action == REPLACE:
        where = "the title and the text" if rule.field == ANY else f"the {NOUNS[rule.field]}"
        found = {CONTAINS: "", EQUALS: "where it is all there is, "}.get(rule.test, "what matches ")
        by = f"put “{rule.replacement}”" if rule.replacement else "put nothing"
        return f"In {where}, for {found}“{rule.pattern}” {by}."
    start = "Keep only posts" if rule.action == KEEP else "Leave out posts"
    return f"{start} {'in which anything ' if rule.field == ANY else 'whose '}{what}."


def _of(action: str, rules: Sequence[Rule]) -> Iterator[Rule]:
    return (rule for rule in rules if rule.action == action)


def _fits(rule: Rule, entry: Entry, troubles: list[Trouble], *, otherwise: str) -> str:
    """Return the matching field or "", and `otherwise` on failure."""
    deadline = Deadline.within(patterns.USED_WITHIN)
    try:
        for field, value in _values(rule.field, entry):
            if patterns.is_found(rule.test, rule.pattern, value, deadline):
                return field
    except (OutOfTime, ValueError) as error:
        troubles.append(_trouble(rule, error))
        return otherwise
    return ""


def _trouble(rule: Rule, error: Exception) -> Trouble:
    return Trouble(rule, TOO_SLOW if isinstance(error, OutOfTime) else str(error))


def _values(field: str, entry: Entry) -> Iterator[tuple[str, str]]:
    every: dict[str, Callable[[], Iterable[str]]] = {
        TITLE: lambda: (entry.title,),
        AUTHOR: lambda: entry.authors,
        CATEGORY: lambda: entry.categories,
        LINK: lambda: (entry.link,),
        CONTENT: lambda: (visible(entry.html),),
    }
    for name in every if field == ANY else (field,):
        yield from ((name, value) for value in every[name]())


def _replaced(rule: Rule, entry: Entry) -> Entry:
    deadline = Deadline.within(patterns.USED_WITHIN)

    def substituted(text: str, room: int = MAX_HTML) -> str:
        return patterns.replaced(rule.test, rule.pattern, rule.replacement, text, deadline, room=room)

    changes: dict[str, str] = {}
    if rule.field in (ANY, TITLE) and (title := substituted(entry.title, LONGEST_TITLE)) != entry.title:
        changes["title"] = one_line(title)
    if rule.field in (ANY, CONTENT):
        for name in ("content", "summary"):
            before = getattr(entry, name)
            if (after := changed(before, substituted)) != before:
                changes[name] = clean(after, base=entry.base or entry.link)
    return replace(entry, **changes) if changes else entry  # type: ignore[arg-type]


def _verb(rule: Rule) -> str:
    word = word_of(rule.pattern)
    if word and rule.test == MATCHES and rule.pattern == word_pattern(word):
        return f"contains “{word}”"
    verb = {CONTAINS: "contains", EQUALS: "is", MATCHES: "matches"}[rule.test]
    return f"{verb} “{rule.pattern}”"


def visible(html: str) -> str:
    """Return the text, with a line for each block."""
    pieces = []
    for token, is_tag in _tokens(html):
        name = _NAME.match(token) if is_tag else None
        if not is_tag:
            pieces.append(entities.unescape(token))
        elif name is None or name.group(1).lower() not in _WITHIN_WORDS:
            pieces.append("\n")
    return "".join(pieces)


def changed(html: str, change: Callable[[str], str]) -> str:
    pieces = []
    for token, is_tag in _tokens(html):
        before = token if is_tag else entities.unescape(token)
        after = token if is_tag else change(before)
        pieces.append(token if after == before else entities.escape(after, quote=False))
    return "".join(pieces)


def _tokens(html: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for tag in _TAG.finditer(html):
        if tag.start() > at:
            yield html[at : tag.start()], False
        yield tag.group(), True
        at = tag.end()
    if at < len(html):
        yield html[at:], False


class InvalidWords(Refused):
    """`reason` is "many", "long", "quote" or "star"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_words(typed: str) -> list[str]:
    """Parse words and quoted phrases. * means any letters. Raises InvalidWords."""
    text = _SEPARATORS.sub(" ", typed.translate(str.maketrans("“”„«»", '"""""')))
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    try:
        tokens = [" ".join(word.split()) for word in lexer]
    except ValueError:
        raise InvalidWords("quote") from None
    words = list(dict.fromkeys(word for word in tokens if word))
    if len(words) > MOST_WORDS:
        raise InvalidWords("many")
    for word in words:
        if len(word) > LONGEST_WORD:
            raise InvalidWords("long")
        if not word.replace("*", "").strip():
            raise InvalidWords("star")
    return words


def word_pattern(word: str) -> str:
    """Match whole words: “art” does not match “party”; “art*” matches “artist”."""
    inner = r"\w*".join(map(re.escape, word.split("*")))
    before = r"(?<!\w)" if word[0].isalnum() else ""
    after = r"(?!\w)" if word[-1].isalnum() else ""
    return f"(?i){before}{inner}{after}"


def found_in(words: Iterable[str], texts: Iterable[str]) -> bool:
    read, wanted = list(map(comparable, texts)), [word_pattern(comparable(word)) for word in words]
    return any(_is_in(text, pattern) for text in read for pattern in wanted)


def _is_in(text: str, pattern: str) -> bool:
    try:
        deadline = patterns.Deadline.within(patterns.USED_WITHIN)
        return patterns.is_found(patterns.MATCHES, pattern, text, deadline)
    except (patterns.OutOfTime, ValueError):
        return False


def word_of(pattern: str) -> str:
    """Undo `word_pattern`."""
    if not pattern.startswith("(?i)"):
        return pattern
    inner = pattern.removeprefix("(?i)").removeprefix(r"(?<!\w)").removesuffix(r"(?!\w)")
    return re.sub(r"\\(.)", r"\1", inner.replace(r"\w*", "*"))


def typed_words(words: list[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)
