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

/// What the browser says of its passkeys; `undefined` where no key can be made of them. Some know only when they try.
const passkeys = (async () => {
  if (!window.isSecureContext || !window.PublicKeyCredential) return undefined;
  try {
    const known = (await PublicKeyCredential.getClientCapabilities?.()) ?? {};
    return known["extension:prf"] === false ? undefined : known;
  } catch {
    return {};
  }
})();

/// Whether this browser has used a passkey here: then that is what it offers first.
function usedPasskey() {
  return typeof tryIt(() => localStorage.getItem("usher-passkey")) === "string";
}

/// Where the browser cannot look for a passkey when the user presses, it offers those of this site in a field by itself.
async function offerKnown(section) {
  document.getElementById("passkey-choice").hidden = false;
  try {
    const { offer } = await import(section.dataset.script);
    await offer();
  } catch {
    // The user can press.
  }
}

/// Whether the page has asked for that.
let isKnownOffered = false;

async function offerPasskeys() {
  const section = document.getElementById("with-passkey");
  if (!section) return;
  const known = await passkeys;
  if (!known) {
    const others = document.getElementById("other-ways");
    if (section.closest("#other-ways")) return;
    // Where there is no other way, the page says what to do.
    const ways = [...document.querySelectorAll(".way:not([hidden])")];
    document.getElementById("no-passkeys").hidden = ways.length === 0 || ways.some((way) => way.parentElement !== others);
    if (others) others.open = true;
    return;
  }
  section.dataset.servedAt = String(servedAt);
  section.hidden = false;
  const uses = usedPasskey();
  section.querySelector("#passkey-begin").dataset.passkey = uses ? "log-in" : "begin";
  document.getElementById("passkey-what").hidden = uses;
  document.getElementById("passkey-have").hidden = uses;
  if (uses) document.getElementById("passkey-create").hidden = false;
  if (uses || isKnownOffered || known.immediateGet || !known.conditionalGet) return;
  isKnownOffered = true;
  offerKnown(section);
}

/// How long the recovery file is offered while the user does nothing: where the page leads on, and where it does not.
const IDLE_LEADING_MS = 20_000;
const IDLE_MS = 300_000;
const SAVING_MS = 3_000;

/// Whether the user may still save their key in a recovery file: the passkey's script has it. The way back is on the page meanwhile.
let offersFile = false;
let idle;

function offerFile() {
  const offer = document.getElementById("recovery");
  if (offer) offer.hidden = !offersFile;
  clearTimeout(idle);
  if (!offersFile) return;
  const isLeading = "next" in document.body.dataset;
  idle = setTimeout(() => document.dispatchEvent(new CustomEvent("file-over")), isLeading ? IDLE_LEADING_MS : IDLE_MS);
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (button?.closest("#extension")) logIn(button.closest("section"), button);
  const section = button?.dataset.passkey && button.closest("#with-passkey, #recovery");
  if (!section) return;
  // At once: what is said still is of the attempt before.
  say(section.dataset.asking);
  try {
    const { press } = await import(section.dataset.script);
    // Pressed twice while the script was loaded.
    if (!button.disabled) press(button);
  } catch {
    say(section.dataset.failed);
  }
});
document.addEventListener("logged-in", ({ detail }) => {
  offersFile = detail;
  load();
});
// The user has decided, or is away. A file that is being saved needs the page for a moment.
document.addEventListener("file-over", ({ detail: isSaved }) => {
  offersFile = false;
  offerFile();
  const { next } = document.body.dataset;
  if (next && leads) setTimeout(() => location.replace(next), isSaved ? SAVING_MS : 0);
});
for (const kind of ["keydown", "pointerdown", "pointermove"]) document.addEventListener(kind, () => offersFile && offerFile());
document.addEventListener("shown", () => {
  servedAt = Date.now();
  offerFile();
  offerExtension();
  offerPasskeys();
});
// In a window as narrow as a phone nobody scans the code, but for the one that the user has asked for.
const code = document.getElementById("code");
if (code?.open && location.hash !== "#code" && matchMedia("(max-width: 40rem)").matches) code.open = false;
offerExtension();
offerPasskeys();
setInterval(offerExtension, 250);
