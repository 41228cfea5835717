import re
from collections.abc import Sequence
from urllib.parse import SplitResult, parse_qs, quote, urlsplit, urlunsplit

from common.text import words

YOUTUBE = "https://www.youtube.com/feeds/videos.xml"
_CHANNEL = re.compile(r"UC[A-Za-z0-9_-]{22}")
_CHANNEL_IN_PAGE = re.compile(rf'"(?:channelId|externalId|browseId)"\s*:\s*"({_CHANNEL.pattern})"')
_PLAYLIST = re.compile(r"[A-Za-z0-9_-]{2,64}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_ACCOUNT = re.compile(r"@([A-Za-z0-9_.-]{1,100})(?:@([A-Za-z0-9.-]{1,253}))?")
_NOT_USERS = words(
    "about apps collections contact customer-stories enterprise explore features login marketplace new"
    " notifications orgs pricing search settings signup site sponsors topics trending"
)
# A host per user.
_OWN_HOSTS = {
    r"\.tumblr\.com$": "/rss",
    r"\.(?:medium|substack)\.com$": "/feed",
    r"\.blogspot\.[a-z.]+$": "/feeds/posts/default",
}


def handle_page(text: str) -> str:
    account = _ACCOUNT.fullmatch(text.strip())
    return (
        f"https://{account[2].lower()}/@{account[1]}" if account and account[2] and "." in account[2] else ""
    )


def guesses(url: str, html: str = "") -> tuple[str, ...]:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:
        return ()
    path = [step for step in parts.path.split("/") if step]
    first = path[0] if path else ""
    if re.search(r"(?:^|\.)(?:youtube\.com|youtu\.be)$", host):
        return tuple(_youtube(parts.query, path, html))
    if host == "github.com":
        if not path or first in _NOT_USERS or path[-1].endswith(".atom"):
            return ()
        if len(path) == 1:
            return (_at(parts, f"/{first}.atom"),)
        place = f"/{first}/{path[1].removesuffix('.git')}"
        return tuple(_at(parts, f"{place}/{name}.atom") for name in ("releases", "tags", "commits"))
    if re.search(r"(?:^|\.)reddit\.com$", host):
        return (_at(parts, "/".join(["", *path, ".rss"])),) if ".rss" not in path else ()
    if host == "tumblr.com":
        name = path[1] if first == "blog" and len(path) > 1 else first
        return (f"https://{name}.tumblr.com/rss",) if re.fullmatch(r"[a-z0-9-]{1,63}", name) else ()
    if host == "medium.com":
        return (_at(parts, f"/feed/{first}"),) if first not in ("", "feed") else ()
    if host == "substack.com":
        user = _ACCOUNT.fullmatch(first)
        return (f"https://{user[1]}.substack.com/feed",) if user and not user[2] else ()
    for own_host, place in _OWN_HOSTS.items():
        if re.search(own_host, host):
            return (_at(parts, place),)
    return tuple(_fediverse(parts, path))


def prefers_guesses(url: str) -> bool:
    """GitHub's pages name only commits."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.") == "github.com"
    except ValueError:
        return False


def _at(parts: SplitResult, path: str) -> str:
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _youtube(query: str, path: Sequence[str], html: str) -> list[str]:
    listed = parse_qs(query).get("list", [""])[0]
    feeds = [f"{YOUTUBE}?playlist_id={listed}"] if _PLAYLIST.fullmatch(listed) else []
    if path[:1] == ["channel"] and len(path) > 1 and _CHANNEL.fullmatch(path[1]):
        return [*feeds, f"{YOUTUBE}?channel_id={path[1]}"]
    if path[:1] == ["user"] and len(path) > 1 and _NAME.fullmatch(path[1]):
        feeds.append(f"{YOUTUBE}?user={path[1]}")
    inside = _CHANNEL_IN_PAGE.search(html)
    return [*feeds, f"{YOUTUBE}?channel_id={inside[1]}"] if inside else feeds


def _fediverse(parts: SplitResult, path: Sequence[str]) -> list[str]:
    account = _ACCOUNT.fullmatch(path[0]) if path else None
    if account and account[2]:
        return [f"https://{account[2]}/@{account[1]}.rss"]
    if account and not account[1].endswith(".rss"):
        return [_at(parts, f"/@{account[1]}.rss")]
    if len(path) == 2 and path[0] == "users" and _NAME.fullmatch(path[1]) and not path[1].endswith(".rss"):
        return [_at(parts, f"/@{quote(path[1])}.rss"), _at(parts, f"/users/{quote(path[1])}.rss")]
    return []
