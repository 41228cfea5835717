from subscriptions.admin.collection import AssignableAdmin
from subscriptions.admin.list_import import ListImportAdmin
from subscriptions.admin.newsletter import SubscribableAdmin
from subscriptions.admin.site import SiteSettingsAdmin
from subscriptions.admin.subscriber import DestinationAdmin, SuppressionAdmin
from subscriptions.admin.subscription import SubscriptionAdmin
from subscriptions.admin.subscription_tags import SubscriberTagAdmin

__all__ = [
    "AssignableAdmin",
    "DestinationAdmin",
    "ListImportAdmin",
    "SiteSettingsAdmin",
    "SubscribableAdmin",
    "SubscriberTagAdmin",
    "SubscriptionAdmin",
    "SuppressionAdmin",
]
