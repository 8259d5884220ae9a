import { equalInConstantTime, fromBase64Url, fromHex, sha256, toHex, utf8 } from "./crypto.js";
import { UsherError } from "./errors.js";
import { isPublicKey, verifyEcdsa } from "./secp256k1-ecdsa.js";

/** Seconds by which the issuer's clock may be ahead, as for `POST /jwt/verify`. */
const LEEWAY = 30;
/** The longest token, in characters. */
const LONGEST = 8 * 1024;
/** Arrays and objects within each other, in the header and in the claims. */
const DEEPEST = 127;

/** What a JWT says. */
export interface JwtClaims {
  /** The key that it is about. */
  target_key: string;
  /** Unix seconds from which it is no longer valid. */
  exp: number;
  iat?: number;
  nbf?: number;
}

/** A JWT is not valid: `jwt_expired` when nothing but its time is wrong, otherwise `jwt_invalid`. */
export class JwtError extends UsherError {
  override readonly name = "JwtError";
  /** As the code of the problem with which `POST /jwt/verify` responds. */
  readonly reason: "jwt_invalid" | "jwt_expired";

  constructor(reason: "jwt_invalid" | "jwt_expired", message: string) {
    super("AUTH_FAILED", message);
    this.reason = reason;
  }
}

const invalid = (why: string) => new JwtError("jwt_invalid", `the JWT is not valid: ${why}`);

/** The texts, with the colon after a name, the brackets and the numbers of JSON. */
const JSON_TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|[[{]|[\]}]|-?\d[^\s,\]}]*/g;

/** Whether the service refuses JSON that `JSON.parse` takes. */
function isRefused(json: string): boolean {
  const names = new Set<string>();
  let depth = 0;
  for (const [token, text, colon] of json.matchAll(JSON_TOKENS)) {
    if (text !== undefined) {
      const value = JSON.parse(text) as string;
      // Half of a surrogate pair is no character.
      if (/\p{Surrogate}/u.test(value)) return true;
      // RFC 7515 section 4, RFC 7519 section 4: no member twice.
      if (colon === undefined || depth > 1) continue;
      if (names.has(value)) return true;
      names.add(value);
    } else if (token === "{" || token === "[") {
      if (++depth > DEEPEST) return true;
    } else if (token === "}" || token === "]") depth--;
    else if (!Number.isFinite(Number(token))) return true;
  }
  return false;
}

function object(part: string | undefined): Record<string, unknown> {
  try {
    const bytes = fromBase64Url(part ?? "");
    const json = bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = json && JSON.parse(json);
    if (json && typeof value === "object" && value !== null && !Array.isArray(value) && !isRefused(json))
      return value as Record<string, unknown>;
  } catch {
    // As below.
  }
  throw invalid("it is malformed");
}

/** Unix seconds: a number, which may have a fraction (RFC 7519, NumericDate), rounded down. */
function time(value: unknown, name: string): number | undefined {
  if (value === undefined) return undefined;
  const seconds = typeof value === "number" ? Math.floor(value) : NaN;
  if (Number.isSafeInteger(seconds)) return seconds;
  throw invalid(`its ${name} is no time`);
}

/**
 * Verifies a JWT without asking the service, by the same rules as `POST /jwt/verify`.
 *
 * @param publicKey the issuer's key, 64 hex characters: the service's own, or that of the user whose wallet issued it.
 * @param options `now` in Unix seconds.
 * @throws JwtError when it is not valid.
 */
export async function verifyJwtLocally(
  token: string,
  publicKey: string,
  options: { now?: number } = {},
): Promise<JwtClaims> {
  const now = Math.floor(options.now ?? Date.now() / 1000);
  const key = fromHex(publicKey);
  if (key?.length !== 32) throw new TypeError("publicKey must be 64 hex characters");
  const parts = token.split(".");
  if (parts.length !== 3 || token.length > LONGEST) throw invalid("it is malformed");
  const [header, claims] = [object(parts[0]), object(parts[1])];
  if (header.alg !== "ES256K") throw invalid("its algorithm is not ES256K");
  // Whatever it is: an empty one and `null` are no valid list of extensions.
  if ("crit" in header) throw invalid("it has critical extensions");
  const digest = await sha256(utf8(`${parts[0]}.${parts[1]}`));
  if (!verifyEcdsa(fromBase64Url(parts[2] ?? "") ?? new Uint8Array(), digest, key))
    throw invalid("it is not signed by this key");
  const target = fromHex(typeof claims.target_key === "string" ? claims.target_key : "");
  if (!target || !isPublicKey(target)) throw invalid("its target_key is no key");
  const [exp, nbf, iat] = [time(claims.exp, "exp"), time(claims.nbf, "nbf"), time(claims.iat, "iat")];
  if (exp === undefined) throw invalid("it has no exp");
  if (!(exp > now)) throw new JwtError("jwt_expired", "the JWT has expired");
  if (nbf !== undefined && nbf > now + LEEWAY) throw invalid("it is not valid yet");
  return { target_key: toHex(target), exp, ...(iat !== undefined && { iat }), ...(nbf !== undefined && { nbf }) };
}

/** Whether a preimage (the proof of a Lightning payment) is that of a payment hash; both are 64 hex characters. */
export async function preimageMatches(preimage: string, paymentHash: string): Promise<boolean> {
  const [proof, hash] = [fromHex(preimage), fromHex(paymentHash)];
  if (proof?.length !== 32 || hash?.length !== 32) return false;
  return equalInConstantTime(await sha256(proof), hash);
}
