"""Each call of Google Reader's API: parameters in, JSON or text out.

It was never specified. https://feedhq.readthedocs.io/en/latest/api/ tells what it was, and apps what is left
of it. Posts, feeds and folders are entries, feeds and channels; whatever is another reader's does not exist.
"""

from collections.abc import Callable, Mapping

from reader.greader import posts, subscriptions
from reader.greader.app_call import AppCall, Told
from reader.greader.items import Shown
from reader.people.app_passwords import token_for

Doing = Callable[[AppCall], Told]


def show_user(call: AppCall) -> Shown:
    reader = call.reader
    return {
        "userId": str(reader.pk),
        "userName": reader.slug,
        "userProfileId": str(reader.pk),
        "userEmail": reader.user.email,
    }


def show_token(call: AppCall) -> str:
    """Liferea shows it instead of the header when it POSTs."""
    return token_for(call.password)


def nothing(answer: Told) -> Doing:
    """For what apps ask, and nobody misses."""
    return lambda _: answer


QUESTIONS: Mapping[str, Doing] = {
    "token": show_token,
    "user-info": show_user,
    "tag/list": subscriptions.list_tags,
    "subscription/list": subscriptions.list_subscriptions,
    "subscription/export": subscriptions.export_subscriptions,
    "unread-count": posts.count_unread,
    "stream/items/ids": posts.list_ids,
    "stream/items/contents": posts.show_posts,
    "stream/contents": posts.show_stream,
    "preference/list": nothing({"prefs": []}),
    "preference/stream/list": nothing({"streamprefs": {}}),
    "friend/list": nothing({"friends": []}),
}
CHANGES: Mapping[str, Doing] = {
    "edit-tag": posts.edit_tag,
    "mark-all-as-read": posts.mark_stream_read,
    "subscription/edit": subscriptions.edit_subscription,
    "subscription/quickadd": subscriptions.quick_add,
    "subscription/import": subscriptions.import_subscriptions,
    "rename-tag": subscriptions.rename_tag,
    "disable-tag": subscriptions.disable_tag,
    "preference/set": nothing("OK"),
    "preference/stream/set": nothing("OK"),
}
XML_CALLS = frozenset({"subscription/export"})
# Whose body is a file, whatever the app calls it.
FILE_CALLS = frozenset({"subscription/import"})
# What lists feeds and folders: apps say which answer they have.
SELDOM_CHANGED = frozenset({"tag/list", "subscription/list"})
