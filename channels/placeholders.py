"""The %Fields% of letters, in lower case, and placeholders for them. Pure."""

import html
import re
import secrets
import string
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache

from channels.letter import Letter, LetterError, Recipient
from common.text import one_line, without_controls, words

# Unchanged by `one_line`; nearly all values match.
_PLAIN = re.compile("[!-~]*")
BUILT_IN = (
    *("from", "replyTo", "to", "toFull", "toNickname", "toEmail", "toNicknameOrEmail"),
    *("removeLink", "manageLink", "archiveLink", "webLink"),
)
# RFC 5322 §3.2.3: a name with one of these needs quotes.
_SPECIALS = re.compile(r'[()<>\[\]:;@\\,."]')
PERSONAL = words("to tofull tonickname toemail tonicknameoremail removelink managelink")
# Upstream's rule; `\%x%` is a literal `%x%`. Neither `width:100%` nor `%20` can begin one.
FIELD = re.compile(r"(\\?)%([A-Za-z]\w*)%", re.ASCII)
_ALPHABET = string.ascii_letters + string.digits


def fill_html(text: str, placeholders: Mapping[str, str], values: Mapping[str, str]) -> str:
    """Escape `values` (field → text); default: empty. `placeholders`: field → token."""
    return _fill(text, placeholders, values, written_html)


def fill_text(text: str, placeholders: Mapping[str, str], values: Mapping[str, str]) -> str:
    return _fill(text, placeholders, values, written_text)


def written_html(value: str) -> str:
    return html.escape(without_controls(value))


def written_text(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else one_line(value)


def fill_header(text: str, placeholders: Mapping[str, str], values: Mapping[str, str]) -> str:
    return one_line(_fill(text, placeholders, values, one_line))


def _fill(
    text: str, placeholders: Mapping[str, str], values: Mapping[str, str], written: Callable[[str], str]
) -> str:
    if not placeholders:
        return text
    fields = {token: field for field, token in placeholders.items()}
    return _tokens(tuple(fields)).sub(lambda match: written(values.get(fields[match[0]], "")), text)


@lru_cache(maxsize=64)
def _tokens(tokens: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(tokens, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)))


class UnknownField(LetterError):
    """The message lists the valid fields."""

    def __init__(self, field: str, names: Mapping[str, str]) -> None:
        there_are = ", ".join(f"%{name}%" for name in names.values())
        super().__init__(f"There is no field %{field}%. Available: {there_are}.")


def field_names(params: Mapping[str, str]) -> dict[str, str]:
    """Include parameters: lower case → as written."""
    built_in = {name.lower(): name for name in BUILT_IN}
    return built_in | {name.lower(): name for name in params if name.lower() not in built_in}


def values_for(letter: Letter, recipient: Recipient, names: Collection[str] | None = None) -> dict[str, str]:
    """Return values of all fields, or of the named ones (lower case).

    Precedence: the newsletter's own code, built-in fields unless blank, extra parameters.
    """
    params = {name.lower(): value for name, value in letter.params.items()} if letter.params else {}
    wanted = BUILT_IN_VALUES.keys() | params.keys() if names is None else names
    if not recipient.params:
        return {name: _value(name, letter, recipient, params) for name in wanted}
    own = {name.lower(): value for name, value in recipient.params.items()}
    return {name: own[name] if name in own else _value(name, letter, recipient, params) for name in wanted}


def _value(name: str, letter: Letter, recipient: Recipient, params: Mapping[str, str]) -> str:
    value = BUILT_IN_VALUES[name](letter, recipient) if name in BUILT_IN_VALUES else ""
    return value if value.strip() else params.get(name, value)


def _address(recipient: Recipient) -> str:
    return recipient.label or recipient.core


def _full(letter: Letter, recipient: Recipient) -> str:
    name, address = one_line(recipient.name), _address(recipient)
    if _SPECIALS.search(name):
        name = '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
    return f"{name} <{address}>" if name else address


BUILT_IN_VALUES: Mapping[str, Callable[[Letter, Recipient], str]] = {
    "from": lambda letter, _: letter.from_email,
    "replyto": lambda letter, _: letter.reply_to,
    "to": _full,
    "tofull": _full,
    "tonickname": lambda _, recipient: one_line(recipient.name),
    "toemail": lambda _, recipient: _address(recipient),
    "tonicknameoremail": lambda _, recipient: one_line(recipient.name) or _address(recipient),
    "removelink": lambda _, recipient: recipient.unsubscribe_url,
    "managelink": lambda _, recipient: recipient.manage_url,
    "archivelink": lambda letter, _: letter.archive_url,
    # The page, else the archive, else the link of its only post.
    "weblink": lambda letter, _: (
        letter.web_url or letter.archive_url or (letter.entries[0].link if len(letter.entries) == 1 else "")
    ),
}


class Placeholders:
    """Random tokens for fields.

    Random: no post contains one. Letters and digits: escaping and inlining keep them. Equal length: none is
    another's prefix.
    """

    def __init__(self, params: Mapping[str, str]) -> None:
        self._names = field_names(params)
        prefix = "h" + "".join(secrets.choice(_ALPHABET) for _ in range(20))
        self._tokens = {name: f"{prefix}{number:05d}x" for number, name in enumerate(self._names)}
        self._used: dict[str, str] = {}

    def token(self, field: str) -> str:
        """Ignore case. Raises UnknownField."""
        name = field.lower()
        if name not in self._tokens:
            raise UnknownField(field, self._names)
        self._used[name] = self._tokens[name]
        return self._tokens[name]

    @property
    def used(self) -> dict[str, str]:
        """Return lower case → token."""
        return dict(self._used)
