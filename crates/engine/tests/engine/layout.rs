//! The layout of this crate: the kernel knows no operation, and an operation is one folder and one registration.

use std::path::{Path, PathBuf};

/// The source files below a folder, with their text up to their tests.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            found.push((path, code.to_owned()));
        }
    }
    found
}

fn is_of_tests(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name == "fixtures.rs" || name.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

fn source_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn kernel_names_no_operation() {
    // In `operations/mod.rs`, a registration is `Name(State) = number, "label";`.
    let registry = std::fs::read_to_string(source_folder().join("operations/mod.rs")).unwrap();
    let registered: Vec<_> = registry
        .lines()
        .filter_map(|line| {
            line.trim().split_once('(').filter(|(_, rest)| rest.contains(") = ") && rest.ends_with("\";"))
        })
        .map(|(name, _)| name)
        .collect();
    assert!(registered.len() > 10 && registered.contains(&"Login"), "{registered:?}");
    let mut named = Vec::new();
    for (path, code) in sources(&source_folder().join("kernel")).into_iter().filter(|(path, _)| !is_of_tests(path)) {
        for line in code.lines() {
            let names = registered.iter().any(|name| {
                let after =
                    ["Operation", "OperationKind"].iter().filter_map(|of| line.split_once(&format!("{of}::{name}")));
                after.into_iter().any(|(_, after)| !after.starts_with(char::is_alphanumeric))
            });
            let features = ["login", "payment", "subscription", "ticket", "verification"];
            let imports = features.iter().any(|feature| line.contains(&format!("crate::{feature}::")));
            if names || imports {
                named.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(named.is_empty(), "{named:#?}");
}

/// What has to change elsewhere for another operation, shown at the smallest one: its registration and the face of the crate.
#[test]
fn smallest_operation_is_named_only_where_docs_architecture_says() {
    let folder = source_folder();
    let mut files: Vec<_> = sources(&folder)
        .into_iter()
        .filter(|(path, _)| !is_of_tests(path) && !path.starts_with(folder.join("payment/invoice_request")))
        // The message to a wallet is not the operation.
        .map(|(path, code)| (path, code.replace("PayInvoiceRequest", "").replace("essage::InvoiceRequest", "")))
        .filter(|(_, code)| {
            ["InvoiceRequest", "invoice_request", "RequestInvoice"].iter().any(|name| code.contains(name))
        })
        .map(|(path, _)| path.strip_prefix(&folder).unwrap().display().to_string())
        .collect();
    files.sort();
    assert_eq!(files, ["lib.rs", "operations/mod.rs", "payment/mod.rs"]);
}
