// Scripts of reading pages: keys, marks without a new page, marks on scroll.
// Without it every button is a form.
"use strict";
(() => {
  const entries = [...document.querySelectorAll(".entry[data-post]")];
  const place = (entry) => entry.dataset.post;
  const tool = (entry, which) => entry.querySelector(`[data-${which}]`);

  const post = async (form, body) => {
    const answer = await fetch(form.action, {
      method: "POST",
      body,
      keepalive: true,
      headers: { Accept: "application/json" },
    });
    if (!answer.ok) throw new Error(String(answer.status));
    const told = await answer.json();
    showCounts(told);
    return told;
  };

  const send = (form, act, more = [], onto = "") => {
    const body = new URLSearchParams(new FormData(form));
    body.set("act", act);
    body.set("onto", onto);
    more.forEach((value) => body.append("place", value));
    return post(form, body);
  };

  const showCounts = (told) => {
    document.querySelectorAll("[data-count]").forEach((line) => {
      line.textContent = told.counts[line.dataset.count] ?? "";
    });
  };

  // A picture that is refused while the server is busy is asked for again.
  const PICTURE_TRIES = 3;
  const PICTURE_AGAIN = 5 * 1000;
  document.addEventListener(
    "error",
    (event) => {
      const picture = event.target;
      const tries = Number(picture.dataset?.tries || 0);
      if (picture.tagName !== "IMG" || !picture.src.includes("/reader/media/") || tries >= PICTURE_TRIES) return;
      picture.dataset.tries = tries + 1;
      setTimeout(() => (picture.src = picture.src), PICTURE_AGAIN * (tries + 1));
    },
    true,
  );

  // What came since: the server says when to look, or, where it keeps no stream for us, one looks now and then.
  // Only a page that is looked at does so.
  const news = document.querySelector("[data-news]");
  if (news) {
    const SOON = 2000;
    const NOW_AND_THEN = 60 * 1000;
    const STREAM_AGAIN = 5 * 60 * 1000;
    let stream = null;
    let refusedAt = -STREAM_AGAIN;
    let waiting = 0;
    const look = async () => {
      const { channel, since, feed = "" } = news.dataset;
      const asked = new URLSearchParams({ channel, since, feed });
      const answer = await fetch(`${news.dataset.news}?${asked}`, { redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const told = await answer.json();
      showCounts(told);
      const link = news.querySelector("a");
      link.hidden = !told.new;
      link.textContent = told.words;
      const nothing = document.querySelector("[data-nothing]");
      if (nothing) nothing.hidden = !!told.new;
    };
    const lookIn = (pause) => {
      clearTimeout(waiting);
      waiting = setTimeout(() => look().catch(() => {}).then(goOn), pause);
    };
    // Listens, or comes back later.
    const goOn = () => {
      clearTimeout(waiting);
      if (document.hidden || stream) return;
      if (!window.EventSource || performance.now() - refusedAt < STREAM_AGAIN) {
        lookIn(NOW_AND_THEN);
        return;
      }
      stream = new EventSource(news.dataset.events);
      ["started", "new-item", "new-notification", "channel-update", "unread-count", "reset"].forEach((name) =>
        stream.addEventListener(name, () => lookIn(100)),
      );
      stream.addEventListener("error", () => {
        // One that was interrupted comes back by itself; one that was refused does not.
        if (stream.readyState !== EventSource.CLOSED) return;
        stream = null;
        refusedAt = performance.now();
        lookIn(NOW_AND_THEN);
      });
    };
    const leave = () => {
      clearTimeout(waiting);
      stream?.close();
      stream = null;
    };
    document.addEventListener("visibilitychange", () => (document.hidden ? leave() : lookIn(0)));
    addEventListener("pagehide", leave);
    addEventListener("pageshow", (event) => event.persisted && lookIn(0));
    // A post that is only passed isn’t opened.
    waiting = setTimeout(goOn, SOON);
  }

  const label = (button, words) => {
    button.title = words;
    button.ariaLabel = words;
  };

  const show = (entry, isRead) => {
    entry.classList.toggle("is-read", isRead);
    const button = tool(entry, "mark");
    button.value = isRead ? "unread" : "read";
    label(button, isRead ? button.dataset.unread : button.dataset.read);
  };

  // What was marked last can be taken back for ten seconds, or as long as somebody is at the button.
  const UNDONE_WITHIN = 10_000;
  const undoes = document.querySelector("template[data-undo]");
  const told = document.querySelector("[data-told]");
  let last = { name: "", entries: [] };
  let ending = 0;
  const endUndo = () => {
    if (told.matches(":hover, :focus-within")) ending = setTimeout(endUndo, UNDONE_WITHIN);
    else told.replaceChildren();
  };
  const offerUndo = (marking, marked) => {
    if (!marking || !undoes) return;
    last = { name: marking.name, entries: marked };
    const form = undoes.content.firstElementChild.cloneNode(true);
    form.elements.name.value = marking.name;
    form.querySelector("[data-says]").textContent = marking.says;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const showUnread = () => marked.forEach((entry) => show(entry, false));
      post(form, new URLSearchParams(new FormData(form))).then(showUnread, () => {});
      told.replaceChildren();
    });
    // One that the page came with was for an earlier marking.
    document.querySelector("form.undo")?.remove();
    told.replaceChildren(form);
    clearTimeout(ending);
    ending = setTimeout(endUndo, UNDONE_WITHIN);
  };

  const mark = (entry, isRead, act = isRead ? "read" : "unread") => {
    const button = tool(entry, "mark");
    if (!button || entry.classList.contains("is-read") === isRead) return;
    show(entry, isRead);
    // It stays as it was when the server did not hear of it.
    send(button.form, act).then(
      (answer) => offerUndo(answer.marking, [entry]),
      () => show(entry, !isRead),
    );
  };

  const star = (entry) => {
    const button = tool(entry, "star");
    const act = button.value;
    const turn = (wanted) => {
      button.value = wanted;
      label(button, wanted === "star" ? button.dataset.off : button.dataset.on);
    };
    turn(act === "star" ? "unstar" : "star");
    send(button.form, act).catch(() => turn(act));
  };

  document.addEventListener("click", (event) => {
    const entry = event.target.closest(".entry[data-post]");
    const button = event.target.closest("[data-mark], [data-star]");
    if (!entry || !button) return;
    event.preventDefault();
    if (button.hasAttribute("data-star")) star(entry);
    else mark(entry, button.value === "read");
  });

  // One menu at a time, until one clicks elsewhere or leaves by Escape.
  const menus = document.querySelectorAll("details.menu");
  const closeMenus = (but) => menus.forEach((menu) => menu !== but && (menu.open = false));
  document.addEventListener("click", (event) => closeMenus(event.target.closest("details.menu")));
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // A post that is opened is read.
  const whole = document.querySelector("[data-whole]");
  if (whole) mark(whole, true, "open");

  let here = -1;
  const go = (to) => {
    if (to < 0 || to >= entries.length) return;
    entries[here]?.classList.remove("is-here");
    here = to;
    entries[here].classList.add("is-here");
    entries[here].focus({ preventScroll: true });
    entries[here].scrollIntoView({ block: "start", inline: "nearest" });
  };
  // From a whole post to the next one, or the one before.
  const turn = (way) => document.querySelector(`.pager a[rel="${way}"]`)?.click();
  const keys = document.querySelector("[data-keys]");
  const follow = (link) => document.querySelector(link)?.click();
  // After "g", as in Miniflux: the key, and the end of the link's address.
  const places = { u: "/reader/", b: "/starred/", f: "/feeds/", c: "/channels/", s: "/account/", d: "/deck/" };
  const FOLLOWED_WITHIN = 1500;
  let began = { key: "", at: 0 };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable]") || keys?.open) return;
    const entry = entries[here] || whole;
    const first = event.timeStamp - began.at < FOLLOWED_WITHIN ? began.key : "";
    began = { key: "gz".includes(event.key) && !first ? event.key : "", at: event.timeStamp };
    const next = () => (whole ? turn("next") : go(here + 1));
    const before = () => (whole ? turn("prev") : go(here - 1));
    const open = () => entry?.dataset.open && location.assign(entry.dataset.open);
    const original = (target) => {
      const link = entry && entry.querySelector("[data-original]");
      if (link) window.open(link.href, target, "noopener,noreferrer");
    };
    const acts = {
      j: next,
      n: next,
      ArrowRight: next,
      k: before,
      p: before,
      ArrowLeft: before,
      o: open,
      Enter: () => !event.target.closest("a, button, summary") && open(),
      v: () => original("_blank"),
      V: () => original("_self"),
      m: () => entry && mark(entry, !entry.classList.contains("is-read")),
      M: () => {
        if (entry) mark(entry, !entry.classList.contains("is-read"));
        before();
      },
      A: () => follow('.heading button[value="all"]'),
      s: () => entry && star(entry),
      f: () => entry && star(entry),
      S: () => entry?.querySelector("[data-save]")?.click(),
      h: () => follow('.pager a[rel="prev"]'),
      l: () => follow('.pager a[rel="next"]'),
      u: () => follow(".choices a[data-which]:not([aria-current])"),
      "+": () => follow(".channels .follow a"),
      R: () => follow('button[value="read"][name="act"]:not([data-mark])'),
      "/": () => follow('.channels a[href$="/search/"]'),
      "?": () => keys?.showModal(),
    };
    const inPlace = first === "g" && places[event.key];
    const toTop = () => entry?.scrollIntoView({ block: "start" });
    let act = acts[event.key];
    if (inPlace) act = () => follow(`.channels a[href$="${inPlace}"]`);
    else if (first === "z" && event.key === "t") act = toTop;
    if (!act) return;
    const arrows = event.key.startsWith("Arrow") && event.target.closest("audio, video, [role]");
    if (arrows || (event.key === "Enter" && event.target.closest("a, button, summary"))) return;
    event.preventDefault();
    act();
  });

  // Marks on scroll, if switched on; several together, once they have left at the top.
  const choice = document.querySelector("[data-on-scroll]");
  if (choice) {
    const KEPT = "reader-marks-on-scroll";
    choice.closest("label").hidden = false;
    choice.checked = localStorage.getItem(KEPT) === "yes";
    choice.addEventListener("change", () => localStorage.setItem(KEPT, choice.checked ? "yes" : "no"));
    let passed = [];
    const tell = () => {
      const some = passed.filter((entry) => !entry.classList.contains("is-read") && tool(entry, "mark"));
      passed = [];
      if (!some.length) return;
      const form = tool(some[0], "mark").form;
      some.forEach((entry) => show(entry, true));
      // While the last can be undone, these are undone with it.
      const before = told.firstElementChild ? last : { name: "", entries: [] };
      send(form, "read", some.map(place), before.name).then(
        (answer) => offerUndo(answer.marking, [...before.entries, ...some]),
        () => some.forEach((entry) => show(entry, false)),
      );
    };
    let waiting = 0;
    const watcher = new IntersectionObserver((seen) => {
      seen.forEach((one) => {
        if (choice.checked && !one.isIntersecting && one.boundingClientRect.bottom < 0) passed.push(one.target);
      });
      clearTimeout(waiting);
      waiting = setTimeout(tell, 500);
    });
    entries.forEach((entry) => watcher.observe(entry));
    addEventListener("pagehide", tell);
  }
})();
