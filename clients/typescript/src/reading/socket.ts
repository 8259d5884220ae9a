import type { Problem } from "../errors.js";
import { toEvent } from "../event-parser.js";
import { type Http, problemError } from "../http.js";
import { now, readerPause } from "../delays-and-deadlines.js";
import { type Cursor, CursorTable, type Transport } from "./cursor.js";

/** Streams that the service lets one connection watch. */
export const MAX_STREAMS = 1000;
/** Milliseconds until a connection must be authenticated; and until a ping must be answered. */
const TIMEOUT = 15_000;
/** Milliseconds of silence after which the connection is tested. */
const SILENCE = 30_000;
/** Milliseconds that a connection without streams stays open: often the next operation follows. */
const IDLE = 1000;

/** The part of `WebSocket` that is used. */
export type WebSocketConstructor = new (url: string) => {
  send(data: string): void;
  close(code?: number): void;
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: { data: unknown } & never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
};

interface Message {
  id?: string;
  type?: string;
  stream_id?: string;
  event_type?: string;
  next?: number;
  data?: { first?: number };
  error?: Problem;
  retry_after?: number;
}

/** How a connection ended: we closed it, it broke after a while, or it was of no use. */
export type SocketEnd = "closed" | "broken" | "useless";

/**
 * Reads up to {@link MAX_STREAMS} streams over one WebSocket. When it breaks, or cannot be opened, it hands its cursors
 * back: whoever takes them continues at their positions.
 */
export class SocketConnection implements Transport {
  readonly #http: Http;
  readonly #cursors = new CursorTable();
  readonly #handBack: (cursors: Cursor[], end: SocketEnd) => void;
  #socket: InstanceType<WebSocketConstructor> | undefined;
  /** When it was authenticated. */
  #openSince: number | undefined;
  #over = false;
  #ids = 0;
  /** The newest `subscribe` of each stream, until it has a response. What comes before it is of an older one. */
  readonly #subscribing = new Map<string, string>();
  /** Where events were missing in each stream. */
  readonly #missing = new Map<string, number>();
  /** Timers of streams that are subscribed to again later. */
  readonly #later = new Set<ReturnType<typeof setTimeout>>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  /** `handBack` gets the cursors when the connection is over. */
  constructor(http: Http, WebSocket: WebSocketConstructor, handBack: (cursors: Cursor[], end: SocketEnd) => void) {
    this.#http = http;
    this.#handBack = handBack;
    void this.#connect(WebSocket);
  }

  get over(): boolean {
    return this.#over;
  }

  /** Whether it can read this stream, too. */
  hasRoom(streamId: string): boolean {
    return !this.#over && (this.#cursors.size < MAX_STREAMS || this.#cursors.has(streamId));
  }

  add(cursor: Cursor): void {
    clearTimeout(this.#idle);
    this.#cursors.add(cursor);
    if (this.#openSince !== undefined) this.#subscribe(cursor.streamId);
  }

  remove(cursor: Cursor): void {
    if (!this.#cursors.remove(cursor)) return;
    this.#subscribing.delete(cursor.streamId);
    this.#missing.delete(cursor.streamId);
    if (this.#openSince !== undefined) this.#send("unsubscribe", { stream_id: cursor.streamId });
    if (this.#cursors.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.close(), IDLE);
  }

  close(): void {
    this.#end("closed");
  }

  async #connect(WebSocket: WebSocketConstructor): Promise<void> {
    this.#expectWithin(TIMEOUT);
    try {
      // Browsers cannot set headers, and an address may be logged: the token is the first message.
      const token = await this.#http.token();
      if (this.#over) return;
      const socket = new WebSocket(this.#http.address("/ws", "ws"));
      this.#socket = socket;
      socket.onopen = () => this.#send("auth", { token });
      socket.onmessage = ({ data }) => this.#receive(data);
      socket.onclose = () => this.#end();
      socket.onerror = () => this.#end();
    } catch {
      // Whoever takes the cursors finds the same error, with its cause.
      this.#end();
    }
  }

  #send(cmd: string, params?: object): string {
    const id = String(++this.#ids);
    try {
      this.#socket?.send(JSON.stringify({ id, cmd, ...(params && { params }) }));
    } catch {
      this.#end();
    }
    return id;
  }

  #subscribe(stream: string): void {
    if (this.#openSince === undefined || !this.#cursors.has(stream)) return;
    this.#subscribing.set(stream, this.#send("subscribe", { stream_id: stream, after: this.#cursors.next(stream) }));
  }

  #subscribeLater(stream: string, seconds: unknown): void {
    const timer = setTimeout(
      () => {
        this.#later.delete(timer);
        this.#subscribe(stream);
      },
      readerPause(3, seconds),
    );
    this.#later.add(timer);
  }

  /** Events are missing: asks for them, once. */
  #catchUp(stream: string): void {
    if (this.#subscribing.has(stream)) return;
    const next = this.#cursors.next(stream);
    if (this.#missing.get(stream) === next) return this.#end("useless");
    this.#missing.set(stream, next);
    this.#subscribe(stream);
  }

  #receive(data: unknown): void {
    if (this.#over) return;
    this.#expectWithin();
    try {
      const message = JSON.parse(String(data)) as Message;
      if (message.type === "event") this.#event(message);
      else this.#answer(message);
    } catch {
      // Not the service, or not its protocol.
      this.#end("useless");
    }
  }

  #answer(message: Message): void {
    let stream = message.stream_id;
    if (message.id !== undefined) {
      stream = [...this.#subscribing].find(([, id]) => id === message.id)?.[0];
      if (stream !== undefined) this.#subscribing.delete(stream);
    }
    if (this.#openSince === undefined) {
      if (message.type !== "success") return this.#end();
      this.#openSince = now();
      return this.#cursors.streams().forEach((waiting) => this.#subscribe(waiting));
    }
    if (stream === undefined) return;
    const cursors = this.#cursors.of(stream);
    if (message.type === "success") {
      const first = message.data?.first;
      if (Number.isSafeInteger(first)) cursors.forEach((cursor) => cursor.skipTo(first as number));
    } else if (message.type === "done") {
      const ended = cursors.map((cursor) => cursor.end(message.next ?? 0)).every(Boolean);
      if (!ended) this.#catchUp(stream);
    } else if (message.error) {
      const error = problemError(message.error, `stream ${stream}`);
      if (error.temporary) this.#subscribeLater(stream, message.retry_after);
      else cursors.forEach((cursor) => cursor.fail(error));
    }
  }

  #event(message: Message): void {
    const event = toEvent({ ...message, type: message.event_type });
    const complete = this.#cursors
      .of(event.stream_id)
      .map((cursor) => cursor.offer(event))
      .every(Boolean);
    if (!complete) this.#catchUp(event.stream_id);
  }

  /** Ends the connection unless something is received: by default, what a ping brings after a silence. */
  #expectWithin(milliseconds?: number): void {
    clearTimeout(this.#timer);
    if (milliseconds !== undefined) return void (this.#timer = setTimeout(() => this.#end(), milliseconds));
    this.#timer = setTimeout(() => {
      this.#expectWithin(TIMEOUT);
      this.#send("ping");
    }, SILENCE);
  }

  #end(end?: SocketEnd): void {
    if (this.#over) return;
    this.#over = true;
    [this.#timer, this.#idle, ...this.#later].forEach(clearTimeout);
    if (this.#socket) {
      // An error after this is nobody's business; without a handler some runtimes would raise it.
      this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
      this.#socket.onerror = () => {};
      try {
        this.#socket.close();
      } catch {
        // It was not open.
      }
    }
    // One that breaks at once would break again at once.
    const worked = this.#openSince !== undefined && now() - this.#openSince >= IDLE;
    this.#handBack(this.#cursors.clear(), end ?? (worked ? "broken" : "useless"));
  }
}
