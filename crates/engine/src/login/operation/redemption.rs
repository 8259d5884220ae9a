//! The redemption of a login: its page gives a code to its browser, which brings it to the app, which redeems it. This
//! prevents session fixation: an attacker who begins a login in the app and has somebody else approve it is not logged
//! in as that person. The code is derived from the login's id (`login/pages.rs`).

use std::time::Duration;

use usher_protocol::PublicKey;

use super::terms::Grant;
use super::{Login, LoginMethod, LoginOrigin, LoginState};
use crate::UnixMillis;
use crate::event_data::{EventData, LoginData};
use crate::machine::Effect;

/// Time limit for redeeming the code, while the browser returns to the app.
const REDEEM_WITHIN: Duration = Duration::from_secs(5 * 60);

/// The user who has logged in, for the app that redeemed the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginRedeemed {
    /// The user's key.
    pub main_key: PublicKey,
    /// The method.
    pub method: LoginMethod,
}

/// Why a correct code is not redeemed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedeemFault {
    /// The user has not approved, so the page has not issued the code.
    NotApproved,
    /// It was redeemed before.
    Redeemed,
    /// It has expired.
    Expired,
}

impl Login {
    /// Whether the app learns the user only by redeeming the code. Other protocols identify the browser themselves.
    pub const fn needs_code(&self) -> bool {
        self.return_url.is_some() && !matches!(self.origin, LoginOrigin::Client { .. })
    }

    /// Whether the page's own browser gets the code now.
    pub const fn has_code(&self) -> bool {
        self.needs_code() && matches!(self.state, LoginState::Proven { .. } | LoginState::Approved { .. })
    }

    /// Redeems the code.
    pub fn redeem(&mut self, now: UnixMillis) -> Result<(LoginRedeemed, Vec<Effect>), RedeemFault> {
        match self.state {
            LoginState::Proven { main_key, method, at } if now < self.expires_at => {
                let Grant { permissions, session_token } =
                    self.grant.take().map_or(Grant { permissions: None, session_token: None }, |grant| *grant);
                let approved = LoginData {
                    status: "approved".to_owned(),
                    main_key: Some(main_key.to_hex()),
                    method: Some(method.as_str().to_owned()),
                    granted_permissions: permissions,
                    session_token,
                    ..LoginData::default()
                };
                let effects = self.conclude(LoginState::Approved { main_key, method, at }, approved, method, now);
                Ok((LoginRedeemed { main_key, method }, effects))
            }
            LoginState::Approved { .. } => Err(RedeemFault::Redeemed),
            LoginState::Proven { .. } | LoginState::Expired => Err(RedeemFault::Expired),
            LoginState::Waiting | LoginState::Asking | LoginState::Declined => Err(RedeemFault::NotApproved),
        }
    }

    /// Handles a proven key; `approved` is the event for the app.
    pub(super) fn proven(
        &mut self,
        main_key: PublicKey,
        method: LoginMethod,
        approved: LoginData,
        now: UnixMillis,
    ) -> Vec<Effect> {
        if !self.needs_code() {
            return self.conclude(LoginState::Approved { main_key, method, at: now }, approved, method, now);
        }
        self.end(LoginState::Proven { main_key, method, at: now });
        self.expires_at = now.plus(REDEEM_WITHIN);
        let (permissions, session_token) = (approved.granted_permissions, approved.session_token);
        self.grant = Some(Box::new(Grant { permissions, session_token }));
        let said = LoginData {
            status: "user_approved".to_owned(),
            method: Some(method.as_str().to_owned()),
            ..LoginData::default()
        };
        // The wallet has replied, so its challenge is not repeated.
        vec![Effect::ClearOutbox, self.tell(&EventData::Login(said), now)]
    }

    pub(super) fn time_out(&mut self, now: UnixMillis) -> Vec<Effect> {
        let (reason, method) = match self.state {
            LoginState::Proven { method, .. } => ("the app did not redeem the code in time", method),
            _ => ("nobody logged in in time", LoginMethod::Wallet),
        };
        self.fail(LoginState::Expired, "timeout", reason, method, now)
    }
}
