//! Forwards the library's log to the service's.

use ldk_node::logger::{LogLevel, LogRecord, LogWriter};

/// Forwards what operators may need. The library's `info` and below name each invoice and payment: `info` becomes
/// `debug`, and lower levels, which may contain secrets, are dropped.
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
