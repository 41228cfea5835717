from subscriptions.models.address_change import AddressChange
from subscriptions.models.assignable import KEPT, Assignable, Assignment
from subscriptions.models.carried import Carried
from subscriptions.models.consent import Consent
from subscriptions.models.destination import Destination, ErasedMark, Suppression
from subscriptions.models.list_import import ListImport, ListPart, RefusedLine
from subscriptions.models.notice import Notice
from subscriptions.models.picture import Picture
from subscriptions.models.rule import LeftOut, PostRule, Stuck
from subscriptions.models.sign_in import SignIn, SignInWish
from subscriptions.models.sign_up_code import SignUpCode
from subscriptions.models.site import SiteSettings
from subscriptions.models.subscribable import Subscribable
from subscriptions.models.subscriber_tag import SubscriberTag, Tagging
from subscriptions.models.subscription import OldNumber, Subscription
from subscriptions.models.switch import Switch
from subscriptions.models.tally import Tally

__all__ = [
    "KEPT",
    "AddressChange",
    "Assignable",
    "Assignment",
    "Carried",
    "Consent",
    "Destination",
    "ErasedMark",
    "LeftOut",
    "ListImport",
    "ListPart",
    "Notice",
    "OldNumber",
    "Picture",
    "PostRule",
    "RefusedLine",
    "SignIn",
    "SignInWish",
    "SignUpCode",
    "SiteSettings",
    "Stuck",
    "Subscribable",
    "SubscriberTag",
    "Subscription",
    "Suppression",
    "Switch",
    "Tagging",
    "Tally",
]
