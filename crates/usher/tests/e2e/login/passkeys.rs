//! Passkeys in a real browser (Debian's chromium) with its own authenticator in software.

mod secrets;

use serde_json::json;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::{Authenticator, Browser};

use super::on_the_page::{Login, start};
use crate::harness::{Builder, TestUsher, has, is_for_everybody, state_is, text, until};

const BEGIN: &str = "#with-passkey:not([hidden]) #passkey-begin";
const RETURN_URL: &str = "http://127.0.0.1:9/app/done";
const OFFER: &str = "#recovery:not([hidden])";

/// What can be pressed.
const SHOWN: &str =
    "[...document.querySelectorAll('main :is(button, a, summary)')].filter(element => element.checkVisibility())
    .map(element => element.textContent)";

const PASSPHRASE: &str = "correct horse battery";

/// What the page lets the user save, and whether something secret is kept where it outlives the page.
const OBSERVER: &str = "window.saved = []; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); \
                        return 'data:,'; };";

struct Fixture {
    usher: TestUsher,
    browser: Browser,
    device: Authenticator,
    _relay: EmbeddedRelay,
}

impl Fixture {
    /// A service whose pages are at `localhost`: browsers have no passkeys for an IP address.
    async fn start(has_prf: bool) -> Self {
        Self::start_with(has_prf, |builder| builder).await
    }

    async fn start_with(has_prf: bool, set: impl FnOnce(Builder) -> Builder) -> Self {
        let relay = EmbeddedRelay::start().await.unwrap();
        let port = usher_loopback_port::free().unwrap();
        let builder = TestUsher::builder().relays(&[relay.url()]).set("PROFILE__DISPLAY_NAME", "Bar Seven");
        let builder =
            builder.set("PAGES__LISTEN_PORT", port).set("PAGES__PUBLIC_URL", format!("http://localhost:{port}"));
        let usher = set(builder).start().await;
        let (browser, device) = new_device(has_prf).await;
        Self { usher, browser, device, _relay: relay }
    }

    async fn open_login(&mut self) -> Login {
        let login = start(&self.usher.api(), json!({})).await;
        self.browser.open(&login.page_url).await;
        self.browser.until(&state_is("waiting")).await;
        login
    }

    async fn open_passkey_page(&mut self) -> Login {
        let login = self.open_login().await;
        self.browser.until(&has("#with-passkey:not([hidden]) a")).await;
        self.browser.click("#with-passkey a").await;
        self.browser.until(&has("#passkey-page:not([hidden])")).await;
        login
    }

    async fn approved(&mut self, login: &Login) -> String {
        self.browser.until(&state_is("approved")).await;
        let event = self.usher.api().finished(&login.stream).await.pop().unwrap();
        assert_eq!((event.status(), &event.data["method"]), ("approved", &json!("passkey")));
        event.main_key().to_owned()
    }

    /// The user takes the file that is offered.
    async fn save(&mut self) -> String {
        self.browser.until(&has(OFFER)).await;
        self.type_into("#passkey-passphrase", PASSPHRASE).await;
        self.press("#recovery [data-passkey=take-file]").await;
        self.status_is("The file was saved").await;
        self.saved().await
    }

    /// The user logs in with one button, and makes a passkey if they have none; their key.
    async fn log_in(&mut self) -> String {
        let login = self.open_login().await;
        self.press(BEGIN).await;
        self.approved(&login).await
    }

    async fn press(&mut self, button: &str) {
        self.browser.until(&format!("document.querySelector({button:?})?.disabled === false")).await;
        self.browser.click(button).await;
    }

    async fn type_into(&mut self, field: &str, text: &str) {
        self.browser.evaluate(&format!("document.querySelector({field:?}).focus()")).await;
        self.browser.type_text(text).await;
    }

    /// The device has forgotten its passkeys.
    async fn until_no_passkey(&mut self) {
        until("device without a passkey", async || self.browser.passkeys(&self.device).await.is_empty()).await;
    }

    async fn status_is(&mut self, text: &str) {
        self.browser.until(&format!("document.getElementById('status').textContent.includes({text:?})")).await;
    }

    /// What the page lets the user save.
    async fn saved(&mut self) -> String {
        self.browser.until("window.saved.length > 0").await;
        text(&mut self.browser, "saved.at(-1)").await
    }

    async fn recover(&mut self, file: &str, passphrase: &str) {
        let choose = format!(
            "{{ const chosen = new DataTransfer(); chosen.items.add(new File([{file:?}], 'recovery.txt'));
                document.getElementById('recovery-file').files = chosen.files; }}"
        );
        self.browser.evaluate(&choose).await;
        self.browser.evaluate("document.getElementById('recovery-passphrase').value = ''").await;
        self.type_into("#recovery-passphrase", passphrase).await;
        self.press("[data-passkey=recover]").await;
    }
}

async fn new_device(has_prf: bool) -> (Browser, Authenticator) {
    let mut browser = Browser::start().await;
    let device = browser.add_authenticator(has_prf).await;
    browser.run_on_every_page(OBSERVER).await;
    (browser, device)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newcomer_makes_a_passkey_and_logs_in_again() {
    let mut fixture = Fixture::start(true).await;
    fixture.browser.be_a_phone().await;
    let login = fixture.open_login().await;
    fixture.browser.until(&has(BEGIN)).await;
    is_for_everybody(&mut fixture.browser).await;
    let elsewhere = fixture.browser.requested().iter().any(|url| url.contains("passkey.js"));
    assert!(!elsewhere, "the script is loaded when the user presses");
    fixture.press(BEGIN).await;
    let main_key = fixture.approved(&login).await;
    fixture.browser.until(&has(OFFER)).await;
    is_for_everybody(&mut fixture.browser).await;
    let shown = fixture.browser.evaluate(SHOWN).await;
    assert_eq!(shown, json!(["Save the recovery file", "Don’t ask again"]));
    let kept = fixture.browser.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])").await;
    assert_eq!(kept, "[{\"usher-passkey\":\"1\"},{}]");

    // The same key, also after a crash; this browser offers first what it has used.
    // Its page would complain while nothing answers.
    fixture.browser.open("about:blank").await;
    fixture.usher.restart().await;
    fixture.open_login().await;
    fixture.browser.until(&format!("document.querySelector({BEGIN:?})?.dataset.passkey === 'log-in'")).await;
    assert_eq!(fixture.log_in().await, main_key);
    assert!(fixture.browser.complaints().is_empty(), "{:?}", fixture.browser.complaints());
    let device = &fixture.device;
    let passkeys = fixture.browser.passkeys(device).await;
    assert_eq!((passkeys.len(), &passkeys[0]["userName"]), (1, &json!("Bar Seven")), "{passkeys:?}");
    // Nothing of a secret has been sent: the extension's output is in no request.
    let sent: Vec<_> = fixture.browser.requests().filter_map(|request| request["postData"].as_str()).collect();
    assert!(sent.len() >= 4 && !sent.iter().any(|body| body.contains("\"prf\"")), "{sent:?}");

    // Another user on another device has another key.
    (fixture.browser, fixture.device) = new_device(true).await;
    assert_ne!(fixture.log_in().await, main_key);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovery_file_brings_the_key_to_another_device() {
    let mut fixture = Fixture::start(true).await;
    let main_key = fixture.log_in().await;
    let file = fixture.save().await;
    assert_eq!(fixture.browser.evaluate("localStorage['usher-passkey']").await, "2");
    assert!(file.starts_with("ncryptsec1"), "{file}");

    // The first device is lost.
    (fixture.browser, fixture.device) = new_device(true).await;
    let login = fixture.open_passkey_page().await;
    is_for_everybody(&mut fixture.browser).await;
    for (file, passphrase) in [(&*file, "another passphrase"), ("no file of ours", PASSPHRASE)] {
        fixture.recover(file, passphrase).await;
        fixture.status_is("could not be opened").await;
    }
    fixture.recover(&file, PASSPHRASE).await;
    assert_eq!(fixture.approved(&login).await, main_key);
    // The passkey of the new device opens the key that was wrapped for it.
    fixture.usher.restart().await;
    assert_eq!(fixture.log_in().await, main_key);
}

/// Otherwise it would be offered at each later login, and the service does not know it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn device_forgets_a_passkey_whose_user_went_away() {
    let mut fixture = Fixture::start(true).await;
    let refuse = "window.get = navigator.credentials.get.bind(navigator.credentials);
        navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError')); undefined";
    fixture.open_login().await;
    fixture.browser.evaluate(refuse).await;
    fixture.press(BEGIN).await;
    fixture.status_is("Confirm once more").await;
    assert_eq!(fixture.browser.passkeys(&fixture.device).await.len(), 1);
    fixture.open_login().await;
    fixture.until_no_passkey().await;

    // They go on where they were.
    let login = fixture.open_login().await;
    fixture.browser.evaluate(refuse).await;
    fixture.press(BEGIN).await;
    fixture.status_is("Confirm once more").await;
    is_for_everybody(&mut fixture.browser).await;
    fixture.browser.evaluate("navigator.credentials.get = window.get; undefined").await;
    fixture.press("#passkey-confirm:not([hidden]) button").await;
    fixture.approved(&login).await;
}

/// The way back comes first, and waits for no file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovery_file_is_offered_beside_the_way_back_until_the_user_decides() {
    let mut fixture = Fixture::start_with(true, |builder| builder.set("PAGES__RETURN_URLS", RETURN_URL)).await;
    let login = async |fixture: &mut Fixture| {
        let login = start(&fixture.usher.api(), json!({ "return_url": RETURN_URL })).await;
        fixture.browser.open(&login.page_url).await;
        fixture.press(BEGIN).await;
        let back = format!("{RETURN_URL}?stream_id={}&code=", login.stream);
        (login, back)
    };
    let (_, back) = login(&mut fixture).await;
    fixture.browser.until(&has(OFFER)).await;
    is_for_everybody(&mut fixture.browser).await;
    let link = text(&mut fixture.browser, "document.querySelector('#top > a.button').href").await;
    assert!(link.starts_with(&back), "{link}");
    // The user does nothing, and comes again.
    fixture.browser.until_requested(&back).await;
    let (_, back) = login(&mut fixture).await;
    fixture.press(&format!("{OFFER} [data-passkey=refuse-file]")).await;
    fixture.browser.until_requested(&back).await;
    let (_, back) = login(&mut fixture).await;
    fixture.browser.until_requested(&back).await;
    fixture.log_in().await;
    assert_eq!(fixture.browser.evaluate("document.getElementById('recovery').hidden").await, json!(true));
}

/// Safari with security keys, some password managers: the account would be lost with the next login.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passkey_whose_key_changes_opens_no_other_account() {
    /// What the PRF gives is from now on this.
    fn prf(first: &str) -> String {
        format!(
            "PublicKeyCredential.prototype.getClientExtensionResults =
                () => ({{ prf: {{ enabled: true, results: {{ first: {first} }} }} }}); undefined"
        )
    }
    let mut fixture = Fixture::start(true).await;
    for (first, said) in [
        ("crypto.getRandomValues(new Uint8Array(32)).buffer", "gives another key each time"),
        ("'text'", "cannot make a key"),
        ("{}", "cannot make a key"),
        ("new DataView(new ArrayBuffer(0))", "cannot make a key"),
    ] {
        fixture.open_login().await;
        fixture.browser.evaluate(&prf(first)).await;
        fixture.press(BEGIN).await;
        fixture.status_is(said).await;
        fixture.until_no_passkey().await;
    }
    fixture.log_in().await;
    fixture.open_login().await;
    fixture.browser.evaluate(&prf("new Uint8Array(32).fill(7).buffer")).await;
    fixture.press(BEGIN).await;
    fixture.status_is("log in with your recovery file").await;
    fixture.browser.until("document.querySelector('#with-passkey .more-ways a').checkVisibility()").await;
}

/// Hints that are absent or throw, as in browsers with more privacy than others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_that_forbids_what_is_optional_logs_in() {
    let mut fixture = Fixture::start(true).await;
    let forbidden = "const forbid = (object, name) =>
            Object.defineProperty(object, name, { get() { throw new DOMException('', 'SecurityError'); } });
        for (const name of ['BroadcastChannel', 'EventSource', 'localStorage', 'nostr', 'webln']) forbid(window, name);
        forbid(AbortSignal, 'timeout');
        for (const name of ['getClientCapabilities', 'signalUnknownCredential']) forbid(PublicKeyCredential, name);
        forbid(AuthenticatorAttestationResponse.prototype, 'getTransports');";
    fixture.browser.run_on_every_page(forbidden).await;
    let main_key = fixture.log_in().await;
    let login = fixture.open_login().await;
    fixture.press("#passkey-have:not([hidden])").await;
    assert_eq!(fixture.approved(&login).await, main_key);

    // None at all: the page says so, in place of the button and on its own page.
    fixture.browser.run_on_every_page("delete window.PublicKeyCredential").await;
    let login = fixture.open_login().await;
    fixture.browser.until(&has("#no-passkeys:not([hidden])")).await;
    is_for_everybody(&mut fixture.browser).await;
    fixture.browser.open(&format!("{}/passkey", login.page_url)).await;
    fixture.status_is("cannot make a key").await;

    // Without cookies nobody can log in, and the page says that.
    let none = "Object.defineProperty(Navigator.prototype, 'cookieEnabled', { get: () => false })";
    fixture.browser.run_on_every_page(none).await;
    fixture.open_login().await;
    fixture.browser.until(&has("#needs-cookies:not([hidden])")).await;
    assert_eq!(fixture.browser.evaluate(SHOWN).await, json!([]));
    is_for_everybody(&mut fixture.browser).await;
}

/// It was synchronised to this device, or another browser of the device has made it: this browser does not know of it. "Continue"
/// must not make a second account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn user_whose_passkey_came_to_another_browser_is_led_to_the_same_account() {
    let mut fixture = Fixture::start(true).await;
    let main_key = fixture.log_in().await;
    fixture.browser.evaluate("localStorage.clear()").await;
    assert_eq!(fixture.log_in().await, main_key, "the browser has looked for it");

    // The user has closed the dialog: no other account is made.
    fixture.browser.evaluate("localStorage.clear()").await;
    let login = fixture.open_login().await;
    let close = "window.get = navigator.credentials.get.bind(navigator.credentials);
        navigator.credentials.get = async () => { dispatchEvent(new Event('blur')); throw new DOMException('', 'NotAllowedError'); };
        undefined";
    fixture.browser.evaluate(close).await;
    fixture.press(BEGIN).await;
    fixture.status_is("did not confirm").await;
    fixture.browser.evaluate("navigator.credentials.get = window.get; undefined").await;
    fixture.press("#passkey-have:not([hidden])").await;
    assert_eq!(fixture.approved(&login).await, main_key);
    assert_eq!(fixture.browser.passkeys(&fixture.device).await.len(), 1);

    // Nothing that the service does not know stands in the way of a new account.
    fixture.browser.evaluate("localStorage.clear()").await;
    fixture.usher.api().delete(&format!("/passkeys/{main_key}")).await.unwrap();
    let login = fixture.open_login().await;
    fixture.press(BEGIN).await;
    fixture.status_is("does not know this passkey").await;
    fixture.press("#passkey-create:not([hidden])").await;
    assert_ne!(fixture.approved(&login).await, main_key);
}

/// Browsers that cannot look for a passkey offer those of this site in a field (conditional UI).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browser_offers_a_passkey_by_itself() {
    let mut fixture = Fixture::start(true).await;
    let main_key = fixture.log_in().await;
    fixture.browser.evaluate("localStorage.clear()").await;
    let only = "PublicKeyCredential.getClientCapabilities = async () => ({ conditionalGet: true })";
    fixture.browser.run_on_every_page(only).await;
    let login = start(&fixture.usher.api(), json!({})).await;
    fixture.browser.open(&login.page_url).await;
    assert_eq!(fixture.approved(&login).await, main_key, "the authenticator's user has chosen it");
}
