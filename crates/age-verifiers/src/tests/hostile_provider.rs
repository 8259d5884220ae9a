//! OpenID Connect providers that lie, break the protocol, hang and flood: no check passes, and no error quotes them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::{CoreHmacKey, CoreJwsSigningAlgorithm, CoreRsaPrivateSigningKey};
use openidconnect::{JsonWebKeyId, PrivateSigningKey as _};
use serde_json::{Value, json};
use usher_engine::ports::{AgeCheckResult, AgeVerifier as _, AgeVerifierError};
use usher_testing::WebResponse;

use super::{SECRET, Server, check, verifier};
use crate::OidcVerifier;

struct Provider(Server);

impl Provider {
    async fn start() -> Self {
        let provider = Self(Server::start().await);
        let mut key = serde_json::to_value(key("provider").as_verification_key()).unwrap();
        key["use"] = json!("sig");
        provider.say(DISCOVERY, WebResponse::json(provider.discovery()));
        // A provider that publishes what its clients sign with.
        let shared = json!({ "kty": "oct", "kid": "shared", "use": "sig", "k": URL_SAFE_NO_PAD.encode(SECRET) });
        provider.say("/jwks", WebResponse::json(json!({ "keys": [key, shared] })));
        provider
    }

    fn discovery(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.0.url);
        json!({
            "issuer": self.0.url, "authorization_endpoint": at("/auth"), "token_endpoint": at("/token"),
            "userinfo_endpoint": at("/userinfo"), "jwks_uri": at("/jwks"), "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["none", "HS256", "RS256"],
        })
    }

    fn say(&self, path: &'static str, reply: WebResponse) {
        self.0.say(path, reply);
    }

    fn verifier(&self) -> OidcVerifier {
        verifier(&self.0.url, &[])
    }

    /// The claims of a user who is old enough.
    fn claims(&self, nonce: &str) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        json!({
            "iss": self.0.url, "aud": "usher", "sub": "zacharias", "nonce": nonce, "iat": now, "exp": now + 300,
            "birthdate": "1970-01-02",
        })
    }

    /// A check whose token endpoint responds with `tokens` of the nonce.
    async fn check(&self, tokens: impl FnOnce(&str) -> WebResponse) -> Result<AgeCheckResult, AgeVerifierError> {
        let verifier = self.verifier();
        let begun = verifier.begin(&check()).await?;
        self.say("/token", tokens(&nonce(&begun.url)));
        verifier.result(&begun.pending, Some("code=c&state=id.random")).await
    }
}

const DISCOVERY: &str = "/.well-known/openid-configuration";

fn key(name: &str) -> CoreRsaPrivateSigningKey {
    let path = format!("{}/tests/keys/{name}.pem", env!("CARGO_MANIFEST_DIR"));
    let pem = std::fs::read_to_string(path).unwrap();
    CoreRsaPrivateSigningKey::from_pem(&pem, Some(JsonWebKeyId::new("k".to_owned()))).unwrap()
}

fn nonce(url: &str) -> String {
    let url: url::Url = url.parse().unwrap();
    url.query_pairs().find(|(name, _)| name == "nonce").unwrap().1.into_owned()
}

fn without_birthdate(mut claims: Value) -> WebResponse {
    claims.as_object_mut().unwrap().remove("birthdate");
    tokens(&signed(&claims))
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

fn signed_by(name: &str, header: &Value, claims: &Value) -> String {
    let text = unsigned(header, claims);
    let signature = key(name).sign(&CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256, text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn signed(claims: &Value) -> String {
    signed_by("provider", &json!({ "alg": "RS256", "kid": "k" }), claims)
}

fn with_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let text = unsigned(header, claims);
    let signature = CoreHmacKey::new(secret).sign(&CoreJwsSigningAlgorithm::HmacSha256, text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn tokens(id_token: &str) -> WebResponse {
    WebResponse::json(json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": id_token }))
}

fn changed(mut claims: Value, name: &str, to: Value) -> Value {
    claims[name] = to;
    claims
}

#[tokio::test]
async fn an_id_token_is_believed_only_if_the_provider_made_it_for_this_check() {
    let provider = Provider::start().await;
    let right = provider.check(|nonce| tokens(&signed(&provider.claims(nonce)))).await;
    assert_eq!(right, Ok(AgeCheckResult::Passed));

    type Forge<'a> = Box<dyn Fn(&Value) -> String + 'a>;
    let change = |name: &'static str, to: Value| -> (&str, Forge<'_>) {
        (name, Box::new(move |claims| signed(&changed(claims.clone(), name, to.clone()))))
    };
    let pem = std::fs::read(format!("{}/tests/keys/provider.pem", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (rs256, shared) = (json!({ "alg": "RS256", "kid": "k" }), json!({ "alg": "HS256", "kid": "shared" }));
    let own = serde_json::to_value(key("stranger").as_verification_key()).unwrap();
    let with_key = json!({ "alg": "RS256", "jwk": own });
    let forgeries: Vec<(&str, Forge<'_>)> = vec![
        change("iss", json!("https://other.example")),
        change("iss", json!(format!("{}/", provider.0.url))),
        change("iss", Value::Null),
        change("aud", json!("another-client")),
        change("aud", json!(["usher", "another-client"])),
        change("aud", json!([])),
        change("aud", Value::Null),
        change("nonce", json!("of-another-check")),
        change("nonce", Value::Null),
        change("exp", json!(1_500_000_000)),
        change("exp", Value::Null),
        change("nbf", json!(4_000_000_000_u32)),
        change("nbf", json!("now")),
        change("sub", Value::Null),
        change("at_hash", json!("of-another-token")),
        ("none", Box::new(|claims| format!("{}.", unsigned(&json!({ "alg": "none" }), claims)))),
        ("nOnE", Box::new(|claims| format!("{}.", unsigned(&json!({ "alg": "nOnE" }), claims)))),
        ("no signature", Box::new(|claims| format!("{}.", unsigned(&rs256, claims)))),
        ("two parts", Box::new(|claims| unsigned(&rs256, claims))),
        ("a stranger's key", Box::new(|claims| signed_by("stranger", &rs256, claims))),
        ("no such key", Box::new(|claims| signed_by("provider", &json!({ "alg": "RS256", "kid": "x" }), claims))),
        ("another algorithm", Box::new(|claims| signed_by("provider", &json!({ "alg": "RS512", "kid": "k" }), claims))),
        ("a key in the header", Box::new(|claims| signed_by("stranger", &with_key, claims))),
        // What the client and the provider share, or what everybody knows, signs nothing.
        ("HS256", Box::new(|claims| with_secret(SECRET.as_bytes(), &json!({ "alg": "HS256" }), claims))),
        ("HS256, kid", Box::new(|claims| with_secret(SECRET.as_bytes(), &shared, claims))),
        ("HS256, public key", Box::new(|claims| with_secret(&pem, &json!({ "alg": "HS256", "kid": "k" }), claims))),
        ("not a JWT", Box::new(|_| "Zacharias".to_owned())),
        ("empty", Box::new(|_| String::new())),
    ];
    for (forgery, forge) in forgeries {
        let result = provider.check(|nonce| tokens(&forge(&provider.claims(nonce)))).await;
        let Err(error) = result else { panic!("{forgery}: {result:?}") };
        assert!(!error.to_string().to_lowercase().contains("zacharias"), "{forgery}: {error}");
    }

    let right = provider.check(|nonce| tokens(&signed(&provider.claims(nonce)))).await;
    assert_eq!(right, Ok(AgeCheckResult::Passed), "nothing of this is remembered");
}

#[tokio::test]
async fn a_provider_that_changes_its_keys_is_asked_for_them() {
    let provider = Provider::start().await;
    let verifier = provider.verifier();
    let begun = verifier.begin(&check()).await.unwrap();
    let nonce = nonce(&begun.url);
    let mut jwk = serde_json::to_value(key("stranger").as_verification_key()).unwrap();
    jwk["kid"] = json!("new");
    provider.say("/jwks", WebResponse::json(json!({ "keys": [jwk] })));
    let header = json!({ "alg": "RS256", "kid": "new" });
    provider.say("/token", tokens(&signed_by("stranger", &header, &provider.claims(&nonce))));
    assert_eq!(verifier.result(&begun.pending, Some("code=c")).await, Ok(AgeCheckResult::Passed));
}

#[tokio::test]
async fn userinfo_tells_the_age_of_the_same_subject_only() {
    let provider = Provider::start().await;
    let ask = async |userinfo: WebResponse| {
        provider.say("/userinfo", userinfo);
        provider.check(|nonce| without_birthdate(provider.claims(nonce))).await
    };
    let adult = |subject: Value| json!({ "sub": subject, "birthdate": "1970-01-02", "name": "Zacharias" });
    assert_eq!(ask(WebResponse::json(adult(json!("zacharias")))).await, Ok(AgeCheckResult::Passed));
    let silent = Ok(AgeCheckResult::Failed { reason: "the provider tells no age" });
    assert_eq!(ask(WebResponse::json(json!({ "sub": "zacharias" }))).await, silent);
    for reply in [
        WebResponse::json(adult(json!("another"))),
        WebResponse::json(adult(Value::Null)),
        WebResponse::json(json!({ "birthdate": "1970-01-02" })),
        WebResponse::json(json!([adult(json!("zacharias"))])),
        WebResponse::new(302, "location: /jwks\r\n", ""),
        WebResponse::new(200, "content-type: application/jwt\r\n", signed(&adult(json!("zacharias")))),
        WebResponse::new(401, "", "Zacharias"),
        WebResponse::new(500, "", "Zacharias"),
    ] {
        let error = ask(reply).await.unwrap_err();
        assert!(!error.to_string().contains("Zacharias"), "{error}");
    }
}

#[tokio::test]
async fn a_provider_that_breaks_the_protocol_is_not_believed_and_not_quoted() {
    let html = |status| WebResponse::new(status, "content-type: text/html\r\n", "<h1>Zacharias</h1>");
    let provider = Provider::start().await;
    let document = provider.discovery();
    for (name, value) in [
        ("issuer", json!("https://other.example")),
        ("issuer", json!(format!("{}/", provider.0.url))),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("authorization_endpoint", json!("data:text/html,Zacharias")),
        ("authorization_endpoint", json!("Zacharias")),
        ("jwks_uri", json!(format!("{}/zacharias", provider.0.url))),
        ("jwks_uri", Value::Null),
    ] {
        provider.say(DISCOVERY, WebResponse::json(changed(document.clone(), name, value.clone())));
        assert!(provider.verifier().probe().await.is_err(), "{name} {value}");
        let Err(error) = provider.verifier().begin(&check()).await else { panic!("{name} {value}") };
        assert!(!error.to_string().to_lowercase().contains("zacharias"), "{error}");
    }
    let redirect = || WebResponse::new(302, "location: /jwks\r\n", "");
    for reply in [html(200), html(404), html(500), WebResponse::json(json!([])), redirect()] {
        provider.say(DISCOVERY, reply);
        let Err(error) = provider.verifier().begin(&check()).await else { panic!() };
        assert!(!error.to_string().contains("Zacharias"), "{error}");
    }
    provider.say(DISCOVERY, WebResponse::json(document));
    assert_eq!(provider.verifier().probe().await, Ok(()));

    let access_token = json!({ "access_token": "a", "token_type": "Bearer" });
    let refusal = json!({ "error": "invalid_grant", "error_description": "Zacharias" });
    for reply in [
        html(200),
        html(500),
        WebResponse::new(400, "content-type: application/json\r\n", &refusal),
        redirect(),
        WebResponse::json(json!({ "name": "Zacharias" })),
        WebResponse::json(access_token.clone()),
        WebResponse::json(changed(access_token, "id_token", json!(["Zacharias"]))),
    ] {
        let error = provider.check(|_| reply).await.unwrap_err();
        assert!(!error.to_string().contains("Zacharias"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_drips_or_floods_costs_bounded_time_and_memory() {
    let endless = |begin: &str, again: &str, pause| WebResponse::Endless(begin.to_owned(), again.to_owned(), pause);
    let flood = |begin| endless(begin, &" ".repeat(65_536), Duration::ZERO);
    let json = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let floods = [
        WebResponse::Hang,
        endless(json, " ", Duration::from_millis(200)),
        flood(json),
        flood("HTTP/1.1 200 OK\r\nx: "),
        flood("HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n"),
    ];
    let mut checks = Vec::new();
    for path in [DISCOVERY, "/jwks", "/token", "/userinfo"] {
        for reply in floods.clone() {
            checks.push(async move {
                let provider = Provider::start().await;
                provider.say(path, reply.clone());
                let tokens = |nonce: &str| without_birthdate(provider.claims(nonce));
                provider.check(|nonce| if path == "/token" { reply } else { tokens(nonce) }).await
            });
        }
    }
    let started = Instant::now();
    for result in futures_util::future::join_all(checks).await {
        let error = result.unwrap_err();
        assert!(matches!(error, AgeVerifierError::Unreachable(_) | AgeVerifierError::Invalid(_)), "{error}");
    }
    // Eight seconds each, by docs/verification.md; all run at the same time.
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}
