//! Two commits of the ticket wallet at the same time.

use usher_engine::ports::{State, TicketCommit, TicketCommitted, TicketConflict};

use super::tickets::{MINT, advance, done, free, sats};
use super::{FullStore, Subject, proof_id, race, ticket_step};

async fn race_of(store: &std::sync::Arc<dyn FullStore>, commits: [TicketCommit; 2]) -> [TicketCommitted; 2] {
    let [a, b] = commits.map(|commit| {
        let store = std::sync::Arc::clone(store);
        async move { store.commit_tickets(commit).await.unwrap() }
    });
    let (a, b) = race(a, b).await;
    [a, b]
}

fn winners(results: [TicketCommitted; 2]) -> usize {
    results.iter().filter(|result| matches!(result, TicketCommitted::Done(_))).count()
}

/// Of two for the same counters, one derives secrets from them.
pub async fn one_of_two_concurrent_jobs_gets_the_counter(subject: impl Subject) {
    let store = subject.store();
    for n in 0..50 {
        let commits = [1, 2].map(|who| TicketCommit {
            counter: advance("00a", n * 3, n * 3 + 3),
            ..ticket_step(u64::from(n) * 10 + who, 0)
        });
        let results = race_of(&store, commits).await;
        assert_eq!(winners(results), 1, "{results:?}");
        assert!(results.contains(&TicketCommitted::Conflict(TicketConflict::Counter)));
        assert_eq!(store.ticket_counter(MINT, "00a").await.unwrap(), n * 3 + 3);
    }
}

/// If two jobs redeem the same token, one claims it and the other gets a conflict.
pub async fn one_of_two_concurrent_jobs_gets_the_claim(subject: impl Subject) {
    let store = subject.store();
    for n in 0..50 {
        let commits = [1, 2].map(|who| TicketCommit { claims: vec![proof_id(n)], ..ticket_step(n * 10 + who, 0) });
        let results = race_of(&store, commits).await;
        assert_eq!(winners(results), 1, "{results:?}");
        let winner = store.proof_claim(proof_id(n)).await.unwrap().unwrap();
        assert!(results.contains(&TicketCommitted::Conflict(TicketConflict::Claimed(winner))));
    }
}

/// Of two that spend the same proof, one reserves it.
pub async fn one_of_two_concurrent_jobs_gets_the_proof(subject: impl Subject) {
    let store = subject.store();
    for n in 0..50 {
        done(&*store, TicketCommit { add: vec![sats(n, 1)], ..ticket_step(n * 10, 0) }).await;
        let commits = [1, 2].map(|who| TicketCommit { reserve: vec![proof_id(n)], ..ticket_step(n * 10 + who, 0) });
        let results = race_of(&store, commits).await;
        assert_eq!(winners(results), 1, "{results:?}");
        assert!(results.contains(&TicketCommitted::Conflict(TicketConflict::Proof)));
        assert!(free(&*store).await.is_empty());
    }
}

/// Of two that create, or step, the same job, one succeeds.
pub async fn one_of_two_concurrent_steps_of_a_job_wins(subject: impl Subject) {
    let store = subject.store();
    for n in 0..25 {
        for expected in 0..2 {
            let commits = [1, 2].map(|who| TicketCommit {
                state: State(format!(r#"{{"who":{who}}}"#)),
                add: vec![sats(n * 100 + expected * 10 + who, 1)],
                ..ticket_step(n, expected)
            });
            let results = race_of(&store, commits).await;
            assert_eq!(winners(results), 1, "{results:?}");
            assert!(results.contains(&TicketCommitted::Conflict(TicketConflict::Revision)));
        }
    }
    assert_eq!(free(&*store).await.len(), 50, "of each pair one");
}
