/** A list that the service returns in pages. `await` gives the first page; `for await` goes through the items of all. */
export class List<P, I> implements PromiseLike<P>, AsyncIterable<I> {
  readonly #page: (after: string | undefined) => Promise<P>;
  readonly #items: (page: P) => I[];
  readonly #next: (page: P) => string | null | undefined;
  readonly #after: string | undefined;
  #first: Promise<P> | undefined;

  constructor(
    page: (after: string | undefined) => Promise<P>,
    items: (page: P) => I[],
    next: (page: P) => string | null | undefined,
    after: string | undefined,
  ) {
    this.#page = page;
    this.#items = items;
    this.#next = next;
    this.#after = after;
  }

  then<T = P, F = never>(
    resolve?: ((page: P) => T | PromiseLike<T>) | null,
    reject?: ((error: unknown) => F | PromiseLike<F>) | null,
  ): Promise<T | F> {
    this.#first ??= this.#page(this.#after);
    return this.#first.then(resolve, reject);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<I, void, undefined> {
    for (let after = this.#after; ; ) {
      const page = await this.#page(after);
      yield* this.#items(page);
      const next = this.#next(page);
      // The page after a page is never itself.
      if (next === null || next === undefined || next === after) return;
      after = next;
    }
  }
}
