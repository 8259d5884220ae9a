// 1,000 operations awaited at once by one client, over one connection and without polling.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { WebSocket } from "ws";
import { OperationError, Usher } from "../dist/esm/index.js";
import { TIMEOUT, Service } from "./support/service.mjs";

const MANY = 1000;
let service;
// Handshakes that nobody opens: each stream gets its event when the time is over.
before(async () => (service = await Service.start("[handshake]\nttl_seconds = 10")));
after(() => service?.stop());

for (const transport of ["websocket", "feed"]) {
  test(`${MANY} operations at once by ${transport}`, async () => {
    let [sockets, reads, feeds] = [0, 0, 0];
    class Counted extends WebSocket {
      constructor(...args) {
        super(...args);
        sockets += 1;
      }
    }
    const counted = (url, init) => {
      const { pathname } = new URL(url);
      if (pathname === "/events") feeds += 1;
      else if (pathname.startsWith("/events/")) reads += 1;
      return fetch(url, init);
    };
    const usher = new Usher({
      url: service.url,
      token: service.token,
      transport,
      WebSocket: Counted,
      fetch: counted,
      checkVersion: false,
    });
    const results = [];
    for (let started = 0; started < MANY; started += 50) {
      const batch = await Promise.all(Array.from({ length: 50 }, () => usher.keyHandshake()));
      results.push(...batch.map((operation) => operation.result({ timeout: 2 * TIMEOUT }).catch((error) => error)));
    }
    for (const error of await Promise.all(results)) {
      assert.ok(error instanceof OperationError, String(error));
      assert.equal(error.status, "timeout");
    }
    if (transport === "websocket") assert.deepEqual([sockets, reads, feeds], [1, 0, 0]);
    // A page when the reading begins, one that tells that the stream has ended, few for what the feed showed out of order:
    // however long the operations take, there are no more.
    else
      assert.ok(
        sockets === 0 && feeds === 1 && reads <= 3 * MANY,
        `${sockets} sockets, ${feeds} feeds, ${reads} reads`,
      );
    usher.close();
  });
}
