from subscriptions.models.assignable import Assignable, Assignment
from subscriptions.models.carried import Carried
from subscriptions.models.destination import Destination, Suppression
from subscriptions.models.notice import Notice
from subscriptions.models.rule import LeftOut, PostRule, Stuck
from subscriptions.models.subscribable import Subscribable
from subscriptions.models.subscription import Subscription

__all__ = [
    "Assignable",
    "Assignment",
    "Carried",
    "Destination",
    "LeftOut",
    "Notice",
    "PostRule",
    "Stuck",
    "Subscribable",
    "Subscription",
    "Suppression",
]
