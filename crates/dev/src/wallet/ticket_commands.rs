//! Commands on the user's tickets.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};
use usher_engine::ports::{OsRandomness, Randomness as _, TicketJobId, Token};
use usher_sandbox::amounts::tickets;
use usher_sandbox::clock::system_clock;
use usher_sandbox::wallet::{
    GivenState, GivenTicket, KnownMint, ReceivedTicket, Secret, TicketAmount, Tickets, WalletFile,
};

use super::CliError;
use super::console::Console;
use super::one_shot::OneShot;

/// Longest token read, in bytes; the ticket wallet's own limit is lower.
const MAX_TOKEN_BYTES: u64 = 1 << 20;

impl OneShot<'_> {
    pub(super) fn mint_token(self, mint_url: &str, token: &str) -> Result<(), CliError> {
        let mut file = WalletFile::load(self.file)?;
        let mint_url = mint_url.trim().trim_end_matches('/').to_owned();
        let mint = KnownMint { mint_url: mint_url.clone(), auth_token: Secret(argument(token)?) };
        file.update(|file| file.remember_mint(mint))?;
        Ok(self
            .console
            .say(format_args!("remembered the token of {mint_url}"), &json!({"event": "mint", "mint_url": mint_url}))?)
    }
}

pub(super) fn argument(text: &str) -> Result<String, CliError> {
    if text != "-" {
        return Ok(text.trim().to_owned());
    }
    let mut read = String::new();
    std::io::stdin().take(MAX_TOKEN_BYTES).read_to_string(&mut read)?;
    Ok(read.trim().to_owned())
}

/// The tickets beside this wallet file.
pub(super) fn tickets_of(file: &Path) -> Result<Tickets, CliError> {
    Ok(WalletFile::load(file)?.tickets())
}

/// Parses the arguments of `give`: `AMOUNT [UNIT [MINT]]`.
pub(super) fn ticket_amount(text: &str) -> Result<TicketAmount, CliError> {
    let mut words = text.split_whitespace();
    let amount = words.next().and_then(|word| word.parse().ok()).ok_or(CliError::NoAmount)?;
    Ok(TicketAmount { amount, unit: words.next().map(str::to_owned), mint_url: words.next().map(str::to_owned) })
}

pub(super) async fn show_tickets(console: &mut Console, held: &Tickets) -> Result<(), CliError> {
    // First completes an interrupted ticket, from the balance.
    let given = held.given().await?;
    let balances = held.balances().await?;
    for balance in &balances {
        let json = json!({
            "event": "tickets",
            "mint_url": balance.mint_url,
            "unit": balance.unit,
            "amount": balance.amount,
        });
        console.say(tickets(balance.amount, &balance.unit, &balance.mint_url), &json)?;
    }
    if balances.is_empty() {
        console.hint("no tickets")?;
    }
    for (ticket, state) in given {
        console.say(ticket.summary(state, system_clock().now()), &given_json(&ticket, state))?;
    }
    Ok(())
}

pub(super) async fn give_ticket(console: &mut Console, held: &Tickets, what: &TicketAmount) -> Result<(), CliError> {
    let mut id = [0; 32];
    OsRandomness.fill(&mut id);
    let given = held.give(TicketJobId(id), what, None).await?;
    let token = given.token.as_ref().map(|token| token.0.as_str()).unwrap_or_default();
    let mut json = given_json(&given, GivenState::Unspent);
    if let Some(fields) = json.as_object_mut() {
        fields.insert("token".to_owned(), token.into());
    }
    Ok(console.say(token, &json)?)
}

pub(super) async fn take_ticket(console: &mut Console, held: &Tickets, token: &str) -> Result<(), CliError> {
    let received = held.receive(&Token(token.to_owned())).await?;
    let amount = tickets(received.amount, &received.unit, &received.mint_url);
    let text =
        if received.again { format!("took {amount} before; nothing has changed") } else { format!("took {amount}") };
    Ok(console.say(text, &received_json(&received))?)
}

pub(super) async fn take_back(console: &mut Console, held: &Tickets, id: &str) -> Result<(), CliError> {
    let received = held.take_back(id).await?;
    let text = format!("took back {}", tickets(received.amount, &received.unit, &received.mint_url));
    Ok(console.say(text, &received_json(&received))?)
}

fn received_json(received: &ReceivedTicket) -> Value {
    json!({
        "event": "received",
        "mint_url": received.mint_url,
        "unit": received.unit,
        "amount": received.amount,
        "again": received.again,
    })
}

fn given_json(ticket: &GivenTicket, state: GivenState) -> Value {
    json!({
        "event": "given",
        "id": ticket.id,
        "mint_url": ticket.mint_url,
        "unit": ticket.unit,
        "amount": ticket.amount,
        "given_at": ticket.given_at,
        "request": ticket.request,
        "state": state.as_str(),
    })
}
