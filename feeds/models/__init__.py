from feeds.models.document import FeedDocument
from feeds.models.feed import Feed
from feeds.models.host import Host
from feeds.models.hub import HubSubscription
from feeds.models.item import Item
from feeds.models.poll import Poll
from feeds.models.push import Push
from feeds.models.tag import Tag
from feeds.models.tracked_item import TrackedItem

__all__ = ["Feed", "FeedDocument", "Host", "HubSubscription", "Item", "Poll", "Push", "Tag", "TrackedItem"]
