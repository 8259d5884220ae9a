// What the page asks of the user's authenticator (WebAuthn with the PRF extension), and what it tells the service of it.
//
// The output of the PRF stays here: of what the extensions say, the service gets nothing. Extensions of browsers (password
// managers) answer in the authenticator's place, so nothing is converted before its type and length are known.
import { base64urlnopad } from "@scure/base";
import { PRF_INPUT, PRF_SALT } from "./keys.js";

/// The authenticator or the browser has no PRF, or answers with something else: no key can be made of this passkey.
export class NoPrf extends Error {}

/// The user has closed the dialog, or has no passkey here: browsers do not say which.
export class Cancelled extends Error {}

/// The PRF gives another output each time: the next login would be another account.
export class Unsteady extends Error {}

const PRF_BYTES = 32;

const prf = { prf: { eval: { first: PRF_INPUT } } };
const text = (bytes) => base64urlnopad.encode(bytes);

/// What an optional part of a browser says; `undefined` where the part is absent or throws.
async function hint(ask) {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}

/// A copy of the bytes of an `ArrayBuffer` or of a view of one; `undefined` for everything else, which JavaScript would make
/// bytes of as well: none, or zeros.
export function bytesOf(value) {
  try {
    const { buffer, byteOffset, byteLength } = ArrayBuffer.isView(value) ? value : { buffer: value, byteOffset: 0 };
    const end = byteLength === undefined ? undefined : byteOffset + byteLength;
    return new Uint8Array(ArrayBuffer.prototype.slice.call(buffer, byteOffset, end));
  } catch {
    return undefined;
  }
}

function required(value) {
  const bytes = bytesOf(value);
  if (!bytes?.length) throw new Error("not an authenticator's answer");
  return bytes;
}

/// Whether it is no secret: zeros, ones, or what was asked for, returned.
function isKnownToAll(output) {
  const known = [new Uint8Array(PRF_BYTES), new Uint8Array(PRF_BYTES).fill(255), PRF_INPUT, PRF_SALT];
  return known.some((other) => output.every((byte, index) => byte === other[index]));
}

/// What the PRF has given, as a copy of its own, which can be wiped; `undefined` if it has given nothing.
export function prfOutput(credential) {
  let first;
  try {
    first = credential.getClientExtensionResults().prf?.results?.first;
  } catch {
    throw new NoPrf();
  }
  if (first === undefined || first === null) return undefined;
  const output = bytesOf(first);
  if (output?.length !== PRF_BYTES || isKnownToAll(output)) throw new NoPrf();
  return output;
}

async function ask(kind, publicKey, more) {
  if (typeof globalThis.navigator?.credentials?.[kind] !== "function") throw new NoPrf();
  try {
    const credential = await navigator.credentials[kind]({ publicKey, ...more });
    if (credential) return credential;
  } catch (error) {
    if (error?.name === "NotSupportedError" || error?.name === "SecurityError") throw error;
  }
  throw new Cancelled();
}

/// Whether the browser can look for a passkey of this device without a dialog that tells users who have none of other devices.
export async function canLookFirst() {
  const known = await hint(() => PublicKeyCredential.getClientCapabilities());
  return known?.immediateGet === true;
}

/// The browser asks for a passkey of this device alone, and shows no dialog where there is none.
export const LOOK_FIRST = { uiMode: "immediate" };

/// Logs in with a passkey of this device, or of a phone near it. `options` are the service's; `more` says how the browser asks.
export async function get(options, more = {}) {
  const challenge = base64urlnopad.decode(options.challenge);
  const request = { ...options, challenge, allowCredentials: [], hints: undefined, extensions: prf };
  const credential = await ask("get", request, more);
  const output = prfOutput(credential);
  if (!output) throw new NoPrf();
  const id = required(credential.rawId);
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return {
    id,
    prf: output,
    challenge: options.challenge,
    answer: {
      id: text(id),
      rawId: text(id),
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: text(required(clientDataJSON)),
        authenticatorData: text(required(authenticatorData)),
        signature: text(required(signature)),
        userHandle: text(required(userHandle)),
      },
    },
  };
}

/// Makes a passkey. Whether a key can be made of it is known after `confirm`.
export async function create(options) {
  const user = { ...options.user, id: base64urlnopad.decode(options.user.id) };
  const challenge = base64urlnopad.decode(options.challenge);
  const credential = await ask("create", {
    ...options,
    challenge,
    user,
    excludeCredentials: [],
    hints: undefined,
    extensions: prf,
  });
  const id = required(credential.rawId);
  const rpId = options.rp.id;
  try {
    const output = prfOutput(credential);
    if (!output && credential.getClientExtensionResults().prf?.enabled !== true) throw new NoPrf();
    const { clientDataJSON, attestationObject } = credential.response;
    const transports = await hint(() => credential.response.getTransports());
    return {
      id,
      rpId,
      challenge: options.challenge,
      outputs: output ? [output] : [],
      // Where the PRF comes only when the passkey is used, the platform's own authenticator is believed at once.
      needs: !output && credential.authenticatorAttachment === "platform" ? 1 : 2,
      transports: Array.isArray(transports) && transports.every((name) => typeof name === "string") ? transports : undefined,
      answer: {
        id: text(id),
        rawId: text(id),
        type: "public-key",
        clientExtensionResults: {},
        response: { clientDataJSON: text(required(clientDataJSON)), attestationObject: text(required(attestationObject)) },
      },
    };
  } catch (error) {
    forget(rpId, id);
    throw error;
  }
}

/// Uses the passkey that was just made until it has given its output twice; returns it. What it has given so far is kept in `made`:
/// if the user closes the dialog, they can go on.
export async function confirm(made) {
  while (made.outputs.length < made.needs) made.outputs.push(await evaluate(made));
  const [first, ...others] = made.outputs;
  if (others.some((other) => other.some((byte, index) => byte !== first[index]))) throw new Unsteady();
  return first;
}

/// The service sees nothing of this use: the challenge is of no use.
async function evaluate({ id, rpId, transports }) {
  const allowCredentials = [{ type: "public-key", id, transports }];
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const used = await ask("get", { challenge, rpId, allowCredentials, userVerification: "required", extensions: prf });
  const output = prfOutput(used);
  if (!output || text(required(used.rawId)) !== text(id)) throw new NoPrf();
  return output;
}

/// Tells the authenticator that this passkey opens nothing, so that it is not offered again.
export function forget(rpId, id) {
  hint(() => PublicKeyCredential.signalUnknownCredential({ rpId, credentialId: text(id) }));
}
