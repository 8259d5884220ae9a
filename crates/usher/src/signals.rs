//! Signals that stop the program or reload its configuration.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for SIGTERM and SIGINT; on systems without signals, for Ctrl-C.
pub struct Signals {
    #[cfg(unix)]
    terminate: Signal,
    #[cfg(unix)]
    interrupt: Signal,
}

/// Waits for SIGHUP, which reloads the configuration; on systems without signals, forever.
pub struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Hangups {
    /// Handles SIGHUP from now on, which then no longer ends the process.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Returns when a signal has arrived since the last call.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        // The stream never ends.
        let _ = self.hangup.recv().await;
    }

    /// Never returns.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}

impl Signals {
    /// Handles these signals from now on, which then no longer end the process; nor does SIGXFSZ.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn listen() -> io::Result<Self> {
        // At its size limit (`LimitFSIZE=`), a file fails to grow, which is handled like a full disk; by default the
        // signal SIGXFSZ would end the process. Once handled, it stays handled.
        #[cfg(unix)]
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Self {
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next signal and returns its name.
    #[cfg(unix)]
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for the next signal and returns its name.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}
