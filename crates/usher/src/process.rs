//! What the process itself is prepared for.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use usher_instance::{Process, Watching};

/// Files that are open beside connections of callers: at most 1,024 posts to the webhook and 768 for 256 Lightning nodes that
/// connect to the embedded one; the database, relays, look-ups.
const OTHER_FILES: u64 = 2_048;

/// How many files so many connections need.
pub const fn files_needed(max_connections: u64) -> u64 {
    max_connections.saturating_add(OTHER_FILES)
}

/// As many files as a process started from here may raise its limit to; `None` is no limit.
#[cfg(unix)]
pub fn most_files() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum
}

/// As many files as a process started from here may have open: not limited here.
#[cfg(not(unix))]
pub const fn most_files() -> Option<u64> {
    None
}

/// Files that this process may have open, and those that it has; `None` where that is not known or not limited.
pub fn open_files() -> (Option<u64>, Option<u64>) {
    #[cfg(unix)]
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let allowed = None;
    // The directory itself is open while it is read.
    let open = std::fs::read_dir("/proc/self/fd").ok().map(|files| (files.count() as u64).saturating_sub(1));
    (allowed, open)
}

/// Allows as many open files as the system lets us, and warns when that is too few for so many connections. Each
/// connection is one, and the customary soft limit is 1,024: a service would be full long before
/// `limits.max_connections`.
#[cfg(unix)]
pub fn raise_file_limit(max_connections: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit of open files was not raised");
    }
    // None is no limit.
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

/// Allows as many open files as the system lets us: there is nothing to do here.
#[cfg(not(unix))]
pub fn raise_file_limit(_max_connections: u64) {}

/// What this program writes has keys, tokens and users' data: it is for nobody else, whatever the shell's umask says.
#[cfg(unix)]
pub fn keep_files_private() {
    use rustix::fs::Mode;
    use rustix::process::umask;

    let before = umask(Mode::RWXG | Mode::RWXO);
    umask(before | Mode::RWXG | Mode::RWXO);
}

/// There is no umask here.
#[cfg(not(unix))]
pub const fn keep_files_private() {}

/// Warns when the process runs as root: a fault in it would then be a fault in the whole machine.
#[cfg(unix)]
pub fn warn_of_root() {
    if rustix::process::geteuid().is_root() {
        tracing::warn!(
            "running as root; run the service as a user of its own (User= in the systemd unit, USER in the image)"
        );
    }
}

/// Warns when the process runs as root: there is no such user here.
#[cfg(not(unix))]
pub fn warn_of_root() {}

/// Lets a panic be said in the log, in the log's format, beside everything else.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        let backtrace = std::backtrace::Backtrace::capture();
        tracing::error!(place, panic = panic.payload_as_str(), %backtrace, "a task panicked: this is a bug");
    }));
}

/// Tells a program that was started anew why.
const STARTED_OVER: &str = "USHER_STARTED_OVER";

/// How long requests may take to be answered that were under way when this instance ceased to be the active one.
const ANSWERED_WITHIN: Duration = Duration::from_millis(100);

/// Cancelled when this process is about to start over.
static STEPPING_DOWN: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Cancelled when this process is about to start over: what is under way has no result that anybody may be told.
pub fn stepping_down() -> CancellationToken {
    STEPPING_DOWN.clone()
}

/// Sockets that go on to listen when this process starts over: clients wait a moment instead of being refused.
#[cfg(unix)]
static KEPT: Mutex<Vec<std::os::fd::OwnedFd>> = Mutex::new(Vec::new());

/// Keeps this socket when this process starts over.
#[cfg(unix)]
pub fn keep(listener: &TcpListener) {
    if let Ok(kept) = rustix::io::fcntl_dupfd_cloexec(listener, 0) {
        KEPT.lock().push(kept);
    }
}

/// Keeps this socket when this process starts over: not on this system.
#[cfg(not(unix))]
pub fn keep(_listener: &TcpListener) {}

/// Keeps none: the process ends, and nobody is to wait for it.
pub fn keep_none() {
    #[cfg(unix)]
    KEPT.lock().clear();
}

/// Passes the kept sockets on to the next program, as systemd passes sockets.
#[cfg(unix)]
fn pass_on(command: &mut std::process::Command) -> Option<Vec<std::os::fd::OwnedFd>> {
    use std::os::fd::AsRawFd as _;

    use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};

    /// The numbers of most file descriptors are below those of a process's connections.
    const FIRST: std::ops::Range<i32> = 512..1024;
    let kept = KEPT.lock();
    let at = |first: i32| -> Option<Vec<_>> {
        let numbered = kept.iter().zip(first..);
        let socket = |(kept, number)| fcntl_dupfd_cloexec(kept, number).ok().filter(|fd| fd.as_raw_fd() == number);
        numbered.map(socket).collect()
    };
    // One after the other, as the convention is.
    let (first, passed) = FIRST.step_by(8).find_map(|first| Some((first, at(first)?)))?;
    for socket in &passed {
        fcntl_setfd(socket, FdFlags::empty()).ok()?;
    }
    command.env("LISTEN_FDS", passed.len().to_string()).env("LISTEN_PID", std::process::id().to_string());
    command.env("LISTEN_FDS_FIRST_FD", first.to_string());
    Some(passed)
}

/// The socket for this address that the program before this one has passed on.
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

/// The socket for this address that the program before this one has passed on: none on this system.
#[cfg(not(unix))]
pub fn passed_on(_address: SocketAddr) -> Option<TcpListener> {
    None
}

/// Ends everything that this process does and starts the same program anew in its place, with the same arguments, which logs
/// why ([`log_start_over`]).
pub fn start_over(why: &str) -> ! {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;

        // The first also when the file has been replaced by another version since.
        let programs = [Some("/proc/self/exe".into()), std::env::current_exe().ok()];
        for program in programs.into_iter().flatten() {
            let mut arguments = std::env::args_os();
            let mut command = std::process::Command::new(program);
            if let Some(name) = arguments.next() {
                command.arg0(name);
            }
            let _passed = pass_on(&mut command);
            // Returns only when it has failed.
            let _ = command.args(arguments).env(STARTED_OVER, why).exec();
        }
    }
    std::process::exit(1)
}

/// Logs why this program was started anew, if it was.
pub fn log_start_over() {
    if let Ok(why) = std::env::var(STARTED_OVER) {
        tracing::warn!(why, "this instance starts over as a standby");
    }
}

/// This process, which ends when it loses its lease.
pub struct ThisProcess;

impl Process for ThisProcess {
    fn watch(&self, watching: Watching) -> std::io::Result<()> {
        // A thread of its own also wakes with the process after a pause.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new().name("lease".to_owned()).spawn(move || runtime.block_on(watching))?;
        Ok(())
    }

    fn start_over(&self, why: &'static str) {
        // Nothing reaches wallets, apps or the database any more: only those who wait are told.
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
