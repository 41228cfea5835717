"""The admin does not show what readers follow, read or star."""

from reader.admin.invitation import InvitationAdmin
from reader.admin.reader import ReaderAdmin
