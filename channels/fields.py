"""Common fields: equal names have equal meanings. Cleaning raises ValueError with a sentence."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from channels.http.transport import LONGEST_URL, server_url
from common.ports.channels import Field
from common.truncation import plain_line


def short_name(typed: str, *, example: str = "news") -> str:
    name = typed.lower()
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        raise ValueError(
            f"use a short name of letters, digits, dots, dashes or underscores, such as {example}."
        )
    return name


def nickname(typed: str) -> str:
    return short_name(typed.removeprefix("@"), example="bot")


def matching(pattern: str, refusal: str) -> Callable[[str], str]:
    """Return a cleaner. `refusal` is its error, which doesn't repeat secrets."""

    def clean(typed: str) -> str:
        if not re.fullmatch(pattern, typed, re.ASCII):
            raise ValueError(refusal)
        return typed

    return clean


# For people to open.
page_address = matching(
    rf"(?!.{{{LONGEST_URL + 1}}})https?://[!-~]+",
    "an address begins with https://, such as https://discord.gg/….",
)
# For use in a header.
secret_word = matching(r"[!-~]{1,500}", "a token has no such characters.")


def language_code(typed: str) -> str:
    if not re.fullmatch(r"[A-Za-z]{2,3}", typed):
        raise ValueError("enter a code of two or three characters, such as en.")
    return typed.lower()


def words_of_at_most(limit: int) -> Callable[[str], str]:
    def clean(typed: str) -> str:
        if len(text := plain_line(typed)) > limit:
            raise ValueError(f"at most {limit} characters.")
        return text

    return clean


def posting_url(example: str) -> Callable[[str], str]:
    """Return a cleaner for secret URLs that allow posting. `example` is a host for people."""

    def clean(typed: str) -> str:
        try:
            parts = urlsplit(typed)
            place = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if parts.username is not None or len(typed) > LONGEST_URL or not re.fullmatch(r"[!-~]*", typed):
                raise ValueError(typed)
            return server_url(f"{parts.scheme}://{parts.netloc}", example=example) + place
        except ValueError:
            raise ValueError(
                f"this isn’t an address to post to. Use an address like https://{example}/."
            ) from None

    return clean


def server(name: str, label: str, *, example: str) -> Field:
    return needed(name, label, f"For example https://{example}.", partial(server_url, example=example))


def needed(name: str, label: str, help: str, clean: Callable[[str], str]) -> Field:
    return Field(name, label, help, required=True, clean=clean)


def secret(name: str, label: str, help: str, clean: Callable[[str], str] = secret_word) -> Field:
    return Field(name, label, help, required=True, secret=True, clean=clean)


def line(name: str, label: str, help: str, *, most: int) -> Field:
    return Field(name, label, help, clean=words_of_at_most(most))


def choice(name: str, label: str, help: str, choices: Mapping[str, str]) -> Field:
    """The first choice is the default."""
    return Field(name, label, help, choices=lambda: list(choices.items()), clean=str.lower)


def switch(name: str, label: str, help: str = "") -> Field:
    """The default is no."""
    return choice(name, label, help, {"": "No", "on": "Yes"})


def name(example: str) -> Field:
    """For destinations that have no name."""
    return needed("account", "Name", f"A short name, such as {example}.", short_name)


PICTURE = choice("picture", "Picture", "", {"": "The post's first one", "no": "None"})
PICTURES = choice(
    "images",
    "Pictures",
    "Number of a post’s pictures to include. If they fail, the post is published without them.",
    {count: count for count in "10234"},
)
ACCOUNT = needed("account", "Account", "A short name, such as bot.", nickname)
LANGUAGE = Field(
    "language",
    "Language",
    "A code of two or three characters, such as en. Leave empty for the feed’s language.",
    clean=language_code,
)
HASHTAGS = switch("hashtags", "Hashtags", "Adds the post’s categories as hashtags if they fit.")
SUMMARY = switch("summary", "Summary", "Adds the post’s summary if it fits.")
THREAD = switch("thread", "Digest as a thread", "All posts of a digest with their links, in several posts.")
SILENT = switch("silent", "Without a sound")
