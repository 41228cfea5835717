from delivery.models.bounce import Bounce
from delivery.models.delivery import Attempt, Delivery
from delivery.models.dkim import DkimKey
from delivery.models.issue import Issue, IssueItem
from delivery.models.lane import Lane
from delivery.models.mailbox import MailboxMessage

__all__ = ["Attempt", "Bounce", "Delivery", "DkimKey", "Issue", "IssueItem", "Lane", "MailboxMessage"]
