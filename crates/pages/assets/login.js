// Logs in with a browser extension (NIP-07), when there is one.

/// When the event to sign was served.
let servedAt = Date.now();

/// Extensions appear some time after the page has loaded, and may be unlocked later.
function offerExtension() {
  const section = document.getElementById("extension");
  if (section) section.hidden = typeof window.nostr?.signEvent !== "function";
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

document.addEventListener("click", (event) => {
  const button = event.target.closest("#extension button");
  if (button) logIn(button.closest("section"), button);
});
document.addEventListener("shown", () => {
  servedAt = Date.now();
  offerExtension();
});
offerExtension();
setInterval(offerExtension, 250);
