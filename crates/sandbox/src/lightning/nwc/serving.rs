//! Hearing requests and answering them.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use nostr::{EventBuilder, Kind, Tag, Timestamp};
use parking_lot::{Mutex, RwLock};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use usher_protocol::message::PaymentHash;
use usher_protocol::{Event, EventId, Keys};

use super::behaviour::{Behaviour, Conduct, Encryptions, Memory};
use super::cipher::{Cipher, Scheme};
use super::counts::NwcCounts;
use super::desk::{Desk, Outcome};
use super::holding::Held;
use super::keys::NwcKeys;
use super::wire::{Answer, Call, Refusal};
use super::{ErrorCode, Method};
use crate::lightning::Account;
use crate::line::{Heard, Line};

/// Kind of a request.
pub(super) const REQUEST: u16 = 23_194;

/// Kind of an answer.
pub(super) const RESPONSE: u16 = 23_195;

/// Requests whose ids are remembered.
const SEEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(65_535);

/// Calls that may wait for their time or for a release; the oldest goes first.
pub(super) const MAX_WAITING: usize = 20_000;

/// What the service's tasks share, and what outlives a stop.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) desk: Desk,
    pub(super) keys: NwcKeys,
    pub(super) relays: Vec<String>,
    pub(super) behaviour: Mutex<Behaviour>,
    pub(super) counts: watch::Sender<NwcCounts>,
    /// The relays, while it runs.
    pub(super) line: RwLock<Option<Arc<Line>>>,
    cipher: Option<Cipher>,
    seen: Mutex<LruCache<EventId, ()>>,
    pub(super) held: Mutex<VecDeque<Held>>,
    pub(super) in_flight: Mutex<VecDeque<(PaymentHash, Asked)>>,
    /// The last announcement: what it said, and its time.
    pub(super) announced: Mutex<(String, Encryptions, u64)>,
}

/// A request that can be answered.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    id: EventId,
    scheme: Scheme,
    method: Option<Method>,
    call: Arc<Call>,
    /// Unix seconds from which it is not to be acted on.
    expires_at: Option<u64>,
}

impl Shared {
    pub(super) fn new(account: Account, relays: Vec<String>, keys: NwcKeys, behaviour: Behaviour) -> Self {
        Self {
            desk: Desk::new(account),
            relays,
            behaviour: Mutex::new(behaviour),
            counts: watch::Sender::default(),
            line: RwLock::new(None),
            cipher: Cipher::new(keys.wallet.secret_key(), keys.app.public_key()).ok(),
            keys,
            seen: Mutex::new(LruCache::new(SEEN)),
            held: Mutex::default(),
            in_flight: Mutex::default(),
            announced: Mutex::new((String::new(), Encryptions::Both, 0)),
        }
    }

    /// What it forgets when it is stopped.
    pub(super) fn forget(&self) {
        if self.behaviour.lock().memory == Memory::WhileRunning {
            self.seen.lock().clear();
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.desk.account.world().now()
    }

    pub(super) async fn serve(
        self: Arc<Self>,
        mut heard: mpsc::Receiver<Heard>,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) {
        while let Some(heard) = heard.recv().await {
            let Some(asked) = self.read(&heard.event) else { continue };
            let hesitation = self.behaviour.lock().hesitation;
            if hesitation.is_zero() {
                self.obey(&asked, &tasks, &stop);
            } else if tasks.len() < MAX_WAITING {
                let (later, on, until) = (Arc::clone(&self), tasks.clone(), stop.clone());
                tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
                    tokio::time::sleep(hesitation).await;
                    later.obey(&asked, &on, &until);
                }));
            }
        }
    }

    /// Reads a request; `None` for what is none, or is not to be acted on. `nostr-sdk` has checked id and signature.
    fn read(&self, event: &Event) -> Option<Asked> {
        if event.kind.as_u16() != REQUEST || event.pubkey != self.keys.app.public_key() {
            return None;
        }
        if self.seen.lock().put(event.id, ()).is_some() {
            self.counts.send_modify(|counts| counts.copies += 1);
            if self.behaviour.lock().memory != Memory::None {
                return None;
            }
        }
        let unreadable = || {
            self.counts.send_modify(|counts| counts.unreadable += 1);
            None
        };
        let (Some(scheme), Some(cipher)) = (Scheme::of(event), &self.cipher) else { return unreadable() };
        let spoken = match self.behaviour.lock().encryptions {
            Encryptions::Both => scheme,
            Encryptions::Nip04 => Scheme::Nip04,
            Encryptions::Nip44 => Scheme::Nip44,
        };
        let call = cipher.open(scheme, event).ok().and_then(|text| serde_json::from_str::<Call>(&text).ok());
        let Some(call) = call else { return unreadable() };
        let method = Method::from_word(&call.method);
        let expires_at = event.tags.expiration().map(|at| at.as_secs());
        let asked = Asked { id: event.id, scheme: spoken, method, call: Arc::new(call), expires_at };
        if spoken != scheme {
            let message = format!("this wallet does not speak {}", scheme.as_str());
            self.answer(&asked, &Answer(Err(Refusal::new(ErrorCode::UnsupportedEncryption, message))));
            return unreadable();
        }
        match method {
            Some(method) => {
                self.counts.send_modify(|counts| *counts.calls.entry(method).or_default() += 1);
            }
            None => self.counts.send_modify(|counts| counts.unreadable += 1),
        }
        Some(asked)
    }

    /// Does what is asked, or what the behaviour says instead.
    fn obey(self: &Arc<Self>, asked: &Asked, tasks: &TaskTracker, stop: &CancellationToken) {
        let (behaviour, conduct) = {
            let mut behaviour = self.behaviour.lock();
            let conduct = asked.method.map_or(Conduct::Honest, |method| behaviour.take(method));
            (behaviour.clone(), conduct)
        };
        let honest = Conduct::Honest;
        match conduct {
            Conduct::Ignore => return,
            Conduct::Postpone => return self.hold(Held::Call(asked.clone())),
            Conduct::Refuse(code) => return self.answer_later(asked, refusal(code), honest, &behaviour, tasks, stop),
            _ => {}
        }
        let Some(answer) = self.execute(asked, &behaviour) else { return };
        match conduct {
            Conduct::Mute => {}
            Conduct::Hold => self.hold(Held::Answer(asked.clone(), answer)),
            Conduct::RefuseAndExecute(code) => {
                self.answer_later(asked, refusal(code), honest, &behaviour, tasks, stop);
            }
            conduct => self.answer_later(asked, answer, conduct, &behaviour, tasks, stop),
        }
    }

    /// Executes a call; `None` when its time is over, or it is a payment that stays in flight.
    pub(super) fn execute(&self, asked: &Asked, behaviour: &Behaviour) -> Option<Answer> {
        if behaviour.heeds_expiration && asked.expires_at.is_some_and(|at| at <= self.now()) {
            self.counts.send_modify(|counts| counts.expired += 1);
            return None;
        }
        let Some(method) = asked.method.filter(|method| behaviour.offers.contains(method)) else {
            return Some(refusal(ErrorCode::NotImplemented));
        };
        let outcome = self.desk.execute(method, &asked.call, behaviour);
        self.counts.send_modify(|counts| *counts.executed.entry(method).or_default() += 1);
        match outcome {
            Outcome::Done(done) => Some(Answer(done)),
            Outcome::InFlight(hash) => {
                let mut in_flight = self.in_flight.lock();
                in_flight.truncate(MAX_WAITING);
                in_flight.push_back((hash, asked.clone()));
                None
            }
        }
    }

    fn answer_later(
        self: &Arc<Self>,
        asked: &Asked,
        answer: Answer,
        conduct: Conduct,
        behaviour: &Behaviour,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) {
        let latency = behaviour.latency;
        if latency.is_zero() {
            return self.give(asked, &answer, conduct);
        }
        let (later, asked) = (Arc::clone(self), asked.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            tokio::time::sleep(latency).await;
            later.give(&asked, &answer, conduct);
        }));
    }

    fn give(&self, asked: &Asked, answer: &Answer, conduct: Conduct) {
        match conduct {
            Conduct::Garble => self.answer_with(&self.keys.wallet, asked, "{\"result_type\":"),
            Conduct::Empty => self.answer_with(&self.keys.wallet, asked, "{}"),
            Conduct::Impersonate => {
                let stranger = Keys::generate();
                if let Ok(cipher) = Cipher::new(stranger.secret_key(), self.keys.app.public_key())
                    && let Ok(content) = cipher.seal(asked.scheme, &answer.text(&asked.call.method))
                {
                    self.send_answer(&stranger, asked, content);
                }
            }
            Conduct::Twice => {
                self.answer(asked, answer);
                self.answer(asked, answer);
            }
            _ => self.answer(asked, answer),
        }
    }

    pub(super) fn answer(&self, asked: &Asked, answer: &Answer) {
        self.answer_with(&self.keys.wallet, asked, &answer.text(&asked.call.method));
    }

    fn answer_with(&self, keys: &Keys, asked: &Asked, text: &str) {
        if let Some(content) = self.seal(asked.scheme, text) {
            self.send_answer(keys, asked, content);
        }
    }

    fn send_answer(&self, keys: &Keys, asked: &Asked, content: String) {
        let builder = EventBuilder::new(Kind::from_u16(RESPONSE), content)
            .tag(Tag::public_key(self.keys.app.public_key()))
            .tag(Tag::event(asked.id));
        if self.send(keys, builder) {
            self.counts.send_modify(|counts| counts.answers += 1);
        }
    }

    pub(super) fn seal(&self, scheme: Scheme, text: &str) -> Option<String> {
        self.cipher.as_ref()?.seal(scheme, text).ok()
    }

    /// Sends an event to all relays; `false` when it is stopped.
    pub(super) fn send(&self, keys: &Keys, builder: EventBuilder) -> bool {
        let builder = builder.custom_created_at(Timestamp::from_secs(self.now()));
        let (Some(line), Ok(event)) = (self.line.read().clone(), builder.sign_with_keys(keys)) else { return false };
        line.send(&event).inspect_err(|error| tracing::warn!(%error, "the wallet service cannot answer")).is_ok()
    }
}

fn refusal(code: ErrorCode) -> Answer {
    Answer(Err(Refusal::new(code, "the wallet refuses")))
}
