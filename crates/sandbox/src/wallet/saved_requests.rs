//! Saving requests in the wallet's file as they arrive.
//!
//! Relays do not keep requests. A wallet that stays connected saves those that wait for the user, so that a command in
//! another terminal does not wait until the service sends them again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::wallet_state::WalletState;
use super::{FileError, Request, WalletFile};

/// Requests that may wait to be saved.
const MAX_WAITING: usize = 256;

/// Takes the requests to save.
#[derive(Debug)]
pub(super) struct RequestSaver(mpsc::Sender<Request>);

/// Saves them.
#[derive(Debug)]
pub(super) struct SavingTask {
    path: PathBuf,
    arrived: mpsc::Receiver<Request>,
}

impl RequestSaver {
    /// Nothing is saved without a file.
    pub(super) fn new(file: Option<PathBuf>) -> (Option<Self>, Option<SavingTask>) {
        let Some(path) = file else { return (None, None) };
        let (sender, arrived) = mpsc::channel(MAX_WAITING);
        (Some(Self(sender)), Some(SavingTask { path, arrived }))
    }

    /// Saves a request soon. It may be one that is saved already.
    pub(super) fn save(&self, request: Request) {
        if request.asked.is_request() && self.0.try_send(request).is_err() {
            tracing::debug!("too many requests arrive at once; one is not saved");
        }
    }
}

impl SavingTask {
    pub(super) async fn run(mut self, wallet: Arc<WalletState>) {
        while let Some(first) = self.arrived.recv().await {
            let mut requests = vec![first];
            while let Ok(next) = self.arrived.try_recv() {
                requests.push(next);
            }
            let (state, path) = (Arc::clone(&wallet), self.path.clone());
            let saved = wallet.tasks.spawn_blocking(move || save(&state, &path, &requests)).await;
            if let Ok(Err(error)) = saved {
                tracing::debug!(%error, "a request could not be saved");
            }
        }
    }
}

fn save(wallet: &WalletState, path: &Path, requests: &[Request]) -> Result<(), FileError> {
    WalletFile::load(path)?.update(|file| {
        for request in requests {
            // A repeated request may be another event.
            let is_same = |read: Request| read.id == request.id && read.from == request.from;
            if !file.requests.iter().any(|saved| wallet.read(&saved.event).is_some_and(is_same)) {
                file.remember(request, None);
            }
        }
    })
}
