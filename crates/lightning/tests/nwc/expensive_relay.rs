//! A relay that costs as much as it can.

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::backend_under_test::{BackendHandle, LONG};
use crate::scripted_wallet::ScriptedWallet;

/// Continuation frames without end and without content never become a message, so only the connection's limits end them.
#[tokio::test]
async fn endless_continuation_frames_end_the_connection() {
    let scripted = ScriptedWallet::start().await;
    let backend = BackendHandle::start(&scripted.url());
    let mut stream = scripted.subscribed().await.into_stream();
    let flooding = async {
        // The beginning of a text message, and then thousands of empty fragments of it at a time.
        stream.write_all(&[0x01, 0x00]).await.unwrap();
        while stream.write_all(&[0; 16 * 1024]).await.is_ok() {}
    };
    timeout(LONG, flooding).await.expect("the backend closes the connection");
    backend.until(false).await;
    backend.stop().await;
}
