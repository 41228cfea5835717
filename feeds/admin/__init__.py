from feeds.admin.feed import FeedAdmin
from feeds.admin.item import ItemAdmin
from feeds.admin.tag import TagAdmin
