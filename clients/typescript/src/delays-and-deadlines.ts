import type { UsherError } from "./errors.js";

/** The longest time of a timer: longer ones would fire at once. */
const LONGEST = 2 ** 31 - 1;
/** The longest pause of a reader, in milliseconds, whatever the service demands. */
const LONGEST_PAUSE = 60_000;

/** Milliseconds of a clock that nobody sets. */
export const now = (): number => performance.now();

/** Waits, or throws the reason of the signal. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", stop);
        resolve();
      },
      Math.min(milliseconds, LONGEST),
    );
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The pause before attempt `attempt` (from 0) is repeated: from 250 ms to 10 s, up to half of it at random. */
export function backoff(attempt: number): number {
  const longest = Math.min(250 * 2 ** Math.min(attempt, 10), 10_000);
  return longest * (1 - Math.random() / 2);
}

/** The pause before a reader tries again: `retryAfter` seconds if the service demands them, but at most a minute. */
export function readerPause(attempt: number, retryAfter: unknown): number {
  const demanded = typeof retryAfter === "number" && retryAfter > 0 ? retryAfter * 1000 : 0;
  return Math.min(Math.max(backoff(attempt), demanded), LONGEST_PAUSE);
}

/** The end of a call: when its time has passed, or when the caller aborts it. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #end: number;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #caller: AbortSignal | undefined;
  readonly #stop: () => void;

  /** `timeout` in milliseconds; without one, only the caller's signal ends it. `late` is the error once it has passed. */
  constructor(signal: AbortSignal | undefined, timeout: number | undefined, late: (timeout: number) => UsherError) {
    if (timeout !== undefined && !(timeout >= 0)) throw new TypeError("timeout must be a number of milliseconds");
    this.#caller = signal;
    this.#stop = () => this.#controller.abort(signal?.reason);
    this.#end = timeout === undefined ? Infinity : now() + timeout;
    if (signal?.aborted) this.#stop();
    signal?.addEventListener("abort", this.#stop, { once: true });
    if (timeout !== undefined && timeout <= LONGEST) {
      this.#timer = setTimeout(() => {
        this.#controller.abort(late(timeout));
      }, timeout);
    }
  }

  /** Aborts with the caller's reason, or when the time has passed. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds that are left. */
  get left(): number {
    return this.#end - now();
  }

  /** The call is over: releases the timer and the caller's signal. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#stop);
  }
}
