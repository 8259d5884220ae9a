//! The examples of a document that are run.

/// The examples of one document, or of several that share a shell.
pub(super) struct Script {
    pub(super) name: String,
    /// In order.
    pub(super) examples: Vec<Example>,
}

/// One block of commands.
pub(super) struct Example {
    /// Where it stands, as `file:line`.
    pub(super) place: String,
    pub(super) commands: String,
    /// It is left running.
    pub(super) background: bool,
    /// What it must write, and where that stands.
    output: Option<(String, String)>,
}

impl Example {
    pub(super) fn uses_the_instance(&self) -> bool {
        self.commands.contains("$BASE")
    }

    /// Says which line is missing in what was written.
    pub(super) fn check(&self, written: &str) -> Result<(), String> {
        let Some((place, expected)) = &self.output else { return Ok(()) };
        for expected in expected.lines().filter(|line| !line.trim().is_empty()) {
            // `…` stands for anything.
            let parts: Vec<_> = expected.split('…').map(regex::escape).collect();
            let pattern = regex::Regex::new(&format!("^{}$", parts.join(".*"))).unwrap();
            if !written.lines().any(|line| pattern.is_match(line)) {
                return Err(format!("{place}: nothing is like {expected}\nThis was written:\n{written}"));
            }
        }
        Ok(())
    }
}

impl Script {
    /// Adds the examples of a document.
    pub(super) fn append(&mut self, mut next: Self) {
        self.examples.append(&mut next.examples);
    }

    /// Reads a document; lines that begin with a command of `not_run` are left out. Panics when a block looks like an example,
    /// but would not be run as it is tagged.
    pub(super) fn read(name: &str, text: &str, not_run: &[(&str, &str)]) -> Self {
        let mut examples: Vec<Example> = Vec::new();
        let mut follows_an_example = false;
        for (line, info, body) in code_blocks(name, text) {
            let place = format!("{name}:{line}");
            let is_example = matches!(info, "sh" | "sh background");
            match info {
                "sh" | "sh background" => {
                    let runs = |line: &&str| !not_run.iter().any(|(command, _)| begins_with(line, command));
                    let commands = body.lines().filter(runs).flat_map(|line| [line, "\n"]).collect();
                    examples.push(Example { place, commands, background: info != "sh", output: None });
                }
                "text output" | "json output" => {
                    let example = examples.last_mut().filter(|example| follows_an_example && !example.background);
                    let Some(example) = example else { panic!("{place}: output of no example") };
                    example.output = Some((place, body));
                }
                _ => {
                    let language = info.split(' ').next().unwrap_or("");
                    let shell = ["", "sh", "bash", "zsh", "shell", "console", "shell-session"].contains(&language);
                    assert!(!shell, "{place}: ```{info} is not run: tag it `sh`, `sh background` or another language");
                    assert!(!info.contains("output"), "{place}: tag it `text output` or `json output`");
                }
            }
            follows_an_example = is_example;
        }
        Self { name: name.to_owned(), examples }
    }
}

/// Whether a line runs `command`, whatever its arguments.
fn begins_with(line: &str, command: &str) -> bool {
    let rest = line.trim_start().strip_prefix(command);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

/// The fenced code blocks of a document (CommonMark section 4.5, as far as our documents use it), in order: the line of the
/// opening, from 1, what follows the backticks, and the lines.
fn code_blocks<'a>(name: &str, text: &'a str) -> Vec<(usize, &'a str, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim_start();
        let info = trimmed.trim_start_matches('`');
        let (indent, ticks) = (line.len() - trimmed.len(), trimmed.len() - info.len());
        if ticks < 3 {
            continue;
        }
        let mut body = String::new();
        loop {
            let Some((_, line)) = lines.next() else { panic!("{name}:{}: the block is not closed", number + 1) };
            if line.trim().len() >= ticks && line.trim().bytes().all(|byte| byte == b'`') {
                break;
            }
            // In a list the block is indented as a whole.
            let own = line.len() - line.trim_start().len();
            body.push_str(&line[own.min(indent)..]);
            body.push('\n');
        }
        blocks.push((number + 1, info.trim(), body));
    }
    blocks
}
