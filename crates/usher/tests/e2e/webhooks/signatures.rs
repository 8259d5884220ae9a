//! What an app checks: both signatures, computed here by the words of their specifications, while secrets change.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use super::webhook_receiver::{App, Post, Reply, hex};
use super::{event, service};
use crate::harness::now;

/// 24 to 64 bytes, as Standard Webhooks wants them.
const OLD: &str = "whsec_b2xkIGtleSBvbGQga2V5IG9sZCBrZXkgb2xkIGtleSE=";
const NEW: &str = "whsec_bmV3IGtleSBuZXcga2V5IG5ldyBrZXkgbmV3IGtleSE=";
/// Not of their form: it is the key as it stands.
const PLAIN: &str = "a secret of the operator's own";

fn code(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

/// Whether the specification's header is of this secret.
fn signed_with(post: &Post, secret: &str) -> bool {
    post.header("x-service-signature") == hex(&code(secret.as_bytes(), &[&post.body]))
}

/// Whether one of the signatures of Standard Webhooks is of this secret.
fn verifies_with(post: &Post, secret: &str) -> bool {
    let key = secret.strip_prefix("whsec_").map_or_else(|| secret.into(), |key| BASE64.decode(key).unwrap());
    let signed = [post.header("webhook-id"), post.header("webhook-timestamp")].join(".");
    let expected = format!("v1,{}", BASE64.encode(code(&key, &[signed.as_bytes(), b".", &post.body])));
    post.header("webhook-signature").split(' ').any(|signature| signature == expected)
}

/// Members and headers are those that the OpenAPI document describes, all of them and no others.
fn assert_documented(post: &Post) {
    let document: Value = serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    let sorted = |mut names: Vec<String>| {
        names.sort_unstable();
        names
    };
    let names = |object: &Value| sorted(object.as_object().unwrap().keys().cloned().collect());
    assert_eq!(names(&post.json()), names(&document["components"]["schemas"]["WebhookEvent"]["properties"]));
    let parameters = document["webhooks"]["event"]["post"]["parameters"].as_array().unwrap();
    let described = parameters.iter().map(|each| each["name"].as_str().unwrap().to_lowercase()).collect();
    let ours = |name: &&String| name.starts_with("webhook-") || name.starts_with("x-");
    assert_eq!(sorted(post.headers.keys().filter(ours).cloned().collect()), sorted(described));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_are_signed_while_the_secret_is_changed() {
    let app = App::start(|_, _| Reply::Ok).await;
    let (relay, mut usher) = service(&app.url(), |builder| builder.set("WEBHOOK__SECRET", OLD)).await;
    let api = usher.api();
    // The secret and the one before it; then which of old, new and plain verify.
    let steps = [
        (OLD, None, [true, false, false]),
        (NEW, Some(OLD), [true, true, false]),
        (NEW, None, [false, true, false]),
        (PLAIN, Some(NEW), [false, true, true]),
    ];
    for (step, (secret, previous, verifies)) in (1..).zip(steps) {
        if step > 1 {
            usher.set("WEBHOOK__SECRET", secret);
            usher.unset("WEBHOOK__PREVIOUS_SECRET");
            if let Some(previous) = previous {
                usher.set("WEBHOOK__PREVIOUS_SECRET", previous);
            }
            usher.restart().await;
            relay.wait_for(crate::harness::LONG, |metrics| metrics.reqs >= step).await.expect("the service subscribes");
        }
        let stream = event(&api, &relay).await;
        app.takes(&stream, 1).await;
        let post = &app.posts_of(&stream)[0];
        for (known, verifies) in [OLD, NEW, PLAIN].into_iter().zip(verifies) {
            assert_eq!(signed_with(post, known), known == secret, "X-Service-Signature is of the newest alone");
            assert_eq!(verifies_with(post, known), verifies, "step {step}");
        }
        let timestamp: u64 = post.header("webhook-timestamp").parse().unwrap();
        assert!(timestamp.abs_diff(now()) < 300, "within the tolerance of verifiers");
        assert_eq!(post.header("content-type"), "application/json");
        assert_documented(post);
    }
    assert!(!usher.log().contains("whsec_") && !usher.log().contains(PLAIN), "secrets are not logged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_secret_nothing_is_signed() {
    let app = App::start(|_, _| Reply::Ok).await;
    let (relay, usher) = service(&app.url(), |builder| builder).await;
    let stream = event(&usher.api(), &relay).await;
    app.takes(&stream, 1).await;
    let post = &app.posts()[0];
    assert!(!post.headers.contains_key("x-service-signature") && !post.headers.contains_key("webhook-signature"));
    app.assert_order();
}
