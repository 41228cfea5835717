"""Additions to OPML by Miniflux, FreshRSS and Thunderbird."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from common.text import one_line

# FreshRSS makes these feeds itself.
SCRAPED = frozenset({"html+xpath", "xml+xpath", "json+dotnotation", "html+xpath+json+dotnotation"})
MAX_NAMED, MAX_OPTIONS = 20, 10_000
FORCED = "#force_feed"
_IGNORED = frozenset({"", "0", "false", "null", "[]"})


@dataclass(frozen=True, slots=True)
class Extras:
    """Of an outline. `refused`: why it can't be imported; `lost`: a sentence about settings that can’t."""

    refused: str = ""
    is_paused: bool = False
    lost: str = ""
    is_thunderbird: bool = False


def extras_of(attributes: Mapping[str, str]) -> Extras:
    kind = next((value for name, value in attributes.items() if name.lower() == "type"), "").strip().lower()
    if kind in SCRAPED:
        return Extras(
            refused=f"FreshRSS makes this feed itself ({kind}). Import the site’s own feed, if it has one."
        )
    lost, secrets, is_paused, is_thunderbird = [], [], False, False
    for name, value in attributes.items():
        prefix, _, local = name.partition(":")
        match prefix.lower(), local.lower():
            case "miniflux", "disabled":
                is_paused = value.strip().lower() == "true"
            case "frss", option if option.startswith("curlopt_"):
                secrets.append(one_line(local)[:50])
            case "miniflux" | "frss", option if option != "opmlurl" and value.strip().lower() not in _IGNORED:
                lost.append(one_line(local)[:50])
            case "fz", option:
                is_thunderbird = True
                is_paused = is_paused or (option == "options" and _is_switched_off(value))
    sentences = []
    if lost:
        sentences.append(f"Not imported: {', '.join(lost[:MAX_NAMED])}.")
    if secrets:
        sentences.append(
            f"Not imported, as they may be secrets: {', '.join(secrets[:MAX_NAMED])}. If the feed needs them,"
            " add it again with its credentials."
        )
    return Extras(is_paused=is_paused, lost=" ".join(sentences), is_thunderbird=is_thunderbird)


def linked_list(attributes: Mapping[str, str]) -> str:
    """Return the address of the list that a folder of FreshRSS reads."""
    return next((value.strip() for name, value in attributes.items() if name.lower() == "frss:opmlurl"), "")


def _is_switched_off(options: str) -> bool:
    try:
        updates = json.loads(options[:MAX_OPTIONS])["updates"]
        return updates["enabled"] is False
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
