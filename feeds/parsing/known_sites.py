"""Where well-known sites keep their feeds: guesses from an address, to be tried, not believed."""

import re
from collections.abc import Callable, Sequence
from urllib.parse import SplitResult, parse_qs, quote, urlsplit, urlunsplit

from common.text import words

Path = Sequence[str]
YOUTUBE = "https://www.youtube.com/feeds/videos.xml"
_CHANNEL = re.compile(r"UC[A-Za-z0-9_-]{22}")
_CHANNEL_IN_PAGE = re.compile(rf'"(?:channelId|externalId|browseId)"\s*:\s*"({_CHANNEL.pattern})"')
_PLAYLIST = re.compile(r"[A-Za-z0-9_-]{2,64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_ACCOUNT = re.compile(r"@([A-Za-z0-9_.-]{1,100})(?:@([A-Za-z0-9.-]{1,253}))?")
# Pages of GitHub itself, which stand where users stand.
_NOT_USERS = words(
    "about apps collections contact customer-stories enterprise explore features login marketplace new"
    " notifications orgs pricing search settings signup site sponsors topics trending"
)


def handle_page(text: str) -> str:
    """The profile's address of a handle such as @user@instance.example; "" for anything else."""
    found = _ACCOUNT.fullmatch(text.strip())
    return f"https://{found[2].lower()}/@{found[1]}" if found and found[2] and "." in found[2] else ""


def guesses(url: str, html: str = "") -> tuple[str, ...]:
    """Addresses of feeds that the site of this page may have, the best first; `html` is the page's."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ()
    path = [step for step in parts.path.split("/") if step]
    for fits, find in _SITES:
        if fits.search(host):
            return tuple(dict.fromkeys(find(parts, path, html)))
    return tuple(_fediverse(parts, path, html))


def prefers_guesses(url: str) -> bool:
    """Whether the site's own feed is better known to us than to its pages (they name only commits)."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.") == "github.com"
    except ValueError:
        return False


def _at(parts: SplitResult, path: str, *, host: str = "") -> str:
    return urlunsplit((parts.scheme, host or parts.netloc, path, "", ""))


def _youtube(parts: SplitResult, path: Path, html: str) -> list[str]:
    listed = parse_qs(parts.query).get("list", [""])[0]
    found = [f"{YOUTUBE}?playlist_id={listed}"] if _PLAYLIST.fullmatch(listed) else []
    if path[:1] == ["channel"] and len(path) > 1 and _CHANNEL.fullmatch(path[1]):
        return [*found, f"{YOUTUBE}?channel_id={path[1]}"]
    if path[:1] == ["user"] and len(path) > 1 and _NAME.fullmatch(path[1]):
        found.append(f"{YOUTUBE}?user={path[1]}")
    inside = _CHANNEL_IN_PAGE.search(html)
    return [*found, f"{YOUTUBE}?channel_id={inside[1]}"] if inside else found


def _github(parts: SplitResult, path: Path, html: str) -> list[str]:
    if not path or path[0] in _NOT_USERS or path[-1].endswith(".atom"):
        return []
    if len(path) == 1:
        return [_at(parts, f"/{path[0]}.atom")]
    place = f"/{path[0]}/{path[1].removesuffix('.git')}"
    return [_at(parts, f"{place}/{name}.atom") for name in ("releases", "tags", "commits")]


def _reddit(parts: SplitResult, path: Path, html: str) -> list[str]:
    return [_at(parts, "/".join(["", *path, ".rss"]))] if ".rss" not in path else []


def _tumblr(parts: SplitResult, path: Path, html: str) -> list[str]:
    host = parts.hostname or ""
    if host not in ("tumblr.com", "www.tumblr.com"):
        return [_at(parts, "/rss")]
    name = path[1] if path[:1] == ["blog"] and len(path) > 1 else (path[0] if path else "")
    return [f"https://{name}.tumblr.com/rss"] if re.fullmatch(r"[a-z0-9-]{1,63}", name) else []


def _medium(parts: SplitResult, path: Path, html: str) -> list[str]:
    if parts.hostname not in ("medium.com", "www.medium.com"):
        return [_at(parts, "/feed")]
    return [_at(parts, f"/feed/{path[0]}")] if path and path[0] != "feed" else []


def _substack(parts: SplitResult, path: Path, html: str) -> list[str]:
    if parts.hostname not in ("substack.com", "www.substack.com"):
        return [_at(parts, "/feed")]
    user = _ACCOUNT.fullmatch(path[0]) if path else None
    return [f"https://{user[1]}.substack.com/feed"] if user and not user[2] else []


def _blogspot(parts: SplitResult, path: Path, html: str) -> list[str]:
    return [_at(parts, "/feeds/posts/default")]


def _fediverse(parts: SplitResult, path: Path, html: str) -> list[str]:
    """Mastodon and its kin: https://instance.example/@user, and /users/user."""
    account = _ACCOUNT.fullmatch(path[0]) if path else None
    if account and account[2]:
        return [f"https://{account[2]}/@{account[1]}.rss"]
    if account and not account[1].endswith(".rss"):
        return [_at(parts, f"/@{account[1]}.rss")]
    if len(path) == 2 and path[0] == "users" and _NAME.fullmatch(path[1]) and not path[1].endswith(".rss"):
        return [_at(parts, f"/@{quote(path[1])}.rss"), _at(parts, f"/users/{quote(path[1])}.rss")]
    return []


_SITES: tuple[tuple[re.Pattern[str], Callable[[SplitResult, Path, str], list[str]]], ...] = (
    (re.compile(r"(?:^|\.)(?:youtube\.com|youtu\.be)$"), _youtube),
    (re.compile(r"^github\.com$"), _github),
    (re.compile(r"(?:^|\.)reddit\.com$"), _reddit),
    (re.compile(r"(?:^|\.)tumblr\.com$"), _tumblr),
    (re.compile(r"(?:^|\.)medium\.com$"), _medium),
    (re.compile(r"(?:^|\.)substack\.com$"), _substack),
    (re.compile(r"\.blogspot\.[a-z.]+$"), _blogspot),
)
