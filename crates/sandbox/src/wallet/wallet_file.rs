use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nostr::JsonUtil as _;
use serde::{Deserialize, Serialize};
use usher_protocol::keys::{KeyError, parse_secret_key};
use usher_protocol::subkey::SubkeyProof;
use usher_protocol::{Event, Keys};

use super::{
    Identity, KnownMint, KnownService, PaymentSource, Policy, Request, RequestContent, Secret, Subscription, Tickets,
    WalletOptions,
};
use crate::clock::{FolderClock, SharedClock};
use crate::private_file;

/// Largest file that is read, in bytes: 100 requests of 128 KiB, with room to spare.
const MAX_BYTES: u64 = 16 << 20;

/// Stored requests; the oldest is removed first.
const MAX_REQUESTS: usize = 100;

/// The stored state of a wallet. It has the secret key: only its owner can read it (0600); it is written atomically.
#[derive(Clone, Debug)]
pub struct WalletFile {
    path: PathBuf,
    /// The wallet's key.
    pub identity: Identity,
    /// The user's own relays.
    pub relays: Vec<String>,
    /// The services whose handshake URL was opened.
    pub services: Vec<KnownService>,
    /// The connection string of the user's Lightning account (NIP-47). A secret: whoever has it can spend.
    pub nwc: Option<Secret>,
    /// The mints that require a token.
    pub mints: Vec<KnownMint>,
    /// The subscriptions the user agreed to, oldest first.
    pub subscriptions: Vec<Subscription>,
    /// The requests, still encrypted, oldest first.
    pub requests: Vec<SavedRequest>,
}

/// A stored request and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedRequest {
    pub event: Event,
    /// Whether it was answered. A failed payment is not: it can be tried again.
    pub answered: bool,
    /// The reply, if it is known.
    pub verdict: Option<Verdict>,
}

/// A user's reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approved,
    /// The wallet did not hold enough tickets.
    InsufficientFunds,
    Declined,
    /// A payment was tried and failed.
    Failed,
}

impl Verdict {
    /// Whether the request needs no other answer.
    const fn is_final(self) -> bool {
        matches!(self, Self::Approved | Self::InsufficientFunds | Self::Declined)
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Approved => "approved",
            Self::InsufficientFunds => "answered with insufficient funds",
            Self::Declined => "declined",
            Self::Failed => "reported as failed",
        })
    }
}

/// Why a wallet file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("no wallet at {}; create one with `usher wallet new`", .0.display())]
    Missing(PathBuf),
    #[error("a wallet already exists at {}", .0.display())]
    Exists(PathBuf),
    #[error("the wallet at {} cannot be read or written", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The content is invalid. The error shows the position only: the content may be a key.
    #[error("{} is not a valid wallet file (line {line}, column {column})", path.display())]
    NotAWallet {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    #[error("the wallet at {} has an invalid key", path.display())]
    Key { path: PathBuf, source: KeyError },
}

#[derive(Serialize, Deserialize)]
struct Form {
    secret_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subkey_proof: Option<SubkeyProof>,
    #[serde(default)]
    relays: Vec<String>,
    #[serde(default)]
    services: Vec<KnownService>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nwc: Option<Secret>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mints: Vec<KnownMint>,
    #[serde(default)]
    subscriptions: Vec<Subscription>,
    #[serde(default)]
    requests: Vec<RequestForm>,
}

#[derive(Serialize, Deserialize)]
struct RequestForm {
    event: serde_json::Value,
    answered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
}

impl WalletFile {
    /// Creates a wallet file.
    ///
    /// # Errors
    /// [`FileError::Exists`] if there is one: an overwritten key would be lost.
    pub fn create(path: &Path, identity: Identity, relays: Vec<String>) -> Result<Self, FileError> {
        let file = Self {
            path: path.to_owned(),
            identity,
            relays,
            services: Vec::new(),
            nwc: None,
            mints: Vec::new(),
            subscriptions: Vec::new(),
            requests: Vec::new(),
        };
        if path.exists() {
            return Err(FileError::Exists(path.to_owned()));
        }
        file.save()?;
        Ok(file)
    }

    pub fn load(path: &Path) -> Result<Self, FileError> {
        let io = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => FileError::Missing(path.to_owned()),
            _ => FileError::Io { path: path.to_owned(), source },
        };
        let mut text = String::new();
        File::open(path).map_err(io)?.take(MAX_BYTES).read_to_string(&mut text).map_err(io)?;
        let form: Form = serde_json::from_str(&text).map_err(|error| FileError::NotAWallet {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
        })?;
        let key =
            parse_secret_key(&form.secret_key).map_err(|source| FileError::Key { path: path.to_owned(), source })?;
        let keys = Keys::new(key);
        let requests = form.requests.into_iter().filter_map(|saved| {
            let event = Event::from_json(saved.event.to_string()).ok()?;
            Some(SavedRequest { event, answered: saved.answered, verdict: saved.verdict })
        });
        Ok(Self {
            path: path.to_owned(),
            identity: match form.subkey_proof {
                Some(proof) => Identity::Device { keys, proof: Box::new(proof) },
                None => Identity::Main(keys),
            },
            relays: form.relays,
            services: form.services,
            nwc: form.nwc,
            mints: form.mints,
            subscriptions: form.subscriptions,
            requests: requests.collect(),
        })
    }

    /// Writes the file atomically.
    pub fn save(&self) -> Result<(), FileError> {
        let io = |source| FileError::Io { path: self.path.clone(), source };
        let form = Form {
            secret_key: self.identity.keys().secret_key().to_secret_hex(),
            subkey_proof: self.identity.proof().cloned(),
            relays: self.relays.clone(),
            services: self.services.clone(),
            nwc: self.nwc.clone(),
            mints: self.mints.clone(),
            subscriptions: self.subscriptions.clone(),
            requests: self.requests.iter().filter_map(RequestForm::of).collect(),
        };
        let text = serde_json::to_string_pretty(&form).map_err(|error| io(error.into()))?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(io)?;
        }
        private_file::replace(&self.path, text.as_bytes()).map_err(io)
    }

    /// Changes the file as it is now: another program, such as `usher dev`, may have changed it. Programs that do this
    /// wait for each other.
    pub fn update(&mut self, change: impl FnOnce(&mut Self)) -> Result<(), FileError> {
        let io = |source| FileError::Io { path: self.path.clone(), source };
        // Held until the end. Not the file itself: it is replaced.
        let lock = private_file::options().open(private_file::beside(&self.path, ".lock")).map_err(io)?;
        lock.lock().map_err(io)?;
        let mut file = Self::load(&self.path)?;
        change(&mut file);
        file.save()?;
        *self = file;
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn options(&self, policy: Policy) -> WalletOptions {
        let mut options = WalletOptions::new(self.identity.clone()).policy(policy);
        options.relays.clone_from(&self.relays);
        options.services.clone_from(&self.services);
        options.subscriptions.clone_from(&self.subscriptions);
        options.clock = self.clock();
        // An invalid one was refused when it was set.
        let source = self.nwc.as_ref().map(|url| PaymentSource::connected(&url.0, self.clock()));
        options.payment_source = source.and_then(Result::ok);
        options.holding(self.tickets())
    }

    /// The clock of the `usher dev` that has the file in its folder, or the machine's.
    pub fn clock(&self) -> SharedClock {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        SharedClock(Arc::new(FolderClock(folder.to_owned())))
    }

    /// The tickets of the wallet's user. They are in a file beside this one.
    pub fn tickets(&self) -> Tickets {
        let tickets = Tickets::beside(&self.path, self.identity.keys().clone());
        tickets.set_mints(&self.mints);
        tickets
    }

    /// Remembers the token of a mint, instead of an earlier one.
    pub fn remember_mint(&mut self, mint: KnownMint) {
        self.mints.retain(|known| known.mint_url != mint.mint_url);
        self.mints.push(mint);
    }

    /// Stores a request with the reply, if there is one; not a ticket that was received or refused.
    pub fn remember(&mut self, request: &Request, verdict: Option<Verdict>) {
        let over = matches!(&request.content, RequestContent::Token(sent) if sent.outcome.is_some());
        if over && verdict.is_none() {
            return;
        }
        let answered = verdict.is_some_and(Verdict::is_final);
        if let Some(saved) = self.requests.iter_mut().find(|saved| saved.event.id == request.event.id) {
            saved.answered |= answered;
            saved.verdict = verdict.or(saved.verdict);
            return;
        }
        if self.requests.len() >= MAX_REQUESTS {
            self.requests.remove(0);
        }
        self.requests.push(SavedRequest { event: request.event.clone(), answered, verdict });
    }
}

impl RequestForm {
    fn of(saved: &SavedRequest) -> Option<Self> {
        let event = serde_json::from_str(&saved.event.as_json()).ok()?;
        Some(Self { event, answered: saved.answered, verdict: saved.verdict })
    }
}
