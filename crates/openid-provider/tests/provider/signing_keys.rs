//! Signing keys: published, stored, rotated.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde_json::Value;
use usher_engine::ports::OpenIdControl as _;
use usher_openid_provider::SigningKeys;
use usher_store::SqliteStore;
use usher_testing::until;

use crate::fixture::{Fixture, ISSUER, VERIFIER, authorize_with};

async fn get(fixture: &Fixture, path: &str) -> Value {
    let reply = fixture.send(http::Request::get(path).body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.headers["access-control-allow-origin"], "*");
    reply.json()
}

async fn published(fixture: &Fixture) -> Vec<String> {
    let keys = get(fixture, "/oauth/jwks").await["keys"].as_array().unwrap().clone();
    for key in &keys {
        let private = ["d", "p", "q", "dp", "dq", "qi", "oth"];
        assert!(private.iter().all(|name| key[name].is_null()), "only public parts");
        assert_eq!(key["use"], "sig");
    }
    keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
}

fn header(jwt: &str) -> Value {
    serde_json::from_slice(&BASE64URL.decode(jwt.split('.').next().unwrap()).unwrap()).unwrap()
}

#[tokio::test]
async fn keys_survive_restarts_and_are_rotated() {
    let mut fixture = Fixture::start().await;
    let first = published(&fixture).await;
    assert_eq!(first.len(), 2);
    fixture.restart().await;
    assert_eq!(published(&fixture).await, first);
    let mut browser = fixture.browser();
    let old = fixture.id_token(&mut browser).await;
    assert_eq!(header(&old)["alg"], "RS256");

    let clock = fixture.clock.clone();
    let rotate = async |store: Arc<SqliteStore>| {
        let keys = SigningKeys::new(store, clock);
        keys.ensure().await.unwrap();
        let listed = keys.rotate().await.unwrap();
        assert_eq!(listed.len(), 4);
        assert_eq!(listed.iter().filter(|key| key.retired_at.is_some()).count(), 2);
    };
    fixture.restart_after(rotate).await;
    let second = published(&fixture).await;
    assert_eq!(second[2..], first);
    let code = fixture.next_code(&mut browser, &[]).await;
    let new = fixture.redeem(&code).await.token("id_token");
    let kid = header(&new)["kid"].as_str().unwrap().to_owned();
    assert!(second[..2].contains(&kid) && !first.contains(&kid));
    // What the last key has signed is still known.
    let hint = [("prompt", "none"), ("id_token_hint", old.as_str())];
    fixture.next_code(&mut browser, &hint).await;

    fixture.restart().await;
    assert_eq!(published(&fixture).await, second);
    fixture.clock.turn(Duration::from_secs(24 * 3600));
    assert_eq!(published(&fixture).await, second[..2]);
    // By themselves after 90 days.
    fixture.clock.turn(Duration::from_secs(89 * 24 * 3600));
    until("the keys are rotated", async || published(&fixture).await.len() >= 4).await;
    assert_eq!(published(&fixture).await[2..], second[..2]);
}

/// A key that somebody else has.
#[tokio::test]
async fn revoked_key_is_not_published_and_what_it_signed_is_not_believed() {
    let mut fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let tokens = fixture.tokens(&mut browser).await;
    let signed = &*tokens.token("id_token");
    let before = published(&fixture).await;
    let stolen = header(signed)["kid"].as_str().unwrap().to_owned();
    assert_eq!(fixture.provider.revoke_key("another").await.unwrap(), None);
    let left = fixture.provider.revoke_key(&stolen).await.unwrap().unwrap();
    assert_eq!(left.len(), 2, "another of its kind signs now");
    assert_eq!(fixture.provider.revoke_key(&stolen).await.unwrap(), None);
    let after = published(&fixture).await;
    assert_eq!(left.iter().map(|key| key.kid.clone()).collect::<Vec<_>>(), after);
    assert!(!after.contains(&stolen) && before.iter().filter(|kid| after.contains(kid)).count() == 1);

    for _ in 0..2 {
        let hint = [("prompt", "none"), ("id_token_hint", signed)];
        let refused = browser.get(&fixture, &authorize_with(&hint)).await;
        refused.is_error("invalid_request");
        let leaves = browser.get(&fixture, &format!("/usher/oauth/end-session?id_token_hint={signed}")).await;
        assert_eq!((leaves.status, leaves.location()), (200, ""), "the user is asked");
        // Access tokens and sessions are not signed.
        assert_eq!(fixture.userinfo(&tokens.token("access_token")).await.status, 200);
        let code = fixture.next_code(&mut browser, &[]).await;
        let new = fixture.redeem(&code).await.token("id_token");
        assert!(after.contains(&header(&new)["kid"].as_str().unwrap().to_owned()));
        // A restart brings nothing back.
        fixture.restart().await;
        assert_eq!(published(&fixture).await, after);
    }
    // One that signs no more leaves without another in its place.
    fixture.provider.rotate_keys().await.unwrap();
    assert_eq!(fixture.provider.revoke_key(&after[0]).await.unwrap().unwrap().len(), 3);
}

#[tokio::test]
async fn each_client_has_its_algorithm_and_discovery_leads_to_the_keys() {
    let fixture = Fixture::start().await;
    let mut browser = fixture.browser();
    let callback = "https://spa.example/callback";
    let asked = fixture.log_in(&mut browser, 3, &[("client_id", "spa"), ("redirect_uri", callback)]).await;
    let code = browser.allow(&fixture, &asked).await;
    let tokens = fixture.redeem_as("spa", None, &code, callback, VERIFIER).await.json();
    let header = header(tokens["id_token"].as_str().unwrap());
    assert_eq!(header["alg"], "ES256", "{tokens}");
    let published = get(&fixture, "/oauth/jwks").await;
    let key = published["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]).unwrap();
    assert_eq!((&key["alg"], &key["crv"]), (&"ES256".into(), &"P-256".into()));
    let document = get(&fixture, "/.well-known/openid-configuration").await;
    assert_eq!((&document["issuer"], &document["jwks_uri"]), (&ISSUER.into(), &format!("{ISSUER}/oauth/jwks").into()));
    assert_eq!(document["code_challenge_methods_supported"], serde_json::json!(["S256"]));
    assert_eq!(document["authorization_response_iss_parameter_supported"], true);
}
