//! A PostgreSQL server for tests.

use std::io::Read as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The variable with the folder of another version's programs, such as `/usr/lib/postgresql/17/bin`.
const FOLDER: &str = "USHER_POSTGRES_BIN";

/// The superuser that the server is made with.
const USER: &str = "usher";

/// In every URL, and so in nothing else: tests look for it in errors and logs.
const PASSWORD: &str = "not-to-be-logged";

/// How long the server may take to begin.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Small, since a test has little data and a machine runs many tests. A commit survives the server, not the machine: no test ends that.
const SETTINGS: &[&str] = &[
    "listen_addresses=127.0.0.1",
    "shared_buffers=16MB",
    "max_connections=100",
    "fsync=off",
    "full_page_writes=off",
    "max_wal_size=128MB",
    "autovacuum_naptime=5s",
    "log_min_messages=fatal",
    "logging_collector=off",
];

/// Ends its child when its input ends: so the server ends with the test, however that ends.
const KEEPER: &str = r#""$@" & server=$!; read -r _; kill -QUIT "$server" 2>/dev/null; wait "$server""#;

/// A PostgreSQL server with a folder of its own on a free port of loopback. It ends with the test.
pub struct PostgresServer {
    folder: TempDir,
    port: u16,
    running: Option<(Child, ChildStdin)>,
    /// For [`shared`](Self::shared), which nobody drops.
    removes_folder: bool,
    has_tls: bool,
}

impl PostgresServer {
    pub fn start() -> Self {
        let mut server = Self::make(false);
        server.restart();
        server
    }

    /// A server that can also be connected to by TLS, with this certificate and key in PEM.
    pub fn start_with_tls(certificate: &str, key: &str) -> Self {
        let mut server = Self::make(false);
        for (name, pem) in [("server.crt", certificate), ("server.key", key)] {
            let path = server.folder().join("data").join(name);
            std::fs::write(&path, pem).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            give_away(&path);
        }
        server.has_tls = true;
        server.restart();
        server
    }

    /// A replica of this server. From now on a commit is acknowledged when both have it.
    pub fn start_replica(&self) -> Self {
        let folder = tempfile::Builder::new().prefix("usher-postgres-").tempdir().unwrap();
        give_away(folder.path());
        succeed(
            program("pg_basebackup")
                .args(["--dbname", &self.url("postgres"), "--pgdata"])
                .arg(folder.path().join("data"))
                .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]),
        );
        let port = usher_loopback_port::free().unwrap();
        let mut replica = Self { folder, port, running: None, removes_folder: false, has_tls: false };
        replica.restart();
        self.psql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.psql("postgres", "SELECT pg_reload_conf()");
        let deadline = Instant::now() + TIMEOUT;
        while self.psql("postgres", "SELECT sync_state FROM pg_stat_replication") != "sync" {
            assert!(Instant::now() < deadline, "the replica does not follow");
            std::thread::sleep(Duration::from_millis(20));
        }
        replica
    }

    /// Makes this replica a server of its own.
    pub fn promote(&self) {
        assert_eq!(self.psql("postgres", "SELECT pg_promote()"), "t");
    }

    /// One server for all tests of this process.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(|| {
            let mut server = Self::make(true);
            server.restart();
            server
        })
    }

    fn make(removes_folder: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("usher-postgres-").tempdir().unwrap();
        let password = folder.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        give_away(folder.path());
        succeed(
            program("initdb")
                .arg("--pgdata")
                .arg(folder.path().join("data"))
                .args(["--username", USER, "--pwfile"])
                .arg(&password)
                .args(["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"]),
        );
        let port = usher_loopback_port::free().unwrap();
        Self { folder, port, running: None, removes_folder, has_tls: false }
    }

    /// Starts it, after it was [stopped](Self::stop).
    pub fn restart(&mut self) {
        let mut server = program("postgres");
        server.arg("-D").arg(self.folder.path().join("data")).args(["-p", &self.port.to_string()]);
        for setting in SETTINGS {
            server.args(["-c", setting]);
        }
        server.arg("-c").arg(format!("unix_socket_directories={}", self.folder().display()));
        if self.has_tls {
            server.args(["-c", "ssl=on"]);
        }
        let mut keeper = Command::new("sh");
        let script = if self.removes_folder { format!("{KEEPER}; rm -rf \"$0\"") } else { KEEPER.to_owned() };
        keeper.arg("-c").arg(script).arg(self.folder.path()).arg(server.get_program()).args(server.get_args());
        // No output that is open after the test's end.
        let log = std::fs::File::create(self.log()).unwrap();
        keeper.current_dir(self.folder.path()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        let mut child = keeper.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        self.running = Some((child, input));
        self.wait_until_ready();
    }

    /// Ends the server at once, as a crash does; what was committed is there when it is [started](Self::restart) again.
    pub fn stop(&mut self) {
        if let Some((mut child, input)) = self.running.take() {
            drop(input);
            child.wait().unwrap();
        }
    }

    /// The URL of a database, without encryption.
    pub fn url(&self, database: &str) -> String {
        self.url_by(self.port, database)
    }

    pub fn url_by(&self, port: u16, database: &str) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// URLs of a database over the server's Unix socket, which is in its [folder](Self::folder): each way to name one.
    pub fn socket_urls(&self, database: &str) -> [String; 2] {
        let (port, folder) = (self.port, self.folder().display().to_string());
        [
            format!("postgres://{USER}:{PASSWORD}@/{database}?host={folder}&port={port}"),
            format!("postgres://{USER}:{PASSWORD}@{}:{port}/{database}", folder.replace('/', "%2F")),
        ]
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn password(&self) -> &'static str {
        PASSWORD
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Makes an empty database, and returns its name.
    pub fn database(&self) -> String {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        // Others are connected to template1 at times.
        self.psql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        name
    }

    /// What these statements say when an administrator runs them.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let mut psql = program("psql");
        psql.arg(self.url(database)).args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        String::from_utf8(succeed(&mut psql).stdout).unwrap().trim_end().to_owned()
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn wait_until_ready(&mut self) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some((child, _)) = &mut self.running
                && let Some(status) = child.try_wait().unwrap()
            {
                let log = std::fs::read_to_string(self.log()).unwrap();
                panic!("the PostgreSQL server ended: {status}, signal {:?}: {log}", status.signal());
            }
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() && self.answers() {
                return;
            }
            assert!(Instant::now() < deadline, "the PostgreSQL server did not begin in time");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn answers(&self) -> bool {
        let mut ready = program("pg_isready");
        ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        ready.status().unwrap().success()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A program of PostgreSQL: of the folder in [`FOLDER`] if it is there, of the newest version that Debian has installed, or what
/// is in the path. It does not run as root.
fn program(name: &str) -> Command {
    let chosen = std::env::var_os(FOLDER).map(|folder| PathBuf::from(folder).join(name));
    // Some packages have the server and no client.
    let path = chosen
        .filter(|path| path.exists())
        .or_else(|| Some(newest_of_debian()?.join(name)))
        .unwrap_or_else(|| PathBuf::from(name));
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(path);
        command
    } else {
        Command::new(path)
    };
    // The folder of the tests may be closed to that user.
    command.current_dir("/").stdin(Stdio::null());
    command
}

/// PostgreSQL refuses root: everything belongs to its own user then.
fn give_away(path: &Path) {
    if is_root() {
        succeed(Command::new("chown").arg("-R").arg("postgres").arg(path));
    }
}

fn newest_of_debian() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let folders = versions.filter_map(|entry| Some(entry.ok()?.path()));
    let newest = folders.filter(|path| path.join("bin/initdb").exists()).max_by_key(version)?;
    Some(newest.join("bin"))
}

fn is_root() -> bool {
    static IS_ROOT: OnceLock<bool> = OnceLock::new();
    *IS_ROOT.get_or_init(|| {
        let mut id = String::new();
        let mut child = Command::new("id").arg("-u").stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_to_string(&mut id).unwrap();
        child.wait().unwrap();
        id.trim() == "0"
    })
}

fn succeed(command: &mut Command) -> Output {
    let missing = "PostgreSQL is missing: scripts/test installs it";
    let output = command.output().expect(missing);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}
