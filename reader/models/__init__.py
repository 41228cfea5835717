from reader.models.channel import Channel, FeedIcon, Follow, FollowLine, FollowList, Letters, Mute
from reader.models.entry import Composition, Entry, Marking, Mention, Photo, Star, TimelineEntry, Unread
from reader.models.mail import MailAddress, MailMessage, MailSource
from reader.models.reader import AppPassword, Code, Invitation, Reader, Token
