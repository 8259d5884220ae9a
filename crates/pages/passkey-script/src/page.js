// The passkey on the login page and on its own page. Everything that a secret is in is here, and is wiped at the end of what the
// user has begun, or when the page goes. The bundle is loaded when the user presses, or by the passkey page.
import { base64urlnopad } from "@scure/base";
import { Cancelled, LOOK_FIRST, NoPrf, Unsteady, canLookFirst, confirm, create, forget, get } from "./ceremony.js";
import { decryptKey, derivedKey, encryptKey, npub, nsec, publicKey, signEvent, unwrapKey, wrapKey } from "./keys.js";

/// Says that this browser has used a passkey here: then that is what it offers first. The value says whether the user still has to
/// decide about the recovery file.
const KNOWN = "usher-passkey";
const UNDECIDED = "1";
const DECIDED = "2";

/// What the user has begun: the passkey that answered, and the key. After the login, the key alone, for the recovery file.
let held;
/// Ends the browser's own offer of a passkey.
let offering;

const byId = (id) => document.getElementById(id);
const section = () => byId("with-passkey") ?? byId("recovery");

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

/// Uses a passkey, and finds its key.
async function use(more) {
  await findKey(await get(await post("/options", { kind: "get" }), more));
}

/// The key of the passkey that answered: that which was encrypted for it, or its own.
async function findKey(used) {
  const { rpId } = section().dataset;
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
  return prove();
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
  // The file is offered when the login is over, and again at the next one, until the user has decided.
  const known = remembered();
  const offersFile = !wrapped && (kind === "create" || known === UNDECIDED);
  remember(wrapped ? DECIDED : kind === "create" ? UNDECIDED : known ?? UNDECIDED);
  const secret = offersFile && Uint8Array.from(held.secret);
  wipe();
  if (secret) held = { secret };
  document.dispatchEvent(new CustomEvent("logged-in", { detail: offersFile }));
}

function remembered() {
  try {
    return localStorage.getItem(KNOWN);
  } catch {
    return null;
  }
}

function remember(decision) {
  try {
    localStorage.setItem(KNOWN, decision);
  } catch {
    // Not allowed here.
  }
}

/// The user has taken the recovery file, or wants none.
function decide(isSaved) {
  remember(DECIDED);
  document.dispatchEvent(new CustomEvent("file-over", { detail: isSaved }));
}

/// Looks for a passkey of this device. False if the browser has found none: a dialog, which its user has closed, takes the focus.
async function lookFirst() {
  let hasAsked = false;
  const note = () => {
    hasAsked = true;
  };
  addEventListener("blur", note);
  try {
    await use(LOOK_FIRST);
  } catch (error) {
    if (hasAsked || !(error instanceof Cancelled)) throw error;
    return false;
  } finally {
    removeEventListener("blur", note);
  }
  return true;
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
  /// A user who makes a second passkey has a second account. Theirs may be on this device although this browser has not used it.
  async begin() {
    try {
      if ((await canLookFirst()) && (await lookFirst())) return await prove();
      return await make();
    } catch (error) {
      // What the browser finds may be of no use here.
      if (byId("passkey-create")) byId("passkey-create").hidden = false;
      throw error;
    }
  },
  async "log-in"() {
    await use();
    await prove();
  },
  create: () => make(),
  confirm: confirmKey,
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
  async "take-file"() {
    if (!(await saveRecoveryFile())) return section().dataset.asking;
    decide(true);
    return section().dataset.saved;
  },
  "refuse-file"() {
    decide(false);
    return section().dataset.asking;
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
export function press(button) {
  offering?.abort();
  return run(actions[button.dataset.passkey], "keeps" in button.dataset);
}

/// Has the browser offer passkeys of this site in the field for them (conditional UI), until the user presses a button.
export async function offer() {
  offering = new AbortController();
  let used;
  try {
    const options = await post("/options", { kind: "get" });
    const chosen = get(options, { mediation: "conditional", signal: offering.signal });
    // Where no keyboard covers the page, at once.
    if (document.activeElement === document.body && matchMedia("(hover: hover)").matches) byId("passkey-known").focus();
    used = await chosen;
  } catch {
    // The user has chosen none. They can still press.
    return;
  }
  await run(async () => {
    await findKey(used);
    await prove();
  });
}

async function run(action, keeps = false) {
  const { dataset } = section();
  const buttons = section().querySelectorAll("button");
  for (const each of buttons) each.disabled = true;
  say(dataset.asking);
  try {
    say((await action()) ?? "");
  } catch (error) {
    // What the service has refused it refuses again. A passkey that was made can be confirmed: some browsers open only one dialog
    // for one press.
    const isMade = error instanceof Cancelled && held?.kind === "create" && !held.prf;
    if (isMade) show("with-passkey");
    else if (!keeps || error instanceof Refused) wipe();
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
document.addEventListener("file-over", wipe);

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
