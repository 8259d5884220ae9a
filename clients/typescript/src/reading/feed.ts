import { UsherError } from "../errors.js";
import { toEvent } from "../event-parser.js";
import { meaningOf, type UsherEvent } from "../event-types.js";
import type { Http } from "../http.js";
import { backoff, now, readerPause, sleep } from "../delays-and-deadlines.js";
import { type Cursor, CursorTable, type Transport } from "./cursor.js";
import { readPage } from "./read-event-page.js";

/** Milliseconds without a byte after which the feed is dead: the service sends a comment every 15 s. */
const SILENCE = 45_000;
/** Milliseconds within which a feed that ends was of no use. */
const SHORT = 10_000;
/** Events of a full page. */
const PAGE = 1000;
/** Pages that are read at the same time. */
const PARALLEL = 8;
/** The longest event: beyond this, it is not the service that sends. */
const LONGEST = 4 * 1024 * 1024;

/**
 * Reads any number of streams over one connection: the live feed of all streams (`GET /events`).
 *
 * The feed keeps no position. So it is a hint: a stream is also read by a page when it is added, when an event before
 * the one that the feed shows is missing, when an event may have been the last, and when the feed begins anew.
 */
export class LiveFeed implements Transport {
  readonly #http: Http;
  readonly #unreachableAfter: number;
  readonly #cursors = new CursorTable();
  /** Streams to read a page of. */
  readonly #pages = new Set<string>();
  readonly #reading = new Set<string>();
  #feed: AbortController | undefined;
  #lastContact = 0;

  constructor(http: Http, unreachableAfter: number) {
    this.#http = http;
    this.#unreachableAfter = unreachableAfter;
  }

  add(cursor: Cursor): void {
    this.#cursors.add(cursor);
    if (this.#feed) return this.#readPage(cursor.streamId);
    this.#feed = new AbortController();
    void this.#run(this.#feed.signal);
  }

  remove(cursor: Cursor): void {
    this.#cursors.remove(cursor);
    if (this.#cursors.size === 0) this.close();
  }

  close(): void {
    this.#feed?.abort();
    this.#feed = undefined;
    this.#pages.clear();
  }

  /** Reads the feed, and begins it anew when it ends, until it is closed. */
  async #run(closed: AbortSignal): Promise<void> {
    this.#lastContact = now();
    for (let failures = 0; !closed.aborted; ) {
      const begun = now();
      try {
        await this.#read(closed);
        // One that ends at once would end at once again.
        failures = now() - begun < SHORT ? failures + 1 : 0;
        await sleep(backoff(failures), closed);
      } catch (error) {
        if (closed.aborted) return;
        if (now() - begun >= SHORT) failures = 0;
        const temporary = error instanceof UsherError && error.temporary;
        if (!temporary || now() - this.#lastContact >= this.#unreachableAfter) return this.#failAll(error);
        // Full, but not away: until there is room, pages say what happened.
        if (error.code === "SERVER_ERROR") this.#readAllPages();
        await sleep(readerPause(failures++, error.retryAfter), closed).catch(() => {});
      }
    }
  }

  /** Reads the feed to its end. */
  async #read(closed: AbortSignal): Promise<void> {
    const connection = new AbortController();
    const stop = () => connection.abort();
    closed.addEventListener("abort", stop, { once: true });
    let silence = setTimeout(stop, SILENCE);
    let isOpen = false;
    try {
      const response = await this.#http.open("/events", "text/event-stream", connection.signal);
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const decoder = new TextDecoder();
      isOpen = true;
      // From here on the feed shows what happens, and the pages what happened before.
      this.#readAllPages();
      for (let text = ""; ; ) {
        const { done, value } = await reader.read();
        if (done) return;
        this.#lastContact = now();
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE);
        const blocks = (text + decoder.decode(value, { stream: true })).split("\n\n");
        text = blocks.pop() ?? "";
        if (text.length > LONGEST) throw new UsherError("PARSE_ERROR", "GET /events: an event without end");
        blocks.forEach((block) => this.#block(block));
      }
    } catch (error) {
      // Before there is a connection, it is not the connection that failed, but for example the app's `token` function.
      if (error instanceof UsherError || (!isOpen && !connection.signal.aborted)) throw error;
      throw new UsherError("CONNECTION_CLOSED", "GET /events: the connection broke", { cause: error, temporary: true });
    } finally {
      connection.abort();
      clearTimeout(silence);
      closed.removeEventListener("abort", stop);
    }
  }

  /** A server-sent event. */
  #block(block: string): void {
    const lines = block.split("\n");
    const data = lines
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice(6))
      .join("\n");
    if (data === "") return;
    if (lines.includes("event: missed")) return this.#readAllPages();
    let event: UsherEvent;
    try {
      event = toEvent(JSON.parse(data));
    } catch {
      // The pages tell what this was.
      return this.#readAllPages();
    }
    const cursors = this.#cursors.of(event.stream_id);
    const complete = cursors.map((cursor) => cursor.offer(event)).every(Boolean);
    // Only a page tells that a stream has ended. A handshake may end with its first event.
    const mayEnd = event.type === "KeyHandshake" || meaningOf(event) !== "progress";
    if (cursors.length > 0 && (!complete || mayEnd)) this.#readPage(event.stream_id);
  }

  #readAllPages(): void {
    this.#cursors.streams().forEach((stream) => this.#readPage(stream));
  }

  /** Reads a page of the stream soon. */
  #readPage(stream: string): void {
    this.#pages.add(stream);
    while (this.#reading.size < PARALLEL) {
      const next = [...this.#pages].find((waiting) => !this.#reading.has(waiting));
      if (next === undefined) return;
      this.#pages.delete(next);
      this.#reading.add(next);
      void this.#page(next).finally(() => {
        this.#reading.delete(next);
        const waiting = this.#pages.values().next();
        if (!waiting.done) this.#readPage(waiting.value);
      });
    }
  }

  async #page(stream: string): Promise<void> {
    const feed = this.#feed?.signal;
    if (!feed || !this.#cursors.has(stream)) return;
    try {
      const after = this.#cursors.next(stream);
      const page = await readPage(this.#http, stream, after, 0, () => this.#cursors.of(stream), { signal: feed });
      // A full page: there are more.
      if (!page.done && page.next - after >= PAGE && this.#cursors.has(stream)) this.#pages.add(stream);
    } catch (error) {
      if (feed.aborted) return;
      if (!(error instanceof UsherError && error.temporary))
        return this.#cursors.of(stream).forEach((cursor) => cursor.fail(error));
      await sleep(backoff(4), feed).catch(() => {});
      if (!feed.aborted) this.#pages.add(stream);
    }
  }

  #failAll(error: unknown): void {
    this.close();
    this.#cursors.clear().forEach((cursor) => cursor.fail(error));
  }
}
