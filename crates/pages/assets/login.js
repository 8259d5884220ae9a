// Logs in with a browser extension (NIP-07), when there is one. Extensions appear shortly after the page has loaded.
const section = document.getElementById("extension");
const status = document.getElementById("status");
const button = section.querySelector("button");
const loadedAt = performance.now();

async function logIn() {
  button.disabled = true;
  status.textContent = section.dataset.asking;
  try {
    status.textContent = await prove();
  } finally {
    button.disabled = false;
  }
}

/// Returns what to tell the user; the page reloads by itself once the login is done.
async function prove() {
  const proof = JSON.parse(section.dataset.proof);
  // The service's clock, not this device's.
  proof.created_at += Math.floor((performance.now() - loadedAt) / 1000);
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
    return response.ok ? section.dataset.asking : await response.text();
  } catch {
    return section.dataset.failed;
  }
}

function look(left) {
  if (window.nostr) {
    section.hidden = false;
    button.addEventListener("click", logIn);
  } else if (left > 0) {
    setTimeout(look, 50, left - 1);
  }
}

look(40);
