//! Wires the engine's parts.
//!
//! Each part is made after those that it uses, so there is no cycle:
//!
//! ```text
//! tasks, timers, index, damage, metrics, spending budget, ids, inputs
//!   └▶ event feed, invoice watcher, Lightning queue, ticket queue, outbox, webhook dispatcher
//!        └▶ commit
//!             └▶ workers, start, tickets, subscriptions, reusable handshakes
//!                  └▶ inbox, alarms, clock changes, cleanup
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::PublicKey;
use usher_protocol::subkey::SubkeyProof;

use crate::Engine;
use crate::field_checks::FieldChecks;
use crate::kernel::admission::Admission;
use crate::kernel::age_check_queue::AgeCheckQueue;
use crate::kernel::alarms::Alarms;
use crate::kernel::capacity::Capacity;
use crate::kernel::cleanup::Cleanup;
use crate::kernel::clock_changes::{ClockChangeParts, ClockChanges};
use crate::kernel::commit::{AfterCommit, Committer};
use crate::kernel::damaged_rows::Damage;
use crate::kernel::event_feed::EventFeed;
use crate::kernel::idempotency::IdempotencyRecords;
use crate::kernel::ids::Ids;
use crate::kernel::inbox::Inbox;
use crate::kernel::index::Index;
use crate::kernel::inputs::Inputs;
use crate::kernel::invoice_watcher::{InvoiceWatcher, InvoiceWatcherParts};
use crate::kernel::lightning_metrics::LightningMetrics;
use crate::kernel::lightning_notifications::NotificationHandler;
use crate::kernel::lightning_queue::{LightningBackend, LightningQueue};
use crate::kernel::metrics::Metrics;
use crate::kernel::observer::Observer;
use crate::kernel::open_set::{Members, OpenSet};
use crate::kernel::outbox::{Outbox, OutboxParts};
use crate::kernel::restore::Restorer;
use crate::kernel::signer_queue::SignerQueue;
use crate::kernel::tasks::Tasks;
use crate::kernel::ticket_metrics::TicketMetrics;
use crate::kernel::ticket_queue::TicketQueue;
use crate::kernel::timers::Timers;
use crate::kernel::webhook_dispatcher::{WebhookDispatcher, WebhookDispatcherParts};
use crate::kernel::workers::Workers;
use crate::login::browser_logins::BrowserLogins;
use crate::login::follow_up::LoginFollowUps;
use crate::login::handshake_urls::HandshakeUrls;
use crate::login::key_handshake::reusable::{ReusableHandshakeParts, ReusableHandshakes};
use crate::login::new_logins::NewLogins;
use crate::login::pages::Logins;
use crate::login::reusable_logins::ReusableLogins;
use crate::login::scan_limits::{ScanLimitParts, ScanLimits};
use crate::login::tables::LoginTables;
use crate::operation_pages::OperationPages;
use crate::page_rules::PageRules;
use crate::payment::spending_budget::SpendingBudget;
use crate::ports::OperationKind;
use crate::ports::{
    AgeVerifier, Clock, DeliveryStore, IdempotencyStore, Inbound, LightningNotifications, Messenger, Randomness,
    RemoteSigner, Store, StoreError, TicketWallet, WebhookSender,
};
use crate::starter::{PaymentRules, StartRules, Starter};
use crate::subscription::relay_keeper::RelayKeeper;
use crate::subscription::subscriptions::Subscriptions;
use crate::ticket::outgoing::OutgoingTickets;
use crate::ticket::tickets::{TicketParts, Tickets};
use crate::verification::sessions::{VerificationParts, VerificationSessions};
use crate::verification::start::VerificationRules;

/// How the engine behaves.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The service's main key, for handshake URLs.
    pub main_key: PublicKey,
    /// The service's subkey, if it runs on one, for handshake URLs.
    pub subkey: Option<PublicKey>,
    /// The proof of the service's subkey, if it runs on one; it goes into challenges.
    pub subkey_proof: Option<SubkeyProof>,
    /// Scheme of handshake URLs (`nostr.url_scheme`).
    pub url_scheme: String,
    /// How long a single-use handshake URL is valid (`handshake.ttl_seconds`).
    pub handshake_ttl: Duration,
    /// How long an authentication challenge is valid (`auth.challenge_ttl_seconds`).
    pub challenge_ttl: Duration,
    /// Most streams of operations that may be open at a time (`limits.max_open_streams`); the reserved stream is not counted.
    pub max_open_streams: usize,
    /// How long finished streams stay readable (`streams.retention_days`).
    pub retention: Duration,
    /// How long a ticket is sent to its user until the mint says that it is spent (`cashu.send_ttl_hours`).
    pub ticket_send_ttl: Duration,
    /// The rules of payments and subscriptions.
    pub payments: PaymentRules,
    /// The rules of age verification.
    pub verification: VerificationRules,
    /// The rules of pages.
    pub pages: PageRules,
}

/// What the engine runs with.
pub struct EngineParts {
    /// Stores operations.
    pub store: Arc<dyn Store>,
    /// Stores responses to idempotent requests.
    pub idempotency: Arc<dyn IdempotencyStore>,
    /// Stores deliveries to the webhook.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// Posts to the app's webhook, if it has one.
    pub webhook: Option<Arc<dyn WebhookSender>>,
    /// Sends messages to wallets.
    pub messenger: Arc<dyn Messenger>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The source of tokens, challenges and stream ids.
    pub randomness: Arc<dyn Randomness>,
    /// Messages from wallets.
    pub inbox: mpsc::Receiver<Inbound>,
    /// The service's own Lightning backend, if one is configured.
    pub lightning: Option<LightningBackend>,
    /// Notifications of the Lightning backend.
    pub lightning_notifications: Option<LightningNotifications>,
    /// The service's own ticket wallet.
    pub tickets: Option<Arc<dyn TicketWallet>>,
    /// Verifies ages, if a provider is configured; otherwise staff do.
    pub age_verifier: Option<Arc<dyn AgeVerifier>>,
    /// Reaches users' remote signers; without it logins do not offer them.
    pub remote_signer: Option<Arc<dyn RemoteSigner>>,
}

impl Engine {
    /// Rebuilds the index from the store and starts the engine's tasks on `tasks`; they end when `stop` is cancelled.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    #[allow(clippy::too_many_lines)] // one part after the other
    pub async fn start(
        options: EngineOptions,
        parts: EngineParts,
        tasks: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Arc<Self>, StoreError> {
        let EngineParts {
            store,
            idempotency: idempotency_store,
            deliveries,
            webhook: webhook_sender,
            messenger,
            clock,
            randomness,
            inbox,
            lightning,
            lightning_notifications,
            tickets,
            age_verifier,
            remote_signer,
        } = parts;
        let tasks = Tasks::new(tasks.clone(), stop);
        let (timers, index, metrics) = (Arc::<Timers>::default(), Arc::<Index>::default(), Arc::<Metrics>::default());
        let damage = Arc::new(Damage::new(Arc::clone(&store)));
        let budget = Arc::new(SpendingBudget::new(options.payments.spending));
        let page_rules = options.pages.clone();
        let ids = Ids::new(Arc::clone(&clock), Arc::clone(&randomness));
        let capacity = Capacity::new(Arc::clone(&index), options.max_open_streams);
        let browser_logins = BrowserLogins::new(options.max_open_streams, Arc::clone(&clock));
        let reusable_logins = ReusableLogins::new(options.max_open_streams, Arc::clone(&clock));
        let new_logins = Arc::new(NewLogins {
            ids: ids.clone(),
            clock: Arc::clone(&clock),
            handshake_ttl: options.handshake_ttl,
            challenge_ttl: options.challenge_ttl,
            service_proof: options.subkey_proof.clone(),
        });
        let (inputs, jobs) = Inputs::new();

        let feed = Arc::new(EventFeed::new(
            Arc::clone(&store),
            Arc::clone(&damage),
            Arc::clone(&index),
            Arc::clone(&clock),
            tasks.clone(),
        ));
        let backend = lightning.as_ref().map(|lightning| Arc::clone(&lightning.adapter));
        let lightning_metrics = Arc::<LightningMetrics>::default();
        let watcher = Arc::new(InvoiceWatcher::new(InvoiceWatcherParts {
            backend: backend.clone(),
            lookups_per_second: options.payments.look_ups_per_second,
            metrics: Arc::clone(&lightning_metrics),
            index: Arc::clone(&index),
            timers: Arc::clone(&timers),
            inputs: inputs.clone(),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        }));
        let (lightning_queue, queued_calls) = LightningQueue::new(
            backend,
            Arc::clone(&lightning_metrics),
            Arc::clone(&index),
            inputs.clone(),
            Arc::clone(&clock),
            tasks.clone(),
        );
        let lightning_queue = Arc::new(lightning_queue);
        let ticket_metrics = Arc::<TicketMetrics>::default();
        let handshakes = Arc::new(OpenSet::new(Members::Endless(OperationKind::KeyHandshake), Arc::clone(&index)));
        let deliveries_of_tickets =
            Arc::new(OpenSet::new(Members::All(OperationKind::TicketDelivery), Arc::clone(&index)));
        let login_tables = Arc::new(LoginTables {
            browser: browser_logins.clone(),
            reusable: reusable_logins.clone(),
            index: Arc::clone(&index),
            store: Arc::clone(&store),
        });
        let observers: Vec<Arc<dyn Observer>> = vec![
            Arc::clone(&budget) as Arc<dyn Observer>,
            Arc::clone(&login_tables) as Arc<dyn Observer>,
            Arc::clone(&handshakes) as Arc<dyn Observer>,
            Arc::clone(&deliveries_of_tickets) as Arc<dyn Observer>,
        ];
        let ticket_queue = TicketQueue::new(
            tickets.clone(),
            Arc::clone(&ticket_metrics),
            Arc::clone(&index),
            inputs.clone(),
            tasks.clone(),
        );
        let (outbox, send_jobs) = Outbox::new(OutboxParts {
            store: Arc::clone(&store),
            damage: Arc::clone(&damage),
            messenger: Arc::clone(&messenger),
            index: Arc::clone(&index),
            timers: Arc::clone(&timers),
            watcher: Arc::clone(&watcher),
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
            randomness: Arc::clone(&randomness),
            tasks: tasks.clone(),
        });
        let outbox = Arc::new(outbox);
        let (webhooks, due) = WebhookDispatcher::new(WebhookDispatcherParts {
            store: deliveries,
            sender: webhook_sender,
            damage: Arc::clone(&damage),
            timers: Arc::clone(&timers),
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
            randomness: Arc::clone(&randomness),
            tasks: tasks.clone(),
        });
        let webhooks = Arc::new(webhooks);

        let signers =
            Arc::new(SignerQueue::new(remote_signer.clone(), inputs.clone(), Arc::clone(&clock), tasks.clone()));
        let committer = Arc::new(Committer::new(
            Arc::clone(&store),
            Arc::clone(&damage),
            ids.clone(),
            Arc::new(LoginFollowUps { new: Arc::clone(&new_logins), open: reusable_logins.clone() }),
            Arc::clone(&metrics),
            AfterCommit {
                index: Arc::clone(&index),
                timers: Arc::clone(&timers),
                metrics: Arc::clone(&metrics),
                feed: Arc::clone(&feed),
                outbox: Arc::clone(&outbox),
                watcher: Arc::clone(&watcher),
                lightning: Arc::clone(&lightning_queue),
                tickets: Arc::clone(&ticket_queue),
                age_checks: Arc::new(AgeCheckQueue::new(age_verifier.clone(), inputs.clone(), tasks.clone())),
                signers: Arc::clone(&signers),
                webhooks: Arc::clone(&webhooks),
                observers: observers.clone(),
            },
        ));

        let scans = Arc::new(ScanLimits::new(ScanLimitParts {
            index: Arc::clone(&index),
            capacity: capacity.clone(),
            inputs: inputs.clone(),
            logins: reusable_logins.clone(),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        }));
        let workers = Arc::new(Workers {
            store: Arc::clone(&store),
            damage: Arc::clone(&damage),
            committer: Arc::clone(&committer),
            lightning: Arc::clone(&lightning_queue),
            tickets: ticket_queue,
            timers: Arc::clone(&timers),
            capacity: capacity.clone(),
            metrics: Arc::clone(&metrics),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        });
        let idempotency = Arc::new(IdempotencyRecords::new(idempotency_store, Arc::clone(&damage), Arc::clone(&clock)));
        let subscriptions = Arc::new(Subscriptions {
            store: Arc::clone(&store),
            damage: Arc::clone(&damage),
            committer: Arc::clone(&committer),
            idempotency: Arc::clone(&idempotency),
            clock: Arc::clone(&clock),
        });
        let checks = Arc::new(FieldChecks {
            rules: options.payments.clone(),
            subscriptions: Arc::clone(&subscriptions),
            tickets: tickets.clone(),
            clock: Arc::clone(&clock),
        });
        let urls = Arc::new(HandshakeUrls {
            messenger,
            scheme: options.url_scheme,
            main_key: options.main_key,
            subkey: options.subkey,
        });
        let reusable_handshakes = Arc::new(ReusableHandshakes::new(ReusableHandshakeParts {
            open: Arc::clone(&handshakes),
            store: Arc::clone(&store),
            committer: Arc::clone(&committer),
            scans: Arc::clone(&scans),
            damage: Arc::clone(&damage),
            feed: Arc::clone(&feed),
            urls: Arc::clone(&urls),
            clock: Arc::clone(&clock),
            inputs: inputs.clone(),
            logins: reusable_logins.clone(),
            tasks: tasks.clone(),
            retention: options.retention,
        }));
        let starter = Arc::new(Starter {
            store: Arc::clone(&store),
            index: Arc::clone(&index),
            committer: Arc::clone(&committer),
            capacity,
            idempotency: Arc::clone(&idempotency),
            checks: Arc::clone(&checks),
            urls: Arc::clone(&urls),
            budget,
            starting_payments: tokio::sync::RwLock::default(),
            new_logins,
            ids: ids.clone(),
            clock: Arc::clone(&clock),
            rules: StartRules {
                handshake_ttl: options.handshake_ttl,
                challenge_ttl: options.challenge_ttl,
                subkey_proof: options.subkey_proof,
                retention: options.retention,
                payments: options.payments,
                has_lightning: lightning.is_some(),
                ticket_send_ttl: options.ticket_send_ttl,
                has_ticket_wallet: tickets.is_some(),
                has_remote_signers: remote_signer.is_some(),
                verification: options.verification,
                pages: options.pages.clone(),
                service_key: options.subkey.unwrap_or(options.main_key),
            },
        });
        let outgoing_tickets = OutgoingTickets {
            open: deliveries_of_tickets,
            wallet: tickets.clone(),
            store: Arc::clone(&store),
            damage: Arc::clone(&damage),
            committer: Arc::clone(&committer),
            idempotency: Arc::clone(&idempotency),
            metrics: Arc::clone(&ticket_metrics),
            clock: Arc::clone(&clock),
        };
        let tickets = Tickets::new(TicketParts {
            wallet: tickets,
            starter: Arc::clone(&starter),
            feed: Arc::clone(&feed),
            checks: Arc::clone(&checks),
            idempotency: Arc::clone(&idempotency),
            metrics: ticket_metrics,
            ids: ids.clone(),
            clock: Arc::clone(&clock),
        });
        let verification_sessions = Arc::new(VerificationSessions::new(VerificationParts {
            damage: Arc::clone(&damage),
            committer: Arc::clone(&committer),
            verifier: age_verifier,
            pages_url: page_rules.url.clone(),
            ids: ids.clone(),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        }));
        let pages = OperationPages {
            damage: Arc::clone(&damage),
            feed: Arc::clone(&feed),
            urls: Arc::clone(&urls),
            clock: Arc::clone(&clock),
            rules: options.pages,
        };
        let logins = Logins {
            store: Arc::clone(&store),
            damage: Arc::clone(&damage),
            committer: Arc::clone(&committer),
            urls,
            ids,
            clock: Arc::clone(&clock),
            pages: page_rules,
            signer: remote_signer,
            signers,
            browser_logins: browser_logins.clone(),
            reusable_logins: reusable_logins.clone(),
            scans: Arc::clone(&scans),
        };

        let clock_changes = Arc::new(ClockChanges::new(ClockChangeParts {
            store: Arc::clone(&store),
            index: Arc::clone(&index),
            timers: Arc::clone(&timers),
            outbox: Arc::clone(&outbox),
            watcher: Arc::clone(&watcher),
            inputs: inputs.clone(),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        }));
        let alarms = Alarms {
            timers: Arc::clone(&timers),
            inputs: inputs.clone(),
            outbox: Arc::clone(&outbox),
            watcher: Arc::clone(&watcher),
            webhooks: Arc::clone(&webhooks),
            clock_changes: Arc::clone(&clock_changes),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        };
        let notifications = NotificationHandler {
            index: Arc::clone(&index),
            inputs: inputs.clone(),
            watcher: Arc::clone(&watcher),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
        };
        let incoming = Inbox {
            index: Arc::clone(&index),
            outbox: Arc::clone(&outbox),
            admission: Arc::clone(&scans) as Arc<dyn Admission>,
            inputs,
            metrics: Arc::clone(&metrics),
            tasks: tasks.clone(),
        };
        let restorer = Restorer {
            store: Arc::clone(&store),
            damage: Arc::clone(&damage),
            index: Arc::clone(&index),
            timers: Arc::clone(&timers),
            watcher: Arc::clone(&watcher),
            metrics: Arc::clone(&metrics),
            observers,
        };
        let cleanup = Cleanup {
            store: Arc::clone(&store),
            webhooks: Arc::clone(&webhooks),
            idempotency: Arc::clone(&idempotency),
            feed: Arc::clone(&feed),
            endless: handshakes,
            chores: vec![
                login_tables,
                Arc::new(RelayKeeper { store: Arc::clone(&store), damage: Arc::clone(&damage) }),
            ],
            index: Arc::clone(&index),
            clock_changes: Arc::clone(&clock_changes),
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
            retention: options.retention,
        };
        let engine = Arc::new(Self {
            tasks: tasks.clone(),
            metrics,
            damage: Arc::clone(&damage),
            feed: Arc::clone(&feed),
            watcher: Arc::clone(&watcher),
            lightning,
            lightning_metrics,
            idempotency,
            subscriptions,
            checks,
            starter,
            tickets,
            outgoing: outgoing_tickets,
            index: Arc::clone(&index),
            webhooks: Arc::clone(&webhooks),
            reusable_handshakes,
            scans: Arc::clone(&scans),
            verification_sessions,
            logins: Arc::new(logins),
            pages,
        });

        let restored = restorer.restore(clock.now()).await?;
        webhooks.load().await?;
        for jobs in jobs {
            tasks.spawn_vital(Arc::clone(&workers).run(jobs));
        }
        tasks.spawn_vital(outbox.run(send_jobs));
        tasks.spawn_vital(Arc::clone(&webhooks).run(due));
        tasks.spawn_vital(webhooks.keep_loaded());
        tasks.spawn_vital(incoming.run_inbox(inbox));
        tasks.spawn_vital(watcher.run());
        tasks.spawn_vital(lightning_queue.run(queued_calls));
        if let Some(reported) = lightning_notifications {
            tasks.spawn_vital(notifications.run_notifications(reported));
        }
        clock_changes.check_at_start(restored.latest).await?;
        tasks.spawn_vital(alarms.run(restored.waiting));
        tasks.spawn_vital(cleanup.run());
        Ok(engine)
    }
}
