//! Settings of the process itself.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use usher_instance::{Process, Watching};

/// Open files besides callers' connections: at most 1,024 posts to the webhook and 768 for 256 Lightning nodes
/// connected to the embedded one; the database, relays, look-ups.
const OTHER_FILES: u64 = 2_048;

/// How many files this many connections need.
pub const fn files_needed(max_connections: u64) -> u64 {
    max_connections.saturating_add(OTHER_FILES)
}

/// The limit of open files to which a process started from here can raise its own; `None` means unlimited.
#[cfg(unix)]
pub fn most_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum
}

/// Unlimited on this system.
#[cfg(not(unix))]
pub const fn most_files() -> Option<u64> {
    None
}

/// The limit of open files, and the number of open ones; `None` if unknown or unlimited.
pub fn open_files() -> (Option<u64>, Option<u64>) {
    #[cfg(unix)]
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let allowed = None;
    // The directory itself is open while it is read.
    let open = std::fs::read_dir("/proc/self/fd").ok().map(|files| (files.count() as u64).saturating_sub(1));
    (allowed, open)
}

/// Raises the limit of open files to the maximum, and warns if that is too low for the connections. The usual soft
/// limit of 1,024 is far below `limits.max_connections`.
#[cfg(unix)]
pub fn raise_file_limit(max_connections: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files was not raised");
    }
    // `None` means unlimited.
    let Some(allowed) = getrlimit(Resource::Nofile).current else { return };
    if allowed < files_needed(max_connections) {
        tracing::warn!(
            allowed,
            max_connections,
            "the limit of open files is too low for limits.max_connections; raise it (LimitNOFILE=, ulimit -n) or \
             lower limits.max_connections"
        );
    }
}

/// Nothing to do on this system.
#[cfg(not(unix))]
pub fn raise_file_limit(_max_connections: u64) {}

/// Files written by this program contain keys, tokens and users' data: only their owner may read them, regardless of
/// the shell's umask.
#[cfg(unix)]
pub fn keep_files_private() {
    use rustix::fs::Mode;
    use rustix::process::umask;

    let before = umask(Mode::RWXG | Mode::RWXO);
    umask(before | Mode::RWXG | Mode::RWXO);
}

/// No umask on this system.
#[cfg(not(unix))]
pub const fn keep_files_private() {}

/// Warns if the process runs as root, which gives faults in it access to the whole machine.
#[cfg(unix)]
pub fn warn_of_root() {
    if rustix::process::geteuid().is_root() {
        tracing::warn!(
            "running as root; run the service as a user of its own (User= in the systemd unit, USER in the image)"
        );
    }
}

/// No root user on this system.
#[cfg(not(unix))]
pub fn warn_of_root() {}

/// Writes panics to the log, in its format, besides the default report.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(place, panic = panic.payload_as_str(), %backtrace, "a task panicked: this is a bug");
    }));
}

/// The reason for a restart, passed to the new program.
const STARTED_OVER: &str = "USHER_STARTED_OVER";

/// How long pending requests may take when this instance ceases to be active.
const ANSWERED_WITHIN: Duration = Duration::from_millis(100);

/// Cancelled when this process is about to restart.
static STEPPING_DOWN: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Cancelled when this process is about to restart: pending work has no reliable result.
pub fn stepping_down() -> CancellationToken {
    STEPPING_DOWN.clone()
}

/// Sockets that keep listening when this process restarts, so that clients wait instead of being refused.
#[cfg(unix)]
static KEPT: Mutex<Vec<std::os::fd::OwnedFd>> = Mutex::new(Vec::new());

/// Keeps this socket when this process restarts.
#[cfg(unix)]
pub fn keep(listener: &TcpListener) {
    if let Ok(kept) = rustix::io::fcntl_dupfd_cloexec(listener, 0) {
        KEPT.lock().push(kept);
    }
}

/// Not supported on this system.
#[cfg(not(unix))]
pub fn keep(_listener: &TcpListener) {}

/// Keeps no sockets: the process ends, and clients must not wait.
pub fn keep_none() {
    #[cfg(unix)]
    KEPT.lock().clear();
}

/// Passes the kept sockets to the next program, as systemd passes sockets.
#[cfg(unix)]
fn pass_on(command: &mut std::process::Command) -> Option<Vec<std::os::fd::OwnedFd>> {
    use std::os::fd::AsRawFd as _;

    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

    /// The range in which free descriptors are searched: above most other ones, below those of connections.
    const FIRST: std::ops::Range<i32> = 512..1024;
    let kept = KEPT.lock();
    let at = |first: i32| -> Option<Vec<_>> {
        let numbered = kept.iter().zip(first..);
        let socket = |(kept, number)| fcntl_dupfd_cloexec(kept, number).ok().filter(|fd| fd.as_raw_fd() == number);
        numbered.map(socket).collect()
    };
    // Consecutive, as the convention requires.
    let (first, passed) = FIRST.step_by(8).find_map(|first| Some((first, at(first)?)))?;
    for socket in &passed {
        fcntl_setfd(socket, FdFlags::empty()).ok()?;
    }
    command.env("LISTEN_FDS", passed.len().to_string()).env("LISTEN_PID", std::process::id().to_string());
    command.env("LISTEN_FDS_FIRST_FD", first.to_string());
    Some(passed)
}

/// The socket for this address that the previous program has passed.
#[cfg(unix)]
pub fn passed_on(address: SocketAddr) -> Option<TcpListener> {
    static PASSED: LazyLock<Mutex<Vec<std::net::TcpListener>>> = LazyLock::new(|| {
        let mut sockets = listenfd::ListenFd::from_env();
        Mutex::new((0..sockets.len()).filter_map(|index| sockets.take_tcp_listener(index).ok().flatten()).collect())
    });
    let is_it = |listener: &std::net::TcpListener| {
        listener
            .local_addr()
            .is_ok_and(|bound| bound.ip() == address.ip() && (address.port() == 0 || bound.port() == address.port()))
    };
    let mut passed = PASSED.lock();
    let listener = passed.iter().position(is_it).map(|index| passed.remove(index))?;
    rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::CLOEXEC).ok()?;
    listener.set_nonblocking(true).ok()?;
    TcpListener::from_std(listener).ok()
}

/// Not supported on this system.
#[cfg(not(unix))]
pub fn passed_on(_address: SocketAddr) -> Option<TcpListener> {
    None
}

/// Ends all activity of this process and restarts the same program in its place, with the same arguments; it logs the
/// reason ([`log_start_over`]).
pub fn start_over(why: &str) -> ! {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;

        // The first works even if a new version has replaced the file.
        let programs = [Some("/proc/self/exe".into()), std::env::current_exe().ok()];
        for program in programs.into_iter().flatten() {
            let mut arguments = std::env::args_os();
            let mut command = std::process::Command::new(program);
            if let Some(name) = arguments.next() {
                command.arg0(name);
            }
            let _passed = pass_on(&mut command);
            // Returns only if it failed.
            let _ = command.args(arguments).env(STARTED_OVER, why).exec();
        }
    }
    std::process::exit(1)
}

/// Logs why this program was restarted, if it was.
pub fn log_start_over() {
    if let Ok(why) = std::env::var(STARTED_OVER) {
        tracing::warn!(why, "this instance starts over as a standby");
    }
}

/// This process, which ends when it loses its lease.
pub struct ThisProcess;

impl Process for ThisProcess {
    fn watch(&self, watching: Watching) -> std::io::Result<()> {
        // A separate thread also resumes with the process after a pause.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new().name("lease".to_owned()).spawn(move || runtime.block_on(watching))?;
        Ok(())
    }

    fn start_over(&self, why: &'static str) {
        // Nothing reaches wallets, apps or the database any more; only waiting clients get a response.
        STEPPING_DOWN.cancel();
        let end = move || {
            std::thread::sleep(ANSWERED_WITHIN);
            start_over(why);
        };
        if std::thread::Builder::new().name("start over".to_owned()).spawn(end).is_err() {
            start_over(why);
        }
    }

    fn exit(&self, why: &'static str) {
        let end = || {
            std::thread::sleep(ANSWERED_WITHIN);
            std::process::exit(1)
        };
        // Nobody may read standard error: then this thread waits at it.
        let _ = std::thread::Builder::new().name("exit".to_owned()).spawn(end);
        crate::output::tell(&format!("usher: stopped: {why}"));
        std::process::exit(1);
    }
}
