"""Admin of issues, deliveries, lanes and keys."""

from delivery.admin.broadcasts.letter import BroadcastAdmin
from delivery.admin.delivery import BounceAdmin, DeliveryAdmin
from delivery.admin.dkim import DkimKeyAdmin
from delivery.admin.issue import IssueAdmin
from delivery.admin.lane import LaneAdmin
from delivery.admin.letter_templates.template import LetterTemplateAdmin
from delivery.admin.mail import AccountAdmin
from delivery.admin.old_issues import IssueImportAdmin
from delivery.admin.restoring import RestoreAdmin
from delivery.admin.service_account import ServiceAccountAdmin
from delivery.admin.webhooks.webhook import WebhookAdmin, WebhookCallAdmin

__all__ = [
    "AccountAdmin",
    "BounceAdmin",
    "BroadcastAdmin",
    "DeliveryAdmin",
    "DkimKeyAdmin",
    "IssueAdmin",
    "IssueImportAdmin",
    "LaneAdmin",
    "LetterTemplateAdmin",
    "RestoreAdmin",
    "ServiceAccountAdmin",
    "WebhookAdmin",
    "WebhookCallAdmin",
]
