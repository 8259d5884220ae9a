//! Session tokens: JWTs that a wallet issues with its approval.

use std::time::Duration;

use usher_protocol::Event;
use usher_protocol::jwt;
use usher_protocol::message::{AuthStatus, WalletMessage};

use super::{Request, Wallet, WalletError};

impl Wallet {
    /// Approves an authentication and issues a session token: a JWT about the main key, signed by this wallet.
    ///
    /// # Errors
    /// [`WalletError::CannotAnswer`] when no authentication is asked for.
    pub fn approve_with_session(&self, request: &Request, lifetime: Duration) -> Result<(Event, String), WalletError> {
        let cannot = || WalletError::CannotAnswer(request.content.kind());
        let WalletMessage::AuthResponse(mut response) = self.approval(request)? else { return Err(cannot()) };
        let AuthStatus::Approved { session_token, .. } = &mut response.status else { return Err(cannot()) };
        let keys = self.identity().keys();
        let token =
            jwt::issue(keys, self.main_key(), self.inner.messages.now(), lifetime.as_secs()).map_err(|_| cannot())?;
        *session_token = Some(token.clone());
        let event = self.inner.respond(request, WalletMessage::AuthResponse(response).into())?;
        Ok((event, token))
    }
}
