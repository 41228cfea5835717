"""Admin of readers, without what they follow, read or star."""

from reader.admin.invitation import InvitationAdmin
from reader.admin.reader import ReaderAdmin

__all__ = ["InvitationAdmin", "ReaderAdmin"]
