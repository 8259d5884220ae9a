//! `usher doctor`: what it says of a service that is well, of one that does not run, and of everything that can be wrong.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use usher_mint::{Mint, MintOptions};
use usher_sandbox::lightning::{LightningNetwork, NwcService};
use usher_sandbox::relay::EmbeddedRelay;
use usher_test_tools::OidcProvider;

use crate::harness::{HandmadeWallet, LONG, TestUsher};

/// The output of `usher doctor --json`.
struct Report {
    code: Option<i32>,
    findings: Vec<Value>,
    text: String,
}

/// The relays of these tests do not say what time it is.
fn is_well(finding: &Value) -> bool {
    finding["state"] == "ok" || (finding["check"] == "clock" && finding["state"] == "warn")
}

impl Report {
    async fn of(usher: &TestUsher) -> Self {
        let mut command = usher.command(&["doctor", "--json"]);
        let output = tokio::task::spawn_blocking(move || command.output().expect("it runs")).await.expect("it ends");
        let text = String::from_utf8(output.stdout).expect("text");
        let findings = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { code: output.status.code(), findings, text: text + &errors }
    }

    /// Whether one of the lines of this check contains this text and has this state.
    fn says(&self, check: &str, state: &str, words: &str) -> bool {
        self.findings.iter().any(|finding| {
            let message = finding["message"].as_str().expect("a message");
            finding["check"] == check && finding["state"] == state && message.contains(words)
        })
    }

    fn expect(&self, check: &str, state: &str, words: &str) {
        assert!(self.says(check, state, words), "{check} {state} {words}:\n{}", self.text);
    }

    /// Nothing but `ok`.
    fn is_all_well(&self) {
        assert!(self.findings.iter().all(is_well), "{}", self.text);
        assert_eq!(self.code, Some(0), "{}", self.text);
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
        .set("WALLET__LN_BACKEND", "nwc")
        .set("WALLET__NETWORK", "regtest")
        .set("WALLET__NWC__URL", nwc.url())
        .set("WEBHOOK__URL", format!("http://127.0.0.1:{hook}/hook?key=in-the-url-s3cret"))
        .set("WEBHOOK__SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .start()
        .await;
    let api = usher.api();
    // Until it has reached everything.
    let deadline = std::time::Instant::now() + LONG;
    let running = loop {
        let report = Report::of(&usher).await;
        if report.code == Some(0) && report.findings.iter().all(is_well) {
            break report;
        }
        assert!(std::time::Instant::now() < deadline, "{}", report.text);
    };
    running.expect("service", "ok", "running at http://127.0.0.1:");
    running.expect("database", "ok", "reads and writes it");
    running.expect("relays", "ok", "the service is connected");
    running.expect("lightning", "ok", "answers");
    running.expect("open files", "ok", "the service may have");

    // A service that is stopped: the same, from here.
    assert!(usher.stop().await.success());
    let stopped = Report::of(&usher).await;
    stopped.is_all_well();
    stopped.expect("service", "ok", "not running");
    stopped.expect("database", "ok", "is whole");
    stopped.expect("relays", "ok", two.url());
    stopped.expect("lightning", "ok", "answers");
    stopped.expect("webhook", "ok", "accepts connections");

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
    let dead = format!("ws://127.0.0.1:{}", usher_loopback_port::free().unwrap());
    let nowhere = format!("http://127.0.0.1:{}/hook", usher_loopback_port::free().unwrap());
    let key = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";
    let secret = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa";
    let mut usher = TestUsher::builder()
        .relays(&[relay.url(), &dead])
        .set("WALLET__LN_BACKEND", "nwc")
        .set("WALLET__NWC__URL", format!("nostr+walletconnect://{key}?relay={dead}&secret={secret}"))
        .set("WEBHOOK__URL", nowhere)
        .set("VERIFICATION__MINT_URL", format!("http://127.0.0.1:{}", usher_loopback_port::free().unwrap()))
        .set("RATES__SOURCES", json!([{ "url": format!("http://127.0.0.1:{}/s3cret", usher_loopback_port::free().unwrap()), "pointer": "" }]))
        .set("RATES__CURRENCIES", "EUR")
        .set("VERIFICATION__PROVIDER", "oidc")
        .set("VERIFICATION__OIDC__ISSUER", format!("http://127.0.0.1:{}", usher_loopback_port::free().unwrap()))
        .set("VERIFICATION__OIDC__CLIENT_ID", "usher")
        .start()
        .await;
    for running in [true, false] {
        if !running {
            assert!(usher.stop().await.success());
        }
        let report = Report::of(&usher).await;
        assert_eq!(report.code, Some(1), "{}", report.text);
        report.expect("relays", "warn", &format!("{dead} does not work: cannot connect"));
        report.expect("relays", "warn", "only one relay works");
        report.expect("lightning", "fail", "");
        report.expect("webhook", "fail", "cannot be reached: cannot connect");
        report.expect("webhook", "warn", "unsigned");
        report.expect("mints", "fail", "cannot be reached (verification.mint_url)");
        report.expect("age checks", "fail", "the age verifier cannot be reached");
        report.expect("rates", "warn", "has no price in EUR: there is no connection");
        report.expect("rates", "fail", "there is no exchange rate for EUR");
        assert!(!report.text.contains("s3cret"), "{}", report.text);
        let needs_advice = |finding: &&Value| finding["state"] != "ok" && !finding["advice"].is_string();
        assert_eq!(report.findings.iter().find(needs_advice), None);
    }

    // Its answer is waited for.
    usher.unset("WALLET__LN_BACKEND");
    // The file is damaged in the middle; then it is not a database any more.
    let path = usher.data_dir().join("usher.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 8192 * 4096;
    bytes[middle..middle + 4096].fill(0x5a);
    std::fs::write(&path, &bytes).unwrap();
    Report::of(&usher).await.expect("database", "fail", "is damaged");
    std::fs::write(&path, "hello").unwrap();
    Report::of(&usher).await.expect("database", "fail", "is not a database of this program");
    assert_eq!(std::fs::read(&path).unwrap(), b"hello", "nothing is changed");
    std::fs::remove_file(&path).unwrap();
    Report::of(&usher).await.expect("database", "ok", "the first start creates it");
    assert!(!path.exists());

    // The words for people, and the exit code of a wrong configuration.
    usher.set("LOG__FORMAT", "xml");
    let output = usher.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.starts_with("fail  configuration  SERVICE__LOG__FORMAT: log.format must be one of"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mints_with_tickets_and_the_age_verifier_are_asked_running_or_not() {
    let (one, two) = (EmbeddedRelay::start().await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let mint = Mint::start(MintOptions::new().input_fee_ppk(100)).await.unwrap();
    let idle = Mint::start(MintOptions::new()).await.unwrap();
    let mut provider = OidcProvider::start("usher", "s3cret-of-the-client-which-is-long-enough");
    provider.register("http://127.0.0.1:9/verify/return");
    let mut usher = TestUsher::builder()
        .relays(&[one.url(), two.url()])
        .set("CASHU__ALLOW_PRIVATE_MINTS", true)
        .set("VERIFICATION__PROVIDER", "oidc")
        .set("VERIFICATION__OIDC__ISSUER", &provider.issuer)
        .set("VERIFICATION__OIDC__CLIENT_ID", "usher")
        .start()
        .await;
    let api = usher.api();
    let ticket = async |mint: &Mint, amount: u64| {
        let terms = json!({"mint_url": mint.url(), "unit": "multi", "amount": amount});
        api.post("/cashu/mint", &terms).await.unwrap()["token"].clone()
    };
    // One is redeemed into the balance, another is on its way to a user; at the second mint is nothing.
    let burn = json!({"mint_url": mint.url(), "unit": "multi", "token": ticket(&mint, 6).await});
    api.post("/cashu/burn", &burn).await.unwrap();
    let send = json!({"main_key": HandmadeWallet::new().public_key().to_hex(), "subkeys": [], "token": ticket(&mint, 2).await});
    api.post("/cashu/send-direct", &send).await.unwrap();
    ticket(&idle, 3).await;
    let (address, issuer) = (mint.url(), &provider.issuer);
    let needed_for = format!("{address} answers (balance 5 multi; 1 outgoing tickets); its fee is 0.1 multi");
    let report = Report::of(&usher).await;
    report.expect("mints", "ok", &needed_for);
    report.expect("age checks", "ok", "127.0.0.1 answers (verification.oidc)");
    assert!(!report.text.contains(&idle.url()), "{}", report.text);
    let ready = api.get("/health/ready").await.unwrap();
    let listed = json!([{"mint_url": address, "responds": true, "unfinished_jobs": 0}]);
    assert_eq!((&ready["tickets"]["ready"], &ready["tickets"]["mints"]), (&json!(true), &listed), "{issuer}");

    // The mint goes away: its tickets wait, and the service is ready.
    mint.stop().await;
    drop(provider);
    let withdraw = json!({"mint_url": address, "unit": "multi", "amount": 1});
    api.post("/cashu/withdraw", &withdraw).await.unwrap_err();
    let ready = api.get("/health/ready").await.unwrap();
    assert_eq!((&ready["ready"], &ready["tickets"]["ready"]), (&json!(true), &json!(false)), "{ready}");
    assert_eq!(
        (&ready["tickets"]["mints"][0]["mint_url"], &ready["tickets"]["mints"][0]["responds"]),
        (&json!(address), &json!(false))
    );
    for running in [true, false] {
        if !running {
            assert!(usher.stop().await.success());
        }
        let report = Report::of(&usher).await;
        report.expect("mints", "warn", &format!("{address} cannot be reached (balance "));
        report.expect("mints", "warn", "1 outgoing tickets");
        report.expect("age checks", "fail", "the age verifier cannot be reached");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_with_another_token_and_a_single_relay() {
    let relay = EmbeddedRelay::start().await.unwrap();
    let mut usher = TestUsher::builder().relays(&[relay.url()]).start().await;
    usher.set("AUTH__AUTH_TOKEN", "another-8f2f4a6c0d1e3b5a7c9d8e6f4a2b0c1d");
    let report = Report::of(&usher).await;
    assert_eq!(report.code, Some(1), "{}", report.text);
    report.expect("service", "fail", "does not accept the configured auth.auth_token");
    report.expect("configuration", "warn", "has only one relay");
    report.expect("database", "ok", "is whole");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_row_is_listed_once_running_or_not() {
    let (one, two) = (EmbeddedRelay::start().await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let mut usher = TestUsher::builder().relays(&[one.url(), two.url()]).start().await;
    let stream = usher.api().handshake(json!({ "static_token": "door" })).await.stream;
    assert!(usher.stop().await.success());
    let database = rusqlite::Connection::open(usher.data_dir().join("usher.db")).unwrap();
    let changed = database.execute("UPDATE operations SET state = '{' WHERE kind = 1", []).unwrap();
    assert_eq!(changed, 1);
    database.execute("INSERT INTO settings VALUES ('x', '{')", []).unwrap();
    // A new one: an old one may be removed.
    let now = "INSERT INTO answers VALUES (x'ab', x'00', CAST(unixepoch('subsec') * 1000 AS INTEGER), 200, 'text/plain', x'')";
    database.execute(now, []).unwrap();
    drop(database);
    for running in [false, true] {
        if running {
            usher.restart().await;
            // It sets the row aside when it needs it: doctor then hears of it twice.
            usher.api().get("/key-handshake").await.unwrap();
            assert_eq!(usher.api().get("/health/ready").await.unwrap()["store"]["damaged_rows"], 1);
        }
        let report = Report::of(&usher).await;
        let about = |finding: &&Value| finding["message"].as_str().unwrap().contains(&stream);
        let lines: Vec<_> = report.findings.iter().filter(about).collect();
        assert_eq!(lines.len(), 1, "{}", report.text);
        assert_eq!((report.code, &lines[0]["state"]), (Some(1), &Value::from("fail")), "{}", report.text);
        report.expect("database", "fail", "the row x of the table settings");
        report.expect("database", "fail", "the row ab of the table answers");
        report.expect("database", "ok", "is whole");
    }
    assert_eq!(usher.api().metric("usher_store_damaged_rows{table=\"operations\"}").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_another_service_uses_or_that_lacks_a_table_is_said() {
    let (one, two) = (EmbeddedRelay::start().await.unwrap(), EmbeddedRelay::start().await.unwrap());
    let mut usher = TestUsher::builder().relays(&[one.url(), two.url()]).start().await;
    let path = usher.data_dir().join("usher.db");

    // The service listens elsewhere than this configuration and the data directory say.
    std::fs::remove_file(usher.data_dir().join("instance.address")).unwrap();
    usher.set("INFO__LISTEN_PORT", usher_loopback_port::free().unwrap().to_string());
    let report = Report::of(&usher).await;
    assert_eq!(report.code, Some(1), "{}", report.text);
    report.expect("database", "fail", "is in use by another process, but no service answers");
    report.expect("database", "ok", "is whole");
    usher.unset("INFO__LISTEN_PORT");

    // The service that answers has another database.
    std::fs::copy(&path, usher.data_dir().join("other.db")).unwrap();
    usher.set("DATABASE__PATH", "other.db");
    let report = Report::of(&usher).await;
    assert_eq!(report.code, Some(1), "{}", report.text);
    report.expect("database", "fail", "does not use");
    usher.unset("DATABASE__PATH");
    assert!(usher.stop().await.success());

    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("DROP TABLE settings").unwrap();
    drop(database);
    let report = Report::of(&usher).await;
    assert_eq!(report.code, Some(1), "{}", report.text);
    report.expect("database", "fail", "missing: the table settings");

    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    let report = Report::of(&usher).await;
    assert_eq!(report.code, Some(1), "{}", report.text);
    report.expect("database", "fail", "usher.db: not a regular file");
    let start = usher.command(&["serve"]).output().unwrap();
    let said = String::from_utf8_lossy(&start.stderr).into_owned();
    assert!(start.status.code() == Some(1) && said.contains("Is a directory"), "{said}");
}

/// A relay that answers every request at once, and whose clock shows this.
async fn relay_at(time: SystemTime) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("ws://{}", listener.local_addr().unwrap());
    let date = httpdate::fmt_http_date(time);
    tokio::task::spawn(async move {
        use futures_util::{SinkExt as _, StreamExt as _};

        while let Ok((stream, _)) = listener.accept().await {
            let date = date.clone();
            #[expect(clippy::result_large_err, reason = "the library's own signature")]
            let dated = move |_: &Request, mut response: Response| {
                response.headers_mut().insert("date", date.parse().unwrap());
                Ok(response)
            };
            let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, dated).await else { continue };
            let Some(Ok(request)) = socket.next().await else { continue };
            let request: Value = serde_json::from_str(request.to_text().unwrap()).unwrap();
            let _ = socket.send(Message::text(json!(["EOSE", request[1]]).to_string())).await;
            let _ = socket.next().await;
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_wrong_is_found_by_what_relays_say() {
    #[expect(clippy::disallowed_methods, reason = "the program under test has the machine's clock")]
    let now = SystemTime::now();
    let one = EmbeddedRelay::start().await.unwrap();
    let mut usher = TestUsher::builder().relays(&[one.url()]).start().await;
    assert!(usher.stop().await.success());
    for (off, state, words) in [(0, "ok", "s "), (1_200, "fail", "behind the clocks of 2 relays")] {
        let there = now + Duration::from_secs(off);
        let (one, two) = (relay_at(there).await, relay_at(there).await);
        usher.set("NOSTR__RELAYS", format!("{one},{two}"));
        let report = Report::of(&usher).await;
        report.expect("clock", state, words);
        assert_eq!(report.code, Some(i32::from(off > 0)), "{}", report.text);
    }
}
