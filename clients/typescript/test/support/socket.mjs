// A server with a WebSocket that does what a test says, and a client that uses it.
import { WebSocket, WebSocketServer } from "ws";

import { Usher } from "../../dist/esm/index.js";
import { serve } from "./server.mjs";

/** What the service pushes for an event of a stream. */
export const push = (stream_id, { type, ...rest }) => ({ type: "event", stream_id, event_type: type, ...rest });

/** Accepts the token; whether the message was about that. */
export const authenticate = ({ id, cmd }, send) => cmd === "auth" && (send({ id, type: "success", data: {} }), true);

/**
 * HTTP requests get what `handler` says; `connection` gets each message of a WebSocket, with the number of its connection.
 * Without one there is no WebSocket.
 */
export async function withSocket({ handler, connection, options }, run) {
  const http = await serve(handler);
  let [connections, messages] = [0, 0];
  const sockets = connection && new WebSocketServer({ server: http.server, path: "/ws" });
  sockets?.on("connection", (socket) => {
    connections += 1;
    const send = (message) => socket.send(typeof message === "string" ? message : JSON.stringify(message));
    socket.on("message", (text) => {
      messages += 1;
      connection(JSON.parse(text), send, socket);
    });
  });
  const base = { url: http.url, token: "t", checkVersion: false, WebSocket: connection && WebSocket };
  const usher = new Usher({ ...base, ...options });
  try {
    await run({ usher, http, connections: () => connections, messages: () => messages });
  } finally {
    usher.close();
    sockets?.clients.forEach((socket) => socket.terminate());
    sockets?.close();
    await http.close();
  }
}
