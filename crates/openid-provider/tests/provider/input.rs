//! Nothing that a browser or a client sends makes the provider fail.

use axum::body::Body;
use http::{Method, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};

use crate::fixture::{CALLBACK, Fixture, SECRET, VERIFIER};

const PATHS: &str = "/.well-known/openid-configuration /oauth/jwks /oauth/authorize /oauth/login-return /oauth/consent \
                     /oauth/token /oauth/userinfo /oauth/end-session";

const NAMES: &str = "client_id client_secret redirect_uri response_type response_mode scope state nonce prompt max_age \
                     id_token_hint code_challenge code_challenge_method request decision grant_type code code_verifier \
                     refresh_token access_token post_logout_redirect_uri";

const VALUES: &str = "shop spa code openid none login consent S256 authorization_code refresh_token allow deny 0 \
                      https://shop.example/bye";

fn words(text: &'static str) -> Vec<&'static str> {
    text.split(' ').collect()
}

type Pairs = Vec<(&'static str, String)>;

fn pairs() -> impl Strategy<Value = Pairs> {
    let values = [words(VALUES), vec![SECRET, CALLBACK, VERIFIER, "openid profile email offline_access"]].concat();
    let value = prop_oneof![3 => select(values).prop_map(str::to_owned), 1 => any::<String>()];
    vec((select(words(NAMES)), value), 0..12)
}

fn request() -> impl Strategy<Value = (Method, &'static str, Pairs, Pairs, Vec<u8>, bool)> {
    let method = select(&[Method::GET, Method::POST, Method::OPTIONS][..]);
    (method, select(words(PATHS)), pairs(), pairs(), vec(any::<u8>(), 0..64), any::<bool>())
}

fn encode(pairs: &Pairs) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[test]
fn nothing_sent_is_an_error_of_the_server() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(Fixture::start());
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&request(), |(method, path, query, form, garbage, is_garbage)| {
        let body = if is_garbage { garbage.clone() } else { encode(&form).into_bytes() };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{path}?{}", encode(&query)))
            .header("content-type", "application/x-www-form-urlencoded");
        for name in ["authorization", "cookie", "accept-language"] {
            if let Ok(value) = http::HeaderValue::from_bytes(&garbage) {
                request = request.header(name, value);
            }
        }
        let reply = runtime.block_on(fixture.send(request.body(Body::from(body)).unwrap()));
        prop_assert!(!reply.status.is_server_error(), "{:?}", reply);
        Ok(())
    });
    outcome.unwrap();
}
