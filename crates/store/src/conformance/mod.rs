//! What every store must do, whatever its storage engine: each passes the same suite.
//!
//! ```ignore
//! usher_store::store_conformance!(my_subject); // my_subject: async fn() -> impl Subject
//! ```
//!
//! [`Model`] is the same behaviour in memory, as simple as possible: it passes the suite as well, and random histories
//! are compared with it.

// Tests, compiled as a library so that another engine's crate can run them.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::missing_panics_doc)]

pub mod atomicity;
mod builders;
pub mod clock_repair;
pub mod conflicts;
pub mod deliveries;
pub mod durability;
pub mod events;
pub mod idempotency_records;
pub mod listing;
mod model;
pub mod open_operations;
pub mod operations;
pub mod outbox;
pub mod retention;
pub mod settings;
mod snapshot;
pub mod stored_values;
pub mod tickets;

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use usher_engine::ports::{DeliveryStore, IdempotencyStore, SettingStore, Store, TicketStore};

pub use builders::{
    accepted, commit_conflicts, commit_done, create, damaged_rows, event, given_up, id, idempotency_key, inbound, key,
    message, new_record, proof, proof_id, public_key, refused, step, ticket_job, ticket_step,
};
pub use model::Model;
pub use snapshot::{Snapshot, Subjects};

/// Everything that a store keeps.
pub trait FullStore: Store + DeliveryStore + IdempotencyStore + SettingStore + TicketStore {}

impl<T: Store + DeliveryStore + IdempotencyStore + SettingStore + TicketStore> FullStore for T {}

/// A store under test.
#[async_trait]
pub trait Subject: Send + Sync + 'static {
    /// The store, empty when the subject is new.
    fn store(&self) -> Arc<dyn FullStore>;

    /// Closes the store and opens it again; [`store`](Self::store) is another one then.
    async fn reopen(&mut self);
}

/// Runs one test of the suite to its end.
pub fn run<S: Subject, T: Future<Output = ()>>(make: impl Future<Output = S>, test: impl FnOnce(S) -> T) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { test(make.await).await });
}

/// Runs beside the test; its owner awaits it.
#[allow(clippy::disallowed_methods)] // the runtime is the test's own
fn task<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> tokio::task::JoinHandle<T> {
    tokio::spawn(future)
}

/// Two futures from two tasks, begun at the same moment.
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

/// The whole suite as `#[test]`s against the [`Subject`](crate::conformance::Subject) that `$make_store` (an
/// `async fn() -> impl Subject`) makes; a new one for each test.
#[macro_export]
macro_rules! store_conformance {
    ($make_store:path) => {
        $crate::store_conformance! { @modules $make_store;
            operations {
                a_new_operation_is_read_back
                steps_replace_the_state
                what_is_unknown_is_absent
                finishing_is_final
                an_operation_may_be_born_finished
                the_kind_stays_as_created
                the_reserved_stream_always_exists
                the_reserved_stream_cannot_finish
            }
            conflicts {
                creating_what_exists_conflicts
                stepping_from_another_revision_conflicts
                a_claimed_key_names_its_owner
                a_key_is_free_after_its_owner_finished
                a_key_may_be_kept_beyond_the_end
                an_operation_may_claim_its_own_keys_again
                an_inbound_event_counts_once
                the_revision_is_looked_at_first
                a_conflict_changes_nothing
                of_two_contenders_one_wins
                of_two_claimants_one_wins
                of_two_copies_of_an_inbound_event_one_counts
            }
            atomicity {
                all_are_committed_in_order
                one_conflict_holds_back_all
                many_append_to_the_reserved_stream
                done_and_watched_are_kept
                subscriptions_are_listed
            }
            events {
                indexes_have_no_gaps
                data_that_is_no_object_is_unreadable
                pages_by_after_and_limit
                streams_are_apart
                concurrent_appends_are_gapless
            }
            outbox {
                is_added_to
                is_put_off
                messages_keep_their_order
                is_kept_replaced_and_emptied
                is_cleared_when_finished
            }
            open_operations {
                lists_only_what_is_open
                pages_in_order_of_id
                tells_what_the_index_needs
            }
            retention {
                removes_everything_of_what_finished_before
                removes_at_most_the_limit
                never_removes_what_is_open
                forgets_inbound_events_in_batches
                forgets_relays_of_users_not_named_for_long
                keeps_relays_that_are_in_use
                keeps_what_has_pending_deliveries
                removes_deliveries_with_their_operation
                forgets_settled_deliveries_of_open_streams
                removes_the_first_events_of_an_open_stream
                keeps_events_that_have_a_delivery
            }
            deliveries {
                every_event_has_its_delivery
                only_the_first_pending_one_is_offered
                attempts_are_recorded
                a_settled_delivery_takes_no_attempt
                settled_ones_may_be_retried
                a_retried_one_comes_before_later_ones
                a_retried_one_hurries_those_before_it
                a_retry_is_committed_with_its_answer
                of_two_attempts_one_settles
                one_set_aside_holds_up_nothing
                queues_of_one_stream_do_not_wait_for_one_another
                survive_reopening_at_every_stage
                attempts_under_load_are_there
            }
            listing {
                streams_with_pending_ones_are_listed
                lists_by_status_in_pages
                are_counted
            }
            idempotency_records {
                are_kept_once
                are_replaced_when_older
                of_two_keepers_one_wins
                are_committed_with_their_operation
                an_answered_call_changes_nothing
                a_commit_replaces_an_old_answer
                of_two_calls_with_one_key_one_works
                are_forgotten_in_batches
                large_and_odd_answers_survive
            }
            settings {
                are_set_replaced_and_removed
                survive_reopening
            }
            tickets {
                a_job_is_created_and_stepped
                another_revision_conflicts
                a_finished_job_may_be_opened_again
                unfinished_jobs_are_listed_in_pages
                counters_only_advance
                a_counter_that_is_lost_is_no_counter_of_0
                a_claimed_proof_names_its_job
                proofs_are_added_reserved_released_and_removed
                proofs_are_read_by_id
                free_proofs_are_listed_by_amount
                a_proof_is_never_there_twice_and_never_spent_twice
                balances_are_sums_of_free_proofs
                huge_amounts_are_refused_or_kept_exactly
                a_conflict_changes_nothing
                of_two_contenders_for_one_counter_one_wins
                of_two_contenders_for_one_claim_one_wins
                of_two_contenders_for_one_proof_one_wins
                of_two_contenders_for_one_job_one_wins
                finished_jobs_are_removed_in_batches
                odd_text_is_kept_as_it_is
                what_was_acknowledged_is_there_after_reopening
            }
            clock_repair {
                pending_deliveries_keep_their_pauses
                what_was_recorded_in_the_future_is_recorded_now
            }
            stored_values {
                user_relays_are_replaced
                large_values_survive
                odd_text_survives
                extreme_numbers_do_no_harm
            }
            durability {
                everything_is_there_after_reopening
                what_was_acknowledged_under_load_is_there
                a_dropped_caller_changes_nothing
            }
        }
    };
    (@modules $make_store:path; $($room:ident { $($test:ident)+ })+) => {
        $(mod $room {
            $(
                #[test]
                fn $test() {
                    $crate::conformance::run($make_store(), $crate::conformance::$room::$test);
                }
            )+
        })+
    };
}
