from feeds.models.feed import Feed, Host, HubSubscription, Tag
from feeds.models.item import Item, ItemPage, ItemVersion, TrackedItem
from feeds.models.poll import FeedDocument, Poll, Push
