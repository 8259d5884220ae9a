//! The messages after a restore.

use std::path::Path;

use usher_backup::{DatabaseKind, Manifest};

use crate::command::backup::names::{CHANNELS, ENVIRONMENT};

/// What was restored, and the next steps, one line each.
pub(super) fn lines(manifest: &Manifest, data_dir: &Path, mints: &[String]) -> Vec<String> {
    let description = &manifest.description;
    let folder = data_dir.display();
    let made = i64::try_from(description.created_at).ok().and_then(|secs| chrono::DateTime::from_timestamp(secs, 0));
    let made =
        made.map_or_else(|| "an unknown time".to_owned(), |time| time.format("%Y-%m-%d %H:%M:%S UTC").to_string());
    let mut lines = vec![format!(
        "restored {} files into {folder}: a backup of {made}, made by usher {} ({})",
        manifest.files.len(),
        shown(&description.version),
        shown(&description.commit)
    )];
    if Path::new(&description.data_dir) != data_dir {
        lines.push(format!(
            "the data directory was {}; settings that name files there by their whole path still do",
            shown(&description.data_dir)
        ));
    }
    for file in &manifest.files {
        if let (Some(setting), Some(path)) = (&file.setting, &file.path) {
            lines.push(format!(
                "{} is {}, outside of the data directory: what it had is in {}; put it there, or change the setting",
                shown(setting),
                shown(path),
                data_dir.join(&file.name).display()
            ));
        }
    }
    let has = |name: &str| manifest.files.iter().any(|file| file.name == name);
    if has(ENVIRONMENT) {
        lines.push(format!(
            "the service had settings in its environment (SERVICE__…): give it those of {} again",
            data_dir.join(ENVIRONMENT).display()
        ));
    }
    if description.database == DatabaseKind::Postgresql {
        lines
            .push("the database is not part of the backup: restore PostgreSQL before you start the service".to_owned());
    }
    if is_root() {
        lines.push(format!(
            "the files belong to root: give them to the service's user, as with `chown -R usher: '{folder}'`"
        ));
    }
    lines.push(format!("check it: usher --data-dir '{folder}' doctor"));
    lines.push(
        "start it only if the original never runs again: two services with one key and one wallet lose money"
            .to_owned(),
    );
    if !mints.is_empty() {
        lines.push("before the first start, get the tickets back that came after the backup:".to_owned());
        lines.extend(mints.iter().map(|mint| format!("  usher --data-dir '{folder}' tickets restore {}", shown(mint))));
    }
    if has(CHANNELS) {
        lines.push(format!(
            "the Lightning node's channels are not part of the backup. If you have the newest folder `lightning` of the \
             original, move it to {}, and run `usher lightning adopt`; never use an old copy. If it is lost, {} has the \
             channels: see docs/lightning.md, When the data are lost",
            data_dir.join("lightning").display(),
            data_dir.join(CHANNELS).display()
        ));
    }
    lines
}

#[cfg(unix)]
fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(not(unix))]
const fn is_root() -> bool {
    false
}

/// Makes untrusted text safe for a terminal: anybody may have made the backup.
pub(super) fn shown(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(1000).collect()
}
