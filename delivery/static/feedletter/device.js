// “Notify me on this device” on a newsletter's pages. Without script, or where a browser has no push, nothing
// of it is seen.
(() => {
  "use strict";
  const KEPT = "device", PLACE = "/device";

  const attach = (part) => {
    const { device, key, worker, denied, failed, home } = part.dataset;
    const [tell, stop] = [part.querySelector("[data-tell]"), part.querySelector("[data-stop]")];
    const status = part.querySelector("[role=status]");

    const show = (told, words = "") => {
      part.hidden = false;
      tell.hidden = told;
      stop.hidden = !told;
      status.textContent = words || (told ? part.dataset.told : part.dataset.before);
    };
    const busy = (is) => { tell.disabled = stop.disabled = is; };

    const ask = async (act, subscription) => {
      const { endpoint, keys } = subscription.toJSON();
      const body = new URLSearchParams({ act, endpoint, ...keys });
      const answer = await fetch(device, { method: "POST", body, credentials: "omit", cache: "no-store" });
      const said = await answer.json();
      if (!answer.ok) throw new Error(said.error || "");
      return said;
    };

    // A subscription that is bound to another key, or that its push service has given up, is of no use.
    const isUsable = async (subscription) => {
      const bound = subscription.options?.applicationServerKey;
      const octets = bound && String.fromCharCode(...new Uint8Array(bound));
      const used = octets && btoa(octets).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
      return (!used || used === key) && !(await ask("ask", subscription)).gone;
    };

    const begin = async () => {
      if (await Notification.requestPermission() !== "granted") return show(false, denied);
      await navigator.serviceWorker.register(worker, { scope: "/" });
      const { pushManager } = await navigator.serviceWorker.ready;
      let subscription = await pushManager.getSubscription();
      if (subscription && !await isUsable(subscription)) {
        await subscription.unsubscribe();
        subscription = null;
      }
      subscription ||= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
      const { told } = await ask("tell", subscription);
      // For the worker: not every browser tells it what the old address was, when that changes.
      const cache = await caches.open(KEPT);
      await cache.put(PLACE, new Response(JSON.stringify(subscription), { headers: { "X-Key": key } }));
      show(told);
    };

    const end = async () => {
      const registration = await navigator.serviceWorker.getRegistration("/");
      const subscription = await registration?.pushManager.getSubscription();
      if (subscription) await ask("stop", subscription);
      show(false, part.dataset.stopped);
    };

    const guarded = (act) => async () => {
      busy(true);
      try { await act(); } catch (error) { status.textContent = error.name === "Error" && error.message || failed; }
      busy(false);
    };
    tell.addEventListener("click", guarded(begin));
    stop.addEventListener("click", guarded(end));

    const look = async () => {
      if (Notification.permission === "denied") { show(false, denied); tell.hidden = true; return; }
      const registration = await navigator.serviceWorker.getRegistration("/");
      const subscription = await registration?.pushManager.getSubscription();
      show(Boolean(subscription) && (await ask("ask", subscription)).told);
    };

    if (window.isSecureContext && "serviceWorker" in navigator && "PushManager" in window && "Notification" in window)
      look().catch(() => show(false));
    // iOS has push for what stands on the home screen only.
    else if (navigator.standalone === false) {
      show(false, home);
      tell.hidden = true;
    }
  };

  document.querySelectorAll("[data-device]").forEach(attach);
})();
