//! Tickets: the real program and a real mint.

mod fixture;
mod kills;
mod restore;
mod users;

use serde_json::json;
use usher_mint::{Mint, MintOptions};

use self::fixture::{AUTH, Fixture, UNIT};
use crate::harness::{TestUsher, is_not_logged, refusal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mints_at_private_addresses_are_refused_unless_they_are_allowed() {
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let usher = TestUsher::builder().relays(&["ws://127.0.0.1:9"]).start().await;
    let body = json!({ "mint_url": mint.url(), "unit": UNIT, "amount": 1 });
    // Nobody is asked for a ticket that could never be verified.
    let user = nostr::Keys::generate().public_key().to_hex();
    let request = json!({ "main_key": user, "subkeys": [], "mint_url": "https://10.0.0.1", "unit": UNIT, "amount": 1 });
    let proof = json!({ "recipient_key": user, "subkeys": [], "mint_url": mint.url() });
    for (path, body) in [("/cashu/mint", &body), ("/cashu/request", &request), ("/verification/token", &proof)] {
        let (status, problem) = refusal(usher.api().post(path, body).await);
        assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!("/mint_url")), "{path}");
        assert!(problem.to_string().contains("cashu.allow_private_mints"), "{problem}");
    }
}

/// No token, proof or secret of a mint is in the log, at any level.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_token_is_logged() {
    let mut fixture = Fixture::open_with(|builder| builder.set("LOG__FORMAT", "json").log_level("trace")).await;
    let minted = fixture.post("/cashu/mint", &fixture.amount(5)).await.unwrap();
    let token = minted["token"].as_str().unwrap().to_owned();
    fixture.post("/cashu/burn", &fixture.token(&token)).await.unwrap();
    assert!(fixture.post("/cashu/burn", &fixture.token(&token)).await.is_err());
    let withdrawn = fixture.post("/cashu/withdraw", &fixture.amount(3)).await.unwrap();
    let withdrawn = withdrawn["token"].as_str().unwrap().to_owned();
    let mut wrong = fixture.amount(1);
    wrong["static_token"] = json!("wrong-s3cret");
    assert!(fixture.post("/cashu/mint", &wrong).await.is_err());
    let mut swapped = fixture.token(AUTH);
    swapped["unit"] = json!(token);
    assert!(fixture.post("/cashu/burn", &swapped).await.is_err());
    assert!(fixture.usher.stop().await.success());

    let log = fixture.usher.log();
    assert!(log.contains("DEBUG") && log.contains("/cashu/mint"), "it logs everything");
    // The end of a token is its last signature; the beginning is the mint and the unit.
    let secrets = [
        ("a minted token", &token[token.len() - 60..]),
        ("the same", &token[..]),
        ("a withdrawn token", &withdrawn[withdrawn.len() - 60..]),
        ("the token of the mint", AUTH),
        ("a wrong one", "wrong-s3cret"),
        ("the service's key", &fixture.usher.secret_key_hex()),
    ];
    is_not_logged(&log, &secrets);
    for secret in fixture::secrets(&token).iter().chain(&fixture::secrets(&withdrawn)) {
        is_not_logged(&log, &[("a proof's secret", secret)]);
    }
}
