"""Issues, the ledger and lanes in the admin."""

from delivery.admin.delivery import DeliveryAdmin
from delivery.admin.issue import IssueAdmin
from delivery.admin.lane import LaneAdmin

__all__ = ["DeliveryAdmin", "IssueAdmin", "LaneAdmin"]
