from reader.models.app_password import AppPassword
from reader.models.channel import Channel, Follow, Mute
from reader.models.entry import Entry
from reader.models.mark import Marking, Star
from reader.models.place import Place, Unread
from reader.models.reader import Reader, Token

__all__ = [
    "AppPassword",
    "Channel",
    "Entry",
    "Follow",
    "Marking",
    "Mute",
    "Place",
    "Reader",
    "Star",
    "Token",
    "Unread",
]
