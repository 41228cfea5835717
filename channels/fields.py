"""Fields that several bridges have, made alike: a field of one name means the same in all of them.

What makes a typed value tidy raises ValueError with a sentence.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from channels.http.transport import LONGEST_URL, server_url
from common.ports.channels import Field
from common.truncation import plain_line


def nickname(typed: str) -> str:
    """A short name that an admin gives an account. Raises ValueError."""
    name = typed.removeprefix("@").lower()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ValueError("give a short name of letters, digits, dots, dashes or underscores, such as bot.")
    return name


def short_name(typed: str) -> str:
    """What an admin calls one of several destinations at one place."""
    name = typed.lower()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ValueError("give a short name of letters, digits, dots, dashes or underscores, such as news.")
    return name


def secret_word(typed: str) -> str:
    """A token or a password, as it may stand in a header. Raises ValueError, which does not repeat it."""
    if not re.fullmatch(r"[!-~]{1,500}", typed):
        raise ValueError("it has spaces or letters no token has.")
    return typed


def language_code(typed: str) -> str:
    """Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z]{2,3}", typed):
        raise ValueError("give a code of two or three letters, such as en.")
    return typed.lower()


def words_of_at_most(limit: int) -> Callable[[str], str]:
    """A line of so many characters."""

    def clean(typed: str) -> str:
        if len(text := plain_line(typed)) > limit:
            raise ValueError(f"at most {limit} characters.")
        return text

    return clean


def posting_url(example: str) -> Callable[[str], str]:
    """An address that is a secret: whoever knows it may post there. `example` is a host, for people."""

    def clean(typed: str) -> str:
        try:
            parts = urlsplit(typed)
            place = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if parts.username is not None or len(typed) > LONGEST_URL or not re.fullmatch(r"[!-~]*", typed):
                raise ValueError(typed)
            return server_url(f"{parts.scheme}://{parts.netloc}", example=example) + place
        except ValueError:
            raise ValueError(f"it is no address to post to. It begins with https://{example}/.") from None

    return clean


def server(name: str, label: str, *, example: str) -> Field:
    """The address of the server that has the account."""
    clean = partial(server_url, example=example)
    return Field(name, label, f"Such as https://{example}.", required=True, clean=clean)


def secret(name: str, label: str, help: str) -> Field:
    """A token or a key; `help` says where to get it."""
    return Field(name, label, help, required=True, secret=True, clean=secret_word)


def line(name: str, label: str, help: str, *, most: int) -> Field:
    """One line of at most so many characters."""
    return Field(name, label, help, clean=words_of_at_most(most))


def choice(name: str, label: str, help: str, choices: Mapping[str, str]) -> Field:
    """One of few values, each with the words for it; the first is the usual one."""
    return Field(name, label, help, choices=lambda: list(choices.items()), clean=str.lower)


def pictures(*, most: int) -> Field:
    """How many of a post's pictures are posted along; the usual one is one."""
    counts = {count: count for count in ("1", "0", *map(str, range(2, most + 1)))}
    help = "How many of a post's pictures are posted with it. Without them it is posted all the same."
    return choice("images", "Pictures", help, counts)


def switch(name: str, label: str, help: str = "") -> Field:
    """Yes or no; the usual one is no."""
    return choice(name, label, help, {"": "No", "on": "Yes"})


ACCOUNT = Field("account", "Account", "A short name of your own, such as bot.", required=True, clean=nickname)
LANGUAGE = Field(
    "language",
    "Language",
    "Two or three letters, such as en; empty: the feed's language.",
    clean=language_code,
)
HASHTAGS = switch("hashtags", "Hashtags", "Add the post's categories as hashtags, as far as there is room.")
SUMMARY = switch("summary", "Summary", "Add the post's summary, as far as there is room.")
THREAD = switch("thread", "Digest as a thread", "All posts of a digest with their links, in several posts.")
SILENT = switch("silent", "Without a sound")
