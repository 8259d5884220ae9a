use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use super::wallet_state::WalletState;
use super::{FileError, Request, WalletFile};

/// Saves the requests that [`RequestSaver`](super::saved_requests::RequestSaver) takes.
#[derive(Debug)]
pub(super) struct SavingTask {
    pub(super) path: PathBuf,
    /// Requests; `None` for subscriptions only, which are saved each time.
    pub(super) arrived: mpsc::Receiver<Option<Request>>,
}

impl SavingTask {
    pub(super) async fn run(mut self, wallet: Arc<WalletState>) {
        while let Some(first) = self.arrived.recv().await {
            let mut requests = Vec::from_iter(first);
            while let Ok(next) = self.arrived.try_recv() {
                requests.extend(next);
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
    let subscriptions = wallet.subscriptions.lock().clone();
    WalletFile::load(path)?.update(|file| {
        file.take_over_subscriptions(subscriptions);
        for request in requests {
            // A repeated request may be another event.
            let is_same = |read: Request| read.id == request.id && read.from == request.from;
            if !file.requests.iter().any(|saved| wallet.read(&saved.event).is_some_and(is_same)) {
                file.remember(request, None);
            }
        }
    })
}
