//! Fenced code blocks of Markdown (CommonMark section 4.5), as far as our documents use them.

/// A fenced code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    /// The line of its opening, from 1.
    pub(super) line: usize,
    /// What follows the backticks.
    pub(super) info: String,
    /// Its lines.
    pub(super) body: String,
}

/// The fenced code blocks of a document, in order.
///
/// # Panics
/// When one is not closed.
pub(super) fn of(name: &str, text: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        if ticks < 3 {
            continue;
        }
        let mut body = String::new();
        let mut closed = false;
        for (_, line) in lines.by_ref() {
            if line.trim().len() >= ticks && line.trim().bytes().all(|byte| byte == b'`') {
                closed = true;
                break;
            }
            // In a list the block is indented as a whole.
            let own = line.len() - line.trim_start().len();
            body.push_str(&line[own.min(indent)..]);
            body.push('\n');
        }
        assert!(closed, "{name}:{}: the block is not closed", number + 1);
        fences.push(Fence { line: number + 1, info: trimmed[ticks..].trim().to_owned(), body });
    }
    fences
}
