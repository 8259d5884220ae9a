//! The committed reference against the table of keys.

use super::Fixture;
use crate::config::{keys, reference};

#[test]
fn the_committed_reference_is_the_current_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.toml");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == reference::text(), "write it anew: cargo run -- config default > docs/configuration.toml");
}

#[test]
fn the_reference_parses_to_the_defaults() {
    let defaults = format!("{:?}", Fixture::required().config());
    assert_eq!(format!("{:?}", Fixture::required().file(&reference::text()).config()), defaults);
}

#[test]
fn the_values_in_the_reference_are_the_defaults() {
    // Every commented setting of the reference, set: those with a default must change nothing, the others, which are
    // examples, must be known.
    let (mut text, mut section) = (String::new(), String::new());
    for line in reference::text().lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            name.clone_into(&mut section);
        }
        let setting = line.strip_prefix('#').filter(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()));
        let name = setting.and_then(|setting| setting.split_once(" = ")).map(|(name, _)| name);
        let has_default = |name| keys::find(&format!("{section}.{name}")).is_some_and(|key| key.default.is_some());
        match (setting, name) {
            (Some(setting), Some(name)) if has_default(name) && !setting.ends_with("\"https://example.com/\"") => {
                text.push_str(setting);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    let given = Fixture::required().file(&text);
    let [set_in_file, defaults] = [&given, &Fixture::required()].map(|fixture| {
        let mut config = fixture.config();
        // They differ in where values come from.
        config.settings.clear();
        format!("{config:?}")
    });
    assert_eq!(set_in_file, defaults);
    let set = given.load().in_force.iter().filter(|entry| entry.origin.to_string().contains("config.toml")).count();
    assert_eq!(set, keys::all().filter(|key| key.default.is_some()).count());
}
