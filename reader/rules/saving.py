"""Services that keep pages for later, reached by a link. Pure."""

from urllib.parse import quote, urlsplit

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
LONGEST_TITLE = 300
# Services that everybody knows, and programs on one's own server.
EXAMPLES = (
    "https://www.instapaper.com/hello2?url={url}&title={title}",
    "https://app.raindrop.io/add?link={url}&title={title}",
    "https://wallabag.example.org/bookmarklet?url={url}",
    "https://linkding.example.org/bookmarks/new?url={url}&title={title}",
)


def is_template(text: str) -> bool:
    """Return whether it is a web address with a place for the post's address."""
    try:
        parts = urlsplit(text)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    except ValueError:
        return False
    # The host is fixed: a post cannot choose where its reader is led.
    return is_safe and bool(parts.hostname) and "{" not in parts.netloc and "{url}" in text


def save_address(template: str, *, url: str, title: str) -> str:
    """Return the service's address for a post."""
    # (Quoted, the address has no braces.)
    address = template.replace("{url}", quote(url, safe=""))
    return address.replace("{title}", quote(title[:LONGEST_TITLE], safe=""))
