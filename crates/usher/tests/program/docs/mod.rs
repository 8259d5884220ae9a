//! Every shell example in the documentation works: each ```` ```sh ```` fence of `README.md`, `CONTRIBUTING.md` and
//! `docs/*.md` is run, document by document, in one shell.
//!
//! Conventions for those who write documents:
//!
//! | info string | what happens |
//! | --- | --- |
//! | `sh` | runs in the document's shell, with `set -euo pipefail`: variables and functions stay for later fences |
//! | `sh background` | is started and left running; the next fence waits until the service answers |
//! | `text output`, `json output` | after a `sh` fence: each line must be in what that fence wrote; `…` stands for anything |
//! | another language | is not run |
//!
//! Documents that use `$BASE` share one shell and the instance that the README starts, one after the other, as for a reader who
//! follows them all. Each other document has a folder of its own that looks like this repository with a built `target/debug/usher`, a home of its
//! own, and ports of its own in the place of 3000 and 7777. The environment holds a key, a token and a relay address (see
//! `environment`), so that examples of commands need not repeat the configuration. What cannot be run is on a list, with
//! the reason.
//!
//! Links between documents lead somewhere, and the source files that they name exist.

mod links;
mod script;
mod shell;

use std::path::{Path, PathBuf};

use script::{Example, Script};

/// Commands that are left out, and why.
const NOT_RUN: [(&str, &str); 4] = [
    ("scripts/test", "runs this test: it would never end"),
    ("cargo build --release --locked -p usher -p usher-dev", "takes minutes, and builds what this test runs"),
    ("sudo install", "changes the machine"),
    ("sqlite3", "copies a file of an installed service"),
];

/// Files that examples take for granted: name, content, why.
const GIVEN: [(&str, &str, &str); 1] = [(
    "file",
    "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5\n",
    "an nsec to convert: the one of NIP-19's own example",
)];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// `README.md`, `CONTRIBUTING.md` and `docs/*.md`.
fn documents() -> Vec<PathBuf> {
    let root = repository();
    let mut documents = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for entry in std::fs::read_dir(root.join("docs")).expect("docs") {
        documents.push(entry.expect("an entry").path());
    }
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.sort();
    documents
}

#[test]
fn every_shell_example_works() {
    let mut scripts = Vec::new();
    let mut tour = Script { name: "the pages that share an instance".to_owned(), examples: Vec::new() };
    for path in documents() {
        let name = path.strip_prefix(repository()).unwrap().display().to_string();
        let text = std::fs::read_to_string(&path).expect("a document");
        let script = Script::read(&name, &text, &NOT_RUN);
        if script.examples.iter().any(Example::uses_the_instance) {
            tour.append(script);
        } else {
            scripts.push(script);
        }
    }
    scripts.push(tour);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = scripts.iter().map(|script| scope.spawn(|| shell::run(script))).collect();
        running.into_iter().filter_map(|outcome| outcome.join().expect("a shell").err()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn links_and_paths_exist() {
    let root = repository();
    let inside = |folder: &str| {
        std::fs::read_dir(root.join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path())
    };
    let mut documents = documents();
    documents.extend(["SECURITY.md", "CHANGELOG.md", "fuzz/README.md"].map(|name| root.join(name)));
    documents.extend(inside("docs/adr"));
    documents.extend(inside("crates").map(|path| path.join("README.md")).filter(|path| path.exists()));
    let within = |path: &'_ PathBuf| path.strip_prefix(&root).expect("a path in the repository").to_owned();
    let faults: Vec<_> = documents.iter().flat_map(|path| links::faults(&root, &within(path))).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_stands_for_something_else_still_does() {
    // `scripts/dev` is run as `usher dev`: it must do nothing else but build it.
    let script = std::fs::read_to_string(repository().join("scripts/dev")).unwrap();
    assert_eq!(script.lines().last(), Some(r#"exec "$usher" "${folder[@]}" dev "$@""#));
    for (command, why) in NOT_RUN {
        let used = documents().iter().any(|path| std::fs::read_to_string(path).unwrap().contains(command));
        assert!(used, "no document has {command} ({why}): take it off the list");
    }
}
