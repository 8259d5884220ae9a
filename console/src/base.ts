/** The path of the service's pages before `/console`, if a proxy serves them below one: the page names it. */
const BASE = document.getElementById("console")?.dataset["base"] ?? "";
/** Everything of the console is below this path. */
export const ROOT = `${BASE}/console`;
/** The routes of the API behind the console's session. */
export const API = `${ROOT}/api`;
