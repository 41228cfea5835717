// While an issue is being sent, its page says by itself how far it is. Without this there is a link to look again.
(() => {
  const far = () => document.querySelector(".fl-far[data-address]");
  let failed = 0;

  const look = async (shown) => {
    try {
      const answer = await fetch(shown.dataset.address, { redirect: "error" });
      if (!answer.ok) throw new Error(answer.status);
      const holder = document.createElement("template");
      holder.innerHTML = await answer.text();
      const fresh = holder.content.firstElementChild;
      failed = 0;
      // All has gone out, or somebody paused it: other buttons, other panels.
      if (!fresh || !fresh.dataset.address) location.reload();
      else {
        shown.replaceWith(fresh);
        // The plot and the table of domains follow.
        for (const part of holder.content.querySelectorAll("[data-live]")) {
          const place = document.querySelector(`[data-live="${part.dataset.live}"]`);
          if (!place || !part.hasChildNodes()) continue;
          const fold = part.querySelector("details");
          if (fold && place.querySelector("details[open]")) fold.open = true;
          place.replaceWith(part);
        }
        later();
      }
    } catch {
      failed += 1;
      later();
    }
  };

  const later = () => {
    const shown = far();
    if (!shown) return;
    const again = shown.querySelector("[data-again]");
    if (again) again.hidden = failed === 0;
    const wait = Number(shown.dataset.every) * 1000 * Math.min(2 ** failed, 20);
    setTimeout(() => (document.hidden ? later() : look(shown)), wait);
  };

  later();
})();
