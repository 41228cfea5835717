from subscriptions.models.address_change import AddressChange
from subscriptions.models.assignable import KEPT, Assignable, Assignment
from subscriptions.models.consent import Consent
from subscriptions.models.destination import Destination, ErasedMark, Suppression
from subscriptions.models.frequency_change import FrequencyChange
from subscriptions.models.list_import import ListImport, ListPart, RefusedLine
from subscriptions.models.notice import Notice
from subscriptions.models.picture import Picture
from subscriptions.models.rule import FailedAssignment, LeftOut, PostRule
from subscriptions.models.seen_link import SeenLink
from subscriptions.models.sign_in import SignIn, SignInRequest
from subscriptions.models.sign_up_code import SignUpCode
from subscriptions.models.site import SiteSettings
from subscriptions.models.subscribable import Subscribable
from subscriptions.models.subscriber_tag import SubscriberTag, Tagging
from subscriptions.models.subscription import OldNumber, Subscription
from subscriptions.models.tally import Tally

__all__ = [
    "KEPT",
    "AddressChange",
    "Assignable",
    "Assignment",
    "Consent",
    "Destination",
    "ErasedMark",
    "FailedAssignment",
    "FrequencyChange",
    "LeftOut",
    "ListImport",
    "ListPart",
    "Notice",
    "OldNumber",
    "Picture",
    "PostRule",
    "RefusedLine",
    "SeenLink",
    "SignIn",
    "SignInRequest",
    "SignUpCode",
    "SiteSettings",
    "Subscribable",
    "SubscriberTag",
    "Subscription",
    "Suppression",
    "Tagging",
    "Tally",
]
