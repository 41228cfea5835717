from dataclasses import dataclass
from enum import StrEnum


class How(StrEnum):
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
    """`ip` as given by the web server. `words`: consent text as shown."""

    how: How | str = How.PAGE
    ip: str = ""
    words: str = ""
