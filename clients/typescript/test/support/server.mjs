// HTTP servers that do what a test says.
import { createServer } from "node:http";

/** Starts a server; `handler` gets the request, the response and the body. `requests` has all that came. */
export async function serve(handler) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    requests.push({ method: request.method, url: request.url, headers: request.headers, body });
    await handler(request, response, body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url, requests, server, close };
}

/** Responds with JSON. */
export function json(response, value, status = 200, headers = {}) {
  response.writeHead(status, {
    "content-type": status < 400 ? "application/json" : "application/problem+json",
    ...headers,
  });
  response.end(JSON.stringify(value));
}

/** A problem document. */
export const problem = (status, code) => ({
  type: `urn:usher:error:${code}`,
  title: code,
  status,
  detail: code,
  code,
  request_id: "r",
});
