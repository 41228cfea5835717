from reader.models.channel import Channel, Follow, Mute
from reader.models.entry import Entry
from reader.models.follow_list import FollowLine, FollowList
from reader.models.mark import Marking, Star
from reader.models.place import Place, Unread
from reader.models.reader import Reader, Token

__all__ = [
    "Channel",
    "Entry",
    "Follow",
    "FollowLine",
    "FollowList",
    "Marking",
    "Mute",
    "Place",
    "Reader",
    "Star",
    "Token",
    "Unread",
]
