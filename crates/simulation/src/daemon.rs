//! The service, put together as the program does it, on the ports of the simulation.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Clock, Randomness};
use usher_engine::{Engine, EngineParts, LightningBackend, UnixMillis};
use usher_lightning::nwc::{NwcBackend, NwcOptions, Settings};
use usher_relays::{Identity, RelayAddress, RelayOptions, RelayPool};
use usher_testing::ports::FakeExchangeRates;

use crate::ports::disk::StoreOnDisk;
use crate::ports::network::{Network, Observed};
use crate::world::World;
use crate::world::approvals::APPROVAL_ABOVE;
use crate::world::time::WallClock;

/// What a bitcoin costs: a euro is 5,000 millisats.
pub(crate) const EURO_RATE: &str = "20000000";

const STOPPING: Duration = Duration::from_secs(60);

pub(crate) struct Service {
    pub(crate) engine: Arc<Engine>,
    operations: Layer,
    relays: Layer,
}

#[derive(Default)]
struct Layer {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Layer {
    async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Service {
    pub(crate) async fn start(
        world: &Arc<World>,
        disk: Arc<StoreOnDisk>,
        randomness: Arc<dyn Randomness>,
    ) -> Result<Self, String> {
        let clock: Arc<dyn Clock> = Arc::new(WallClock(Arc::clone(&world.time)));
        let (operations, relays) = (Layer::default(), Layer::default());
        let network = Network { world: Arc::clone(world) };
        let (service, connection, has_webhook, has_approvals) = {
            let state = world.lock();
            (state.service.clone(), state.node.connection_string(), state.plan.webhook, state.plan.approvals)
        };

        let address = RelayAddress::parse("ws://main.example").map_err(|error| error.to_string())?;
        let identity = Identity::of_main_key(service);
        let mut options = RelayOptions::new(identity.clone(), vec![address]);
        options.allow_private = true;
        options.dialer = Some(Arc::new(network.clone()));
        let (to_engine, inbox) = mpsc::channel(4096);
        let pool = RelayPool::start(options, to_engine, Arc::clone(&clock), &relays.tasks, relays.stop.clone());

        let url = connection.parse().map_err(|_| "the connection string is none".to_owned())?;
        let settings = Settings(Some(disk.clone()));
        let options = NwcOptions { dialer: Some(Arc::new(network.clone())), settings, ..NwcOptions::new(url) };
        let (wallet, notifications) =
            NwcBackend::start(options, Arc::clone(&clock), &relays.tasks, relays.stop.clone())
                .map_err(|error| error.to_string())?;

        let rates = Arc::new(FakeExchangeRates::of(&["EUR"]));
        rates.set("EUR", Some(EURO_RATE), UnixMillis(0));
        let parts = EngineParts {
            store: disk.clone(),
            idempotency: disk.clone(),
            deliveries: disk,
            webhook: has_webhook.then(|| Arc::new(network) as _),
            messenger: Arc::new(Observed { pool, world: Arc::clone(world) }),
            clock,
            randomness,
            inbox,
            lightning: Some(LightningBackend { adapter: wallet, name: "nwc", node: None }),
            lightning_notifications: Some(notifications),
            tickets: None,
            payees: None,
            age_verifier: None,
            remote_signer: None,
            rates: Some(rates),
        };
        let mut options = usher_testing::ports::options(identity.main_key);
        options.payments.spending.approval_above = has_approvals.then_some(APPROVAL_ABOVE);
        let engine = Engine::start(options, parts, &operations.tasks, operations.stop.clone())
            .await
            .map_err(|error| error.to_string())?;
        Ok(Self { engine, operations, relays })
    }

    /// Stops it in an orderly way; returns whether it ended in time.
    pub(crate) async fn stop(self) -> bool {
        let stopping = async {
            self.operations.close().await;
            self.relays.close().await;
        };
        timeout(STOPPING, stopping).await.is_ok()
    }
}
