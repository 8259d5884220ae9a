//! Selects the examples of a document that are run.

use crate::docs::code_blocks;

/// The examples of one document.
#[derive(Clone, Debug)]
pub(super) struct Script {
    /// The document.
    pub(super) name: String,
    /// Its examples, in order.
    pub(super) examples: Vec<Example>,
}

/// One block of commands.
#[derive(Clone, Debug)]
pub(super) struct Example {
    /// Where it stands, as `file:line`.
    pub(super) place: String,
    /// The commands.
    pub(super) commands: String,
    /// It is left running.
    pub(super) background: bool,
    /// What it must write.
    pub(super) output: Option<Output>,
}

/// What an example must write.
#[derive(Clone, Debug)]
pub(super) struct Output {
    place: String,
    lines: String,
}

impl Example {
    /// Whether it starts the instance that the pages share.
    pub(super) fn starts_the_instance(&self) -> bool {
        self.background && self.commands == "scripts/dev\n"
    }
}

impl Script {
    /// Adds the examples of a document. The instance runs already, unless these are the first.
    pub(super) fn append(&mut self, mut next: Self) {
        let is_running = self.examples.iter().any(Example::starts_the_instance);
        next.examples.retain(|example| !is_running || !example.starts_the_instance());
        self.examples.append(&mut next.examples);
    }

    /// Reads a document; lines that begin with a command of `not_run` are left out.
    ///
    /// # Panics
    /// When a block looks like an example, but would not be run as it is tagged.
    pub(super) fn read(name: &str, text: &str, not_run: &[(&str, &str)]) -> Self {
        let mut examples: Vec<Example> = Vec::new();
        let mut follows_an_example = false;
        for fence in code_blocks::of(name, text) {
            let place = format!("{name}:{}", fence.line);
            match fence.info.as_str() {
                "sh" | "sh background" => {
                    let runs = |line: &&str| !not_run.iter().any(|(command, _)| begins_with(line, command));
                    let commands = fence.body.lines().filter(runs).fold(String::new(), |all, line| all + line + "\n");
                    let background = fence.info == "sh background";
                    examples.push(Example { place, commands, background, output: None });
                    follows_an_example = true;
                    continue;
                }
                "text output" | "json output" => {
                    let example = examples.last_mut().filter(|example| follows_an_example && !example.background);
                    let example = example.unwrap_or_else(|| panic!("{place}: output of no example"));
                    example.output = Some(Output { place, lines: fence.body });
                }
                info => {
                    let language = info.split(' ').next().unwrap_or("");
                    let shell = ["", "sh", "bash", "zsh", "shell", "console", "shell-session"].contains(&language);
                    assert!(!shell, "{place}: ```{info} is not run: tag it `sh`, `sh background` or another language");
                    assert!(!info.contains("output"), "{place}: tag it `text output` or `json output`");
                }
            }
            follows_an_example = false;
        }
        Self { name: name.to_owned(), examples }
    }

    /// How many examples it has.
    pub(super) fn len(&self) -> usize {
        self.examples.len()
    }
}

/// Whether a line runs `command`, whatever its arguments.
fn begins_with(line: &str, command: &str) -> bool {
    let rest = line.trim_start().strip_prefix(command);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

impl Output {
    /// Says which line is missing in what was written.
    pub(super) fn check(&self, written: &str) -> Result<(), String> {
        for expected in self.lines.lines().filter(|line| !line.trim().is_empty()) {
            if !written.lines().any(|line| matches(expected, line)) {
                return Err(format!("{}: nothing that was written is like {expected}", self.place));
            }
        }
        Ok(())
    }
}

/// Whether `line` is `pattern`, in which `…` stands for anything.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else { return false };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(found) = rest.find(part) else { return false };
        rest = &rest[found + part.len()..];
    }
    rest.ends_with(last)
}
