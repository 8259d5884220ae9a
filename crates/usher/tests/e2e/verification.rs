//! Age verification sessions of the whole program: over a real relay, in browsers, across crashes, and what the log knows of them.

mod fixture;
mod oidc;

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use usher_protocol::kind::{CASHU_REQUEST, CASHU_RESPONSE};

use self::fixture::Fixture;
use crate::harness::Api;

struct Session {
    id: String,
    url: String,
}

async fn open(api: &Api) -> Session {
    let session = api.post("/verification/sessions", &json!({})).await.unwrap();
    let text = |name: &str| session[name].as_str().unwrap().to_owned();
    assert_eq!(session["session_id"], session["stream_id"]);
    Session { id: text("session_id"), url: text("session_url") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_killed_after_the_decision_mints_one_proof() {
    let mut fixture = Fixture::open(|builder| builder).await;
    for pause in [0, 5, 20, 60, 150] {
        let api = fixture.usher.api();
        let session = open(&api).await;
        assert_eq!(api.http.get(&session.url).send().await.unwrap().status(), 200, "the page needs no token");
        let path = format!("/verification/sessions/{}/decision", session.id);
        api.post(&path, &json!({"decision": "approve"})).await.unwrap();
        tokio::time::sleep(Duration::from_millis(pause)).await;
        fixture.usher.restart().await;
        fixture.redeem(&session.id).await;
        let (log, secret) = (fixture.usher.log(), session.url.rsplit('/').next().unwrap());
        assert!(log.contains("/verify/{session_id}/{secret}") && !log.contains(secret), "the route is logged");
    }
    let totals = fixture.mint.totals("multi").await.unwrap();
    assert_eq!(totals.outstanding(), 5, "one proof for each session, redeemed into the service's balance");

    // At the relay, each session has a key of its own, which is asked and replies as a user's wallet does.
    let (seen, service) = (fixture.relay.seen(), fixture.usher.public_key());
    let of_kind = |kind| seen.iter().filter(move |event| event.kind.as_u16() == kind);
    let asked: BTreeSet<_> = of_kind(CASHU_REQUEST).flat_map(|event| event.tags.public_keys().copied()).collect();
    let replied: BTreeSet<_> = of_kind(CASHU_RESPONSE).map(|event| event.pubkey).collect();
    assert_eq!((asked.len(), &asked, asked.contains(&service)), (5, &replied, false));
    assert!(of_kind(CASHU_REQUEST).all(|event| event.pubkey == service));
    assert!(of_kind(CASHU_RESPONSE).all(|event| event.tags.public_keys().all(|key| *key == service)));
}
