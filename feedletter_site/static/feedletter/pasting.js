// What is to be pasted elsewhere gets a button that copies it; a form in a frame gets the height it needs.
(() => {
  const copy = async (text, shown) => {
    // Browsers have a clipboard for secure pages only; elsewhere the text is selected, and copied the old way.
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    getSelection().selectAllChildren(shown);
    if (!document.execCommand("copy")) throw new Error("not copied");
  };

  document.querySelectorAll("[data-copy]").forEach((button) => {
    const shown = button.parentElement.querySelector("pre");
    const words = button.textContent;
    button.hidden = false;
    button.setAttribute("aria-live", "polite");
    button.addEventListener("click", async () => {
      try {
        await copy(shown.textContent, shown);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(shown);
        button.textContent = "Selected: press Ctrl+C";
      }
      setTimeout(() => (button.textContent = words), 2500);
    });
  });

  addEventListener("message", (event) => {
    const height = event.data && event.data.feedletter;
    if (event.origin !== location.origin || !(height > 0 && height < 3000)) return;
    document.querySelectorAll("iframe.fl-embed").forEach((frame) => {
      if (frame.contentWindow === event.source) frame.style.height = `${height}px`;
    });
  });
})();
