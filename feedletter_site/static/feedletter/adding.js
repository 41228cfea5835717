// Adding a feed: says what is being waited for, and lets the posts follow the choice without asking again.
// Everything works without this.
(() => {
  const form = document.getElementById("fl-choice");
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!button?.dataset.busy) return;
    // Disabled only after the form was put together, so that its name and value go along.
    setTimeout(() => {
      button.dataset.label = button.textContent;
      button.textContent = button.dataset.busy;
      button.disabled = true;
    });
  });
  // A page that the browser kept and shows again is not busy any more.
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("[data-label]")) {
      button.textContent = button.dataset.label;
      button.disabled = false;
    }
  });
  if (!form) return;

  const posts = [...document.querySelectorAll(".fl-post")];
  const sentence = document.getElementById("fl-sent");
  const total = Number(form.dataset.total);
  const follow = () => {
    const start = form.elements.start.value;
    const count = Number(form.elements.start_count.value) || 0;
    for (const post of posts) {
      const sent = start === "all" ? post.dataset.all === "yes" : start === "last" && Number(post.dataset.rank) <= count;
      post.dataset.sent = sent ? "yes" : "no";
    }
    const all = Number(form.dataset.all);
    const number = start === "all" ? all : start === "last" ? Math.min(count, all) : 0;
    const shown = (value) => value.toLocaleString("en");
    if (total === 1) sentence.textContent = `Its one post ${number ? "can be sent" : "won’t be sent"}.`;
    else if (total) {
      sentence.textContent = number ? `${shown(number)} of its ${shown(total)} posts can be sent.` : `None of its ${shown(total)} posts will be sent.`;
    }
  };
  for (const button of form.querySelectorAll("[data-plain-only]")) button.hidden = true;
  form.addEventListener("input", (event) => {
    if (event.target === form.elements.start_count) form.elements.start.value = "last";
    follow();
  });
  addEventListener("pageshow", follow);
})();
