//! Links between documents, and the paths of source files that they name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The faults of a document: links whose file or heading does not exist, and paths that do not exist.
pub(super) fn faults(root: &Path, document: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(root.join(document)).expect("a document");
    let mut faults = Vec::new();
    for (number, line) in prose(&text) {
        let place = format!("{}:{number}", document.display());
        for target in links(line) {
            if let Err(fault) = follow(root, document, target) {
                faults.push(format!("{place}: {target}: {fault}"));
            }
        }
        for path in source_paths(line) {
            if !root.join(&path).exists() {
                faults.push(format!("{place}: no such path: {}", path.display()));
            }
        }
    }
    faults
}

/// The lines outside of fenced code, with their numbers from 1.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((index + 1, line));
        }
    }
    lines
}

/// The targets of `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// Checks one link; those to other sites are not followed.
fn follow(root: &Path, document: &Path, target: &str) -> Result<(), &'static str> {
    if target.starts_with("https://") || target.starts_with("http://") {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let here = root.join(document);
    let file = if path.is_empty() { here } else { here.parent().expect("a folder").join(path) };
    if !file.exists() {
        return Err("no such file");
    }
    let Some(anchor) = anchor else { return Ok(()) };
    let text = std::fs::read_to_string(&file).map_err(|_| "not a text file")?;
    if anchors(&text).contains(anchor) { Ok(()) } else { Err("no such heading") }
}

/// The anchors of the headings, in the form that forges give them: lower case, `-` for spaces, no punctuation.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|(_, line)| line.starts_with('#'));
    headings
        .map(|(_, line)| {
            let kept =
                line.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().to_lowercase().replace(' ', "-")
        })
        .collect()
}

/// Paths of this repository in `code`; `kernel/…` stands for `crates/engine/src/kernel/…`.
fn source_paths(line: &str) -> impl Iterator<Item = PathBuf> {
    line.split('`').skip(1).step_by(2).filter_map(|code| {
        let plain = code.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        let (first, _) = code.split_once('/').filter(|_| plain)?;
        match first {
            "crates" | "docs" | "fuzz" | "scripts" => Some(PathBuf::from(code)),
            "engine" | "kernel" | "operations" | "login" | "payment" | "subscription" | "ticket" | "verification" => {
                Some(Path::new("crates/engine/src").join(code))
            }
            _ => None,
        }
    })
}
