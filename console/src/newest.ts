// The API lists the oldest first. This reads the newest first: by windows of time, and by numbers.
import { get, withQuery } from "./api.ts";
import type { Payment, Schemas } from "./types.ts";

const PAGE = 1000;
/** Seconds of the first window; each earlier one is four times as long. */
const FIRST_WINDOW = 4 * 3600;
const LONGEST_WINDOW = 90 * 86_400;
/** Fewer rows than this, and the window before is read too. */
const ENOUGH = 50;

export interface Books {
  payments: Payment[];
  /** Unix seconds up to which all is read: the rest is before. `null`: all is read. */
  reached: number | null;
}

/** Reads payments from `to` backwards, at least about fifty, none before `from`. */
export async function newestPayments(from: number, to: number, status: string, signal?: AbortSignal): Promise<Books> {
  const payments: Payment[] = [];
  let end = to;
  for (let length = FIRST_WINDOW; end > from && payments.length < ENOUGH; length *= 4) {
    const begin = length > LONGEST_WINDOW ? from : Math.max(from, end - length);
    const window = await paymentsOf(begin, end, status, signal);
    payments.push(...window.payments.reverse());
    end = window.begin;
  }
  return { payments, reached: end > from ? end : null };
}

/** All payments of a window, or of its later part if there are very many. */
async function paymentsOf(from: number, to: number, status: string, signal?: AbortSignal): Promise<{ payments: Payment[]; begin: number }> {
  for (let begin = from; ; begin = Math.ceil((begin + to) / 2)) {
    const path = withQuery("/payments", { from: begin, to, status, limit: PAGE });
    const page = await get<Schemas["PaymentList"]>(path, signal);
    if (!page.next || to - begin <= 1) return { payments: page.payments, begin };
  }
}

/** The entries of the audit log before a number, or the last ones; the newest first. */
export async function newestEntries(before: number | undefined, signal?: AbortSignal): Promise<Schemas["AuditEntry"][]> {
  const read = async (after: number, limit = PAGE) =>
    (await get<Schemas["AuditLog"]>(`/audit?after=${after}&limit=${limit}`, signal)).entries;
  if (before !== undefined) {
    const after = Math.max(0, before - 1 - 200);
    return (await read(after, before - 1 - after)).reverse();
  }
  // Numbers have no gaps: the last page is found by doubling, and by halving.
  let low = 0;
  let entries = await read(0);
  for (let high = PAGE; entries.length === PAGE; high *= 2) {
    const later = await read(high);
    if (later.length === 0) {
      entries = await lastBetween(low, high, read);
      break;
    }
    low = high;
    entries = later;
  }
  return entries.reverse();
}

async function lastBetween(low: number, high: number, read: (after: number) => Promise<Schemas["AuditEntry"][]>) {
  let entries = await read(low);
  while (entries.length === PAGE && high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const found = await read(middle);
    if (found.length === 0) high = middle;
    else [low, entries] = [middle, found];
  }
  return entries;
}

/** The place in a list by stream id (UUIDv7) at which those of a time begin. */
export function streamsFrom(seconds: number): string {
  const hex = Math.max(0, Math.floor(seconds * 1000)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** A list with the newest first, whatever its order was. */
export const newestFirst = <T>(items: T[], at: (item: T) => number) => [...items].sort((one, other) => at(other) - at(one));
