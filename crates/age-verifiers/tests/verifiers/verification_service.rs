//! The contract of an external verification service (docs/verification.md), with a small service over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use secrecy::SecretString;
use serde_json::{Value, json};
use usher_age_verifiers::{VerificationServiceClient, VerificationServiceOptions};
use usher_engine::UnixMillis;
use usher_engine::ports::{AgeCheckResult, AgeVerifier as _, AgeVerifierError, NewAgeCheck, PendingAgeCheck};

/// A verification service: what it was asked, and what it responds: a status and a body.
#[derive(Clone)]
struct Service(Arc<Mutex<(Vec<String>, u16, String)>>);

impl Service {
    /// Listens; with a verifier that uses it.
    fn start() -> (Self, VerificationServiceClient) {
        let service = Self(Arc::new(Mutex::new((Vec::new(), 200, String::new()))));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap()).parse().unwrap();
        let serving = service.clone();
        std::thread::spawn(move || listener.incoming().for_each(|stream| serving.respond(stream.unwrap())));
        let options = VerificationServiceOptions { url, api_key: Some(SecretString::from("the-key")) };
        let tls = usher_http_client::tls_config(Vec::new()).unwrap();
        (service, VerificationServiceClient::new(&options, tls).unwrap())
    }

    fn say(&self, status: u16, body: &Value) {
        let mut state = self.0.lock().unwrap();
        (state.1, state.2) = (status, body.to_string());
    }

    fn last(&self) -> String {
        self.0.lock().unwrap().0.last().cloned().unwrap()
    }

    fn respond(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let length = head
            .to_lowercase()
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split('\r').next().unwrap().parse::<usize>().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let (status, answer) = {
            let mut state = self.0.lock().unwrap();
            state.0.push(format!("{head}{}", String::from_utf8(body).unwrap()));
            (state.1, state.2.clone())
        };
        let head = format!("HTTP/1.1 {status} X\r\nlocation: /elsewhere\r\nconnection: close\r\n");
        let response = format!("{head}content-length: {}\r\n\r\n{answer}", answer.len());
        reader.get_mut().write_all(response.as_bytes()).unwrap();
    }
}

fn check() -> NewAgeCheck {
    NewAgeCheck {
        minimum_age: 21,
        return_url: "https://shop.example/usher/verify/return".to_owned(),
        state: "id.random".to_owned(),
        expires_at: UnixMillis(1_800_000_000_000),
    }
}

#[tokio::test]
async fn a_check_is_begun_and_its_result_asked_for() {
    let (service, verifier) = Service::start();
    assert_eq!((verifier.name(), verifier.can_be_polled()), ("127.0.0.1", true));
    service.say(201, &json!({ "check_id": "check 7/ä", "url": "https://ages.example/go", "more": [] }));
    let begun = verifier.begin(&check()).await.unwrap();
    assert_eq!((&*begun.url, &*begun.pending.0), ("https://ages.example/go", "check 7/ä"));
    let request = service.last();
    assert!(request.starts_with("POST /v1/checks HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer the-key\r\n"), "{request}");
    assert!(request.contains("idempotency-key: id.random\r\n"), "{request}");
    let body: Value = serde_json::from_str(request.lines().last().unwrap()).unwrap();
    let return_url = "https://shop.example/usher/verify/return?state=id.random";
    assert_eq!(body, json!({ "minimum_age": 21, "return_url": return_url, "expires_at": 1_800_000_000 }));
    let failed = AgeCheckResult::Failed { reason: "the age verifier did not confirm the age" };
    for (status, result) in [
        ("pending", AgeCheckResult::Pending),
        ("passed", AgeCheckResult::Passed),
        ("failed", failed),
        ("cancelled", AgeCheckResult::Cancelled),
    ] {
        service.say(200, &json!({ "status": status, "name": "Zacharias", "reason": "born 2020" }));
        assert_eq!(verifier.result(&begun.pending, None).await, Ok(result), "{status}");
    }
    assert!(service.last().starts_with("GET /v1/checks/check%207%2F%C3%A4 HTTP/1.1\r\n"), "{}", service.last());
}

#[tokio::test]
async fn a_service_that_breaks_the_contract_is_not_believed_and_not_quoted() {
    let (service, verifier) = Service::start();
    let pending = PendingAgeCheck("c".to_owned());
    for (status, body, reason) in [
        (200, json!({ "check_id": "c", "url": "javascript:alert(1)" }), "`url` is not an http(s) URL"),
        (200, json!({ "check_id": "", "url": "https://x" }), "`check_id` must be 1 to 256 bytes"),
        (200, json!({ "check_id": "c".repeat(257), "url": "https://x" }), "`check_id` must be 1 to 256 bytes"),
        (200, json!({ "url": "https://x" }), "it has no `check_id` or no `url`"),
        (200, json!("secret"), "it is not a JSON object"),
        (200, json!({ "check_id": "c".repeat(300_000) }), "it is too large"),
        (302, json!({}), "status 302"),
        (403, json!({ "error": "secret" }), "status 403"),
    ] {
        service.say(status, &body);
        let Err(AgeVerifierError::Invalid(said)) = verifier.begin(&check()).await else { panic!("{reason}") };
        assert!(said.starts_with(reason), "{said}");
    }
    for body in [json!({ "status": "secret" }), json!({ "status": true }), json!({})] {
        service.say(200, &body);
        let error = verifier.result(&pending, None).await.unwrap_err();
        assert!(matches!(&error, AgeVerifierError::Invalid(_)) && !error.to_string().contains("secret"), "{error}");
    }
    for (status, is_usable) in [(404, true), (200, true), (401, false), (403, false), (500, false)] {
        service.say(status, &json!({ "error": "secret" }));
        let probed = verifier.probe().await;
        assert_eq!(probed.is_ok(), is_usable, "{status}");
        assert!(!format!("{probed:?}").contains("secret"));
        assert!(service.last().starts_with("GET /v1/checks/"), "no check begins");
    }
    service.say(503, &json!({}));
    assert!(matches!(verifier.result(&pending, None).await, Err(AgeVerifierError::Unreachable(_))));
}

#[tokio::test]
async fn a_service_that_is_away_is_unreachable() {
    let tls = usher_http_client::tls_config(Vec::new()).unwrap();
    let options = VerificationServiceOptions { url: "http://127.0.0.1:9/".parse().unwrap(), api_key: None };
    let verifier = VerificationServiceClient::new(&options, tls).unwrap();
    assert!(matches!(verifier.begin(&check()).await, Err(AgeVerifierError::Unreachable(_))));
}
