// How amounts, times and texts of strangers are written. Pure: tested in test/format.test.mjs.

/** Millisats of a whole bitcoin. */
const BITCOIN = 1e11;
const DAY = 86_400;

/** To make a formatter takes longer than all else about a row: each is made once. */
const formats = new Map<string, unknown>();
function once<T>(key: string, make: () => T): T {
  const known = formats.get(key) as T | undefined;
  if (known !== undefined) return known;
  const made = make();
  formats.set(key, made);
  return made;
}
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** `1,234 sat`; fractions of a sat only where there are some. */
export function sats(millisats: number, unit = true): string {
  const text = plain.format(millisats / 1000);
  return unit ? `${text} sat` : text;
}

/** About how much that is in a currency, at the price of one bitcoin. */
export function money(millisats: number, price: number, currency: string): string {
  const value = (millisats / BITCOIN) * price;
  const isSmall = value !== 0 && Math.abs(value) < 1;
  const digits = isSmall ? { maximumSignificantDigits: 2 } : {};
  return once(`${currency} ${isSmall}`, () => new Intl.NumberFormat(undefined, { style: "currency", currency, ...digits })).format(value);
}

/** Whether an amount was asked for in sats: it needs no other unit beside it. */
export const isSats = (currency: string) => ["SATS", "MILLISATS"].includes(currency.toUpperCase());

/** An amount in the unit in which it was asked for: millisats, sats, or the minor unit of a currency. */
export function amountIn(amount: number, currency: string): string {
  const unit = currency.toUpperCase();
  if (unit === "MILLISATS") return sats(amount);
  if (unit === "SATS") return sats(amount * 1000);
  const format = currencyFormat(unit);
  if (!format) return `${plain.format(amount)} ${unit}`;
  return format.format(amount / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 2));
}

/** What somebody typed, in the unit of the currency: `1.50` EUR is 150; sats are whole. Nothing if it is no such amount. */
export function parseAmount(text: string, currency: string): number | undefined {
  const unit = currency.toUpperCase();
  const digits = unit === "SATS" ? 0 : (currencyFormat(unit)?.resolvedOptions().maximumFractionDigits ?? 2);
  const plain = text.trim().replace(/[\s_']/g, "").replace(/,(?=\d{3}(\D|$))/g, "").replace(",", ".");
  if (!/^\d{1,15}(\.\d+)?$/.test(plain)) return undefined;
  const [whole = "", part = ""] = plain.split(".");
  if (part.replace(/0+$/, "").length > digits) return undefined;
  const amount = Number(whole + part.slice(0, digits).padEnd(digits, "0"));
  return amount > 0 && Number.isSafeInteger(amount) ? amount : undefined;
}

function currencyFormat(currency: string): Intl.NumberFormat | undefined {
  if (!/^[A-Z]{3}$/.test(currency)) return undefined;
  return once(currency, () => new Intl.NumberFormat(undefined, { style: "currency", currency }));
}

export const count = (number: number) => plain.format(number);

/** `1 payment`, `2 payments`. */
export const plural = (number: number, one: string, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const at = (seconds: number, options: Intl.DateTimeFormatOptions) =>
  once(JSON.stringify(options), () => new Intl.DateTimeFormat("en-GB", { ...options, hourCycle: "h23" })).format(seconds * 1000);

/** A time in the browser's zone: the hour of today, the day and hour of this year, or the date. */
export function shortTime(seconds: number, now: number): string {
  const time: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  if (Math.abs(now - seconds) < DAY && new Date(seconds * 1000).getDate() === new Date(now * 1000).getDate())
    return at(seconds, time);
  const sameYear = new Date(seconds * 1000).getFullYear() === new Date(now * 1000).getFullYear();
  return at(seconds, sameYear ? { day: "numeric", month: "short", ...time } : { dateStyle: "medium" });
}

export const fullTime = (seconds: number) => at(seconds, { dateStyle: "full", timeStyle: "long" });
export const clockTime = (seconds: number) => at(seconds, { timeStyle: "medium" });
export const dayOf = (seconds: number) => at(seconds, { weekday: "short", day: "numeric", month: "short" });

/** How long something takes or took: `4 s`, `12 min`, `3 h`, `2 d`. */
export function duration(seconds: number): string {
  const length = Math.max(0, Math.round(seconds));
  if (length < 60) return `${length} s`;
  if (length < 3600) return `${Math.round(length / 60)} min`;
  return length < 2 * DAY ? `${Math.round(length / 3600)} h` : `${Math.round(length / DAY)} d`;
}

/** `in 5 min`, `3 h ago`; `now` for what clocks cannot tell apart. */
export const relative = (seconds: number, now: number) =>
  Math.abs(seconds - now) < 3 ? "now" : seconds > now ? `in ${duration(seconds - now)}` : `${duration(now - seconds)} ago`;

/** The first second of the day, in the browser's zone, that is so many days before. */
export function startOfDay(seconds: number, daysBefore = 0): number {
  const day = new Date(seconds * 1000);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - daysBefore).getTime() / 1000;
}

/** The beginning and the end of a long id or key. */
export const short = (id: string, head = 8, tail = 4) =>
  id.length <= head + tail + 1 ? id : `${id.slice(0, head)}…${id.slice(-tail)}`;

/** Characters that reorder or hide text: a stranger's description could pretend to be something else with them. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** A text of a stranger, of which all characters can be seen. */
export const visible = (text: string) => text.replace(/\s*[\r\n\t]+\s*/g, " ").replace(HIDDEN, "\ufffd");

/** JSON, or a string of a configuration file, in which the same characters are escaped. */
export const escaped = (text: string) => text.replace(HIDDEN, (found) => (found === "\n" ? found : [...Array(found.length).keys()].map((at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")));

/** A cell of a CSV file that no spreadsheet takes for a formula. */
export const csvCell = (value: string | number | undefined | null) => {
  const text = String(value ?? "");
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
