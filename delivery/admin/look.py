"""Form of a newsletter's look, with a live preview."""

from base64 import b64encode
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, fields, replace
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.forms.models import fields_for_model
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.html import format_html
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.model_admin import ColourInput
from common.admin.refusals import add_refusal, require
from common.clock import utcnow
from common.parts import Part, Template
from common.pictures.picture import CleanPicture
from common.ports.panels import Action, TabForm
from delivery.customisation import PICTURES, THEME_FIELDS, back_to_usual, check_theme, set_theme, theme_of
from delivery.letters.samples import is_collecting
from delivery.letters.templates import Preview, preview_next
from delivery.models import Theme
from delivery.rendering.facts import LETTER_WIDTH, ThemeFacts
from delivery.views.preview import as_json, frames
from subscriptions.branding.brands import picture_url, site_facts
from subscriptions.forms.admin import SubscribableForm, stored_fields, subscribable_form
from subscriptions.forms.pictures import PictureField
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from subscriptions.rules.colours import PAPER, as_hex

TAB = "look"
COLLECTED = "The next issue, as it would be sent now."
NOTHING_COLLECTED = "The next issue is still empty, so this shows the newest posts."
MADE_UP = "Its feeds have no posts yet, so this shows sample posts."
OTHERS = ("template", "language", "params")
LINKS = "Addresses become links. So does [text](https://…)."
# Sent in place of a chosen but unsaved picture, which the browser inserts itself.
CHOSEN = "_chosen"
LOOK_HELP = {
    "style": "Fonts and masthead. Each works in dark mode, on phones and with images off.",
    "accent": "Sets the colour of links and buttons. If it’s hard to read, we use the closest readable shade."
    " Empty: the site’s colour.",
    "background": "Page background. Dark mode uses a dark colour instead.",
    "logo_alt": "Alt text. If set, the logo replaces the newsletter’s name.",
    "logo_width": f"In pixels. {LETTER_WIDTH} is the full width.",
    "header_picture_alt": "Alt text, for people who see no pictures.",
    "header": f"A line or two above the posts. {LINKS}",
    "footer": f"A line or two below the posts. {LINKS}",
    "subject": "Such as {newsletter}: {title}. Also {first} (the first post’s title), {count} and {date}."
    " {upstream} is the old Feedletter’s subject. Empty: {title}.",
}
FIELDSETS = (
    ("Style", {"fields": ("style",)}),
    ("Colours", {"fields": ("accent", "background")}),
    ("Logo", {"fields": ("logo_picture", "logo_url", "logo_width", "logo_alt")}),
    ("Header picture", {"fields": ("header_picture", "header_picture_url", "header_picture_alt")}),
    ("Text", {"fields": ("subject", "header", "footer", "postal_address")}),
    ("Template and language", {"fields": OTHERS}),
)
NO_FEEDS = "Choose a feed to see an email with its posts."


class Presets(UnfoldAdminRadioSelectWidget):  # type: ignore[misc]
    """Radio buttons with a drawing of each style."""

    def create_option(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option: dict[str, Any] = super().create_option(*args, **kwargs)
        option["label"] = format_html(
            '<span class="fl-preset fl-preset-{}" aria-hidden="true"><i class="fl-preset-photo"></i>'
            "<b>Aa</b><i></i><i></i><i></i></span> {}",
            option["value"],
            option["label"],
        )
        return option


def theme_form_fields() -> dict[str, forms.Field]:
    lines = dict.fromkeys(("header", "footer", "postal_address"), 3)
    texts = {name: UnfoldAdminTextInputWidget() for name in ("logo_alt", "header_picture_alt", "subject")}
    widgets = texts | {name: UnfoldAdminTextareaWidget(attrs={"rows": rows}) for name, rows in lines.items()}
    widgets |= {"background": ColourInput(PAPER), "logo_width": UnfoldAdminIntegerFieldWidget()}
    widgets["style"] = Presets(radio_style=1)
    made: dict[str, forms.Field] = fields_for_model(
        Theme, fields=(*LOOK_HELP, "postal_address"), widgets=widgets, help_texts=LOOK_HELP
    )
    pictures = {
        "logo_picture": PictureField(
            label="Logo", help_text="PNG, JPEG, WebP or GIF, twice as wide as set below to be sharp."
        ),
        "header_picture": PictureField(
            label="Picture",
            least_width=LETTER_WIDTH,
            help_text=f"At least {LETTER_WIDTH} pixels wide; {2 * LETTER_WIDTH:,} are sharp.",
        ),
    }
    addresses = {
        name: forms.URLField(
            label="Or image URL",
            required=False,
            max_length=500,
            assume_scheme="https",
            widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"}),
            help_text="Ignored if you upload a file.",
        )
        for name in PICTURES.values()
    }
    return {**made, **pictures, **addresses}


class LookFields(SubscribableForm):
    """Fields of the newsletter; `LookForm` adds the theme's."""

    channel = None  # type: ignore[assignment]
    time_zone = None  # type: ignore[assignment]
    at = None  # type: ignore[assignment]

    class Meta(SubscribableForm.Meta):
        fields = OTHERS
        exclude = ()  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        row = Theme.objects.filter(subscribable=self.instance).first()
        self.theme = row or Theme(subscribable=self.instance)
        for name in (*THEME_FIELDS, *PICTURES):
            self.initial[name] = getattr(self.theme, f"{name}_id" if name in PICTURES else name)
        if "accent" in self.fields:
            own = self.instance.params.get("accent", "")
            self.fields["accent"].widget = ColourInput(as_hex(own or site_facts().accent))

    def _post_clean(self) -> None:
        super()._post_clean()
        theme = copy(self.theme)
        for name in set(THEME_FIELDS) & set(self.cleaned_data):
            setattr(theme, name, self.cleaned_data[name])
        try:
            check_theme(theme)
        except ValidationError as error:
            add_refusal(self, error)


LookForm = type("LookForm", (LookFields,), theme_form_fields())


def look_fieldsets(newsletter: Subscribable) -> Any:
    """A bridge sends no letters, so it has no theme."""
    return FIELDSETS if newsletter.channel == "email" else (("", {"fields": OTHERS}),)


@transaction.atomic
def save_look(newsletter: Subscribable, data: dict[str, Any]) -> None:
    alter_subscribable(subscribable=newsletter, **{name: data.pop(name) for name in OTHERS})
    usual = Theme()
    is_usual = all((value or None) == (getattr(usual, name) or None) for name, value in data.items())
    if not is_usual or has_look(newsletter):
        set_theme(subscribable=newsletter, **data)


LOOK_FORM = TabForm(
    TAB, LookForm, look_fieldsets, save_look, tries=lambda newsletter: newsletter.channel == "email"
)


@dataclass(frozen=True, slots=True)
class LookDraft:
    """Look being typed. Invalid fields keep their saved values; `errors` say so.

    `pictures` are chosen but unsaved: field → address in the letter; `data` has the contents of uploaded
    ones.
    """

    newsletter: Subscribable
    theme: ThemeFacts
    errors: str = ""
    pictures: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)


def drafted(newsletter: Subscribable, request: HttpRequest) -> LookDraft:
    """Return what was posted, or else the saved look."""
    if request.method != "POST":
        return LookDraft(newsletter, theme_of(newsletter))
    form: Any = LookForm(request.POST, request.FILES, instance=copy(newsletter))
    errors, given = errors_in_words(form, "Look"), form.cleaned_data
    values = {each.name: given.get(each.name, getattr(form.theme, each.name)) for each in fields(ThemeFacts)}
    pictures, data = {}, {}
    for name, address in PICTURES.items():
        choice = given.get(name)
        if isinstance(choice, CleanPicture) or request.POST.get(name + CHOSEN):
            # No picture has this address.
            values[address] = pictures[name] = f"{settings.SITE_URL}/pictures/{name}{CHOSEN}"
            if isinstance(choice, CleanPicture):
                octets = b64encode(choice.data).decode("ascii")
                data[name] = f"data:{choice.media_type};base64,{octets}"
        elif isinstance(choice, str) and choice:
            values[address] = picture_url(choice)
    return LookDraft(form.instance, ThemeFacts(**values), errors, pictures, data)


def shown_look(draft: LookDraft) -> tuple[Preview, str]:
    """Return the letter with this look, and a message."""
    now = utcnow()
    shown = preview_next(subscribable=draft.newsletter, theme=draft.theme, now=now)
    for name, octets in draft.data.items():
        shown = replace(shown, html=shown.html.replace(draft.pictures[name], octets))
    if draft.errors:
        said = f"{draft.errors} The preview shows the saved value."
    elif shown.is_made_up:
        said = MADE_UP
    else:
        said = COLLECTED if is_collecting(draft.newsletter, now=now) else NOTHING_COLLECTED
    return shown, said


def look_preview(newsletter: Subscribable, request: HttpRequest) -> Part:
    """Return the panel beside the form; "" for a bridge."""
    if newsletter.channel != "email":
        return ""
    draft = drafted(newsletter, request)
    shown, said = shown_look(draft)
    may_edit = request.user.has_perm("subscriptions.change_subscribable")
    context = {
        "show_url": reverse("admin:delivery_look_show", args=[newsletter.name]) if may_edit else "",
        "shown": shown,
        "frames": frames(shown, newsletter),
        "said": said,
        "is_lost": bool(draft.data),
    }
    return Template("admin/delivery/look.html", context)


def look_view(request: HttpRequest, newsletter: str) -> HttpResponse:
    """Return the live preview as JSON."""
    require(request.user.has_perm("subscriptions.change_subscribable"))
    found = get_object_or_404(Subscribable, name=newsletter, channel="email")
    draft = drafted(found, request)
    shown, said = shown_look(draft)
    return JsonResponse({**as_json(shown, found, said), "pictures": draft.pictures})


def has_look(newsletter: Subscribable) -> bool:
    return Theme.objects.filter(subscribable=newsletter).exists()


def usual_look(request: HttpRequest, keys: list[int]) -> str:
    back_to_usual(subscribables=keys)
    return "The look was reset."


USUAL_LOOK = Action("usual_look", "Reset the look", usual_look, fits=has_look, is_rare=True, tab=TAB)


def new_preview(_newsletter: None, request: HttpRequest) -> Part:
    """Return the panel, which the script fills."""
    context = {
        "show_url": reverse("admin:delivery_new_show"),
        "shown": Preview(),
        "frames": {"day": "", "night": ""},
        "said": "",
        "is_new": True,
    }
    return Template("admin/delivery/look.html", context)


def new_newsletter_view(request: HttpRequest) -> HttpResponse:
    """Return the preview as JSON."""
    require(request.user.has_perm("subscriptions.add_subscribable"))
    form: Any = subscribable_form()(request.POST, instance=Subscribable())
    if not form.is_valid():
        note = NO_FEEDS if "feeds" in form.errors else errors_in_words(form, "Newsletter")
        return JsonResponse({"note": note, "pictures": {}, "waits": True})
    try:
        # Create it, show its next issue, and roll back.
        with transaction.atomic():
            newsletter = define_subscribable(feeds=list(form.cleaned_data["feeds"]), **stored_fields(form))
            shown = preview_next(subscribable=newsletter, theme=theme_of(newsletter), now=utcnow())
            answer = as_json(shown, newsletter, MADE_UP if shown.is_made_up else "")
            transaction.set_rollback(True)
    except ValidationError as error:
        answer = {"note": " ".join(error.messages), "waits": True}
    return JsonResponse({**answer, "pictures": {}})


def errors_in_words(form: Any, otherwise: str) -> str:
    """Return the errors after the labels of their fields, or after `otherwise`."""
    return " ".join(
        f"{form.fields[name].label if name in form.fields else otherwise}: {' '.join(errors)}"
        for name, errors in form.errors.items()
    )
