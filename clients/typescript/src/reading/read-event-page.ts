import { UsherError } from "../errors.js";
import { toEvent } from "../event-parser.js";
import type { CallOptions, Http } from "../http.js";
import type { Cursor } from "./cursor.js";

/** Where a page ends. */
interface Page {
  next: number;
  done: boolean;
}

/** Reads a page of a stream from `after` and gives it to `cursors`. `wait`: seconds that the service may wait for an event. */
export async function readPage(
  http: Http,
  streamId: string,
  after: number,
  wait: number,
  cursors: () => Cursor[],
  options: CallOptions,
): Promise<Page> {
  const path = `/events/${encodeURIComponent(streamId)}?after=${after}${wait > 0 ? `&wait=${wait}` : ""}`;
  const page = await http.call<{ events?: unknown; next?: unknown; done?: unknown; first?: unknown }>(
    "GET",
    path,
    undefined,
    options,
  );
  const { events, next, done, first } = page;
  if (!Array.isArray(events) || !Number.isSafeInteger(next) || typeof done !== "boolean") {
    throw new UsherError("PARSE_ERROR", `GET ${path}: the response is not a page of events`);
  }
  const read = events.map((event) => toEvent(event, streamId));
  const begin = Number.isSafeInteger(first) ? Math.max(first as number, after) : after;
  const end = read.reduce((end, { index }) => (index === end ? end + 1 : index < end ? end : NaN), begin);
  // A page is what a stream is: to ask again would bring the same.
  if (Number.isNaN(end) || (done && (next as number) > end))
    throw new UsherError("PARSE_ERROR", `GET ${path}: events are missing`);
  for (const cursor of cursors()) {
    if (begin > after) cursor.skipTo(begin);
    for (const event of read) cursor.offer(event);
    if (done) cursor.end(next as number);
  }
  return { next: end, done };
}
