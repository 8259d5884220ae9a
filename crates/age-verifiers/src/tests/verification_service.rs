//! The contract of an external verification service (docs/verification.md), with a small service over HTTP.

use secrecy::SecretString;
use serde_json::{Value, json};
use usher_engine::ports::{AgeCheckResult, AgeVerifier as _, AgeVerifierError, PendingAgeCheck};
use usher_testing::WebResponse;

use super::{RETURN_URL, Server, check};
use crate::{VerificationServiceClient, VerificationServiceOptions};

async fn start() -> (Server, VerificationServiceClient) {
    let service = Server::start().await;
    let url = format!("{}/v1/", service.url).parse().unwrap();
    let options = VerificationServiceOptions { url, api_key: Some(SecretString::from("the-key")) };
    let tls = usher_http_client::tls_config(Vec::new()).unwrap();
    (service, VerificationServiceClient::new(&options, tls).unwrap())
}

impl Server {
    fn answer(&self, status: u16, body: &Value) {
        self.say("", WebResponse::new(status, "location: /elsewhere\r\n", body));
    }
}

#[tokio::test]
async fn a_check_is_begun_and_its_result_asked_for() {
    let (service, verifier) = start().await;
    assert_eq!((verifier.name(), verifier.can_be_polled()), ("127.0.0.1", true));
    service.answer(201, &json!({ "check_id": "check 7/ä", "url": "https://ages.example/go", "more": [] }));
    let begun = verifier.begin(&check()).await.unwrap();
    assert_eq!((&*begun.url, &*begun.pending.0), ("https://ages.example/go", "check 7/ä"));
    let request = service.last_request();
    assert_eq!(request.line, "POST /v1/checks HTTP/1.1");
    assert_eq!(request.headers["authorization"], "Bearer the-key");
    assert_eq!(request.headers["idempotency-key"], "id.random");
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let return_url = format!("{RETURN_URL}?state=id.random");
    assert_eq!(body, json!({ "minimum_age": 18, "return_url": return_url, "expires_at": 1_800_000_000 }));
    let failed = AgeCheckResult::Failed { reason: "the age verifier did not confirm the age" };
    for (status, result) in [
        ("pending", AgeCheckResult::Pending),
        ("passed", AgeCheckResult::Passed),
        ("failed", failed),
        ("cancelled", AgeCheckResult::Cancelled),
    ] {
        service.answer(200, &json!({ "status": status, "name": "Zacharias", "reason": "born 2020" }));
        assert_eq!(verifier.result(&begun.pending, None).await, Ok(result), "{status}");
    }
    assert_eq!(service.last_request().line, "GET /v1/checks/check%207%2F%C3%A4 HTTP/1.1");
}

#[tokio::test]
async fn a_service_that_breaks_the_contract_is_not_believed_and_not_quoted() {
    let (service, verifier) = start().await;
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
        service.answer(status, &body);
        let Err(AgeVerifierError::Invalid(said)) = verifier.begin(&check()).await else { panic!("{reason}") };
        assert!(said.starts_with(reason), "{said}");
    }
    for body in [json!({ "status": "secret" }), json!({ "status": true }), json!({})] {
        service.answer(200, &body);
        let error = verifier.result(&pending, None).await.unwrap_err();
        assert!(matches!(&error, AgeVerifierError::Invalid(_)) && !error.to_string().contains("secret"), "{error}");
    }
    for (status, is_usable) in [(404, true), (200, true), (401, false), (403, false), (500, false)] {
        service.answer(status, &json!({ "error": "secret" }));
        let probed = verifier.probe().await;
        assert_eq!(probed.is_ok(), is_usable, "{status}");
        assert!(!format!("{probed:?}").contains("secret"));
        assert!(service.last_request().line.starts_with("GET /v1/checks/"), "no check begins");
    }
    service.answer(503, &json!({}));
    assert!(matches!(verifier.result(&pending, None).await, Err(AgeVerifierError::Unreachable(_))));
}

#[tokio::test]
async fn a_service_that_is_away_is_unreachable() {
    let tls = usher_http_client::tls_config(Vec::new()).unwrap();
    let options = VerificationServiceOptions { url: "http://127.0.0.1:9/".parse().unwrap(), api_key: None };
    let verifier = VerificationServiceClient::new(&options, tls).unwrap();
    assert!(matches!(verifier.begin(&check()).await, Err(AgeVerifierError::Unreachable(_))));
}
