//! `usher tickets balances`

use super::fixture::{Fixture, UNIT};
use crate::harness::TestUsher;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_balances_are_printed_while_the_service_does_not_run() {
    let mut fixture = Fixture::open().await;
    let minted = fixture.post("/cashu/mint", &fixture.amount(9)).await.unwrap();
    fixture.post("/cashu/burn", &fixture.token(minted["token"].as_str().unwrap())).await.unwrap();
    let (code, _, said) = run(&fixture.usher, &["tickets", "balances"]);
    assert_eq!(code, Some(1), "the service has the database: {said}");
    assert!(said.contains("stop the service first"), "{said}");
    assert!(fixture.usher.stop().await.success());
    let (code, balances, said) = run(&fixture.usher, &["tickets", "balances"]);
    assert_eq!((code, balances), (Some(0), format!("9 {UNIT} {}\n", fixture.mint.url())), "{said}");
}

/// Runs a command of the program; its exit code and what it wrote.
pub(super) fn run(usher: &TestUsher, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = usher.command(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}
