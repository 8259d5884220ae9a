import { UsherError } from "../errors.js";
import type { UsherEvent } from "../event-types.js";

/** What becomes of the events that a {@link Cursor} passes on. */
export interface Sink {
  /** The next event; none is left out, repeated or out of order. */
  event(event: UsherEvent): void;
  /** The stream has ended. */
  done(): void;
  /** The stream cannot be read. */
  fail(error: unknown): void;
}

/** A reader's position in a stream. It outlives connections: whatever a connection repeats or misses, it notices. */
export class Cursor {
  readonly streamId: string;
  /** The index of the next event. */
  next: number;
  /** No transport may read for it any more. */
  stopped = false;
  readonly #sink: Sink;
  /** It began at 0 and has read nothing: it begins at the first event that is left. */
  #fresh: boolean;

  constructor(streamId: string, after: number, sink: Sink) {
    this.streamId = streamId;
    this.next = after;
    this.#sink = sink;
    this.#fresh = after === 0;
  }

  /** Takes an event; `false` when events before it are missing. */
  offer(event: UsherEvent): boolean {
    if (this.stopped || event.index < this.next) return true;
    if (event.index > this.next) return false;
    this.next = event.index + 1;
    this.#fresh = false;
    this.#sink.event(event);
    return true;
  }

  /** Events before `first` were removed. */
  skipTo(first: number): void {
    if (this.stopped || first <= this.next) return;
    if (this.#fresh) this.next = first;
    else {
      const detail = `the events before ${first} were removed`;
      const problem = {
        type: "urn:usher:error:events_removed",
        title: "Events were removed",
        status: 410,
        code: "events_removed",
        detail,
        request_id: "",
        first,
      } as const;
      this.fail(
        new UsherError("SERVER_ERROR", `stream ${this.streamId}: events_removed: ${detail}`, {
          problem,
          httpStatus: 410,
        }),
      );
    }
  }

  /** The stream has ended before `next`; `false` when the cursor has not got there. */
  end(next: number): boolean {
    if (this.stopped) return true;
    if (this.next < next) return false;
    this.stopped = true;
    this.#sink.done();
    return true;
  }

  /** The stream cannot be read. */
  fail(error: unknown): void {
    if (this.stopped) return;
    this.stopped = true;
    this.#sink.fail(error);
  }
}

/** Cursors by stream: a connection reads each stream once, from the position of the cursor that is furthest behind. */
export class CursorTable {
  readonly #streams = new Map<string, Set<Cursor>>();

  /** How many streams there are. */
  get size(): number {
    return this.#streams.size;
  }

  has(streamId: string): boolean {
    return this.#streams.has(streamId);
  }

  of(streamId: string): Cursor[] {
    return [...(this.#streams.get(streamId) ?? [])];
  }

  all(): Cursor[] {
    return [...this.#streams.values()].flatMap((cursors) => [...cursors]);
  }

  streams(): string[] {
    return [...this.#streams.keys()];
  }

  add(cursor: Cursor): void {
    const cursors = this.#streams.get(cursor.streamId);
    if (cursors) cursors.add(cursor);
    else this.#streams.set(cursor.streamId, new Set([cursor]));
  }

  /** Removes a cursor; `true` when it was the last one of its stream. */
  remove(cursor: Cursor): boolean {
    const cursors = this.#streams.get(cursor.streamId);
    if (!cursors?.delete(cursor) || cursors.size > 0) return false;
    return this.#streams.delete(cursor.streamId);
  }

  /** Removes all. */
  clear(): Cursor[] {
    const cursors = this.all();
    this.#streams.clear();
    return cursors;
  }

  /** Where to read a stream from. */
  next(streamId: string): number {
    return Math.min(...this.of(streamId).map((cursor) => cursor.next));
  }
}

/** Reads streams for cursors. */
export interface Transport {
  add(cursor: Cursor): void;
  remove(cursor: Cursor): void;
  close(): void;
}
