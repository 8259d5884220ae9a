//! The service under test: a pool, its directory, and settings that survive a restart.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use nostr::{Event, EventBuilder, JsonUtil as _, Kind, Tag, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{Clock, Directory as _, Inbound, LookUpError, Profile, SettingStore, SystemClock};
use usher_engine::testing::{FaultyStore, ManualClock, MemoryStore};
use usher_protocol::{Keys, PublicKey};
use usher_relays::{
    DirectoryOptions, Identity, ProfileDirectory, RelayAddress, RelayManager, RelayOptions, RelayPool, ServiceRelays,
};

pub(crate) use crate::common::{DEADLINE, Wallet, eventually, now};

/// How a service is started.
pub(crate) struct Plan {
    pub(crate) keys: Keys,
    pub(crate) relays: RelayOptions,
    pub(crate) directory: DirectoryOptions,
    pub(crate) settings: Arc<FaultyStore<MemoryStore>>,
}

impl Plan {
    /// With short pauses, and allowed to use loopback.
    pub(crate) fn new(relays: &[&str]) -> Self {
        let keys = Keys::generate();
        let relays = relays.iter().map(|url| RelayAddress::parse(url).unwrap()).collect();
        let mut options = RelayOptions::new(Identity::of_main_key(keys.clone()), relays);
        options.allow_private = true;
        options.connection.reconnect_first = Duration::from_millis(100);
        options.connection.reconnect_longest = Duration::from_secs(1);
        options.timing.sweep = Duration::from_millis(50);
        // Patient, for slow machines; tests of time limits set their own.
        let directory = DirectoryOptions {
            relays_within: Duration::from_secs(30),
            settle: Duration::from_secs(10),
            domain_within: Duration::from_secs(30),
            profile_waits_for_domain: Duration::from_secs(30),
            ..DirectoryOptions::default()
        };
        Self { keys, relays: options, directory, settings: FaultyStore::on(Arc::default()) }
    }

    /// What the service has stored under this name.
    pub(crate) fn setting(&self, name: &str) -> Option<String> {
        self.settings.setting(name).now_or_never().unwrap().unwrap()
    }

    pub(crate) async fn start(&self) -> World {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let clock = Arc::new(ManualClock::at(SystemClock.now()));
        let (sender, inbox) = mpsc::channel(1024);
        let settings: Arc<dyn SettingStore> = self.settings.clone();
        let roster = ServiceRelays::load(&*settings, &self.relays.relays).await.unwrap();
        let mut options = self.relays.clone();
        options.relays = roster.relays();
        let pool = RelayPool::start(options, sender, Arc::<ManualClock>::clone(&clock), &tasks, stop.clone());
        let manager = RelayManager::new(Arc::clone(&pool), roster, Arc::clone(&settings));
        let told = Arc::<Mutex<HashMap<PublicKey, Vec<String>>>>::default();
        let known = Arc::clone(&told);
        let relays_of = Arc::new(move |key| {
            let relays = known.lock().get(&key).cloned().unwrap_or_default();
            async move { relays }.boxed()
        });
        let options = self.directory.clone();
        let directory = ProfileDirectory::start(options, Arc::clone(&pool), settings, relays_of, &tasks, stop.clone())
            .await
            .unwrap();
        World { pool, directory, manager, clock, told, inbox, tasks, stop }
    }
}

/// A running service.
pub(crate) struct World {
    pub(crate) pool: Arc<RelayPool>,
    pub(crate) directory: Arc<ProfileDirectory>,
    pub(crate) manager: RelayManager,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) told: Arc<Mutex<HashMap<PublicKey, Vec<String>>>>,
    pub(crate) inbox: mpsc::Receiver<Inbound>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl World {
    /// A service with these relays.
    pub(crate) async fn at(relays: &[&str]) -> Self {
        let world = Plan::new(relays).start().await;
        for url in relays {
            world.subscribed_at(url).await;
        }
        world
    }

    pub(crate) async fn subscribed_at(&self, url: &str) {
        let subscribed = || self.pool.status().iter().any(|status| status.url.as_str() == url && status.subscribed);
        eventually("subscribed", subscribed).await;
    }

    /// The user named their relays.
    pub(crate) fn tell(&self, key: &PublicKey, relays: &[&str]) {
        self.told.lock().insert(*key, relays.iter().map(|url| (*url).to_owned()).collect());
    }

    pub(crate) async fn profile(&self, key: &PublicKey) -> Result<Option<Profile>, LookUpError> {
        timeout(DEADLINE, self.directory.profile(key)).await.expect("an answer within bounds")
    }

    /// The name in a profile that must exist.
    pub(crate) async fn name(&self, key: &PublicKey) -> String {
        self.profile(key).await.expect("relays answer").expect("a profile").name.expect("a name")
    }

    /// Stops it and waits until every task has ended.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        timeout(DEADLINE, self.tasks.wait()).await.expect("every task ends");
    }
}

/// An event of `keys`, dated so many seconds ago.
pub(crate) fn event(keys: &Keys, kind: u16, content: &str, tags: &[&[&str]], age_secs: u64) -> Event {
    EventBuilder::new(Kind::from_u16(kind), content)
        .tags(tags.iter().map(|tag| Tag::parse(tag.iter().copied()).unwrap()))
        .custom_created_at(Timestamp::from_secs(now().secs() - age_secs))
        .sign_with_keys(keys)
        .unwrap()
}

/// A profile with a name, dated so many seconds ago.
pub(crate) fn named(keys: &Keys, name: &str, age_secs: u64) -> Event {
    event(keys, 0, &json!({"name": name}).to_string(), &[], age_secs)
}

/// A relay list of write relays.
pub(crate) fn relay_list(keys: &Keys, relays: &[&str], age_secs: u64) -> Event {
    let tags: Vec<[&str; 3]> = relays.iter().map(|relay| ["r", relay, "write"]).collect();
    let tags: Vec<&[&str]> = tags.iter().map(<[&str; 3]>::as_slice).collect();
    event(keys, 10_002, "", &tags, age_secs)
}

/// Stores events at a relay.
pub(crate) async fn store(url: &str, events: &[&Event]) {
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("the relay is there");
    for event in events {
        socket.send(Message::text(format!("[\"EVENT\",{}]", event.as_json()))).await.expect("takes it");
        let taken = async {
            while let Some(Ok(message)) = socket.next().await {
                let Ok(frame) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else { continue };
                if frame[0] == "OK" {
                    return assert_eq!(frame[2], true, "{frame}");
                }
            }
            panic!("no answer");
        };
        timeout(DEADLINE, taken).await.expect("in time");
    }
    let _ = socket.close(None).await;
}

/// An author's newest event of a kind at a relay.
pub(crate) async fn stored(url: &str, author: &PublicKey, kind: u16) -> Option<Event> {
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("the relay is there");
    let filter = json!({"authors": [author.to_hex()], "kinds": [kind]});
    socket.send(Message::text(json!(["REQ", "s", filter]).to_string())).await.expect("takes it");
    let looking = async {
        let mut found = None;
        while let Some(Ok(message)) = socket.next().await {
            let Ok(frame) = serde_json::from_str::<Value>(message.to_text().unwrap_or_default()) else { continue };
            match frame[0].as_str() {
                Some("EVENT") => found = Some(Event::from_json(frame[2].to_string()).unwrap()),
                Some("EOSE") => break,
                _ => {}
            }
        }
        found
    };
    timeout(DEADLINE, looking).await.expect("in time")
}
