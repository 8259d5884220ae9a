//! The conformance suite for all storage engines.
//!
//! ```ignore
//! usher_store::store_conformance!(my_subject); // my_subject: async fn() -> impl Subject
//! ```

// Tests, compiled as a library so that another engine's crate can run them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod api_keys;
pub mod atomicity;
pub mod audit_log;
mod builders;
pub mod conflicts;
pub mod deliveries;
pub mod durability;
pub mod events;
pub mod idempotency_records;
pub mod listing;
pub mod login_records;
mod observed_state;
pub mod open_operations;
pub mod openid_records;
pub mod operations;
pub mod outbox;
pub mod payment_records;
pub mod retention;
pub mod settings;
pub mod stored_values;
pub mod ticket_races;
pub mod tickets;
pub mod users;

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use usher_engine::ports::{DeliveryStore, IdempotencyStore, KeyStore, OpenIdStore, SettingStore, Store, TicketStore};

pub use api_keys::api_key;
pub use audit_log::{audit_entry, audit_key};
pub use builders::{
    accepted, commit_conflicts, commit_done, create, ended_login, event, given_up, id, idempotency_key, inbound, key,
    message, new_record, passkey, proof, proof_id, public_key, refused, step, ticket_job, ticket_step, user_relays,
    user_signer,
};
pub use observed_state::{Snapshot, Subjects};
pub use openid_records::{consent as openid_consent, record as openid_record, step as openid_step};

/// All storage ports.
pub trait FullStore:
    Store + DeliveryStore + IdempotencyStore + KeyStore + OpenIdStore + SettingStore + TicketStore
{
}

impl<T: Store + DeliveryStore + IdempotencyStore + KeyStore + OpenIdStore + SettingStore + TicketStore> FullStore
    for T
{
}

/// A store under test.
#[async_trait]
pub trait Subject: Send + Sync + 'static {
    /// The store, empty when the subject is new.
    fn store(&self) -> Arc<dyn FullStore>;

    /// Closes the store and opens it again; [`store`](Self::store) then returns a new one.
    async fn reopen(&mut self);

    /// The same for the owner of a store.
    async fn reopened(&mut self, store: Arc<dyn FullStore>) -> Arc<dyn FullStore> {
        drop(store);
        self.reopen().await;
        self.store()
    }
}

/// Runs one test to completion, which may reopen the store or use it from several tasks.
pub fn run<S: Subject, T: Future<Output = ()>>(make: impl Future<Output = S>, test: impl FnOnce(S) -> T) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { test(make.await).await });
}

/// The same for a test that only needs the store.
pub fn run_on_store<S: Subject>(make: impl Future<Output = S>, test: impl AsyncFnOnce(&dyn FullStore)) {
    run(make, async |subject: S| test(&*subject.store()).await);
}

/// Runs all tests, a few at a time, and fails with the names of the failed ones.
pub fn run_all(tests: &[(&str, fn())]) {
    let (next, failed) = (std::sync::atomic::AtomicUsize::new(0), parking_lot::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while let Some((name, test)) = tests.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    if std::panic::catch_unwind(test).is_err() {
                        failed.lock().push(*name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert!(failed.is_empty(), "{} of {} tests failed: {failed:#?}", failed.len(), tests.len());
}

/// Runs beside the test, which awaits it.
#[allow(clippy::disallowed_methods)] // the runtime is the test's own
fn task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> tokio::task::JoinHandle<T> {
    tokio::spawn(future)
}

/// Runs two futures on two tasks, started at the same moment.
async fn race<T: Send + 'static>(
    a: impl Future<Output = T> + Send + 'static,
    b: impl Future<Output = T> + Send + 'static,
) -> (T, T) {
    let start = Arc::new(tokio::sync::Barrier::new(2));
    let other = Arc::clone(&start);
    let a = task(async move {
        start.wait().await;
        a.await
    });
    let b = task(async move {
        other.wait().await;
        b.await
    });
    (a.await.unwrap(), b.await.unwrap())
}

/// The whole suite as `#[test]`s. Each test uses a new [`Subject`](crate::conformance::Subject) from `$make_store` (an
/// `async fn() -> impl Subject`). Tests after the semicolon in the list need the subject, those before it only the
/// store.
#[macro_export]
macro_rules! store_conformance {
    ($make_store:path) => {
        $crate::store_conformance! { @list modules $make_store }
    };
    // The same as one test with this name, for engines whose server is slow to start.
    ($name:ident, $make_store:path) => {
        $crate::store_conformance! { @list $name $make_store }
    };
    (@list $form:ident $make_store:path) => {
        $crate::store_conformance! { @$form $make_store;
            operations {
                operation_is_created_and_stepped origin_is_that_of_the_first_commit
                unknown_rows_are_absent finishing_is_final operation_can_be_created_finished
                reserved_stream_always_exists reserved_stream_cannot_finish;
            }
            api_keys {
                uses_of_api_keys_are_noted;
                api_keys_are_stored_replaced_and_removed
            }
            conflicts {
                step_from_another_revision_conflicts claimed_key_conflicts_with_its_owner
                revision_is_checked_first;
                random_keys_are_stored_with_the_operation_alone
                key_can_be_kept_after_the_operation inbound_event_is_accepted_once
                conflict_changes_nothing one_of_two_concurrent_steps_wins
                one_of_two_concurrent_copies_is_accepted one_of_two_concurrent_claims_wins
            }
            atomicity {
                batch_is_committed_in_order one_conflict_rolls_back_the_batch
                batches_append_to_the_reserved_stream subscriptions_are_listed
                commits_queued_together_see_each_other;
                done_and_watched_survive_reopening
            }
            events {
                indexes_have_no_gaps pages_by_after_and_limit data_that_is_not_an_object_is_unreadable;
            }
            outbox {
                outbox_can_be_kept_appended_replaced_and_cleared resending_can_be_postponed
                outbox_is_cleared_on_finish;
            }
            open_operations {
                pages_are_ordered_by_id entries_contain_what_the_index_needs;
            }
            retention {
                finished_operations_are_removed_completely
                only_finished_operations_without_events_are_removed_by_id
                finished_operations_without_events_are_removed_by_kind
                inbound_events_are_removed_in_batches old_user_relays_are_removed
                operations_with_pending_deliveries_are_kept deliveries_are_removed_with_their_operation
                settled_deliveries_of_open_streams_are_removed user_relays_in_use_are_kept
                events_with_a_delivery_are_kept;
                old_events_of_an_open_stream_are_removed
            }
            deliveries {
                every_event_has_its_delivery only_the_first_pending_delivery_is_offered
                attempts_are_recorded settled_delivery_records_no_attempt
                settled_deliveries_can_be_retried retried_delivery_precedes_later_ones
                retry_makes_earlier_deliveries_due delivery_set_aside_does_not_block_others;
                retry_is_committed_with_its_idempotency_record one_of_two_concurrent_attempts_settles
                queues_of_one_stream_are_independent
            }
            listing {
                streams_with_pending_deliveries_are_listed deliveries_are_listed_by_status_in_pages
                deliveries_are_counted_by_status;
            }
            idempotency_records {
                old_records_are_replaced repeated_request_changes_nothing commit_replaces_an_old_record
                records_are_removed_in_batches large_and_unusual_responses_round_trip;
                records_are_stored_once one_of_two_concurrent_records_wins
                records_are_committed_with_their_operation one_of_two_requests_with_one_key_commits
            }
            settings {
                ;
                settings_are_set_replaced_and_removed
            }
            openid_records {
                consents_are_kept_and_revoked what_a_client_has_ends_with_a_change_of_clients expired_openid_records_are_removed_in_batches
                largest_network_makes_room consents_are_bounded;
                openid_records_round_trip second_use_removes_the_grant one_of_two_concurrent_uses_wins
                openid_records_are_bounded_in_bytes second_use_within_the_grace_is_harmless
            }
            tickets {
                job_is_created_stepped_and_reopened unfinished_jobs_are_listed_in_pages
                counters_only_advance a_counter_that_is_lost_is_no_counter_of_0
                claimed_proof_names_its_job proofs_are_added_reserved_released_and_removed
                proofs_are_set_aside_and_returned free_proofs_are_listed_by_amount
                proof_is_never_stored_or_reserved_twice balances_are_sums_of_free_proofs
                huge_amounts_are_refused_or_kept_exactly conflict_changes_nothing
                finished_jobs_are_removed_in_batches unusual_ticket_text_round_trips;
                acknowledged_ticket_commits_survive_reopening
            }
            ticket_races {
                ;
                one_of_two_concurrent_jobs_gets_the_counter one_of_two_concurrent_jobs_gets_the_claim
                one_of_two_concurrent_jobs_gets_the_proof one_of_two_concurrent_steps_of_a_job_wins
            }
            stored_values {
                user_relays_are_replaced passkeys_are_kept_used_and_forgotten
                user_signers_are_kept_and_forgotten unusual_text_round_trips
                extreme_numbers_are_handled;
            }
            users {
                what_is_stored_under_a_users_key_is_forgotten searches_continue_where_they_ended
                finished_operations_of_a_user_are_removed;
            }
            payment_records {
                a_payment_is_booked_once_and_outlives_its_operation
                payments_are_listed_in_pages_by_time_and_status
                payments_are_searched_from_the_last_by_key_and_time
                large_payments_are_found_by_the_time_of_their_settlement
                old_payments_leave_the_books_unless_they_are_open
                an_invoice_is_known_as_paid_once_a_payment_of_it_is
                refunds_are_summed_up_unless_they_were_not_paid
                sums_of_an_hour_follow_the_books_and_the_logins;
            }
            login_records {
                logins_are_listed_from_the_last_by_user_stream_and_time
                old_records_of_logins_are_removed_in_batches;
            }
            audit_log {
                an_entry_is_added_with_its_commit_or_not_at_all
                old_entries_are_removed_from_the_beginning;
                entries_are_chained_in_order concurrent_entries_are_chained
            }
            durability {
                dropped_caller_leaves_the_commit_whole_or_absent;
                everything_survives_reopening acknowledged_commits_under_load_survive
            }
        }
    };
    (@modules $make_store:path; $($room:ident { $($test:ident)*; $($of_subject:ident)* })+) => {
        $(mod $room {
            $(
                #[test]
                fn $test() {
                    $crate::conformance::run_on_store($make_store(), $crate::conformance::$room::$test);
                }
            )*
            $(
                #[test]
                fn $of_subject() {
                    $crate::conformance::run($make_store(), $crate::conformance::$room::$of_subject);
                }
            )*
        })+
    };
    (@$name:ident $make_store:path; $($room:ident { $($test:ident)*; $($of_subject:ident)* })+) => {
        #[test]
        fn $name() {
            $crate::conformance::run_all(&[$(
                $((
                    concat!(stringify!($room), "::", stringify!($test)),
                    || $crate::conformance::run_on_store($make_store(), $crate::conformance::$room::$test),
                ),)*
                $((
                    concat!(stringify!($room), "::", stringify!($of_subject)),
                    || $crate::conformance::run($make_store(), $crate::conformance::$room::$of_subject),
                ),)*
            )+]);
        }
    };
}
