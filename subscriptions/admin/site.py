"""The site's own settings: one page, without a list in front of it."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin.colour_input import ColourInput
from common.admin.model_admin import ServiceAdmin
from common.body_limits import MAX_FORM_BYTES, takes_body
from common.pictures.picture import MOST_BYTES
from subscriptions.branding.site import SITE_FIELDS, alter_site, site_settings
from subscriptions.forms.pictures import PictureField
from subscriptions.models import SiteSettings
from subscriptions.models.site import ONLY
from subscriptions.rules.colours import DEFAULT_ACCENT
from subscriptions.rules.site import MOST_LOGO_HEIGHT


class SiteForm(forms.ModelForm):  # type: ignore[type-arg]
    logo = PictureField(
        help_text=f"A PNG, JPEG, WebP or GIF. Shown {MOST_LOGO_HEIGHT} pixels high; twice that is sharp."
    )
    imprint_url = forms.URLField(
        label="Imprint",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"}),
        help_text="Who is behind it. Many countries want this link in every mail.",
    )
    privacy_url = forms.URLField(
        label="Privacy",
        required=False,
        max_length=500,
        assume_scheme="https",
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"}),
        help_text="What is done with readers' data.",
    )

    class Meta:
        model = SiteSettings
        fields = SITE_FIELDS
        widgets = {"accent": ColourInput(DEFAULT_ACCENT)}  # noqa: RUF012
        help_texts = {  # noqa: RUF012
            "name": "What readers know the whole by, such as Harbour News: above the list of newsletters, in"
            " the subject of sign-in mails, at the foot of pages and letters. Empty: your domain.",
            "about": "A sentence under the name, above the list of newsletters.",
            "logo_says_name": "Then the name does not stand beside the logo once more.",
            "accent": "All colours of pages and letters are made of it, readable by day and by night."
            " A newsletter may have its own.",
        }

    def _post_clean(self) -> None:
        """The service checks what is given."""


@admin.register(SiteSettings)
class SiteSettingsAdmin(ServiceAdmin):
    form = SiteForm
    fieldsets = (
        (None, {"fields": ("name", "about")}),
        ("Look", {"fields": ("logo", "logo_says_name", "accent")}),
        ("At the foot of pages and letters", {"fields": ("imprint_url", "privacy_url")}),
    )

    @takes_body(MOST_BYTES + MAX_FORM_BYTES, files=True)
    def change_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer: HttpResponse = super().change_view(request, *args, **kwargs)
        return answer

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one row, so its page is the list."""
        return HttpResponseRedirect(self.page_url(ONLY))

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> SiteSettings | None:
        """The row, which nobody may have saved so far."""
        return site_settings() if object_id == str(ONLY) else None

    def save_model(self, request: HttpRequest, obj: SiteSettings, form: Any, change: bool) -> None:
        alter_site(**form.cleaned_data)

    def response_post_save_change(self, request: HttpRequest, obj: SiteSettings) -> HttpResponseRedirect:
        return HttpResponseRedirect(self.page_url(ONLY))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
