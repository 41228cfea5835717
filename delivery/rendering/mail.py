"""Mails other than issues, such as confirmation and welcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from channels.languages import spoken
from channels.letter import LetterError
from channels.placeholders import Placeholders
from common.text import one_line, shortened
from delivery.rendering import engine
from delivery.rendering.branding import look
from delivery.rendering.errors import Rendered, UnknownTemplate
from delivery.rendering.facts import USUAL_THEME, TemplateSource, ThemeFacts
from delivery.rendering.subjects import LONGEST_SUBJECT
from subscriptions.rules.site import USUAL_SITE, SiteFacts

Value = str | int | list[str] | tuple[str, ...] | list[list[str]]


@dataclass(frozen=True, slots=True)
class Mail:
    """Subject and required context. `newsletter` is the title readers see."""

    subject: str
    needs: tuple[str, ...]


MAILS_BY_TEMPLATE: Mapping[str, Mail] = MappingProxyType(
    {
        "confirmation": Mail(
            gettext_noop("Confirm your subscription to %(newsletter)s"),
            ("newsletter", "confirm_url", "hours"),
        ),
        "confirm_several": Mail(
            gettext_noop("Confirm your subscriptions"), ("newsletters", "confirm_url", "hours")
        ),
        "already": Mail(gettext_noop("You already receive %(newsletter)s"), ("newsletter",)),
        # Pairs of title and manage link.
        "already_several": Mail(gettext_noop("You already receive these newsletters"), ("newsletters",)),
        "welcome": Mail(gettext_noop("Welcome to %(newsletter)s"), ("newsletter",)),
        "sign_in": Mail(gettext_noop("Sign-in link for %(newsletter)s"), ("sign_in_url", "minutes")),
        "password_reset": Mail(
            gettext_noop("Choose a new password for %(newsletter)s"), ("user_name", "reset_url", "minutes")
        ),
        "invitation": Mail(
            gettext_noop("You’re invited to read at %(newsletter)s"), ("invitation_url", "days")
        ),
        "team_invitation": Mail(
            gettext_noop("You’re invited to work at %(newsletter)s"), ("invitation_url", "days")
        ),
        "new_address": Mail(
            gettext_noop("Confirm your new address for %(newsletter)s"), ("change_url", "hours")
        ),
        "address_changed": Mail(
            gettext_noop("Your address at %(newsletter)s was changed"), ("undo_url", "days")
        ),
        "farewell": Mail(gettext_noop("You’re unsubscribed from %(newsletter)s"), ("newsletter",)),
        "test": Mail(gettext_noop("A test message from %(newsletter)s"), ()),
        "alert": Mail("%(subject)s", ("subject", "sentences")),
        # To the operator of another site's list, whose language is unknown.
        "leave_request": Mail("%(subject)s", ("subject", "address")),
    }
)


def render_mail(
    template: str,
    context: Mapping[str, Value],
    *,
    language: str = "en",
    params: Mapping[str, str] | None = None,
    theme: ThemeFacts = USUAL_THEME,
    site: SiteFacts = USUAL_SITE,
    own: TemplateSource | None = None,
) -> Rendered:
    """Render one of MAILS. Links missing from the context are the recipient's fields.

    Optional: `page_url`, `manage_url`, `unsubscribe_url`, `site_url` and `newsletter`, without which it is
    the site's mail. `own` is a custom template. Raises LetterError, also if a required value is missing.
    """
    engine.known(engine.MAIL_FOLDER, template)
    if template not in MAILS_BY_TEMPLATE:
        raise UnknownTemplate(f"There is no email “{template}”. There are: {', '.join(MAILS_BY_TEMPLATE)}.")
    mail, params = MAILS_BY_TEMPLATE[template], params or {}
    values = {"newsletter": site.name} | {name: _plain(name, value) for name, value in context.items()}
    lacking = [name for name in mail.needs if not values.get(name)]
    if lacking:
        raise LetterError(f"The email template “{template}” needs {', '.join(lacking)}.")
    language = spoken(language)
    with translation.override(language):
        subject = shortened(one_line(gettext(mail.subject) % values), LONGEST_SUBJECT)
        placeholders = Placeholders(params)
        branding = look(
            name=str(values["newsletter"]), language=language, params=params, theme=theme, site=site
        )
        plain = {**values, "newsletter": branding, "site": site, "subject": subject}
        drawn = engine.render_parts(f"{engine.MAIL_FOLDER}/{template}", plain, placeholders, own)
    return Rendered(
        title=subject,
        subject=drawn.subject or subject,
        html=drawn.html,
        text=drawn.text,
        placeholders=placeholders.used,
    )


def _plain(name: str, value: Value) -> str | int | tuple[Any, ...]:
    """Return one-line strings, numbers and tuples: templates see nothing else."""
    match value:
        case bool() | int():
            return value
        case str() if name in ("days", "hours", "minutes") and value.isdecimal():
            return int(value)
        case str() if name == "sentences":
            return tuple(filter(None, map(one_line, value.splitlines())))
        case str():
            return one_line(value)
        case list() | tuple():
            return tuple(
                _plain(name, each) if isinstance(each, list) else one_line(str(each)) for each in value
            )
    raise LetterError(f"An email’s context has text and numbers only, not {type(value).__name__}.")
