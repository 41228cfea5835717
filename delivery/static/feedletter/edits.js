// After a post was moved, the keyboard goes on from the button that moved it. The admin hides its pages until its
// own scripts have run, and what is hidden takes no focus: so the page's own autofocus comes too early here.
(() => {
  const button = document.querySelector(".fl-edits [autofocus]");
  const root = document.documentElement;
  const focus = () => {
    if (root.hasAttribute("x-cloak")) return false;
    button.focus();
    return true;
  };
  if (!button || focus()) return;
  const watch = new MutationObserver(() => focus() && watch.disconnect());
  watch.observe(root, { attributes: true, attributeFilter: ["x-cloak"] });
})();
