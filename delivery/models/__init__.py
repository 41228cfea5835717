from channels.account import Account, ServiceAccount
from delivery.models.bounce import Bounce, MailboxMessage
from delivery.models.correction import Correction, RemotePost
from delivery.models.delivery import Attempt, Delivery, Receipt, Restore
from delivery.models.dkim import DkimKey
from delivery.models.issue import Broadcast, Issue, IssueCard, IssueItem, IssueVersion, SetAside
from delivery.models.issue_import import IssueImport, IssueImportLine, IssueImportPicture, IssueImportPiece
from delivery.models.lane import Lane, LaneDomain, LaneShare, LaneUse, ServiceBreaker
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
