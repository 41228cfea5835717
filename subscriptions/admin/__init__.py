"""Each module registers its pages."""

from subscriptions.admin import list_import, newsletter, site, subscriber, subscription
