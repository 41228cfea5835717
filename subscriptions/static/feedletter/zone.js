// Tells the time zone, so that emails of a series come at the subscriber's hour.
"use strict";
for (const field of document.querySelectorAll("[data-zone]")) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}
