// Writing a template: line numbers, and a preview that follows the typing. Everything works without this.
(() => {
  const form = document.getElementById("fl-editor");
  const address = form?.dataset.show;
  if (!address) return;

  const PAUSE = 400;
  const at = (id) => document.getElementById(id);
  for (const button of form.querySelectorAll("[data-plain-only]")) button.hidden = true;

  // Line numbers stand beside each text and scroll with it; the line that is wrong is marked.
  const codes = [...form.querySelectorAll(".fl-code")].map((box) => {
    const text = box.querySelector("textarea");
    const lines = document.createElement("div");
    lines.className = "fl-lines";
    lines.setAttribute("aria-hidden", "true");
    box.append(lines);
    let wrong = 0;
    const number = () => {
      const count = text.value.split("\n").length;
      while (lines.childElementCount > count) lines.lastChild.remove();
      while (lines.childElementCount < count) {
        const one = document.createElement("span");
        one.textContent = lines.childElementCount + 1;
        lines.append(one);
      }
      [...lines.children].forEach((one, index) => one.classList.toggle("fl-bad-line", index + 1 === wrong));
      lines.style.height = `${text.clientHeight}px`;
      lines.scrollTop = text.scrollTop;
    };
    const mark = (line) => {
      wrong = line;
      number();
    };
    text.addEventListener("input", number);
    text.addEventListener("scroll", () => (lines.scrollTop = text.scrollTop));
    new ResizeObserver(number).observe(text);
    number();
    return { part: box.dataset.part, text, mark };
  });

  const complain = (problem) => {
    at("fl-problem").hidden = !problem;
    at("fl-problem-words").textContent = problem ? problem.sentence : "";
    const code = problem && codes.find((one) => one.part === problem.part);
    const line = code && problem.line ? code.text.value.split("\n")[problem.line - 1] : undefined;
    at("fl-problem-line").textContent = line === undefined ? "" : `${problem.line}  ${line.trim().slice(0, 200)}`;
    for (const one of codes) one.mark(one === code ? problem.line : 0);
  };

  const put = (made) => {
    complain(made.problem);
    at("fl-reader-note").textContent = made.note;
    if (made.problem) return;
    at("fl-subject").textContent = made.subject;
    for (const [id, html] of [["fl-day", made.day], ["fl-night", made.night]]) {
      if (at(id).srcdoc !== html) at(id).srcdoc = html;
    }
    if (at("fl-text")) at("fl-text").textContent = made.text;
    if (at("fl-raw")) at("fl-raw").textContent = made.raw;
  };

  const panel = form.querySelector(".fl-show");
  let asking = null;
  const show = async () => {
    asking?.abort();
    const mine = (asking = new AbortController());
    panel.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, { method: "POST", body: new FormData(form), signal: mine.signal });
      if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
      put(await answer.json());
    } catch (error) {
      if (error.name === "AbortError") return;
      complain({ sentence: `No preview: ${error.message}`, part: "", line: 0 });
    }
    if (asking === mine) panel.removeAttribute("aria-busy");
  };

  let timer = 0;
  form.addEventListener("input", (event) => {
    if (event.target.name === "note" || ["radio", "checkbox"].includes(event.target.type)) return;
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });

  // A problem that the server found is marked at once.
  const words = at("fl-problem-words").textContent;
  const place = words.match(/: (html|text), line (\d+): /);
  if (place) complain({ sentence: words, part: place[1], line: Number(place[2]) });
})();
