import { UsherError } from "./errors.js";
import type { UsherEvent } from "./event-types.js";

/**
 * An event as the service sent it; `type` is its name on the WebSocket, too.
 *
 * @throws UsherError `PARSE_ERROR` when it is none.
 */
export function toEvent(value: unknown, streamId?: string): UsherEvent {
  const event = value as {
    stream_id?: unknown;
    index?: unknown;
    type?: unknown;
    timestamp?: unknown;
    data?: unknown;
  } | null;
  const stream_id = streamId ?? event?.stream_id;
  if (
    typeof event !== "object" ||
    event === null ||
    typeof stream_id !== "string" ||
    !Number.isSafeInteger(event.index) ||
    typeof event.type !== "string" ||
    typeof event.timestamp !== "number" ||
    typeof event.data !== "object" ||
    event.data === null
  ) {
    throw new UsherError("PARSE_ERROR", "this is not an event of Usher");
  }
  const { index, type, timestamp, data } = event;
  return { stream_id, index, type, timestamp, data } as UsherEvent;
}
