from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin.html import web_link
from common.admin.model_admin import ColourInput, ServiceAdmin
from common.admin.page_words import nobody_may
from common.body_limits import MAX_FORM_BYTES, takes_body
from common.parts import Code, Facts, Part, Template
from common.pictures.picture import MOST_CODED_BYTES
from common.ports import channels
from subscriptions.branding.brands import SITE_FIELDS, admin_zone, alter_site, site_settings
from subscriptions.forms.admin import ZoneField
from subscriptions.forms.pictures import PictureField
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.links import page_url
from subscriptions.models import SiteSettings, Subscribable
from subscriptions.models.list_import import ONLY
from subscriptions.rules.colours import DEFAULT_ACCENT
from subscriptions.rules.embed_hosts import WILD, sites
from subscriptions.rules.site import MOST_LOGO_HEIGHT
from subscriptions.subscribers.sign_up import is_by_code, is_open

WIDGET = "feedletter/widget.js"


def put_on_your_site(subscribable: Subscribable) -> Part:
    if not channels.get(subscribable.channel).public_sign_up:
        return ""
    url = page_url(subscribable)
    if not url:
        return "It’s private, so it has no page and only you can add subscribers."
    if not is_open(subscribable):
        return Facts(("Its page", web_link(url)), ("Sign-up", "Closed. Only you can add subscribers."))
    if is_by_code(subscribable):
        words = "Subscribers enter their number there, then a code. Put a link to it on your site:"
        link_there = Code(link(subscribable, url), is_copied=True)
        return (Facts(("Its page", web_link(url)), ("How", words)), link_there)
    context = {
        "url": url,
        "sites": [str(site) for site in sites(subscribable.embed_hosts)],
        "widget": widget(subscribable, url),
        "form": form(subscribable, url),
        "return_to": return_to(subscribable),
        "link": link(subscribable, url),
        "preview": reverse("subscriptions:embed", args=[subscribable.name]),
    }
    return Template("admin/subscriptions/put_on_your_site.html", context)


def widget(subscribable: Subscribable, url: str) -> SafeString:
    """The script's URL has no hash: other sites keep it for years."""
    script = f"{settings.SITE_URL}{settings.STATIC_URL}{WIDGET}"
    return format_html(
        '<a href="{}" data-feedletter>{}</a>\n<script async src="{}"></script>',
        url,
        _subscribe_to(subscribable),
        script,
    )


def form(subscribable: Subscribable, url: str) -> SafeString:
    """Return a form without script. Its text is the proof of consent."""
    with translation.override(subscribable.language or None):
        asks = SignUpForm(subscribables=[subscribable])
        label, note = str(asks.fields["email"].label), asks.note
    return format_html(
        '<form method="post" action="{}subscribe/">\n'
        '  <label>{} <input type="email" name="email" autocomplete="email" required></label>\n'
        '  <button type="submit">{}</button>\n'
        "  <p>{}</p>\n"
        "</form>",
        url,
        label,
        _subscribe_to(subscribable),
        note,
    )


def return_to(subscribable: Subscribable) -> SafeString:
    hosts = [str(site).removeprefix(WILD) for site in sites(subscribable.embed_hosts)]
    address = f"https://{hosts[0] if hosts else 'blog.example.org'}/thanks/"
    return format_html('<input type="hidden" name="return_to" value="{}">', address)


def link(subscribable: Subscribable, url: str) -> SafeString:
    return format_html('<a href="{}">{}</a>', url, _subscribe_to(subscribable))


def _subscribe_to(subscribable: Subscribable) -> str:
    with translation.override(subscribable.language or None):
        return SignUpForm(subscribables=[subscribable]).button


def _page_field(label: str, told: str) -> forms.URLField:
    widget = UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"})
    return forms.URLField(
        label=label, required=False, max_length=500, assume_scheme="https", widget=widget, help_text=told
    )


class SiteForm(forms.ModelForm):  # type: ignore[type-arg]
    logo = PictureField(
        help_text=f"A PNG, JPEG, WebP or GIF. Shown {MOST_LOGO_HEIGHT} pixels high; twice that is sharp."
    )
    time_zone = ZoneField(
        required=False,
        help_text="For dates in this admin and in emails to its users. Newsletters have their own.",
    )
    imprint_url = _page_field(
        "Imprint", "A page that says who runs the site. Many countries require this link in every email."
    )
    privacy_url = _page_field("Privacy", "A page that says what you do with subscribers’ data.")

    class Meta:
        model = SiteSettings
        fields = SITE_FIELDS
        widgets = {"accent": ColourInput(DEFAULT_ACCENT)}  # noqa: RUF012
        help_texts = {  # noqa: RUF012
            "name": "Shown above the list of newsletters, in the subject of sign-in emails, and at the"
            " foot of pages and emails, for example Harbour News. If empty, your domain is shown.",
            "about": "A sentence under the name, above the list of newsletters.",
            "logo_says_name": "If set, the logo replaces the name.",
            "accent": "Sets the colour of links and buttons in pages and emails."
            " A newsletter may have its own.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["time_zone"] = str(admin_zone())

    def _post_clean(self) -> None:
        """The service validates."""


@admin.register(SiteSettings)
class SiteSettingsAdmin(ServiceAdmin):
    form = SiteForm
    has_add_permission = nobody_may
    fieldsets = (
        (None, {"fields": ("name", "about", "time_zone")}),
        ("Look", {"fields": ("logo", "logo_says_name", "accent")}),
        ("At the foot of pages and emails", {"fields": ("imprint_url", "privacy_url")}),
    )

    @takes_body(MOST_CODED_BYTES + MAX_FORM_BYTES, files=True)
    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = super().change_view(request, *args, **kwargs)
        return answer

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return HttpResponseRedirect(self.page_url(ONLY))

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> SiteSettings | None:
        """The row may be unsaved."""
        return site_settings() if object_id == str(ONLY) else None

    def save_model(self, request: HttpRequest, obj: SiteSettings, form: Any, change: bool) -> None:
        alter_site(**form.cleaned_data)

    def response_post_save_change(self, request: HttpRequest, obj: SiteSettings) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.page_url(ONLY))
