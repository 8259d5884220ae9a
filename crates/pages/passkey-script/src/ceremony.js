// What the page asks of the user's authenticator (WebAuthn with the PRF extension), and what it tells the service of it.
//
// The output of the PRF stays here: of what the extensions say, the service gets nothing.
import { base64urlnopad } from "@scure/base";
import { PRF_INPUT } from "./keys.js";

/// The authenticator or the browser has no PRF: no key can be made of this passkey.
export class NoPrf extends Error {}

/// The user has closed the dialog, or has no passkey here: browsers do not say which.
export class Cancelled extends Error {}

const prf = { prf: { eval: { first: PRF_INPUT } } };
const text = (buffer) => base64urlnopad.encode(new Uint8Array(buffer));

/// A copy of its own, which can be wiped.
function prfOutput(credential) {
  const first = credential.getClientExtensionResults().prf?.results?.first;
  return first && Uint8Array.from(new Uint8Array(first));
}

async function ask(kind, publicKey, more) {
  try {
    const credential = await navigator.credentials[kind]({ publicKey, ...more });
    if (credential) return credential;
  } catch (error) {
    if (error.name === "NotSupportedError" || error.name === "SecurityError") throw error;
  }
  throw new Cancelled();
}

/// Whether the browser can look for a passkey of this device without a dialog that tells users who have none of other devices.
export async function canLookFirst() {
  const known = await PublicKeyCredential.getClientCapabilities?.().catch(() => undefined);
  return known?.immediateGet === true;
}

/// Logs in with a passkey of this device, or of a phone near it; with `lookFirst`, with one of this device alone, and without a
/// dialog where there is none. `options` are the service's.
export async function get(options, lookFirst = false) {
  const challenge = base64urlnopad.decode(options.challenge);
  const request = { ...options, challenge, allowCredentials: [], hints: undefined, extensions: prf };
  const credential = await ask("get", request, lookFirst ? { uiMode: "immediate" } : {});
  const output = prfOutput(credential);
  if (!output) throw new NoPrf();
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return {
    id: new Uint8Array(credential.rawId),
    prf: output,
    challenge: options.challenge,
    answer: {
      id: text(credential.rawId),
      rawId: text(credential.rawId),
      type: "public-key",
      clientExtensionResults: {},
      response: {
        clientDataJSON: text(clientDataJSON),
        authenticatorData: text(authenticatorData),
        signature: text(signature),
        userHandle: userHandle ? text(userHandle) : null,
      },
    },
  };
}

/// Makes a passkey. Some authenticators give the output of the PRF only when the passkey is used: then the user is asked once more.
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
  const id = new Uint8Array(credential.rawId);
  let output;
  try {
    output = prfOutput(credential) ?? (await evaluate(credential, id, options.rp.id));
    if (!output) throw new NoPrf();
  } catch (error) {
    forget(options.rp.id, id);
    throw error;
  }
  const { clientDataJSON, attestationObject } = credential.response;
  return {
    id,
    prf: output,
    challenge: options.challenge,
    answer: {
      id: text(id),
      rawId: text(id),
      type: "public-key",
      clientExtensionResults: {},
      response: { clientDataJSON: text(clientDataJSON), attestationObject: text(attestationObject) },
    },
  };
}

/// Asks the passkey that was just made for the output. The service sees nothing of it: the challenge is of no use.
async function evaluate(credential, id, rpId) {
  if (!credential.getClientExtensionResults().prf?.enabled) return undefined;
  const allowCredentials = [{ type: "public-key", id, transports: credential.response.getTransports?.() }];
  const challenge = crypto.getRandomValues(new Uint8Array(32));
  const used = await ask("get", { challenge, rpId, allowCredentials, userVerification: "required", extensions: prf });
  return prfOutput(used);
}

/// Tells the authenticator that this passkey opens nothing, so that it is not offered again.
export function forget(rpId, id) {
  PublicKeyCredential.signalUnknownCredential?.({ rpId, credentialId: text(id) }).catch(() => {});
}
