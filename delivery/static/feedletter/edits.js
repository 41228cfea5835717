// The next issue and drafts: buttons and drag handles change the list without loading the page, the preview
// follows, and text is saved while somebody types. Without this, each button sends the form and loads the page.
(() => {
  const PAUSE = 1200;
  const AGAIN = 5000;
  const QUIET = ["up", "down", "first", "out", "back", "anyway", "usual", "wait", "go", "use", "dismiss", "words"];
  const WORDS = ["subject", "note_top", "note_foot"];
  const at = (id, page = document) => page.getElementById(id);
  const form = () => at("fl-edit");
  const status = at("fl-kept");
  if (!form() || !status) return;

  const say = (words, isWrong = false) => {
    status.textContent = words;
    status.classList.toggle("fl-wrong", isWrong);
  };
  const fields = () => WORDS.map((name) => form().elements[name]).filter(Boolean);

  // Show what the server made of it. Text typed since then stays.
  const show = (page, sent) => {
    for (const field of fields()) {
      const saved = page.querySelector(`[form=fl-edit][name="${field.name}"]`)?.value;
      if (saved === undefined) continue;
      if (field.value.replaceAll("\r\n", "\n") === sent.get(field.name)?.replaceAll("\r\n", "\n")) field.value = saved;
      field.defaultValue = saved;
    }
    for (const id of ["fl-edit-all", "fl-edit-posts"]) at(id).replaceWith(at(id, page));
    const [here, fresh] = [document, page].map((each) => each.querySelector("section.fl-beside"));
    const [frame, next] = [here, fresh].map((each) => each?.querySelector("iframe"));
    if (frame && next) {
      frame.srcdoc = next.srcdoc;
      here.querySelector(".fl-letter-subject").replaceWith(fresh.querySelector(".fl-letter-subject"));
    } else if (here && fresh) here.replaceWith(fresh);
    ready();
  };

  // Send the form as a browser would: the page that answers says more, such as who else changed the text.
  const load = (given) => {
    for (const [name, value] of Object.entries(given)) {
      const field = Object.assign(document.createElement("input"), { type: "hidden", name, value });
      form().append(field);
    }
    form().requestSubmit();
  };

  let timer = 0;
  const later = (pause) => {
    clearTimeout(timer);
    timer = setTimeout(() => act({ do: "words" }, { isTyped: true }), pause);
  };
  const isUnsaved = () => fields().some((field) => field.value !== field.defaultValue);

  const send = async (given, { isTyped = false, focus = "" }) => {
    clearTimeout(timer);
    if (isTyped && !isUnsaved()) return;
    const data = new FormData(form());
    for (const [name, value] of Object.entries(given)) data.set(name, value);
    try {
      const answer = await fetch(form().getAttribute("action"), { method: "POST", body: data, headers: { "X-Requested-With": "fetch" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (answer.redirected && new URL(answer.url).pathname === location.pathname && at("fl-edit-posts", page)) {
        show(page, data);
        form().dispatchEvent(new CustomEvent("feedletter:saved", { bubbles: true, detail: [] }));
        say([...(at("fl-messages", page)?.querySelectorAll("li") ?? [])].map((each) => each.textContent.trim()).join(" "));
        focusOn(given, focus);
      } else if (answer.status >= 500) throw new Error(`the server answered ${answer.status}`);
      else if (isTyped) return say("Not saved. Press “Save text” to see why.", true);
      else return load(given);
      if (isUnsaved()) later(PAUSE);
    } catch (error) {
      say(`Not saved yet (${error.message}). ${isTyped ? "We’ll try again." : "Try again."}`, true);
      if (isUnsaved()) later(AGAIN);
    }
  };
  // One at a time: each names what the one before it left.
  let queue = Promise.resolve();
  const act = (given, more = {}) => (queue = queue.then(() => send(given, more)));

  const rowOf = (key) => at(`post-${key}`);
  const focusOn = (given, wanted) => {
    const row = given.post && rowOf(given.post);
    if (!row) return;
    const names = wanted ? [wanted] : [`[value=${given.do}]`, "[value=down]", "[value=up]", "button:not([hidden])"];
    names.map((name) => row.querySelector(name)).find(Boolean)?.focus();
  };

  // The place of a post is that of its handle: it follows the pointer, or the arrow keys.
  let dragged = null;
  const place = (row) => row.previousElementSibling?.dataset.post ?? "0";
  const ready = () => {
    for (const grip of document.querySelectorAll(".fl-grip")) grip.hidden = false;
  };
  document.addEventListener("pointerdown", (event) => {
    const grip = event.target.closest(".fl-grip");
    if (!grip || event.button) return;
    event.preventDefault();
    grip.focus();
    const row = grip.closest("li");
    dragged = { row, was: place(row) };
    row.classList.add("fl-dragged");
  });
  document.addEventListener("pointermove", (event) => {
    if (!dragged) return;
    const { row } = dragged;
    const middle = (each) => each.getBoundingClientRect().top + each.offsetHeight / 2;
    const before = [...row.parentElement.children].find((each) => each !== row && event.clientY < middle(each));
    if (before !== row.nextElementSibling) row.parentElement.insertBefore(row, before ?? null);
    const edge = 80;
    if (event.clientY < edge) scrollBy(0, -12);
    if (event.clientY > innerHeight - edge) scrollBy(0, 12);
  });
  const drop = () => {
    if (!dragged) return;
    const { row, was } = dragged;
    dragged = null;
    row.classList.remove("fl-dragged");
    if (place(row) !== was) act({ do: "after", post: row.dataset.post, after: place(row) }, { focus: ".fl-grip" });
  };
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, drop);
  document.addEventListener("keydown", (event) => {
    const row = event.target.closest?.(".fl-grip")?.closest("li");
    const way = { ArrowUp: "up", ArrowDown: "down", Home: "first" }[event.key];
    if (!row || !way) return;
    event.preventDefault();
    act({ do: way, post: row.dataset.post }, { focus: ".fl-grip" });
  });

  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (event.target !== form() || button?.name !== "do" || !QUIET.includes(button.value)) return;
    event.preventDefault();
    const post = button.closest("li")?.id.replace("post-", "");
    act({ do: button.value, ...(post ? { post } : {}) });
  });
  document.addEventListener("input", (event) => {
    if (!fields().includes(event.target)) return;
    say("Not saved yet.");
    later(PAUSE);
  });

  ready();
  // What was typed before this ran, or put back by the browser.
  if (isUnsaved()) later(PAUSE);

  // After a page load, focus the button pressed last. The admin hides its pages until its own scripts have run, so
  // the page's own autofocus comes too early.
  const last = document.querySelector(".fl-edits [autofocus]");
  const root = document.documentElement;
  const focus = () => {
    if (root.hasAttribute("x-cloak")) return false;
    last.focus();
    return true;
  };
  if (!last || focus()) return;
  const watch = new MutationObserver(() => focus() && watch.disconnect());
  watch.observe(root, { attributes: true, attributeFilter: ["x-cloak"] });
})();
