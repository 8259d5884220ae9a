//! Which file of a crate uses which, read from the sources of all crates: no crate has a cycle, and each floor of the engine uses only
//! those below it.
//!
//! A file uses another if its code, without its tests, names an item that the other defines. A re-export is followed to the
//! definition, so a file that only hands names on uses none of them. It reads tokens, so it sees what is inside macros.

#![allow(clippy::unwrap_used)] // a test's helpers too

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::UseTree;

#[derive(Default)]
struct Module {
    file: PathBuf,
    parent: usize,
    children: HashMap<String, usize>,
    defined: HashSet<String>,
    imported: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// The paths in its code.
    named: Vec<Vec<String>>,
    /// Macros may define more items.
    has_macros: bool,
}

/// The modules of a crate; the first is its root.
#[derive(Default)]
struct Modules(Vec<Module>);

/// Who uses whom, and the names of what is used.
type Uses = BTreeMap<(String, String), BTreeSet<String>>;

impl Modules {
    fn add_file(&mut self, file: &Path, folder: &Path, parent: usize) {
        let tokens = fs::read_to_string(file).unwrap().parse().unwrap();
        self.add_module(file, folder, parent, tokens);
    }

    fn add_module(&mut self, file: &Path, folder: &Path, parent: usize, tokens: TokenStream) {
        self.0.push(Module { file: file.to_owned(), parent, ..Module::default() });
        self.add_code(self.0.len() - 1, folder, tokens, true);
    }

    fn add_code(&mut self, module: usize, folder: &Path, tokens: TokenStream, is_top: bool) {
        let tokens = &without_tests(tokens)[..];
        let mut at = 0;
        while at < tokens.len() {
            match (word(tokens, at).as_str(), &tokens[at]) {
                ("use", _) if !is(tokens, at + 1, '<') => {
                    let end = (at..tokens.len()).find(|end| is(tokens, *end, ';')).unwrap_or(tokens.len());
                    let before = (0..at).rev().find(|at| group(tokens, *at, Delimiter::Parenthesis).is_none());
                    let is_public = before.is_some_and(|at| word(tokens, at) == "pub");
                    if let Ok(tree) = syn::parse2(tokens[at + 1..end].iter().cloned().collect()) {
                        self.add_use(module, &tree, &mut Vec::new(), is_public);
                    }
                    at = end;
                }
                ("mod", _) if is_top => {
                    let (name, child) = (word(tokens, at + 1), self.0.len());
                    let folder = folder.join(&name);
                    let files = [folder.with_extension("rs"), folder.join("mod.rs")];
                    if let Some(body) = group(tokens, at + 2, Delimiter::Brace) {
                        let file = self.0[module].file.clone();
                        self.add_module(&file, &folder, module, body);
                    } else if let Some(file) = files.iter().find(|file| file.exists()) {
                        self.add_file(file, &folder, module);
                    }
                    self.0[module].children.insert(name, child);
                    at += 2;
                }
                (keyword @ ("struct" | "enum" | "trait" | "type" | "fn" | "const" | "static" | "macro_rules"), _) => {
                    at += usize::from(keyword == "macro_rules");
                    let name = word(tokens, at + 1);
                    // Behind `const` there may be `fn`.
                    at += usize::from(!["fn", "unsafe"].contains(&name.as_str()));
                    self.0[module].defined.extend(is_top.then_some(name));
                    let bodies = (at..tokens.len()).find_map(|at| Some((at, group(tokens, at, Delimiter::Brace)?)));
                    if let Some((end, body)) = bodies.filter(|_| keyword == "enum") {
                        // Only what is in its variants: their names are no uses.
                        let variants = body.into_iter().filter(|token| matches!(token, TokenTree::Group(_)));
                        self.add_code(module, folder, variants.collect(), false);
                        at = end;
                    }
                }
                ("", TokenTree::Group(group)) => self.add_code(module, folder, group.stream(), false),
                ("", _) => {}
                _ if at > 0 && is(tokens, at - 1, '.') => {}
                (first, _) => {
                    let mut path = vec![first.to_owned()];
                    while is(tokens, at + 1, ':') && is(tokens, at + 2, ':') && !word(tokens, at + 3).is_empty() {
                        path.push(word(tokens, at + 3));
                        at += 3;
                    }
                    let is_macro = is(tokens, at + 1, '!');
                    self.0[module].has_macros |= is_macro && is_top;
                    self.0[module].named.extend((path.len() > 1 || !is_macro).then_some(path));
                }
            }
            at += 1;
        }
    }

    fn add_use(&mut self, module: usize, tree: &UseTree, prefix: &mut Vec<String>, is_public: bool) {
        let (name, alias) = match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(module, &path.tree, prefix, is_public);
                prefix.pop();
                return;
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_use(module, tree, prefix, is_public));
            }
            UseTree::Glob(_) => return self.0[module].globs.push(prefix.clone()),
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(name) => (&name.ident, &name.rename),
        };
        let mut path = prefix.clone();
        path.extend((name != "self").then(|| name.to_string()));
        let alias = if alias == "self" { path.last().cloned().unwrap_or_default() } else { alias.to_string() };
        self.0[module].named.extend((!is_public).then(|| path.clone()));
        self.0[module].imported.entry(alias).or_insert(path);
    }

    /// The module that defines what a path names, and its name there. `is_inside`: the path has led into this module.
    fn find(&self, module: usize, path: &[String], is_inside: bool, depth: u8) -> Option<(usize, String)> {
        let (name, rest) = path.split_first().filter(|_| depth < 20)?;
        let here = &self.0[module];
        let into = |module| self.find(module, rest, true, depth + 1);
        match name.as_str() {
            "crate" => return into(0),
            "self" => return into(module),
            "super" => return into(here.parent),
            _ if here.children.contains_key(name) && !rest.is_empty() => return into(here.children[name]),
            _ if here.defined.contains(name) => return Some((module, name.clone())),
            _ => {}
        }
        let through = |path: &Vec<String>, rest: &[String]| {
            let is_itself = path.as_slice() == std::slice::from_ref(name);
            self.find(module, &[path, rest].concat(), false, depth + 1).filter(|_| !is_itself)
        };
        let (imported, is_module) = (here.imported.get(name), here.children.contains_key(name));
        let in_glob = |glob| through(glob, path).filter(|(module, name)| self.0[*module].defined.contains(name));
        let found = imported.and_then(|path| through(path, rest)).or_else(|| here.globs.iter().find_map(in_glob));
        let by_macro = is_inside && here.has_macros && imported.is_none() && !is_module;
        found.or_else(|| by_macro.then(|| (module, name.clone())))
    }

    fn uses(&self) -> Uses {
        let root = self.0[0].file.parent().unwrap();
        let name_of = |file: &PathBuf| file.strip_prefix(root).unwrap().display().to_string();
        let mut uses = Uses::new();
        for (number, module) in self.0.iter().enumerate() {
            for (other, name) in module.named.iter().filter_map(|path| self.find(number, path, false, 0)) {
                let pair = (name_of(&module.file), name_of(&self.0[other].file));
                if pair.0 != pair.1 {
                    uses.entry(pair).or_default().insert(name);
                }
            }
        }
        uses
    }
}

fn word(tokens: &[TokenTree], at: usize) -> String {
    if let Some(TokenTree::Ident(word)) = tokens.get(at) { word.to_string() } else { String::new() }
}

fn is(tokens: &[TokenTree], at: usize, sign: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> Option<TokenStream> {
    let Some(TokenTree::Group(group)) = tokens.get(at) else { return None };
    (group.delimiter() == delimiter).then(|| group.stream())
}

/// Without what is only there in tests.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let attribute = group(&tokens, at + 1, Delimiter::Bracket).filter(|_| is(&tokens, at, '#'));
        let attribute = attribute.map(|attribute| attribute.to_string()).unwrap_or_default();
        if attribute.starts_with("cfg") && attribute.contains("test") && !attribute.contains("not") {
            let is_end =
                |at| is(&tokens, at, ';') || is(&tokens, at, ',') || group(&tokens, at, Delimiter::Brace).is_some();
            at = (at..tokens.len()).find(|at| is_end(*at)).unwrap_or(tokens.len());
            // Behind the braces of a `use`.
            at += usize::from(is(&tokens, at + 1, ';'));
        } else {
            kept.push(tokens[at].clone());
        }
        at += 1;
    }
    kept
}

/// The uses within each cycle.
fn cycles(uses: &Uses) -> Vec<String> {
    let mut next: HashMap<&str, Vec<&str>> = HashMap::new();
    uses.keys().for_each(|(from, to)| next.entry(from).or_default().push(to));
    let mut reached: HashMap<&str, HashSet<&str>> = HashMap::new();
    for from in next.keys() {
        let mut open = vec![*from];
        while let Some(file) = open.pop() {
            let used = next.get(file).into_iter().flatten().copied();
            open.extend(used.filter(|file| reached.entry(from).or_default().insert(file)));
        }
    }
    let returns = |from: &str, to: &str| reached.get(to).is_some_and(|reached| reached.contains(from));
    let mut cycles: BTreeMap<BTreeSet<&str>, String> = BTreeMap::new();
    for ((from, to), names) in uses.iter().filter(|((from, to), _)| returns(from, to)) {
        let files = reached[from.as_str()].iter().copied().filter(|file| returns(from, file)).collect();
        let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        *cycles.entry(files).or_default() += &format!("  {from} -> {to}: {names}\n");
    }
    cycles.into_iter().map(|(files, uses)| format!("a cycle of {} files\n{uses}", files.len())).collect()
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn uses(root: &Path) -> Uses {
    let mut modules = Modules::default();
    modules.add_file(root, root.parent().unwrap(), 0);
    modules.uses()
}

#[test]
fn no_crate_has_a_cycle() {
    let crates = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let roots = crates.flat_map(|folder| ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root)));
    let (mut count, mut found) = (0, String::new());
    for root in roots.filter(|root| root.exists()) {
        let uses = uses(&root);
        count += uses.len();
        found.extend(cycles(&uses).into_iter().map(|cycle| format!("{}: {cycle}", root.display())));
    }
    assert!(count > 3_000, "only {count} uses were found");
    assert!(found.is_empty(), "\n{found}");
}

/// docs/architecture.md, Data flow.
#[test]
fn each_floor_of_the_engine_uses_only_those_below_it() {
    const FEATURES: [&str; 5] = ["login", "payment", "subscription", "ticket", "verification"];
    const TOGETHER: [(&str, &str); 4] =
        [("payment", "subscription"), ("subscription", "payment"), ("ticket", "payment"), ("verification", "ticket")];
    let uses = uses(&folder().join("engine/src/lib.rs"));
    let part = |file: &str| file.split(['/', '.']).next().unwrap().to_owned();
    let is_wrong = |from: &str, to: &str| match from {
        "machine" | "ports" => FEATURES.contains(&to) || ["kernel", "registry", "engine"].contains(&to),
        "kernel" => FEATURES.contains(&to),
        _ if FEATURES.contains(&from) && FEATURES.contains(&to) => from != to && !TOGETHER.contains(&(from, to)),
        _ => false,
    };
    let wrong: Vec<_> = uses.iter().filter(|((from, to), _)| is_wrong(&part(from), &part(to))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let users = |file: &str| {
        let outside = uses.keys().filter(|(from, to)| to.starts_with(file) && !from.starts_with(file));
        outside.map(|(from, _)| from.clone()).collect::<Vec<_>>()
    };
    assert_eq!(users("payment/invoice_request/"), ["registry.rs"], "the smallest operation");
}
