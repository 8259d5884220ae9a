//! Checks the limit of open files, which include connections.

use super::finding::Finding;
use super::service::Service;
use crate::config::Config;
use crate::process;

const CHECK: &str = "open files";

const ADVICE: &str =
    "raise the limit (LimitNOFILE= in the systemd unit, ulimit -n in a shell), or lower limits.max_connections";

/// Compares the limit of the running service, else of this shell, with what `limits.max_connections` requires.
pub(super) async fn check(config: &Config, service: Option<&Service>) -> Finding {
    let needed = process::files_needed(config.limits.max_connections.get());
    let of_service = match service {
        Some(service) => service.metric("process_max_fds").await,
        None => None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of files, which is not negative"
    )]
    let (allowed, whose) = match of_service {
        Some(allowed) => (Some(allowed as u64), "the service may have"),
        // The service raises its soft limit to this.
        None => (process::most_files(), "a service started from here may have"),
    };
    match allowed {
        None => Finding::ok(CHECK, "not limited"),
        Some(allowed) if allowed >= needed => {
            Finding::ok(CHECK, format!("{whose} {allowed} open; {needed} are needed at most"))
        }
        Some(allowed) => {
            Finding::warn(CHECK, format!("{whose} {allowed} open, and limits.max_connections needs {needed}"), ADVICE)
        }
    }
}
