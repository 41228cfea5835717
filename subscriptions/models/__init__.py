from subscriptions.models.assignable import KEPT, Assignable, Assignment, SeenLink
from subscriptions.models.destination import (
    AddressChange,
    Destination,
    ErasedMark,
    ErasureKey,
    SignIn,
    SignInRequest,
    SignUpCode,
    SubscriberTag,
    Suppression,
    Tagging,
)
from subscriptions.models.list_import import ListChange, ListImport, ListPart, RefusedLine
from subscriptions.models.site import Picture, SiteSettings
from subscriptions.models.subscribable import FailedAssignment, LeftOut, OldName, PostRule, Subscribable
from subscriptions.models.subscription import (
    Consent,
    FrequencyChange,
    Notice,
    OldNumber,
    Subscription,
    UpstreamSalt,
)

__all__ = [
    "KEPT",
    "AddressChange",
    "Assignable",
    "Assignment",
    "Consent",
    "Destination",
    "ErasedMark",
    "ErasureKey",
    "FailedAssignment",
    "FrequencyChange",
    "LeftOut",
    "ListChange",
    "ListImport",
    "ListPart",
    "Notice",
    "OldName",
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
    "UpstreamSalt",
]
