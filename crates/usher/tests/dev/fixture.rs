//! `usher dev` as a newcomer has it before them: its banner, its commands to paste, its prompt.

use std::io::Write as _;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};

use serde_json::Value;

use crate::common::{Running, stderr, stdout, usher};

/// `usher dev` on free ports, so that tests run beside each other and beside a real one.
pub(crate) fn dev(folder: Option<&Path>) -> Command {
    // What it writes is private whatever the umask says.
    let program = usher();
    let mut command = Command::new("sh");
    command.env_clear().stdin(Stdio::null()).args(["-c", "umask 0; exec \"$0\" \"$@\""]).arg(program.get_program());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["dev", "--port", "0", "--relay-port", "0"]);
    if let Some(folder) = folder {
        command.arg("--data-dir").arg(folder);
    }
    command
}

/// The last line of the banner.
pub(crate) const NEXT: &str = "Log the user in now. Type:  scan";

/// The banner, once `usher dev` has started. What it logs meanwhile, on standard error, begins with the time.
pub(crate) fn banner(running: &mut Running) -> String {
    running.wait_for(NEXT);
    let lines = running.said.lines().skip_while(|line| !line.starts_with("Usher is running"));
    lines.filter(|line| !line.starts_with("20")).flat_map(|line| [line, "\n"]).collect()
}

/// The value behind a name in the banner.
pub(crate) fn field<'a>(banner: &'a str, name: &str) -> &'a str {
    let line = banner.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
    line.trim_start().strip_prefix(name).unwrap().trim()
}

/// The pages that the banner offers, and the folders in which they are.
pub(crate) const PAGES: [(&str, &str); 3] = [("login page", "login"), ("payment", "pay"), ("age check", "verify")];

/// What a browser gets there.
pub(crate) fn fetch(page: &str) -> String {
    let output = Command::new("curl").args(["-sS", "--fail", page]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

/// Waits until a page contains this.
pub(crate) fn wait_for_page(page: &str, part: &str) -> String {
    let shown = (0..600).find_map(|_| {
        let shown = Some(fetch(page)).filter(|html| html.contains(part));
        std::thread::sleep(std::time::Duration::from_millis(if shown.is_some() { 0 } else { 100 }));
        shown
    });
    shown.unwrap_or_else(|| panic!("{page} never has {part}"))
}

/// The rows that a text takes in a terminal of 80 columns.
pub(crate) fn rows(text: &str) -> usize {
    text.lines().map(|line| line.chars().count().max(1).div_ceil(80)).sum()
}

/// The blocks of commands that `tour` prints.
pub(crate) struct Tour(pub(crate) Vec<String>);

impl Tour {
    /// Types `tour`.
    pub(crate) fn show(running: &mut Running, stdin: &mut ChildStdin) -> Self {
        let before = running.said.len();
        writeln!(stdin, "tour").unwrap();
        running.wait_for(" listen --base ");
        let text = &running.said[before..];
        let paragraphs: Vec<&str> = text.split("\n\n").collect();
        let blocks = paragraphs.windows(2).filter(|pair| pair[0].ends_with(':'));
        Self(blocks.map(|pair| pair[1].trim().to_owned()).collect())
    }

    /// The block that contains this.
    pub(crate) fn block(&self, part: &str) -> &str {
        let mut blocks = self.0.iter().skip(1).filter(|block| block.contains(part));
        let block = blocks.next().unwrap_or_else(|| panic!("no block has {part}: {:?}", self.0));
        assert!(blocks.next().is_none(), "several blocks have {part}: {:?}", self.0);
        block
    }

    /// A shell that runs this after the first block.
    pub(crate) fn shell(&self, commands: &str) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &format!("{}\n{commands}", self.0[0])]);
        shell
    }

    /// Pastes this after the first block, and returns the last line that it prints, which is JSON.
    pub(crate) fn paste(&self, commands: &str) -> Value {
        let output = self.shell(commands).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let text = stdout(&output);
        let last = text.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
        serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// As [`paste`](Self::paste), in another terminal.
    pub(crate) fn pasting(&self, commands: &str) -> std::thread::JoinHandle<Value> {
        let (tour, commands) = (Self(self.0.clone()), commands.to_owned());
        std::thread::spawn(move || tour.paste(&commands))
    }
}

/// Starts `usher dev` with an open standard input.
pub(crate) fn start(folder: Option<&Path>) -> (Running, ChildStdin, String) {
    let mut command = dev(folder);
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let stdin = running.stdin();
    let banner = banner(&mut running);
    (running, stdin, banner)
}

/// The stream that a polling command names.
pub(crate) fn stream_in(command: &str) -> &str {
    command.split_once("/events/").unwrap().1.split_once('?').unwrap().0
}

/// The last status that a stream reported.
pub(crate) fn last_status(events: &Value) -> &Value {
    &events["events"].as_array().unwrap().last().unwrap()["data"]["status"]
}

/// The files of a folder with their sizes.
pub(crate) fn contents(folder: &Path) -> Vec<(std::ffi::OsString, u64)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut contents: Vec<_> = entries.map(|entry| (entry.file_name(), entry.metadata().unwrap().len())).collect();
    contents.sort();
    contents
}
