//! The service is killed at random under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;
use usher_sandbox::wallet::{Identity, Policy, Wallet, WalletOptions};
use usher_testing::soak;

use super::stream_ledger::{Kind, Ledger};
use super::{dice, pause};
use crate::harness::{Api, CallError, Handshake, LONG, TestTasks, TestUsher, until};

/// How long handshakes and challenges live, in seconds: nobody answers after it.
const TTL: u64 = 12;

/// Tasks that start operations, some four each second: the kills shall find much under way, not a machine at its end.
const STARTERS: u64 = 6;

/// Streams at least.
const STREAMS: usize = 200;

/// A user with a wallet that has always the same answer.
struct User {
    wallet: Wallet,
    answer: Option<&'static str>,
}

/// What all tasks share.
#[derive(Clone)]
struct World {
    api: Api,
    ledger: Arc<Ledger>,
    users: Arc<[User]>,
    test_tasks: Arc<TestTasks>,
    over: Arc<AtomicBool>,
}

impl World {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Waits a moment before a call is made again.
    async fn breathe() {
        tokio::time::sleep(Duration::from_millis(25)).await;
    }

    /// Follows a stream to its end, whatever happens to the service.
    async fn follow(self, stream: String, seed: u64) {
        let mut dice = StdRng::seed_from_u64(seed);
        let mut after = 0;
        let until = Instant::now() + Duration::from_secs(10 * TTL) + LONG;
        loop {
            match self.api.try_events(&stream, after, dice.random_range(0..=3)).await {
                Ok(page) => {
                    self.ledger.read(&stream, after, &page.events, page.done);
                    after = page.next;
                    if page.done {
                        return;
                    }
                }
                Err(CallError::Network(_)) => {}
                Err(error) => panic!("{stream}, which was acknowledged: {error:?}"),
            }
            assert!(Instant::now() < until, "{stream} never ended");
            Self::breathe().await;
        }
    }

    /// Starts one operation after the other, and lets the users act on them.
    async fn start(self, seed: u64) {
        let mut dice = StdRng::seed_from_u64(seed);
        while !self.is_over() {
            let user = dice.random_range(0..self.users.len());
            let started = if dice.random_bool(0.4) {
                self.handshake(user, &mut dice).await
            } else {
                self.authenticate(user).await
            };
            match started {
                Ok(stream) => {
                    self.test_tasks.spawn(self.clone().follow(stream, dice.random()));
                    pause(&mut dice, 400).await;
                }
                Err(CallError::Network(_)) => Self::breathe().await,
                Err(error) => panic!("a start call was refused: {error:?}"),
            }
        }
    }

    async fn authenticate(&self, user: usize) -> Result<String, CallError> {
        let User { wallet, answer } = &self.users[user];
        let stream = self.api.try_authenticate(&wallet.main_key().to_hex(), &[]).await?;
        self.ledger.acknowledged(&stream, Kind::Authentication(wallet.main_key(), *answer));
        Ok(stream)
    }

    async fn handshake(&self, user: usize, dice: &mut StdRng) -> Result<String, CallError> {
        let handshake = self.api.try_handshake(&json!({})).await?;
        let scans = dice.random_bool(0.8);
        let who = scans.then(|| self.users[user].wallet.main_key());
        self.ledger.acknowledged(&handshake.stream, Kind::Handshake(who));
        let stream = handshake.stream.clone();
        if scans {
            let after = Duration::from_millis(dice.random_range(0..2500));
            self.test_tasks.spawn(self.clone().scan(user, handshake, after));
        }
        Ok(stream)
    }

    async fn scan(self, user: usize, handshake: Handshake, after: Duration) {
        tokio::time::sleep(after).await;
        self.users[user].wallet.open(&handshake.url, LONG).await.expect("the relay is there");
    }
}

async fn users(relay: &str, dice: &mut StdRng) -> Arc<[User]> {
    let mut users = Vec::new();
    for number in 0..12 {
        let (policy, answer) = match number {
            0..8 => (Policy::auto_approve(), Some("approved")),
            8..11 => (Policy::auto_decline(Some("no")), Some("declined")),
            _ => (Policy::silent(), None),
        };
        let policy = policy.after(Duration::from_millis(dice.random_range(0..3000)));
        let options = WalletOptions::new(Identity::generate()).relay(relay).policy(policy);
        users.push(User { wallet: Wallet::start(options).await, answer });
    }
    users.into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_under_load_it_loses_nothing() {
    let mut dice = dice();
    let builder = TestUsher::builder().set("HANDSHAKE__TTL_SECONDS", TTL).set("AUTH__CHALLENGE_TTL_SECONDS", TTL);
    let (relay, mut usher) = builder.start_at_relay().await;
    let api = usher.api();
    let ledger = Arc::new(Ledger::default());
    let users = users(relay.url(), &mut dice).await;
    let (test_tasks, over) = (Arc::new(TestTasks::default()), Arc::new(AtomicBool::new(false)));
    let network = World { api: api.clone(), ledger: ledger.clone(), users, test_tasks: test_tasks.clone(), over };
    for _ in 0..STARTERS {
        test_tasks.spawn(network.clone().start(dice.random()));
    }

    let kills = soak::repetitions(16);
    for _ in 0..kills {
        pause(&mut dice, 1500).await;
        usher.kill();
        if dice.random_bool(0.3) {
            // Nobody is there for a while: timers and answers pass meanwhile.
            pause(&mut dice, 1500).await;
        }
        while dice.random_bool(0.3) {
            // Killed again while it starts.
            usher.spawn();
            pause(&mut dice, 60).await;
            usher.kill();
        }
        usher.restart().await;
        ledger.audit(&api, 0.2).await;
        test_tasks.check();
    }
    // Among so many streams is each kind.
    until("load", async || ledger.streams().len() >= STREAMS).await;
    network.over.store(true, Ordering::Relaxed);
    test_tasks.ended(Duration::from_secs(TTL) + LONG + LONG).await;
    usher.restart().await;
    ledger.audit(&api, 1.0).await;
    let counts = ledger.judge();
    println!("after {kills} kills: {counts:?}");
    for what in ["handshake", "approved", "declined", "authentication timeout"] {
        assert!(counts.contains_key(what), "no {what} happened: {counts:?}");
    }
    // Wallets were there all the time and a challenge is repeated: hardly anybody who answered is left out, even of
    // those whose service was gone half of the time.
    let (mut answered, mut left_out) = (0, 0);
    for (_, record) in ledger.streams() {
        if let Kind::Authentication(_, Some(answer)) = record.kind {
            *if record.events[0].status() == answer { &mut answered } else { &mut left_out } += 1;
        }
    }
    assert!(left_out * 20 <= answered, "{left_out} answers were lost, {answered} came");
}
