// Ask before a page is left on which something was typed and not saved: by a link, by closing the tab, or by the
// button of another form. Without scripts, such pages say in words that their other buttons save nothing.
(() => {
  const TYPED =
    /^(text|email|url|tel|number|search|password|date|time|datetime-local|color|file|textarea|select-one|select-multiple|checkbox|radio)$/;
  // Browsers tidy what a page has given (numbers, colours): only a person's change counts.
  const touched = new WeakSet();
  let sent = null;

  const differs = (field) => {
    if (/^(checkbox|radio)$/.test(field.type)) return field.checked !== field.defaultChecked;
    if (field.type === "file") return field.files.length > 0;
    if (field.type === "select-one") {
      const given = [...field.options].filter((each) => each.defaultSelected).at(-1) ?? field.options[0];
      return field.selectedOptions[0] !== given;
    }
    if (field.type === "select-multiple") return [...field.options].some((each) => each.selected !== each.defaultSelected);
    return field.value !== field.defaultValue;
  };
  const isTyped = (field) =>
    field.name && TYPED.test(field.type) && touched.has(field) && !field.closest("[data-idle]") && differs(field);
  // A form that came back with what was typed, because it was refused or only looked at, is not saved either.
  const isUnsaved = (form) =>
    form.matches("[data-unsaved]") ||
    form.querySelector("[data-unsaved], [aria-invalid=true]") !== null ||
    [...form.elements].some(isTyped);

  const touch = (event) => {
    touched.add(event.target);
    sent = null;
  };
  for (const name of ["input", "change"]) addEventListener(name, (event) => event.isTrusted && touch(event));
  addEventListener("feedletter:typed", touch);
  // A widget that replaces a select tells jQuery alone.
  addEventListener("DOMContentLoaded", () => globalThis.django?.jQuery?.(document).on("select2:select select2:unselect", "select", touch));
  // A form that saves while somebody types.
  addEventListener("feedletter:saved", (event) => {
    event.target.removeAttribute("data-unsaved");
    for (const [name, value] of event.detail) {
      const field = event.target.elements[name];
      if (typeof value === "string" && "defaultValue" in (field ?? {})) field.defaultValue = value.replaceAll("\r\n", "\n");
    }
  });
  addEventListener("submit", (event) => {
    if (!event.defaultPrevented) sent = event.target;
  });
  addEventListener("pageshow", () => (sent = null));
  addEventListener("beforeunload", (event) => {
    const forms = document.querySelectorAll("form[method=post]:not(#changelist-form)");
    if (![...forms].some((form) => form !== sent && isUnsaved(form))) return;
    event.preventDefault();
    sent = null;
  });
})();
