// Solves the small sum of a sign-up form (subscriptions/rules/sign_up.py) while its reader types.
// Without it, or where the browser has no Web Crypto (http:), the reader is asked a question instead.
(() => {
  "use strict";
  const PARTS = 8, BITS = 12, AT_ONCE = 64;
  const encoder = new TextEncoder();

  const fits = (digest) => new DataView(digest).getUint32(0) >>> (32 - BITS) === 0;

  const solvePart = async (challenge, part) => {
    for (let start = 0; ; start += AT_ONCE) {
      const numbers = Array.from({ length: AT_ONCE }, (_, step) => start + step);
      const digests = await Promise.all(
        numbers.map((number) => crypto.subtle.digest("SHA-256", encoder.encode(`${challenge}:${part}:${number}`)))
      );
      const found = digests.findIndex(fits);
      if (found >= 0) return numbers[found];
    }
  };

  const solve = async (address) => {
    const answer = await fetch(address, { credentials: "omit", cache: "no-store" });
    const { challenge } = await answer.json();
    const numbers = [];
    for (let part = 0; part < PARTS; part++) numbers.push(await solvePart(challenge, part));
    return `${challenge}:${numbers.join(",")}`;
  };

  const attach = (field) => {
    const form = field.form;
    let solving = null;
    const begin = () => (solving ??= solve(field.dataset.challenge).catch(() => ""));
    form.addEventListener("focusin", begin, { once: true });
    form.addEventListener("submit", async (event) => {
      if (field.value) return;
      event.preventDefault();
      const button = event.submitter || form.querySelector("button[type=submit]");
      const words = button.textContent;
      button.textContent = field.dataset.wait || words;
      button.setAttribute("aria-busy", "true");
      field.value = await begin();
      button.textContent = words;
      button.removeAttribute("aria-busy");
      form.submit();
    });
    // Back from the next page: that solution is spent.
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) { field.value = ""; solving = null; }
    });
  };

  if (window.crypto && crypto.subtle) document.querySelectorAll("input[data-challenge]").forEach(attach);
})();
