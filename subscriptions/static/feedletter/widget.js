// Shows a newsletter's form in the place of a link to its page. Without this script, and on a site that the
// newsletter does not know, the link stays.
(() => {
  const CHOSEN = "a[data-feedletter]:not([data-feedletter=shown])";

  // Light or dark, as the ground is on which the form will stand.
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const parts = getComputedStyle(node).backgroundColor.match(/[\d.]+/g) || [];
      const [red, green, blue, alpha = 1] = parts.map(Number);
      if (alpha > 0.5) return red * 0.299 + green * 0.587 + blue * 0.114 < 128 ? "dark" : "light";
    }
    const declared = getComputedStyle(document.documentElement).colorScheme;
    return declared.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  };

  const show = (link) => {
    link.dataset.feedletter = "shown";
    const address = new URL(link.href.replace(/\/?([?#].*)?$/, "/embed/?by=widget"));
    const frame = document.createElement("iframe");
    const tint = () => (frame.style.colorScheme = ground(link.parentElement));
    frame.title = link.textContent.trim();
    frame.src = address.href;
    frame.style.cssText = "display:block;width:100%;height:0;border:0;overflow:hidden";
    tint();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTimeout(tint, 100));
    addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== address.origin) return;
      const height = event.data && event.data.feedletter;
      if (!(height > 0 && height < 3000)) return;
      frame.style.height = `${height}px`;
      link.hidden = true;
      link.style.display = "none";
    });
    link.after(frame);
  };

  const showAll = () => document.querySelectorAll(CHOSEN).forEach(show);
  showAll();
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", showAll);
})();
