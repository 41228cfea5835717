from feeds.models.document import FeedDocument
from feeds.models.feed import Feed
from feeds.models.item import Item

__all__ = ["Feed", "FeedDocument", "Item"]
