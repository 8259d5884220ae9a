//! Generates Rust code from the texts in `languages`, for the build scripts of crates with pages.
//!
//! A group of texts becomes a struct; groups with the same keys share one. A text becomes a field of type `&'static str`, or,
//! with `{placeholders}`, a method that takes their values in alphabetical order. A key with a leading `#` is a note for
//! translators about the next key.
//!
//! `en.json` defines the keys. The build fails if another language has other keys or placeholders, if code uses a missing text,
//! and, because the including modules deny dead code, if a text is unused.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

use indexmap::IndexMap;
use serde::Deserialize;

type Group = IndexMap<String, Node>;

#[derive(Deserialize)]
#[serde(untagged)]
enum Node {
    Text(String),
    Group(Group),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Language {
    #[serde(skip)]
    tag: String,
    /// The language's name for itself.
    language: String,
    /// The notice of pages in test mode.
    test_mode: String,
    pages: Group,
    consent: Group,
}

/// Writes `language.rs`: the type `Language`.
///
/// # Errors
/// When a file cannot be read or written, or is invalid; the same holds for the functions below.
pub fn generate_languages() -> Result<(), Box<dyn Error>> {
    let languages = read()?;
    let list = |line: fn(&str, &Language) -> String| -> String {
        languages.iter().map(|language| line(&camel_case(&language.tag), language)).collect()
    };
    let code = format!(
        "/// A language that pages have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {{
    #[default]
{variants}}}

impl Language {{
    /// Every language.
    pub const ALL: [Self; {count}] = [
{all}    ];

    /// Its tag (BCP 47).
    pub const fn tag(self) -> &'static str {{
        match self {{
{tags}        }}
    }}

    /// Its name in itself.
    pub const fn name(self) -> &'static str {{
        match self {{
{names}        }}
    }}

    /// The notice of the pages of `usher dev`.
    pub const fn test_mode(self) -> &'static str {{
        match self {{
{test_modes}        }}
    }}
}}
",
        variants = list(|variant, language| format!("    /// {}.\n    {variant},\n", language.language)),
        count = languages.len(),
        all = list(|variant, _| format!("        Self::{variant},\n")),
        tags = list(|variant, language| format!("            Self::{variant} => {:?},\n", language.tag)),
        names = list(|variant, language| format!("            Self::{variant} => {:?},\n", language.language)),
        test_modes = list(|variant, language| format!("            Self::{variant} => {:?},\n", language.test_mode)),
    );
    write("language.rs", &code)
}

/// Writes `texts.rs`: the type `Texts` with the texts of pages, and the function `of`, which returns those of a `Language`.
pub fn generate_pages() -> Result<(), Box<dyn Error>> {
    write("texts.rs", &texts(&read()?, |language| &language.pages)?)
}

/// Writes `texts.rs` with the texts of the OpenID provider's pages.
pub fn generate_consent() -> Result<(), Box<dyn Error>> {
    write("texts.rs", &texts(&read()?, |language| &language.consent)?)
}

/// All languages: English, the default, then the others sorted by tag.
fn read() -> Result<Vec<Language>, Box<dyn Error>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/languages");
    println!("cargo::rerun-if-changed={folder}");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)?.map(|file| Ok(file?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort_by_key(|path| (!path.ends_with("en.json"), path.clone()));
    let language = |path: &PathBuf| -> Result<Language, Box<dyn Error>> {
        let json = fs::read_to_string(path)?;
        let read = serde_json::from_str(&json).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Language { tag: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), ..read })
    };
    files.iter().map(language).collect()
}

fn write(file: &str, code: &str) -> Result<(), Box<dyn Error>> {
    let folder = std::env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    Ok(fs::write(Path::new(&folder).join(file), code)?)
}

fn texts(languages: &[Language], part: fn(&Language) -> &Group) -> Result<String, String> {
    let english = part(languages.first().ok_or("there is no language")?);
    let mut types = Types::default();
    let (mut constants, mut arms) = (String::new(), String::new());
    for language in languages {
        let Language { tag, .. } = language;
        let value = types.value("", part(language), english).map_err(|error| format!("{tag}.json: {error}"))?;
        let constant = tag.replace('-', "_").to_uppercase();
        constants += &format!("static {constant}: Texts = {value};\n\n");
        arms += &format!("        usher_page_layout::Language::{} => &{constant},\n", camel_case(tag));
    }
    let mut code = String::new();
    for ((fields, methods), name) in types.0 {
        code += &format!("pub(crate) struct {name} {{\n{fields}}}\n\nimpl {name} {{\n{methods}}}\n\n");
    }
    Ok(format!(
        "{code}{constants}/// The texts of a language.
pub(crate) const fn of(language: usher_page_layout::Language) -> &'static Texts {{
    match language {{
{arms}    }}
}}
"
    ))
}

/// The names of the generated types, by fields and methods.
#[derive(Default)]
struct Types(IndexMap<(String, String), String>);

impl Types {
    fn of(&mut self, path: &str, group: &Group) -> String {
        let (mut fields, mut methods) = (String::new(), String::new());
        for (key, node) in entries(group) {
            let (names, kind) = match node {
                Node::Group(group) => (BTreeSet::new(), self.of(&format!("{path}{key}."), group)),
                Node::Text(text) => (placeholders(text), "&'static str".to_owned()),
            };
            if names.is_empty() {
                fields += &format!("    pub(crate) {key}: {kind},\n");
                continue;
            }
            let list = |each: fn(&str) -> String| names.iter().map(|name| each(name)).collect::<Vec<_>>().join(", ");
            let display = list(|_| "&dyn std::fmt::Display".to_owned());
            let parameters = list(|name| format!("{name}: impl std::fmt::Display"));
            let values = list(|name| format!("&{name}"));
            fields += &format!("    {key}: fn({display}) -> String,\n");
            methods += &format!("    pub(crate) fn {key}(&self, {parameters}) -> String {{\n");
            methods += &format!("        (self.{key})({values})\n    }}\n");
        }
        let is_message = group.keys().eq(["heading", "message"]);
        let name = if is_message { "Message".to_owned() } else { format!("{}Texts", camel_case(path)) };
        self.0.entry((fields, methods)).or_insert(name).clone()
    }

    fn value(&mut self, path: &str, group: &Group, english: &Group) -> Result<String, String> {
        if let Some((key, _)) = entries(group).find(|(key, _)| !english.contains_key(*key)) {
            return Err(format!("{path}{key} is not in en.json"));
        }
        let mut fields = String::new();
        for (key, in_english) in entries(english) {
            let path = format!("{path}{key}");
            let value = match (group.get(key), in_english) {
                (None, _) => return Err(format!("{path} is missing")),
                (Some(Node::Group(group)), Node::Group(english)) => self.value(&format!("{path}."), group, english)?,
                (Some(Node::Text(text)), Node::Text(english)) => {
                    let names = placeholders(text);
                    if names != placeholders(english) {
                        return Err(format!("{path} has other placeholders than in en.json"));
                    }
                    let names = Vec::from_iter(names).join(", ");
                    if names.is_empty() { format!("{text:?}") } else { format!("|{names}| format!({text:?})") }
                }
                _ => return Err(format!("{path} is one text in en.json and several here, or the other way round")),
            };
            fields += &format!("{key}: {value},\n");
        }
        Ok(format!("{} {{\n{fields}}}", self.of(path, english)))
    }
}

/// The entries of a group without notes.
fn entries(group: &Group) -> impl Iterator<Item = (&String, &Node)> {
    group.iter().filter(|(key, _)| !key.starts_with('#'))
}

fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default()).collect()
}

fn camel_case(text: &str) -> String {
    let words = text.split(['.', '_', '-']);
    words
        .map(|word| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect::<String>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_that_differ_from_english_are_refused() {
        let code = |german: &str| {
            let language = |tag: &str, pages: &str| {
                let pages = serde_json::from_str(pages).unwrap();
                Language { tag: tag.to_owned(), pages, ..Language::default() }
            };
            let english = r##"{"#a": "A note.", "a": "A", "b": {"c": "{x} and {y}"}}"##;
            texts(&[language("en", english), language("de", german)], |language| &language.pages)
        };
        assert!(
            code(r#"{"b": {"c": "{y} und {x}"}, "a": "A"}"#).unwrap().contains(r#"c: |x, y| format!("{y} und {x}")"#)
        );
        for (german, error) in [
            (r#"{"b": {"c": "{x} und {y}"}}"#, "de.json: a is missing"),
            (r#"{"a": "A", "b": {"c": "{x} und {y}", "d": "D"}}"#, "de.json: b.d is not in en.json"),
            (r#"{"a": "A", "b": {"c": "{x}"}}"#, "de.json: b.c has other placeholders than in en.json"),
            (r#"{"a": "A", "b": "B"}"#, "de.json: b is one text in en.json and several here, or the other way round"),
        ] {
            assert_eq!(code(german).unwrap_err(), error);
        }
    }
}
