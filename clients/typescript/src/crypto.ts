/** Web Crypto, which Node 18 has only as a module. */
let found: Promise<Crypto> | undefined;

export function webCrypto(): Promise<Crypto> {
  found ??= globalThis.crypto?.subtle
    ? Promise.resolve(globalThis.crypto)
    : // Not a literal, so that bundlers for runtimes without Node's modules leave it alone.
      import(["node", "crypto"].join(":")).then((module: { webcrypto: Crypto }) => module.webcrypto);
  return found;
}

/** A random UUID. */
export async function randomId(): Promise<string> {
  return (await webCrypto()).randomUUID();
}

/** SHA-256. */
export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await (await webCrypto()).subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>));
}

/** HMAC-SHA256. */
export async function hmacSha256(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const { subtle } = await webCrypto();
  const imported = await subtle.importKey(
    "raw",
    key as Uint8Array<ArrayBuffer>,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  return new Uint8Array(await subtle.sign("HMAC", imported, message as Uint8Array<ArrayBuffer>));
}

/** Whether two byte strings are equal, in a time that depends on their lengths only. */
export function equalInConstantTime(a: Uint8Array, b: Uint8Array): boolean {
  let different = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) different |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return different === 0;
}

/** Text as UTF-8. */
export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Bytes as lower-case hex. */
export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The bytes of hex of either case; `undefined` when it is none. */
export function fromHex(text: string): Uint8Array | undefined {
  if (!/^([0-9a-f]{2})*$/i.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

/** Bytes as base64. */
export const toBase64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** The bytes of base64, padded or not; `undefined` when it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** The bytes of base64url without padding; `undefined` when it is none, or not the only text for these bytes. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  // Two or three letters at the end have unused bits, which must be zero: a token has one text.
  const unused = { 2: /[AQgw]$/, 3: /[AEIMQUYcgkosw048]$/ }[text.length % 4];
  if (unused?.test(text) === false) return undefined;
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}
