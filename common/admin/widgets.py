from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold import widgets

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
