"""Links to services that save pages for later."""

from urllib.parse import quote, urlsplit

LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1"}
LONGEST_TITLE = 300
EXAMPLES = (
    "https://www.instapaper.com/hello2?url={url}&title={title}",
    "https://app.raindrop.io/add?link={url}&title={title}",
    "https://wallabag.example.org/bookmarklet?url={url}",
    "https://linkding.example.org/bookmarks/new?url={url}&title={title}",
)


def is_template(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL_HOSTS)
    except ValueError:
        return False
    # The host is fixed, so that a post cannot choose it.
    return is_safe and bool(parts.hostname) and "{" not in parts.netloc and "{url}" in text


def save_address(template: str, *, url: str, title: str) -> str:
    # Quoted addresses contain no braces.
    address = template.replace("{url}", quote(url, safe=""))
    return address.replace("{title}", quote(title[:LONGEST_TITLE], safe=""))
