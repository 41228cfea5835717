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
from subscriptions.models.list_import import (
    ListChange,
    ListImport,
    ListPart,
    Picture,
    RefusedLine,
    SiteSettings,
)
from subscriptions.models.subscribable import FailedAssignment, LeftOut, OldName, PostRule, Subscribable
from subscriptions.models.subscription import (
    Consent,
    FrequencyChange,
    Notice,
    OldNumber,
    SeriesRun,
    Subscription,
    UpstreamSalt,
)
