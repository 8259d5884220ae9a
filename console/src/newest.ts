// The audit log and webhook deliveries are listed from the oldest on. This reads the newest first.
import { get } from "./api.ts";
import type { Schemas } from "./types.ts";

/** Entries of the audit log that are read at once. */
const ENTRIES = 200;

/** The entries of the audit log before a number, or the last ones; the newest first. */
export async function newestEntries(before: number | undefined, signal?: AbortSignal): Promise<Schemas["AuditEntry"][]> {
  const read = (after: number, limit: number) => get<Schemas["AuditLog"]>(`/audit?after=${after}&limit=${limit}`, signal);
  const end = before ?? Number((await read(0, 1)).head?.split(":")[0] ?? 0) + 1;
  if (end <= 1) return [];
  const after = Math.max(0, end - 1 - ENTRIES);
  // What came since the number was read is among the last ones.
  const { entries } = await read(after, before === undefined ? 1000 : end - 1 - after);
  return entries.reverse();
}

/** The place in a list by stream id (UUIDv7) at which those of a time begin. */
export function streamsFrom(seconds: number): string {
  const hex = Math.max(0, Math.floor(seconds * 1000)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** The place in such a list after which a stream comes. */
export function justBefore(stream: string): string {
  const hex = stream.replaceAll("-", "");
  const before = /^[0-9a-f]{32}$/i.test(hex) ? (BigInt(`0x${hex}`) - 1n).toString(16).padStart(32, "0") : "0".repeat(32);
  return before.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A list with the newest first, whatever its order was. */
export const newestFirst = <T>(items: T[], at: (item: T) => number) => [...items].sort((one, other) => at(other) - at(one));
