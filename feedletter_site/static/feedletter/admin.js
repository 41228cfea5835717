// Unfold's controls for the mouse get the keyboard, its parts get names and states, and what was typed into a form
// is restored when somebody returns to its page. Everything works without this, but for menus.
(() => {
  const CLICKED = "[x-on\\:click]:not(a[href], button, input, select, textarea, label, [id$='-close'])";
  const NAMES = { close: "Close", mail: "Overview", more_horiz: "More", more_vert: "More", search: "Search", unfold_more: "More" };
  const within = (root, chosen) => [...(root.matches?.(chosen) ? [root] : []), ...root.querySelectorAll(chosen)];

  // The icons are a font of words: "rss_feed" is no word that anybody wants read out.
  const dress = (root) => {
    for (const each of within(root, CLICKED)) {
      each.tabIndex = 0;
      each.setAttribute("role", "button");
    }
    for (const icon of within(root, ".material-symbols-outlined")) {
      const does = icon.closest("a, button, [role=button]");
      const word = icon.textContent.trim();
      const isAlone = does && !does.title && !does.hasAttribute("aria-label") && does.textContent.trim() === word;
      if (isAlone) does.setAttribute("aria-label", NAMES[word] ?? word.replaceAll("_", " "));
      if (icon !== does) icon.setAttribute("aria-hidden", "true");
    }
    // SimpleBar makes each scrolling part a landmark of one and the same name.
    for (const part of within(root, ".simplebar-content-wrapper")) part.setAttribute("role", "group");
    for (const tab of within(root, "#tabs-items > .active")) tab.setAttribute("aria-current", "page");
    // The column of an inline form's delete boxes has no heading.
    for (const heading of within(root, ".formset-wrapper th:not(:has(*))")) heading.textContent = "Delete";
    // The field of a select that one types into is made by a script; it has its select's name.
    for (const field of within(root, ".select2-search__field")) {
      const label = field.closest(".select2")?.parentElement.querySelector("select[id]")?.labels?.[0];
      field.setAttribute("aria-label", label?.textContent.replace("*", "").trim() || "Search");
    }
  };

  let opener = null;
  const enter = (place) => setTimeout(() => document.querySelector(place)?.focus(), 60);
  const pressed = (event) => {
    const menu = event.target.closest?.(".fl-menu-narrow");
    if (menu && (event.key === "Enter" || event.key === " ")) {
      opener = menu;
      enter("#nav-sidebar a");
    }
    const button = event.target.closest?.("[role=button]:not(button, a[href])");
    if (button && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      opener = button;
      button.click();
      // What opened over the page comes after the list in it.
      if (button.getAttribute("x-on:click") === "filterOpen = true")
        enter("#changelist-filter :is(a[href], input:not([type=hidden]), select, button)");
    }
    if (event.key === "Escape") {
      // Menus close when something beside them is clicked.
      document.documentElement.dispatchEvent(new MouseEvent("click", { bubbles: true }));
      opener?.focus();
      opener = null;
    }
  };

  // Fields that hold what a person typed or chose, but for what is typed unseen. A letter saves itself.
  const TYPED = /^(text|email|url|number|search|date|time|textarea|select-one|checkbox|radio)$/;
  const typed = () =>
    [...document.querySelectorAll("#main form[method=post]:not([data-keep])")].map((form) => ({
      fields: [...form.elements].filter((each) => each.name && TYPED.test(each.type)),
      // What it is about: when that is another, or newer, what was typed then is not for it.
      about: [...form.elements]
        .filter((each) => each.type === "hidden" ? each.name !== "csrfmiddlewaretoken" : each.name)
        .map((each) => each.name + (each.type === "hidden" ? `=${each.value}` : ""))
        .join("&"),
    }));
  const held = (each) => (/^(checkbox|radio)$/.test(each.type) ? each.checked : each.value);
  const keep = () => {
    const forms = typed().map(({ fields, about }) => ({ about, values: fields.map(held) }));
    history.replaceState({ ...history.state, forms }, "");
  };
  const giveBack = () => {
    const forms = typed();
    (history.state?.forms ?? []).forEach(({ about, values }, place) => {
      if (forms[place]?.about !== about) return;
      forms[place].fields.forEach((each, at) => {
        each.dispatchEvent(new Event("feedletter:typed", { bubbles: true }));
        if (held(each) === values[at]) return;
        each[typeof values[at] === "boolean" ? "checked" : "value"] = values[at];
        each.dispatchEvent(new Event("input", { bubbles: true }));
        each.dispatchEvent(new Event("change", { bubbles: true }));
      });
    });
    addEventListener("change", keep);
    addEventListener("submit", keep);
  };

  // A form for several programs shows the fields and words of the chosen one.
  const chooseProgram = () => {
    const program = document.querySelector("select[name=program]");
    if (!program) return;
    const show = () => {
      for (const part of document.querySelectorAll("[data-of]")) {
        const shown = part.dataset.of.split(" ").includes(program.value);
        (part.matches("div") ? part : part.closest(".group")).style.display = shown ? "" : "none";
      }
    };
    program.addEventListener("change", show);
    show();
  };

  document.addEventListener("keydown", pressed);
  document.addEventListener("DOMContentLoaded", () => {
    dress(document);
    giveBack();
    chooseProgram();
    document.querySelector(".fl-tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
    new MutationObserver((changes) => {
      for (const change of changes) for (const node of change.addedNodes) if (node.nodeType === 1) dress(node);
    }).observe(document.body, { childList: true, subtree: true });
  });
})();
