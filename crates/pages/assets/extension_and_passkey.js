// Logs in with what this browser has: an extension (NIP-07), or a passkey.

/// When the event to sign was served.
let servedAt = Date.now();

/// Extensions appear some time after the page has loaded, and may be unlocked later.
function offerExtension() {
  const section = document.getElementById("extension");
  if (section) section.hidden = typeof tryIt(() => window.nostr?.signEvent) !== "function";
}

async function logIn(section, button) {
  button.disabled = true;
  say(section.dataset.asking);
  const said = await prove(section);
  // The login may have ended in another way while the extension asked.
  if (section.isConnected && said) say(said);
  button.disabled = false;
}

/// Returns what to tell the user, if it failed.
async function prove(section) {
  const proof = JSON.parse(section.dataset.proof);
  // The service's clock, not this device's.
  proof.created_at += Math.floor((Date.now() - servedAt) / 1000);
  let event;
  try {
    event = await window.nostr.signEvent(proof);
  } catch {
    return section.dataset.refused;
  }
  try {
    const response = await fetch(section.dataset.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(event),
    });
    if (!response.ok) return await response.text();
  } catch {
    return section.dataset.failed;
  }
  load();
}

/// Whether a key can be made of passkeys here. Browsers that do not say may know only when they try.
const hasPasskeys = (async () => {
  if (!window.isSecureContext || !window.PublicKeyCredential) return false;
  try {
    return (await PublicKeyCredential.getClientCapabilities?.())?.["extension:prf"] !== false;
  } catch {
    return true;
  }
})();

/// Whether this browser has used a passkey here: then that is what it offers first.
function usedPasskey() {
  return typeof tryIt(() => localStorage.getItem("usher-passkey")) === "string";
}

async function offerPasskeys() {
  const section = document.getElementById("with-passkey");
  if (!section) return;
  if (!(await hasPasskeys)) {
    // Where there is no other way, the page says what to do.
    document.getElementById("no-passkeys").hidden = document.querySelector(".way:not([hidden])") === null;
    return;
  }
  section.dataset.servedAt = String(servedAt);
  section.hidden = false;
  const uses = usedPasskey();
  section.querySelector("#passkey-begin button").dataset.passkey = uses ? "log-in" : "begin";
  document.getElementById("passkey-create").hidden = !uses;
  document.getElementById("passkey-what").hidden = uses;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.closest("#extension")) logIn(button.closest("section"), button);
  const passkeys = button?.dataset.passkey && button.closest("#with-passkey");
  if (!passkeys) return;
  // At once: what is said still is of the attempt before.
  say(passkeys.dataset.asking);
  try {
    const { press } = await import(passkeys.dataset.script);
    // Pressed twice while the script was loaded.
    if (!button.disabled) press(button);
  } catch {
    say(passkeys.dataset.failed);
  }
});
document.addEventListener("logged-in", load);
document.addEventListener("shown", () => {
  servedAt = Date.now();
  offerExtension();
  offerPasskeys();
});
offerExtension();
offerPasskeys();
setInterval(offerExtension, 250);
