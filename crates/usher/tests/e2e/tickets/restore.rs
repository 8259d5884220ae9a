//! `usher tickets restore`

use usher_protocol::Keys;

use super::fixture::{AUTH, Fixture, UNIT};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_balance_comes_back_with_the_key_alone() {
    let keys = Keys::generate();
    let mut fixture = Fixture::open_with(|builder| builder.keys(keys.clone())).await;
    let minted = fixture.post("/cashu/mint", &fixture.amount(9)).await.unwrap();
    let handed_out = fixture.post("/cashu/mint", &fixture.amount(4)).await.unwrap();
    fixture.post("/cashu/burn", &fixture.token(minted["token"].as_str().unwrap())).await.unwrap();
    let withdrawn = fixture.post("/cashu/withdraw", &fixture.amount(2)).await.unwrap();

    let line = format!("7 {UNIT} {}\n", fixture.mint.url());
    let (code, _, said) = fixture.usher.run(&["tickets", "balances"]).await;
    assert!(code == Some(1) && said.contains("stop the service first"), "{said}");
    assert!(fixture.usher.stop().await.success());
    assert_eq!(fixture.usher.says(&["tickets", "balances"]).await, line);

    // The record lacks nothing.
    let file = fixture.usher.data_dir().join("mint-token");
    std::fs::write(&file, format!("{AUTH}\n")).unwrap();
    let restore = ["tickets", "restore", &fixture.mint.url(), "--static-token-file", file.to_str().unwrap()];
    let (code, restored, said) = fixture.usher.run(&restore).await;
    assert_eq!((code, restored.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("nothing for this key that the database lacks"), "{said}");
    assert_eq!(fixture.usher.says(&["tickets", "balances"]).await, line, "nothing has changed");

    // Another machine, with the key and nothing else.
    let mut anew = Fixture::with(fixture.mint, |builder| builder.keys(keys)).await;
    assert!(anew.usher.stop().await.success());
    let file = anew.usher.data_dir().join("mint-token");
    std::fs::write(&file, format!("{AUTH}\n")).unwrap();
    let restore = ["tickets", "restore", &anew.mint.url(), "--static-token-file", file.to_str().unwrap()];
    assert_eq!(anew.usher.says(&restore).await, line);
    anew.usher.restart().await;
    assert_eq!(anew.balance().await, 7);
    // What others hold is theirs, and the balance can be spent.
    for (body, amount) in [(&handed_out, 4), (&withdrawn, 2)] {
        let burned = anew.post("/cashu/burn", &anew.token(body["token"].as_str().unwrap())).await.unwrap();
        assert_eq!(burned["amount"], amount);
    }
    assert!(anew.post("/cashu/withdraw", &anew.amount(13)).await.is_ok());
    assert_eq!(anew.balance().await, 0);
}
