from collections.abc import Mapping
from functools import partial

from channels.discord.options import PICTURE_SIZES, STYLES
from chat.commands import add, contents, feeds, looks, trials
from chat.commands.context import Handler, Work
from chat.models import ServerAlert

OPEN: Mapping[str, Handler] = {"list": feeds.list_feeds, "preview": trials.preview}
COMMANDS: Mapping[str, Mapping[str, Handler]] = {
    "feed": {
        **OPEN,
        "add": add.add,
        "remove": feeds.remove,
        "test": trials.test,
        "pause": feeds.pause,
        "resume": feeds.resume,
        "move": trials.move,
        "edit": looks.edit,
        "filter": contents.filter_form,
        "digest": contents.digest,
        "why": feeds.why,
        "status": feeds.status,
        "settings": contents.set_up_server,
    },
    "feeds": OPEN,
}
# PUBLIC_BUTTONS change nothing.
BUTTONS: Mapping[str, Handler] = {
    "list": feeds.list_feeds,
    "pick": add.pick,
    "test": trials.test,
    "pause": feeds.pause,
    "resume": feeds.resume,
    "filter": contents.filter_form,
    "edit": looks.edit,
    "style": partial(looks.choose, name="style", known=STYLES),
    "image": partial(looks.choose, name="image", known=PICTURE_SIZES),
    "does": looks.chose_switches,
    "role": looks.chose_role,
    "words": looks.words_form,
    "threads": looks.threads_form,
    "remove": feeds.remove,
    "gone": feeds.confirm_removal,
    "kept": feeds.cancel_removal,
    "newest": partial(trials.decide, decision=ServerAlert.Decision.NEWEST),
    "all": partial(trials.decide, decision=ServerAlert.Decision.ALL),
    "skip": partial(trials.decide, decision=ServerAlert.Decision.SKIP),
}
# Accept "all" in place of a feed.
TAKE_ALL = frozenset({"pause", "resume"})
PUBLIC_BUTTONS = frozenset({"list"})
# They change their message; the others answer below it.
IN_PLACE = frozenset(
    {"list", "pause", "resume", "gone", "kept", "newest", "all", "skip"}
    | {"style", "image", "does", "role", "words", "threads"}
)
FORMS: Mapping[str, Handler] = {
    "filter": contents.save_filter,
    "words": looks.save_words,
    "threads": looks.save_threads,
}
# Commands that open a form, too, by the form's button.
FORM_COMMANDS: Mapping[str, str] = {"words": "edit part:words", "threads": "edit part:threads"}
# Sites and Discord may be slow.
WORK: Mapping[str, Work] = {
    "add": add.work_add,
    "pick": add.work_pick,
    "preview": trials.work_preview,
    "test": trials.work_test,
    "resume": feeds.work_resume,
    "move": trials.work_move,
    "edit": looks.work_edit,
    "does": looks.work_switches,
}
