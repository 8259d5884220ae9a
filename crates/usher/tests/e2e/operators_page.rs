//! The page on which operators approve payments, in a real browser (Debian's chromium), with real money on a sandbox network.

use serde_json::json;
use usher_faults::lightning::FaultyNwcService;
use usher_faults::relay::{Quirks, QuirkyRelay};
use usher_protocol::Keys;
use usher_protocol::keys::npub;
use usher_sandbox::lightning::{Account, InvoiceTerms, LightningNetwork};
use usher_test_tools::Browser;

use crate::harness::{Api, LONG, TestUsher};

const EXTENSION_BUTTON: &str = "#extension:not([hidden]) button";

/// A service whose payments wait, and what is around it.
pub(crate) struct Fixture {
    pub(crate) usher: TestUsher,
    pub(crate) payee: Account,
    /// Where browsers find the pages.
    pub(crate) url: String,
    _wallet: FaultyNwcService,
    _relay: QuirkyRelay,
}

impl Fixture {
    /// At `localhost`: browsers have no passkeys for an IP address.
    pub(crate) async fn start(approver: &Keys) -> Self {
        let relay = QuirkyRelay::start(Quirks::default()).await.unwrap();
        let network = LightningNetwork::new();
        let (shop, payee) = (network.open_account("shop", 100_000_000), network.open_account("payee", 0));
        let wallet = FaultyNwcService::start(&shop, &[relay.url()]).await;
        wallet.ready(LONG).await.expect("the wallet listens");
        let port = usher_loopback_port::free().unwrap();
        let url = format!("http://localhost:{port}");
        let usher = TestUsher::builder()
            .relays(&[relay.url()])
            .set("WALLET__LN_BACKEND", "nwc")
            .set("WALLET__NETWORK", "regtest")
            .set("WALLET__NWC__URL", wallet.url())
            .set("WALLET__APPROVAL_ABOVE_MILLISATS", 1_000_000)
            .set("WALLET__APPROVERS", npub(&approver.public_key()))
            .set("PROFILE__DISPLAY_NAME", "Bar Seven")
            .set("PAGES__LISTEN_PORT", port)
            .set("PAGES__PUBLIC_URL", &url)
            .start()
            .await;
        Self { usher, payee, url, _wallet: wallet, _relay: relay }
    }

    /// Asks for a payment; the stream.
    pub(crate) async fn ask(&self, amount: u64, description: &str) -> String {
        self.ask_with(&self.usher.api(), amount, description).await
    }

    /// The same over this interface.
    pub(crate) async fn ask_with(&self, api: &Api, amount: u64, description: &str) -> String {
        let terms = InvoiceTerms { description: description.to_owned(), ..InvoiceTerms::of(amount) };
        let body = json!({"invoice": self.payee.make_invoice(&terms).unwrap().as_str()});
        let started = api.post("/invoices/pay", &body).await.unwrap();
        started["stream_id"].as_str().unwrap().to_owned()
    }

    async fn outcome(&self, stream: &str) -> Vec<String> {
        let events = self.usher.api().finished(stream).await;
        events.iter().map(|event| event.status().to_owned()).collect()
    }

    /// Opens the page and begins a login.
    pub(crate) async fn begin_login(&self, browser: &mut Browser) {
        browser.open(&format!("{}/approve", self.url)).await;
        browser.until(&at("/approve", "logged-out")).await;
        browser.click("form button").await;
        browser.until("document.querySelector('.qr') !== null").await;
    }

    /// Logs in with the browser's extension.
    pub(crate) async fn log_in(&self, browser: &mut Browser) {
        self.begin_login(browser).await;
        browser.until(&format!("document.querySelector('{EXTENSION_BUTTON}') !== null")).await;
        browser.click(EXTENSION_BUTTON).await;
    }
}

/// A page of this path in this state.
pub(crate) fn at(path: &str, state: &str) -> String {
    format!(
        "document.readyState === 'complete' && location.pathname === '{path}' && document.body.dataset.state === '{state}'"
    )
}

fn shows(text: &str) -> String {
    format!("document.readyState === 'complete' && document.body.innerText.includes({text:?})")
}

pub(crate) async fn browser_with_extension(keys: &Keys) -> Browser {
    let mut browser = Browser::start().await;
    browser.install_extension(&keys.secret_key().to_secret_hex()).await;
    browser
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_with_an_extension_approves_and_declines() {
    let operator = Keys::generate();
    let fixture = Fixture::start(&operator).await;
    let small = fixture.ask(900_000, "Stamps").await;
    assert_eq!(fixture.outcome(&small).await, ["paid"]);
    let (large, other) = (fixture.ask(21_000_000, "Rent").await, fixture.ask(5_000_000, "Lamps").await);

    let mut browser = browser_with_extension(&operator).await;
    browser.be_a_phone().await;
    fixture.log_in(&mut browser).await;
    browser.until(&at("/approve", "waiting")).await;
    let text = browser.evaluate("document.body.innerText").await;
    for shown in ["21\u{202f}000 sats", "Rent", "the service’s token", "5\u{202f}000 sats", "Lamps"] {
        assert!(text.as_str().unwrap().contains(shown), "{shown}: {text}");
    }
    browser.click(&format!("a[href$='{large}/approve']")).await;
    browser.until(&at(&format!("/approve/{large}/approve"), "asking")).await;
    let text = browser.evaluate("document.body.innerText").await;
    for shown in ["Approve this payment?", "21\u{202f}000 sats", "Rent"] {
        assert!(text.as_str().unwrap().contains(shown), "{shown}: {text}");
    }
    browser.click("form .button").await;
    browser.until(&shows("Approved: 21\u{202f}000 sats")).await;
    assert_eq!(fixture.outcome(&large).await, ["approval_required", "paid"]);

    // Without JavaScript, too.
    browser.allow_javascript(false).await;
    browser.reload().await;
    browser.click(&format!("a[href$='{other}/decline']")).await;
    browser.until(&at(&format!("/approve/{other}/decline"), "asking")).await;
    browser.click("form .button").await;
    browser.until(&shows("Declined: 5\u{202f}000 sats")).await;
    assert_eq!(fixture.outcome(&other).await, ["approval_required", "error"]);
    assert_eq!(fixture.payee.balance(), 21_900_000);
    browser.allow_javascript(true).await;
    browser.reload().await;
    assert!(browser.complaints().is_empty(), "{:?}", browser.complaints());

    browser.click("form[action$=logout] button").await;
    browser.until(&shows("You are logged out")).await;
    assert!(browser.cookies().await.iter().all(|cookie| cookie != "usher_operator"));
    browser.open(&format!("{}/approve", fixture.url)).await;
    browser.until(&at("/approve", "logged-out")).await;

    let entries = fixture.usher.api().get("/audit?limit=1000").await.unwrap();
    let name = format!("operator:{}", &operator.public_key().to_hex()[..16]);
    let by_operator = entries["entries"].as_array().unwrap().iter().filter(|entry| entry["actor"] == name.as_str());
    let decided: Vec<_> = by_operator
        .map(|entry| {
            assert!(entry["address"] == "127.0.0.1" || entry["address"] == "::1", "{entry}");
            assert!(!entry["request_id"].as_str().unwrap().is_empty(), "{entry}");
            (entry["action"].clone(), entry["details"]["decision"].clone(), entry["details"]["stream_id"].clone())
        })
        .collect();
    let entry = |decision: &str, stream: &str| (json!("decideApproval"), json!(decision), json!(stream));
    assert_eq!(decided, [entry("approve", &large), entry("decline", &other)]);
    let verified = fixture.usher.command(&["audit", "verify"]).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}
