//! JWTs: issued, verified and refused, also together with an independent library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use usher_engine::ports::Clock as _;
use usher_protocol::jwt;

use crate::app::{SERVICE, TestApp, key, keys};

const HOUR: u64 = 3_600;

impl TestApp {
    async fn issue(&self, hours: u64) -> String {
        let body = json!({ "target_key": key(7).to_hex(), "duration_hours": hours });
        let (status, body) = self.call("POST", "/jwt/issue", body).await;
        assert_eq!(status, 200);
        body["token"].as_str().unwrap().to_owned()
    }

    /// The status, and the key or the code.
    async fn verify(&self, issuer: u8, token: &str) -> (u16, String) {
        let body = json!({ "public_key": key(issuer).to_hex(), "token": token });
        let (status, body) = self.call("POST", "/jwt/verify", body).await;
        let told = if status == 200 { &body["target_key"] } else { &body["code"] };
        assert!(token.len() < 10 || !body.to_string().contains(token), "an answer repeats the token");
        (status, told.as_str().unwrap().to_owned())
    }

    fn now(&self) -> u64 {
        self.clock.now().secs()
    }

    /// Turns the clock to the machine's time, by which other libraries go.
    fn turn_to_the_present(&self) {
        let present = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        self.clock.turn(present - Duration::from_millis(self.clock.now().0));
    }
}

fn verified() -> (u16, String) {
    (200, key(7).to_hex())
}

fn refused(code: &str) -> (u16, String) {
    (400, code.to_owned())
}

#[tokio::test]
async fn jwt_is_valid_for_its_duration_and_key() {
    let app = TestApp::start().await;
    let token = app.issue(2).await;
    assert_eq!(app.verify(SERVICE, &token).await, verified());
    assert_eq!(app.verify(2, &token).await, refused("jwt_invalid"), "another key");
    app.clock.turn(Duration::from_secs(2 * HOUR - 1));
    assert_eq!(app.verify(SERVICE, &token).await, verified());
    app.clock.turn(Duration::from_secs(1));
    assert_eq!(app.verify(SERVICE, &token).await, refused("jwt_expired"));
    assert_eq!(app.verify(2, &token).await, refused("jwt_invalid"), "who did not sign it learns nothing of its time");

    // A session token is of the user's key; and what is no token, or of later, is refused.
    let session = jwt::issue(&keys(9), key(7), app.now(), HOUR).unwrap();
    assert_eq!(app.verify(9, &session).await, verified());
    let later = jwt::issue(&keys(SERVICE), key(7), app.now() + 60, HOUR).unwrap();
    assert_eq!(jwt::MAX_TOKEN_BYTES, 8192, "as the OpenAPI document says");
    for wrong in [
        "",
        "a.b.c",
        "żółw",
        &format!("{session} "),
        &later,
        &session.replacen('.', &format!(".{}", "A".repeat(8_192)), 1),
    ] {
        assert_eq!(app.verify(SERVICE, wrong).await, refused("jwt_invalid"), "{wrong:.80}");
    }
}

/// One key has a point with even Y, the other one with odd Y: BIP-340 keys do not contain the parity.
const EVEN_AND_ODD: [u8; 2] = [1, 6];

#[tokio::test]
async fn issued_jwts_verify_with_an_independent_library() {
    let app = TestApp::start().await;
    app.turn_to_the_present();
    let token = app.issue(1).await;
    let now = app.now();
    let mut cases = vec![json!({ "public": key(SERVICE).to_hex(), "token": token })];
    for issuer in EVEN_AND_ODD {
        let token = jwt::issue(&keys(issuer), key(7), now, HOUR).unwrap();
        cases.push(json!({ "public": key(issuer).to_hex(), "token": token }));
    }
    let past = jwt::issue(&keys(SERVICE), key(7), now - 2 * HOUR, HOUR).unwrap();
    cases.push(json!({ "public": key(SERVICE).to_hex(), "token": past }));
    cases.push(json!({ "public": key(2).to_hex(), "token": token }));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/independent_jwt.py");
    let answer = usher_testing::run_python(script, json!({ "sign": [], "verify": cases }));
    let claims = json!({ "iat": now, "nbf": now, "exp": now + HOUR, "target_key": key(7).to_hex() });
    assert_eq!(answer["claims"], json!([claims, claims, claims, "ExpiredSignatureError", "InvalidSignatureError"]));
    let about = key(7).to_hex();
    let as_documented = json!([about, about, about, "ExpiredSignatureError", "InvalidSignatureError"]);
    assert_eq!(answer["target_keys"], as_documented, "the example of docs/profiles.md");
}
