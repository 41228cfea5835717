from reader.models.app_password import AppPassword
from reader.models.channel import Channel, FeedIcon, Follow, Mute
from reader.models.composition import Composition, Photo
from reader.models.entry import Entry
from reader.models.follow_list import FollowLine, FollowList
from reader.models.invitation import Invitation
from reader.models.mark import Marking, Star
from reader.models.mention import Mention
from reader.models.reader import Code, Reader, Token
from reader.models.timeline_entry import TimelineEntry, Unread

__all__ = [
    "AppPassword",
    "Channel",
    "Code",
    "Composition",
    "Entry",
    "FeedIcon",
    "Follow",
    "FollowLine",
    "FollowList",
    "Invitation",
    "Marking",
    "Mention",
    "Mute",
    "Photo",
    "Reader",
    "Star",
    "TimelineEntry",
    "Token",
    "Unread",
]
