"""Whether a feed is there already, for who adds without looking at the list."""

from feeds.models import Feed
from feeds.services.adding import host_of_url, is_address, same_address
from feeds.services.credentials import split_address


def feed_at(url: str) -> Feed | None:
    """The feed of this address, whatever its scheme; None also for what is no address."""
    bare = split_address(url.strip())[0]
    if not is_address(bare):
        return None
    wanted = same_address(bare)
    feeds = Feed.objects.filter(host=host_of_url(bare)).order_by("pk")
    return next((feed for feed in feeds if same_address(feed.url) == wanted), None)
