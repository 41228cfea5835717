// Shows what needs passkeys, which browsers have only on https and localhost, and never for a bare IP address.
if (window.PublicKeyCredential && !/^[\d.]+$|:/.test(location.hostname)) {
  for (const each of document.querySelectorAll("[data-passkey]")) each.hidden = false;
  for (const each of document.querySelectorAll("[data-no-passkey]")) each.hidden = true;
}
