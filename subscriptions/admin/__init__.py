"""Each module registers its pages."""

from subscriptions.admin import list_import, newsletter, next_issue, site, subscriber, subscription
