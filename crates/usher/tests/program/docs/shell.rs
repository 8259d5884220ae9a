//! The shell that runs a document's examples.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::docs::fixture::Fixture;
use crate::docs::runnable_examples::Script;

/// What runs in one shell may take so long; the README's tour takes five seconds.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Stands before what an example writes: a character that no program writes.
const MARK: char = '\u{1e}';

/// Runs the examples of a document, and says what went wrong.
pub(super) fn run(script: &Script) -> Result<(), String> {
    if script.examples.iter().all(|example| example.commands.trim().is_empty()) {
        return Ok(());
    }
    let fixture = Fixture::set();
    let output = File::create(fixture.output()).expect("an output file");
    let mut bash = Command::new("bash");
    fixture.environment(&mut bash);
    bash.args(["--noprofile", "--norc", "-c", &program(script, &fixture)])
        .stdin(Stdio::null())
        .stdout(output.try_clone().expect("the output file"))
        .stderr(output)
        // A group of its own: what it leaves running ends with it.
        .process_group(0);
    let mut group = Group(bash.spawn().expect("bash"));
    let status = group.wait();
    let written = String::from_utf8_lossy(&std::fs::read(fixture.output()).unwrap_or_default()).into_owned();
    drop(group);

    let sections: Vec<_> = written.split(MARK).skip(1).collect();
    let Some(true) = status.map(|status| status.success()) else {
        let last = sections.last().copied().unwrap_or(&written);
        let what = status.map_or_else(|| format!("takes longer than {TIME_LIMIT:?}"), |status| status.to_string());
        return Err(format!("{}: {what}. It ended here:\n{last}", script.name));
    };
    if sections.len() != script.len() + 1 {
        let last = sections.last().copied().unwrap_or(&written);
        return Err(format!("{}: the shell ended before all was run:\n{last}", script.name));
    }
    for (example, section) in script.examples.iter().zip(sections) {
        if let Some(expected) = &example.output {
            expected.check(section).map_err(|failure| format!("{failure}\nThis was written:\n{section}"))?;
        }
    }
    Ok(())
}

/// The examples as one program.
fn program(script: &Script, fixture: &Fixture) -> String {
    let mut program = "set -euo pipefail\n".to_owned();
    for example in &script.examples {
        let commands = fixture.adapt(&example.commands);
        let _ = writeln!(program, "printf '\\036%s\\n' {:?}", example.place);
        if example.background {
            // Standard input stays open, as that of a terminal: `usher dev` reads commands from it. What it writes is not mixed
            // with what the next examples write.
            let said = fixture.background_output();
            let _ = writeln!(
                program,
                "{{\n{commands}}} < <(exec sleep 600) > {said:?} 2>&1 &\n{}",
                wait_for(fixture.port, &said)
            );
        } else {
            program.push_str(&commands);
        }
    }
    program + "printf '\\036%s\\n' 'the end'\n"
}

/// Waits until the service answers; ends when what was started has ended.
fn wait_for(port: u16, said: &Path) -> String {
    format!(
        "background=$!\n\
         until curl -sf --max-time 5 -o /dev/null http://127.0.0.1:{port}/health; do\n\
         kill -0 \"$background\" 2>/dev/null || {{ echo 'what was started has ended'; cat {said:?}; exit 1; }}\n\
         sleep 0.1\n\
         done\n\
         while [ -d target/dev ] && [ ! -e target/dev/env.sh ]; do sleep 0.1; done\n"
    )
}

/// A process and all that it started. Dropping it kills them.
struct Group(Child);

impl Group {
    /// Its exit status; `None` when it takes too long.
    fn wait(&mut self) -> Option<std::process::ExitStatus> {
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            if let Some(status) = self.0.try_wait().expect("a status") {
                return Some(status);
            }
            if Instant::now() > deadline {
                return None;
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
