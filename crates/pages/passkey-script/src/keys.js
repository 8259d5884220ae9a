// Keys: a Nostr key of the PRF output of a passkey, and the forms in which a key leaves the page.
//
// Every secret is a `Uint8Array` of its own, which its owner wipes (`fill(0)`).
import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { scryptAsync } from "@noble/hashes/scrypt.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, randomBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import { bech32 } from "@scure/base";

/// What every passkey is asked for (`prf.eval.first`). Another value gives other keys.
export const PRF_INPUT = sha256(utf8ToBytes("usher passkey prf v1"));
/// What browsers make of it for the authenticator (WebAuthn, section 10.1.4).
export const PRF_SALT = sha256(concatBytes(utf8ToBytes("WebAuthn PRF\0"), PRF_INPUT));

const SALT = utf8ToBytes("usher passkey v1");

/// One purpose of the PRF output. `attempt` makes the next key, if one is not valid.
function expand(prf, purpose, rpId, attempt = 0) {
  return hkdf(sha256, prf, SALT, utf8ToBytes(`${purpose}\0${rpId}\0${attempt}`), 32);
}

/// The secret key of a passkey that was made without a key.
export function derivedKey(prf, rpId) {
  for (let attempt = 0; ; attempt += 1) {
    const secret = expand(prf, "nostr key", rpId, attempt);
    if (secp256k1.utils.isValidSecretKey(secret)) return secret;
  }
}

/// The public key (x-only, BIP-340) as hex.
export const publicKey = (secret) => bytesToHex(schnorr.getPublicKey(secret));

const WRAPPED_VERSION = 1;
const NONCE_BYTES = 24;

function associatedData(pubkey, credentialId) {
  return concatBytes(utf8ToBytes("usher passkey wrapped key v1\0"), hexToBytes(pubkey), credentialId);
}

/// A secret key, encrypted for one passkey: version, nonce, XChaCha20-Poly1305 (73 bytes).
export function wrapKey(secret, prf, rpId, credentialId) {
  const key = expand(prf, "wrapping key", rpId);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = xchacha20poly1305(key, nonce, associatedData(publicKey(secret), credentialId));
  const wrapped = concatBytes(Uint8Array.of(WRAPPED_VERSION), nonce, cipher.encrypt(secret));
  key.fill(0);
  return wrapped;
}

/// The secret key that was encrypted for this passkey. Throws if it was not.
export function unwrapKey(wrapped, prf, rpId, credentialId, pubkey) {
  if (wrapped[0] !== WRAPPED_VERSION) throw new Error("another version");
  const key = expand(prf, "wrapping key", rpId);
  try {
    const nonce = wrapped.subarray(1, 1 + NONCE_BYTES);
    const cipher = xchacha20poly1305(key, nonce, associatedData(pubkey, credentialId));
    return cipher.decrypt(wrapped.subarray(1 + NONCE_BYTES));
  } finally {
    key.fill(0);
  }
}

/// Signs an event (NIP-01).
export function signEvent({ kind, created_at, tags, content }, secret) {
  const pubkey = publicKey(secret);
  const id = sha256(utf8ToBytes(JSON.stringify([0, pubkey, created_at, kind, tags, content])));
  return { id: bytesToHex(id), pubkey, created_at, kind, tags, content, sig: bytesToHex(schnorr.sign(id, secret)) };
}

const encode = (prefix, bytes) => bech32.encode(prefix, bech32.toWords(bytes), false);

function decode(prefix, text) {
  const { prefix: found, words } = bech32.decode(text, false);
  if (found !== prefix) throw new Error(`not ${prefix}`);
  return bech32.fromWords(words);
}

export const npub = (pubkey) => encode("npub", hexToBytes(pubkey));
export const nsec = (secret) => encode("nsec", secret);

// NIP-49: version, log2 of the scrypt rounds, salt, nonce, how the key was kept, encrypted key.
const NCRYPTSEC_VERSION = 2;
const LOG_ROUNDS = 16;
const MOST_LOG_ROUNDS = 20;
/// It is not tracked whether the key was ever kept unencrypted.
const KEPT_UNKNOWN = 2;

async function passphraseKey(passphrase, salt, logRounds) {
  return scryptAsync(utf8ToBytes(passphrase.normalize("NFKC")), salt, { N: 2 ** logRounds, r: 8, p: 1, dkLen: 32 });
}

/// The key, encrypted with a passphrase (`ncryptsec`, NIP-49).
export async function encryptKey(secret, passphrase) {
  const [salt, nonce, kept] = [randomBytes(16), randomBytes(NONCE_BYTES), Uint8Array.of(KEPT_UNKNOWN)];
  const key = await passphraseKey(passphrase, salt, LOG_ROUNDS);
  const encrypted = xchacha20poly1305(key, nonce, kept).encrypt(secret);
  key.fill(0);
  return encode("ncryptsec", concatBytes(Uint8Array.of(NCRYPTSEC_VERSION, LOG_ROUNDS), salt, nonce, kept, encrypted));
}

/// The key in a recovery file: the first `ncryptsec` in a text. Throws if there is none, or with another passphrase.
export async function decryptKey(text, passphrase) {
  const [found] = /ncryptsec1[02-9ac-hj-np-z]+/.exec(text.toLowerCase()) ?? [];
  const bytes = decode("ncryptsec", found ?? "");
  if (bytes.length !== 91 || bytes[0] !== NCRYPTSEC_VERSION || bytes[1] > MOST_LOG_ROUNDS) throw new Error("not supported");
  const [salt, nonce, kept] = [bytes.subarray(2, 18), bytes.subarray(18, 42), bytes.subarray(42, 43)];
  const key = await passphraseKey(passphrase, salt, bytes[1]);
  try {
    const secret = xchacha20poly1305(key, nonce, kept).decrypt(bytes.subarray(43));
    if (!secp256k1.utils.isValidSecretKey(secret)) throw new Error("not a key");
    return secret;
  } finally {
    key.fill(0);
  }
}
