from argparse import SUPPRESS, ArgumentTypeError
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result, argument, find, picture, positive, whole
from common.clock import utcnow
from delivery.customisation import (
    PICTURES,
    THEME_FIELDS,
    back_to_usual,
    current,
    set_theme,
    source_of,
    theme_of,
)
from delivery.issues.audience import altered_audience, chosen_audience
from delivery.issues.broadcasts import begin_letter, save_letter
from delivery.letters.samples import usual_count
from delivery.letters.templates import (
    KnownTemplate,
    find_reader,
    known_template,
    known_templates,
    preview,
    save_template,
    source_in_use,
    use_again,
    use_default,
)
from delivery.models import LetterTemplate
from delivery.rendering.engine import usual_source
from delivery.rendering.facts import LONGEST_TEMPLATE_HTML
from delivery.resources.letters import letter_row, letters
from delivery.rules.audience import AUDIENCE_PARTS, EVERY_READER
from subscriptions.management.options import add_newsletter, find_subscribable

# As TemplateRefused names the parts.
OPTION_NAMES = {"html": "--html-file", "text": "--text-file", "subject": "--subject"}
LETTER_HELP = {
    "accent": "Of links, buttons and the thin rule, such as #1a5fb4; made readable where it is not.",
    "background": "Behind the posts, such as #faf6ef.",
    "logo_url": "The logo's address, where it is on the web already.",
    "logo_alt": "The text of the logo, which replaces the name. Empty: both are shown.",
    "header_picture_url": "The address of a picture as wide as the email.",
    "header_picture_alt": "A description of the picture.",
    "header": "A line or two above the posts; [words](https://…) is a link.",
    "footer": "A line or two below the posts.",
    "postal_address": "Shown at the foot of every email.",
    "subject": "Such as “{newsletter}: {title}”; also {first}, {count}, {date}, and {upstream}, as the old"
    " Feedletter wrote it.",
}
AUDIENCE_OPTIONS = (
    ("--tag", "any_of", "TAG", "Only to subscribers with this tag; may be repeated: with any of them."),
    ("--not-tag", "none_of", "TAG", "Not to subscribers with this tag; may be repeated: with any of them."),
    ("--also", "others", "NAME", "Also to the readers of this newsletter; who reads several gets it once."),
)


def add_template(parser: CommandParser) -> None:
    """NAME and TEMPLATE."""
    add_newsletter(parser)
    parser.add_argument("template", metavar="TEMPLATE", help="Such as digest or mails/welcome.")


def text_file(name: str) -> str:
    """The text of a file, for argparse."""
    try:
        with Path(name).open(encoding="utf-8-sig") as file:
            # One more than there may be: the service says what is too long.
            return file.read(LONGEST_TEMPLATE_HTML + 1)
    except OSError as error:
        raise ArgumentTypeError(f"“{name}” cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ArgumentTypeError(f"“{name}” is not UTF-8.") from error


def template_row(known: KnownTemplate, row: LetterTemplate | None) -> dict[str, Any]:
    """A mail or page, and which template it has; version 0 is the default."""
    return {
        "template": known.name,
        "what": known.title,
        "version": row.version if row else 0,
        "changed": row.created_at if row else None,
        "by": row.author if row else "",
        "note": row.note if row else "",
    }


class ListTemplates(FeedletterCommand):
    help = "Lists the email and page templates of a newsletter; version 0 is the default."
    arguments = (add_newsletter,)

    def run(self, **options: Any) -> Result:
        rows = LetterTemplate.objects.filter(
            subscribable=find_subscribable(options["newsletter"]), is_current=True
        )
        own = {row.name: row for row in rows.defer("html", "text")}
        return [template_row(known, own.get(known.name)) for known in known_templates()]


class ShowTemplate(FeedletterCommand):
    help = "Prints the html of a template, or its text."
    arguments = (
        add_template,
        argument("--default", action="store_true", help="The default, not the newsletter's own."),
        argument("--text", action="store_true", help="The text part instead of the html."),
    )

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        known = known_template(options["template"])
        row = None if options["default"] else current(newsletter, known.name)
        source = source_of(row) if row else usual_source(known.name)
        if options["text"] and known.is_page:
            raise CommandError("A page has no text part.")
        facts = {
            "template": known.name,
            "version": row.version if row else 0,
            "subject": source.subject,
            "html": source.html,
            "text": source.text,
        }
        # Printed as it is, so that it can go into a file and come back.
        return Printed((source.text if options["text"] else source.html).rstrip("\n"), facts)


class SetTemplate(FeedletterCommand):
    help = (
        "Saves a new version of a template and takes it into use. Parts that are left out stay as they are."
    )
    option_names = OPTION_NAMES
    arguments = (
        add_template,
        argument("--html-file", type=text_file, metavar="FILE", dest="html"),
        argument("--text-file", type=text_file, metavar="FILE", dest="text"),
        argument("--subject", help="Empty: the usual one."),
        argument("--note", default="", help="A note on the change, shown with the version."),
    )

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        known = known_template(options["template"])
        given = {part: options[part] for part in OPTION_NAMES if options[part] is not None}
        if not given:
            raise CommandError(f"Give what to change: {', '.join(OPTION_NAMES.values())}.")
        if known.is_page and given.keys() - {"html"}:
            raise CommandError("A page has neither subject nor text: give --html-file alone.")
        row = save_template(
            subscribable=newsletter,
            name=known.name,
            source=replace(source_in_use(newsletter, known.name), **given),
            author="command",
            note=options["note"],
            now=utcnow(),
        )
        return template_row(known, row)


class ResetTemplate(FeedletterCommand):
    help = "Restores the default template or an earlier version. All versions are kept."
    option_names = OPTION_NAMES
    arguments = (
        add_template,
        argument("--to", type=positive, metavar="VERSION", help="Use this version again."),
    )

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        known = known_template(options["template"])
        if options["to"] is None:
            use_default(subscribable=newsletter, name=known.name)
            return template_row(known, None)
        rows = LetterTemplate.objects.filter(subscribable=newsletter, name=known.name)
        version = find(
            rows.select_related("subscribable"),
            "version",
            f"The newsletter has {rows.count()} of {known.name}.",
            version=options["to"],
        )
        return template_row(known, use_again(version=version, author="command", now=utcnow()))


class SetTheme(FeedletterCommand):
    help = "Sets colours, logo and the words around a newsletter's posts. An empty text is the usual look."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        for name, said in LETTER_HELP.items():
            parser.add_argument(f"--{name.replace('_', '-')}", default=SUPPRESS, metavar="TEXT", help=said)
        parser.add_argument(
            "--logo-width", type=whole, default=SUPPRESS, metavar="N", help="In pixels, as it is shown."
        )
        for name, dest in (("--logo", "logo_picture"), ("--header-picture", "header_picture")):
            said = "A PNG, JPEG, WebP or GIF, which is stored here. Empty: remove it."
            parser.add_argument(name, dest=dest, type=picture, default=SUPPRESS, metavar="FILE", help=said)
        parser.add_argument("--usual", action="store_true", help="Delete all of it.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        changes = {name: options[name] for name in (*THEME_FIELDS, *PICTURES) if name in options}
        if options["usual"] and changes:
            raise CommandError("--usual forgets the look: give no other option with it.")
        if options["usual"]:
            back_to_usual(subscribables=[subscribable.pk])
        elif changes:
            set_theme(subscribable=subscribable, **changes)
        theme = theme_of(subscribable)
        return {"name": subscribable.name, **{name: getattr(theme, name) for name in THEME_FIELDS}}


def add_audience(parser: CommandParser) -> None:
    """Adds the options that say whom a letter is for; None where they are left out."""
    for option, part, metavar, text in AUDIENCE_OPTIONS:
        parser.add_argument(option, dest=part, action="append", metavar=metavar, help=text)


def named_audience(options: dict[str, Any]) -> dict[str, list[str]]:
    return {part: options[part] for part in AUDIENCE_PARTS if options.get(part) is not None}


class WriteLetter(FeedletterCommand):
    help = "Creates an email to a newsletter's subscribers. “send_letter” sends it."
    arguments = (
        add_newsletter,
        argument("--subject", required=True, help="Also its title."),
        argument("--file", type=text_file, required=True, metavar="FILE", help="Its Markdown."),
        add_audience,
    )

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        letter = begin_letter(
            subscribable=newsletter,
            audience=chosen_audience(newsletter, **named_audience(options)),
            subject=options["subject"],
            markdown=options["file"],
            author="command",
            now=utcnow(),
        )
        return letter_row(letter)


class AlterLetter(FeedletterCommand):
    help = "Changes a draft of an email. Options that are left out change nothing."
    arguments = (
        argument("id", type=whole, metavar="ID", help="The number that “list_letters” shows."),
        argument("--subject", help="Also its title."),
        argument("--file", type=text_file, metavar="FILE", help="Its Markdown."),
        add_audience,
        argument("--to-all", action="store_true", help="To every reader of its newsletter."),
    )

    def run(self, **options: Any) -> Result:
        letter, subject, markdown = letters.find(options["id"]), options["subject"], options["file"]
        named, to_all = named_audience(options), options["to_all"]
        if named and to_all:
            raise CommandError("--to-all means everybody: give it alone, or name the recipients.")
        if subject is None and markdown is None and not named and not to_all:
            raise CommandError("Give what to change: --subject, --file, --tag, --not-tag, --also, --to-all.")
        save_letter(
            letter_id=letter.pk,
            subject=subject,
            markdown=markdown,
            audience=EVERY_READER if to_all else altered_audience(letter, **named) if named else None,
            version=letter.version,
            now=utcnow(),
        )
        return letter_row(letters.find(letter.pk))


class PreviewLetter(FeedletterCommand):
    help = "Prints an email or page of a newsletter as it would be now, with the newest posts; sends nothing."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument(
            "--template", metavar="T", help="Such as digest or welcome; by default its issues."
        )
        parser.add_argument(
            "--as", dest="reader", metavar="ADDRESS", help="A subscriber; usually a made-up one."
        )
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--text", action="store_true", help="The text part instead of the html.")
        form.add_argument("--raw", action="store_true", help="The message as it would be sent.")

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        if newsletter.channel != "email":
            raise CommandError(f"{newsletter.name} is a bridge: it sends no emails.")
        usual = newsletter.template or ("post" if usual_count(newsletter) == 1 else "digest")
        known = known_template(options["template"] or usual)
        shown = preview(
            subscribable=newsletter,
            name=known.name,
            reader=find_reader(newsletter, options["reader"]) if options["reader"] else None,
            now=utcnow(),
        )
        if shown.problem:
            raise CommandError(str(shown.problem))
        if known.is_page and (options["text"] or options["raw"]):
            raise CommandError("A page is html only.")
        if shown.is_made_up:
            self.note("Its feeds have no posts yet: these are made up.")
        form = "raw" if options["raw"] else "text" if options["text"] else "html"
        names = ("subject", "html", "text", "raw")
        facts = {"template": known.name, **{name: getattr(shown, name) for name in names}}
        return Printed(getattr(shown, form).rstrip("\n"), facts)
