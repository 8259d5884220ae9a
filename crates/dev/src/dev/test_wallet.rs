//! The user's wallet: one for the terminal, for the page that is a phone, and for the buttons of the hosted pages.
//!
//! Everything that answers a service goes through [`TestWallet::reply`], one at a time, and is kept in the wallet's file,
//! where `usher wallet` in another terminal reads it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::handshake_url::HandshakeUrl;
use usher_sandbox::amounts::{self, sats};
use usher_sandbox::wallet::{FileError, Request, RequestContent, Verdict, Wallet, WalletError, WalletFile};

use crate::wallet::{NOTHING_SENT, Reply, SentReply};

/// How long to wait for the relay after a handshake URL is opened, and for the request that follows.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often the wallet looks whether the request of a login has come.
const LOOK: Duration = Duration::from_millis(200);

pub(super) struct TestWallet {
    wallet: Wallet,
    file: PathBuf,
    /// One reply at a time: of two clicks, the second finds the verdict.
    turn: tokio::sync::Mutex<()>,
    /// What is being done about which request.
    underway: Mutex<Vec<(Request, &'static str)>>,
    /// The last outcome that is not visible elsewhere.
    notice: Mutex<String>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It asks for nothing.
    Notice,
    Pending,
    Underway(&'static str),
    /// A payment failed; it can be tried again.
    Failed,
    /// By the wallet itself, or in a way that the file does not have.
    Answered,
    Done(Verdict),
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Notice => "notice",
            Self::Pending => "pending",
            Self::Underway(what) => what,
            Self::Failed => "failed",
            Self::Answered => "answered",
            Self::Done(verdict) => return verdict.fmt(f),
        })
    }
}

impl Progress {
    /// Whether the user can reply.
    pub(super) const fn is_open(self) -> bool {
        matches!(self, Self::Pending | Self::Failed)
    }
}

impl TestWallet {
    pub(super) fn new(wallet: Wallet, file: &Path) -> Arc<Self> {
        Arc::new(Self {
            wallet,
            file: file.to_owned(),
            turn: tokio::sync::Mutex::default(),
            underway: Mutex::default(),
            notice: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    pub(super) const fn wallet(&self) -> &Wallet {
        &self.wallet
    }

    /// What the user reads about the last action, until the next.
    pub(super) fn notice(&self) -> String {
        self.notice.lock().clone()
    }

    fn say(&self, text: String) {
        *self.notice.lock() = text;
    }

    /// Changes when anything may have changed that the user sees.
    pub(super) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for request in self.wallet.requests() {
            (&request.id, request.answers, request.failed, request.content.title()).hash(&mut hasher);
        }
        for subscription in self.wallet.subscriptions() {
            (&subscription.id, subscription.payments, subscription.is_open()).hash(&mut hasher);
        }
        self.wallet
            .payment_source()
            .and_then(|source| source.account())
            .map(|account| account.balance())
            .hash(&mut hasher);
        for (request, what) in &*self.underway.lock() {
            (&request.id, what).hash(&mut hasher);
        }
        self.notice.lock().hash(&mut hasher);
        for file in [self.file.clone(), self.file.with_extension("tickets.db")] {
            let known = file.metadata().ok();
            known.map(|known| (known.len(), known.modified().ok())).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The last `most` requests and what became of them, oldest first.
    pub(super) fn requests(&self, most: usize) -> Vec<(Request, Progress)> {
        let file = WalletFile::load(&self.file).ok();
        let mut requests = self.wallet.requests();
        requests.drain(..requests.len().saturating_sub(most));
        let underway = self.underway.lock().clone();
        let with_progress = |request: Request| {
            let verdict = || file.as_ref()?.verdict(&self.wallet, &request);
            let progress = match underway.iter().find(|(other, _)| is_same(other, &request)) {
                _ if !request.content.is_request() => Progress::Notice,
                Some((_, what)) => Progress::Underway(what),
                None => match (verdict(), request.answers) {
                    (Some(verdict), _) => Progress::Done(verdict),
                    (None, 0) if request.is_automatic => Progress::Underway("answered automatically"),
                    (None, 0) => Progress::Pending,
                    (None, _) if request.failed => Progress::Failed,
                    (None, _) => Progress::Answered,
                },
            };
            (request, progress)
        };
        requests.into_iter().map(with_progress).collect()
    }

    /// Opens a handshake URL, as by scanning its code.
    pub(super) async fn open(&self, url: &str) -> String {
        let opened = match url.parse::<HandshakeUrl>() {
            Ok(url) => self.wallet.open(&url, TIMEOUT).await.map(drop).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match (opened, self.remember()) {
            (Err(error), _) => format!("Not opened: {error}."),
            (Ok(()), Ok(())) => "The wallet introduced itself to the service.".to_owned(),
            (Ok(()), Err(error)) => format!("The wallet introduced itself to the service, but {error}."),
        }
    }

    /// Opens the handshake URL of a login, and replies to the request that follows.
    pub(super) async fn log_in(&self, url: &str, reply: &Reply) -> String {
        let known = self.wallet.requests();
        let said = self.open(url).await;
        let asked = async {
            loop {
                let requests = self.wallet.requests();
                let is_new = |request: &&Request| {
                    matches!(request.content, RequestContent::Authentication(_))
                        && !known.iter().any(|known| is_same(known, request))
                };
                if let Some(request) = requests.iter().rfind(is_new) {
                    return request.clone();
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        match tokio::time::timeout(TIMEOUT, asked).await {
            Ok(request) => self.reply(&request, reply).await,
            Err(_) => said,
        }
    }

    /// Saves the wallet's services and subscriptions. The file is read again first: another terminal may have changed it.
    fn remember(&self) -> Result<(), FileError> {
        WalletFile::load(&self.file)?.update(|file| file.take_over(&self.wallet))
    }

    /// Replies to a request. The service accepts only the first reply, so a later one is not sent, and would be shown
    /// wrongly.
    pub(super) async fn reply(&self, request: &Request, reply: &Reply) -> String {
        let _turn = self.turn.lock().await;
        let verdict = WalletFile::load(&self.file).ok().and_then(|file| file.verdict(&self.wallet, request));
        if let Some(verdict) = verdict {
            return format!("Nothing was sent: {} was already {verdict}.", request.content.summary());
        }
        let given = reply.give(&self.wallet, request).await;
        let remembered = self.remember_verdict(request, given.as_ref().ok().map(SentReply::verdict));
        match (given.map(|given| describe(&given)), remembered) {
            (Err(error), _) => format!("Failed: {error}."),
            (Ok(said), Ok(())) => said,
            (Ok(said), Err(error)) => format!("{said} But {error}."),
        }
    }

    /// As [`remember`](Self::remember), with the verdict on a request.
    fn remember_verdict(&self, request: &Request, verdict: Option<Verdict>) -> Result<(), FileError> {
        WalletFile::load(&self.file)?.update(|file| {
            file.take_over(&self.wallet);
            file.remember(request, verdict);
        })
    }

    /// Runs an action to its end, whoever waits for it, and keeps what it says as the notice.
    pub(super) fn act<F>(self: &Arc<Self>, action: impl FnOnce(Arc<Self>) -> F) -> JoinHandle<()>
    where
        F: Future<Output = String> + Send + 'static,
    {
        self.say(String::new());
        let (wallet, action) = (Arc::clone(self), action(Arc::clone(self)));
        self.tasks.spawn(async move {
            if let Some(said) = wallet.stop.run_until_cancelled(action).await {
                wallet.say(said);
            }
        })
    }

    /// Replies to a request and shows meanwhile that it does.
    pub(super) async fn reply_shown(&self, request: &Request, reply: &Reply) -> String {
        let _underway = self.underway(request, "under way");
        self.reply(request, reply).await
    }

    /// Pays the invoice of a request when the time of the payment is over, as a slow network would.
    pub(super) async fn pay_late(&self, invoice: &str, over_at: u64) -> String {
        let asked = self.requests_for(invoice);
        let _underway = asked.as_ref().map(|request| self.underway(request, "is paid late, when its time is over"));
        let Some(paid) = self.wallet.pay_late(invoice, over_at).await else { return no_account() };
        match (paid, &asked) {
            (Err(error), _) => format!("Not paid: {error}."),
            (Ok(paid), None) => format!("The wallet paid {} late.", sats(paid.amount)),
            (Ok(paid), Some(request)) => match self.remember_verdict(request, Some(Verdict::Approved)) {
                Ok(()) => format!("The wallet paid {} late.", sats(paid.amount)),
                Err(error) => format!("The wallet paid {} late, but {error}.", sats(paid.amount)),
            },
        }
    }

    pub(super) fn requests_for(&self, invoice: &str) -> Option<Request> {
        let asks =
            |request: &Request| matches!(&request.content, RequestContent::Payment(asked) if asked.invoice == invoice);
        let mut known = self.requests(usize::MAX).into_iter();
        known.rfind(|(request, progress)| asks(request) && progress.is_open()).map(|(request, _)| request)
    }

    pub(super) async fn pay(&self, invoice: &str) -> String {
        let Some(source) = self.wallet.payment_source() else { return no_account() };
        match source.pay(invoice, None).await {
            Ok(paid) => format!("The wallet paid {}.", sats(paid.amount)),
            Err(error) => format!("Not paid: {error}."),
        }
    }

    /// Closes a subscription.
    pub(super) fn close(&self, id: &str) -> String {
        match self.wallet.close(id, None).map_err(|error: WalletError| error.to_string()) {
            Err(error) => format!("Not closed: {error}."),
            Ok(_) => match self.remember() {
                Ok(()) => "The wallet closed the subscription.".to_owned(),
                Err(error) => format!("The wallet closed the subscription, but {error}."),
            },
        }
    }

    fn underway(&self, request: &Request, what: &'static str) -> Underway<'_> {
        self.underway.lock().push((request.clone(), what));
        Underway { all: &self.underway, request: request.clone() }
    }

    /// Waits; `None` when the wallet stops.
    pub(super) async fn sleep(&self, duration: Duration) -> Option<()> {
        self.stop.run_until_cancelled(tokio::time::sleep(duration)).await
    }

    pub(super) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.wallet.stop().await;
    }
}

/// While it is there, the request is shown as one about which something is done.
struct Underway<'a> {
    all: &'a Mutex<Vec<(Request, &'static str)>>,
    request: Request,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        if let Some(at) = all.iter().position(|(request, _)| is_same(request, &self.request)) {
            all.remove(at);
        }
    }
}

pub(super) fn no_account() -> String {
    "The user has no Lightning account.".to_owned()
}

pub(super) fn is_same(one: &Request, other: &Request) -> bool {
    one.id == other.id && one.from == other.from
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
        format!("The wallet approved it and paid {}.", sats(paid.amount))
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
