// The passkey on the login page and on its own page. Everything that a secret is in is here, and is wiped at the end of what the
// user has begun, or when the page goes. The bundle is loaded when the user presses, or by the passkey page.
import { base64urlnopad } from "@scure/base";
import { Cancelled, NoPrf, Unsteady, canLookFirst, confirm, create, forget, get } from "./ceremony.js";
import { decryptKey, derivedKey, encryptKey, npub, nsec, publicKey, signEvent, unwrapKey, wrapKey } from "./keys.js";

/// Says that this browser has used a passkey here: then that is what it offers first.
const KNOWN = "usher-passkey";

/// What the user has begun: the passkey that answered, and the key.
let held;

const byId = (id) => document.getElementById(id);
const section = () => byId("with-passkey");

/// The passkey gives another key than the one that it was registered with.
class OtherKey extends Error {}

class Refused extends Error {
  /// Without a status, it is not known what became of the request.
  constructor(message, status) {
    super(message);
    this.isDefinite = status >= 400 && status < 500;
  }
}

function wipe() {
  // Nobody else knows of a passkey that was made and not used.
  if (held?.kind === "create" && !held.isSent) forget(held.rpId, held.id);
  for (const secret of [held?.prf, held?.secret, ...(held?.outputs ?? [])]) secret?.fill(0);
  held = undefined;
  show("without-key");
  for (const id of ["passkey-nsec", "passkey-npub"]) {
    if (byId(id)) byId(id).textContent = "";
  }
  for (const field of section()?.querySelectorAll("input[type=password]") ?? []) field.value = "";
}

/// Shows what can be done with the key, or what can be done to get it: to confirm a passkey that was made, or to begin.
function show(shown) {
  for (const what of ["with-key", "with-passkey", "without-key"]) {
    for (const part of document.querySelectorAll(`[data-${what}]`)) part.hidden = what !== shown;
  }
}

function say(message) {
  document.querySelector("#status p").textContent = message;
}

async function post(path, body) {
  let response;
  try {
    response = await fetch(section().dataset.url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    throw new Refused(section().dataset.failed);
  }
  if (!response.ok) throw new Refused(await response.text(), response.status);
  return response.status === 204 ? undefined : response.json();
}

/// Uses a passkey, and finds its key: that which was encrypted for it, or its own.
async function use(lookFirst) {
  const { rpId } = section().dataset;
  const used = await get(await post("/options", { kind: "get" }), lookFirst);
  held = { ...used, kind: "get" };
  const found = await post("/wrapped-key", { id: used.answer.id });
  const wrapped = found.wrapped_key && base64urlnopad.decode(found.wrapped_key);
  try {
    held.secret = wrapped ? unwrapKey(wrapped, used.prf, rpId, used.id, found.main_key) : derivedKey(used.prf, rpId);
  } catch {
    throw new OtherKey();
  }
  if (publicKey(held.secret) !== found.main_key) throw new OtherKey();
}

/// Makes a passkey, for this key or with one of its own. The key is wiped with what is held.
async function make(secret) {
  try {
    held = { ...(await create(await post("/options", { kind: "create" }))), kind: "create", secret };
  } catch (error) {
    secret?.fill(0);
    throw error;
  }
  return confirmKey();
}

/// Goes on with a passkey that was made when it has shown that it gives the same key again.
async function confirmKey() {
  held.prf = await confirm(held);
  const { prf, rpId, id, secret } = held;
  if (secret) {
    held.wrapped = base64urlnopad.encode(wrapKey(secret, prf, rpId, id));
    return prove();
  }
  held.secret = derivedKey(prf, rpId);
  // Offered once: the key is not here again before the passkey is used.
  show("with-key");
  byId("passkey-passphrase").focus();
  return section().dataset.made;
}

/// Proves the key and the passkey to the service: the login is approved.
async function prove() {
  const { proof, servedAt } = section().dataset;
  const event = JSON.parse(proof);
  // The service's clock, not this device's.
  event.created_at += Math.floor((Date.now() - Number(servedAt)) / 1000);
  event.tags.push(["passkey", held.answer.id, held.challenge]);
  const { kind, answer, wrapped } = held;
  const signed = signEvent(event, held.secret);
  held.isSent = true;
  try {
    await post("", { kind, passkey: answer, wrapped_key: wrapped, event: signed });
  } catch (error) {
    held.isSent = !error.isDefinite;
    throw error;
  }
  remember();
  wipe();
  document.dispatchEvent(new Event("logged-in"));
}

function remember() {
  try {
    localStorage.setItem(KNOWN, "1");
  } catch {
    // Not allowed here.
  }
}

function download(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

async function saveRecoveryFile() {
  const field = byId("passkey-passphrase");
  if (!field.reportValidity()) return false;
  say(section().dataset.encrypting);
  const encrypted = await encryptKey(held.secret, field.value);
  field.value = "";
  const name = npub(publicKey(held.secret));
  download(`recovery-${name.slice(0, 12)}.txt`, `${encrypted}\n`);
  return true;
}

/// What each button does. What returns a text has said all that there is to say.
const actions = {
  /// A user who makes a second passkey has a second account. Theirs may be on this device although this browser has not used it;
  /// where the browser finds none, or cannot look, the user says.
  async begin() {
    let failure;
    if (await canLookFirst()) {
      try {
        await use(true);
        return await prove();
      } catch (error) {
        failure = error;
      }
    }
    byId("passkey-begin").hidden = true;
    byId("passkey-question").hidden = false;
    byId("passkey-question").querySelector("h2").focus();
    if (failure && !(failure instanceof Cancelled)) throw failure;
    return undefined;
  },
  async "log-in"() {
    await use();
    await prove();
  },
  create: () => make(),
  confirm: confirmKey,
  async "save-and-go-on"() {
    if (await saveRecoveryFile()) await prove();
  },
  "go-on": prove,
  async open() {
    await use();
    byId("passkey-npub").textContent = npub(publicKey(held.secret));
    show("with-key");
    return section().dataset.opened;
  },
  async save() {
    if (await saveRecoveryFile()) return section().dataset.saved;
  },
  async reveal() {
    byId("passkey-nsec").textContent = nsec(held.secret);
    byId("passkey-nsec").hidden = false;
    return section().dataset.opened;
  },
  async add() {
    const secret = Uint8Array.from(held.secret);
    wipe();
    return make(secret);
  },
  async recover() {
    const [file, passphrase] = [byId("recovery-file"), byId("recovery-passphrase")];
    if (!file.reportValidity() || !passphrase.reportValidity()) return undefined;
    say(section().dataset.decrypting);
    let secret;
    try {
      secret = await decryptKey(await file.files[0].text(), passphrase.value);
    } catch {
      return section().dataset.notOpened;
    }
    passphrase.value = "";
    return make(secret);
  },
};

/// Does what a button says. One thing at a time.
export async function press(button) {
  const { dataset } = section();
  const buttons = section().querySelectorAll("button");
  for (const each of buttons) each.disabled = true;
  say(dataset.asking);
  try {
    say((await actions[button.dataset.passkey]()) ?? "");
  } catch (error) {
    // What the service has refused it refuses again. A passkey that was made can be confirmed: some browsers open only one dialog
    // for one press.
    const isMade = error instanceof Cancelled && held?.kind === "create" && !held.prf;
    if (isMade) show("with-passkey");
    else if (!("keeps" in button.dataset) || error instanceof Refused) wipe();
    if (isMade) say(dataset.notConfirmed);
    else if (error instanceof Cancelled) say(dataset.cancelled);
    else if (error instanceof NoPrf) say(dataset.noPrf);
    else if (error instanceof Unsteady) say(dataset.unsteady);
    else if (error instanceof OtherKey) say(dataset.otherKey);
    else if (error instanceof Refused) say(error.message);
    else say(dataset.failed);
  } finally {
    for (const each of buttons) each.disabled = false;
  }
}

addEventListener("pagehide", wipe);

if (byId("passkey-page")) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-passkey]");
    if (button) press(button);
  });
  document.addEventListener("logged-in", () => location.replace(section().dataset.login));
  section().dataset.servedAt ??= String(Date.now());
  const hasPasskeys = window.isSecureContext && "PublicKeyCredential" in window;
  byId("passkey-page").hidden = !hasPasskeys;
  if (!hasPasskeys) say(section().dataset.noPrf);
}
