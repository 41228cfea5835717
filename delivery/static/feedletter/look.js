// A newsletter's look: the letter beside the form follows what is typed and chosen. Everything works without this.
(() => {
  const place = document.getElementById("fl-live");
  const form = document.getElementById("subscribable_form");
  const address = place?.dataset.show;
  if (!address || !form) return;

  const PAUSE = 250;
  const WIDEST = 1104;
  const at = (id) => document.getElementById(id);
  const panel = place.closest("section");
  document.getElementById("content-main").classList.add("fl-follows");

  // A chosen picture stays here until it is saved: the server only says where it stands.
  const chosen = new Map();
  const read = async (file) => {
    const picture = await createImageBitmap(file);
    const scale = Math.min(1, WIDEST / Math.max(picture.width, picture.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(picture.width * scale);
    canvas.height = Math.round(picture.height * scale);
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/png");
  };

  const asked = () => {
    const data = new FormData(form);
    for (const input of form.querySelectorAll("input[type=file]")) {
      data.delete(input.name);
      if (chosen.has(input.name)) data.set(`${input.name}_chosen`, "1");
    }
    return data;
  };

  const complain = (sentence) => {
    at("fl-problem").hidden = !sentence;
    at("fl-problem").firstElementChild.textContent = sentence;
  };

  const put = (made) => {
    complain(made.problem ? made.problem.sentence : "");
    if (at("fl-note").textContent !== made.note) at("fl-note").textContent = made.note;
    if (made.problem || made.waits) return;
    at("fl-subject").textContent = made.subject;
    at("fl-text").textContent = made.text;
    for (const [id, html] of [["fl-day", made.day], ["fl-night", made.night]]) {
      let shown = html;
      for (const [name, mark] of Object.entries(made.pictures)) {
        if (chosen.has(name)) shown = shown.replaceAll(mark, chosen.get(name));
      }
      if (at(id).srcdoc !== shown) at(id).srcdoc = shown;
    }
  };

  let asking = null;
  const show = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    place.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { method: "POST", body: asked(), signal: mine.signal });
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      put(await answer.json());
    } catch (error) {
      if (error.name === "AbortError") return;
      complain(`No preview: ${error.message}`);
    }
    if (asking === mine) place.removeAttribute("aria-busy");
  };

  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  };
  form.addEventListener("input", later);
  form.addEventListener("change", async (event) => {
    const input = event.target;
    if (input.type === "file") {
      chosen.delete(input.name);
      try {
        if (input.files.length) chosen.set(input.name, await read(input.files[0]));
      } catch {
        // No picture: saving says so.
      }
    }
    later();
  });

  if (place.dataset.new !== undefined) show();

  // On a narrow screen the letter stands below the form.
  form.querySelector(".fl-try-it > button")?.addEventListener("click", (event) => {
    event.preventDefault();
    panel.scrollIntoView({ block: "start" });
    at("fl-desktop").focus({ preventScroll: true });
  });
})();
