"""Lists in and out: the buttons above the list of subscribers, and the pages behind them."""

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from common.admin.csv_files import as_csv
from common.admin.html import list_url, object_url
from common.body_limits import MAX_FORM_BYTES, MEGABYTE, takes_body
from common.clock import utcnow
from common.ports import channels as kinds
from subscriptions.lists.export import export_subscribers
from subscriptions.lists.reading import Terms
from subscriptions.lists.uploads import PIECE_SIZE, upload
from subscriptions.models import ListImport, Subscribable, Subscription
from subscriptions.subscribers.consent import LONGEST_WORDS

MOST_BYTES = 200 * MEGABYTE
STATUS_CHOICES = (
    ("unconfirmed", "have not confirmed: they get nothing until they do"),
    ("confirmed", "have agreed to get this newsletter, and I can prove it"),
    ("unsubscribed", "have left: they get nothing, and no later list brings them back"),
    ("suppressed", "must not be written to at all"),
)


def with_lists() -> "QuerySet[Subscribable]":
    """All newsletters by e-mail: bridges and phone numbers have no list."""
    channels = [kind.key for kind in kinds.person_kinds() if not (kind.is_by_code or kind.is_companion)]
    return Subscribable.objects.filter(channel__in=channels).order_by("name")


class UploadForm(forms.Form):
    newsletter = forms.ModelChoiceField(
        queryset=Subscribable.objects.none(), widget=UnfoldAdminSelectWidget(), empty_label=None
    )
    file = forms.FileField(
        label="CSV file",
        help_text="At most 200 MB. Nothing is changed before you have seen what it would do.",
        error_messages={"required": "Choose the file.", "empty": "The file is empty."},
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.tsv,.txt,text/csv,text/plain"}),
    )
    status = forms.ChoiceField(
        label="Lines without a status are people who",
        choices=STATUS_CHOICES,
        widget=UnfoldAdminSelectWidget(),
        help_text="Where the file itself says it of a line, that counts.",
    )
    words = forms.CharField(
        label="How they agreed",
        required=False,
        max_length=LONGEST_WORDS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept with each as the proof, such as: “Signed up on example.org with double opt-in, taken"
        " over from Mailchimp in 2026.” Where the file has words of its own for a line, those are kept.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["newsletter"]
        field.queryset = with_lists()

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise ValidationError(
                f"It has {file.size // MEGABYTE:,} MB, and at most {MOST_BYTES // MEGABYTE} are taken. "
                "Split it, or import it with the command import_subscribers."
            )
        return file


class ListPages:
    """A mixin for SubscriptionAdmin."""

    actions_list = ("import_list", "export_list")

    @takes_body(MOST_BYTES + MAX_FORM_BYTES, files=True)
    @action(description="Import a list", url_path="import", icon="upload", permissions=["add"])
    def import_list(self: Any, request: HttpRequest) -> HttpResponse:
        chosen = {"newsletter": request.GET.get("newsletter")}
        form = UploadForm(request.POST or None, request.FILES or None, initial=chosen)
        if request.method == "POST" and form.is_valid():
            row = take_in(request, form)
            return HttpResponseRedirect(object_url(row))
        running = ListImport.objects.select_related("subscribable")[:5]
        return _page(self, request, "import_file.html", "Import a list", form=form, running=running)

    @action(description="Export a list", url_path="export", icon="download", permissions=["view"])
    def export_list(self: Any, request: HttpRequest) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = with_lists()
        asked = request.GET.get("newsletter", "")
        chosen = rows.filter(pk=asked).first() if asked.isdecimal() and len(asked) < 19 else None
        if chosen is not None:
            return download(chosen)
        confirmed = Count("subscriptions", filter=Q(subscriptions__status="confirmed"))
        counted = rows.annotate(every=Count("subscriptions"), confirmed=confirmed)
        return _page(self, request, "export.html", "Export a list", newsletters=counted)


def take_in(request: HttpRequest, form: UploadForm) -> ListImport:
    data = form.cleaned_data
    return upload(
        subscribable=data["newsletter"],
        name=data["file"].name,
        pieces=data["file"].chunks(PIECE_SIZE),
        terms=Terms(data["status"], data["words"].strip()),
        by=request.user.get_username(),
        now=utcnow(),
    )


def export_url(subscribable: Subscribable) -> str:
    return f"{reverse('admin:subscriptions_subscription_export_list')}?newsletter={subscribable.pk}"


def import_url(subscribable: Subscribable) -> str:
    return f"{reverse('admin:subscriptions_subscription_import_list')}?newsletter={subscribable.pk}"


def download(subscribable: Subscribable) -> StreamingHttpResponse:
    """The whole list, a piece at a time."""
    name = f"{subscribable.name}-{timezone.localdate():%Y-%m-%d}.csv"
    return as_csv(export_subscribers(subscribable=subscribable), name)


def _page(model_admin: Any, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    shared = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "opts": model_admin.opts,
        "media": model_admin.media,
        "back": list_url(Subscription),
        "imports": list_url(ListImport),
    }
    return TemplateResponse(request, f"admin/subscriptions/{template}", {**shared, **context})
