// Reloads the page when the state that it shows has changed, and not before: a page that reloads by the clock interrupts
// screen readers. A browser that lost the connection connects again by itself.
const { state, eventsUrl } = document.body.dataset;
const reload = () => location.replace(location.href);
const source = new EventSource(eventsUrl);

source.addEventListener("message", (event) => {
  if (event.data !== state) {
    source.close();
    reload();
  }
});

source.addEventListener("error", () => {
  // Refused for good: the page itself says why.
  if (source.readyState === EventSource.CLOSED) setTimeout(reload, 2000);
});

// Connections that a page keeps must not outlive it in the browser's memory of pages.
addEventListener("pagehide", () => source.close());
addEventListener("pageshow", (event) => event.persisted && reload());
