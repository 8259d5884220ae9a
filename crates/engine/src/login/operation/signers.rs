use usher_protocol::login_proof::LoginChallenge;

use super::{AskSignerError, Login, LoginMethod, LoginOver, MAX_SIGNERS};
use crate::login::signer_request::{SignerOutcome, SignerRequest};
use crate::machine::{Effect, SignerReport, StepResult};
use crate::ports::{SignerSession, SignerSessionUpdate, UserSigner};
use crate::{ClientNetwork, UnixMillis};

impl Login {
    /// The request to the user's remote signer.
    pub const fn signer(&self) -> Option<&SignerRequest> {
        self.signer.as_ref()
    }

    /// Sends a request to the remote signer that the user has named, replacing an earlier one.
    pub fn ask_signer(
        &mut self,
        session: SignerSession,
        challenge: LoginChallenge,
        network: Option<ClientNetwork>,
        now: UnixMillis,
    ) -> Result<Vec<Effect>, AskSignerError> {
        self.check_open(now).map_err(|LoginOver| AskSignerError::Ended)?;
        if self.signer.as_ref().is_some_and(|signer| signer.number() >= MAX_SIGNERS) {
            return Err(AskSignerError::TooMany);
        }
        let request = SignerRequest::new(session, challenge, self.signer.as_ref());
        let ask = request.ask(self.expires_at, network);
        self.signer = Some(request);
        Ok(vec![ask])
    }

    pub(super) fn signer_reported(&mut self, report: &SignerReport, now: UnixMillis) -> StepResult {
        let Some(signer) = &mut self.signer else { return StepResult::Ignored };
        let ended = match signer.take(report, now) {
            SignerOutcome::Ignored => return StepResult::Ignored,
            SignerOutcome::Changed => return StepResult::Stepped(Vec::new()),
            SignerOutcome::Proven(main_key) => {
                // A later authentication of this user uses the same signer.
                let signer =
                    UserSigner { main_key, session: signer.session().clone(), update: SignerSessionUpdate::Store };
                let proven = self.prove(main_key, LoginMethod::Signer, now);
                proven.map(|effects| [Effect::KeepSigner(signer)].into_iter().chain(effects).collect())
            }
            SignerOutcome::Declined { reason, .. } => self.decline_for(&reason, LoginMethod::Signer, now),
        };
        ended.map_or(StepResult::Ignored, StepResult::Stepped)
    }
}
