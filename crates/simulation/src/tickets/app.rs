//! The app: it mints, redeems, withdraws, verifies and takes back, and repeats what it got no answer to.

use std::collections::HashSet;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use cashu::Proof;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;
use usher_engine::ports::{
    MintTerms, Minted, ReceiveTerms, TicketError, TicketJobId, TicketStore as _, TicketWallet as _, Token,
    WithdrawTerms,
};
use usher_store::SqliteStore;
use usher_testing::ports::InterceptedStore;
use usher_tickets::{CashuWallet, TicketOptions};

use super::mint::UNIT;
use super::network::{Disk, MINT, Network};
use super::requests::{Outcome, Request, WalletRequest};
use super::world::{RECOVERY, State, TROUBLE, World};
use crate::ports::disk::wait;
use crate::world::time::WallClock;

/// How long a job waits for a quote that the mint has forgotten.
const FORGOTTEN_QUOTES: Duration = Duration::from_secs(50 * 60 * 60);

/// Between two looks when nobody asks for anything any more.
const LONG_PAUSE: Duration = Duration::from_secs(1800);

pub(super) enum ProcessExit {
    Killed,
    Stopped,
    Finished,
}

impl State {
    fn ask(&mut self) {
        let amount = self.decisions.number(1..200);
        let token = {
            let place = self.decisions.number(0..self.app.tokens.len().max(1) as u64);
            usize::try_from(place).ok().and_then(|place| self.app.tokens.get(place)).cloned()
        };
        let what = match (self.decisions.number(0..10), token) {
            (0..3, _) | (_, None) => WalletRequest::Mint(amount),
            (3..5, _) => WalletRequest::Withdraw(amount / 4 + 1),
            (5..8, Some(token)) => WalletRequest::Redeem(token),
            (_, Some(token)) => WalletRequest::Verify(token),
        };
        // Two who redeem the same token at once.
        let copies = if matches!(what, WalletRequest::Redeem(_)) && self.decisions.percent(20) { 2 } else { 1 };
        for _ in 0..copies {
            self.log(&format!("request {}: {}", self.app.requests.len(), describe(&what)));
            self.app.requests.push(Request { what: what.clone(), outcome: None, runs: false });
        }
    }

    fn no_outcome(&mut self, number: usize, what: &WalletRequest) {
        self.violation("every-job-ends", format!("request {number} ({}) has no outcome", describe(what)));
    }

    fn answered(&mut self, number: usize, outcome: Outcome) {
        self.log(&format!("request {number}: {}", shown(&outcome)));
        let Some(request) = self.app.requests.get_mut(number) else { return };
        request.runs = false;
        if let Some(before) = &request.outcome {
            if *before != outcome {
                self.violation("the-same-token-again", format!("request {number} gets something else"));
            }
            return;
        }
        request.outcome = Some(outcome.clone());
        let what = request.what.clone();
        match (&what, outcome) {
            (WalletRequest::Mint(_) | WalletRequest::Withdraw(_), Outcome::Token(token)) => self.app.tokens.push(token),
            (WalletRequest::Verify(old), Outcome::Token(token)) => {
                // A copy that somebody else has redeemed meanwhile is no longer held.
                if let Some(held) = self.app.tokens.iter_mut().find(|held| *held == old) {
                    *held = token;
                } else if token != *old {
                    self.app.tokens.push(token);
                }
            }
            (WalletRequest::Redeem(token), Outcome::Received(_)) => {
                self.app.tokens.retain(|held| held != token);
                let redeems =
                    |request: &&Request| request.what == what && matches!(request.outcome, Some(Outcome::Received(_)));
                if self.app.requests.iter().filter(redeems).count() > 1 {
                    self.violation("none-twice", format!("request {number} redeems a token that was redeemed before"));
                }
            }
            _ => {}
        }
    }
}

fn describe(what: &WalletRequest) -> String {
    match what {
        WalletRequest::Mint(amount) => format!("mint {amount}"),
        WalletRequest::Withdraw(amount) => format!("withdraw {amount}"),
        WalletRequest::Redeem(_) => "redeem".to_owned(),
        WalletRequest::Verify(_) => "verify".to_owned(),
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Token(_) => "a token".to_owned(),
        Outcome::Received(amount) => format!("received {amount}"),
        Outcome::Refused(reason) => format!("refused: {reason}"),
    }
}

pub(super) async fn live(world: &Arc<World>, store: &Arc<SqliteStore>) -> Result<ProcessExit, String> {
    tokio::select! {
        biased;
        () = world.killed.notified() => Ok(ProcessExit::Killed),
        exit = run_app(world, store) => exit,
    }
}

async fn run_app(world: &Arc<World>, store: &Arc<SqliteStore>) -> Result<ProcessExit, String> {
    let tls = usher_http_client::tls_config(Vec::new()).map_err(|error| error.to_string())?;
    let options = TicketOptions { transport: Some(Arc::new(Network(Arc::clone(world)))), ..TicketOptions::new(tls) };
    let disk = Arc::new(InterceptedStore::new(Arc::clone(store), Disk(Arc::clone(world))));
    let clock = Arc::new(WallClock { time: Arc::clone(&world.time), ahead: Arc::default() });
    let wallet = CashuWallet::new(&[7; 32], disk, clock, options).map_err(|error| error.to_string())?;
    let wallet = Arc::new(wallet);
    wallet.start().await.map_err(|error| error.to_string())?;
    // Nobody answers what the last process was asked.
    world.state.lock().app.requests.iter_mut().for_each(|request| request.runs = false);
    let calls = TaskTracker::new();
    let mut repeated = false;
    loop {
        let pause = {
            let mut state = world.state.lock();
            if repeated { LONG_PAUSE } else { state.decisions.delay(100..60_000) }
        };
        sleep(pause).await;
        let passed = Duration::from_millis(world.time.passed());
        let Some(waiting) = next_requests(world, passed)? else {
            wallet.close().await;
            return Ok(ProcessExit::Stopped);
        };
        for number in waiting {
            calls.spawn(call(Arc::clone(world), Arc::clone(&wallet), number));
        }
        if passed >= TROUBLE + RECOVERY && !repeated {
            repeat_all(world, &wallet).await;
            repeated = true;
        }
        if passed >= TROUBLE + RECOVERY + FORGOTTEN_QUOTES {
            check_books(world, &wallet, store).await?;
            return Ok(ProcessExit::Finished);
        }
    }
}

/// What happens in this round: the requests to make now, by number; `None` when the process stops in order.
fn next_requests(world: &World, passed: Duration) -> Result<Option<Vec<usize>>, String> {
    let mut state = world.state.lock();
    if !state.calm && passed >= TROUBLE {
        state.log("nothing goes wrong from now on");
        state.calm = true;
    }
    if !state.calm {
        if something_happens(&mut state)? {
            return Ok(None);
        }
        state.ask();
    }
    let open = state.app.requests.iter_mut().enumerate();
    let open = open.filter(|(_, request)| request.outcome.is_none() && !request.runs);
    Ok(Some(
        open.map(|(number, request)| {
            request.runs = true;
            number
        })
        .collect(),
    ))
}

/// Something that is nobody's request; says whether the process stops in order.
fn something_happens(state: &mut State) -> Result<bool, String> {
    match state.decisions.number(0..100) {
        0..6 => {
            let instants = state.decisions.number(0..25);
            state.kill_in = Some(instants);
        }
        6..8 => {
            state.log("! the mint changes its keyset");
            let fee = state.decisions.pick(&[0, 0, 100, 1000], 0);
            state.mint.rotate(fee)?;
        }
        8..10 => {
            state.log("! the mint forgets its quotes");
            state.mint.forget_quotes();
        }
        10..12 => {
            state.log("! stopped in order");
            return Ok(true);
        }
        _ => {}
    }
    Ok(false)
}

/// Makes a request, and notes its outcome if it is certain.
async fn call(world: Arc<World>, wallet: Arc<CashuWallet>, number: usize) {
    let Some(what) = world.state.lock().app.requests.get(number).map(|request| request.what.clone()) else { return };
    let outcome = make(&wallet, number, &what).await;
    let mut state = world.state.lock();
    match outcome {
        Ok(outcome) => state.answered(number, outcome),
        Err(error) => match error {
            TicketError::Token(_) | TicketError::Refused(_) | TicketError::InsufficientFunds { .. } => {
                state.answered(number, Outcome::Refused(error.to_string()));
            }
            _ => {
                state.log(&format!("request {number}: {error}"));
                if let Some(request) = state.app.requests.get_mut(number) {
                    request.runs = false;
                }
            }
        },
    }
}

async fn make(wallet: &CashuWallet, number: usize, what: &WalletRequest) -> Result<Outcome, TicketError> {
    let id = TicketJobId::derive("simulation", &number.to_be_bytes());
    let (mint_url, unit) = (MINT.to_owned(), UNIT.to_owned());
    let received = |token: &Token| ReceiveTerms {
        token: token.clone(),
        mint_url: MINT.to_owned(),
        unit: UNIT.to_owned(),
        at_least: 0,
        auth: None,
    };
    Ok(match what {
        WalletRequest::Mint(amount) => {
            let terms = MintTerms { mint_url, unit, amount: *amount, description: None, auth: None, repeatable: true };
            match wallet.mint(id, &terms, None).await? {
                Minted::Token(token) => Outcome::Token(token),
                // It is paid already.
                Minted::PaymentNeeded { .. } => return Err(TicketError::TimedOut),
            }
        }
        WalletRequest::Withdraw(amount) => {
            let terms = WithdrawTerms { mint_url, unit, amount: *amount, auth: None, repeatable: true };
            Outcome::Token(wallet.withdraw(id, &terms, None).await?)
        }
        WalletRequest::Redeem(token) => Outcome::Received(wallet.redeem(id, &received(token), None).await?),
        WalletRequest::Verify(token) => Outcome::Token(wallet.verify(id, &received(token)).await?),
    })
}

/// Repeats every request that has an outcome. Mints may have none yet: the mint has forgotten their quotes, and is asked for
/// them as long as they could still be paid.
async fn repeat_all(world: &Arc<World>, wallet: &CashuWallet) {
    let requests = world.state.lock().app.requests.clone();
    for (number, request) in requests.iter().enumerate() {
        match &request.outcome {
            None if matches!(request.what, WalletRequest::Mint(_)) => {}
            None => world.state.lock().no_outcome(number, &request.what),
            Some(Outcome::Refused(_)) => {}
            Some(before) => match make(wallet, number, &request.what).await {
                Ok(again) if again == *before => {}
                other => {
                    let other = other.map(|outcome| shown(&outcome)).map_err(|error| error.to_string());
                    let what = format!("request {number} had {}, and gets {other:?}", shown(before));
                    world.state.lock().violation("the-same-token-again", what);
                }
            },
        }
    }
}

/// Compares the books of the mint, of the wallet and of the app, when all is quiet.
async fn check_books(world: &Arc<World>, wallet: &CashuWallet, store: &Arc<SqliteStore>) -> Result<(), String> {
    let open = wallet.unfinished_jobs();
    let requests = world.state.lock().app.requests.clone();
    for (number, request) in requests.iter().enumerate().filter(|(_, request)| request.outcome.is_none()) {
        world.state.lock().no_outcome(number, &request.what);
    }
    let free = wait(store.free_proofs(MINT, UNIT, usize::MAX)).map_err(|error| error.to_string())?;
    let mut state = world.state.lock();
    if open > 0 {
        state.violation("every-job-ends", format!("{open} jobs are open"));
    }
    let mut held = Vec::new();
    for proof in free {
        held.push(("the wallet", serde_json::from_str::<Proof>(&proof.proof).map_err(|error| error.to_string())?));
    }
    let keysets = state.mint.keysets();
    for token in state.app.tokens.clone() {
        let token = cashu::Token::from_str(&token.0).map_err(|error| error.to_string())?;
        let proofs = token.proofs(&keysets).map_err(|error| error.to_string())?;
        held.extend(proofs.into_iter().map(|proof| ("the app", proof)));
    }
    let (mut seen, mut sum) = (HashSet::new(), 0);
    for (who, proof) in held {
        if !seen.insert(proof.secret.to_string()) {
            state.violation("none-twice", format!("{who} holds a proof that somebody holds already"));
        }
        if state.mint.is_good(&proof) {
            sum += u64::from(proof.amount);
        } else {
            state.violation("none-twice", format!("{who} holds a proof of {} that is spent", proof.amount));
        }
    }
    let outstanding = state.mint.issued - state.mint.redeemed;
    if sum != outstanding {
        let what = format!("{outstanding} are out, and {sum} are held");
        state.violation("no-unit-lost", what);
    }
    Ok(())
}
