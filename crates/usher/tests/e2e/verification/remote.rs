//! `verification.provider = "remote"`: an external verification service, by the contract in docs/verification.md, in a
//! browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use usher_test_tools::Browser;

use super::fixture::Fixture;
use super::open;

/// What the service knows of its user, and sends although nobody asks for it.
const PERSONAL: [&str; 4] =
    ["Zacharias Nobodyknows", "1970-01-02", "zacharias@nobodyknows.example", "document-QX-90417"];

/// A verification service: its API and its page for users, whose button sends the browser back.
#[derive(Clone)]
struct Verifier(Arc<Mutex<State>>);

struct State {
    status: &'static str,
    requests: Vec<String>,
    return_url: String,
}

impl Verifier {
    /// Listens; its URL.
    fn start(status: &'static str) -> (Self, String) {
        let state = State { status, requests: Vec::new(), return_url: String::new() };
        let verifier = Self(Arc::new(Mutex::new(state)));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (serving, base) = (verifier.clone(), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (serving, base) = (serving.clone(), base.clone());
                std::thread::spawn(move || serving.respond(stream.unwrap(), &base));
            }
        });
        (verifier, format!("{url}/v1"))
    }

    fn say(&self, status: &'static str) {
        self.0.lock().status = status;
    }

    fn requests(&self) -> Vec<String> {
        self.0.lock().requests.clone()
    }

    fn respond(&self, stream: TcpStream, base: &str) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let Some((method, path)) = head.split_once(' ') else { return };
        let path = path.split(' ').next().unwrap_or_default();
        let lower = head.to_lowercase();
        let length =
            lower.split("content-length: ").nth(1).map_or(0, |rest| rest.split('\r').next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        let mut state = self.0.lock();
        let personal =
            json!({ "name": PERSONAL[0], "born": PERSONAL[1], "email": PERSONAL[2], "document": PERSONAL[3] });
        let (content_type, answer) = match (method, path) {
            (_, path) if path.starts_with("/v1/") => {
                state.requests.push(format!("{head}{body}"));
                let answer = match (method, state.status) {
                    (_, "broken") => personal.to_string(),
                    ("POST", _) => {
                        let asked: Value = serde_json::from_str(&body).unwrap();
                        state.return_url = asked["return_url"].as_str().unwrap().to_owned();
                        json!({ "check_id": "check 7/ä", "url": format!("{base}/go"), "user": personal }).to_string()
                    }
                    (_, status) => json!({ "status": status, "user": personal }).to_string(),
                };
                ("application/json", answer)
            }
            _ => (
                "text/html",
                format!("<a href=\"{}\">I am {}</a>", state.return_url.replace('&', "&amp;"), PERSONAL[0]),
            ),
        };
        drop(state);
        let response = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        let _ = reader.get_mut().write_all(response.as_bytes());
    }
}

async fn service(verifier: &str) -> Fixture {
    Fixture::open(|builder| {
        builder
            .set("VERIFICATION__PROVIDER", "remote")
            .set("VERIFICATION__REMOTE__URL", verifier)
            .set("VERIFICATION__REMOTE__API_KEY", "the-key-of-the-verifier")
    })
    .await
}

async fn keeps_nothing(mut fixture: Fixture) {
    let mut words = PERSONAL.map(str::to_owned).to_vec();
    words.push("the-key-of-the-verifier".to_owned());
    fixture.keeps_nothing_of(&words).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_whom_the_verifier_passes_gets_a_proof_although_the_browser_never_returns() {
    let (verifier, url) = Verifier::start("pending");
    let fixture = service(&url).await;
    let session = open(&fixture.usher.api()).await;
    let mut browser = Browser::start().await;
    browser.open(&session.url).await;
    browser.click("button").await;
    browser.until("document.querySelector('a')?.textContent.startsWith('I am')").await;
    drop(browser);
    verifier.say("passed");
    fixture.redeem(&session.id).await;

    let requests = verifier.requests();
    let begun = &requests[0];
    assert!(begun.starts_with("POST /v1/checks HTTP/1.1\r\n"), "{begun}");
    assert!(begun.contains("authorization: Bearer the-key-of-the-verifier\r\n"), "{begun}");
    let body: Value = serde_json::from_str(begun.lines().last().unwrap()).unwrap();
    assert_eq!(body["minimum_age"], 18);
    assert!(body["return_url"].as_str().unwrap().contains("/verify/return?state="), "{body}");
    assert!(body["expires_at"].is_u64());
    assert!(requests[1].starts_with("GET /v1/checks/check%207%2F%C3%A4 HTTP/1.1\r\n"), "{}", requests[1]);
    keeps_nothing(fixture).await;
}
