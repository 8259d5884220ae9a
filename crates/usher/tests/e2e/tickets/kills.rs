//! The service is killed (SIGKILL) at random instants while tickets are minted, burned, withdrawn, sent and reclaimed; the mint
//! loses requests and responses and changes its keyset meanwhile. Every request is repeated with its key until it is answered.
//! At the end the books of both sides agree to the unit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};
use usher_mint::nutshell::NutshellMint;
use usher_mint::{Mint, MintOptions, Rotation};
use usher_protocol::Keys;
use usher_sandbox::relay::EmbeddedRelay;
use usher_testing::mint::{Fault, FaultyMint, Garbage, MintRoute};
use usher_testing::soak;

use super::fixture::{AUTH, key};
use crate::harness::{Api, CallError, LONG, TestTasks, TestUsher, dice, pause, until};

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
    held: Vec<(String, u64)>,
    /// Streams of tickets that were sent and not reclaimed, with their values.
    sent: Vec<(String, u64)>,
    minted: u64,
    /// Requests answered: mints, burns, withdrawals, sends and reclaims.
    answered: [u64; 5],
}

#[derive(Clone)]
struct Caller {
    api: Api,
    tickets: Tickets,
    books: Arc<Mutex<Books>>,
    over: Arc<AtomicBool>,
}

/// One of these, which is removed.
fn take(from: &mut Vec<(String, u64)>, dice: &mut StdRng) -> Option<(String, u64)> {
    (!from.is_empty()).then(|| from.swap_remove(dice.random_range(0..from.len())))
}

fn text(response: &Value, field: &str) -> String {
    response[field].as_str().unwrap_or_else(|| panic!("{field}: {response}")).to_owned()
}

impl Caller {
    /// Repeats a request about tickets of the mint with the same key until it is answered; the refusal, if it is one.
    async fn insist(&self, path: &str, fields: Value) -> Result<Value, Value> {
        let Tickets { mint_url, unit, auth } = &self.tickets;
        let mut body = json!({ "mint_url": mint_url, "unit": unit, "static_token": auth });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
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

    async fn mint(&self, amount: u64) {
        let minted = self.insist("/cashu/mint", json!({ "amount": amount })).await.expect("a mint is not refused");
        let mut books = self.books.lock();
        books.held.push((text(&minted, "token"), amount));
        books.minted += amount;
        books.answered[0] += 1;
    }

    async fn burn(&self, (token, amount): (String, u64)) {
        let burned = self.insist("/cashu/burn", json!({ "token": token })).await.expect("the token is good");
        assert_eq!(burned["amount"], amount);
        self.books.lock().answered[1] += 1;
    }

    async fn withdraw(&self, amount: u64) {
        // The balance may not cover it.
        if let Ok(withdrawn) = self.insist("/cashu/withdraw", json!({ "amount": amount })).await {
            let mut books = self.books.lock();
            books.held.push((text(&withdrawn, "token"), amount));
            books.answered[2] += 1;
        }
    }

    async fn send(&self, (token, amount): (String, u64)) {
        // Nobody has a wallet for this key.
        let fields = json!({ "main_key": Keys::generate().public_key().to_hex(), "subkeys": [], "token": token });
        let sent = self.insist("/cashu/send-direct", fields).await.expect("the token can be sent");
        let mut books = self.books.lock();
        books.sent.push((text(&sent, "stream_id"), amount));
        books.answered[3] += 1;
    }

    async fn reclaim(&self, (stream, amount): (String, u64)) {
        let reclaimed = self.insist(&format!("/cashu/outgoing/{stream}/reclaim"), json!({})).await;
        assert_eq!(reclaimed.expect("nobody has redeemed it")["amount"], amount);
        self.books.lock().answered[4] += 1;
    }

    /// Calls until it is over.
    async fn run(self, seed: u64) {
        let mut dice = StdRng::seed_from_u64(seed);
        while !self.over.load(Ordering::Relaxed) {
            let choice = dice.random_range(0..10);
            let ticket = match choice {
                6..9 => take(&mut self.books.lock().held, &mut dice),
                9 => take(&mut self.books.lock().sent, &mut dice),
                _ => None,
            };
            match (choice, ticket) {
                (0..4, _) => self.mint(dice.random_range(1..=40)).await,
                (4..6, _) => self.withdraw(dice.random_range(1..=10)).await,
                (6 | 7, Some(ticket)) => self.burn(ticket).await,
                (8, Some(ticket)) => self.send(ticket).await,
                (_, Some(sent)) => self.reclaim(sent).await,
                (_, None) => {}
            }
        }
    }
}

/// Kills the service so often; afterwards it holds everything that was minted. Returns how much that is.
async fn kill_and_count(tickets: Tickets, kills: usize, mut trouble: impl AsyncFnMut(&mut StdRng)) -> u64 {
    let mut dice = dice();
    let relay = EmbeddedRelay::start().await.unwrap();
    let builder = TestUsher::builder().relays(&[relay.url()]).set("CASHU__ALLOW_PRIVATE_MINTS", true);
    let mut usher = builder.start().await;
    let caller = Caller { api: usher.api(), tickets, books: Arc::default(), over: Arc::default() };
    let callers = TestTasks::default();
    for _ in 0..4 {
        callers.spawn(caller.clone().run(dice.random()));
    }
    let answered = || caller.books.lock().answered;
    for _ in 0..kills {
        // Something is finished between two kills, on a slow machine, too.
        let before = answered();
        trouble(&mut dice).await;
        until("answer", async || answered() != before).await;
        pause(&mut dice, 400).await;
        usher.restart().await;
        callers.check();
    }
    until("mint and burn", async || !answered()[..2].contains(&0)).await;
    caller.over.store(true, Ordering::Relaxed);
    callers.ended(3 * LONG).await;

    // Every ticket that was promised is worth what was promised.
    let Books { held, sent, minted, answered } = std::mem::take(&mut *caller.books.lock());
    println!("{kills} kills: {answered:?} mints, burns, withdrawals, sends, reclaims");
    for sent in sent {
        caller.reclaim(sent).await;
    }
    for ticket in held {
        caller.burn(ticket).await;
    }
    caller.api.until_metric("usher_ticket_jobs_unfinished", 0).await;
    let response = caller.api.get("/cashu/balances").await.unwrap();
    let balances = response["balances"].as_array().unwrap().iter();
    let balance: u64 = balances.map(|balance| balance["amount"].as_u64().unwrap()).sum();
    assert_eq!(balance, minted, "the service holds what was minted");
    minted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_nothing_is_lost_and_nothing_is_there_twice() {
    let mint = Mint::start(MintOptions::new().auth_token(AUTH)).await.unwrap();
    let proxy = FaultyMint::start(mint.url()).await.unwrap();
    let tickets = Tickets { mint_url: proxy.url(), unit: "multi", auth: Some(AUTH) };
    let error = |acts: bool| {
        let (status, code, detail) = (500, 0, "no".to_owned());
        if acts { Fault::ActAndRefuse { status, code, detail } } else { Fault::Refuse { status, code, detail } }
    };
    let faults =
        [Fault::Drop, Fault::ActAndDrop, Fault::ActAndCut, Fault::Garbage(Garbage::Html), error(true), error(false)];
    let trouble = async |dice: &mut StdRng| {
        if dice.random_bool(0.5) {
            mint.rotate_keyset("multi", Rotation::default()).await.unwrap();
        }
        for _ in 0..6 {
            let route = MintRoute::ALL[dice.random_range(0..MintRoute::ALL.len())];
            proxy.once(route, faults[dice.random_range(0..faults.len())].clone());
        }
    };
    let minted = kill_and_count(tickets, soak::repetitions(16), trouble).await;
    assert_eq!(mint.totals("multi").await.unwrap().outstanding(), minted, "the mint's books say the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_at_nutshells_mint_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mint = NutshellMint::start(folder.path(), 0).await.unwrap();
    kill_and_count(Tickets { mint_url: mint.url(), unit: "sat", auth: None }, soak::repetitions(4), async |_| {}).await;
}
