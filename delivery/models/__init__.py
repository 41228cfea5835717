from channels.account import Account, ServiceAccount
from delivery.models.bounce import Bounce
from delivery.models.breaker import ServiceBreaker
from delivery.models.broadcast import Broadcast
from delivery.models.correction import Correction
from delivery.models.delivery import Attempt, Delivery
from delivery.models.dkim import DkimKey
from delivery.models.issue import Issue, IssueItem, SetAside
from delivery.models.issue_card import IssueCard
from delivery.models.lane import Lane, LaneDomain, LaneShare, LaneUse
from delivery.models.mailbox import MailboxMessage
from delivery.models.receipt import Receipt
from delivery.models.remote_post import RemotePost
from delivery.models.restore import Restore
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
    "IssueItem",
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
