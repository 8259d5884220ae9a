//! Commands that do one thing and exit.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use usher_protocol::handshake_url::{HandshakeUrl, MAX_URL_BYTES};
use usher_protocol::relay_url::is_relay_url;
use usher_sandbox::wallet::{
    DeliveryStatus, DeviceTerms, Identity, Opened, Policy, Request, RequestContent, SavedRequest, Wallet, WalletFile,
};

use super::console::Console;
use super::respond::Reply;
use super::{CliError, display};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait for a relay to confirm an event; some never do.
const CONFIRM: Duration = Duration::from_secs(3);

/// How often to check whether another program has saved a request in the file.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Silence after which `requests` ends.
const QUIET: Duration = Duration::from_secs(10);

/// How long to wait for a newer request before the only open one is answered.
const NEWER: Duration = Duration::from_secs(1);

pub(super) struct OneShot<'a> {
    pub(super) file: &'a Path,
    pub(super) console: &'a mut Console,
}

impl OneShot<'_> {
    pub(super) fn new_wallet(
        self,
        relays: Vec<String>,
        device_of: Option<&Path>,
        name: String,
    ) -> Result<(), CliError> {
        if let Some(relay) = relays.iter().find(|relay| !is_relay_url(relay)) {
            return Err(CliError::NotARelay(relay.clone()));
        }
        let (identity, inherited) = match device_of {
            None => (Identity::generate(), Vec::new()),
            Some(main) => {
                let main = WalletFile::load(main)?;
                if main.identity.proof().is_some() {
                    return Err(CliError::NotTheMainKey);
                }
                // A device listens at its user's relays.
                let services = main.services.iter().flat_map(|service| service.relays.clone());
                let inherited: Vec<String> = main.relays.iter().cloned().chain(services).collect();
                (main.identity.device(DeviceTerms::unlimited(&name))?, inherited)
            }
        };
        let mut relays = if relays.is_empty() { inherited } else { relays };
        let mut seen = HashSet::new();
        relays.retain(|relay| seen.insert(relay.clone()));
        let file = WalletFile::create(self.file, identity, relays)?;
        Ok(self.console.say(display::wallet(&file), &display::wallet_json(&file))?)
    }

    pub(super) fn show(self) -> Result<(), CliError> {
        let file = WalletFile::load(self.file)?;
        Ok(self.console.say(display::wallet(&file), &display::wallet_json(&file))?)
    }

    pub(super) async fn open(mut self, url: &str) -> Result<(), CliError> {
        let (wallet, mut file) = self.start().await?;
        self.introduce(&wallet, &mut file, url).await?;
        wallet.stop().await;
        Ok(())
    }

    pub(super) async fn login(mut self, url: &str, wait: Duration) -> Result<(), CliError> {
        let (wallet, mut file) = self.start().await?;
        let opened = self.introduce(&wallet, &mut file, url).await?;
        if opened.no_request {
            self.console.hint("the service requests no authentication")?;
            wallet.stop().await;
            return Ok(());
        }
        self.say_waiting("the authentication request", wait)?;
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let request = wallet.next_request(left).await.map_err(|_| CliError::NoRequest(wait))?;
            self.show_request(&wallet, &request).await?;
            let asked_by_it = request.service == Some(opened.service.main_key);
            if asked_by_it && matches!(request.content, RequestContent::Authentication(_)) {
                self.give(&wallet, &mut file, &request, &Reply::Approve { amount: None }).await?;
                break;
            }
            file.update(|file| file.remember(&request, None))?;
        }
        wallet.stop().await;
        Ok(())
    }

    pub(super) async fn requests(mut self, wait: Duration) -> Result<(), CliError> {
        let (wallet, mut file) = self.start().await?;
        let mut shown = HashSet::new();
        for request in file.open_requests(&wallet) {
            self.show_request(&wallet, &request).await?;
            shown.insert((request.from, request.id));
        }
        listens(&file)?;
        self.say_waiting("requests", wait)?;
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = if shown.is_empty() { left } else { left.min(QUIET) };
            let Some(request) = next_request(&wallet, &mut file, wait).await? else { break };
            let key = (request.from, request.id.clone());
            if request.content.is_request() && (shown.contains(&key) || file.verdict(&wallet, &request).is_some()) {
                continue;
            }
            shown.insert(key);
            self.show_request(&wallet, &request).await?;
            file.update(|file| {
                file.remember(&request, None);
                file.take_over(&wallet);
            })?;
        }
        let outcome = if !shown.is_empty() {
            Ok(())
        } else {
            self.reach(&wallet, &file).await.and(Err(CliError::NoRequest(wait)))
        };
        wallet.stop().await;
        outcome
    }

    pub(super) async fn answer(mut self, id: Option<String>, answer: Reply, wait: Duration) -> Result<(), CliError> {
        let (wallet, mut file) = self.start().await?;
        let mut open = pick(&file.open_requests(&wallet), id.as_deref())?;
        if open.is_some() && id.is_none() {
            // The intended one may still be on its way.
            self.reach(&wallet, &file).await?;
            let deadline = Instant::now() + NEWER;
            while let Some(newer) =
                next_request(&wallet, &mut file, deadline.saturating_duration_since(Instant::now())).await?
            {
                file.update(|file| file.remember(&newer, None))?;
            }
            open = pick(&file.open_requests(&wallet), None)?;
        }
        let request = match open {
            Some(request) => request,
            None => {
                listens(&file)?;
                self.say_waiting("a request", wait)?;
                match wait_for(&wallet, &mut file, id.as_deref(), wait).await {
                    Ok(request) => request,
                    // An unreachable relay is the more helpful error.
                    Err(none) => return self.reach(&wallet, &file).await.and(Err(none)),
                }
            }
        };
        self.reach(&wallet, &file).await?;
        self.give(&wallet, &mut file, &request, &answer).await?;
        wallet.stop().await;
        Ok(())
    }

    /// Starts the file's wallet. It replies to nothing automatically, but accepts tickets from known services.
    pub(super) async fn start(&self) -> Result<(Wallet, WalletFile), CliError> {
        let mut file = WalletFile::load(self.file)?;
        let wallet = Wallet::start(file.options(Policy::silent().receiving_tickets())).await;
        let now = wallet.now();
        // Expired requests are dropped.
        let is_open = |saved: &SavedRequest| {
            wallet.read(&saved.event).is_some_and(|request| match request.content {
                RequestContent::Token(_) => !saved.answered,
                asked => asked.expires_at().is_some_and(|at| at > now),
            })
        };
        if !file.requests.iter().all(is_open) {
            file.update(|file| file.requests.retain(is_open))?;
        }
        Ok((wallet, file))
    }

    async fn introduce(&mut self, wallet: &Wallet, file: &mut WalletFile, url: &str) -> Result<Opened, CliError> {
        let opened = wallet.open(&read_url(url)?, CONNECT_TIMEOUT).await?;
        let settled = settle(wallet).await?;
        file.update(|file| file.take_over(wallet))?;
        let service = &opened.service;
        let text = format!(
            "introduced to {} via {}{}",
            display::npub(&service.main_key),
            service.relays.join(", "),
            display::settled(settled)
        );
        let json = json!({
            "event": "opened",
            "service": service.main_key.to_hex(),
            "relays": service.relays,
            "no_request": opened.no_request,
            "confirmed": settled == DeliveryStatus::Accepted,
        });
        self.console.say(text, &json)?;
        Ok(opened)
    }

    pub(super) async fn reach(&self, wallet: &Wallet, file: &WalletFile) -> Result<(), CliError> {
        let relays: Vec<String> =
            file.relays.iter().chain(file.services.iter().flat_map(|service| &service.relays)).cloned().collect();
        if relays.is_empty() {
            return Err(CliError::NowhereToListen);
        }
        Ok(wallet.wait_for_relay(&relays, CONNECT_TIMEOUT).await?)
    }

    pub(super) async fn give(
        &mut self,
        wallet: &Wallet,
        file: &mut WalletFile,
        request: &Request,
        answer: &Reply,
    ) -> Result<(), CliError> {
        let given = answer.give(wallet, request).await;
        let settled = settle(wallet).await;
        // Also after an error: a failed payment was reported, and can be approved again.
        file.update(|file| {
            file.take_over(wallet);
            file.remember(request, given.as_ref().ok().map(|given| given.verdict()));
        })?;
        let (given, settled) = (given?, settled?);
        Ok(self.console.say(given.text(display::settled(settled)), &given.json(settled == DeliveryStatus::Accepted))?)
    }

    /// Reports on standard error that the command waits, so that it does not appear to hang.
    fn say_waiting(&mut self, what: &str, wait: Duration) -> Result<(), CliError> {
        let seconds = wait.as_secs_f64();
        Ok(self.console.print_notice(format_args!("waiting up to {seconds} s for {what}; press Ctrl-C to stop"))?)
    }

    async fn show_request(&mut self, wallet: &Wallet, request: &Request) -> Result<(), CliError> {
        let name = wallet.service_name(request).await;
        let text = display::request(request, name.as_deref(), wallet.now());
        Ok(self.console.say(text, &display::request_json(request, name.as_deref()))?)
    }
}

/// The URL in the argument, or from standard input for `-`.
pub(super) fn read_url(url: &str) -> Result<HandshakeUrl, CliError> {
    if url != "-" {
        return Ok(url.trim().parse()?);
    }
    let mut text = String::new();
    std::io::stdin().take(MAX_URL_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text.trim().parse()?)
}

pub(super) async fn settle(wallet: &Wallet) -> Result<DeliveryStatus, CliError> {
    match wallet.flush(CONFIRM).await {
        DeliveryStatus::Failed => Err(CliError::NotSent),
        settled => Ok(settled),
    }
}

/// The next request, received here or saved in the file by another wallet process.
async fn next_request(wallet: &Wallet, file: &mut WalletFile, wait: Duration) -> Result<Option<Request>, CliError> {
    let deadline = Instant::now() + wait;
    loop {
        if let Some(request) = file.next_saved(wallet)? {
            return Ok(Some(request));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if let Ok(request) = wallet.next_request(left.min(POLL_INTERVAL)).await {
            return Ok(Some(request));
        }
        if left.is_zero() {
            return Ok(None);
        }
    }
}

fn listens(file: &WalletFile) -> Result<(), CliError> {
    if file.relays.is_empty() && file.services.iter().all(|service| service.relays.is_empty()) {
        return Err(CliError::NowhereToListen);
    }
    Ok(())
}

/// The request whose id starts with `id`; without an id, the only request.
pub(super) fn pick(requests: &[Request], id: Option<&str>) -> Result<Option<Request>, CliError> {
    let mut fitting = requests.iter().filter(|request| id.is_none_or(|id| request.id.starts_with(id)));
    let (first, second) = (fitting.next(), fitting.next());
    match (first, second) {
        (Some(one), Some(other)) => {
            let named = |request: &Request| format!("{} ({})", display::short(request), request.content.summary());
            let ids = [one, other].into_iter().chain(fitting).map(named).collect();
            // One's complete id may be a prefix of another's.
            let exact = requests.iter().find(|request| id == Some(request.id.as_str()));
            exact.map_or(Err(CliError::Ambiguous(ids)), |request| Ok(Some(request.clone())))
        }
        (first, _) => Ok(first.cloned()),
    }
}

async fn wait_for(
    wallet: &Wallet,
    file: &mut WalletFile,
    id: Option<&str>,
    wait: Duration,
) -> Result<Request, CliError> {
    let deadline = Instant::now() + wait;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Some(request) = next_request(wallet, file, left).await? else {
            return Err(
                id.map_or(CliError::NoRequest(wait), |id| CliError::NoSuchRequest { id: id.to_owned(), waited: wait })
            );
        };
        let is_meant = id.is_none_or(|id| request.id.starts_with(id)) && request.content.is_request();
        // A request without a reply comes again.
        if is_meant && file.verdict(wallet, &request).is_none() {
            return Ok(request);
        }
    }
}
