"""Who reads here, and whom one invites. What somebody follows, reads or stars has no page in the admin."""

from reader.admin.invitation import InvitationAdmin
from reader.admin.reader import ReaderAdmin

__all__ = ["InvitationAdmin", "ReaderAdmin"]
