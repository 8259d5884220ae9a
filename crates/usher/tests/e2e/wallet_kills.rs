//! The reference wallet (`usher wallet`) is killed (SIGKILL) while it takes, gives and takes back tickets: nothing is lost,
//! and nothing is there twice.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use usher_engine::ports::{MintAuthToken, MintTerms, Minted, SystemClock, TicketJobId, TicketWallet as _};
use usher_mint::{Mint, MintOptions};
use usher_store::{SqliteOptions, SqliteStore};
use usher_test_tools::soak;
use usher_tickets::{CashuWallet, TicketOptions};

/// Moments at which the wallet is killed.
const KILLS: u32 = 24;

/// The value of each token.
const VALUE: u64 = 8;

/// The wallet with these arguments.
pub(crate) fn wallet(file: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_usher"));
    command.env_clear().stdin(Stdio::null()).args(["wallet", "--json", "--wallet"]).arg(file).args(arguments);
    command
}

/// Runs the wallet to its end; returns the lines that it printed.
pub(crate) fn run(file: &Path, arguments: &[&str]) -> Vec<Value> {
    let output = wallet(file, arguments).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {err}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs the wallet and kills it after this time, if it has not ended before.
fn run_killed(file: &Path, arguments: &[&str], after: Duration) {
    let mut child = wallet(file, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap();
}

/// What the wallet holds, and the tickets that were given.
pub(crate) fn held(file: &Path) -> (u64, Vec<Value>) {
    let lines = run(file, &["tickets"]);
    let (given, balances): (Vec<_>, Vec<_>) = lines.into_iter().partition(|line| line["event"] == "given");
    (balances.iter().map(|line| line["amount"].as_u64().unwrap()).sum(), given)
}

/// Tokens of this mint, made by a service's ticket wallet.
pub(crate) async fn tokens(count: usize, mint: &Mint, folder: &Path, auth: Option<&str>) -> Vec<String> {
    let store = Arc::new(SqliteStore::open(&folder.join("service.db"), SqliteOptions::default()).unwrap());
    let mut options = TicketOptions::new(usher_http_client::tls_config(Vec::new()).unwrap());
    options.allow_private = true;
    let service = CashuWallet::new(&[3; 32], store, Arc::new(SystemClock), options).unwrap();
    let mut tokens = Vec::new();
    for number in 0..count {
        let terms = MintTerms {
            mint_url: mint.url(),
            unit: "multi".to_owned(),
            amount: VALUE,
            description: None,
            auth: auth.map(|token| MintAuthToken(token.to_owned())),
            repeatable: true,
        };
        match service.mint(TicketJobId::derive("test", &number.to_be_bytes()), &terms).await.unwrap() {
            Minted::Token(token) => tokens.push(token.0),
            Minted::PaymentNeeded { .. } => panic!("the mint wants a payment"),
        }
    }
    service.close().await;
    tokens
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_lose_no_ticket_of_the_reference_wallet() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wallet.json");
    let mint = Mint::start(MintOptions::new()).await.unwrap();
    let moments = soak::chosen(KILLS as usize);
    let tokens = tokens(moments.len() + 1, &mint, folder.path(), None).await;
    let total = VALUE * tokens.len() as u64;

    run(&file, &["new"]);
    let began = Instant::now();
    run(&file, &["take", &tokens[0]]);
    // Kills are spread over the time that one command takes.
    let usual = began.elapsed();
    for (number, token) in moments.into_iter().zip(&tokens[1..]) {
        let after = usual * u32::try_from(number).unwrap() / KILLS;
        match number % 3 {
            // The sender keeps the token of the killed one, and sends it again later.
            0 | 1 => run_killed(&file, &["take", token], after),
            _ => run_killed(&file, &["give", "3"], after),
        }
        if number % 8 == 7 {
            for ticket in held(&file).1 {
                run_killed(&file, &["take-back", ticket["id"].as_str().unwrap()], after);
            }
        }
    }
    for token in &tokens {
        run(&file, &["take", token]);
    }
    let (balance, mut given) = held(&file);
    // Taken back, and killed before that was recorded.
    given.retain(|ticket| ticket["state"] != "spent");
    let given_value: u64 = given.iter().map(|ticket| ticket["amount"].as_u64().unwrap()).sum();
    println!("{usual:?} for one; {balance} held and {given_value} given of {total}");
    assert!(given.iter().all(|ticket| ticket["state"] == "unspent"), "{given:?}");
    assert_eq!(balance + given_value, total);
    for ticket in given {
        run(&file, &["take-back", ticket["id"].as_str().unwrap()]);
    }
    assert_eq!(held(&file), (total, Vec::new()));
    assert_eq!(mint.totals("multi").await.unwrap().outstanding(), total, "the mint's record agrees");
}
