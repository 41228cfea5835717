"""Services own the transactions."""

from collections.abc import Callable, Mapping, Sequence
from functools import partialmethod
from typing import Any, ClassVar

from django import forms
from django.contrib.admin import ModelAdmin as DjangoModelAdmin
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.auth import get_permission_codename
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold import widgets
from unfold.views import ChangeList

from common.access import newsletters_of
from common.admin.html import block, inline, may_open, page
from common.admin.page_words import PageWords, nobody_may
from common.admin.refusals import REFUSALS, RefusedForm, report
from common.ports import panels

# By Django's usual widget of a field.
STYLED: Mapping[type[forms.Widget], Callable[[], Any]] = {
    forms.TextInput: widgets.UnfoldAdminTextInputWidget,
    forms.URLInput: widgets.UnfoldAdminTextInputWidget,
    forms.EmailInput: widgets.UnfoldAdminEmailInputWidget,
    forms.NumberInput: widgets.UnfoldAdminIntegerFieldWidget,
    forms.Select: widgets.UnfoldAdminSelectWidget,
    forms.SelectMultiple: widgets.UnfoldAdminCheckboxSelectMultipleWidget,
    forms.CheckboxInput: widgets.UnfoldBooleanSwitchWidget,
}
PREFIX = "with"
TRY = "_preview"


def runner(action: panels.Action) -> Callable[..., HttpResponse | None]:
    """Return an admin action that first asks for confirmation or input, if needed."""

    def run(modeladmin: Any, request: HttpRequest, queryset: "QuerySet[Any]") -> HttpResponse | None:
        keys = list(queryset.values_list("pk", flat=True))
        is_asked = "confirmed" in request.POST
        form = None
        if action.form is not None:
            form = action.form(keys, data=request.POST if is_asked else None, prefix=PREFIX)
        asks = action.confirm is not None or form is not None
        if asks and not (is_asked and (form is None or form.is_valid())):
            sentences = action.confirm(keys) if action.confirm else ()
            return _ask(modeladmin, request, action, sentences, form)
        answers = form.cleaned_data if form is not None else {}
        report(request, lambda: action.run(request, keys, **answers))
        return None

    return run


def _ask(
    modeladmin: Any,
    request: HttpRequest,
    action: panels.Action,
    sentences: Sequence[str],
    form: BaseForm | None,
) -> HttpResponse:
    posted = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in ("csrfmiddlewaretoken", "confirmed") and not name.startswith(f"{PREFIX}-")
    ]
    key = request.POST.get("_on_page", "")
    context = {
        "title": action.title,
        "opts": modeladmin.opts,
        "sentences": sentences,
        "posted": posted,
        "form": form,
        "is_dangerous": action.is_dangerous,
        "back": modeladmin.page_url(key) if key else request.get_full_path(),
    }
    return page(request, "admin/confirm_action.html", context)


class TriedForm(BaseForm):
    """Form that shows its errors and is never saved."""

    def is_valid(self) -> bool:
        super().is_valid()
        return False


class OwnTransactions(DjangoModelAdmin):  # type: ignore[type-arg]
    """Form page without Django's transaction, because services call servers before theirs."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # AdminSite.admin_view makes the CSRF check.
        answer: HttpResponse = self._changeform_view(request, *args, **kwargs)  # type: ignore[attr-defined]
        return answer


class LookedUpList(ChangeList):  # type: ignore[misc]
    model_admin: "ServiceAdmin"

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.model_admin.look_up(list(self.result_list))
        self.lists_beside = self.model_admin.shown_beside(request)


class ServiceAdmin(PageWords, OwnTransactions):
    """Services make the changes, and refusals appear at the fields they name."""

    compressed_fields = True
    list_filter_submit = True
    show_full_result_count = False
    # A row takes 5 KB of HTML.
    list_per_page = 40
    list_before_template = "admin/list_before.html"
    change_form_after_template = "admin/try.html"
    change_form_outer_before_template = "admin/panels_first.html"
    change_form_outer_after_template = "admin/panels_last.html"
    own_panels: Sequence[panels.Panel] = ()
    tabs: Sequence[panels.Tab] = ()
    # Former names of tabs, in old links.
    former_tabs: ClassVar[Mapping[str, str]] = {}
    own_actions: Sequence[panels.Action] = ()
    # Titles and names of lists that share a tab, such as ("Bounces", "delivery_bounce").
    beside: Sequence[tuple[str, str]] = ()
    # Where columns of later apps are inserted, instead of appended.
    columns_before = ""
    shown_after_adding = False

    @property
    def label(self) -> str:
        return str(self.model._meta.label)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except REFUSALS as error:
            request.refusal = error  # type: ignore[attr-defined]
            return super().changeform_view(request, *args, **kwargs)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        own = list(super().get_list_display(request))
        place = own.index(self.columns_before) if self.columns_before else len(own)
        later = [shown_column(column) for column in panels.added(self.label, panels.Column)]
        return [*own[:place], *later, *own[place:]]

    def look_up(self, rows: Sequence[Any]) -> None:
        """Add the columns of later apps, with one query each."""
        later = {column.name: column.of_rows(rows) for column in panels.added(self.label, panels.Column)}
        for row in rows:
            row.columns = {name: values.get(row.pk, "") for name, values in later.items()}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LookedUpList

    def shown_beside(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return titles and addresses of the lists in this tab that the user may see, if several."""
        urls = ((title, reverse(f"admin:{name}_changelist")) for title, name in self.beside)
        lists = [each for each in urls if may_open(each[1])]
        return lists if len(lists) > 1 else []

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if refusal := getattr(request, "refusal", None):
            form = type(form.__name__, (RefusedForm, form), {"refusal": refusal})
        return type(form.__name__, (TriedForm, form), {}) if TRY in request.POST else form

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        obj = context.get("original")
        if obj is None and not context.get("is_popup"):
            news = (each for each in panels.added(self.label, panels.Panel) if each.is_new)
            context["panels_last"] = [(each, block(each.render(None, request))) for each in news]
        elif obj is not None and not context.get("is_popup"):
            tab = self.tab(request, obj)
            if tab and not self.get_fieldsets(request, obj):
                context["show_save"] = False
            context["tabs"] = [
                (each.title, f"{request.path}?tab={each.name}", each.name == tab)
                for each in self.shown_tabs(request)
            ]
            own = self.tab_form(request, obj)
            context["tries"] = own is not None and own.tries(obj) and self.has_change_permission(request, obj)
            shown = self.shown_panels(obj, request, tab)
            context["panels_first"] = [each for each in shown if each[0].order < panels.FORM_ORDER]
            context["panels_last"] = [each for each in shown if each[0].order >= panels.FORM_ORDER]
            here = (each for each in self.allowed(request) if each.tab in (None, tab))
            fitting = (each for each in here if each.fits is None or each.fits(obj))
            context["form_beside"] = self.form_beside(request, obj)
            actions = sorted(fitting, key=lambda action: action.is_dangerous)
            context["page_actions"] = [each for each in actions if not (each.is_rare or each.is_dangerous)]
            context["rare_actions"] = [each for each in actions if each.is_rare or each.is_dangerous]
        return super().render_change_form(request, context, *args, **kwargs)

    def form_beside(self, request: HttpRequest, obj: Any) -> str:
        """Return the id of a panel's form that actions submit too."""
        return ""

    def shown_tabs(self, request: HttpRequest) -> Sequence[panels.Tab]:
        return self.tabs

    def tab(self, request: HttpRequest, obj: Model | None) -> str:
        """Return "" without tabs, and for a POST that names none."""
        names = [each.name for each in self.shown_tabs(request)] if obj is not None else []
        asked = request.GET.get("tab", "")
        asked = self.former_tabs.get(asked, asked)
        if asked in names or not names:
            return asked if names else ""
        return "" if request.method == "POST" else names[0]

    def tab_form(self, request: HttpRequest, obj: Model | None) -> panels.TabForm | None:
        tab = self.tab(request, obj)
        forms = panels.added(self.label, panels.TabForm)
        return next((each for each in forms if tab and each.tab == tab), None)

    def shown_panels(self, obj: Model, request: HttpRequest, tab: str) -> list[tuple[panels.Panel, str]]:
        later = [each for each in panels.added(self.label, panels.Panel) if not each.is_new]
        is_limited = newsletters_of(request.user) is not None
        rows = (each for each in (*self.own_panels, *later) if not (each.is_shared and is_limited))
        every = sorted(rows, key=lambda panel: panel.order)
        if tab:
            every = [panel for panel in every if (panel.tab or self.tabs[0].name) == tab]
        parts = ((each, each.render(obj, request) if each.asks else each.render(obj)) for each in every)
        return [(panel, html) for panel, part in parts if (html := block(part))]

    def allowed(self, request: HttpRequest) -> list[panels.Action]:
        every = (*self.own_actions, *panels.added(self.label, panels.Action))
        return [action for action in every if self.may(request, action)]

    def may(self, request: HttpRequest, action: panels.Action) -> bool:
        return bool(getattr(self, f"has_{action.permission}_permission")(request))

    def _has(self, request: HttpRequest, permission: str) -> bool:
        codename = get_permission_codename(permission, self.opts)
        return request.user.has_perm(f"{self.opts.app_label}.{codename}")

    has_act_permission = partialmethod(_has, permission="change")
    has_draft_permission = partialmethod(_has, permission="draft")
    has_pause_permission = partialmethod(_has, permission="pause")
    has_drop_permission = partialmethod(_has, permission="delete")
    # Actions delete, because they first name what is deleted too.
    has_delete_permission = nobody_may

    def has_everywhere_permission(self, request: HttpRequest) -> bool:
        """For actions that concern other newsletters, too."""
        return self.has_act_permission(request) and newsletters_of(request.user) is None

    def get_actions(self, request: HttpRequest) -> Any:
        actions: dict[str, Any] = super().get_actions(request)
        for action in self.allowed(request) if IS_POPUP_VAR not in request.GET else ():
            actions[action.name] = (runner(action), action.name, action.title)
        return actions

    def response_action(
        self, request: HttpRequest, queryset: "QuerySet[Any]", *args: Any
    ) -> HttpResponse | None:
        answer: HttpResponse | None = super().response_action(request, queryset, *args)
        key = request.POST.get("_on_page", "")
        if key and isinstance(answer, HttpResponseRedirect) and queryset.filter(pk=key).exists():
            return HttpResponseRedirect(self.page_url(key))
        return answer

    def own_path(self, route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
        """Route a view of the admin. The name begins with the app's."""
        return path(route, self.admin_site.admin_view(view), name=f"{self.opts.app_label}_{name}")

    def page_url(self, key: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[key])

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponseRedirect:
        if tab := self.tab(request, obj):
            return HttpResponseRedirect(f"{self.page_url(obj.pk)}?tab={tab}")
        answer: HttpResponseRedirect = super().response_post_save_change(request, obj)
        return answer

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """A service has saved the form."""
        for formset in formsets:
            self.save_formset(request, form, formset, change)

    def response_add(self, request: HttpRequest, obj: Model, *args: Any, **kwargs: Any) -> HttpResponse:
        if not self.shown_after_adding or {"_addanother", "_popup"} & set(request.POST):
            return super().response_add(request, obj, *args, **kwargs)
        return HttpResponseRedirect(self.page_url(obj.pk))


class ReadOnlyAdmin(ServiceAdmin):
    has_add_permission = has_change_permission = nobody_may

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return ()


def shown_column(column: panels.Column) -> Callable[[Any], Any]:
    def shown(row: Any) -> Any:
        return inline(row.columns[column.name])

    shown.short_description = column.title  # type: ignore[attr-defined]
    shown.__name__ = column.name
    return shown


class StyledForm(forms.BaseForm):
    """Draws fields that name no widget of their own in the admin's style."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if (styled := STYLED.get(type(field.widget))) is not None:
                widget = styled()
                widget.is_required = field.required
                widget.attrs |= field.widget_attrs(widget)
                if isinstance(field, forms.ChoiceField):
                    widget.choices = field.choices
                field.widget = widget


class ColourInput(widgets.UnfoldAdminTextInputWidget):  # type: ignore[misc]
    def __init__(self, usual: str) -> None:
        super().__init__(attrs={"placeholder": usual, "pattern": "#[0-9a-fA-F]{6}", "maxlength": "7"})
        self.usual = usual

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return format_html(
            # Alpine, because the admin's policy forbids inline scripts.
            '<span class="fl-colour" x-data x-on:input="if ($event.target.type === \'text\')'
            ' $refs.choice.value = $event.target.value || $refs.choice.dataset.usual">{}'
            '<input type="color" x-ref="choice" value="{}" data-usual="{}" aria-label="Choose a colour"'
            " x-on:input=\"$root.querySelector('[type=text]').value = $el.value\"></span>",
            super().render(name, value, attrs, renderer),
            value or self.usual,
            self.usual,
        )
