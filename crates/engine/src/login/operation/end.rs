//! The end of a login, and its events.

use usher_protocol::PublicKey;

use super::{Login, LoginMethod, LoginOrigin, LoginState};
use crate::UnixMillis;
use crate::event::NewEvent;
use crate::event_data::{EventData, LoginData};
use crate::login::authentication::{Authentication, login_record};
use crate::machine::{Effect, LinkedChange, Signal};
use crate::ports::{CorrelationKey, LoginRecord};

impl Login {
    /// Whether another app has requested it, through another protocol: it then has no events.
    pub const fn is_of_other_app(&self) -> bool {
        matches!(self.origin, LoginOrigin::Client { .. })
    }

    /// Ends it because its outcome is no longer needed; `None` if it has ended.
    pub fn forget(&mut self) -> Option<Vec<Effect>> {
        (!self.state.is_over()).then(|| self.end_silently())
    }

    /// Emits an event of this login: on its own stream, or on that of the reusable login.
    pub(super) fn tell(&self, data: &EventData, now: UnixMillis) -> Effect {
        let event = NewEvent::new(data, now);
        match self.reusable() {
            None => Effect::Emit(event),
            Some(stream) => Effect::Signal(CorrelationKey::reusable_login(stream), Signal::LoginEvent(event)),
        }
    }

    /// The event for a key without a wallet's reply.
    pub(super) fn tell_outcome(&self, status: &str, reason: &str, method: LoginMethod, now: UnixMillis) -> Effect {
        self.tell(&EventData::Login(self.outcome(status, reason, method)), now)
    }

    /// An outcome without a wallet's reply; at a reusable login it has the asked or proven key.
    fn outcome(&self, status: &str, reason: &str, method: LoginMethod) -> LoginData {
        let mut data = LoginData { status: status.to_owned(), reason: Some(reason.to_owned()), ..LoginData::default() };
        if self.reusable().is_some() {
            data.main_key = self.key().map(|key| key.to_hex());
            data.method = Some(method.as_str().to_owned());
        }
        data
    }

    /// The proven key, or else the asked one.
    fn key(&self) -> Option<PublicKey> {
        match self.state {
            LoginState::Proven { main_key, .. } => Some(main_key),
            _ => self.authentication.as_ref().map(Authentication::requested_key),
        }
    }

    /// Ends it without a wallet's reply; without an event or a record if nobody has used it.
    pub(super) fn fail(
        &mut self,
        state: LoginState,
        status: &str,
        reason: &str,
        method: LoginMethod,
        now: UnixMillis,
    ) -> Vec<Effect> {
        if self.is_unused() {
            self.end(state);
            return vec![Effect::Finish];
        }
        let data = self.outcome(status, reason, method);
        self.conclude(state, data, method, now)
    }

    /// Ends it with its last event and its record.
    pub(super) fn conclude(
        &mut self,
        state: LoginState,
        data: LoginData,
        method: LoginMethod,
        now: UnixMillis,
    ) -> Vec<Effect> {
        let key = self.key();
        // On the page, it is unknown what a user who has not begun would have used.
        let method = Some(method).filter(|method| key.is_some() || *method != LoginMethod::Wallet);
        let app = match &self.origin {
            LoginOrigin::Client { name } => Some(name.clone()),
            LoginOrigin::App | LoginOrigin::Reusable { .. } => None,
        };
        let record = login_record(&data, key, method.map(LoginMethod::as_str));
        let record = record.map(|record| LoginRecord { reusable: self.reusable(), app, ..record });
        self.end(state);
        let told = self.tell(&EventData::Login(data), now);
        [told].into_iter().chain(record.map(Effect::KeepLogin)).chain([Effect::Finish]).collect()
    }

    /// Ends it without an event.
    pub(super) fn end_silently(&mut self) -> Vec<Effect> {
        self.end(LoginState::Expired);
        vec![Effect::Finish]
    }

    pub(super) fn end(&mut self, state: LoginState) {
        let has_failed = matches!(state, LoginState::Declined | LoginState::Expired);
        self.ended_untouched = has_failed && self.reusable().is_some() && self.is_untouched();
        self.state = state;
        self.signer = None;
    }

    /// At a reusable login, a user's outcome is that of the login they began last.
    pub(super) fn supersede_others(&self, main_key: PublicKey) -> Option<Effect> {
        self.reusable().map(|reusable| Effect::LinkedChange(LinkedChange::SupersedeLogins { reusable, main_key }))
    }
}
