from channels.account import Account, ServiceAccount
from delivery.models.delivery import (
    Attempt,
    Bounce,
    Correction,
    Delivery,
    MailboxMessage,
    Receipt,
    RemotePost,
    Restore,
)
from delivery.models.issue import (
    Broadcast,
    Issue,
    IssueCard,
    IssueImport,
    IssueImportLine,
    IssueImportPicture,
    IssueImportPiece,
    IssueItem,
    IssueVersion,
    SetAside,
)
from delivery.models.lane import DkimKey, Lane, LaneDomain, LaneShare, LaneUse, ServiceBreaker
from delivery.models.template import LetterTemplate, Theme
from delivery.models.webhook import Webhook, WebhookCall

__all__ = [
    "Account",
    "Attempt",
    "Bounce",
    "Broadcast",
    "Correction",
    "Delivery",
    "DkimKey",
    "Issue",
    "IssueCard",
    "IssueImport",
    "IssueImportLine",
    "IssueImportPicture",
    "IssueImportPiece",
    "IssueItem",
    "IssueVersion",
    "Lane",
    "LaneDomain",
    "LaneShare",
    "LaneUse",
    "LetterTemplate",
    "MailboxMessage",
    "Receipt",
    "RemotePost",
    "Restore",
    "ServiceAccount",
    "ServiceBreaker",
    "SetAside",
    "Theme",
    "Webhook",
    "WebhookCall",
]
