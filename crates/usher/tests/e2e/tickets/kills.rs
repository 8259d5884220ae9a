//! The service is killed (SIGKILL) at random instants while tickets are minted, burned, withdrawn, sent and reclaimed. Every
//! request is repeated with its key until it is answered. At the end the books of both sides agree to the unit.
//!
//! `usher_test_tools::soak` sets how often it is killed, and which instants.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use usher_mint::nutshell::NutshellMint;
use usher_mint::{Mint, MintOptions};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_test_tools::soak;

use super::fixture::{AUTH, key};
use crate::crash::{dice, pause};
use crate::harness::{Api, CallError, LONG, TestUsher};

/// Callers at a time.
const CALLERS: u64 = 4;

/// Which tickets of which mint.
#[derive(Clone)]
struct Tickets {
    mint_url: String,
    unit: &'static str,
    auth: Option<&'static str>,
}

/// What the app knows: its tickets, and what it was answered.
#[derive(Default)]
struct Books {
    /// Tickets that the app holds, with their values.
    held: Mutex<Vec<(String, u64)>>,
    /// Streams of tickets that were sent and not reclaimed, with their values.
    sent: Mutex<Vec<(String, u64)>>,
    minted: AtomicU64,
    /// Requests answered, by kind.
    mints: AtomicU64,
    burns: AtomicU64,
    withdrawals: AtomicU64,
    sends: AtomicU64,
    reclaims: AtomicU64,
}

impl Books {
    /// Mints, burns, withdrawals, sends and reclaims that were answered.
    fn counts(&self) -> [u64; 5] {
        [&self.mints, &self.burns, &self.withdrawals, &self.sends, &self.reclaims]
            .map(|count| count.load(Ordering::Relaxed))
    }

    fn answered(&self) -> u64 {
        self.counts().iter().sum()
    }
}

#[derive(Clone)]
struct Caller {
    api: Api,
    tickets: Tickets,
    books: Arc<Books>,
    over: Arc<AtomicBool>,
}

/// One of these, which is removed.
fn take(from: &Mutex<Vec<(String, u64)>>, dice: &mut StdRng) -> Option<(String, u64)> {
    let mut from = from.lock();
    if from.is_empty() {
        return None;
    }
    let chosen = dice.random_range(0..from.len());
    Some(from.swap_remove(chosen))
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Caller {
    /// Repeats a request with the same key until it is answered; the refusal, if it is one.
    async fn insist(&self, path: &str, mut body: Value) -> Result<Value, Value> {
        body["static_token"] = json!(self.tickets.auth);
        let (key, deadline) = (key(), Instant::now() + 3 * LONG);
        loop {
            match self.api.post_once(path, &key, &body).await {
                Ok((response, _)) => return Ok(response),
                Err(CallError::Status(409 | 422, problem)) => return Err(problem),
                Err(CallError::Network(_) | CallError::Status(502..=504, _)) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(25)).await;
                }
                Err(error) => panic!("{path}: {error:?}"),
            }
        }
    }

    fn body(&self) -> Value {
        json!({ "mint_url": self.tickets.mint_url, "unit": self.tickets.unit })
    }

    async fn mint(&self, amount: u64) {
        let mut body = self.body();
        body["amount"] = json!(amount);
        let minted = self.insist("/cashu/mint", body).await.expect("a mint is not refused");
        self.books.held.lock().push((text(&minted, "token"), amount));
        self.books.minted.fetch_add(amount, Ordering::Relaxed);
        count(&self.books.mints);
    }

    async fn withdraw(&self, amount: u64) {
        let mut body = self.body();
        body["amount"] = json!(amount);
        // The balance may not cover it.
        if let Ok(withdrawn) = self.insist("/cashu/withdraw", body).await {
            self.books.held.lock().push((text(&withdrawn, "token"), amount));
            count(&self.books.withdrawals);
        }
    }

    async fn burn(&self, (token, amount): (String, u64)) {
        let mut body = self.body();
        body["token"] = json!(token);
        let burned = self.insist("/cashu/burn", body).await.expect("the token is good");
        assert_eq!(burned["amount"], amount);
        count(&self.books.burns);
    }

    async fn send(&self, (token, amount): (String, u64)) {
        // Nobody has a wallet for this key.
        let body = json!({ "main_key": Keys::generate().public_key().to_hex(), "subkeys": [], "token": token });
        let sent = self.insist("/cashu/send-direct", body).await.expect("the token can be sent");
        self.books.sent.lock().push((text(&sent, "stream_id"), amount));
        count(&self.books.sends);
    }

    async fn reclaim(&self, (stream, amount): (String, u64)) {
        let reclaimed = self.insist(&format!("/cashu/outgoing/{stream}/reclaim"), json!({})).await;
        assert_eq!(reclaimed.expect("nobody has redeemed it")["amount"], amount);
        count(&self.books.reclaims);
    }

    /// Calls until it is over.
    async fn run(self, seed: u64) {
        let mut dice = StdRng::seed_from_u64(seed);
        while !self.over.load(Ordering::Relaxed) {
            match dice.random_range(0..10) {
                0..4 => self.mint(dice.random_range(1..=40)).await,
                4..6 => self.withdraw(dice.random_range(1..=10)).await,
                6 | 7 => {
                    if let Some(ticket) = take(&self.books.held, &mut dice) {
                        self.burn(ticket).await;
                    }
                }
                8 => {
                    if let Some(ticket) = take(&self.books.held, &mut dice) {
                        self.send(ticket).await;
                    }
                }
                _ => {
                    if let Some(sent) = take(&self.books.sent, &mut dice) {
                        self.reclaim(sent).await;
                    }
                }
            }
        }
    }

    /// What the service holds.
    async fn balance(&self) -> u64 {
        let response = self.api.get("/cashu/balances").await.unwrap();
        response["balances"].as_array().unwrap().iter().map(|balance| balance["amount"].as_u64().unwrap()).sum()
    }
}

fn text(response: &Value, field: &str) -> String {
    response[field].as_str().unwrap_or_else(|| panic!("{field}: {response}")).to_owned()
}

/// Kills the service so often; afterwards it holds everything that was minted. Returns how much that is.
async fn kill_and_count(tickets: Tickets, kills: usize) -> u64 {
    let mut dice = dice();
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("CASHU__ALLOW_PRIVATE_MINTS", true);
    let mut usher = builder.start().await;
    let caller = Caller { api: usher.api(), tickets, books: Arc::default(), over: Arc::default() };
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        callers.spawn(caller.clone().run(dice.random()));
    }
    for _ in 0..kills {
        // Something is finished between two kills, on a slow machine, too.
        let (answered, deadline) = (caller.books.answered(), Instant::now() + LONG);
        while caller.books.answered() == answered && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        pause(&mut dice, 400).await;
        usher.restart().await;
        while let Some(ended) = callers.try_join_next() {
            ended.expect("a caller has found something wrong");
        }
    }
    let deadline = Instant::now() + LONG;
    while caller.books.counts()[..2].contains(&0) {
        assert!(Instant::now() < deadline, "nothing is minted and burned");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    caller.over.store(true, Ordering::Relaxed);
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller has found something wrong");
    }

    // Every ticket that was promised is worth what was promised.
    while let Some(sent) = take(&caller.books.sent, &mut dice) {
        caller.reclaim(sent).await;
    }
    while let Some(ticket) = take(&caller.books.held, &mut dice) {
        caller.burn(ticket).await;
    }
    let deadline = Instant::now() + LONG;
    while caller.api.metric("usher_ticket_jobs_unfinished").await != 0 {
        assert!(Instant::now() < deadline, "jobs are left over");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let [mints, burns, withdrawals, sends, reclaims] = caller.books.counts();
    let minted = caller.books.minted.load(Ordering::Relaxed);
    println!(
        "{kills} kills: {mints} mints of {minted} together, {burns} burns, {withdrawals} withdrawals, {sends} sends, \
         {reclaims} reclaims"
    );
    assert!(mints > 0 && burns > 0, "something has happened");
    assert_eq!(caller.balance().await, minted, "the service holds what was minted");
    minted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_nothing_is_lost_and_nothing_is_there_twice() {
    let mint = Mint::start(MintOptions::new().auth_token(AUTH)).await.unwrap();
    let tickets = Tickets { mint_url: mint.url(), unit: "multi", auth: Some(AUTH) };
    let minted = kill_and_count(tickets, soak::repetitions(16)).await;
    assert_eq!(mint.totals("multi").await.unwrap().outstanding(), minted, "the mint's books say the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_at_nutshells_mint_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mint = NutshellMint::start(folder.path(), 0).await.unwrap();
    kill_and_count(Tickets { mint_url: mint.url(), unit: "sat", auth: None }, soak::repetitions(4)).await;
}
