//! `usher doctor`: its report on a healthy service, on a stopped one, and on each detectable problem.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;

use crate::harness::{LONG, TestUsher, until};

/// The output of `usher doctor --json`.
struct Report {
    code: Option<i32>,
    findings: Vec<Value>,
    text: String,
}

/// The relays of these tests send no `Date` header.
fn is_well(finding: &Value) -> bool {
    finding["state"] == "ok" || (finding["check"] == "clock" && finding["state"] == "warn")
}

impl Report {
    async fn of(usher: &TestUsher) -> Self {
        let (code, text, errors) = usher.run(&["doctor", "--json"]).await;
        let findings = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        Self { code, findings, text: text + &errors }
    }

    /// One of the lines of this check contains this text and has this state.
    fn expect(&self, check: &str, state: &str, words: &str) {
        let is_said = self.findings.iter().any(|finding| {
            let message = finding["message"].as_str().expect("a message");
            finding["check"] == check && finding["state"] == state && message.contains(words)
        });
        assert!(is_said, "{check} {state} {words}:\n{}", self.text);
    }

    /// Nothing but `ok`.
    fn is_all_well(&self) -> bool {
        self.code == Some(0) && self.findings.iter().all(is_well)
    }
}

/// An app's endpoint: it accepts connections, and counts the bytes that arrive.
async fn receiver() -> (u16, tokio::task::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let bytes = tokio::task::spawn(async move {
        let mut bytes = 0;
        while let Ok(Ok((mut stream, _))) = tokio::time::timeout(Duration::from_secs(8), listener.accept()).await {
            let mut said = Vec::new();
            bytes += stream.read_to_end(&mut said).await.unwrap_or_default();
        }
        bytes
    });
    (port, bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_service_that_is_well_it_says_so_running_or_not() {
    let (one, two) = (EmbeddedRelay::start().await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let network = LightningNetwork::new();
    let nwc = NwcService::start(&network.open_account("shop", 1_000_000), &[one.url()]).await;
    nwc.ready(LONG).await.expect("the wallet listens");
    let (hook, bytes) = receiver().await;
    let mut usher = TestUsher::builder()
        .relays(&[one.url(), two.url()])
        .set("LIMITS__MAX_CONNECTIONS", "10")
        .nwc(nwc.url())
        .set("WEBHOOK__URL", format!("http://127.0.0.1:{hook}/hook?key=in-the-url-s3cret"))
        .set("WEBHOOK__SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .start()
        .await;
    let api = usher.api();
    // Until it has reached everything.
    let running =
        until("service that is well", async || Some(Report::of(&usher).await).filter(Report::is_all_well)).await;
    for (check, words) in [
        ("service", "running at http://127.0.0.1:"),
        ("database", "reads and writes it"),
        ("relays", "the service is connected"),
        ("lightning", "answers"),
        ("open files", "the service may have"),
    ] {
        running.expect(check, "ok", words);
    }

    // A service that is stopped: the same, from here.
    assert!(usher.stop().await.success());
    let stopped = Report::of(&usher).await;
    assert!(stopped.is_all_well(), "{}", stopped.text);
    for (check, words) in [
        ("service", "not running"),
        ("database", "is whole"),
        ("relays", two.url()),
        ("lightning", "answers"),
        ("webhook", "accepts connections"),
    ] {
        stopped.expect(check, "ok", words);
    }

    let nwc_secret = nwc.url().split("secret=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let key = usher.secret_key_hex();
    for secret in [api.token.as_str(), &key, &nwc_secret, "s3cret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        assert!(!running.text.contains(secret) && !stopped.text.contains(secret), "{secret} is shown");
    }
    assert_eq!(bytes.await.unwrap(), 0, "nothing is posted to the webhook");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_said_with_what_to_do() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let nowhere = format!("127.0.0.1:{}", usher_loopback_port::free().unwrap());
    let (dead, http) = (format!("ws://{nowhere}"), format!("http://{nowhere}"));
    let key = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
    let secret = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
    let mut usher = TestUsher::builder()
        .relays(&[relay.url(), &dead])
        .nwc(format!("nostr+walletconnect://{key}?relay={dead}&secret={secret}"))
        .set("WEBHOOK__URL", format!("{http}/hook"))
        .set("VERIFICATION__MINT_URL", &http)
        .set("RATES__SOURCES", json!([{ "url": format!("{http}/s3cret"), "pointer": "" }]))
        .set("RATES__CURRENCIES", "EUR")
        .set("VERIFICATION__PROVIDER", "oidc")
        .set("VERIFICATION__OIDC__ISSUER", &http)
        .set("VERIFICATION__OIDC__CLIENT_ID", "usher")
        .start()
        .await;
    for running in [true, false] {
        if !running {
            assert!(usher.stop().await.success());
        }
        let report = Report::of(&usher).await;
        assert_eq!(report.code, Some(1), "{}", report.text);
        for (check, state) in [
            ("relays", "warn"),
            ("lightning", "fail"),
            ("webhook", "fail"),
            ("webhook", "warn"),
            ("mints", "fail"),
            ("age checks", "fail"),
            ("rates", "fail"),
        ] {
            report.expect(check, state, "");
        }
        assert!(!report.text.contains("s3cret"), "{}", report.text);
        let needs_advice = |finding: &&Value| finding["state"] != "ok" && !finding["advice"].is_string();
        assert_eq!(report.findings.iter().find(needs_advice), None);
    }

    // Its answer would be waited for each time.
    usher.unset("WALLET__LN_BACKEND");
    let path = usher.data_dir().join("usher.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 8192 * 4096;
    bytes[middle..middle + 4096].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    Report::of(&usher).await.expect("database", "fail", "is damaged");
    std::fs::remove_file(&path).unwrap();
    Report::of(&usher).await.expect("database", "ok", "the first start creates it");
    assert!(!path.exists());
}
