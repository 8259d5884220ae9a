//! Commands on the user's tickets.

use usher_engine::ports::{OsRandomness, Randomness as _, TicketJobId, Token};
use usher_sandbox::amounts;
use usher_sandbox::clock::system_clock;
use usher_sandbox::wallet::{TicketAmount, Tickets, TicketsError, Wallet};

/// The user's tickets, and given ones that are not spent yet.
pub(super) async fn show(wallet: &Wallet) -> String {
    list(wallet).await.unwrap_or_else(|error| format!("The tickets are unknown: {error}."))
}

async fn list(wallet: &Wallet) -> Result<String, TicketsError> {
    let tickets = held(wallet)?;
    let balances = tickets.balances().await?;
    let mut lines: Vec<_> = balances
        .iter()
        .map(|held| format!("  {}", amounts::tickets(held.amount, &held.unit, &held.mint_url)))
        .collect();
    if lines.is_empty() {
        lines.push("No tickets.".to_owned());
    }
    let given = tickets.given().await?;
    if !given.is_empty() {
        lines.push("Given:".to_owned());
        let now = system_clock().now();
        lines.extend(given.iter().map(|(ticket, state)| format!("  {}", ticket.summary(*state, now))));
    }
    Ok(lines.join("\n"))
}

pub(super) async fn give(wallet: &Wallet, amount: Option<&str>, unit: Option<&str>, mint: Option<&str>) -> String {
    let Some(amount) = amount.and_then(|amount| amount.parse().ok()) else {
        return "Give how much? Type: give amount [unit [mint]]".to_owned();
    };
    let what = TicketAmount { amount, unit: unit.map(str::to_owned), mint_url: mint.map(str::to_owned) };
    let mut id = [0; 32];
    OsRandomness.fill(&mut id);
    match async { held(wallet)?.give(TicketJobId(id), &what, None).await }.await {
        Ok(given) => format!(
            "Whoever has this token can spend it:\n\n{}\n",
            given.token.map(|token| token.0).unwrap_or_default()
        ),
        Err(error) => format!("Not given: {error}."),
    }
}

pub(super) async fn take(wallet: &Wallet, token: Option<&str>) -> String {
    let Some(token) = token else { return "Take what? Type: take token".to_owned() };
    match async { held(wallet)?.receive(&Token(token.to_owned())).await }.await {
        Ok(received) if received.again => "The wallet took it before; nothing has changed.".to_owned(),
        Ok(received) => {
            format!("The wallet took {}.", amounts::tickets(received.amount, &received.unit, &received.mint_url))
        }
        Err(error) => format!("Not taken: {error}."),
    }
}

pub(super) async fn take_back(wallet: &Wallet, id: Option<&str>) -> String {
    let Some(id) = id else { return "Take back which one? Type: take-back id".to_owned() };
    match async { held(wallet)?.take_back(id).await }.await {
        Ok(taken) => format!("The wallet took back {}.", amounts::tickets(taken.amount, &taken.unit, &taken.mint_url)),
        Err(error) => format!("Not taken back: {error}."),
    }
}

fn held(wallet: &Wallet) -> Result<&Tickets, TicketsError> {
    wallet.tickets().ok_or(TicketsError::NoTickets)
}
