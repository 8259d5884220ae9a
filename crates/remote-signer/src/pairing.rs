//! The exchange with one signer, from the connection to the signature.
//!
//! ```text
//! our address ───a reply with our secret────▶ connected     its author is the signer
//! its address ───connect, its reply─────────▶ connected     `ack`, or the secret that was in its address
//! connected ─────switch_relays──────────────▶ connected     optional: a list of relays
//! connected ─────get_public_key─────────────▶ user known
//! user known ────sign_event─────────────────▶ signed        exactly what was asked for, by that user
//! ```
//!
//! Each request is repeated with the same id until there is a reply, and at once when a relay reconnects. A signer that
//! shows its own page (`auth_url`) has received the request, which is then not repeated.

use std::sync::Arc;
use std::time::Duration;

use nostr::Event;
use nostr::nips::nip44::v2::ConversationKey;
use subtle::ConstantTimeEq as _;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use usher_engine::ports::{RemoteSignerError, SignedEvent, SignerProgress, WantedEvent};
use usher_protocol::{Keys, PublicKey, envelope};

use crate::invitation::PERMISSIONS;
use crate::message::{self, Reply, ReplyContent};
use crate::relay::{Membership, Received, Shared};
use crate::signed_event;
use crate::stored_session::{Session, random_text};

/// Events queued for one pairing; further ones are dropped.
const RECEIVED: usize = 64;

/// The longest pause between two copies of a request, in multiples of the first pause.
const MAX_PAUSE: u32 = 8;

/// A relay that reconnects gets the request at once if the last copy is older than this.
const RECENTLY: Duration = Duration::from_secs(1);

/// Longest event decrypted, in bytes of its content.
const MAX_CONTENT_BYTES: usize = 32 * 1024;

enum Outcome {
    Result(String),
    Refused(String),
}

pub(crate) struct Pairing {
    shared: Arc<Shared>,
    session: Session,
    keys: Keys,
    progress: mpsc::Sender<SignerProgress>,
    memberships: Vec<Membership>,
    sender: mpsc::Sender<Received>,
    received: mpsc::Receiver<Received>,
    conversation: Option<ConversationKey>,
}

impl Pairing {
    pub(crate) fn new(
        shared: Arc<Shared>,
        session: Session,
        progress: mpsc::Sender<SignerProgress>,
    ) -> Result<Self, RemoteSignerError> {
        let keys = session.keys()?;
        let (sender, received) = mpsc::channel(RECEIVED);
        let (memberships, conversation) = (Vec::new(), None);
        let mut pairing = Self { shared, session, keys, progress, memberships, sender, received, conversation };
        if let Some(signer) = pairing.session.signer {
            pairing.talk_to(signer)?;
        }
        pairing.join_relays();
        if pairing.memberships.is_empty() {
            return Err(RemoteSignerError::Unreachable);
        }
        Ok(pairing)
    }

    pub(crate) async fn run(mut self, wanted: &WantedEvent) -> Result<SignedEvent, RemoteSignerError> {
        if self.session.signer.is_none() {
            self.wait_for_signer().await?;
        } else if !self.session.connected {
            self.connect().await?;
        }
        let user = match self.session.user {
            Some(user) => user,
            None => self.ask_for_user().await?,
        };
        let asked_at = self.shared.clock.now().secs();
        let params = [signed_event::unsigned(wanted, &user, asked_at)];
        let reply = match self.request("sign_event", &params).await? {
            Outcome::Result(reply) => reply,
            Outcome::Refused(reason) => {
                let may_ask_again = self.session.refused(&reason);
                let session = may_ask_again.then(|| self.shared.cipher.seal(&self.session)).transpose()?;
                return Err(RemoteSignerError::SignatureRefused { reason, session });
            }
        };
        let now = self.shared.clock.now().secs();
        let event = signed_event::check(&reply, wanted, &user, asked_at, now)?;
        self.session.signed();
        Ok(SignedEvent { event, session: self.shared.cipher.seal(&self.session)? })
    }

    /// Waits for a reply with the secret of our address, whose author is the signer. All other replies are ignored.
    async fn wait_for_signer(&mut self) -> Result<(), RemoteSignerError> {
        loop {
            let event = match self.next().await? {
                Received::Listening => {
                    self.report(SignerProgress::Listening);
                    continue;
                }
                Received::Event(event) => event,
            };
            let author = event.pubkey;
            let Ok(conversation) = envelope::conversation_key(&self.keys, &author) else { continue };
            let Some(Reply { content: ReplyContent::Result(result), .. }) = open(&conversation, &event) else {
                continue;
            };
            if bool::from(result.as_bytes().ct_eq(self.session.secret.as_bytes())) {
                self.talk_to(author)?;
                return self.connected().await;
            }
        }
    }

    async fn connect(&mut self) -> Result<(), RemoteSignerError> {
        let Some(signer) = self.session.signer else { return Err(RemoteSignerError::Unusable) };
        let metadata = serde_json::json!({ "name": self.shared.options.name, "url": self.shared.options.url });
        let params = [signer.to_hex(), self.session.secret.clone(), PERMISSIONS.to_owned(), metadata.to_string()];
        match self.request("connect", &params).await? {
            Outcome::Result(_) => self.connected().await,
            Outcome::Refused(reason) => Err(RemoteSignerError::ConnectionRefused(reason)),
        }
    }

    /// After the signer has accepted us: requests its relays, which many signers do not provide.
    async fn connected(&mut self) -> Result<(), RemoteSignerError> {
        self.session.connected = true;
        // The secret is used up.
        self.session.secret.clear();
        self.report_session()?;
        let switching = timeout(self.shared.options.switch_within, self.request_once("switch_relays", &[]));
        let Ok(Outcome::Result(relays)) = switching.await.unwrap_or(Err(RemoteSignerError::Unreachable)) else {
            return Ok(());
        };
        let relays: Vec<String> = serde_json::from_str::<Option<_>>(&relays).ok().flatten().unwrap_or_default();
        if self.session.move_to(&relays, self.shared.user_source()) {
            self.join_relays();
            self.report_session()?;
        }
        Ok(())
    }

    async fn ask_for_user(&mut self) -> Result<PublicKey, RemoteSignerError> {
        let key = match self.request("get_public_key", &[]).await? {
            Outcome::Result(key) => key,
            Outcome::Refused(reason) => return Err(RemoteSignerError::ConnectionRefused(reason)),
        };
        let user = PublicKey::from_hex(&key).map_err(|_| RemoteSignerError::Invalid("no public key"))?;
        self.session.user = Some(user);
        self.report_session()?;
        Ok(user)
    }

    async fn request(&mut self, method: &str, params: &[String]) -> Result<Outcome, RemoteSignerError> {
        let first = self.shared.options.repeat_first;
        self.request_with_pauses(method, params, |copies| first * 2u32.saturating_pow(copies - 1).min(MAX_PAUSE)).await
    }

    async fn request_once(&mut self, method: &str, params: &[String]) -> Result<Outcome, RemoteSignerError> {
        self.request_with_pauses(method, params, |_| Duration::from_secs(24 * 60 * 60)).await
    }

    /// Sends a request, and repeats it: after the n-th copy, `pause` gives the time to the next.
    async fn request_with_pauses(
        &mut self,
        method: &str,
        params: &[String],
        pause: impl Fn(u32) -> Duration,
    ) -> Result<Outcome, RemoteSignerError> {
        let id = random_text(self.shared.randomness.as_ref());
        let text = message::request(&id, method, params);
        let mut copies = 1;
        let mut sent_at = self.publish(&text)?;
        let mut confirming = false;
        loop {
            let again_at = sent_at + pause(copies);
            tokio::select! {
                received = self.next() => match received? {
                    Received::Listening => {
                        self.report(SignerProgress::Listening);
                        if !confirming && (copies == 1 || sent_at.elapsed() > RECENTLY) {
                            copies += 1;
                            sent_at = self.publish(&text)?;
                        }
                    }
                    Received::Event(event) => match self.reply(&event, &id) {
                        Some(ReplyContent::Result(result)) => return Ok(Outcome::Result(result)),
                        Some(ReplyContent::Error(reason)) => return Ok(Outcome::Refused(reason)),
                        Some(ReplyContent::Confirm(page)) => {
                            confirming = true;
                            self.report(SignerProgress::Confirm(page));
                        }
                        None => {}
                    },
                },
                () = sleep_until(again_at), if !confirming => {
                    if copies > 1 {
                        self.report(SignerProgress::Silent);
                    }
                    copies += 1;
                    sent_at = self.publish(&text)?;
                }
            }
        }
    }

    fn reply(&self, event: &Event, id: &str) -> Option<ReplyContent> {
        let signer = self.session.signer.filter(|signer| *signer == event.pubkey);
        let conversation = self.conversation.as_ref().filter(|_| signer.is_some())?;
        open(conversation, event).filter(|reply| reply.id == id).map(|reply| reply.content)
    }

    /// Sends a request over every connected relay. Each copy is a new event, because relays do not deliver the same
    /// event twice.
    fn publish(&self, text: &str) -> Result<Instant, RemoteSignerError> {
        let (Some(signer), Some(conversation)) = (self.session.signer, &self.conversation) else {
            return Err(RemoteSignerError::Unusable);
        };
        let now = self.shared.clock.now().secs();
        let event = envelope::seal(&self.keys, conversation, &[signer], None, message::KIND, text, now);
        let event = event.map_err(|_| RemoteSignerError::Unusable)?;
        self.memberships.iter().for_each(|membership| membership.publish(&event));
        Ok(Instant::now())
    }

    fn talk_to(&mut self, signer: PublicKey) -> Result<(), RemoteSignerError> {
        let conversation = envelope::conversation_key(&self.keys, &signer);
        self.conversation = Some(conversation.map_err(|_| RemoteSignerError::Unusable)?);
        self.session.signer = Some(signer);
        self.memberships.iter().for_each(|membership| membership.expect(signer));
        Ok(())
    }

    fn join_relays(&mut self) {
        for (url, source) in self.session.relays(self.shared.user_source()) {
            if !self.memberships.iter().any(|membership| membership.is_at(url)) {
                let key = self.keys.public_key();
                let Some(membership) = self.shared.join(url, source, key, self.sender.clone()) else { continue };
                if let Some(signer) = self.session.signer {
                    membership.expect(signer);
                }
                self.memberships.push(membership);
            }
        }
    }

    async fn next(&mut self) -> Result<Received, RemoteSignerError> {
        // Never closed: a sender is kept for further relays.
        self.received.recv().await.ok_or(RemoteSignerError::Unusable)
    }

    /// Reports progress, unless the receiver is gone or full.
    fn report(&self, progress: SignerProgress) {
        // Best effort: progress only informs the user.
        let _ = self.progress.try_send(progress);
    }

    fn report_session(&self) -> Result<(), RemoteSignerError> {
        self.report(SignerProgress::Connected(self.shared.cipher.seal(&self.session)?));
        Ok(())
    }
}

/// The reply in an event, if the signer wrote it.
fn open(conversation: &ConversationKey, event: &Event) -> Option<Reply> {
    if event.content.len() > MAX_CONTENT_BYTES || envelope::verify(event).is_err() {
        return None;
    }
    Reply::parse(&envelope::open(conversation, event).ok()?)
}
