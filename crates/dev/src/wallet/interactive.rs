//! `usher wallet run`: a wallet that stays connected and takes commands.

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use usher_sandbox::wallet::{Policy, Reaction, Request, Tickets, TicketsError, Wallet, WalletFile};

use super::account_commands::find_subscription;
use super::console::Console;
use super::one_shot::{pick, read_url};
use super::respond::Reply;
use super::ticket_commands::{give_ticket, show_tickets, take_back, take_ticket, ticket_amount};
use super::{CliError, display};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const EVER: Duration = Duration::from_secs(86_400 * 365);

const HELP: &str = "approve [ID] · decline [ID] [REASON] · fail [ID] [REASON] · requests · open URL · balance · \
    tickets · give AMOUNT [UNIT [MINT]] · take TOKEN · take-back ID · subscriptions · close ID [REASON] · help · quit";

pub(super) struct InteractiveWallet<'a> {
    wallet: Wallet,
    file: WalletFile,
    console: &'a mut Console,
    policy: Policy,
}

impl<'a> InteractiveWallet<'a> {
    pub(super) async fn start(file: &Path, console: &'a mut Console, policy: Policy) -> Result<Self, CliError> {
        let file = WalletFile::load(file)?;
        let wallet = Wallet::start(file.options(policy.clone()).saving_in(file.path())).await;
        console.say(display::wallet(&file), &display::wallet_json(&file))?;
        if console.is_interactive() {
            console.hint(HELP)?;
        }
        Ok(Self { wallet, file, console, policy })
    }

    /// Runs until `quit`. It continues after the end of the input, which scripts may lack.
    pub(super) async fn run(mut self) -> Result<(), CliError> {
        let mut listening = true;
        loop {
            tokio::select! {
                line = self.console.line(), if listening => match line {
                    None => listening = false,
                    Some(line) => match self.execute(line.trim()).await {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(CliError::Io(error)) => return Err(error.into()),
                        Err(error) => self.show_error(&error)?,
                    },
                },
                request = self.wallet.next_request(EVER) => {
                    if let Ok(request) = request {
                        self.show(&request).await?;
                    }
                }
            }
        }
        self.wallet.stop().await;
        Ok(())
    }

    async fn show(&mut self, request: &Request) -> Result<(), CliError> {
        let name = self.wallet.service_name(request).await;
        let text = display::request(request, name.as_deref(), self.wallet.now());
        self.console.say(text, &display::request_json(request, name.as_deref()))?;
        if !request.content.is_request() {
            return self.keep();
        }
        if self.policy.auto_pay && self.wallet.is_agreed(request) {
            return Ok(self.console.hint("  paying, as agreed")?);
        }
        let by_itself = self.policy.reaction.as_ref().filter(|_| self.policy.strangers || request.service.is_some());
        match by_itself {
            Some(reaction) => {
                let word = if matches!(reaction, Reaction::Approve) { "approving" } else { "declining" };
                self.console.hint(format_args!("  {word} in {:?}", self.policy.delay))?;
            }
            None if self.console.is_interactive() => {
                self.console.hint(format_args!("  approve {0} · decline {0}", display::short(request)))?;
            }
            None => {}
        }
        Ok(())
    }

    async fn execute(&mut self, line: &str) -> Result<bool, CliError> {
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match command {
            "" => {}
            "approve" | "a" => {
                let id = (!rest.is_empty()).then_some(rest);
                if let Some(request) = self.find(id)? {
                    self.give(&request, &Reply::Approve { amount: None }).await?;
                }
            }
            "decline" | "d" | "fail" | "f" => {
                let (id, reason) = split(rest);
                if let Some(request) = self.find((!id.is_empty()).then_some(id))? {
                    let answer = if command.starts_with('d') { Reply::Decline(reason) } else { Reply::Fail(reason) };
                    self.give(&request, &answer).await?;
                }
            }
            "balance" | "b" => {
                let balance = self.wallet.payment_source().ok_or(CliError::NoPaymentSource)?.balance().await?;
                self.console.say(display::balance(balance), &display::balance_json(balance))?;
            }
            "tickets" | "t" => {
                let held = self.tickets()?;
                show_tickets(self.console, &held).await?;
            }
            "give" | "g" => {
                let (held, what) = (self.tickets()?, ticket_amount(rest)?);
                give_ticket(self.console, &held, &what).await?;
            }
            "take" => {
                let held = self.tickets()?;
                take_ticket(self.console, &held, rest).await?;
            }
            "take-back" => {
                let held = self.tickets()?;
                take_back(self.console, &held, rest).await?;
            }
            "subscriptions" | "s" => {
                for subscription in self.wallet.subscriptions() {
                    self.console
                        .say(display::subscription(&subscription), &display::subscription_json(&subscription))?;
                }
            }
            "close" | "c" => {
                let (id, reason) = split(rest);
                let id = find_subscription(&self.wallet, id)?.id;
                self.wallet.close(&id, reason.as_deref())?;
                self.keep()?;
                self.console.say(format_args!("closed {id}"), &json!({"event": "closed", "subscription_id": id}))?;
            }
            "requests" | "r" => {
                // Some may have been answered in another terminal.
                let file = WalletFile::load(self.file.path())?;
                let mut open = self.open_requests();
                open.retain(|request| file.verdict(&self.wallet, request).is_none());
                for request in open {
                    self.show(&request).await?;
                }
            }
            "open" | "o" => self.open(rest).await?,
            "quit" | "q" | "exit" => return Ok(false),
            _ => self.console.hint(HELP)?,
        }
        Ok(true)
    }

    async fn open(&mut self, url: &str) -> Result<(), CliError> {
        let opened = self.wallet.open(&read_url(url)?, CONNECT_TIMEOUT).await?;
        self.keep()?;
        let service = opened.service.main_key;
        let json = json!({"event": "opened", "service": service.to_hex(), "no_request": opened.no_request});
        Ok(self.console.say(format_args!("introduced to {}", display::npub(&service)), &json)?)
    }

    /// Answers a request and waits until that is done. Shows nothing else meanwhile; a payment takes at most a minute.
    async fn give(&mut self, request: &Request, answer: &Reply) -> Result<(), CliError> {
        if let Some(verdict) = WalletFile::load(self.file.path())?.verdict(&self.wallet, request) {
            return Err(CliError::AlreadyAnswered(verdict));
        }
        let given = answer.give(&self.wallet, request).await;
        let verdict = given.as_ref().ok().map(|given| given.verdict());
        self.keep_with(|file| file.remember(request, verdict))?;
        let given = given?;
        Ok(self.console.say(given.text(""), &given.json(false))?)
    }

    /// Saves the wallet's state. Reads the file again first, because another terminal may have changed it.
    fn keep(&mut self) -> Result<(), CliError> {
        self.keep_with(|_| {})
    }

    /// As [`keep`](Self::keep), with an additional change of the file.
    fn keep_with(&mut self, also: impl FnOnce(&mut WalletFile)) -> Result<(), CliError> {
        let wallet = &self.wallet;
        Ok(self.file.update(|file| {
            file.take_over(wallet);
            also(file);
        })?)
    }

    fn tickets(&self) -> Result<Tickets, CliError> {
        self.wallet.tickets().cloned().ok_or(CliError::Tickets(TicketsError::NoTickets))
    }

    fn open_requests(&self) -> Vec<Request> {
        let now = self.wallet.now();
        let mut requests = self.wallet.requests();
        requests.retain(|r| {
            (r.answers == 0 || r.failed) && r.content.is_request() && r.content.expires_at().is_none_or(|at| at > now)
        });
        requests
    }

    fn find(&mut self, id: Option<&str>) -> Result<Option<Request>, CliError> {
        let found = pick(&self.open_requests(), id)?;
        if found.is_none() {
            self.console.say("no such request", &json!({"event": "error", "message": "no such request"}))?;
        }
        Ok(found)
    }

    fn show_error(&mut self, error: &CliError) -> Result<(), CliError> {
        let json = json!({"event": "error", "message": error.to_string()});
        Ok(self.console.say(error, &json)?)
    }
}

fn split(text: &str) -> (&str, Option<String>) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))
}
