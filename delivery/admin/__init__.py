"""Issues, the ledger, lanes and keys in the admin."""

from delivery.admin.bounce import BounceAdmin
from delivery.admin.delivery import DeliveryAdmin
from delivery.admin.dkim import DkimKeyAdmin
from delivery.admin.issue import IssueAdmin
from delivery.admin.lane import LaneAdmin

__all__ = ["BounceAdmin", "DeliveryAdmin", "DkimKeyAdmin", "IssueAdmin", "LaneAdmin"]
