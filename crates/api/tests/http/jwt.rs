//! JWTs: issued, verified and refused, also together with an independent library.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use usher_engine::ports::Clock as _;
use usher_protocol::jwt;

use crate::app::{SERVICE, TestApp, key, keys};
use crate::independent_programs;

const HOUR: u64 = 3_600;

impl TestApp {
    async fn issue(&self, hours: u64) -> String {
        let body = json!({ "target_key": key(7).to_hex(), "duration_hours": hours });
        let response = self.post("/jwt/issue").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let body: Value = response.json().await.unwrap();
        body["token"].as_str().unwrap().to_owned()
    }

    /// The status, and the key or the code.
    async fn verify(&self, issuer: u8, token: &str) -> (u16, String) {
        let body = json!({ "public_key": key(issuer).to_hex(), "token": token });
        let response = self.post("/jwt/verify").json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap();
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

    let year = app.issue(8_760).await;
    app.clock.turn(Duration::from_secs(8_760 * HOUR - 1));
    assert_eq!(app.verify(SERVICE, &year).await, verified());
    app.clock.turn(Duration::from_secs(1));
    assert_eq!(app.verify(SERVICE, &year).await, refused("jwt_expired"));
    app.stop().await;
}

#[tokio::test]
async fn session_token_verifies_with_the_users_key() {
    let app = TestApp::start().await;
    let token = jwt::issue(&keys(9), key(7), app.now(), HOUR).unwrap();
    assert_eq!(app.verify(9, &token).await, verified());
    assert_eq!(app.verify(SERVICE, &token).await, refused("jwt_invalid"));
    app.stop().await;
}

#[tokio::test]
async fn malformed_and_not_yet_valid_jwts_are_refused() {
    let app = TestApp::start().await;
    let good = app.issue(1).await;
    let (head, signature) = good.rsplit_once('.').unwrap();
    let other = app.issue(2).await;
    let other_signature = other.rsplit_once('.').unwrap().1;
    let not_yet = jwt::issue(&keys(SERVICE), key(7), app.now() + 60, HOUR).unwrap();
    let huge = format!("{}.{signature}", head.replacen('.', &format!(".{}", "A".repeat(200_000)), 1));
    assert_eq!(jwt::MAX_TOKEN_BYTES, 8192, "as the OpenAPI document says");
    for token in [
        "",
        " ",
        "a",
        "..",
        "a.b.c",
        "żółw",
        "\u{0}",
        head,
        &format!("{head}."),
        &format!("{head}.{other_signature}"),
        &format!("{good}.{signature}"),
        &format!("{good} "),
        &not_yet,
        &huge,
    ] {
        assert_eq!(app.verify(SERVICE, token).await, refused("jwt_invalid"), "{token:.80}");
    }
    app.clock.turn(Duration::from_secs(60));
    assert_eq!(app.verify(SERVICE, &not_yet).await, verified());
    app.stop().await;
}

#[tokio::test]
async fn all_invalid_fields_are_reported_together() {
    let app = TestApp::start().await;
    for (path, body, expected) in [
        ("/jwt/issue", json!({}), json!([["/target_key", "is required"], ["/duration_hours", "is required"]])),
        (
            "/jwt/issue",
            json!({ "target_key": "npub1xyz", "duration_hours": "24" }),
            json!([
                ["/target_key", "keys are 64 hexadecimal characters here: convert this npub with `usher key to-hex`"],
                ["/duration_hours", "must be an integer, is a string"],
            ]),
        ),
        ("/jwt/verify", json!({}), json!([["/public_key", "is required"], ["/token", "is required"]])),
        (
            "/jwt/verify",
            json!({ "public_key": key(1).to_hex(), "token": null }),
            json!([["/token", "must be a string, is null"]]),
        ),
    ] {
        let response = app.post(path).json(&body).send().await.unwrap();
        assert_eq!(response.status(), 422);
        let answer: Value = response.json().await.unwrap();
        let errors = answer["errors"].as_array().unwrap();
        let told: Vec<_> = errors.iter().map(|error| json!([error["pointer"], error["detail"]])).collect();
        assert_eq!(Value::from(told), expected);
    }
    for hours in [json!(0), json!(8_761), json!(-1), json!(1.5), json!(1e30), json!(u64::MAX)] {
        let body = json!({ "target_key": key(7).to_hex(), "duration_hours": hours });
        let response = app.post("/jwt/issue").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 422, "{hours}");
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["errors"][0]["detail"], "must be an integer from 1 to 8760");
    }
    app.stop().await;
}

/// Half of the signatures of OpenSSL, which PyJWT signs with, have a high S.
#[tokio::test]
async fn signatures_of_an_independent_library_verify_with_either_s() {
    let app = TestApp::start().await;
    app.turn_to_the_present();
    let now = app.now();
    let claims = json!({ "iat": now, "nbf": now, "exp": now + HOUR, "target_key": key(7).to_hex() });
    let case = json!({ "algorithm": "ES256K", "secret": keys(6).secret_key().to_secret_hex(), "claims": claims });
    let answer = independent_programs::run("independent_jwt.py", &json!({ "sign": vec![case; 40], "verify": [] }));
    let (mut low, mut high) = (0, 0);
    for token in answer["signed"].as_array().unwrap() {
        let token = token.as_str().unwrap();
        let signature = URL_SAFE_NO_PAD.decode(token.rsplit_once('.').unwrap().1).unwrap();
        // Half of the order begins with 7f ff ff ff …
        *(if signature[32] < 0x80 { &mut low } else { &mut high }) += 1;
        assert_eq!(app.verify(6, token).await, verified(), "{token}");
    }
    assert!(low > 0 && high > 0, "{low} low, {high} high: forty of one kind are a matter of chance once in 10^12 runs");
    app.stop().await;
}

/// Of the two keys the point of one has even Y, and that of the other odd: BIP-340 keys do not tell.
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
    let answer = independent_programs::run("independent_jwt.py", &json!({ "sign": [], "verify": cases }));
    let claims = json!({ "iat": now, "nbf": now, "exp": now + HOUR, "target_key": key(7).to_hex() });
    assert_eq!(answer["claims"], json!([claims, claims, claims, "ExpiredSignatureError", "InvalidSignatureError"]));
    let about = key(7).to_hex();
    let as_documented = json!([about, about, about, "ExpiredSignatureError", "InvalidSignatureError"]);
    assert_eq!(answer["target_keys"], as_documented, "the example of docs/profiles.md");
    app.stop().await;
}

#[tokio::test]
async fn es256k_jwts_of_an_independent_library_verify_and_others_do_not() {
    let app = TestApp::start().await;
    app.turn_to_the_present();
    let now = app.now();
    let claims = json!({ "iat": now, "nbf": now, "exp": now + HOUR, "target_key": key(7).to_hex() });
    let with = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        claims
    };
    let without = |name: &str| {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove(name);
        claims
    };
    let secret = |issuer: u8| keys(issuer).secret_key().to_secret_hex();
    let public = key(6).to_hex();
    let compressed = format!("02{public}");
    let cases = [
        ("ES256K", secret(6), claims.clone(), verified()),
        ("ES256K", secret(6), without("nbf"), verified()),
        ("ES256K", secret(6), without("iat"), verified()),
        ("ES256K", secret(6), with("exp", json!(now - 1)), refused("jwt_expired")),
        ("ES256K", secret(6), with("exp", json!(now)), refused("jwt_expired")),
        ("ES256K", secret(6), without("exp"), refused("jwt_invalid")),
        ("ES256K", secret(6), with("exp", Value::Null), refused("jwt_invalid")),
        ("ES256K", secret(6), with("nbf", json!(now + 3_000)), refused("jwt_invalid")),
        ("ES256K", secret(6), without("target_key"), refused("jwt_invalid")),
        ("ES256K", secret(6), with("target_key", json!("npub1")), refused("jwt_invalid")),
        ("ES256K", secret(2), claims.clone(), refused("jwt_invalid")),
        ("none", String::new(), claims.clone(), refused("jwt_invalid")),
        ("HS256", public, claims.clone(), refused("jwt_invalid")),
        ("HS256", compressed, claims.clone(), refused("jwt_invalid")),
        ("ES256", secret(6), claims.clone(), refused("jwt_invalid")),
    ];
    let sign: Vec<_> = cases
        .iter()
        .map(|(algorithm, secret, claims, _)| json!({ "algorithm": algorithm, "secret": secret, "claims": claims }))
        .collect();
    let answer = independent_programs::run("independent_jwt.py", &json!({ "sign": sign, "verify": [] }));
    for (index, (algorithm, _, claims, expected)) in cases.iter().enumerate() {
        let token = answer["signed"][index].as_str().unwrap();
        assert_eq!(app.verify(6, token).await, *expected, "{algorithm} {claims}");
    }
    app.stop().await;
}
