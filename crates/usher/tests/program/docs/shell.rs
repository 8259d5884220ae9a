//! The folder, the environment and the shell in which a document's examples run.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::script::Script;
use super::{GIVEN, repository};
use crate::common::{KEY, TOKEN};

/// What runs in one shell may take so long; the README's tour takes five seconds.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Stands before what an example writes: a character that no program writes.
const MARK: char = '\u{1e}';

/// A folder for one document, and ports of its own.
struct Fixture {
    folder: TempDir,
    port: u16,
    relay_port: u16,
}

impl Fixture {
    fn set() -> Self {
        let folder = tempfile::Builder::new().prefix("usher-docs-").tempdir().expect("a folder");
        let [port, relay_port] = [(); 2].map(|()| usher_loopback_port::free().unwrap());
        let here = folder.path().join("usher");
        std::fs::create_dir_all(here.join("target/debug")).unwrap();
        std::fs::create_dir_all(folder.path().join("home")).unwrap();
        symlink(env!("CARGO_BIN_EXE_usher"), here.join("target/debug/usher")).unwrap();
        for name in ["README.md", "docs", "scripts"] {
            symlink(repository().join(name), here.join(name)).unwrap();
        }
        for (name, content, _) in GIVEN {
            std::fs::write(here.join(name), content).unwrap();
        }
        Self { folder, port, relay_port }
    }

    /// A file that belongs to no example's folder.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A shell in what looks like the repository.
    fn bash(&self) -> Command {
        let bin = Path::new(env!("CARGO_BIN_EXE_usher")).parent().unwrap().display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command
            .current_dir(self.file("usher"))
            .env_clear()
            .env("PATH", format!("{bin}:{path}"))
            .env("HOME", self.file("home"))
            .env("LANG", "C.UTF-8")
            .env("SERVICE__AUTH__AUTH_TOKEN", TOKEN)
            .env("SERVICE__NOSTR__PRIVATE_KEY", KEY)
            .env("SERVICE__NOSTR__RELAYS", format!("ws://127.0.0.1:{}", self.relay_port))
            .env("SERVICE__INFO__LISTEN_PORT", self.port.to_string());
        command
    }

    /// The commands with this fixture's ports, and `usher dev` in the place of the script that builds it.
    fn adapt(&self, commands: &str) -> String {
        let mut adapted = commands.to_owned();
        for host in ["127.0.0.1", "localhost", "0.0.0.0"] {
            adapted = adapted.replace(&format!("{host}:3000"), &format!("127.0.0.1:{}", self.port));
            adapted = adapted.replace(&format!("{host}:7777"), &format!("127.0.0.1:{}", self.relay_port));
        }
        let dev = format!("dev --port {} --relay-port {}", self.port, self.relay_port);
        adapted
            .replace("scripts/dev --embedded", "usher dev --embedded")
            .replace("scripts/dev", "usher --data-dir target/dev dev")
            .replace("usher dev", &format!("usher {dev}"))
            .replace("target/dev dev", &format!("target/dev {dev}"))
    }

    fn program(&self, script: &Script) -> String {
        let mut program = "set -euo pipefail\n".to_owned();
        for example in &script.examples {
            let commands = self.adapt(&example.commands);
            let _ = writeln!(program, "printf '\\036%s\\n' {:?}", example.place);
            if example.background {
                // Standard input stays open, as that of a terminal: `usher dev` reads commands from it. What it writes is not mixed
                // with what the next examples write. Then it is waited until the service answers, or what was started has ended.
                let (said, port) = (self.file("background"), self.port);
                let _ = write!(
                    program,
                    "{{\n{commands}}} < <(exec sleep 600) > {said:?} 2>&1 &\n\
                     background=$!\n\
                     until curl -sf --max-time 5 -o /dev/null http://127.0.0.1:{port}/health; do\n\
                     kill -0 \"$background\" 2>/dev/null || {{ echo 'what was started has ended'; cat {said:?}; exit 1; }}\n\
                     sleep 0.1\n\
                     done\n\
                     while [ -d target/dev ] && [ ! -e target/dev/env.sh ]; do sleep 0.1; done\n"
                );
            } else {
                program.push_str(&commands);
            }
        }
        program + "printf '\\036%s\\n' 'the end'\n"
    }
}

/// Runs the examples of a document; returns the failures.
pub(super) fn run(script: &Script) -> Result<(), String> {
    if script.examples.iter().all(|example| example.commands.trim().is_empty()) {
        return Ok(());
    }
    let fixture = Fixture::set();
    let output = File::create(fixture.file("output")).expect("an output file");
    let mut bash = fixture.bash();
    bash.args(["--noprofile", "--norc", "-c", &fixture.program(script)])
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("the output file"))
        .stderr(output)
        // A group of its own: what it leaves running ends with it.
        .process_group(0);
    let mut group = Group(bash.spawn().expect("bash"));
    let status = group.wait();
    let written = String::from_utf8_lossy(&std::fs::read(fixture.file("output")).unwrap_or_default()).into_owned();
    drop(group);

    let sections: Vec<_> = written.split(MARK).skip(1).collect();
    let last = sections.last().copied().unwrap_or(&written);
    let Some(true) = status.map(|status| status.success()) else {
        let what = status.map_or_else(|| format!("takes longer than {TIME_LIMIT:?}"), |status| status.to_string());
        return Err(format!("{}: {what}. It ended here:\n{last}", script.name));
    };
    if sections.len() != script.examples.len() + 1 {
        return Err(format!("{}: the shell ended before all was run:\n{last}", script.name));
    }
    script.examples.iter().zip(sections).try_for_each(|(example, section)| example.check(section))
}

/// A process and all that it started. Dropping it kills them.
struct Group(Child);

impl Group {
    /// Its exit status; `None` when it takes too long.
    fn wait(&mut self) -> Option<ExitStatus> {
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            let status = self.0.try_wait().expect("a status");
            if status.is_some() || Instant::now() > deadline {
                return status;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group lives as long as any process in it, also when the shell, its first, has ended.
        if let Some(pid) = Pid::from_raw(i32::try_from(self.0.id()).unwrap_or(0)) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
