//! Wires the engine's parts. Each is created after those that it uses, so there is no cycle: the core, observers of
//! commits and features' memory, the committer, features and workers, and finally what drives operations.

use std::sync::Arc;

use tokio::sync::{Mutex, RwLock, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_places::limit;

use super::Engine;
use super::options::{EngineOptions, EngineParts};
use crate::audit::AuditLog;
use crate::field_value_checks::FieldChecks;
use crate::kernel::admission::Admission;
use crate::kernel::age_check_queue::AgeCheckQueue;
use crate::kernel::capacity::Capacity;
use crate::kernel::cleanup::Cleanup;
use crate::kernel::commit::{Committer, EffectDispatcher};
use crate::kernel::core::Core;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::id_generator::Ids;
use crate::kernel::idempotency::IdempotencyRecords;
use crate::kernel::inbox::Inbox;
use crate::kernel::input_queue::InputQueue;
use crate::kernel::invoice_watcher::InvoiceWatcher;
use crate::kernel::lightning_metrics::LightningMetrics;
use crate::kernel::lightning_notifications::NotificationHandler;
use crate::kernel::lightning_queue::LightningQueue;
use crate::kernel::observer::Observer;
use crate::kernel::open_set::{Members, OpenSet};
use crate::kernel::operation_workers::Workers;
use crate::kernel::outbox::Outbox;
use crate::kernel::remote_signer_queue::SignerQueue;
use crate::kernel::requested_store::RequestedStore;
use crate::kernel::restore::Restorer;
use crate::kernel::starter::Starter;
use crate::kernel::tasks::Tasks;
use crate::kernel::ticket_metrics::TicketMetrics;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::timer_dispatcher::TimerDispatcher;
use crate::kernel::timers::Timers;
use crate::kernel::user_erasure::UserErasure;
use crate::kernel::webhook_dispatcher::WebhookDispatcher;
use crate::login::Logins;
use crate::login::handshake_urls::HandshakeUrls;
use crate::login::key_handshake::Handshakes;
use crate::login::linked_changes::LinkedLoginChanges;
use crate::login::login_factory::NewLogins;
use crate::login::open_child_logins::ChildLogins;
use crate::login::open_login_tables::LoginTables;
use crate::login::passkey_ceremonies::Passkeys;
use crate::login::scan_limits::{ScanLimitParts, ScanLimits};
use crate::login::unused_logins::UnusedLogins;
use crate::payment::Payments;
use crate::payment::approval::waiting::WaitingPayments;
use crate::payment::link::open_payments::OpenPayments;
use crate::payment::link::recent_rates::RecentRates;
use crate::payment::link::start::PaymentLinks;
use crate::payment::refund::address_lookups::AddressLookups;
use crate::payment::spending_budget::SpendingBudget;
use crate::ports::{OperationKind, StoreError};
use crate::subscription::operation::SubscriptionRules;
use crate::subscription::relay_keeper::RelayKeeper;
use crate::subscription::subscriptions::Subscriptions;
use crate::ticket::quote_payment::QuotePayer;
use crate::ticket::tickets::Tickets;
use crate::verification::{Verification, open_sessions};

impl Engine {
    /// Rebuilds the index from the store and starts the engine's tasks on `tasks`; they end when `stop` is cancelled.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot be read.
    #[allow(clippy::too_many_lines)] // one part after the other
    pub async fn start(
        options: EngineOptions,
        parts: EngineParts,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let (inputs, jobs) = InputQueue::new();
        let core = Core {
            store: RequestedStore::new(parts.store),
            damaged_rows: Arc::default(),
            recent_states: Arc::default(),
            index: Arc::default(),
            timers: Arc::new(Timers::new(parts.clock.clone())),
            metrics: Arc::default(),
            inputs,
            ids: Ids::new(parts.clock.clone(), parts.randomness.clone()),
            clock: parts.clock,
            randomness: parts.randomness,
            tasks: Tasks::new(tasks.clone(), stop),
        };

        let budget = Arc::new(SpendingBudget::new(options.payments.spending));
        let waiting = Arc::<WaitingPayments>::default();
        let unused = |limit| UnusedLogins::new(limit, options.max_open_streams, core.clock.clone());
        let client_logins = unused(&limit::UNUSED_LOGINS_OF_CLIENTS);
        let operator_logins = unused(&limit::UNUSED_LOGINS_OF_OPERATORS);
        let child_logins = ChildLogins::new(options.max_open_streams, core.clock.clone());
        let login_tables = Arc::new(LoginTables {
            clients: client_logins.clone(),
            operators: operator_logins.clone(),
            reusable: child_logins.clone(),
            index: core.index.clone(),
            store: core.store.clone(),
            tasks: core.tasks.clone(),
        });
        let endless = Members::Endless(OperationKind::KeyHandshake);
        let reusable_handshakes = Arc::new(OpenSet::new(endless, core.index.clone()));
        let deliveries = Arc::new(OpenSet::new(Members::All(OperationKind::TicketDelivery), core.index.clone()));
        let links = Arc::new(OpenSet::new(Members::All(OperationKind::PaymentLink), core.index.clone()));
        let age_checks = Arc::new(OpenSet::new(Members::All(OperationKind::VerificationSession), core.index.clone()));
        let link_payments =
            OpenPayments::new(options.max_open_streams, core.clock.clone(), core.store.clone(), core.tasks.clone());
        let observers: Vec<Arc<dyn Observer>> = vec![
            budget.clone(),
            waiting.clone(),
            login_tables.clone(),
            reusable_handshakes.clone(),
            deliveries.clone(),
            links.clone(),
            age_checks.clone(),
            Arc::new(link_payments.clone()),
        ];
        let new_logins = Arc::new(NewLogins {
            ids: core.ids.clone(),
            clock: core.clock.clone(),
            handshake_ttl: options.handshake_ttl,
            challenge_ttl: options.challenge_ttl,
            service_proof: options.subkey_proof,
        });

        let feed = Arc::new(EventFeed::new(core.clone()));
        let backend = parts.lightning.as_ref().map(|lightning| lightning.adapter.clone());
        let (lightning_calls, ticket_calls) = (Arc::<LightningMetrics>::default(), Arc::<TicketMetrics>::default());
        let watcher = Arc::new(InvoiceWatcher::new(
            core.clone(),
            backend.clone(),
            lightning_calls.clone(),
            options.payments.look_ups_per_second,
        ));
        let node = parts.lightning.as_ref().and_then(|lightning| lightning.node.clone());
        let (lightning_queue, queued_calls) =
            LightningQueue::new(core.clone(), backend, node.clone(), lightning_calls.clone());
        let lightning_queue = Arc::new(lightning_queue);
        let ticket_queue = TicketQueue::new(core.clone(), parts.tickets.clone(), ticket_calls.clone());
        let signers = Arc::new(SignerQueue::new(core.clone(), parts.remote_signer.clone()));
        let (outbox, send_jobs) = Outbox::new(core.clone(), parts.messenger.clone(), watcher.clone());
        let outbox = Arc::new(outbox);
        let (webhooks, due) = WebhookDispatcher::new(core.clone(), parts.deliveries, parts.webhook);
        let webhooks = Arc::new(webhooks);
        let committer = Arc::new(Committer::new(
            core.clone(),
            Arc::new(LinkedLoginChanges { new: new_logins.clone(), open: child_logins.clone() }),
            EffectDispatcher {
                core: core.clone(),
                feed: feed.clone(),
                outbox: outbox.clone(),
                watcher: watcher.clone(),
                lightning: lightning_queue.clone(),
                tickets: ticket_queue.clone(),
                age_checks: Arc::new(AgeCheckQueue::new(core.clone(), parts.age_verifier.clone())),
                signers: signers.clone(),
                webhooks: webhooks.clone(),
                observers: observers.clone(),
            },
        ));

        let (damaged_rows, clock, timers) = (core.damaged_rows.clone(), core.clock.clone(), core.timers.clone());
        let idempotency = Arc::new(IdempotencyRecords::new(parts.idempotency, damaged_rows, clock, timers));
        let capacity = Capacity::new(core.index.clone(), options.max_open_streams);
        let starter = Arc::new(Starter {
            core: core.clone(),
            committer,
            capacity: capacity.clone(),
            idempotency: idempotency.clone(),
        });
        let has_lightning = parts.lightning.is_some();
        let checks = Arc::new(FieldChecks {
            core: core.clone(),
            rules: options.payments.clone(),
            tickets: parts.tickets.clone(),
            rates: parts.rates.clone(),
        });
        let urls = HandshakeUrls::new(
            parts.messenger,
            options.url_scheme,
            options.other_url_schemes,
            options.main_key,
            options.subkey,
        );
        let urls = Arc::new(urls);
        let pages = Arc::new(options.pages);
        let scans = Arc::new(ScanLimits::new(ScanLimitParts {
            index: core.index.clone(),
            capacity: capacity.clone(),
            inputs: core.inputs.clone(),
            logins: child_logins.clone(),
            clock: core.clock.clone(),
            tasks: core.tasks.clone(),
        }));
        let handshakes = Arc::new(Handshakes {
            core: core.clone(),
            starter: starter.clone(),
            feed: feed.clone(),
            urls: urls.clone(),
            pages: pages.clone(),
            ttl: options.handshake_ttl,
            retention: options.retention,
            open: reusable_handshakes.clone(),
            scans: scans.clone(),
            logins: child_logins.clone(),
        });
        let logins = Arc::new(Logins {
            core: core.clone(),
            starter: starter.clone(),
            handshakes: handshakes.clone(),
            urls,
            new: new_logins,
            pages: pages.clone(),
            signer: parts.remote_signer,
            signers,
            client_logins,
            operator_logins,
            child_logins,
            scans: scans.clone(),
            passkeys: Passkeys::new(pages.passkeys.clone()),
        });
        let payments = Arc::new(Payments {
            core: core.clone(),
            starter: starter.clone(),
            feed: feed.clone(),
            checks: checks.clone(),
            budget,
            waiting,
            starting: RwLock::default(),
            refunding: Mutex::default(),
            payees: parts.payees,
            address_lookups: AddressLookups::default(),
            open_renewals: link_payments.clone(),
            pages: pages.clone(),
            network: options.payments.network,
            has_lightning,
            node: node.clone(),
        });
        let payment_links = Arc::new(PaymentLinks {
            core: core.clone(),
            starter: starter.clone(),
            feed: feed.clone(),
            checks: checks.clone(),
            pages: pages.clone(),
            network: options.payments.network,
            has_lightning,
            open: links.clone(),
            payments: link_payments,
            rates: RecentRates::default(),
        });
        let subscriptions = Subscriptions {
            core: core.clone(),
            starter: starter.clone(),
            checks: checks.clone(),
            rules: SubscriptionRules {
                network: options.payments.network,
                retry_after: options.payments.retry_after,
                keep: options.retention,
            },
            has_lightning,
        };
        let tickets = Arc::new(Tickets {
            core: core.clone(),
            starter: starter.clone(),
            checks: checks.clone(),
            wallet: parts.tickets,
            payer: QuotePayer { payments: payments.clone(), feed: feed.clone(), clock: core.clock.clone() },
            calls: ticket_calls,
            open: deliveries,
            send_ttl: options.ticket_send_ttl,
        });
        let verification = Arc::new(Verification {
            core: core.clone(),
            starter: starter.clone(),
            tickets: tickets.clone(),
            verifier: parts.age_verifier,
            rules: options.verification,
            pages,
            service_key: options.subkey.unwrap_or(options.main_key),
            permits: Semaphore::new(open_sessions::CONCURRENT),
            open: age_checks,
        });

        let workers = Arc::new(Workers {
            core: core.clone(),
            committer: starter.committer.clone(),
            lightning: lightning_queue.clone(),
            tickets: ticket_queue.clone(),
            capacity,
            rates: parts.rates.clone(),
        });
        let timer_dispatcher = TimerDispatcher {
            timers: core.timers.clone(),
            inputs: core.inputs.clone(),
            outbox: outbox.clone(),
            watcher: watcher.clone(),
            webhooks: webhooks.clone(),
            tasks: core.tasks.clone(),
        };
        let notifications = NotificationHandler { core: core.clone(), watcher: watcher.clone() };
        let incoming =
            Inbox { core: core.clone(), outbox: outbox.clone(), admission: scans.clone() as Arc<dyn Admission> };
        let restorer = Restorer { core: core.clone(), watcher: watcher.clone(), observers };
        let audit = Arc::new(AuditLog { core: core.clone(), options: options.audit, verifying: Mutex::default() });
        let cleanup = Cleanup {
            core: core.clone(),
            webhooks: webhooks.clone(),
            idempotency: idempotency.clone(),
            feed: feed.clone(),
            endless: vec![reusable_handshakes, links],
            periodic_tasks: vec![login_tables, Arc::new(RelayKeeper { core: core.clone() }), audit.clone()],
            retention: options.retention,
            payment_records_kept: options.payments.records_kept,
        };
        let engine = Arc::new(Self {
            core: core.clone(),
            starter: starter.clone(),
            events: feed,
            watcher: watcher.clone(),
            lightning: parts.lightning,
            rates: parts.rates,
            lightning_calls,
            lightning_queue: lightning_queue.clone(),
            ticket_queue,
            idempotency,
            checks,
            scans,
            handshakes,
            logins,
            payments,
            payment_links: payment_links.clone(),
            subscriptions,
            tickets,
            verification,
            webhooks: webhooks.clone(),
            erasure: UserErasure {
                core: core.clone(),
                feed: cleanup.feed.clone(),
                outbox: outbox.clone(),
                retention: options.retention,
            },
            audit,
        });

        let restored = restorer.restore(core.clock.now()).await?;
        webhooks.load().await?;
        if options.payments.has_lightning_address {
            payment_links.open_lightning_address().await?;
        }
        let tasks = &core.tasks;
        for jobs in jobs {
            tasks.spawn_vital(workers.clone().run(jobs));
        }
        tasks.spawn_vital(outbox.run(send_jobs));
        tasks.spawn_vital(webhooks.clone().run(due));
        tasks.spawn_vital(webhooks.keep_loaded());
        tasks.spawn_vital(incoming.run_inbox(parts.inbox));
        tasks.spawn_vital(watcher.run());
        tasks.spawn_vital(lightning_queue.run(queued_calls));
        if let Some(reported) = parts.lightning_notifications {
            tasks.spawn_vital(notifications.run_notifications(reported));
        }
        tasks.spawn_vital(timer_dispatcher.run(restored.waiting));
        tasks.spawn_vital(cleanup.run());
        Ok(engine)
    }
}
