import { UsherError } from "../errors.js";
import type { Http } from "../http.js";
import type { Cursor, Transport } from "./cursor.js";
import { LiveFeed } from "./feed.js";
import { LongPolls } from "./poll.js";
import { now } from "../delays-and-deadlines.js";
import { SocketConnection, type SocketEnd, type WebSocketConstructor } from "./socket.js";

/** How streams are read. `auto`: over one WebSocket; where there is none, by long polls while they are few, else over the live feed. */
export type TransportName = "auto" | "websocket" | "feed" | "poll";

/** Long polls at the same time; further streams are read over one live feed. */
const MAX_POLLS = 4;
/** Milliseconds for which no WebSocket is tried after one could not be opened. */
const REST = 60_000;

/** What decides how streams are read. */
export interface HubOptions {
  transport: TransportName;
  WebSocket: WebSocketConstructor | undefined;
  /** Milliseconds without a contact after which readers fail. */
  unreachableAfter: number;
}

/** Reads all streams of a client over few connections. */
export class Hub {
  readonly #http: Http;
  readonly #options: HubOptions;
  readonly #polls: LongPolls;
  readonly #feed: LiveFeed;
  readonly #home = new Map<Cursor, Transport>();
  #sockets: SocketConnection[] = [];
  #restUntil = 0;
  #closed = false;

  constructor(http: Http, options: HubOptions) {
    this.#http = http;
    this.#options = options;
    this.#polls = new LongPolls(http, options.unreachableAfter);
    this.#feed = new LiveFeed(http, options.unreachableAfter);
  }

  /** Reads for a cursor until it has stopped or {@link forget} is called. */
  read(cursor: Cursor): void {
    if (this.#closed) return cursor.fail(closedError());
    const transport = this.#choose(cursor);
    this.#home.set(cursor, transport);
    transport.add(cursor);
  }

  /** Nobody waits for this cursor's events any more. */
  forget(cursor: Cursor): void {
    cursor.stopped = true;
    const transport = this.#home.get(cursor);
    this.#home.delete(cursor);
    transport?.remove(cursor);
  }

  /** Closes all connections; whoever reads gets an error. */
  close(): void {
    this.#closed = true;
    const cursors = [...this.#home.keys()];
    this.#home.clear();
    cursors.forEach((cursor) => cursor.fail(closedError()));
    [this.#polls, this.#feed, ...this.#sockets].forEach((transport) => transport.close());
  }

  #choose(cursor: Cursor): Transport {
    const { transport, WebSocket } = this.#options;
    if (transport === "poll") return this.#polls;
    if (transport === "feed") return this.#feed;
    if (WebSocket && now() >= this.#restUntil) {
      const socket = this.#sockets.find((open) => open.hasRoom(cursor.streamId));
      if (socket) return socket;
      const opened = new SocketConnection(this.#http, WebSocket, (cursors, end) => this.#takeBack(cursors, end));
      this.#sockets = [...this.#sockets.filter((open) => !open.over), opened];
      return opened;
    }
    return this.#polls.size < MAX_POLLS ? this.#polls : this.#feed;
  }

  /** A WebSocket is over. One that worked is replaced; where none works, HTTP is used, which also tells why. */
  #takeBack(cursors: Cursor[], end: SocketEnd): void {
    this.#sockets = this.#sockets.filter((socket) => !socket.over);
    if (end === "useless") this.#restUntil = now() + REST;
    for (const cursor of cursors) {
      if (!cursor.stopped && this.#home.delete(cursor)) this.read(cursor);
    }
  }
}

function closedError(): UsherError {
  return new UsherError("NOT_CONNECTED", "the client is closed");
}
