//! The end of a login, and its events.

use usher_protocol::PublicKey;

use super::{Login, LoginMethod, LoginOrigin, LoginState};
use crate::UnixMillis;
use crate::event::NewEvent;
use crate::event_data::{EventData, LoginData};
use crate::login::authentication::Authentication;
use crate::machine::{Effect, LinkedChange, Signal};
use crate::ports::CorrelationKey;

impl Login {
    /// Whether another app has requested it, through another protocol: it then has no events.
    pub const fn is_of_other_app(&self) -> bool {
        matches!(self.origin, LoginOrigin::Client { .. })
    }

    /// Ends it because its outcome is no longer needed; `None` if it has ended.
    pub fn forget(&mut self) -> Option<Vec<Effect>> {
        (!self.state.is_over()).then(|| {
            self.end(LoginState::Expired);
            vec![Effect::Finish]
        })
    }

    /// Emits an event of this login: on its own stream, or on that of the reusable login.
    pub(super) fn tell(&self, data: &EventData, now: UnixMillis) -> Effect {
        let event = NewEvent::new(data, now);
        match self.reusable() {
            None => Effect::Emit(event),
            Some(stream) => Effect::Signal(CorrelationKey::reusable_login(stream), Signal::LoginEvent(event)),
        }
    }

    /// The event of an end without a wallet's reply; at a reusable login it has the asked or proven key.
    pub(super) fn tell_outcome(&self, status: &str, reason: &str, method: LoginMethod, now: UnixMillis) -> Effect {
        let mut data = LoginData { status: status.to_owned(), reason: Some(reason.to_owned()), ..LoginData::default() };
        if self.reusable().is_some() {
            let key = match self.state {
                LoginState::Proven { main_key, .. } => Some(main_key),
                _ => self.authentication.as_ref().map(Authentication::requested_key),
            };
            data.main_key = key.map(|key| key.to_hex());
            data.method = Some(method.as_str().to_owned());
        }
        self.tell(&EventData::Login(data), now)
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
