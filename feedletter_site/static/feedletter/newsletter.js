// A new site and newsletter begin in their author's time zone.
(() => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const hidden = document.querySelector("input[data-zone]");
  if (hidden) hidden.value = own;
  const zones = document.querySelector("select[data-of-browser]");
  if (!zones || ![...zones.options].some((option) => option.value === own)) return;
  zones.value = own;
  // The list that can be searched listens to jQuery, and is put in place when the page has loaded.
  addEventListener("load", () => window.django?.jQuery?.(zones).trigger("change"));
})();
