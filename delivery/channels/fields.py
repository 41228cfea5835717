"""Fields that several bridges have, made alike: a field of one name means the same in all of them.

What makes a typed value tidy raises ValueError with a sentence.
"""

import re
from collections.abc import Mapping
from functools import partial

from common.ports.channels import Field
from common.truncation import plain_line
from delivery.channels.http.address import server_url


def nickname(typed: str) -> str:
    """A short name that an admin gives an account. Raises ValueError."""
    name = typed.removeprefix("@").lower()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ValueError("give a short name of letters, digits, dots, dashes or underscores, such as bot.")
    return name


def visible_ascii(typed: str) -> str:
    """A token, as it may stand in a header. Raises ValueError, which does not repeat it."""
    if not re.fullmatch(r"[!-~]{1,500}", typed):
        raise ValueError("it has spaces or letters no token has.")
    return typed


def language_code(typed: str) -> str:
    """Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z]{2,3}", typed):
        raise ValueError("give a code of two or three letters, such as en.")
    return typed.lower()


def short_line(typed: str, *, most: int) -> str:
    """Raises ValueError."""
    if len(text := plain_line(typed)) > most:
        raise ValueError(f"at most {most} characters.")
    return text


def server(name: str, label: str, *, example: str) -> Field:
    """The address of the server that has the account."""
    clean = partial(server_url, example=example)
    return Field(name, label, f"Such as https://{example}.", required=True, clean=clean)


def secret(name: str, label: str, help: str) -> Field:
    """A token or a key; `help` says where to get it."""
    return Field(name, label, help, required=True, secret=True, clean=visible_ascii)


def line(name: str, label: str, help: str, *, most: int) -> Field:
    """One line of at most so many characters."""
    return Field(name, label, help, clean=partial(short_line, most=most))


def choice(name: str, label: str, help: str, choices: Mapping[str, str]) -> Field:
    """One of few values, each with the words for it; the first is the usual one."""
    return Field(name, label, help, choices=lambda: list(choices.items()), clean=str.lower)


def pictures(*, most: int) -> Field:
    """How many of a post's pictures are posted along; the usual one is one."""
    counts = {count: count for count in ("1", "0", *map(str, range(2, most + 1)))}
    help = "How many of a post's pictures are posted with it. Without them it is posted all the same."
    return choice("images", "Pictures", help, counts)


_SWITCH = {"": "No", "on": "Yes"}
ACCOUNT = Field("account", "Account", "A short name of your own, such as bot.", required=True, clean=nickname)
LANGUAGE = Field(
    "language",
    "Language",
    "Two or three letters, such as en; empty: the feed's language.",
    clean=language_code,
)
HASHTAGS = choice(
    "hashtags", "Hashtags", "Add the post's categories as hashtags, as far as there is room.", _SWITCH
)
SUMMARY = choice("summary", "Summary", "Add the post's summary, as far as there is room.", _SWITCH)
THREAD = choice(
    "thread", "Digest as a thread", "All posts of a digest with their links, in several posts.", _SWITCH
)
