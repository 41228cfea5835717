// Shows what a newsletter's push says, and leads to it (channels/webpush/compose.py makes it).
"use strict";
const KEPT = "device", PLACE = "/device";

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let said = {};
  try { said = event.data.json(); } catch { /* Every push must be shown (Push API, userVisibleOnly). */ }
  const { title, body, tag, icon, lang, url, leave, leave_label } = said;
  event.waitUntil(self.registration.showNotification(title || self.location.host, {
    body: body || "", tag: tag || "", icon, lang, dir: "auto", data: { url, leave },
    actions: leave && leave_label ? [{ action: "leave", title: leave_label }] : [],
  }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { url, leave } = event.notification.data || {};
  const wanted = event.action === "leave" ? leave : url;
  // Only to the web. Only this site has the key for pushes.
  if (wanted && /^https?:\/\//.test(wanted)) event.waitUntil(self.clients.openWindow(wanted));
});

const fields = (subscription, prefix = "") => {
  const { endpoint, keys = {} } = subscription.toJSON ? subscription.toJSON() : subscription;
  return Object.entries({ endpoint, ...keys }).map(([name, value]) => [prefix + name, value]);
};

// The push service has given the browser another address. Not every browser says what the old one was.
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil((async () => {
  const cache = await caches.open(KEPT), kept = await cache.match(PLACE);
  const old = event.oldSubscription || (kept && await kept.json());
  const key = event.oldSubscription?.options?.applicationServerKey || (kept && kept.headers.get("X-Key"));
  if (!old) return;
  const renewed = event.newSubscription ||
    await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const body = new URLSearchParams([...fields(old, "old_"), ...fields(renewed)]);
  const answer = await fetch("/push-renewed/", { method: "POST", body, credentials: "omit" });
  if (answer.ok) await cache.put(PLACE, new Response(JSON.stringify(renewed), { headers: { "X-Key": key || "" } }));
})()));
