// Shows what is new on the phone, and sends its forms without leaving the page: what the user types stays.

const policy = window.trustedTypes?.createPolicy("usher-page", { createHTML: (text) => text });

let loads = 0;

/// Replaces the parts that differ with those of the page in the response; the form with text that is not sent yet stays.
async function show(response) {
  loads += 1;
  const own = loads;
  const text = await response.text();
  if (own !== loads || !response.ok) return;
  const page = new DOMParser().parseFromString(policy?.createHTML(text) ?? text, "text/html");
  document.body.dataset.version = page.body.dataset.version;
  const [main, wanted] = [document.querySelector("main"), page.querySelector("main")];
  let place = main.firstElementChild;
  const removeUntil = (end) => {
    while (place !== end) {
      const gone = place;
      place = place.nextElementSibling;
      gone.remove();
    }
  };
  for (const part of wanted.children) {
    const before = document.getElementById(part.id);
    if (before && (part.id === "scan" || before.isEqualNode(part))) {
      removeUntil(before);
      place = before.nextElementSibling;
    } else {
      main.insertBefore(document.importNode(part, true), place);
    }
  }
  removeUntil(null);
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { target: form, submitter } = event;
  const body = new URLSearchParams(new FormData(form, submitter));
  for (const button of form.querySelectorAll("button")) button.disabled = true;
  try {
    await show(await fetch(form.action, { method: "post", body }));
  } catch {
    // The service does not respond: the buttons can be pressed again.
  }
  for (const button of form.querySelectorAll("button")) button.disabled = false;
  if (form.id === "scan") form.reset();
});

new EventSource("/phone/events").addEventListener("message", async ({ data }) => {
  if (data !== document.body.dataset.version) await show(await fetch("/phone"));
});
