from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextInputWidget


class ColourInput(UnfoldAdminTextInputWidget):  # type: ignore[misc]
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
