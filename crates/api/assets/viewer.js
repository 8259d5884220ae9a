// Shows the document of this service. The token stays in the page: it is not stored, and leaves it only with requests to this service.
// `usher dev` leaves it in the tab, where its start page was open.
"use strict";
const dark = matchMedia("(prefers-color-scheme: dark)");
const followColors = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followColors);
followColors();
const viewer = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  persistAuthorization: false,
  requestSnippetsEnabled: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  onComplete() {
    const token = sessionStorage.getItem("usher-token");
    if (token) viewer.preauthorizeApiKey("bearer", token);
  },
});
