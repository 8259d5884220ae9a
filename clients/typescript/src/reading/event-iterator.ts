import { UsherError } from "../errors.js";
import type { UsherEvent } from "../event-types.js";
import { Deadline } from "../delays-and-deadlines.js";
import { Cursor } from "./cursor.js";
import type { Hub } from "./hub.js";

/** Events that wait for a slow reader; reading stops until it has taken them. */
const MAX_WAITING = 500;

/** How to read events. */
export interface ReadOptions {
  /** The index of the first event: one more than that of the last event that you have handled. Default 0: all. */
  after?: number | undefined;
  /** Ends the reading; it then throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which it throws `RESULT_TIMEOUT`. By default it waits for as long as the operation takes. */
  timeout?: number | undefined;
}

/** The events of a stream, as they happen, each once and in order, over however many connections. */
export class EventIterator<E extends UsherEvent> implements AsyncIterableIterator<E> {
  readonly #hub: Hub;
  readonly #streamId: string;
  readonly #deadline: Deadline;
  readonly #waiting: UsherEvent[] = [];
  readonly #readers: { resolve: (result: IteratorResult<E>) => void; reject: (error: unknown) => void }[] = [];
  #cursor: Cursor | undefined;
  #next: number;
  #end: { error?: unknown } | undefined;

  constructor(hub: Hub, streamId: string, options: ReadOptions = {}) {
    const after = options.after ?? 0;
    if (!Number.isSafeInteger(after) || after < 0) throw new TypeError("after must be an index: an integer from 0");
    this.#hub = hub;
    this.#streamId = streamId;
    this.#next = after;
    this.#deadline = new Deadline(options.signal, options.timeout, (timeout) => {
      return new UsherError("RESULT_TIMEOUT", `stream ${streamId}: not at its end within ${timeout} ms`);
    });
    const { signal } = this.#deadline;
    const stop = () => this.#finish({ error: signal.reason });
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<E>> {
    const event = this.#waiting.shift();
    if (event) {
      return Promise.resolve({ done: false, value: event as E });
    }
    if (this.#end) {
      const end = this.#end;
      this.#end = {};
      return "error" in end ? Promise.reject(end.error) : Promise.resolve({ done: true, value: undefined });
    }
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#read();
    });
  }

  /** Ends the reading. */
  return(): Promise<IteratorResult<E>> {
    this.#waiting.length = 0;
    this.#finish({});
    this.#end = {};
    return Promise.resolve({ done: true, value: undefined });
  }

  #read(): void {
    if (this.#cursor) return;
    this.#cursor = new Cursor(this.#streamId, this.#next, {
      event: (event) => this.#take(event),
      done: () => this.#finish({}),
      fail: (error) => this.#finish({ error }),
    });
    this.#hub.read(this.#cursor);
  }

  #take(event: UsherEvent): void {
    this.#next = event.index + 1;
    const reader = this.#readers.shift();
    if (reader) return reader.resolve({ done: false, value: event as E });
    this.#waiting.push(event);
    // The reader is slow. The rest stays with the service until it has read these.
    if (this.#waiting.length >= MAX_WAITING) this.#stop();
  }

  #stop(): void {
    const cursor = this.#cursor;
    this.#cursor = undefined;
    if (cursor) this.#hub.forget(cursor);
  }

  #finish(end: { error?: unknown }): void {
    if (this.#end) return;
    this.#end = end;
    this.#deadline.dispose();
    this.#stop();
    const [first, ...rest] = this.#readers.splice(0);
    if (!first) return;
    this.#end = {};
    if ("error" in end) first.reject(end.error);
    else first.resolve({ done: true, value: undefined });
    rest.forEach((reader) => reader.resolve({ done: true, value: undefined }));
  }
}
