//! A lease in memory, in tokio's paused time. What the database itself decides is in the store's tests of PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use usher_engine::event::{Event, EventType};
use usher_engine::ports::{
    Clock, Lightning as _, LightningError, Messenger as _, OutgoingMessage, Posted, SignedPayment, StoreError,
    WantedInvoice, WebhookSender as _,
};
use usher_engine::{StreamId, UnixMillis};
use usher_store::{Acquired, HeldLease, LeaseHolder, LeaseRequest};
use usher_testing::ports::{FakeApp, FakeLightning, ManualClock, RecordingMessenger, invoice};

use crate::{
    ActiveLease, ConnectFailure, GatedLightning, GatedMessenger, GatedWebhook, Held, LeaseStore, OnLoss, Process,
    Watching, acquire,
};

const LASTS: Duration = Duration::from_secs(5);

/// The monotonic clock is tokio's. The wall clock stands still, as if it were set back again and again: nothing follows it.
struct PausedClock {
    began: Instant,
    /// What passed at once, before any task ran: a pause of the process.
    leapt: Mutex<Duration>,
}

#[async_trait]
impl Clock for PausedClock {
    fn now(&self) -> UnixMillis {
        UnixMillis(0)
    }

    fn monotonic(&self) -> Duration {
        self.began.elapsed() + *self.leapt.lock()
    }

    async fn sleep_until(&self, at: Duration) {
        sleep(at.saturating_sub(self.monotonic())).await;
    }
}

/// What the lease and the process of a test do and did.
#[derive(Default)]
struct Row {
    epoch: u64,
    /// Until when another instance holds the lease.
    taken_until: Option<Instant>,
    /// The database does not answer.
    is_silent: bool,
    /// How long an answer takes.
    takes: Duration,
    /// Another instance has taken over.
    is_lost: bool,
    handed_over: Vec<u64>,
    ends: Vec<&'static str>,
}

#[derive(Clone, Default)]
struct World(Arc<Mutex<Row>>);

impl World {
    fn set(&self, change: impl FnOnce(&mut Row)) {
        change(&mut self.0.lock());
    }

    fn ends(&self) -> Vec<&'static str> {
        self.0.lock().ends.clone()
    }

    async fn answer(&self) {
        let (is_silent, takes) = {
            let row = self.0.lock();
            (row.is_silent, row.takes)
        };
        if is_silent {
            std::future::pending::<()>().await;
        }
        sleep(takes).await;
    }

    fn keep(&self, clock: &Arc<PausedClock>) -> ActiveLease {
        let held = Held { epoch: 7, certain_until: clock.monotonic() + LASTS, lasts: LASTS };
        let (lease, process) = (Arc::new(self.clone()), Arc::new(self.clone()));
        ActiveLease::keep(lease, held, OnLoss::StartOver, Arc::clone(clock) as _, process).unwrap()
    }
}

#[async_trait]
impl LeaseStore for World {
    async fn acquire(&self, request: &LeaseRequest) -> Result<Acquired, StoreError> {
        self.answer().await;
        let mut row = self.0.lock();
        let remaining = row.taken_until.map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(remaining) = remaining.filter(|remaining| !remaining.is_zero()) {
            let (owner, address) = ("other".to_owned(), "http://other".to_owned());
            return Ok(Acquired::Taken(LeaseHolder { owner, address, epoch: row.epoch, remaining }));
        }
        assert_eq!(request.lasts, LASTS);
        row.epoch += 1;
        Ok(Acquired::Held(HeldLease { epoch: row.epoch }))
    }

    async fn renew(&self, _epoch: u64, _lasts: Duration) -> Result<bool, StoreError> {
        self.answer().await;
        Ok(!self.0.lock().is_lost)
    }

    async fn hand_over(&self, epoch: u64) -> Result<bool, StoreError> {
        self.answer().await;
        self.set(|row| row.handed_over.push(epoch));
        Ok(true)
    }
}

impl Process for World {
    fn watch(&self, watching: Watching) -> std::io::Result<()> {
        #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
        drop(tokio::spawn(watching));
        Ok(())
    }

    fn start_over(&self, _why: &'static str) {
        self.set(|row| row.ends.push("starts over"));
    }

    fn exit(&self, _why: &'static str) {
        self.set(|row| row.ends.push("exits"));
    }
}

fn clock() -> Arc<PausedClock> {
    Arc::new(PausedClock { began: Instant::now(), leapt: Mutex::default() })
}

/// Lets time pass in small steps, in which tasks run.
async fn pass(seconds: f64) {
    sleep(Duration::from_secs_f64(seconds)).await;
}

/// Becomes active; also what it showed: the active instance's address or `None`, and whether the database failed.
async fn become_active(world: &World, clock: &PausedClock) -> (Held, Vec<Option<String>>, Vec<bool>) {
    let request = LeaseRequest { owner: "me".to_owned(), address: "http://me".to_owned(), lasts: LASTS };
    let (shown, failures) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let connect = async || Ok::<_, ConnectFailure<()>>(Arc::new(world.clone()) as Arc<dyn LeaseStore>);
    let show = |holder: Option<&LeaseHolder>| shown.lock().push(holder.map(|holder| holder.address.clone()));
    let show_failure = |why: Option<&str>| failures.lock().push(why.is_some());
    let (_, held) = acquire(connect, &request, clock, show, show_failure).await.unwrap();
    (held, shown.into_inner(), failures.into_inner())
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_a_free_lease_within_a_poll() {
    let (world, clock) = (World::default(), clock());
    let takes = Duration::from_millis(40);
    world.set(|row| {
        row.epoch = 3;
        row.taken_until = Some(Instant::now() + Duration::from_secs(20));
        row.takes = takes;
    });
    let (held, shown, failures) = become_active(&world, &clock).await;
    let now = clock.monotonic();
    assert!((20_000..20_400).contains(&now.as_millis()), "{now:?}");
    assert_eq!((held.epoch, held.certain_until), (4, now - takes + LASTS), "it counts from before the request");
    assert!(shown.iter().all(|address| address.as_deref() == Some("http://other")), "{shown:?}");
    assert!(!failures.contains(&true));
}

/// The address that was the active instance's may be another's by then.
#[tokio::test(start_paused = true)]
async fn a_standby_without_a_database_shows_no_active_instance() {
    let (world, clock) = (World::default(), clock());
    world.set(|row| row.taken_until = Some(Instant::now() + LASTS));
    let outage = async {
        pass(1.0).await;
        world.set(|row| row.is_silent = true);
        pass(30.0).await;
        world.set(|row| row.is_silent = false);
    };
    let ((_, shown, failures), ()) = tokio::join!(become_active(&world, &clock), outage);
    assert_eq!((shown.first().unwrap().is_some(), shown.last()), (true, Some(&None)));
    assert!(failures.contains(&true));
    assert!(clock.monotonic() < Duration::from_secs(31) + LASTS + Duration::from_secs(1), "{:?}", clock.monotonic());
}

#[tokio::test(start_paused = true)]
async fn an_unusable_database_ends_the_attempts() {
    let request = LeaseRequest { owner: String::new(), address: String::new(), lasts: LASTS };
    let connect = async || Err(ConnectFailure::Refused("of a newer version"));
    let refused = acquire(connect, &request, &*clock(), |_| {}, |_| {}).await;
    assert_eq!(refused.err(), Some("of a newer version"));
}

#[tokio::test(start_paused = true)]
async fn the_lease_holds_while_it_is_renewed_and_ends_without_the_database() {
    let (world, clock) = (World::default(), clock());
    // Each renewal is asked for a second after the last answer, and holds from when it was asked for.
    world.set(|row| row.takes = Duration::from_millis(1500));
    let lease = world.keep(&clock);
    let gate = lease.gate();
    pass(60.2).await;
    assert!(gate.is_open() && gate.of_connections().is_some());
    world.set(|row| row.is_silent = true);
    // Asked for at 58.5 s and answered at 60 s.
    pass(3.2).await;
    assert!(gate.is_open());
    pass(0.2).await;
    assert!(!gate.is_open());
    assert_eq!(world.ends(), ["starts over"]);
    // Its loss is final, and acted on once.
    world.set(|row| row.is_silent = false);
    pass(20.0).await;
    assert!(!gate.is_open());
    assert_eq!(world.ends(), ["starts over"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_another_instance_has_ends_at_once() {
    let (world, clock) = (World::default(), clock());
    let lease = world.keep(&clock);
    pass(0.5).await;
    world.set(|row| row.is_lost = true);
    pass(0.6).await;
    assert!(!lease.gate().is_open());
    assert_eq!(world.ends(), ["starts over"]);
}

#[tokio::test(start_paused = true)]
async fn at_a_stop_the_lease_is_handed_over_and_its_loss_exits() {
    let (world, clock) = (World::default(), clock());
    let lease = world.keep(&clock);
    lease.exit_on_loss();
    let gate = lease.gate();
    world.set(|row| row.takes = Duration::from_millis(500));
    let seen = async {
        pass(0.1).await;
        assert!(!gate.is_open(), "before another instance can have the lease");
    };
    tokio::join!(lease.hand_over(), seen);
    assert_eq!(world.0.lock().handed_over, [7]);
    pass(20.0).await;
    assert!(world.ends().is_empty());

    let lost = world.keep(&clock);
    lost.exit_on_loss();
    world.set(|row| row.is_lost = true);
    pass(2.0).await;
    assert_eq!(world.ends(), ["exits"]);
}

/// As after `kill -STOP` and `kill -CONT`: whatever runs first finds the gate closed.
#[tokio::test(start_paused = true)]
async fn after_a_pause_of_the_process_nothing_reaches_wallet_app_or_backend() {
    let (world, clock) = (World::default(), clock());
    let lease = world.keep(&clock);
    let (backend, app) = (Arc::new(FakeLightning::default()), FakeApp::new(|_| usher_testing::ports::Reply::Accept));
    let _notifications = backend.begin(Arc::new(ManualClock::at(UnixMillis(0))));
    let (messenger, mut sent) = RecordingMessenger::new(&["wss://relay.example"]);
    let gated = (
        GatedLightning { backend: backend.clone(), gate: lease.gate() },
        GatedWebhook { webhook: app.clone(), gate: lease.gate() },
        GatedMessenger { messenger: Arc::new(messenger), gate: lease.gate() },
    );
    let connections = lease.gate().of_connections().unwrap();
    let (bill, payment) = (invoice(77, 0, 1000, 0, 600), SignedPayment { request: "pay".to_owned(), until: 60 });
    for is_active in [true, false] {
        if !is_active {
            *clock.leapt.lock() = LASTS;
        }
        assert_eq!((connections.0)(), is_active);
        let wanted =
            WantedInvoice { amount: 1000, description: String::new(), hashed: None, is_for_anybody: false, expiry: 60 };
        let made = gated.0.make_invoice(&wanted).await;
        let paid = gated.0.pay(&bill, &payment, false).await;
        let event = Event { index: 0, event_type: EventType::StatusUpdate, timestamp: 0, data: "{}".into() };
        let posted = gated.1.post(StreamId::SUBSCRIPTIONS, &event, UnixMillis(0)).await;
        let message = OutgoingMessage {
            kind: 1,
            content: String::new(),
            recipients: vec![usher_testing::ports::user(1).public_key()],
            participants: Vec::new(),
            relays: Vec::new(),
            until: UnixMillis(0),
            made_at: UnixMillis(0),
            signer: None,
        };
        assert_eq!(gated.2.send(&message).len(), usize::from(is_active));
        if is_active {
            assert!(made.is_ok() && paid.is_ok() && matches!(posted, Posted::Accepted { .. }));
        } else {
            assert!(matches!(made, Err(LightningError::NotSent)), "{made:?}");
            assert!(matches!(paid, Err(LightningError::Unknown(_))), "{paid:?}");
            assert!(matches!(posted, Posted::Refused { .. }), "{posted:?}");
        }
        assert!(sent.try_recv().is_ok() == is_active);
        // The backend, the app: once, while the lease held.
        assert_eq!((backend.made().len(), backend.sent(), app.posts().len()), (1, vec![1], 1));
    }
}
