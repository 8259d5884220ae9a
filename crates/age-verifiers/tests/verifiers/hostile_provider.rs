//! OpenID Connect providers that lie, break the protocol, hang and flood: nobody passes by them, and they are not quoted.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use openidconnect::core::{CoreHmacKey, CoreJwsSigningAlgorithm, CoreRsaPrivateSigningKey};
use openidconnect::{JsonWebKeyId, PrivateSigningKey as _};
use serde_json::{Value, json};
use usher_age_verifiers::{OidcOptions, OidcVerifier};
use usher_engine::UnixMillis;
use usher_engine::ports::{AgeCheckResult, AgeVerifier as _, AgeVerifierError, NewAgeCheck, SystemClock};

const SECRET: &str = "s3cret-of-the-client-which-is-long-enough";

/// What an endpoint responds.
#[derive(Clone)]
enum Reply {
    Json(Value),
    /// A status, more header lines, and a body.
    Raw(u16, String, String),
    Hang,
    /// A body, or a head, that never ends.
    Endless(&'static str),
    /// A byte now and then.
    Drip,
}

/// What the endpoints respond: by path, the last that was set.
#[derive(Clone)]
struct Provider {
    url: String,
    replies: Arc<Mutex<Vec<(&'static str, Reply)>>>,
}

impl Provider {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let provider = Self { url, replies: Arc::default() };
        let serving = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.respond(stream.unwrap()));
            }
        });
        let mut key = serde_json::to_value(key("provider").as_verification_key()).unwrap();
        key["use"] = json!("sig");
        provider.say(DISCOVERY, Reply::Json(provider.discovery()));
        // A provider that publishes what its clients sign with.
        let shared = json!({ "kty": "oct", "kid": "shared", "use": "sig", "k": URL_SAFE_NO_PAD.encode(SECRET) });
        provider.say("/jwks", Reply::Json(json!({ "keys": [key, shared] })));
        provider
    }

    fn discovery(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.url);
        json!({
            "issuer": self.url,
            "authorization_endpoint": at("/auth"),
            "token_endpoint": at("/token"),
            "userinfo_endpoint": at("/userinfo"),
            "jwks_uri": at("/jwks"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["none", "HS256", "RS256"],
        })
    }

    fn say(&self, path: &'static str, reply: Reply) {
        self.replies.lock().unwrap().push((path, reply));
    }

    fn verifier(&self) -> OidcVerifier {
        let options = OidcOptions {
            issuer: self.url.parse().unwrap(),
            client_id: "usher".to_owned(),
            client_secret: Some(SECRET.to_owned().into()),
            claim: None,
            scopes: Vec::new(),
        };
        let tls = usher_http_client::tls_config(Vec::new()).unwrap();
        OidcVerifier::new(options, tls, Arc::new(SystemClock)).unwrap()
    }

    /// The claims of a user who is old enough.
    fn claims(&self, nonce: &str) -> Value {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        json!({
            "iss": self.url, "aud": "usher", "sub": "zacharias", "nonce": nonce, "iat": now, "exp": now + 300,
            "birthdate": "1970-01-02",
        })
    }

    /// A check whose token endpoint responds with what `tokens` makes of the nonce.
    async fn check(&self, tokens: impl FnOnce(&str) -> Reply) -> Result<AgeCheckResult, AgeVerifierError> {
        let verifier = self.verifier();
        let begun = verifier.begin(&check()).await?;
        let url: url::Url = begun.url.parse().unwrap();
        let nonce = url.query_pairs().find(|(name, _)| name == "nonce").unwrap().1.into_owned();
        self.say("/token", tokens(&nonce));
        verifier.result(&begun.pending, Some("code=c&state=id.random")).await
    }

    fn respond(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while reader.read_line(&mut head).unwrap_or(0) > 2 {}
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let lower = head.to_lowercase();
        let length =
            lower.split("content-length: ").nth(1).map_or(0, |rest| rest.split('\r').next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let reply =
            self.replies.lock().unwrap().iter().rev().find(|(of, _)| *of == path).map(|(_, reply)| reply.clone());
        let mut stream = reader.into_inner();
        let raw = |status: u16, head: &str, body: &str| {
            let length = body.len();
            format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{head}\r\n{body}")
        };
        const JSON: &str = "content-type: application/json\r\n";
        match reply.unwrap_or(Reply::Raw(404, String::new(), String::new())) {
            Reply::Json(value) => drop(stream.write_all(raw(200, JSON, &value.to_string()).as_bytes())),
            Reply::Raw(status, head, body) => drop(stream.write_all(raw(status, &head, &body).as_bytes())),
            Reply::Hang => drop(stream.read(&mut [0])),
            Reply::Endless(start) => {
                let _ = stream.write_all(start.as_bytes());
                while stream.write_all(&[b' '; 65_536]).is_ok() {}
            }
            Reply::Drip => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n");
                while stream.write_all(b" ").is_ok() {
                    std::thread::sleep(Duration::from_millis(200));
                }
            }
        }
    }
}

const DISCOVERY: &str = "/.well-known/openid-configuration";

fn check() -> NewAgeCheck {
    NewAgeCheck {
        minimum_age: 18,
        return_url: "http://127.0.0.1:9/verify/return".to_owned(),
        state: "id.random".to_owned(),
        expires_at: UnixMillis(u64::MAX),
    }
}

/// A key of tests/keys, with its name as id.
fn key(name: &str) -> CoreRsaPrivateSigningKey {
    let path = format!("{}/tests/keys/{name}.pem", env!("CARGO_MANIFEST_DIR"));
    let pem = std::fs::read_to_string(path).unwrap();
    CoreRsaPrivateSigningKey::from_pem(&pem, Some(JsonWebKeyId::new("k".to_owned()))).unwrap()
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

/// As the provider signs.
fn signed(claims: &Value) -> String {
    signed_by("provider", &json!({ "alg": "RS256", "kid": "k" }), claims)
}

fn with_secret(secret: &[u8], header: &Value, claims: &Value) -> String {
    let text = unsigned(header, claims);
    let signature = CoreHmacKey::new(secret).sign(&CoreJwsSigningAlgorithm::HmacSha256, text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn tokens(id_token: &str) -> Reply {
    Reply::Json(json!({ "access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": id_token }))
}

fn changed(mut claims: Value, name: &str, to: Value) -> Value {
    claims[name] = to;
    claims
}

#[tokio::test]
async fn an_id_token_is_believed_only_if_the_provider_made_it_for_this_check() {
    let provider = Provider::start();
    let right = provider.check(|nonce| tokens(&signed(&provider.claims(nonce)))).await;
    assert_eq!(right, Ok(AgeCheckResult::Passed));

    type Forge<'a> = Box<dyn Fn(&Value) -> String + 'a>;
    let change = |name: &'static str, to: Value| -> (&str, Forge<'_>) {
        (name, Box::new(move |claims| signed(&changed(claims.clone(), name, to.clone()))))
    };
    let pem = std::fs::read(format!("{}/tests/keys/provider.pem", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let forgeries: Vec<(&str, Forge<'_>)> = vec![
        change("iss", json!("https://other.example")),
        change("iss", json!(format!("{}/", provider.url))),
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
        ("no signature", Box::new(|claims| format!("{}.", unsigned(&json!({ "alg": "RS256", "kid": "k" }), claims)))),
        ("two parts", Box::new(|claims| unsigned(&json!({ "alg": "RS256", "kid": "k" }), claims))),
        ("a stranger's key", Box::new(|claims| signed_by("stranger", &json!({ "alg": "RS256", "kid": "k" }), claims))),
        ("no such key", Box::new(|claims| signed_by("provider", &json!({ "alg": "RS256", "kid": "x" }), claims))),
        ("another algorithm", Box::new(|claims| signed_by("provider", &json!({ "alg": "RS512", "kid": "k" }), claims))),
        (
            "a key in the header",
            Box::new(|claims| {
                let own = serde_json::to_value(key("stranger").as_verification_key()).unwrap();
                signed_by("stranger", &json!({ "alg": "RS256", "jwk": own }), claims)
            }),
        ),
        // What the client and the provider share, or what everybody knows, signs nothing.
        ("HS256", Box::new(|claims| with_secret(SECRET.as_bytes(), &json!({ "alg": "HS256" }), claims))),
        (
            "HS256, kid",
            Box::new(|claims| with_secret(SECRET.as_bytes(), &json!({ "alg": "HS256", "kid": "shared" }), claims)),
        ),
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
    let provider = Provider::start();
    let verifier = provider.verifier();
    let begun = verifier.begin(&check()).await.unwrap();
    let url: url::Url = begun.url.parse().unwrap();
    let nonce = url.query_pairs().find(|(name, _)| name == "nonce").unwrap().1.into_owned();
    let mut jwk = serde_json::to_value(key("stranger").as_verification_key()).unwrap();
    jwk["kid"] = json!("new");
    provider.say("/jwks", Reply::Json(json!({ "keys": [jwk] })));
    let header = json!({ "alg": "RS256", "kid": "new" });
    provider.say("/token", tokens(&signed_by("stranger", &header, &provider.claims(&nonce))));
    assert_eq!(verifier.result(&begun.pending, Some("code=c")).await, Ok(AgeCheckResult::Passed));
}

#[tokio::test]
async fn userinfo_tells_the_age_of_the_same_subject_only() {
    let provider = Provider::start();
    let ask = async |userinfo: Reply| {
        provider.say("/userinfo", userinfo);
        provider
            .check(|nonce| {
                let mut claims = provider.claims(nonce);
                claims.as_object_mut().unwrap().remove("birthdate");
                tokens(&signed(&claims))
            })
            .await
    };
    let adult = |subject: Value| json!({ "sub": subject, "birthdate": "1970-01-02", "name": "Zacharias" });
    assert_eq!(ask(Reply::Json(adult(json!("zacharias")))).await, Ok(AgeCheckResult::Passed));
    let silent = Ok(AgeCheckResult::Failed { reason: "the provider tells no age" });
    assert_eq!(ask(Reply::Json(json!({ "sub": "zacharias" }))).await, silent);
    for reply in [
        Reply::Json(adult(json!("another"))),
        Reply::Json(adult(Value::Null)),
        Reply::Json(json!({ "birthdate": "1970-01-02" })),
        Reply::Json(json!([adult(json!("zacharias"))])),
        Reply::Raw(302, "location: /jwks\r\n".to_owned(), String::new()),
        Reply::Raw(200, "content-type: application/jwt\r\n".to_owned(), signed(&adult(json!("zacharias")))),
        Reply::Raw(401, String::new(), "Zacharias".to_owned()),
        Reply::Raw(500, String::new(), "Zacharias".to_owned()),
    ] {
        let error = ask(reply).await.unwrap_err();
        assert!(!error.to_string().contains("Zacharias"), "{error}");
    }
}

#[tokio::test]
async fn a_provider_that_breaks_the_protocol_is_not_believed_and_not_quoted() {
    let html = |status| Reply::Raw(status, "content-type: text/html\r\n".to_owned(), "<h1>Zacharias</h1>".to_owned());
    let provider = Provider::start();
    let document = provider.discovery();
    for (name, value) in [
        ("issuer", json!("https://other.example")),
        ("issuer", json!(format!("{}/", provider.url))),
        ("authorization_endpoint", json!("javascript:alert(1)")),
        ("authorization_endpoint", json!("data:text/html,Zacharias")),
        ("authorization_endpoint", json!("Zacharias")),
        ("jwks_uri", json!(format!("{}/zacharias", provider.url))),
        ("jwks_uri", Value::Null),
    ] {
        provider.say(DISCOVERY, Reply::Json(changed(document.clone(), name, value.clone())));
        assert!(provider.verifier().probe().await.is_err(), "{name} {value}");
        let Err(error) = provider.verifier().begin(&check()).await else { panic!("{name} {value}") };
        assert!(!error.to_string().to_lowercase().contains("zacharias"), "{error}");
    }
    for reply in [
        html(200),
        html(404),
        html(500),
        Reply::Json(json!([])),
        Reply::Raw(302, "location: /jwks\r\n".to_owned(), String::new()),
    ] {
        provider.say(DISCOVERY, reply);
        let Err(error) = provider.verifier().begin(&check()).await else { panic!() };
        assert!(!error.to_string().contains("Zacharias"), "{error}");
    }
    provider.say(DISCOVERY, Reply::Json(document));
    assert_eq!(provider.verifier().probe().await, Ok(()));

    let access_token = json!({ "access_token": "a", "token_type": "Bearer" });
    for reply in [
        html(200),
        html(500),
        Reply::Raw(
            400,
            "content-type: application/json\r\n".to_owned(),
            json!({ "error": "invalid_grant", "error_description": "Zacharias" }).to_string(),
        ),
        Reply::Raw(302, "location: /jwks\r\n".to_owned(), String::new()),
        Reply::Json(json!({ "name": "Zacharias" })),
        Reply::Json(access_token.clone()),
        Reply::Json(changed(access_token, "id_token", json!(["Zacharias"]))),
    ] {
        let error = provider.check(|_| reply).await.unwrap_err();
        assert!(!error.to_string().contains("Zacharias"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_hangs_drips_or_floods_costs_bounded_time_and_memory() {
    let floods = || {
        [
            Reply::Hang,
            Reply::Drip,
            Reply::Endless("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"),
            Reply::Endless("HTTP/1.1 200 OK\r\nx: "),
            Reply::Endless("HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551615\r\n\r\n"),
        ]
    };
    let mut checks = Vec::new();
    for path in [DISCOVERY, "/jwks", "/token", "/userinfo"] {
        for reply in floods() {
            checks.push(async move {
                let provider = Provider::start();
                provider.say(path, reply.clone());
                provider
                    .check(|nonce| {
                        let mut claims = provider.claims(nonce);
                        claims.as_object_mut().unwrap().remove("birthdate");
                        if path == "/token" { reply } else { tokens(&signed(&claims)) }
                    })
                    .await
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
