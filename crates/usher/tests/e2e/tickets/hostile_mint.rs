//! A mint that holds tickets as pending, or calls tickets of the balance spent.

use serde_json::{Value, json};
use usher_faults::mint::{FalseResponse, Fault, FaultyMint, MintRoute};

use super::balances_command::run;
use super::fixture::{AUTH, Fixture, UNIT};
use super::refused;

async fn balances(fixture: &Fixture) -> Value {
    fixture.usher.api().get("/cashu/balances").await.unwrap()["balances"].take()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pending_tickets_are_named_so_and_what_is_falsely_spent_is_set_aside() {
    let mut fixture = Fixture::open().await;
    let mint = FaultyMint::start(fixture.mint.url()).await.unwrap();
    let url = mint.url();
    let body = |more: Value| {
        let mut body = json!({ "mint_url": url, "unit": UNIT, "static_token": AUTH });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let minted = fixture.post("/cashu/mint", &body(json!({ "amount": 8 }))).await.unwrap();
    let burn = body(json!({ "token": minted["token"] }));
    mint.set(MintRoute::CheckState, Fault::False(FalseResponse::ProofState("PENDING")));
    assert_eq!(refused(fixture.post("/cashu/burn", &burn).await), (409, "token_pending".to_owned()));
    mint.heal();
    fixture.post("/cashu/burn", &burn).await.unwrap();
    assert_eq!(balances(&fixture).await, json!([{ "mint_url": url, "unit": UNIT, "amount": 8 }]));

    let lies = || {
        let spent = Fault::Refuse { status: 400, code: 11001, detail: "Token is already spent".to_owned() };
        mint.set(MintRoute::Swap, spent);
        mint.set(MintRoute::CheckState, Fault::False(FalseResponse::ProofState("SPENT")));
    };
    lies();
    let withdraw = body(json!({ "amount": 5 }));
    assert_eq!(refused(fixture.post("/cashu/withdraw", &withdraw).await), (502, "mint_error".to_owned()));
    let aside = json!([{ "mint_url": url, "unit": UNIT, "amount": 0, "set_aside": 8 }]);
    assert_eq!(balances(&fixture).await, aside);

    assert!(fixture.usher.stop().await.success());
    let (code, listed, said) = run(&fixture.usher, &["tickets", "balances"]);
    assert_eq!((code, listed.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains(&format!("8 {UNIT} {url} are set aside")), "{said}");
    let (code, listed, said) = run(&fixture.usher, &["tickets", "check"]);
    assert_eq!((code, listed), (Some(0), format!("8 {UNIT} {url}\n")), "{said}");
    mint.heal();
    let (code, listed, said) = run(&fixture.usher, &["tickets", "check"]);
    assert_eq!((code, listed.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains(&format!("8 {UNIT} {url} are unspent")), "{said}");
    let (_, listed, said) = run(&fixture.usher, &["tickets", "balances"]);
    assert_eq!(listed, format!("8 {UNIT} {url}\n"), "{said}");
}
