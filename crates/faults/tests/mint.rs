//! A mint that misbehaves, as a wallet's HTTP client sees it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use serde_json::{Value, json};
use usher_faults::mint::{FalseResponse, Fault, FaultyMint, Garbage, MintRoute};
use usher_mint::{Mint, MintOptions, QuotePayment};

/// How long a response may take that comes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// How long one is waited for that does not come.
const SILENCE: Duration = Duration::from_millis(300);

struct Fixture {
    mint: Mint,
    faulty: FaultyMint,
    http: reqwest::Client,
}

impl Fixture {
    async fn start() -> Self {
        // Open quotes show whether the mint has acted.
        let mint = Mint::start(MintOptions::new().quotes(QuotePayment::Manual)).await.unwrap();
        let faulty = FaultyMint::start(mint.url()).await.unwrap();
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { mint, faulty, http }
    }

    fn quote(&self) -> reqwest::RequestBuilder {
        let url = format!("{}/v1/mint/quote/bolt11", self.faulty.url());
        self.http.post(url).timeout(TIMEOUT).json(&json!({ "amount": 5, "unit": "sat" }))
    }

    async fn acted(&self) -> usize {
        self.mint.open_quotes().await.unwrap().len()
    }

    async fn quote_with(&self, fault: Fault) -> (reqwest::Result<reqwest::Response>, usize) {
        let before = self.acted().await;
        self.faulty.once(MintRoute::CreateQuote, fault);
        let response = self.quote().send().await;
        (response, self.acted().await - before)
    }
}

#[tokio::test]
async fn without_faults_requests_reach_the_mint_and_are_recorded() {
    let fixture = Fixture::start().await;
    let quote: Value = fixture.quote().header("Clear-auth", "abc").send().await.unwrap().json().await.unwrap();
    assert_eq!((&quote["amount"], fixture.acted().await), (&json!(5), 1));
    let calls = fixture.faulty.calls();
    assert_eq!((calls.len(), calls[0].route, &calls[0].body["unit"]), (1, MintRoute::CreateQuote, &json!("sat")));
    assert_eq!(calls[0].auth.as_deref(), Some("abc"));
    let refused = fixture.http.get(format!("{}/v1/mint/quote/bolt11/nothing", fixture.faulty.url())).send().await;
    assert_eq!(refused.unwrap().status(), 400);
}

#[tokio::test]
async fn refusing_closing_and_hanging_with_and_without_executing() {
    let fixture = Fixture::start().await;
    let refusal = || (503, 7, "busy".to_owned());
    for (acts, fault) in [
        (0, {
            let (status, code, detail) = refusal();
            Fault::Refuse { status, code, detail }
        }),
        (1, {
            let (status, code, detail) = refusal();
            Fault::ActAndRefuse { status, code, detail }
        }),
    ] {
        let (response, acted) = fixture.quote_with(fault).await;
        let response = response.unwrap();
        assert_eq!((response.status().as_u16(), acted), (503, acts));
        assert_eq!(response.json::<Value>().await.unwrap(), json!({ "code": 7, "detail": "busy" }));
    }
    for (acts, fault) in [(0, Fault::Drop), (1, Fault::ActAndDrop)] {
        let (response, acted) = fixture.quote_with(fault).await;
        assert_eq!((response.is_err(), acted), (true, acts));
    }
    let (response, acted) = fixture.quote_with(Fault::ActAndCut).await;
    assert_eq!((response.unwrap().bytes().await.is_err(), acted), (true, 1));
    for (acts, fault) in [(0, Fault::Hang), (1, Fault::ActAndHang)] {
        let before = fixture.acted().await;
        fixture.faulty.once(MintRoute::CreateQuote, fault);
        assert!(fixture.quote().timeout(SILENCE).send().await.unwrap_err().is_timeout());
        assert_eq!(fixture.acted().await - before, acts);
    }
    // Nothing is left over.
    assert_eq!(fixture.quote().send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn delayed_execution_and_delayed_responses() {
    let fixture = Fixture::start().await;
    for (at_once, fault) in [(1, Fault::Delay(2 * SILENCE)), (0, Fault::ActLate(2 * SILENCE))] {
        let before = fixture.acted().await;
        fixture.faulty.once(MintRoute::CreateQuote, fault);
        let mut sent = Box::pin(fixture.quote().send());
        assert!(tokio::time::timeout(SILENCE, &mut sent).await.is_err());
        assert_eq!(fixture.acted().await - before, at_once);
        assert_eq!(sent.await.unwrap().status(), 200);
        assert_eq!(fixture.acted().await - before, 1);
    }
}

#[tokio::test]
async fn garbage_responses() {
    let fixture = Fixture::start().await;
    for garbage in [
        Garbage::Empty,
        Garbage::Html,
        Garbage::Bytes,
        Garbage::Half,
        Garbage::EmptyObject,
        Garbage::Nested(100_000),
        Garbage::Huge(1 << 20),
    ] {
        let (response, acted) = fixture.quote_with(Fault::Garbage(garbage.clone())).await;
        let body = response.unwrap().bytes().await.unwrap();
        assert_eq!(acted, 1);
        assert!(serde_json::from_slice::<Value>(&body).map_or(true, |body| body["quote"].is_null()), "{garbage:?}");
    }
    for garbage in [Garbage::Endless, Garbage::Trickle(SILENCE / 10)] {
        fixture.faulty.once(MintRoute::CreateQuote, Fault::Garbage(garbage));
        let mut response = fixture.quote().send().await.unwrap();
        for _ in 0..10 {
            assert!(!response.chunk().await.unwrap().unwrap().is_empty());
        }
    }
    let (response, acted) = fixture.quote_with(Fault::Redirect("http://127.0.0.1:1/".to_owned())).await;
    let response = response.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"], acted),
        (307, &"http://127.0.0.1:1/".parse().unwrap(), 0)
    );
}

#[tokio::test]
async fn faults_last_until_healed_and_queued_ones_apply_first() {
    let fixture = Fixture::start().await;
    let refuse = |status| Fault::Refuse { status, code: 0, detail: String::new() };
    fixture.faulty.set_all(&refuse(500));
    fixture.faulty.once(MintRoute::CreateQuote, refuse(501));
    fixture.faulty.pass(MintRoute::CreateQuote);
    for expected in [501, 200, 500, 500] {
        assert_eq!(fixture.quote().send().await.unwrap().status(), expected);
    }
    let info = || fixture.http.get(format!("{}/v1/info", fixture.faulty.url()));
    assert_eq!(info().send().await.unwrap().status(), 500);
    fixture.faulty.heal();
    assert_eq!(info().send().await.unwrap().status(), 200);
    assert_eq!((fixture.faulty.count(MintRoute::CreateQuote), fixture.faulty.count(MintRoute::Info)), (4, 2));
}

#[tokio::test]
async fn false_responses_reach_the_client() {
    let fixture = Fixture::start().await;
    let keys = |faulty: &FaultyMint| fixture.http.get(format!("{}/v1/keys", faulty.url()));
    let honest: Value = keys(&fixture.faulty).send().await.unwrap().json().await.unwrap();
    fixture.faulty.set(MintRoute::Keys, Fault::False(FalseResponse::OtherKeys));
    let lie: Value = keys(&fixture.faulty).send().await.unwrap().json().await.unwrap();
    assert_eq!(honest["keysets"][0]["id"], lie["keysets"][0]["id"]);
    assert_ne!(honest["keysets"][0]["keys"]["1"], lie["keysets"][0]["keys"]["1"]);

    let (response, _) = fixture.quote_with(Fault::False(FalseResponse::QuoteState("PAID"))).await;
    assert_eq!(response.unwrap().json::<Value>().await.unwrap()["state"], "PAID");

    let y = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    let states = || async {
        let url = format!("{}/v1/checkstate", fixture.faulty.url());
        let response = fixture.http.post(url).json(&json!({ "Ys": [y] })).send().await.unwrap();
        response.json::<Value>().await.unwrap()["states"].clone()
    };
    assert_eq!(states().await[0]["state"], "UNSPENT");
    fixture.faulty.once(MintRoute::CheckState, Fault::False(FalseResponse::ProofState("SPENT")));
    assert_eq!(states().await[0]["state"], "SPENT");
    fixture.faulty.once(MintRoute::CheckState, Fault::False(FalseResponse::FewerStates));
    assert_eq!(states().await, json!([]));
}
