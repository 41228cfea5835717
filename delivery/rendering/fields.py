"""The %Fields% of letters: their names, and one recipient's values. Pure. Names are lower case here."""

import re
from collections.abc import Mapping

from common.text import one_line
from delivery.channels.base import Letter, Recipient
from delivery.rendering.rendered import LetterError

BUILT_IN = (
    "from",
    "replyTo",
    "to",
    "toFull",
    "toNickname",
    "toEmail",
    "toNicknameOrEmail",
    "removeLink",
    "manageLink",
    "archiveLink",
    "webLink",
)
# RFC 5322 §3.2.3: a name with one of these is written in quotes.
_SPECIALS = re.compile(r'[()<>\[\]:;@\\,."]')


class UnknownField(LetterError):
    """A template uses a field that there is not. The message names the ones there are."""

    def __init__(self, field: str, names: Mapping[str, str]) -> None:
        there_are = ", ".join(f"%{name}%" for name in names.values())
        super().__init__(f"There is no field %{field}%. There are: {there_are}.")


def field_names(params: Mapping[str, str]) -> dict[str, str]:
    """Every field of a newsletter with these extra parameters: name in lower case → as it is written."""
    built_in = {name.lower(): name for name in BUILT_IN}
    return built_in | {name.lower(): name for name in params if name.lower() not in built_in}


def values_for(letter: Letter, recipient: Recipient) -> dict[str, str]:
    """One recipient's value of every field. Extra parameters are fields too; a built-in wins unless blank.

    `webLink` is where the letter can be read on the web: its own page, else the archive, else the link of
    its only post.
    """
    address = recipient.label or recipient.core
    name = one_line(recipient.name)
    full = f"{_phrase(name)} <{address}>" if name else address
    only_link = letter.entries[0].link if len(letter.entries) == 1 else ""
    values = {
        "from": letter.from_email,
        "replyto": letter.reply_to,
        "to": full,
        "tofull": full,
        "tonickname": name,
        "toemail": address,
        "tonicknameoremail": name or address,
        "removelink": recipient.unsubscribe_url,
        "managelink": recipient.manage_url,
        "archivelink": letter.archive_url,
        "weblink": letter.web_url or letter.archive_url or only_link,
    }
    params = {name.lower(): value for name, value in letter.params.items()}
    return values | {name: value for name, value in params.items() if not values.get(name, "").strip()}


def _phrase(name: str) -> str:
    if not _SPECIALS.search(name):
        return name
    return '"' + re.sub(r'(["\\])', r"\\\1", name) + '"'
