from reader.models.channel import Channel, Follow, Mute
from reader.models.entry import Entry
from reader.models.mark import Marking, Star
from reader.models.mention import Mention
from reader.models.place import Place, Unread
from reader.models.reader import Reader, Token

__all__ = [
    "Channel",
    "Entry",
    "Follow",
    "Marking",
    "Mention",
    "Mute",
    "Place",
    "Reader",
    "Star",
    "Token",
    "Unread",
]
