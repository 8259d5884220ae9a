//! Processes that mint, redeem, verify and withdraw are killed (SIGKILL) at random instants and started again on the same
//! database; then the books of both sides agree.
//!
//! Two hundred times, or a tenth of that (`usher_test_tools::soak`).

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use usher_engine::ports::{MintTerms, ReceiveTerms, TicketJobId, TicketWallet as _, Token, TokenState, WithdrawTerms};
use usher_mint::{Mint, MintOptions};
use usher_store::{SqliteOptions, SqliteStore};
use usher_test_tools::soak;
use usher_tickets::CashuWallet;

use crate::fixture::{minted, wallet_on, without_dleq};

/// Databases, and so processes at once.
const LANES: usize = 4;

/// Groups of operations that a process works on at once.
const AT_ONCE: u64 = 3;

/// Tells the child what it works on: a folder, the mint's address, and after how many groups it ends (0: never).
const CHILD: &str = "USHER_TICKETS_CHILD";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_kills_the_books_agree() {
    let _scenario = fail::FailScenario::setup();
    let (kills, seed) = (soak::repetitions(200), soak::day());
    for fee in [0, 100] {
        let mint = Mint::start(MintOptions::new().input_fee_ppk(fee)).await.unwrap();
        let folders: Vec<_> = (0..LANES).map(|_| tempfile::tempdir().unwrap()).collect();
        let each = kills.div_ceil(2 * LANES);
        let lanes: Vec<_> = folders
            .iter()
            .zip(0..)
            .map(|(folder, lane)| {
                let (folder, url) = (folder.path().to_owned(), mint.url());
                let dice = StdRng::seed_from_u64(seed.wrapping_add(lane).wrapping_add(fee));
                // Each has a key of its own: the secrets of proofs follow from it.
                std::fs::write(folder.join("key"), dice.clone().random::<[u8; 32]>()).unwrap();
                tokio::task::spawn_blocking(move || kill(&folder, &url, each, dice))
            })
            .collect();
        for lane in lanes {
            lane.await.unwrap();
        }
        let (mut held, mut balances) = (0, 0);
        for folder in &folders {
            let (of_tokens, of_balance) = audit(folder.path(), &mint.url()).await;
            held += of_tokens;
            balances += of_balance;
        }
        let totals = mint.totals("sat").await.unwrap();
        println!(
            "fee {fee}: issued {}, redeemed {}, tokens {held}, balances {balances}",
            totals.issued, totals.redeemed
        );
        assert_eq!(totals.outstanding(), held + balances);
    }
}

/// Kills a process so often, and lets it finish in the end.
fn kill(folder: &Path, url: &str, kills: usize, mut dice: StdRng) {
    for _ in 0..kills {
        let mut child = start(folder, url, 0);
        if dice.random_bool(0.9) {
            wait_until_ready(&mut child);
        }
        std::thread::sleep(Duration::from_millis(dice.random_range(0..=100)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let begun = Ledger::open(folder).begun();
    let mut child = start(folder, url, begun.max(1));
    assert!(child.wait().unwrap().success(), "the last process finishes everything");
}

fn start(folder: &Path, url: &str, groups: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills::child", "--ignored", "--nocapture"])
        .env(CHILD, format!("{}|{url}|{groups}", folder.display()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_until_ready(child: &mut Child) {
    let output = child.stdout.take().expect("its output is piped");
    let mut lines = BufReader::new(output).lines();
    lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("ready"))).expect("it starts").unwrap();
}

fn key(folder: &Path) -> [u8; 32] {
    std::fs::read(folder.join("key")).unwrap().try_into().unwrap()
}

/// Runs in a process of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the body of the processes that are killed"]
async fn child() {
    let Ok(work) = std::env::var(CHILD) else { return };
    let parts: Vec<&str> = work.split('|').collect();
    let (folder, url, groups) = (PathBuf::from(parts[0]), parts[1].to_owned(), parts[2].parse::<u64>().unwrap());
    let store = Arc::new(SqliteStore::open(&folder.join("usher.db"), SqliteOptions::default()).unwrap());
    let ledger = Arc::new(Ledger::open(&folder));
    let wallet = Arc::new(wallet_on(&store, &key(&folder), |_| {}).await);
    println!("\nready");
    let groups = if groups == 0 { u64::MAX } else { groups };
    let lanes = (0..AT_ONCE).map(|lane| {
        let (wallet, ledger, url) = (Arc::clone(&wallet), Arc::clone(&ledger), url.clone());
        tokio::spawn(async move {
            for group in (lane..groups).step_by(usize::try_from(AT_ONCE).unwrap()) {
                perform(&wallet, &ledger, &url, group).await;
            }
        })
    });
    for lane in lanes.collect::<Vec<_>>() {
        lane.await.unwrap();
    }
    // Also what the last process began and did not hear the end of.
    crate::fixture::settled(&wallet).await;
    wallet.close().await;
}

/// One group: a token is minted; then it is redeemed and a part withdrawn, or it is verified by a swap, or kept. All ids
/// follow from the group, so a process that starts again asks for the same.
async fn perform(wallet: &CashuWallet, ledger: &Ledger, url: &str, group: u64) {
    if ledger.get("end", group).is_some() {
        return;
    }
    ledger.put("begin", group, "");
    let id = |what: &str| TicketJobId::derive(what, &group.to_be_bytes());
    let amount = 20 + group * 37 % 100;
    let token = match ledger.get("minted", group) {
        Some(token) => Token(token),
        None => {
            let mint_url = url.to_owned();
            let terms =
                MintTerms { mint_url, unit: "sat".to_owned(), amount, description: None, auth: None, repeatable: true };
            let token = until_done(|| async { wallet.mint(id("mint"), &terms).await.map(Ok).map(minted) }).await;
            ledger.put("minted", group, &token.0);
            token
        }
    };
    let receive = |token: Token| ReceiveTerms {
        token,
        mint_url: url.to_owned(),
        unit: "sat".to_owned(),
        at_least: 0,
        auth: None,
    };
    match group % 3 {
        0 => {
            let terms = receive(token);
            let received = until_done(|| wallet.redeem(id("redeem"), &terms)).await;
            ledger.put("redeemed", group, &received.to_string());
            let terms = WithdrawTerms {
                mint_url: url.to_owned(),
                unit: "sat".to_owned(),
                amount: amount / 3,
                auth: None,
                repeatable: true,
            };
            let token = until_done(|| wallet.withdraw(id("withdraw"), &terms)).await;
            ledger.put("withdrawn", group, &token.0);
        }
        1 => {
            let terms = receive(without_dleq(&token));
            let token = until_done(|| wallet.verify(id("verify"), &terms)).await;
            ledger.put("verified", group, &token.0);
        }
        _ => {}
    }
    ledger.put("end", group, "");
}

async fn until_done<T, E: std::fmt::Debug, F: Future<Output = Result<T, E>>>(attempt: impl Fn() -> F) -> T {
    loop {
        match attempt().await {
            Ok(result) => return result,
            Err(error) => {
                eprintln!("again: {error:?}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// The value of the tokens that the processes were given and that are unspent, and of the balance.
async fn audit(folder: &Path, url: &str) -> (u64, u64) {
    let store = Arc::new(SqliteStore::open(&folder.join("usher.db"), SqliteOptions::default()).unwrap());
    let wallet = wallet_on(&store, &key(folder), |_| {}).await;
    let ledger = Ledger::open(folder);
    let mut held = 0;
    let mut seen = HashSet::new();
    let lines = ledger.lines.lock().clone();
    for ((what, group), value) in &lines {
        let is_kept = match what.as_str() {
            "minted" => group % 3 == 2,
            "withdrawn" | "verified" => true,
            _ => continue,
        };
        let token = Token(value.clone());
        assert!(seen.insert(value.clone()), "two groups have one token");
        let state = wallet.token_state(&token).await.unwrap();
        assert_eq!(state == TokenState::Unspent, is_kept, "{what} {group}: {state:?}");
        if is_kept {
            held += wallet.read_token(&token).unwrap().amount;
        }
    }
    let balances = wallet.balances().await.unwrap();
    wallet.close().await;
    (held, balances.iter().filter(|balance| balance.mint_url == url).map(|balance| balance.amount).sum())
}

/// What the processes were told, in a file: it survives their kills as an app's own records would.
struct Ledger {
    file: Mutex<File>,
    lines: Mutex<BTreeMap<(String, u64), String>>,
}

impl Ledger {
    fn open(folder: &Path) -> Self {
        let path = folder.join("ledger");
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        // A line without an end was being written when the process was killed.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        std::fs::write(&path, whole).unwrap();
        let read = |line: &str| {
            let mut parts = line.splitn(3, ' ');
            let (what, group) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?);
            Some(((what, group), parts.next().unwrap_or_default().to_owned()))
        };
        let lines = whole.lines().filter_map(read).collect();
        let file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
        Self { file: Mutex::new(file), lines: Mutex::new(lines) }
    }

    fn put(&self, what: &str, group: u64, value: &str) {
        self.file.lock().write_all(format!("{what} {group} {value}\n").as_bytes()).unwrap();
        self.lines.lock().insert((what.to_owned(), group), value.to_owned());
    }

    fn get(&self, what: &str, group: u64) -> Option<String> {
        self.lines.lock().get(&(what.to_owned(), group)).cloned()
    }

    /// How many groups have begun: the highest number and one.
    fn begun(&self) -> u64 {
        let lines = self.lines.lock();
        lines.keys().filter(|(what, _)| what == "begin").map(|(_, group)| group + 1).max().unwrap_or(0)
    }
}
