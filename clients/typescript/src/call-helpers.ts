import { UsherError } from "./errors.js";
import type { CallOptions, Http } from "./http.js";
import { List } from "./list.js";

/** A part of a path. */
export const segment = encodeURIComponent;

/** The query with the values that are defined. */
export function query(values: Record<string, string | number | undefined>): string {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? "" : `?${pairs.map(([name, value]) => `${name}=${segment(String(value))}`).join("&")}`;
}

/** Starts an operation: a response without a stream is none of Usher's. */
export async function started<T extends { stream_id: string }>(
  http: Http,
  path: string,
  body: object,
  options?: CallOptions,
  member: keyof T = "stream_id",
): Promise<T> {
  const response = await http.call<T>("POST", path, body, options);
  if (typeof response.stream_id === "string" && typeof response[member] === "string") return response;
  throw new UsherError("PARSE_ERROR", `POST ${path}: the response has no stream_id`);
}

/** What an endpoint lists in pages. */
export function list<P extends { next?: string | null }, I>(
  http: Http,
  path: string,
  filter: Record<string, string | number | undefined> & { after?: string },
  options: CallOptions | undefined,
  items: (page: P) => I[],
): List<P, I> {
  const page = (after: string | undefined) =>
    http.call<P>("GET", path + query({ ...filter, after }), undefined, options);
  return new List(page, items, (page) => page.next, filter.after);
}

/** `null` for what is not there. */
export async function orNull<T>(response: Promise<T>): Promise<T | null> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof UsherError && error.problem?.code === "profile_not_found") return null;
    throw error;
  }
}
