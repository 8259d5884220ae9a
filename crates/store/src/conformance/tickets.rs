//! The ticket wallet's records: nothing is lost or duplicated, and the second of two conflicting commits changes nothing.

use usher_engine::UnixMillis;
use usher_engine::ports::{
    CounterAdvance, ProofId, State, StoredProof, TicketBalance, TicketCommit, TicketCommitted, TicketConflict,
};

use super::{FullStore, Subject, proof, proof_id, ticket_job, ticket_step};

pub(super) const MINT: &str = "https://mint.example";

/// Commits successfully; returns the job's revision.
pub(super) async fn done(store: &dyn FullStore, commit: TicketCommit) -> u64 {
    match store.commit_tickets(commit).await.expect("the store works") {
        TicketCommitted::Done(revision) => revision,
        TicketCommitted::Conflict(conflict) => panic!("unexpected conflict: {conflict:?}"),
    }
}

async fn conflict(store: &dyn FullStore, commit: TicketCommit) -> TicketConflict {
    match store.commit_tickets(commit).await.expect("the store works") {
        TicketCommitted::Conflict(conflict) => conflict,
        done @ TicketCommitted::Done(_) => panic!("should have conflicted: {done:?}"),
    }
}

pub(super) fn advance(keyset: &str, from: u32, to: u32) -> Option<CounterAdvance> {
    Some(CounterAdvance { mint_url: MINT.to_owned(), keyset: keyset.to_owned(), from, to })
}

pub(super) fn sats(number: u64, amount: u64) -> StoredProof {
    proof(number, MINT, "sat", amount)
}

pub(super) async fn free(store: &dyn FullStore) -> Vec<ProofId> {
    store.free_proofs(MINT, "sat", usize::MAX).await.unwrap().into_iter().map(|proof| proof.id).collect()
}

/// Created at revision 1, then replaced; a step from another revision changes nothing. A failed job may be retried.
pub async fn job_is_created_stepped_and_reopened(store: &dyn FullStore) {
    assert_eq!(store.ticket_job(ticket_job(1)).await.unwrap(), None);
    assert_eq!(conflict(store, ticket_step(1, 1)).await, TicketConflict::Revision, "there is none");
    assert_eq!(done(store, ticket_step(1, 0)).await, 1);
    for expected in [0, 2, u64::MAX] {
        assert_eq!(conflict(store, ticket_step(1, expected)).await, TicketConflict::Revision, "{expected}");
    }
    let stored = store.ticket_job(ticket_job(1)).await.unwrap().unwrap();
    assert_eq!((stored.id, stored.revision, stored.finished_at), (ticket_job(1), 1, None));
    assert_eq!(stored.state, ticket_step(1, 0).state);
    let last = TicketCommit { finished: true, at: UnixMillis(7), ..ticket_step(1, 1) };
    assert_eq!(done(store, last.clone()).await, 2);
    let stored = store.ticket_job(ticket_job(1)).await.unwrap().unwrap();
    assert_eq!((stored.revision, stored.state, stored.finished_at), (2, last.state, Some(UnixMillis(7))));
    assert!(store.unfinished_ticket_jobs(None, 10).await.unwrap().is_empty());
    assert_eq!(done(store, ticket_step(1, 2)).await, 3);
    assert_eq!(store.unfinished_ticket_jobs(None, 10).await.unwrap(), [ticket_job(1)]);
    assert_eq!(store.remove_ticket_jobs(UnixMillis(u64::MAX), 10).await.unwrap(), 0);
}

/// In order of their ids.
pub async fn unfinished_jobs_are_listed_in_pages(store: &dyn FullStore) {
    for number in [4, 1, 3, 2, 5] {
        done(store, TicketCommit { finished: number == 3, ..ticket_step(number, 0) }).await;
    }
    let mut expected = [1, 2, 4, 5].map(ticket_job);
    expected.sort_unstable();
    assert_eq!(store.unfinished_ticket_jobs(None, 10).await.unwrap(), expected);
    assert_eq!(store.unfinished_ticket_jobs(None, 3).await.unwrap(), expected[..3]);
    assert_eq!(store.unfinished_ticket_jobs(Some(expected[2]), 3).await.unwrap(), expected[3..]);
    assert!(store.unfinished_ticket_jobs(Some(expected[3]), 3).await.unwrap().is_empty());
    assert!(store.unfinished_ticket_jobs(None, 0).await.unwrap().is_empty());
}

/// A secret is never derived twice: each counter is used by one job, and none decreases.
pub async fn counters_only_advance(store: &dyn FullStore) {
    let stored = async |keyset| store.ticket_counter(MINT, keyset).await.unwrap();
    assert_eq!(stored("00a").await, 0);
    done(store, TicketCommit { counter: advance("00a", 0, 5), ..ticket_step(1, 0) }).await;
    assert_eq!((stored("00a").await, stored("00b").await), (5, 0));
    assert_eq!(store.ticket_counter("https://other.example", "00a").await.unwrap(), 0);
    for (from, to) in [(0, 5), (4, 9), (6, 9), (5, 4)] {
        let commit = TicketCommit { counter: advance("00a", from, to), ..ticket_step(2, 0) };
        assert_eq!(conflict(store, commit).await, TicketConflict::Counter, "{from} to {to}");
    }
    done(store, TicketCommit { counter: advance("00a", 5, u32::MAX), ..ticket_step(2, 0) }).await;
    assert_eq!(stored("00a").await, u32::MAX);
}

/// Starting from 0 would reuse the secrets of proofs that the wallet has or has handed out.
pub async fn a_counter_that_is_lost_is_no_counter_of_0(store: &dyn FullStore) {
    let of_keyset = |number, keyset: &str| StoredProof {
        proof: format!(r#"{{"amount":1,"id":"{keyset}","secret":"s","C":"02"}}"#),
        ..sats(number, 1)
    };
    // Its commit advanced the counter of another keyset.
    let add = vec![of_keyset(1, "00a"), of_keyset(2, "00b")];
    done(store, TicketCommit { counter: advance("00b", 0, 5), add, ..ticket_step(1, 0) }).await;
    assert!(store.ticket_counter(MINT, "00a").await.is_err());
    let commit = TicketCommit { counter: advance("00a", 0, 5), ..ticket_step(2, 0) };
    assert!(store.commit_tickets(commit).await.is_err());
    assert_eq!(store.ticket_job(ticket_job(2)).await.unwrap(), None, "nothing was changed");
    // Reserved ones count, too.
    done(store, TicketCommit { reserve: vec![proof_id(1)], ..ticket_step(3, 0) }).await;
    assert!(store.ticket_counter(MINT, "00a").await.is_err());
    for (mint, keyset, next) in [(MINT, "00b", 5), (MINT, "00c", 0), ("https://other.example", "00a", 0)] {
        assert_eq!(store.ticket_counter(mint, keyset).await.unwrap(), next, "{mint} {keyset}");
    }
}

/// A token can only be redeemed once.
pub async fn claimed_proof_names_its_job(store: &dyn FullStore) {
    let claim = |job, expected, proofs: &[u64]| TicketCommit {
        claims: proofs.iter().copied().map(proof_id).collect(),
        ..ticket_step(job, expected)
    };
    done(store, claim(1, 0, &[1, 2])).await;
    assert_eq!(store.proof_claim(proof_id(2)).await.unwrap(), Some(ticket_job(1)));
    assert_eq!(store.proof_claim(proof_id(3)).await.unwrap(), None);
    assert_eq!(conflict(store, claim(2, 0, &[3, 2])).await, TicketConflict::Claimed(ticket_job(1)));
    assert_eq!(store.proof_claim(proof_id(3)).await.unwrap(), None, "the loser's other claim is free");
    done(store, claim(1, 1, &[2, 3, 3])).await;
    // It remains after the job is finished, until the job gives it up.
    done(store, TicketCommit { finished: true, ..ticket_step(1, 2) }).await;
    assert_eq!(conflict(store, claim(2, 0, &[3])).await, TicketConflict::Claimed(ticket_job(1)));
    done(store, TicketCommit { release_claims: true, ..claim(1, 3, &[1]) }).await;
    assert_eq!(store.proof_claim(proof_id(1)).await.unwrap(), Some(ticket_job(1)), "claimed in the same step");
    done(store, claim(2, 0, &[2, 3])).await;
}

/// From the wallet to a job, and back or away.
pub async fn proofs_are_added_reserved_released_and_removed(store: &dyn FullStore) {
    let add = vec![sats(1, 1), sats(2, 2), sats(3, 4)];
    done(store, TicketCommit { add: add.clone(), ..ticket_step(1, 0) }).await;
    assert_eq!(store.free_proofs(MINT, "sat", 10).await.unwrap(), add);
    let both = vec![proof_id(1), proof_id(3)];
    done(store, TicketCommit { reserve: both.clone(), ..ticket_step(2, 0) }).await;
    assert_eq!(free(store).await, [proof_id(2)]);
    let asked = [proof_id(3), proof_id(9), proof_id(1)];
    assert_eq!(store.proofs(&asked).await.unwrap(), [add[2].clone(), add[0].clone()], "they are there");
    // Another job's are not affected.
    let other = TicketCommit { remove_reserved: true, release_reserved: true, ..ticket_step(1, 1) };
    done(store, other).await;
    assert_eq!(free(store).await, [proof_id(2)]);

    done(store, TicketCommit { release_reserved: true, ..ticket_step(2, 1) }).await;
    assert_eq!(free(store).await, [1, 2, 3].map(proof_id));
    done(store, TicketCommit { reserve: both.clone(), ..ticket_step(2, 2) }).await;
    // Spent proofs are removed and the change is added in one step.
    let spent = TicketCommit { remove_reserved: true, add: vec![sats(4, 3)], ..ticket_step(2, 3) };
    done(store, spent).await;
    assert_eq!(free(store).await, [2, 4].map(proof_id));
    assert!(store.proofs(&both).await.unwrap().is_empty());
}

/// They are kept without an owner until they are returned.
pub async fn proofs_are_set_aside_and_returned(store: &dyn FullStore) {
    let add = vec![sats(1, 1), sats(2, 2), sats(3, 4), proof(4, MINT, "multi", 5)];
    done(store, TicketCommit { add: add.clone(), ..ticket_step(1, 0) }).await;
    let some = [1, 2, 4].map(proof_id).to_vec();
    done(store, TicketCommit { reserve: some.clone(), ..ticket_step(2, 0) }).await;
    // Only proofs that the job itself reserved before, and once.
    for (number, revision, set_aside) in [(1, 1, vec![1]), (2, 1, vec![3]), (2, 1, vec![9]), (2, 1, vec![1, 1])] {
        let set_aside = set_aside.into_iter().map(proof_id).collect();
        let commit = TicketCommit { set_aside, release_reserved: true, ..ticket_step(number, revision) };
        assert_eq!(conflict(store, commit).await, TicketConflict::Proof);
    }
    let mut aside = [1, 4].map(proof_id);
    aside.sort_unstable();
    let failed =
        TicketCommit { set_aside: aside.to_vec(), release_reserved: true, finished: true, ..ticket_step(2, 1) };
    done(store, failed).await;
    assert_eq!(free(store).await, [2, 3].map(proof_id), "the others are free again");
    assert_eq!(store.proofs(&[proof_id(1)]).await.unwrap(), add[..1], "they are there");
    let listed = async |after, limit| {
        let proofs = store.set_aside_proofs(after, limit).await.unwrap();
        proofs.into_iter().map(|proof| proof.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(None, 9).await, aside);
    assert_eq!((listed(None, 1).await, listed(Some(aside[0]), 9).await), (vec![aside[0]], vec![aside[1]]));
    let sums = async || {
        let balances = store.ticket_balances().await.unwrap();
        balances.into_iter().map(|of| (of.unit, of.amount, of.set_aside)).collect::<Vec<_>>()
    };
    assert_eq!(sums().await, [("multi".to_owned(), 0, 5), ("sat".to_owned(), 6, 1)]);
    let refused = [
        TicketCommit { reserve: vec![proof_id(1)], ..ticket_step(3, 0) },
        TicketCommit { add: vec![sats(1, 1)], ..ticket_step(3, 0) },
        TicketCommit { set_aside: vec![proof_id(1)], ..ticket_step(2, 2) },
    ];
    for commit in refused {
        assert_eq!(conflict(store, commit).await, TicketConflict::Proof);
    }
    // The job has ended and may be removed; they remain.
    assert_eq!(store.remove_ticket_jobs(UnixMillis(u64::MAX >> 2), 9).await.unwrap(), 1);
    assert_eq!(store.return_set_aside(&[1, 3, 9].map(proof_id)).await.unwrap(), 1, "the others are not set aside");
    assert_eq!(store.return_set_aside(&[proof_id(1)]).await.unwrap(), 0);
    assert_eq!(free(store).await, [1, 2, 3].map(proof_id));
    assert_eq!((listed(None, 9).await, sums().await[1].1), (vec![proof_id(4)], 7));
}

/// Smallest first, and only of this mint and unit.
pub async fn free_proofs_are_listed_by_amount(store: &dyn FullStore) {
    let add = vec![
        sats(1, 8),
        sats(2, 1),
        sats(3, 2),
        sats(4, 1),
        proof(5, MINT, "usd", 1),
        proof(6, "https://other.example", "sat", 1),
    ];
    done(store, TicketCommit { add, ..ticket_step(1, 0) }).await;
    let mut ones = [2, 4].map(proof_id);
    ones.sort_unstable();
    assert_eq!(free(store).await, [ones[0], ones[1], proof_id(3), proof_id(1)]);
    let first: Vec<_> =
        store.free_proofs(MINT, "sat", 3).await.unwrap().into_iter().map(|proof| proof.amount).collect();
    assert_eq!(first, [1, 1, 2]);
    assert!(store.free_proofs(MINT, "sat", 0).await.unwrap().is_empty());
    assert!(store.free_proofs(MINT, "SAT", 9).await.unwrap().is_empty());
}

/// Missing, reserved (also by the same job), existing, or listed twice.
pub async fn proof_is_never_stored_or_reserved_twice(store: &dyn FullStore) {
    done(store, TicketCommit { add: vec![sats(1, 1), sats(2, 2)], ..ticket_step(1, 0) }).await;
    done(store, TicketCommit { reserve: vec![proof_id(2)], ..ticket_step(2, 0) }).await;
    let refused = [
        TicketCommit { reserve: vec![proof_id(2)], ..ticket_step(3, 0) },
        TicketCommit { reserve: vec![proof_id(2)], ..ticket_step(2, 1) },
        TicketCommit { reserve: vec![proof_id(2)], release_reserved: true, ..ticket_step(2, 1) },
        TicketCommit { reserve: vec![proof_id(9)], ..ticket_step(3, 0) },
        TicketCommit { reserve: vec![proof_id(1), proof_id(1)], ..ticket_step(3, 0) },
        TicketCommit { reserve: vec![proof_id(3)], add: vec![sats(3, 1)], ..ticket_step(3, 0) },
        TicketCommit { add: vec![sats(1, 1)], ..ticket_step(3, 0) },
        TicketCommit { add: vec![sats(2, 2)], remove_reserved: true, ..ticket_step(2, 1) },
        TicketCommit { add: vec![sats(3, 1), sats(3, 1)], ..ticket_step(3, 0) },
    ];
    for commit in refused {
        assert_eq!(conflict(store, commit.clone()).await, TicketConflict::Proof, "{commit:?}");
    }
    assert_eq!(free(store).await, [proof_id(1)]);
}

/// By mint and unit, without reserved ones.
pub async fn balances_are_sums_of_free_proofs(store: &dyn FullStore) {
    assert!(store.ticket_balances().await.unwrap().is_empty());
    let other = "https://a.example";
    let add = vec![sats(1, 1), sats(2, 2), sats(3, 4), proof(4, MINT, "multi", 5), proof(5, other, "sat", 6)];
    done(store, TicketCommit { add, ..ticket_step(1, 0) }).await;
    done(store, TicketCommit { add: vec![proof(6, MINT, "zero", 0)], ..ticket_step(1, 1) }).await;
    let balance = |mint_url: &str, unit: &str, amount| TicketBalance {
        mint_url: mint_url.to_owned(),
        unit: unit.to_owned(),
        amount,
        set_aside: 0,
    };
    let all = [balance(other, "sat", 6), balance(MINT, "multi", 5), balance(MINT, "sat", 7)];
    assert_eq!(store.ticket_balances().await.unwrap(), all);
    done(store, TicketCommit { reserve: vec![proof_id(2), proof_id(4)], ..ticket_step(2, 0) }).await;
    assert_eq!(store.ticket_balances().await.unwrap(), [balance(other, "sat", 6), balance(MINT, "sat", 5)]);
}

/// A mint can sign any amount in its own unit. Nothing overflows, and one mint's amounts do not hide another's.
pub async fn huge_amounts_are_refused_or_kept_exactly(store: &dyn FullStore) {
    let largest = i64::MAX.unsigned_abs();
    for amount in [largest + 1, u64::MAX] {
        let commit = TicketCommit { add: vec![sats(1, 1), sats(2, amount)], ..ticket_step(1, 0) };
        assert_eq!(conflict(store, commit).await, TicketConflict::Amount);
    }
    assert_eq!(store.ticket_job(ticket_job(1)).await.unwrap(), None);
    let add = vec![sats(1, largest), sats(2, 1), proof(3, "https://small.example", "sat", 1)];
    done(store, TicketCommit { add, ..ticket_step(1, 0) }).await;
    let amounts = async || store.ticket_balances().await.unwrap().into_iter().map(|of| of.amount).collect::<Vec<_>>();
    assert_eq!(store.free_proofs(MINT, "sat", 9).await.unwrap()[1].amount, largest);
    assert_eq!(amounts().await, [largest + 1, 1]);
    done(store, TicketCommit { add: vec![sats(4, largest), sats(5, largest)], ..ticket_step(1, 1) }).await;
    assert_eq!(amounts().await, [u64::MAX, 1], "more than the largest number is the largest number");
}

/// All of a step or nothing.
pub async fn conflict_changes_nothing(store: &dyn FullStore) {
    let first = TicketCommit {
        claims: vec![proof_id(50)],
        counter: advance("00a", 0, 3),
        add: vec![sats(1, 1), sats(2, 2)],
        ..ticket_step(1, 0)
    };
    done(store, first).await;
    done(store, TicketCommit { reserve: vec![proof_id(2)], ..ticket_step(2, 0) }).await;
    let whole = || TicketCommit {
        claims: vec![proof_id(51)],
        counter: advance("00a", 3, 6),
        add: vec![sats(3, 4)],
        reserve: vec![proof_id(1)],
        release_claims: true,
        remove_reserved: true,
        finished: true,
        ..ticket_step(2, 1)
    };
    let with = |change: fn(&mut TicketCommit)| {
        let mut commit = whole();
        change(&mut commit);
        commit
    };
    for (commit, expected) in [
        (with(|commit| commit.expected = 2), TicketConflict::Revision),
        (with(|commit| commit.counter = advance("00a", 2, 6)), TicketConflict::Counter),
        (with(|commit| commit.claims.push(proof_id(50))), TicketConflict::Claimed(ticket_job(1))),
        (with(|commit| commit.reserve.push(proof_id(9))), TicketConflict::Proof),
        (with(|commit| commit.add.push(sats(1, 1))), TicketConflict::Proof),
        (with(|commit| commit.add.push(sats(4, u64::MAX))), TicketConflict::Amount),
    ] {
        assert_eq!(conflict(store, commit).await, expected);
        assert_eq!(store.ticket_job(ticket_job(2)).await.unwrap().unwrap().revision, 1);
        assert_eq!(store.ticket_counter(MINT, "00a").await.unwrap(), 3);
        assert_eq!(store.proof_claim(proof_id(51)).await.unwrap(), None);
        assert_eq!(free(store).await, [proof_id(1)]);
        assert_eq!(store.proofs(&[proof_id(2), proof_id(3)]).await.unwrap(), [sats(2, 2)]);
    }
    done(store, whole()).await;
}

/// Oldest first, with their claims; never one with reserved proofs.
pub async fn finished_jobs_are_removed_in_batches(store: &dyn FullStore) {
    done(store, TicketCommit { add: vec![sats(90, 1)], ..ticket_step(9, 0) }).await;
    for n in 1..=4 {
        let at = UnixMillis(n * 10);
        let reserve = if n == 2 { vec![proof_id(90)] } else { Vec::new() };
        let commit = TicketCommit { finished: true, at, claims: vec![proof_id(n)], reserve, ..ticket_step(n, 0) };
        done(store, commit).await;
    }
    assert_eq!(store.remove_ticket_jobs(UnixMillis(10), 9).await.unwrap(), 0, "before, not at");
    assert_eq!(store.remove_ticket_jobs(UnixMillis(35), 1).await.unwrap(), 1);
    assert_eq!(store.ticket_job(ticket_job(1)).await.unwrap(), None);
    assert_eq!(store.proof_claim(proof_id(1)).await.unwrap(), None);
    assert_eq!(store.proof_claim(proof_id(3)).await.unwrap(), Some(ticket_job(3)));
    assert_eq!(store.remove_ticket_jobs(UnixMillis(35), 9).await.unwrap(), 1);
    assert!(store.ticket_job(ticket_job(2)).await.unwrap().is_some(), "its proof would be nobody's");
    assert_eq!(store.ticket_job(ticket_job(3)).await.unwrap(), None);
    assert!(store.ticket_job(ticket_job(4)).await.unwrap().is_some());
    done(store, TicketCommit { finished: true, release_reserved: true, at: UnixMillis(5), ..ticket_step(2, 1) }).await;
    assert_eq!(store.remove_ticket_jobs(UnixMillis(u64::MAX), 9).await.unwrap(), 2);
    assert!(store.ticket_job(ticket_job(9)).await.unwrap().is_some(), "it is not finished");
    assert_eq!(free(store).await, [proof_id(90)]);
}

/// Any name and proof content of a mint.
pub async fn unusual_ticket_text_round_trips(store: &dyn FullStore) {
    for (n, text) in
        (1..).zip(["", "\0", "a\0b", "'; DROP TABLE ticket_proofs; --", "?1 :a @b $c", "\u{1F511}\u{FFFF}"])
    {
        let stored = proof(n, text, text, n);
        let counter = Some(CounterAdvance { mint_url: text.to_owned(), keyset: text.to_owned(), from: 0, to: 1 });
        let state = State(text.to_owned());
        done(store, TicketCommit { state, counter, add: vec![stored.clone()], ..ticket_step(n, 0) }).await;
        assert_eq!(store.ticket_job(ticket_job(n)).await.unwrap().unwrap().state.0, text);
        assert_eq!(store.ticket_counter(text, text).await.unwrap(), 1);
        assert_eq!(store.free_proofs(text, text, 9).await.unwrap(), [stored]);
        assert!(store.ticket_balances().await.unwrap().iter().any(|of| of.mint_url == text && of.amount == n));
    }
}

/// Acknowledged is on disk, whole.
pub async fn acknowledged_ticket_commits_survive_reopening(mut subject: impl Subject) {
    const TASKS: u64 = 16;
    const EACH: u64 = 10;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = subject.store();
            super::task(async move {
                let mut acknowledged = Vec::new();
                for n in 0..EACH {
                    let number = task * EACH + n;
                    // Two tasks compete for each counter; the loser takes the next.
                    let commit = |from| TicketCommit {
                        counter: advance(&format!("{:02}", task / 2), from, from + 1),
                        claims: vec![proof_id(1_000 + number)],
                        add: vec![sats(number, 1)],
                        ..ticket_step(number, 0)
                    };
                    loop {
                        let from = store.ticket_counter(MINT, &format!("{:02}", task / 2)).await.unwrap();
                        match store.commit_tickets(commit(from)).await.unwrap() {
                            TicketCommitted::Done(_) => break,
                            TicketCommitted::Conflict(conflict) => assert_eq!(conflict, TicketConflict::Counter),
                        }
                    }
                    acknowledged.push(number);
                }
                acknowledged
            })
        })
        .collect();
    let mut acknowledged = Vec::new();
    for task in tasks {
        acknowledged.extend(task.await.unwrap());
    }
    subject.reopen().await;
    let store = subject.store();
    assert_eq!(acknowledged.len() as u64, TASKS * EACH);
    for number in acknowledged {
        assert!(store.ticket_job(ticket_job(number)).await.unwrap().is_some());
        assert_eq!(store.proofs(&[proof_id(number)]).await.unwrap(), [sats(number, 1)]);
        assert_eq!(store.proof_claim(proof_id(1_000 + number)).await.unwrap(), Some(ticket_job(number)));
    }
    for pair in 0..TASKS / 2 {
        let used = u32::try_from(EACH * 2).unwrap();
        assert_eq!(store.ticket_counter(MINT, &format!("{pair:02}")).await.unwrap(), used);
    }
}
