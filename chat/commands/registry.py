"""Which function answers what."""

from collections.abc import Mapping

from chat.commands import adding, changing, decide, managing, server, trying
from chat.commands.context import Handler, Work

# Everybody may use these.
OPEN: Mapping[str, Handler] = {"list": managing.list_feeds, "preview": trying.preview}
COMMANDS: Mapping[str, Mapping[str, Handler]] = {
    "feed": {
        **OPEN,
        "add": adding.add,
        "remove": managing.remove,
        "test": trying.test,
        "pause": managing.pause,
        "resume": managing.resume,
        "move": trying.move,
        "edit": changing.edit,
        "filter": changing.filter_form,
        "digest": changing.digest,
        "why": managing.why,
        "status": managing.status,
        "settings": server.set_up_server,
    },
    "feeds": OPEN,
}
# Buttons and menus. Those of PUBLIC_BUTTONS change nothing.
BUTTONS: Mapping[str, Handler] = {
    "list": managing.list_feeds,
    "pick": adding.pick,
    "test": trying.test,
    "pause": managing.pause,
    "resume": managing.resume,
    "filter": changing.filter_form,
    "remove": managing.remove,
    "gone": managing.gone,
    "kept": managing.kept,
    "newest": decide.send_newest,
    "all": decide.send_all,
    "skip": decide.skip,
}
PUBLIC_BUTTONS = frozenset({"list"})
# Those that change the message that has them; the others answer beneath it.
IN_PLACE = frozenset({"list", "pause", "resume", "gone", "kept", "newest", "all", "skip"})
FORMS: Mapping[str, Handler] = {"edit": changing.edited, "filter": changing.filtered}
# What a worker does, with all the time that a site or Discord takes.
WORK: Mapping[str, Work] = {
    "add": adding.work_add,
    "pick": adding.work_pick,
    "preview": trying.work_preview,
    "test": trying.work_test,
    "move": trying.work_move,
}
