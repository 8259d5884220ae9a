//! The auth token that each mint accepted last: for requests without a caller (spent checks, renewals), and for callers who
//! name none. Stored in one setting. A token is stored only after its mint has accepted it, so a wrong token of one caller
//! does not affect others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use usher_engine::ports::{MintAuthToken, StoreError, TicketStore};

use crate::mint_address::MintAddress;

const SETTING: &str = "mint_tokens";

/// Most mints whose token is kept. The token that was stored first is dropped first.
const MAX_TOKENS: usize = 256;

pub(crate) struct MintTokens {
    store: Arc<dyn TicketStore>,
    /// In the order of their last change; `None` until they are read.
    kept: Mutex<Option<Vec<Kept>>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    mint_url: String,
    token: MintAuthToken,
}

impl MintTokens {
    pub(crate) fn new(store: Arc<dyn TicketStore>) -> Self {
        Self { store, kept: Mutex::default() }
    }

    /// The token that this mint accepted last. `None` if the tokens cannot be read: the mint may require none.
    pub(crate) async fn of(&self, mint: &MintAddress) -> Option<MintAuthToken> {
        let mut kept = self.kept.lock().await;
        let kept = match self.read(&mut kept).await {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(%mint, %error, "the tokens of mints cannot be read; asking the mint without one");
                return None;
            }
        };
        kept.iter().find(|kept| kept.mint_url == mint.as_str()).map(|kept| kept.token.clone())
    }

    /// Stores a token that this mint has accepted, in place of the previous one.
    pub(crate) async fn keep(&self, mint: &MintAddress, token: &MintAuthToken) {
        let mut kept = self.kept.lock().await;
        let stored = match self.read(&mut kept).await {
            Ok(all) if all.iter().any(|kept| kept.mint_url == mint.as_str() && kept.token == *token) => return,
            Ok(all) => {
                all.retain(|kept| kept.mint_url != mint.as_str());
                all.push(Kept { mint_url: mint.as_str().to_owned(), token: token.clone() });
                let excess = all.len().saturating_sub(MAX_TOKENS);
                all.drain(..excess);
                self.write(all).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = stored {
            // Memory and store differ now: read again.
            *kept = None;
            tracing::warn!(%mint, %error, "the token of a mint cannot be stored; retrying with the next request");
        }
    }

    async fn read<'a>(&self, kept: &'a mut Option<Vec<Kept>>) -> Result<&'a mut Vec<Kept>, StoreError> {
        if kept.is_none() {
            let text = match self.store.setting(SETTING).await {
                // The check of all rows reports it. The next request with a token replaces it.
                Err(StoreError::Unreadable(_)) => None,
                text => text?,
            };
            *kept = Some(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default());
        }
        Ok(kept.get_or_insert_default())
    }

    async fn write(&self, all: &[Kept]) -> Result<(), StoreError> {
        let text = serde_json::to_string(all).map_err(|error| StoreError::Failed(Box::new(error)))?;
        self.store.set_setting(SETTING, Some(&text)).await
    }
}
