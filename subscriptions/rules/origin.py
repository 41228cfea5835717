from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from common.net.addresses import CLAIMED


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
    """`ip` as given by the web server. `words`: consent text as shown. `claimed` is never stored."""

    how: How | str = How.PAGE
    ip: str = ""
    words: str = ""
    claimed: str = ""

    @classmethod
    def of(cls, meta: Mapping[str, Any], how: How, words: str) -> Self:
        return cls(how, meta.get("REMOTE_ADDR", ""), words, meta.get(CLAIMED, ""))
