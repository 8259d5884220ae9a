//! The routes of `usher dev` for tests of apps: scripted outcomes, and the clock.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{Running, on, stderr, stdout};
use crate::dev::{dev, field, start};

/// A year without a day of leap.
const YEAR: u64 = 365 * 24 * 3600;

/// A running `usher dev`, whose user is logged in.
struct Dev {
    running: Running,
    base: String,
    token: String,
    user: String,
}

impl Dev {
    fn start(folder: &Path) -> Self {
        let mut command = dev(folder);
        command.stdin(Stdio::piped());
        let (running, banner) = start(command);
        let [base, token, user] = ["base URL", "token", "user"].map(|name| field(&banner, name).to_owned());
        Self { running, base, token, user }
    }

    /// The user's wallet learns the service's address, and approves a login.
    fn log_in(&mut self) {
        self.running.enter("scan");
        self.running.wait_for("introduced itself");
        self.script(&json!({"outcome": "approve", "for": "login"}));
        let asked = self.post("/authenticate-key", &json!({"main_key": self.user, "subkeys": []}));
        self.ends(asked["stream_id"].as_str().unwrap(), "approved");
    }

    /// The status and the body of a response.
    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let (token, url) = (format!("Authorization: Bearer {}", self.token), format!("{}{path}", self.base));
        let (json, body) = ("Content-Type: application/json", body.to_string());
        let mut arguments = vec!["-s", "-w", "\n%{http_code}", "-X", method, "-H", &token, &url];
        if method == "POST" {
            arguments.extend(["-H", json, "-d", &body]);
        }
        let answer = stdout(&Command::new("curl").args(arguments).output().unwrap());
        let (body, status) = answer.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, body);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    fn get(&self, path: &str) -> Value {
        self.ask("GET", path, &Value::Null).1
    }

    fn script(&self, outcome: &Value) {
        self.post("/dev/outcomes", outcome);
    }

    fn outcomes(&self) -> Value {
        self.get("/dev/outcomes")["outcomes"].clone()
    }

    fn now(&self) -> u64 {
        self.get("/dev/clock")["now"].as_u64().unwrap()
    }

    /// Returns the time before, by the response.
    fn advance(&self, by: u64) -> u64 {
        self.post("/dev/clock", &json!({"advance": by}))["now"].as_u64().unwrap() - by
    }

    /// Starts a payment that expires after a minute; its stream, and when.
    fn payment(&self, amount: u64) -> (String, u64) {
        let expires_at = self.now() + 60;
        let started = self.post(
            "/payments/single",
            &json!({
                "main_key": self.user, "subkeys": [], "description": "Tea", "amount": amount, "currency": "millisats",
                "expires_at": expires_at,
            }),
        );
        (started["stream_id"].as_str().unwrap().to_owned(), expires_at)
    }

    fn statuses(&self, stream: &str) -> Vec<(String, u64)> {
        let events = self.get(&format!("/events/{stream}?after=0"));
        let event = |event: &Value| {
            (event["data"]["status"].as_str().unwrap().to_owned(), event["timestamp"].as_u64().unwrap())
        };
        events["events"].as_array().unwrap().iter().map(event).collect()
    }

    /// Waits in real time for the wallet.
    fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not happen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn ends(&self, stream: &str, status: &str) {
        self.until(|dev| dev.statuses(stream).last().is_some_and(|(last, _)| last == status));
    }
}

#[test]
fn the_wallet_answers_as_scripted_and_what_falls_due_has_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let mut dev = Dev::start(folder.path());
    dev.log_in();

    for (body, pointer) in [
        (json!({}), "/outcome"),
        (json!({"outcome": "maybe"}), "/outcome"),
        (json!({"outcome": "fail", "for": "login"}), "/for"),
        (json!({"outcome": "decline", "for": "ticket", "amount_millisats": 1}), "/amount_millisats"),
        (json!({"outcome": "decline", "times": -1}), "/times"),
    ] {
        let (status, problem) = dev.ask("POST", "/dev/outcomes", &body);
        assert_eq!((status, problem["errors"][0]["pointer"].as_str()), (422, Some(pointer)), "{body}: {problem}");
    }
    let token = format!("Authorization: Bearer {}", dev.token);
    for (path, body, ignored) in [
        ("/dev/outcomes", json!({"outcome": "approve", "fro": "login"}), "/fro"),
        ("/dev/clock", json!({"advance": 0, "unit": "days"}), "/unit"),
    ] {
        let (url, body) = (format!("{}{path}", dev.base), body.to_string());
        let arguments = ["-si", "-H", &token, "-H", "Content-Type: application/json", "-d", &body, &url];
        let answer = stdout(&Command::new("curl").args(arguments).output().unwrap());
        assert!(answer.contains(&format!("usher-ignored: {ignored}")), "{answer}");
    }
    dev.ask("DELETE", "/dev/outcomes", &Value::Null);
    // The first that matches, so many times.
    dev.script(&json!({"outcome": "decline", "for": "payment", "amount_millisats": 7_000, "times": 2}));
    dev.script(&json!({"outcome": "fail", "for": "payment"}));
    dev.script(&json!({"outcome": "approve", "for": "payment", "times": 0}));
    for (amount, status) in
        [(7_000, "user_rejected"), (5_000, "user_failed"), (7_000, "user_rejected"), (7_000, "paid")]
    {
        dev.ends(&dev.payment(amount).0, status);
    }
    let all = json!({"outcome": "approve", "for": "payment", "amount_millisats": null, "times_left": 0});
    assert_eq!(dev.outcomes(), json!([all]));
    assert_eq!(dev.ask("DELETE", "/dev/outcomes", &Value::Null), (200, json!({"outcomes": []})));

    for body in [json!({"advance": 0}), json!({"advance": 31_622_401}), json!({"advance": 1.5})] {
        assert_eq!(dev.ask("POST", "/dev/clock", &body).0, 422, "{body}");
    }
    let mut payments = Vec::new();
    for outcome in ["offline", "pay_late", "slow"] {
        dev.script(&json!({"outcome": outcome}));
        payments.push(dev.payment(5_000));
        dev.until(|dev| dev.outcomes() == json!([]));
    }
    let [(offline, offline_until), (late, late_until), (slow, slow_until)] = <[_; 3]>::try_from(payments).unwrap();
    let asked_before = dev.now();
    dev.advance(11);
    let (status, at) = dev.statuses(&slow).pop().unwrap();
    assert!(status == "paid" && (slow_until - 50..=asked_before + 10).contains(&at), "{status} at {at}");
    dev.advance(600);
    let ended = |status: &str, at| (status.to_owned(), at);
    assert_eq!(dev.statuses(&offline), [ended("timeout", offline_until)]);
    let paid = dev.statuses(&late);
    assert_eq!(paid, [ended("timeout", late_until), ended("paid", late_until + 1)]);
    dev.running.stop();
}

#[test]
fn a_year_of_a_subscription_passes_at_once_and_stays_passed() {
    let folder = tempfile::tempdir().unwrap();
    let key = "0101010101010101010101010101010101010101010101010101010101010101";
    let config =
        format!("[auth]\nauth_token = \"{key}\"\n[nostr]\nprivate_key = \"{key}\"\n[streams]\nretention_days = 500\n");
    std::fs::write(folder.path().join("config.toml"), config).unwrap();
    let mut dev = Dev::start(folder.path());
    dev.log_in();
    dev.script(&json!({"outcome": "approve", "for": "subscription"}));
    let first = dev.now() + 86_400;
    let asked = dev.post(
        "/payments/recurring",
        &json!({
            "main_key": dev.user, "subkeys": [], "description": "Membership", "amount": 5_000, "currency": "millisats",
            "auto_charge": true, "expires_at": dev.now() + 60,
            "recurrence": {"calendar": "monthly", "first_payment_due": first},
        }),
    );
    dev.ends(asked["stream_id"].as_str().unwrap(), "approved");

    dev.advance(100 * 86_400);
    dev.script(&json!({"outcome": "decline", "for": "payment", "amount_millisats": 5_000}));
    let before = dev.advance(YEAR - 100 * 86_400);
    let events = dev.get("/events/subscriptions?after=0");
    let number = |value: &Value| value.as_u64().unwrap();
    let mut dues = Vec::new();
    for event in events["events"].as_array().unwrap() {
        let (data, at) = (&event["data"], number(&event["timestamp"]));
        let due = number(&data["due"]);
        // On a busy machine, time passes before a payment has been made.
        let is_at = |planned: u64| (planned..planned + 300).contains(&at);
        match (data["status"].as_str().unwrap(), number(&data["attempt"])) {
            ("user_rejected", 1) => assert!(is_at(due), "{event}"),
            ("paid", attempt @ (1 | 2)) => {
                assert!(is_at(due + (attempt - 1) * 86_400), "{event}");
                dues.push(due);
            }
            _ => panic!("{event}"),
        }
    }
    assert!(dues[0] == first && dues.len() >= 12 && dues.is_sorted(), "{dues:?}");
    assert_eq!(events["events"].as_array().unwrap().len(), dues.len() + 1, "one charge was declined once");

    // It never goes back.
    let now = dev.now();
    assert!(now >= before + YEAR - 100 * 86_400);
    dev.running.stop();
    let dev = Dev::start(folder.path());
    assert!(dev.now() >= now);
    dev.advance(40 * 86_400);
    let events = dev.get("/events/subscriptions?after=0");
    let later = &events["events"].as_array().unwrap()[dues.len() + 1..];
    assert!(!later.is_empty() && later.iter().all(|event| event["data"]["status"] == "paid"), "{later:?}");
    dev.running.stop();

    let serve = || {
        let mut serve = on(folder.path());
        serve.env("SERVICE__NOSTR__RELAYS", "ws://127.0.0.1:9");
        serve
    };
    let refused = serve().arg("serve").output().unwrap();
    assert!(!refused.status.success() && stderr(&refused).contains("clock-ahead"), "{}", stderr(&refused));
    std::fs::remove_file(folder.path().join("clock-ahead")).unwrap();
    let (running, address) = Running::serve(serve());
    let dev = Dev { running, base: format!("http://{address}"), token: key.to_owned(), user: String::new() };
    for (method, path) in
        [("GET", "/dev/clock"), ("POST", "/dev/clock"), ("GET", "/dev/outcomes"), ("POST", "/dev/outcomes")]
    {
        let (status, problem) = dev.ask(method, path, &json!({}));
        assert_eq!((status, problem["code"].as_str()), (404, Some("route_not_found")), "{path}");
    }
    dev.running.stop();
}
