"""What a newsletter's page says about its mails and pages."""

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from common.admin.html import ADMIN_LINK, html_table, listed, when
from common.clock import utcnow
from delivery.letters.preview import preview
from delivery.letters.templates import KnownTemplate, known_templates
from delivery.models import LetterTemplate
from subscriptions.models import Subscribable


def letters(subscribable: Subscribable) -> SafeString | str:
    """Every mail and page, and whether its template is the newsletter's own; nothing for a bridge."""
    if subscribable.channel != "email":
        return ""
    own = {row.name: row for row in LetterTemplate.objects.filter(subscribable=subscribable, is_current=True)}
    return html_table(
        ("mail or page", "template", "changed", "by", ""),
        (_row(subscribable, known, own.get(known.name)) for known in known_templates()),
    )


def page_of(subscribable: Subscribable, name: str, *, edit: bool = False) -> str:
    """The address of a mail's page in the admin."""
    view = "edit" if edit else "preview"
    folder, _, template = name.partition("/")
    return reverse(f"admin:delivery_lettertemplate_{view}", args=[subscribable.name, folder, template])


def _row(subscribable: Subscribable, known: KnownTemplate, own: LetterTemplate | None) -> tuple[object, ...]:
    title = format_html('{}<span class="fl-note">{}</span>', known.title, known.about)
    links = listed(
        (
            format_html(ADMIN_LINK, page_of(subscribable, known.name), "Preview"),
            format_html(ADMIN_LINK, page_of(subscribable, known.name, edit=True), "Edit"),
        )
    )
    if own is None:
        return title, "default", "", "", links
    said = f"own, version {own.version}"
    # It rendered when it was saved; a parameter may have gone since.
    if problem := preview(subscribable=subscribable, name=own.name, now=utcnow()).problem:
        said = format_html('{}<span class="fl-note fl-wrong">It does not render. {}</span>', said, problem)
    return title, said, when(own.created_at), own.author, links
