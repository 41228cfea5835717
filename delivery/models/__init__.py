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
    ToldCorrection,
)
from delivery.models.lane import DkimKey, Lane, LaneDomain, LaneShare, LaneUse, ServiceBreaker
from delivery.models.template import LetterTemplate, Theme
from delivery.models.webhook import HubSubscriber, Webhook, WebhookCall
