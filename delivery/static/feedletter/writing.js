// Writing a letter: it is saved while somebody types, and buttons write the signs of Markdown.
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
  const tools = [
    ["Bold", around("**", "words"), "b"],
    ["Italic", around("*", "words"), "i"],
    ["Heading", lines("## ")],
    ["Link", address_of("", "words"), "k"],
    ["Picture", address_of("!", "description")],
    ["List", lines("- ")],
    ["Quote", lines("> ")],
  ];
  for (const [name, act, key] of tools) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    if (key) {
      button.title = `Ctrl+${key.toUpperCase()}`;
      button.setAttribute("aria-keyshortcuts", `Control+${key.toUpperCase()}`);
    }
    button.addEventListener("click", act);
    document.getElementById("fl-tools").append(button);
  }
  text.addEventListener("keydown", (event) => {
    const tool = tools.find(([, , key]) => key && key === event.key.toLowerCase());
    if (!tool || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    tool[1]();
  });
  // Whatever else puts something into the text, such as an uploaded picture, says so by this event.
  text.addEventListener("feedletter:insert", (event) => insert(event.detail));

  // A picture goes up by itself, not with what is saved: its fields have no names any more.
  const upload = document.getElementById("fl-upload");
  const [file, shows] = ["fl-picture", "fl-picture-shows"].map((id) => document.getElementById(id));
  const said = document.getElementById("fl-picture-said");
  for (const field of [file, shows]) field.removeAttribute("name");
  upload.querySelector("button").addEventListener("click", async (event) => {
    event.preventDefault();
    const button = event.currentTarget;
    const data = new FormData();
    data.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
    if (file.files.length) data.set("picture", file.files[0]);
    data.set("shows", shows.value);
    button.disabled = true;
    said.classList.remove("fl-wrong");
    said.textContent = "Uploading …";
    try {
      const answer = await fetch(upload.dataset.upload, { method: "POST", body: data, headers: { Accept: "application/json" } });
      const made = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : null;
      if (answer.status === 413) throw new Error("the file is too large");
      if (!made) throw new Error(answer.redirected ? "sign in again in another window" : `the server answered ${answer.status}`);
      if (made.problem) {
        said.textContent = made.problem;
        said.classList.add("fl-wrong");
      } else {
        text.dispatchEvent(new CustomEvent("feedletter:insert", { detail: made.markdown }));
        file.value = shows.value = "";
        said.textContent = "Picture added.";
      }
    } catch (error) {
      said.textContent = `Not uploaded: ${error.message}.`;
      said.classList.add("fl-wrong");
    }
    button.disabled = false;
  });
  // Enter sends the form by its first button, which would be this one.
  shows.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    upload.querySelector("button").click();
  });
})();
