//! The library's log, in the service's.

use ldk_node::logger::{LogLevel, LogRecord, LogWriter};

/// Passes on what an operator may want to know. The library's `info` and below name each invoice and payment: they are
/// `debug` here, and what is below is dropped, because it may contain secrets.
pub(crate) struct LogBridge;

impl LogWriter for LogBridge {
    fn log<'a>(&self, record: LogRecord<'a>) {
        match record.level {
            LogLevel::Error | LogLevel::Warn => {
                tracing::warn!(part = record.module_path, "Lightning node: {}", record.args)
            }
            LogLevel::Info => tracing::debug!(part = record.module_path, "Lightning node: {}", record.args),
            LogLevel::Debug | LogLevel::Trace | LogLevel::Gossip => {}
        }
    }
}
