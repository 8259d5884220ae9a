//! The job that mints a token for a request.

use std::sync::Arc;

use crate::Requester;
use crate::kernel::ticket_metrics::{TicketCallKind, TicketMetrics};
use crate::ports::{MintTerms, Minted, TicketError, TicketJobId, TicketWallet};

pub(super) struct RequestedMint {
    pub(super) wallet: Arc<dyn TicketWallet>,
    pub(super) metrics: Arc<TicketMetrics>,
    pub(super) id: TicketJobId,
    pub(super) terms: MintTerms,
    pub(super) requester: Requester,
}

impl RequestedMint {
    pub(super) async fn ask(&self) -> Result<Minted, TicketError> {
        let minted = self.wallet.mint(self.id, &self.terms, self.requester.origin()).await;
        self.metrics.count(TicketCallKind::Mint, &minted);
        minted
    }

    pub(super) async fn abandon_quote(&self) {
        self.wallet.abandon_quote(self.id).await;
    }
}
