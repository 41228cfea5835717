"""Where a sign-up came from, and what the reader saw there."""

from dataclasses import dataclass
from enum import StrEnum


class How(StrEnum):
    """The way by which a reader, or an admin for them, said what they wanted."""

    PAGE = "page"
    DIRECTORY = "directory"
    EMBED = "embed"
    WIDGET = "widget"
    API = "api"
    V0 = "v0"
    MANAGE = "manage"
    ADMIN = "admin"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Origin:
    """`ip` as the web server has it, empty where there is none; `words` are the consent text as shown."""

    how: How | str = How.PAGE
    ip: str = ""
    words: str = ""
