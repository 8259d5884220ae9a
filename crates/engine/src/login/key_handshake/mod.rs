//! Key handshake: a user scans the service's URL, and their wallet sends their main key.
//!
//! ```text
//! single use:  waiting ──handshake──▶ finished   KeyHandshake {main_key, preferred_relays}
//!              waiting ──expired────▶ finished   StatusUpdate {status: timeout}
//! reusable:    waiting ──handshake──▶ waiting    KeyHandshake, once per user and scan
//!              waiting ──closed─────▶ finished   by the operator only; its URL stays invalid
//! reusable login:  as reusable, and in the same commit
//!              waiting ──handshake──▶ waiting    a `login` of its own starts, which challenges the wallet
//!              waiting ──a login signals an event─▶ waiting   KeyHandshake or StatusUpdate {main_key, method}
//! ```
//!
//! A reusable login (`POST /login` with `static_token`) does not track the logins at it, so its state does not grow,
//! and each of them ends by itself. They know its stream.
//!
//! | crash … | what resume does |
//! | --- | --- |
//! | before the start is committed | nothing was acknowledged or stored |
//! | after the start | continues to wait; if it has expired in the meantime, the event follows at once |
//! | before a handshake is committed | the wallet sent it only once: the user scans again, or the URL expires |
//! | after a handshake | the event is in the stream; the same Nostr event is ignored if it arrives again |
//! | after a handshake at a reusable login | the login that has started continues as described there |
//! | before the outcome of such a login is committed | as there: login and event are one commit |

pub(crate) mod page;
pub(crate) mod reusable;
pub(crate) mod start;
pub(crate) mod static_token;

pub(crate) use self::reusable::Handshakes;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use usher_protocol::PublicKey;
use usher_protocol::handshake_url::decode_token;
use usher_protocol::message::WalletMessage;

use crate::event_data::{EventData, KeyHandshakeData, LoginData};
use crate::machine::{Effect, Input, LinkedChange, Signal, StateMachine, StepResult, emit};
use crate::ports::{CorrelationKey, UserRelays};
use crate::{StreamId, UnixMillis};

/// The state of a key handshake.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHandshake {
    token: String,
    /// The static token, if its URL has another token because an earlier handshake with the same one was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    no_request: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    return_url: Option<String>,
    #[serde(flatten)]
    usage: Usage,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "usage", rename_all = "snake_case")]
enum Usage {
    SingleUse {
        expires_at: UnixMillis,
    },
    Reusable {
        /// Recent scans, oldest first, to recognise repeated messages.
        recent: Vec<Scan>,
        /// Until when the token of a closed handshake stays reserved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closed: Option<UnixMillis>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<LoginUrl>,
    },
}

/// The additional data of a reusable login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginUrl {
    stream: StreamId,
    page_secret: String,
    scans: u64,
}

impl LoginUrl {
    /// For the operation with this stream. The secret must be random.
    pub const fn new(stream: StreamId, page_secret: String) -> Self {
        Self { stream, page_secret, scans: 0 }
    }

    /// The secret in its page's address.
    pub fn page_secret(&self) -> &str {
        &self.page_secret
    }

    /// How many scans of its URL were accepted.
    pub const fn scans(&self) -> u64 {
        self.scans
    }
}

usher_protocol::debug_shows!(LoginUrl { stream });

/// A scan: the first 64 bits of the user's key, and the wallet's time (Unix seconds).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Scan(String, u64);

/// Handshakes that a user's wallet created within this time are one scan: wallets repeat messages for seconds.
const SAME_SCAN: Duration = Duration::from_secs(60);

/// How long a scan is remembered: the transport accepts messages that are at most 15 minutes old or 15 minutes ahead.
const REMEMBERED: Duration = Duration::from_secs(30 * 60);

/// How many scans a reusable handshake remembers: 128 × 31 bytes keep the stored state under 4 KiB.
const RECENT_SCANS: usize = 128;

/// Most relays stored for a user, and their size: on a public URL anybody can name some. Typical lists have 100 bytes.
const MAX_USER_RELAYS: usize = 8;
const MAX_RELAY_BYTES: usize = 256;
const MAX_RELAYS_BYTES: usize = 512;

usher_protocol::debug_shows!(KeyHandshake { no_request });

impl StateMachine for KeyHandshake {
    fn is_about(&self, _user: &PublicKey) -> bool {
        false
    }

    fn keys_of(message: &WalletMessage) -> Vec<CorrelationKey> {
        let WalletMessage::KeyHandshake(handshake) = message else { return Vec::new() };
        let decoded = decode_token(&handshake.token);
        let tokens = [Some(&handshake.token), decoded.as_ref()];
        tokens.into_iter().flatten().map(|token| CorrelationKey::token(token)).collect()
    }

    fn step(&mut self, input: &Input, now: UnixMillis) -> StepResult {
        match input {
            Input::Wallet { author, sent_at, message: WalletMessage::KeyHandshake(handshake) }
                if self.is_named_by(&handshake.token) =>
            {
                self.scanned(author, &handshake.preferred_relays, *sent_at, now)
            }
            Input::Signal(Signal::LoginEvent(event)) if self.login().is_some() => {
                StepResult::Stepped(vec![Effect::Emit(event.clone())])
            }
            Input::Timer => self.woken(now),
            _ => StepResult::Ignored,
        }
    }

    fn wake_at(&self) -> Option<UnixMillis> {
        self.expires_at()
    }

    /// The token in its URL and, if it is reusable, its static token and the token's other spellings: some wallets send
    /// a token as it is encoded in the URL.
    fn correlations(&self) -> Vec<CorrelationKey> {
        let named = self.is_reusable().then(|| CorrelationKey::static_token(self.static_token()));
        let reports = self.login().map(|login| CorrelationKey::reusable_login(login.stream));
        self.token_keys().into_iter().chain(named).chain(reports).collect()
    }

    fn has_random_keys(&self) -> bool {
        !self.is_reusable()
    }

    fn kept_correlations(&self) -> Vec<(CorrelationKey, UnixMillis)> {
        match self.usage {
            Usage::Reusable { closed: Some(until), .. } => {
                self.token_keys().into_iter().map(|key| (key, until)).collect()
            }
            Usage::Reusable { closed: None, .. } | Usage::SingleUse { .. } => Vec::new(),
        }
    }
}

impl KeyHandshake {
    /// A handshake that one user can complete, until `expires_at`.
    pub const fn single_use(token: String, no_request: bool, expires_at: UnixMillis) -> Self {
        Self { token, name: None, no_request, return_url: None, usage: Usage::SingleUse { expires_at } }
    }

    /// A handshake that any number of users can complete, until it is closed. `static_token` is also its token.
    pub const fn reusable(static_token: String, no_request: bool) -> Self {
        Self {
            token: static_token,
            name: None,
            no_request,
            return_url: None,
            usage: Usage::Reusable { recent: Vec::new(), closed: None, login: None },
        }
    }

    /// A login for any number of users, until it is closed. `static_token` is also its token.
    pub const fn reusable_login(static_token: String, login: LoginUrl) -> Self {
        Self {
            token: static_token,
            name: None,
            no_request: false,
            return_url: None,
            usage: Usage::Reusable { recent: Vec::new(), closed: None, login: Some(login) },
        }
    }

    /// The same with another token in its URL, because the URL of a closed handshake stays invalid.
    #[must_use]
    pub fn with_suffix(self, suffix: &str) -> Self {
        let name = self.static_token().to_owned();
        Self { token: format!("{name}.{suffix}"), name: Some(name), ..self }
    }

    /// The same with a page that redirects at the end.
    #[must_use]
    pub fn returning_to(mut self, return_url: Option<String>) -> Self {
        self.return_url = return_url;
        self
    }

    /// Where its page redirects at the end.
    pub fn return_url(&self) -> Option<&str> {
        self.return_url.as_deref()
    }

    /// The static token, by which a repeated request finds it.
    pub fn static_token(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.token)
    }

    /// The token in its URL.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Whether its URL announces that no authentication challenge follows.
    pub const fn no_request(&self) -> bool {
        self.no_request
    }

    /// Whether any number of users can complete it.
    pub const fn is_reusable(&self) -> bool {
        matches!(self.usage, Usage::Reusable { .. })
    }

    /// The additional data of a reusable login, if it is one.
    pub const fn login(&self) -> Option<&LoginUrl> {
        match &self.usage {
            Usage::Reusable { login, .. } => login.as_ref(),
            Usage::SingleUse { .. } => None,
        }
    }

    /// Until when it can be completed; `None` if it is reusable.
    pub const fn expires_at(&self) -> Option<UnixMillis> {
        match self.usage {
            Usage::SingleUse { expires_at } => Some(expires_at),
            Usage::Reusable { .. } => None,
        }
    }

    fn token_keys(&self) -> Vec<CorrelationKey> {
        let mut keys = vec![CorrelationKey::token(&self.token)];
        if self.is_reusable() {
            keys.push(CorrelationKey::token_form(&self.token));
            keys.extend(decode_token(&self.token).as_deref().map(CorrelationKey::token_form));
        }
        keys
    }

    /// Closes it. Its token stays reserved until `kept_until`, so that its URL stays invalid.
    pub fn close(&mut self, kept_until: UnixMillis) -> Vec<Effect> {
        if let Usage::Reusable { closed, .. } = &mut self.usage {
            *closed = Some(kept_until);
        }
        vec![Effect::Finish]
    }

    /// Whether the token that a wallet sends is this handshake's: some wallets send it as it is encoded in the URL.
    fn is_named_by(&self, sent: &str) -> bool {
        sent == self.token || decode_token(sent).as_deref() == Some(&self.token)
    }

    fn scanned(&mut self, author: &PublicKey, relays: &[String], sent_at: UnixMillis, now: UnixMillis) -> StepResult {
        let counts = match &mut self.usage {
            Usage::SingleUse { expires_at } => now < *expires_at,
            Usage::Reusable { recent, .. } => counts_as_scan(recent, author, sent_at, now),
        };
        if !counts {
            return StepResult::Ignored;
        }
        let relays = usable_relays(relays);
        let data = KeyHandshakeData { main_key: author.to_hex(), preferred_relays: relays.clone() };
        // Stored even without relays: this records the user.
        let mut effects = vec![
            emit(EventData::KeyHandshake(data), now),
            Effect::RememberRelays(UserRelays { main_key: *author, relays }),
        ];
        match &mut self.usage {
            Usage::SingleUse { .. } => effects.push(Effect::Finish),
            Usage::Reusable { login: Some(login), .. } => {
                login.scans = login.scans.saturating_add(1);
                effects
                    .push(Effect::LinkedChange(LinkedChange::StartLogin { reusable: login.stream, main_key: *author }));
            }
            Usage::Reusable { login: None, .. } => {}
        }
        StepResult::Stepped(effects)
    }

    fn woken(&self, now: UnixMillis) -> StepResult {
        match self.usage {
            Usage::SingleUse { expires_at } if now >= expires_at => {
                let data = LoginData::timeout("nobody opened the handshake URL in time");
                StepResult::Stepped(vec![emit(data, now), Effect::Finish])
            }
            _ => StepResult::Ignored,
        }
    }
}

pub(crate) fn usable_relays(relays: &[String]) -> Vec<String> {
    let mut left = MAX_RELAYS_BYTES;
    let relays = relays.iter().filter(|relay| relay.len() <= MAX_RELAY_BYTES).take(MAX_USER_RELAYS);
    let fits = |relay: &&String| {
        let rest = left.checked_sub(relay.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    relays.filter(fits).cloned().collect()
}

fn counts_as_scan(recent: &mut Vec<Scan>, author: &PublicKey, sent_at: UnixMillis, now: UnixMillis) -> bool {
    // The sender's clock may be ahead; its next scan must be accepted after a correction.
    let (now, sent_at) = (now.secs(), sent_at.min(now).secs());
    recent.retain(|scan| now.abs_diff(scan.1) < REMEMBERED.as_secs());
    let mut user = author.to_hex();
    user.truncate(16);
    if let Some(scan) = recent.iter_mut().find(|scan| scan.0 == user) {
        let another = sent_at >= scan.1.saturating_add(SAME_SCAN.as_secs());
        if another {
            scan.1 = sent_at;
        }
        return another;
    }
    if recent.len() >= RECENT_SCANS {
        recent.remove(0);
    }
    recent.push(Scan(user, sent_at));
    true
}

#[cfg(test)]
mod tests;
