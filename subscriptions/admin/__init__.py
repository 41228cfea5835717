from subscriptions.admin.list_import import ListImportAdmin
from subscriptions.admin.newsletter import AssignableAdmin, SubscribableAdmin
from subscriptions.admin.site import SiteSettingsAdmin
from subscriptions.admin.subscriber import DestinationAdmin, SubscriberTagAdmin, SuppressionAdmin
from subscriptions.admin.subscription import SubscriptionAdmin

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
