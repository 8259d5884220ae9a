// Reloads the page when the session's state changes, and not before: a page that reloads by the clock interrupts screen
// readers. Without JavaScript, a page on which the user can only wait reloads every few seconds instead.
const shown = document.body.dataset.state;

async function check() {
  try {
    const response = await fetch(document.body.dataset.stateUrl, { cache: "no-store" });
    if (!response.ok || (await response.text()) !== shown) {
      location.replace(location.href);
      return;
    }
  } catch {
    // The connection is away: the next check may succeed.
  }
  setTimeout(check, 2000);
}

setTimeout(check, 2000);
