// Writing an email: it is saved while somebody types, and buttons write the signs of Markdown.
// Everything works without this. The preview is editor.js's.
(() => {
  const form = document.getElementById("fl-editor");
  if (!form) return;
  // A sent email is saved by its button alone.
  const address = form.dataset.keep;

  const PAUSE = 1200;
  const AGAIN = 5000;
  const text = document.getElementById("fl-markdown");
  const kept = document.getElementById("fl-kept");
  const version = form.elements.version;

  const say = (words, isWrong = false) => {
    kept.textContent = words;
    kept.classList.toggle("fl-wrong", isWrong);
  };

  // One is saved at a time: each names the version that it was written on.
  let keeping = null;
  let timer = 0;
  let isOver = false;
  const keep = async () => {
    const data = new FormData(form);
    try {
      const answer = await fetch(address, { method: "POST", body: data, headers: { Accept: "application/json" } });
      const made = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
      if (answer.status === 409 && made) {
        // Somebody else has changed it: what is typed here stays here.
        isOver = true;
        say(made.problem, true);
      } else if (!answer.ok || !made) {
        throw new Error(answer.redirected ? "sign in again in another window" : `the server answered ${answer.status}`);
      } else {
        version.value = made.version;
        data.set("version", made.version);
        form.dispatchEvent(new CustomEvent("feedletter:saved", { bubbles: true, detail: data }));
        say(made.said);
      }
    } catch (error) {
      say(`Not saved yet: ${error.message}. We’ll try again.`, true);
      later(AGAIN);
    }
  };
  const later = (pause) => {
    clearTimeout(timer);
    if (!address) return;
    timer = setTimeout(async () => {
      if (isOver) return;
      if (keeping) return later(PAUSE);
      keeping = keep();
      await keeping;
      keeping = null;
    }, pause);
  };
  form.addEventListener("input", (event) => {
    if (!event.target.name || ["radio", "checkbox"].includes(event.target.type) || isOver) return;
    say("Not saved yet.");
    later(PAUSE);
  });
  // What was typed before this ran, or put back by the browser when it loaded the page anew.
  if ([form.elements.subject, text].some((field) => field.value !== field.defaultValue)) {
    say("Not saved yet.");
    later(PAUSE);
  }

  // A click that sends the form waits for what is being saved, so that it names the version of that.
  form.addEventListener("submit", async (event) => {
    clearTimeout(timer);
    if (!keeping) return;
    const button = event.submitter;
    event.preventDefault();
    await keeping;
    if (!isOver) form.requestSubmit(button);
  });

  const insert = (words, from = words.length, to = from) => {
    const start = text.selectionStart;
    text.focus();
    // So that the browser can undo it.
    if (!document.execCommand("insertText", false, words)) {
      text.setRangeText(words, start, text.selectionEnd, "end");
      text.dispatchEvent(new Event("input", { bubbles: true }));
    }
    text.setSelectionRange(start + from, start + to);
  };
  const chosen = () => text.value.slice(text.selectionStart, text.selectionEnd);
  const around = (sign, usual) => () => {
    const words = chosen() || usual;
    insert(sign + words + sign, sign.length, sign.length + words.length);
  };
  const lines = (sign) => () => {
    const start = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    text.setSelectionRange(start, text.selectionEnd);
    const words = chosen().split("\n").map((line) => sign + line).join("\n");
    insert(words);
  };
  const address_of = (sign, usual) => () => {
    const words = chosen() || usual;
    const begin = `${sign}[${words}](`.length;
    insert(`${sign}[${words}](https://)`, begin, begin + "https://".length);
  };
  const upload = document.getElementById("fl-upload");
  const [file, shows] = ["fl-picture", "fl-picture-shows"].map((id) => document.getElementById(id));
  const tools = [
    ["Bold", "format_bold", around("**", "words"), "b"],
    ["Italic", "format_italic", around("*", "words"), "i"],
    ["Heading", "title", lines("## ")],
    ["Link", "link", address_of("", "words"), "k"],
    ["Picture", "image", () => file.click()],
    ["List", "format_list_bulleted", lines("- ")],
    ["Quote", "format_quote", lines("> ")],
  ];
  for (const [name, icon, act, key] of tools) {
    const button = document.createElement("button");
    button.type = "button";
    button.ariaLabel = name;
    button.title = key ? `${name} (Ctrl+${key.toUpperCase()})` : name;
    if (key) button.setAttribute("aria-keyshortcuts", `Control+${key.toUpperCase()}`);
    const sign = document.createElement("span");
    sign.className = "material-symbols-outlined";
    sign.ariaHidden = "true";
    sign.textContent = icon;
    button.append(sign);
    button.addEventListener("click", act);
    document.getElementById("fl-tools").append(button);
  }
  text.addEventListener("keydown", (event) => {
    const tool = tools.find(([, , , key]) => key && key === event.key.toLowerCase());
    if (!tool || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    tool[2]();
  });

  // A picture is chosen, pasted or dropped. It goes up at once, and then its description is asked for.
  const said = document.getElementById("fl-picture-said");
  const row = shows.closest(".fl-field");
  const undescribed = [];
  let described = "";
  for (const field of [file, shows]) field.removeAttribute("name");
  upload.open = file.multiple = true;
  upload.classList.add("fl-upload-scripted");
  const tell = (words, isWrong = false) => {
    said.textContent = words;
    said.classList.toggle("fl-wrong", isWrong);
  };
  const ask = () => {
    row.hidden = !undescribed.length;
    shows.value = described = "";
    if (row.hidden) text.focus();
    else shows.focus();
  };
  const send = async (picture) => {
    const data = new FormData();
    data.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    data.set("picture", picture);
    const answer = await fetch(upload.dataset.upload, { method: "POST", body: data, headers: { Accept: "application/json" } });
    const made = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
    if (answer.status === 413) throw new Error("the file is too large");
    if (!made) throw new Error(answer.redirected ? "sign in again in another window" : `the server answered ${answer.status}`);
    if (made.problem) return tell(made.problem, true);
    insert(`${made.markdown}\n\n`);
    undescribed.push(made.markdown.slice(made.markdown.indexOf("](")));
    tell("Picture added.");
  };
  const take = async (files) => {
    for (const [at, picture] of [...files].entries()) {
      tell(files.length > 1 ? `Uploading ${at + 1} of ${files.length} …` : "Uploading …");
      try {
        await send(picture);
      } catch (error) {
        tell(`Not uploaded: ${error.message}.`, true);
      }
    }
    ask();
  };
  const pictures_of = (data) => [...(data?.files ?? [])].filter((each) => each.type.startsWith("image/"));
  file.addEventListener("change", async () => {
    await take(file.files);
    file.value = "";
  });
  for (const [kind, part] of [["paste", "clipboardData"], ["drop", "dataTransfer"]]) {
    text.addEventListener(kind, (event) => {
      const pictures = pictures_of(event[part]);
      if (!pictures.length) return;
      event.preventDefault();
      take(pictures);
    });
  }
  shows.addEventListener("input", () => {
    // The same picture may be there twice.
    const begin = text.value.indexOf(`![${described}${undescribed[0]}`) + 2;
    if (begin < 2) return;
    const length = described.length;
    described = shows.value.replace(/[\\[\]\n]/g, "");
    text.setRangeText(described, begin, begin + length);
    text.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const done = (event) => {
    event.preventDefault();
    undescribed.shift();
    ask();
  };
  upload.querySelector("button").addEventListener("click", done);
  // Enter would send the form by its first button.
  shows.addEventListener("keydown", (event) => {
    if (event.key === "Enter") done(event);
  });
  row.hidden = true;
})();
