"""A newsletter's look: colours, logo and the words around its posts."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from common.admin.colour_input import ColourInput
from common.admin.html import add_url, button, facts, link_to, object_url
from common.admin.model_admin import ServiceAdmin
from common.body_limits import MAX_FORM_BYTES, takes_body
from common.pictures import MOST_BYTES
from common.ports.panels import Action, Panel
from delivery.admin.preview import letter_preview
from delivery.customisation import PICTURES, THEME_FIELDS, back_to_usual, facts_of, set_theme
from delivery.models import Theme
from delivery.rendering.facts import LETTER_WIDTH
from subscriptions.forms.pictures import PictureField
from subscriptions.models import Subscribable
from subscriptions.rules.colours import DEFAULT_ACCENT, PAPER

LINKS = "Addresses become links, and so does [words](https://…)."
SWATCH = (
    '<svg class="fl-swatch" width="14" height="14" aria-hidden="true">'
    '<rect width="14" height="14" fill="{}"/></svg> {}'
)

PICTURE = '<span class="fl-picture"><img src="{}" alt="" loading="lazy"></span>'


class ThemeForm(forms.ModelForm):  # type: ignore[type-arg]
    logo_picture = PictureField(
        label="Logo", help_text="A PNG, JPEG, WebP or GIF, twice as wide as below so that it is sharp."
    )
    logo_url = forms.URLField(
        label="Or its address",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"}),
        help_text="Of one that is on the web. An uploaded one wins over it.",
    )
    header_picture = PictureField(
        label="Picture",
        least_width=LETTER_WIDTH,
        help_text=f"As wide as the letter: {2 * LETTER_WIDTH:,} pixels are sharp, {LETTER_WIDTH} the least.",
    )
    header_picture_url = forms.URLField(
        label="Or its address",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"}),
    )

    class Meta:
        model = Theme
        fields = ("subscribable", *THEME_FIELDS, *PICTURES)
        widgets = {  # noqa: RUF012
            "subscribable": forms.HiddenInput(),
            "accent": ColourInput(DEFAULT_ACCENT),
            "background": ColourInput(PAPER),
            "header": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
            "footer": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
            "postal_address": UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        }
        help_texts = {  # noqa: RUF012
            "accent": "All colours of letters, pages and forms are made of it. Where it could not be read, by"
            " day or by night, a shade of it is used that can. Empty: the site's.",
            "background": "Behind the posts. A light one gives way to a dark one by night.",
            "logo_alt": "It then stands in place of the newsletter's name, and its words with images off."
            " Left empty, the logo is a mark above the name.",
            "logo_width": "In pixels, as it is shown; 552 fill the letter.",
            "header_picture_alt": "What is to be seen on it, for readers who see no pictures.",
            "header": f"A line or two above the posts. {LINKS}",
            "footer": f"A line or two below the posts. {LINKS}",
            "subject": "Such as {newsletter}: {title}. Also {first} (the first post's title), {count} and"
            " {date}; {upstream} is the subject of the old Feedletter. Empty: {title}.",
        }

    def _post_clean(self) -> None:
        """The service checks what is given."""


def look_of(subscribable: Subscribable) -> SafeString | str:
    """On a newsletter's page: what was chosen, and the way to change it. Nothing for a bridge."""
    if subscribable.channel != "email":
        return ""
    theme = Theme.objects.filter(subscribable=subscribable).first()
    if theme is None:
        return format_html(
            "<p>The usual look.</p>{}",
            button(add_url(Theme, subscribable=subscribable.pk), "Change the look"),
        )
    rows: list[tuple[str, Any]] = []
    chosen = facts_of(theme)
    for name in THEME_FIELDS:
        field, value = Theme._meta.get_field(name), getattr(chosen, name)
        # A logo has a width even where there is none.
        if value and (name != "logo_width" or chosen.logo_url):
            shown = value
            if name in ("accent", "background"):
                shown = format_html(SWATCH, value, value)
            elif name in PICTURES.values():
                shown = format_html(PICTURE, value)
            rows.append((str(getattr(field, "verbose_name", name)).capitalize(), shown))
    return format_html("{}{}", facts(rows), button(object_url(theme), "Change the look"))


def has_look(subscribable: Subscribable) -> bool:
    return Theme.objects.filter(subscribable=subscribable).exists()


def usual_look(request: HttpRequest, keys: list[int]) -> str:
    """The action of a newsletter's page."""
    back_to_usual(subscribables=keys)
    return "The usual look is back, from the next letter on."


def usual_again(request: HttpRequest, keys: list[int]) -> str:
    """The action of the look's own page."""
    return usual_look(request, list(Theme.objects.filter(pk__in=keys).values_list("subscribable", flat=True)))


USUAL_LOOK = Action("usual_look", "Back to the usual look", usual_look, fits=has_look)


@admin.register(Theme)
class ThemeAdmin(ServiceAdmin):
    form = ThemeForm
    list_display = ("newsletter", "accent", "background", "subject")
    list_select_related = ("subscribable",)
    search_fields = ("subscribable__name", "subscribable__title")
    shown_after_adding = True
    own_panels = (
        Panel("Whose look it is", lambda theme: link_to(theme.subscribable), order=10),
        Panel("Preview", lambda theme: letter_preview(theme.subscribable), order=30, is_beside=True),
    )
    own_actions = (Action("usual_look", "Back to the usual look", usual_again),)
    fieldsets = (
        (None, {"fields": ("subscribable", "accent", "background")}),
        ("Logo", {"fields": ("logo_picture", "logo_url", "logo_width", "logo_alt")}),
        ("Header picture", {"fields": ("header_picture", "header_picture_url", "header_picture_alt")}),
        ("Words", {"fields": ("subject", "header", "footer", "postal_address")}),
    )

    @takes_body(2 * MOST_BYTES + MAX_FORM_BYTES, files=True)
    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = super().change_view(request, *args, **kwargs)
        return answer

    @takes_body(2 * MOST_BYTES + MAX_FORM_BYTES, files=True)
    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """A newsletter has one look: where it is there already, that is the page."""
        asked = request.GET.get("subscribable", "")
        there = Theme.objects.filter(subscribable_id=int(asked)).first() if asked.isdecimal() else None
        return (
            HttpResponseRedirect(object_url(there)) if there else super().add_view(request, *args, **kwargs)
        )

    def save_model(self, request: HttpRequest, obj: Theme, form: Any, change: bool) -> None:
        values = dict(form.cleaned_data)
        subscribable = values.pop("subscribable")
        obj.pk = set_theme(subscribable=subscribable, **values).pk
        obj.refresh_from_db()

    def save_related(self, *args: Any) -> None:
        """There is nothing besides what the service saved."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        # Reached from a newsletter's page.
        return super().has_add_permission(request) and (
            "subscribable" in request.GET or request.method == "POST"
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # “Back to the usual look” says what it does.
        return False

    @admin.display(description="newsletter", ordering="subscribable__title")
    def newsletter(self, theme: Theme) -> str:
        return str(theme.subscribable)
