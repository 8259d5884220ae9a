//! A request to the ticket wallet, and the conversion of its reply to an input.

use std::sync::Arc;

use tokio::task::JoinSet;
use tracing::{debug, error};

use super::TicketQueue;
use super::call_kind::failed;
use crate::StreamId;
use crate::kernel::ticket_metrics::TicketCallKind;
use crate::machine::{Input, TicketCall, TicketReply, VerifiedToken};
use crate::ports::{TicketError, TicketJobId, TicketWallet};

const MINT: &str = "operation: mint";

fn job_of(id: StreamId, kind: &'static str) -> TicketJobId {
    TicketJobId::derive(kind, id.as_bytes())
}

/// The job by which an operation redeems a token, also for a direct request of the app.
pub(crate) fn redeem_job(id: StreamId) -> TicketJobId {
    job_of(id, "operation: redeem")
}

impl TicketQueue {
    /// Makes the request. A panic of the adapter counts as a reply with an unknown outcome.
    pub(super) async fn call_guarded(self: &Arc<Self>, id: StreamId, call: TicketCall) -> Input {
        let Some(wallet) = self.wallet.clone() else {
            return failed(&call, TicketError::Unreachable("no ticket wallet is configured".to_owned()));
        };
        let asked = call.clone();
        // Aborted when the engine stops.
        let mut made = JoinSet::new();
        made.spawn(async move { make(&*wallet, id, call).await });
        let reply = match made.join_next().await {
            Some(Ok(reply)) => reply,
            Some(Err(_)) | None => {
                error!(stream_id = %id, "a call to the ticket wallet panicked");
                let failure = TicketError::InvalidResponse("the call ended without a result".to_owned());
                return failed(&asked, failure);
            }
        };
        let failure = match &reply {
            TicketReply::Minted(result) => self.metrics.count(TicketCallKind::Mint, result),
            TicketReply::Redeemed(result) => self.metrics.count(TicketCallKind::Redeem, result),
            TicketReply::Verified(result) => self.metrics.count(TicketCallKind::Verify, result),
            TicketReply::GivenUp(result) => self.metrics.count(TicketCallKind::GiveUp, result),
            TicketReply::State(result) => self.metrics.count(TicketCallKind::CheckState, result),
        };
        if let Some(failure) = failure {
            debug!(stream_id = %id, %failure, "the ticket wallet could not do it");
        }
        Input::Ticket(reply)
    }
}

async fn make(wallet: &dyn TicketWallet, id: StreamId, call: TicketCall) -> TicketReply {
    // Tests end the process at these points, and check after the next start that nothing is lost.
    match call {
        TicketCall::Mint(terms) => {
            fail::fail_point!("before-ticket-mint");
            let minted = wallet.mint(job_of(id, MINT), &terms, None).await;
            fail::fail_point!("after-ticket-mint");
            TicketReply::Minted(minted.map_err(Arc::new))
        }
        TicketCall::Redeem(terms) => {
            fail::fail_point!("before-ticket-redeem");
            let received = wallet.redeem(redeem_job(id), &terms, None).await;
            fail::fail_point!("after-ticket-redeem");
            TicketReply::Redeemed(received.map_err(Arc::new))
        }
        TicketCall::Verify(terms) => {
            fail::fail_point!("before-ticket-verify");
            let verified = wallet.verify(job_of(id, "operation: verify"), &terms).await;
            fail::fail_point!("after-ticket-verify");
            let verified = verified.and_then(|token| {
                let amount = wallet.read_token(&token)?.amount;
                Ok(VerifiedToken { token, amount })
            });
            TicketReply::Verified(verified.map_err(Arc::new))
        }
        TicketCall::GiveUp { .. } => TicketReply::GivenUp(wallet.give_up(job_of(id, MINT)).await.map_err(Arc::new)),
        TicketCall::CheckState { token, .. } => TicketReply::State(wallet.token_state(&token).await.map_err(Arc::new)),
    }
}
