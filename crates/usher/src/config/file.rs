//! Values from `config.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Origin};
use super::given_values::{Entry, Layer, resolve};
use super::keys;
use super::suggestion::{nearest, presentable};
use super::text_file::read_file;
use super::toml_value::given;

/// The content of the file.
#[derive(Default)]
pub struct FileLayer {
    /// Values by key.
    pub given: Layer,
    /// Whether parts of the file could not be parsed.
    pub incomplete: bool,
}

/// The layer of the file at `path`, which may be missing.
pub fn layer(path: &Path, data_dir: &Path, errors: &mut Vec<ConfigError>) -> FileLayer {
    let text = match read_file(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return FileLayer::default(),
        Err(error) => {
            errors.push(ConfigError::at(Origin::File(path.to_owned()), format!("cannot be read: {error}")));
            return FileLayer { incomplete: true, ..FileLayer::default() };
        }
    };
    layer_of_text(&text, path, data_dir, errors)
}

/// The layer of this text as the file at `path`.
pub fn layer_of_text(text: &str, path: &Path, data_dir: &Path, errors: &mut Vec<ConfigError>) -> FileLayer {
    let line_of = |offset: usize| text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1;

    // Error-tolerant, so that the rest of the file is checked too. Only the parser's fixed messages are used, not its
    // `Display`, which quotes the file.
    let (table, syntax_errors) = DeTable::parse_recoverable(text);
    let mut slips = BTreeMap::new();
    for error in &syntax_errors {
        slips.entry(line_of(error.span().map_or(0, |span| span.start))).or_insert(error.message());
    }
    errors.extend(
        slips.iter().map(|(line, message)| {
            ConfigError::at(Origin::Line(path.to_owned(), *line), format!("not TOML: {message}"))
        }),
    );
    let broken = broken_lines(text, slips.keys());

    let mut walk = Walk { path, line_of: &line_of, broken: &broken, entries: Vec::new(), errors };
    walk.table("", table.get_ref());
    // The parser sorts keys; errors are reported from the top of the file.
    let mut entries = walk.entries;
    entries.sort_by_key(|(line, _)| *line);
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
    FileLayer { given: resolve(entries, data_dir, errors), incomplete: !syntax_errors.is_empty() }
}

/// The lines that cannot be interpreted: those with a syntax error, and the whole section below a broken header.
fn broken_lines<'a>(text: &str, slips: impl Iterator<Item = &'a usize>) -> BTreeSet<usize> {
    let slips: BTreeSet<usize> = slips.copied().collect();
    let mut header_broken = false;
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start().starts_with('[')));
    numbered
        .filter_map(|(number, is_header)| {
            let slip = slips.contains(&number);
            if is_header {
                header_broken = slip;
            }
            (slip || header_broken).then_some(number)
        })
        .collect()
}

struct Walk<'a> {
    path: &'a Path,
    line_of: &'a dyn Fn(usize) -> usize,
    /// Lines that are not TOML and are not interpreted.
    broken: &'a BTreeSet<usize>,
    entries: Vec<(usize, Entry)>,
    errors: &'a mut Vec<ConfigError>,
}

impl Walk<'_> {
    /// Visits a table; `prefix` is its name with a trailing dot, or empty for the root.
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        let mut unknown = Vec::new();
        for (key, value) in table {
            let line = (self.line_of)(key.span().start);
            if self.broken.contains(&line) {
                continue;
            }
            let name = format!("{prefix}{}", key.get_ref());
            let origin = Origin::Line(self.path.to_owned(), line);
            let found = keys::all().find_map(|known| {
                let is_file = known.file_name().is_some_and(|file| file == name);
                (is_file || known.name == name).then_some((known, is_file))
            });
            let is_section = keys::all().any(|known| known.name.starts_with(&format!("{name}.")));
            match (found, value.get_ref()) {
                (Some((key, is_file)), _) => {
                    self.entries.push((line, Entry { key, is_file, given: given(value), origin }));
                }
                (None, DeValue::Table(inner)) if is_section => self.table(&format!("{name}."), inner),
                (None, _) if is_section => unknown.push((line, ConfigError::at(origin, not_a_value(&name)))),
                (None, value) => {
                    unknown.push((line, ConfigError::at(origin, unknown_key(&name, value.is_table()))));
                }
            }
        }
        unknown.sort_by_key(|(line, _)| *line);
        self.errors.extend(unknown.into_iter().map(|(_, error)| error));
    }
}

fn not_a_value(name: &str) -> String {
    format!("{name} is a section: write [{name}] and its keys below it")
}

fn unknown_key(name: &str, is_section: bool) -> String {
    if !presentable(name) {
        return "unknown key; see `usher config default`".to_owned();
    }
    let known: Vec<&str> = if is_section {
        keys::SECTIONS.iter().map(|section| section.name).filter(|name| !name.is_empty()).collect()
    } else {
        keys::all().map(|key| key.name).collect()
    };
    let what = if is_section { "section" } else { "key" };
    match nearest(name, known.into_iter(), ".") {
        Some(near) => format!("unknown {what} {name}; did you mean {near}?"),
        None => format!("unknown {what} {name}; see `usher config default`"),
    }
}
