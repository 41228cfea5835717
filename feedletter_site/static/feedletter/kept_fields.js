// A form that was sent holds what was typed when its page is come back to, but for what is typed unseen.
// The browser keeps it with the page's place in its history. Everything works without this.
(() => {
  const form = document.getElementById("account_form");
  if (!form) return;
  const fields = () =>
    [...form.elements].filter((each) => each.name && /^(text|email|number|select-one|textarea)$/.test(each.type));
  const kept = history.state?.fields ?? {};
  for (const each of fields()) if (each.name in kept) each.value = kept[each.name];
  form.addEventListener("submit", () => {
    const typed = Object.fromEntries(fields().map((each) => [each.name, each.value]));
    history.replaceState({ ...history.state, fields: typed }, "");
  });
})();
