//! Tickets minted, burned and sent per second, at a real mint. Every token is accounted for at the end.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::api;
use crate::closed_loop::{Bounds, Script, run_closed_loop};
use crate::fixture::{Fixture, Tool};
use crate::http::{self, Answer, Connection};
use crate::mint::Mint;
use crate::report::{Row, grouped, per_second};

/// The mint's static token.
const TOKEN: &str = "load";

/// Of the tickets.
const UNIT: &str = "multi";

/// Of each ticket: three proofs.
const AMOUNT: u64 = 7;

/// Longest measurement of one row.
const TIME: Duration = Duration::from_secs(120);

/// Mints tickets, burns one half of them, and sends the other.
pub(crate) async fn measure(tool: &Tool) -> Result<Vec<Row>> {
    let count = tool.options.tickets.max(2);
    Tool::say(&format!("tickets: {} are minted", grouped(count)));
    let mint = Mint::start(&tool.mint, TOKEN).await?;
    let variables = [("SERVICE__CASHU__ALLOW_PRIVATE_MINTS", "true")];
    let fixture = tool.fixture_with(Duration::ZERO, &variables).await?;
    let under = format!("{} connections, tickets of {AMOUNT}", tool.options.connections);
    let row = |what: &str| Row { what: what.to_owned(), under: under.clone(), ..Row::default() };

    let mints = Requests::new(&fixture, "/cashu/mint", "token", vec![mint_fields(&mint); count]);
    let mut rows = vec![run(tool, &fixture, &mints, row("Tickets minted")).await?];
    let mut tokens = mints.taken();
    let minted = tokens.len();
    ensure!(tokens.iter().collect::<HashSet<_>>().len() == minted, "a token was given to two requests");
    let to_send = tokens.split_off(minted / 2);

    let burned = tokens.len();
    let burn = |token: &String| json!({ "mint_url": mint.url(), "unit": UNIT, "static_token": TOKEN, "token": token });
    let burns = Requests::new(&fixture, "/cashu/burn", "amount", tokens.iter().map(burn).collect());
    rows.push(run(tool, &fixture, &burns, row("Tickets burned")).await?);
    ensure!(burns.taken().len() == burned, "the time was too short to burn all tickets");
    let balances = get(&fixture, "/cashu/balances").await?;
    let balance = balances["balances"][0]["amount"].as_u64();
    ensure!(balance == Some(burned as u64 * AMOUNT), "{burned} tickets were burned, but the balance is {balance:?}");

    // Nobody has a wallet for these keys: they stay under way.
    let send = |token: &String| json!({ "main_key": api::some_public_key(), "subkeys": [], "token": token });
    let sends = Requests::new(&fixture, "/cashu/send-direct", "stream_id", to_send.iter().map(send).collect());
    rows.push(run(tool, &fixture, &sends, row("Tickets sent, to users who are away")).await?);
    let sent: HashSet<_> = sends.taken().into_iter().collect();
    ensure!(sent.len() == to_send.len(), "the time was too short to send all tickets");
    let kept = outgoing(&fixture).await?;
    ensure!(kept == sent, "{} tickets were sent, and {} are listed as outgoing", sent.len(), kept.len());
    Ok(rows)
}

fn mint_fields(mint: &Mint) -> Value {
    json!({ "mint_url": mint.url(), "unit": UNIT, "static_token": TOKEN, "amount": AMOUNT })
}

/// The streams of all tickets that are under way.
async fn outgoing(fixture: &Fixture) -> Result<HashSet<String>> {
    let (mut streams, mut after) = (HashSet::new(), None::<String>);
    loop {
        let path = match &after {
            Some(after) => format!("/cashu/outgoing?limit=1000&after={after}"),
            None => "/cashu/outgoing?limit=1000".to_owned(),
        };
        let page = get(fixture, &path).await?;
        let listed = page["outgoing"].as_array().context("no list of outgoing tickets")?;
        streams.extend(listed.iter().filter_map(|ticket| ticket["stream_id"].as_str().map(str::to_owned)));
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(streams),
        }
    }
}

async fn get(fixture: &Fixture, path: &str) -> Result<Value> {
    let mut connection = Connection::open(fixture.service.address()).await?;
    let answer = connection.call(&http::get(path, fixture.instance.token())).await?;
    Ok(serde_json::from_slice(answer.ok()?)?)
}

async fn run(tool: &Tool, fixture: &Fixture, script: &Arc<Requests>, row: Row) -> Result<Row> {
    let bounds = Bounds { connections: tool.options.connections, calls: script.requests.len(), time: TIME };
    let meter = fixture.meter()?;
    let mut latencies = run_closed_loop(fixture.service.address(), bounds, Arc::clone(script)).await?;
    let usage = meter.stop()?;
    let (result, value) = per_second(latencies.len(), usage.0);
    let (p50_ms, p99_ms) = (latencies.percentile_ms(50), latencies.percentile_ms(99));
    Ok(Row { result, value, p50_ms, p99_ms, ..row }.with_usage(latencies.len(), usage))
}

/// Requests that are made once each, and a field of each response.
struct Requests {
    requests: Vec<Vec<u8>>,
    field: &'static str,
    taken: Mutex<Vec<String>>,
}

impl Requests {
    fn new(fixture: &Fixture, path: &str, field: &'static str, bodies: Vec<Value>) -> Arc<Self> {
        let token = fixture.instance.token();
        let requests = bodies.iter().map(|body| http::post(path, token, &body.to_string())).collect();
        Arc::new(Self { requests, field, taken: Mutex::default() })
    }

    /// What the responses had in the field.
    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut *self.taken.lock())
    }
}

impl Script for Requests {
    fn request(&self, nth: usize, out: &mut Vec<u8>) {
        if let Some(request) = self.requests.get(nth) {
            out.extend_from_slice(request);
        }
    }

    fn answer(&self, answer: &Answer<'_>) -> Result<()> {
        let body: Value = serde_json::from_slice(answer.ok()?)?;
        let value = match &body[self.field] {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => anyhow::bail!("a response without {}", self.field),
        };
        self.taken.lock().push(value);
        Ok(())
    }
}
