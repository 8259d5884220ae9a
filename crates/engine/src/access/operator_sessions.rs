//! The sessions of operators: a secret in a cookie, whose hash is kept in memory. A restart ends them.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;
use usher_places::{Holder, Places, limit};
use usher_protocol::PublicKey;

use crate::UnixMillis;
use crate::ports::{Clock, Randomness};

/// The longest session.
pub const LONGEST_SESSION: Duration = limit::OPERATOR_SESSIONS.protection.longest;

/// How long after the login a session may change what needs a fresh login: money, keys, operators.
const FRESH: Duration = Duration::from_secs(5 * 60);

/// The open sessions.
pub struct OperatorSessions {
    clock: Arc<dyn Clock>,
    randomness: Arc<dyn Randomness>,
    /// A session is open while its place is protected.
    open: Mutex<Places<SecretHash, Session>>,
}

type SecretHash = [u8; 32];

struct Session {
    operator: PublicKey,
    /// On the monotonic clock, as `used`.
    began: Duration,
    used: Duration,
    /// Cancelled at its end.
    ended: CancellationToken,
}

/// A session as its operator sees it.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Names it to its operator. It reveals nothing of the secret.
    pub id: String,
    /// When its operator logged in.
    pub began_at: UnixMillis,
    /// When its operator did something.
    pub used_at: UnixMillis,
}

/// The session of a browser that presented its secret.
#[derive(Clone)]
pub struct OpenSession {
    /// Who has logged in.
    pub operator: PublicKey,
    /// Names it to its operator.
    pub id: String,
    /// Until when it lasts without further use.
    pub expires_at: UnixMillis,
    /// Until when it may change what needs a fresh login.
    pub fresh_until: UnixMillis,
    /// Whether it may.
    pub is_fresh: bool,
    /// Cancelled at its end.
    pub ended: CancellationToken,
    secret: String,
}

impl OperatorSessions {
    pub(super) fn new(clock: Arc<dyn Clock>, randomness: Arc<dyn Randomness>) -> Self {
        Self { clock, randomness, open: Mutex::new(Places::new(limit::OPERATOR_SESSIONS.fixed())) }
    }

    /// Begins a session; returns its secret.
    pub fn begin(&self, operator: PublicKey) -> String {
        let secret = new_secret(&*self.randomness);
        let now = self.clock.monotonic();
        let ended = CancellationToken::new();
        let session = Session { operator, began: now, used: now, ended };
        // Displaces another session of the operator.
        let displaced = self.open.lock().take(hash(&secret), &Holder::key(&operator.to_hex()), session, now);
        displaced.unwrap_or_default().into_iter().for_each(|(_, session)| session.ended.cancel());
        secret
    }

    /// The session with this secret, which extends it.
    pub fn use_session(&self, secret: &str) -> Option<OpenSession> {
        let now = self.clock.monotonic();
        let hash = hash(secret);
        {
            let mut open = self.open.lock();
            if open.is_protected(&hash, now) {
                open.seen(&hash, now);
                open.get_mut(&hash)?.used = now;
            }
        }
        self.find(secret)
    }

    /// The session with this secret, for a request that its operator did not cause.
    pub fn find(&self, secret: &str) -> Option<OpenSession> {
        let now = self.clock.monotonic();
        let mut open = self.open.lock();
        let hash = hash(secret);
        if !open.is_protected(&hash, now) {
            end(&mut open, &hash);
            return None;
        }
        let session = open.get(&hash)?;
        let after = |time: Duration| self.clock.now().plus(time.saturating_sub(now));
        let idle = session.used.saturating_add(limit::OPERATOR_SESSIONS.protection.after_seen);
        let fresh = session.began.saturating_add(FRESH);
        Some(OpenSession {
            operator: session.operator,
            id: id_of(&hash),
            expires_at: after(idle.min(session.began.saturating_add(LONGEST_SESSION))),
            fresh_until: if fresh > now { after(fresh) } else { self.at(fresh) },
            is_fresh: now < fresh,
            ended: session.ended.clone(),
            secret: secret.to_owned(),
        })
    }

    /// The sessions of an operator, the oldest first.
    pub fn of(&self, operator: &PublicKey) -> Vec<SessionView> {
        let now = self.clock.monotonic();
        let open = self.open.lock();
        let own = open.iter().filter(|(hash, session)| session.operator == *operator && open.is_protected(hash, now));
        let mut own: Vec<_> = own.collect();
        own.sort_by_key(|(_, session)| session.began);
        let view = |(hash, session): (&SecretHash, &Session)| SessionView {
            id: id_of(hash),
            began_at: self.at(session.began),
            used_at: self.at(session.used),
        };
        own.into_iter().map(view).collect()
    }

    /// Ends the session with this secret.
    pub fn end(&self, secret: &str) {
        end(&mut self.open.lock(), &hash(secret));
    }

    /// Ends the session that is named so to its operator. Returns whether there was one.
    pub fn end_named(&self, operator: &PublicKey, id: &str) -> bool {
        self.end_where(|hash, session| session.operator == *operator && id_of(hash) == id) > 0
    }

    /// Ends all sessions of an operator.
    pub(super) fn end_all(&self, operator: &PublicKey) {
        self.end_where(|_, session| session.operator == *operator);
    }

    /// Ends the sessions whose time is over, with the event streams opened in them. Returns whether there are others.
    pub(super) fn end_expired(&self) -> bool {
        let now = self.clock.monotonic();
        let mut open = self.open.lock();
        let over: Vec<_> = open.iter().map(|(hash, _)| *hash).filter(|hash| !open.is_protected(hash, now)).collect();
        over.iter().for_each(|hash| end(&mut open, hash));
        !open.is_empty()
    }

    fn end_where(&self, is_over: impl Fn(&SecretHash, &Session) -> bool) -> usize {
        let mut open = self.open.lock();
        let over: Vec<_> =
            open.iter().filter(|(hash, session)| is_over(hash, session)).map(|(hash, _)| *hash).collect();
        over.iter().for_each(|hash| end(&mut open, hash));
        over.len()
    }

    /// The time of day at a past time of the monotonic clock.
    fn at(&self, time: Duration) -> UnixMillis {
        let ago = self.clock.monotonic().saturating_sub(time);
        UnixMillis(self.clock.now().0.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl OpenSession {
    /// Ends the session.
    pub fn end(self, sessions: &OperatorSessions) {
        sessions.end(&self.secret);
    }
}

usher_protocol::debug_shows!(OpenSession { id });

fn end(open: &mut Places<SecretHash, Session>, hash: &SecretHash) {
    if let Some(session) = open.free(hash) {
        session.ended.cancel();
    }
}

/// A secret of 256 random bits.
pub(super) fn new_secret(randomness: &dyn Randomness) -> String {
    let mut bytes = [0; 32];
    randomness.fill(&mut bytes);
    BASE64URL.encode(bytes)
}

fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret).into()
}

fn id_of(hash: &SecretHash) -> String {
    BASE64URL.encode(hash.first_chunk::<12>().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::testing::{ManualClock, SeededRandomness};
    use usher_protocol::{Keys, SecretKey};

    use super::*;

    fn operator(number: u8) -> PublicKey {
        Keys::new(SecretKey::from_slice(&[number; 32]).unwrap()).public_key()
    }

    fn sessions() -> (Arc<ManualClock>, OperatorSessions) {
        let clock = Arc::new(ManualClock::at(UnixMillis(1_800_000_000_000)));
        (Arc::clone(&clock), OperatorSessions::new(clock, Arc::new(SeededRandomness::new(1))))
    }

    #[test]
    fn session_ends_when_it_is_not_used_or_is_old() {
        let (clock, sessions) = sessions();
        let (idle, used) = (sessions.begin(operator(1)), sessions.begin(operator(1)));
        let opened = sessions.find(&idle).unwrap();
        for _ in 0..24 {
            clock.turn(Duration::from_secs(1_799));
            // A request that nobody has caused does not extend it.
            sessions.find(&idle);
            assert_eq!(sessions.use_session(&used).unwrap().operator, operator(1));
        }
        assert!(sessions.find(&idle).is_none() && opened.ended.is_cancelled());
        let (opened, before) = (sessions.find(&used).unwrap(), sessions.find(&used).unwrap().expires_at);
        assert_eq!(before, clock.now().plus(Duration::from_secs(24)), "the end is in sight");
        clock.turn(Duration::from_secs(25));
        assert!(!sessions.end_expired() && opened.ended.is_cancelled());
        assert!(sessions.use_session(&used).is_none() && sessions.use_session("").is_none());
    }

    #[test]
    fn operator_sees_and_ends_only_own_sessions() {
        let (clock, sessions) = sessions();
        let (own, other) = (sessions.begin(operator(1)), sessions.begin(operator(2)));
        clock.turn(Duration::from_secs(301));
        let (second, found) = (sessions.begin(operator(1)), sessions.find(&own).unwrap());
        assert!(!found.is_fresh && sessions.find(&second).unwrap().is_fresh);
        let seen: Vec<_> = sessions.of(&operator(1)).into_iter().map(|session| session.id).collect();
        assert_eq!(seen, [found.id.clone(), sessions.find(&second).unwrap().id]);
        let of_other = sessions.find(&other).unwrap().id;
        assert!(!sessions.end_named(&operator(1), &of_other) && sessions.end_named(&operator(1), &found.id));
        assert!(found.ended.is_cancelled() && sessions.find(&own).is_none() && sessions.find(&other).is_some());
    }

    #[test]
    fn sessions_are_bounded_and_an_operator_has_only_his_own() {
        let (clock, sessions) = sessions();
        let other = sessions.begin(operator(2));
        let first = sessions.begin(operator(1));
        let others: Vec<_> = (1..8).map(|_| sessions.begin(operator(1))).collect();
        clock.turn(Duration::from_secs(1));
        assert!(sessions.use_session(&first).is_some());
        sessions.begin(operator(1));
        assert!(sessions.use_session(&first).is_some() && sessions.use_session(&other).is_some());
        assert_eq!(others.iter().filter(|secret| sessions.use_session(secret).is_some()).count(), 6);
        sessions.use_session(&first).unwrap().end(&sessions);
        assert!(sessions.use_session(&first).is_none());
    }
}
