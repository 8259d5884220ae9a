//! Databases and tickets of development builds, whose secrets did not depend on the mint's address.

use std::collections::BTreeSet;

use cashu::nuts::nut01::SecretKey;
use cashu::secret::Secret;
use cashu::{Id, Proof};
use hmac::{Hmac, Mac as _};
use serde_json::{Value, json};
use sha2::Sha512;
use usher_engine::UnixMillis;
use usher_engine::ports::{State, TicketCommit, TicketCommitted, TicketStore as _, TicketWallet as _};
use usher_testing::mint::{Fault, MintRoute};
use usher_tickets::SecretsOf;

use crate::fixture::{KEY, faulty_world, id, new_store, settled, wallet_on};

/// Secret and blinding factor of a development build's own proof.
fn old_output(keyset: Id, counter: u32) -> (Secret, SecretKey) {
    let mac = <Hmac<Sha512> as hmac::digest::KeyInit>::new_from_slice(&KEY).unwrap();
    let seed: [u8; 64] = mac.chain_update("usher/tickets/v1/wallet").finalize().into_bytes().into();
    (Secret::from_seed(&seed, keyset, counter).unwrap(), SecretKey::from_seed(&seed, keyset, counter).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn their_jobs_finish_with_the_secrets_that_were_stored_and_their_tickets_are_restored() {
    let (world, proxy) = faulty_world().await;
    let wallet = world.impatient(20_000, 2_000).await;
    let token = world.token(&wallet, "sat", 37).await;
    proxy.set(MintRoute::Swap, Fault::Drop);
    let (job, terms) = (id(), world.receive_terms(&token, "sat", 37));
    assert!(wallet.redeem(job, &terms, None).await.is_err());
    wallet.close().await;

    // The job is one that a development build has prepared.
    let stored = world.store.ticket_job(job).await.unwrap().unwrap();
    let mut state: Value = serde_json::from_str(&stored.state.0).unwrap();
    let outputs = &mut state["stage"]["swapping"]["outputs"];
    let keyset: Id = serde_json::from_value(outputs["keyset"].clone()).unwrap();
    let mut secrets = BTreeSet::new();
    for (output, counter) in outputs["outputs"].as_array_mut().unwrap().iter_mut().zip(0..) {
        let (secret, r) = old_output(keyset, counter);
        assert_ne!(output["secret"], json!(secret), "the secrets are others now");
        (output["secret"], output["r"]) = (json!(secret), json!(r));
        secrets.insert(secret);
    }
    let commit = TicketCommit {
        job,
        expected: stored.revision,
        at: UnixMillis(0),
        state: State(state.to_string()),
        finished: false,
        counter: None,
        claims: Vec::new(),
        release_claims: false,
        add: Vec::new(),
        reserve: Vec::new(),
        release_reserved: false,
        remove_reserved: false,
        set_aside: Vec::new(),
    };
    assert!(matches!(world.store.commit_tickets(commit).await, Ok(TicketCommitted::Done(_))));

    proxy.heal();
    let wallet = world.wallet().await;
    settled(&wallet).await;
    assert_eq!(wallet.redeem(job, &terms, None).await.unwrap(), 37);
    let proofs = world.store.free_proofs(&world.url, "sat", 100).await.unwrap();
    let proofs = proofs.iter().map(|stored| serde_json::from_str::<Proof>(&stored.proof).unwrap().secret);
    assert_eq!(proofs.collect::<BTreeSet<_>>(), secrets);
    wallet.close().await;

    // They follow from the key alone, but a restore looks for them only on request.
    let (store, _folder) = new_store();
    let anew = wallet_on(&store, &KEY, |_| {}).await;
    let restored = async |secrets| {
        let report = anew.restore(&world.url, &secrets, None).await.unwrap();
        report.iter().map(|unit| unit.amount).sum::<u64>()
    };
    assert_eq!(restored(SecretsOf::ThisAddress).await, 0);
    assert_eq!(restored(SecretsOf::AnyAddress).await, 37);
    assert_eq!(restored(SecretsOf::AnyAddress).await, 0);
    let token = anew.withdraw(id(), &world.withdraw_terms("sat", 30), None).await.unwrap();
    world.redeem(&anew, &token, "sat", 30).await;
    assert_eq!(world.balance(&anew, "sat").await, 37);
}
