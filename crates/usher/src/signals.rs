//! Signals that ask the program to stop, or to re-read its configuration.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for SIGTERM and SIGINT; where there are no signals, for Ctrl-C.
pub struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

/// Waits for SIGHUP, which asks the service to re-read its configuration; where there are no signals, for ever.
pub struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Hangups {
    /// From now on SIGHUP is ours and no longer ends the process.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Returns when one has come since the last.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        // There is no end to them.
        let _ = self.hangup.recv().await;
    }

    /// Never returns.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}

impl Signals {
    /// From now on these signals are ours and no longer end the process by themselves; nor does SIGXFSZ.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> io::Result<Self> {
        // A file that has reached its limit (`LimitFSIZE=`) fails to grow, as on a full disk, and is dealt with as such; by
        // default the signal that says so ends the process without a word. Once listened to it never does again.
        #[cfg(unix)]
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Self {
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Returns when the next one comes, with its name.
    #[cfg(unix)]
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Returns when the next one comes, with its name.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}
