//! What the process itself is prepared for.

/// Allows as many open files as the system lets us. Each connection is one, and the customary soft limit is 1,024: a
/// service would be full long before `limits.max_connections`.
#[cfg(unix)]
pub fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files was not raised");
    }
}

/// Allows as many open files as the system lets us: there is nothing to do here.
#[cfg(not(unix))]
pub fn raise_file_limit() {}

/// Lets a panic be said in the log, in the log's format, beside everything else.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(place, panic = panic.payload_as_str(), %backtrace, "a task panicked: this is a bug");
    }));
}
