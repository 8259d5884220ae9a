import { UsherError } from "../errors.js";
import type { Http } from "../http.js";
import { backoff, now, readerPause, sleep } from "../delays-and-deadlines.js";
import type { Cursor, Transport } from "./cursor.js";
import { readPage } from "./read-event-page.js";

/** Seconds that a long poll waits for an event. */
const WAIT = 30;

/** Reads each stream by long polls of its own. */
export class LongPolls implements Transport {
  readonly #http: Http;
  readonly #unreachableAfter: number;
  readonly #running = new Map<Cursor, AbortController>();

  constructor(http: Http, unreachableAfter: number) {
    this.#http = http;
    this.#unreachableAfter = unreachableAfter;
  }

  /** How many streams it reads. */
  get size(): number {
    return this.#running.size;
  }

  add(cursor: Cursor): void {
    const stop = new AbortController();
    this.#running.set(cursor, stop);
    void this.#run(cursor, stop.signal).finally(() => this.#running.delete(cursor));
  }

  remove(cursor: Cursor): void {
    this.#running.get(cursor)?.abort();
  }

  close(): void {
    for (const stop of this.#running.values()) stop.abort();
  }

  async #run(cursor: Cursor, signal: AbortSignal): Promise<void> {
    let lastContact = now();
    for (let failures = 0, empty = 0; !cursor.stopped; ) {
      const [begun, position] = [now(), cursor.next];
      try {
        await readPage(this.#http, cursor.streamId, cursor.next, WAIT, () => [cursor], {
          signal,
          timeout: (WAIT + 15) * 1000,
        });
        [failures, lastContact] = [0, now()];
        // Something before the service does not wait for events: no storm of requests.
        empty = cursor.next === position && lastContact - begun < 1000 ? empty + 1 : 0;
        if (empty > 0 && !cursor.stopped) await sleep(backoff(empty), signal);
      } catch (error) {
        if (signal.aborted) return;
        const temporary = error instanceof UsherError && error.temporary;
        if (!temporary || now() - lastContact >= this.#unreachableAfter) return cursor.fail(error);
        await sleep(readerPause(failures++, error.retryAfter), signal).catch(() => {});
        if (signal.aborted) return;
      }
    }
  }
}
