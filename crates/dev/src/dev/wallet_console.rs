//! The user's wallet, controlled from the terminal.

use std::time::Duration;

use usher_sandbox::amounts::{amount, millisats};
use usher_sandbox::wallet::Subscription;

use super::setup::Setup;
use super::test_wallet::{TestWallet, is_same, no_account};
use super::ticket_commands;
use super::tour::tour;
use crate::wallet::Reply as Answer;

/// The duration of one wait for requests, before the next begins.
const WAIT: Duration = Duration::from_secs(3600);

const HELP: &str = "Commands of the wallet:
  scan [url]        opens the handshake URL shown above, or another one
  requests          lists the requests of services
  approve [number]  approves the latest request, or the one with this number
  decline [number]  declines a request
  fail [number]     reports that a payment failed; approve can still pay it
  pay invoice       pays an invoice, such as one that a payment page shows
  balance           shows the balance of the user's Lightning account
  tickets           shows the tickets that the user holds, and those that were given and are not spent
  give amount [unit [mint]]
                    gives a ticket: prints a token, which whoever has it can spend
  take token        takes a ticket
  take-back id      takes back a given ticket that nobody has spent
  subscriptions     lists the user's subscriptions
  close [id]        closes the latest subscription, or the one with this id
  tour              shows commands to paste into another terminal
  help              shows this list
  quit              stops everything";

/// The result of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// A text to print.
    Say(String),
    /// Stop the program.
    Quit,
}

/// Takes commands for a wallet.
pub(super) struct Prompt<'a> {
    wallet: &'a TestWallet,
    setup: &'a Setup<'a>,
}

impl<'a> Prompt<'a> {
    pub(super) const fn new(wallet: &'a TestWallet, setup: &'a Setup<'a>) -> Self {
        Self { wallet, setup }
    }

    pub(super) async fn execute(&self, line: &str) -> Reply {
        let mut words = line.split_whitespace();
        let (command, argument) = (words.next().unwrap_or_default(), words.next());
        Reply::Say(match command {
            "" => String::new(),
            "scan" | "open" => self.wallet.open(argument.unwrap_or(&self.setup.handshake.url)).await,
            "requests" | "list" => self.requests(),
            "approve" | "yes" => self.answer(argument, &Answer::Approve { amount: None }).await,
            "decline" | "no" => self.answer(argument, &Answer::Decline(None)).await,
            "fail" => self.answer(argument, &Answer::Fail(None)).await,
            "pay" => self.pay(argument).await,
            "balance" => self.balance().await,
            "tickets" => ticket_commands::show(self.wallet.wallet()).await,
            "give" => ticket_commands::give(self.wallet.wallet(), argument, words.next(), words.next()).await,
            "take" => ticket_commands::take(self.wallet.wallet(), argument).await,
            "take-back" => ticket_commands::take_back(self.wallet.wallet(), argument).await,
            "subscriptions" => self.subscriptions(),
            "close" => self.close(argument),
            "tour" => tour(self.setup),
            "help" | "?" => HELP.to_owned(),
            "quit" | "exit" => return Reply::Quit,
            _ => "Unknown command; type help for the list.".to_owned(),
        })
    }

    /// Waits for a request and describes it. Cancel-safe.
    pub(super) async fn news(&self) -> String {
        let wallet = self.wallet.wallet();
        loop {
            if let Ok(request) = wallet.next_request(WAIT).await {
                let number = wallet.requests().iter().position(|known| is_same(known, &request)).map_or(0, |at| at + 1);
                let asked = request.content.summary();
                if !request.content.is_request() {
                    return format!("Notice ({number}): {asked}.");
                }
                let how =
                    if request.is_automatic { "It is answered automatically." } else { "Type  approve  or  decline." };
                return format!("Request ({number}): {asked}. {how}");
            }
        }
    }

    fn requests(&self) -> String {
        let requests = self.wallet.requests(usize::MAX);
        if requests.is_empty() {
            return "No requests yet.".to_owned();
        }
        let mut lines = Vec::new();
        for (index, (request, progress)) in requests.iter().enumerate() {
            lines.push(format!("  {}  {} ({progress})", index + 1, request.content.summary()));
        }
        lines.join("\n")
    }

    /// Replies to the request with this number, or to the latest pending one.
    async fn answer(&self, number: Option<&str>, answer: &Answer) -> String {
        let requests = self.wallet.requests(usize::MAX);
        let request = match number {
            Some(number) => number.parse::<usize>().ok().and_then(|number| requests.get(number.checked_sub(1)?)),
            // If all were answered in another terminal, the latest is selected.
            None => requests
                .iter()
                .rfind(|(_, progress)| progress.is_open())
                .or_else(|| requests.iter().rfind(|(request, _)| request.content.is_request() && request.answers == 0)),
        };
        match request {
            Some((request, _)) => self.wallet.reply_shown(request, answer).await,
            None => "No such request; type requests for the list.".to_owned(),
        }
    }

    async fn pay(&self, invoice: Option<&str>) -> String {
        match invoice {
            Some(invoice) => self.wallet.pay(invoice).await,
            None => "Pay what? Type: pay invoice".to_owned(),
        }
    }

    async fn balance(&self) -> String {
        let Some(source) = self.wallet.wallet().payment_source() else { return no_account() };
        match source.balance().await {
            Ok(balance) => format!("The balance is {}.", millisats(balance)),
            Err(error) => format!("The balance is unknown: {error}."),
        }
    }

    fn subscriptions(&self) -> String {
        let all = self.wallet.wallet().subscriptions();
        if all.is_empty() {
            return "No subscriptions yet.".to_owned();
        }
        let line = |known: &Subscription| {
            let state = if known.is_open() { "open" } else { "closed" };
            let amount = amount(known.amount, &known.currency);
            format!("  {}  {amount} {} ({state})", known.id, known.recurrence.calendar)
        };
        all.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Closes the subscription with this id, else the latest that is open.
    fn close(&self, id: Option<&str>) -> String {
        let latest = || {
            let all = self.wallet.wallet().subscriptions();
            all.into_iter().rfind(Subscription::is_open).map(|known| known.id)
        };
        match id.map(str::to_owned).or_else(latest) {
            Some(id) => self.wallet.close(&id),
            None => "No open subscription.".to_owned(),
        }
    }
}
