//! The user's wallet, driven from the terminal.

use std::path::Path;
use std::time::Duration;

use usher_protocol::handshake_url::HandshakeUrl;
use usher_sandbox::wallet::{FileError, Request, Wallet, WalletError, WalletFile};

/// How long to wait for the relay when a handshake URL is opened.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long one look for news takes; then the next begins.
const LOOK: Duration = Duration::from_secs(3600);

const HELP: &str = "The wallet takes:
  scan [url]        opens the handshake address shown above, or another one
  requests          lists what services asked
  approve [number]  says yes to the latest request, or to the one with this number
  decline [number]  says no
  help              shows this
  quit              ends everything";

/// What comes of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// Something to say.
    Say(String),
    /// It is enough.
    Quit,
}

/// Takes commands for a wallet.
pub(super) struct Prompt<'a> {
    wallet: &'a Wallet,
    /// Where the services that the wallet knows are kept, for next time and for `usher wallet` in another terminal.
    file: &'a Path,
    handshake_url: &'a str,
    auto_approve: bool,
}

impl<'a> Prompt<'a> {
    /// A prompt for this wallet; `scan` opens `handshake_url`.
    pub(super) fn new(wallet: &'a Wallet, file: &'a Path, handshake_url: &'a str, auto_approve: bool) -> Self {
        Self { wallet, file, handshake_url, auto_approve }
    }

    /// Does what a line says.
    pub(super) async fn take(&self, line: &str) -> Reply {
        let mut words = line.split_whitespace();
        let (command, argument) = (words.next().unwrap_or_default(), words.next());
        Reply::Say(match command {
            "" => String::new(),
            "scan" | "open" => self.scan(argument.unwrap_or(self.handshake_url)).await,
            "requests" | "list" => self.requests(),
            "approve" | "yes" => self.answer(argument, "approved", |request| self.wallet.approve(request).map(drop)),
            "decline" | "no" => {
                self.answer(argument, "declined", |request| self.wallet.decline(request, None).map(drop))
            }
            "help" | "?" => HELP.to_owned(),
            "quit" | "exit" => return Reply::Quit,
            _ => "No such command; help lists those there are.".to_owned(),
        })
    }

    /// Waits for a request, and tells of it. Cancelling it loses none.
    pub(super) async fn news(&self) -> String {
        loop {
            if let Ok(request) = self.wallet.next_request(LOOK).await {
                let number =
                    self.wallet.requests().iter().position(|known| same(known, &request)).map_or(0, |at| at + 1);
                let title = request.asked.title();
                let how = if self.auto_approve { "approved by itself." } else { "Type  approve  or  decline ." };
                return format!("The wallet is asked ({number}): {title}. {how}");
            }
        }
    }

    async fn scan(&self, url: &str) -> String {
        let url: HandshakeUrl = match url.parse() {
            Ok(url) => url,
            Err(error) => return format!("Not opened: {error}."),
        };
        match self.wallet.open(&url, PATIENCE).await {
            Err(error) => format!("Not opened: {error}."),
            Ok(_) => match self.remember() {
                Ok(()) => "The wallet introduced itself to the service.".to_owned(),
                Err(error) => format!("The wallet introduced itself to the service, but {error}."),
            },
        }
    }

    /// Writes down whom the wallet knows. Read anew each time: another terminal may have written meanwhile.
    fn remember(&self) -> Result<(), FileError> {
        let mut file = WalletFile::load(self.file)?;
        file.services = self.wallet.services();
        file.save()
    }

    fn requests(&self) -> String {
        let requests = self.wallet.requests();
        if requests.is_empty() {
            return "Nothing was asked yet.".to_owned();
        }
        let line = |(index, request): (usize, &Request)| {
            let state = if request.answers == 0 { "not answered" } else { "answered" };
            format!("  {}  {} ({state})", index + 1, request.asked.title())
        };
        requests.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Answers the request with this number, else the latest that is not answered.
    fn answer(&self, number: Option<&str>, done: &str, answer: impl Fn(&Request) -> Result<(), WalletError>) -> String {
        let requests = self.wallet.requests();
        let request = match number {
            Some(number) => number.parse::<usize>().ok().and_then(|number| requests.get(number.checked_sub(1)?)),
            None => requests.iter().rev().find(|request| request.answers == 0),
        };
        match request {
            None => "There is no such request; requests lists those there are.".to_owned(),
            Some(request) => match answer(request) {
                Ok(()) => format!("The wallet {done} it."),
                Err(error) => format!("Not answered: {error}."),
            },
        }
    }
}

fn same(one: &Request, other: &Request) -> bool {
    one.id == other.id && one.from == other.from
}
