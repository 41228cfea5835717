// A new newsletter begins in its author's time zone. Without scripts it is the site's.
(() => {
  const zones = document.querySelector("select[data-of-browser]");
  if (!zones) return;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (![...zones.options].some((option) => option.value === own)) return;
  zones.value = own;
  // The list that can be searched listens to jQuery, and is put in place when the page has loaded.
  addEventListener("load", () => window.django?.jQuery?.(zones).trigger("change"));
})();
