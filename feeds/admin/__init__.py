"""Feeds and their posts in the admin."""

from feeds.admin.feed import FeedAdmin
from feeds.admin.item import ItemAdmin

__all__ = ["FeedAdmin", "ItemAdmin"]
