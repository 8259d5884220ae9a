//! The user's wallet, controlled from the terminal.

use std::path::Path;
use std::time::Duration;

use usher_protocol::handshake_url::HandshakeUrl;
use usher_sandbox::amounts::{self, amount, millisats};
use usher_sandbox::wallet::{FileError, Request, Subscription, Verdict, Wallet, WalletFile};

use super::sample_pages::Pages;
use super::setup::Setup;
use super::ticket_commands;
use super::tour::{self, tour};
use crate::wallet::{NOTHING_SENT, Reply as Answer, SentReply};

/// How long to wait for the relay after a handshake URL is opened.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The duration of one wait for requests, before the next begins.
const WAIT: Duration = Duration::from_secs(3600);

const HELP: &str = "Commands of the wallet:
  scan [url]        opens the handshake URL shown above, or another one
  requests          lists the requests of services
  approve [number]  approves the latest request, or the one with this number
  decline [number]  declines a request
  fail [number]     reports that a payment failed; approve can still pay it
  pay invoice       pays an invoice, such as one that a payment page shows
  pages             starts another login, payment and age check, and prints their pages
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
    wallet: &'a Wallet,
    /// The file of the wallet's services, for the next start and for `usher wallet` in another terminal.
    file: &'a Path,
    setup: &'a Setup<'a>,
}

impl<'a> Prompt<'a> {
    pub(super) const fn new(wallet: &'a Wallet, setup: &'a Setup<'a>) -> Self {
        Self { wallet, file: setup.wallet_file, setup }
    }

    pub(super) async fn execute(&self, line: &str) -> Reply {
        let mut words = line.split_whitespace();
        let (command, argument) = (words.next().unwrap_or_default(), words.next());
        Reply::Say(match command {
            "" => String::new(),
            "scan" | "open" => self.scan(argument.unwrap_or(&self.setup.handshake.url)).await,
            "requests" | "list" => self.requests(),
            "approve" | "yes" => self.answer(argument, &Answer::Approve { amount: None }).await,
            "decline" | "no" => self.answer(argument, &Answer::Decline(None)).await,
            "fail" => self.answer(argument, &Answer::Fail(None)).await,
            "pay" => self.pay(argument).await,
            "pages" => self.pages().await,
            "balance" => self.balance().await,
            "tickets" => ticket_commands::show(self.wallet).await,
            "give" => ticket_commands::give(self.wallet, argument, words.next(), words.next()).await,
            "take" => ticket_commands::take(self.wallet, argument).await,
            "take-back" => ticket_commands::take_back(self.wallet, argument).await,
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
        loop {
            if let Ok(request) = self.wallet.next_request(WAIT).await {
                let number =
                    self.wallet.requests().iter().position(|known| same(known, &request)).map_or(0, |at| at + 1);
                let asked = request.content.summary();
                if !request.content.is_request() {
                    return format!("Notice ({number}): {asked}.");
                }
                let how = match () {
                    () if self.wallet.is_agreed(&request) => "Paid automatically, as agreed.",
                    () if self.setup.auto_approve => "Approved automatically.",
                    () => "Type  approve  or  decline.",
                };
                return format!("Request ({number}): {asked}. {how}");
            }
        }
    }

    async fn scan(&self, url: &str) -> String {
        let url: HandshakeUrl = match url.parse() {
            Ok(url) => url,
            Err(error) => return format!("Not opened: {error}."),
        };
        match self.wallet.open(&url, TIMEOUT).await {
            Err(error) => format!("Not opened: {error}."),
            Ok(_) => match self.remember() {
                Ok(()) => "The wallet introduced itself to the service.".to_owned(),
                Err(error) => format!("The wallet introduced itself to the service, but {error}."),
            },
        }
    }

    /// Saves the wallet's services and subscriptions. The file is read again first: another terminal may have changed it.
    fn remember(&self) -> Result<(), FileError> {
        WalletFile::load(self.file)?.update(|file| file.take_over(self.wallet))
    }

    /// As [`remember`](Self::remember), with the verdict on a request.
    fn remember_answer(&self, request: &Request, verdict: Option<Verdict>) -> Result<(), FileError> {
        WalletFile::load(self.file)?.update(|file| {
            file.take_over(self.wallet);
            file.remember(request, verdict);
        })
    }

    fn requests(&self) -> String {
        let requests = self.wallet.requests();
        if requests.is_empty() {
            return "No requests yet.".to_owned();
        }
        let file = WalletFile::load(self.file).ok();
        let line = |(index, request): (usize, &Request)| {
            let state = match (self.verdict(file.as_ref(), request), request.answers) {
                (Some(verdict), _) => verdict.to_string(),
                (None, 0) => "pending".to_owned(),
                (None, _) if request.failed => "failed".to_owned(),
                (None, _) => "answered".to_owned(),
            };
            format!("  {}  {} ({state})", index + 1, request.content.summary())
        };
        requests.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }

    /// The final verdict on a request, given here or in another terminal.
    fn verdict(&self, file: Option<&WalletFile>, request: &Request) -> Option<Verdict> {
        file?.verdict(self.wallet, request)
    }

    /// Replies to the request with this number, or to the latest pending one.
    ///
    /// The service accepts only the first reply, so a later one is not sent, and would be shown wrongly.
    async fn answer(&self, number: Option<&str>, answer: &Answer) -> String {
        let requests = self.wallet.requests();
        let file = WalletFile::load(self.file).ok();
        let verdict = |request: &Request| self.verdict(file.as_ref(), request);
        let request = match number {
            Some(number) => number.parse::<usize>().ok().and_then(|number| requests.get(number.checked_sub(1)?)),
            None => {
                let open = || requests.iter().rev().filter(|request| is_open(request));
                // If all were answered in another terminal, the latest is selected.
                open().find(|request| verdict(request).is_none()).or_else(|| open().next())
            }
        };
        let Some(request) = request else {
            return "No such request; type requests for the list.".to_owned();
        };
        if let Some(verdict) = verdict(request) {
            return format!("Nothing was sent: {} was already {verdict}.", request.content.summary());
        }
        let given = answer.give(self.wallet, request).await;
        let remembered = self.remember_answer(request, given.as_ref().ok().map(SentReply::verdict));
        match (given.map(|given| describe(&given)), remembered) {
            (Err(error), _) => format!("Failed: {error}."),
            (Ok(said), Ok(())) => said,
            (Ok(said), Err(error)) => format!("{said} But {error}."),
        }
    }

    async fn pay(&self, invoice: Option<&str>) -> String {
        let Some(invoice) = invoice else { return "Pay what? Type: pay invoice".to_owned() };
        let Some(payment_source) = self.wallet.payment_source() else {
            return "The user has no Lightning account.".to_owned();
        };
        match payment_source.pay(invoice, None).await {
            Ok(paid) => format!("The wallet paid {}.", millisats(paid.amount)),
            Err(error) => format!("Not paid: {error}."),
        }
    }

    async fn pages(&self) -> String {
        match Pages::start(self.setup.engine, tour::amount(self.setup.embedded)).await {
            Ok(pages) => pages.to_string(),
            Err(error) => format!("Not started: {error}."),
        }
    }

    async fn balance(&self) -> String {
        let Some(payment_source) = self.wallet.payment_source() else {
            return "The user has no Lightning account.".to_owned();
        };
        match payment_source.balance().await {
            Ok(balance) => format!("The balance is {}.", millisats(balance)),
            Err(error) => format!("The balance is unknown: {error}."),
        }
    }

    fn subscriptions(&self) -> String {
        let all = self.wallet.subscriptions();
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
        let latest = || self.wallet.subscriptions().into_iter().rfind(Subscription::is_open).map(|known| known.id);
        let Some(id) = id.map(str::to_owned).or_else(latest) else {
            return "No open subscription.".to_owned();
        };
        match self.wallet.close(&id, None) {
            Err(error) => format!("Not closed: {error}."),
            Ok(_) => match self.remember() {
                Ok(()) => "The wallet closed the subscription.".to_owned(),
                Err(error) => format!("The wallet closed the subscription, but {error}."),
            },
        }
    }
}

fn describe(given: &SentReply<'_>) -> String {
    let done = given.fulfilled();
    match given.verdict() {
        Verdict::Declined if done.event.is_none() => return format!("The wallet declined it{NOTHING_SENT}."),
        Verdict::Declined => return "The wallet declined it.".to_owned(),
        Verdict::Failed => return "The wallet reported the payment as failed.".to_owned(),
        Verdict::InsufficientFunds => return "The wallet does not hold enough, and replied so.".to_owned(),
        Verdict::Approved => {}
    }
    if let Some(paid) = &done.paid {
        format!("The wallet approved it and paid {}.", millisats(paid.amount))
    } else if done.invoice.is_some() {
        "The wallet approved it and sent an invoice.".to_owned()
    } else if let Some(subscription) = &done.subscription {
        format!("The wallet approved it: subscription {}.", subscription.id)
    } else if let Some(given) = &done.given {
        format!("The wallet approved it and gave {}.", amounts::tickets(given.amount, &given.unit, &given.mint_url))
    } else if let Some(received) = &done.received {
        format!("The wallet took {}.", amounts::tickets(received.amount, &received.unit, &received.mint_url))
    } else {
        "The wallet approved it.".to_owned()
    }
}

/// Whether a reply is missing, or the payment can be retried.
fn is_open(request: &Request) -> bool {
    request.content.is_request() && (request.answers == 0 || request.failed)
}

fn same(one: &Request, other: &Request) -> bool {
    one.id == other.id && one.from == other.from
}
