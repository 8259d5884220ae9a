//! Suggests the known name for an unknown one.

/// Whether an unknown name may be shown: not if it looks like a misplaced secret.
pub fn presentable(name: &str) -> bool {
    let longest_word = name.split(['.', '_', '-']).map(str::len).max().unwrap_or(0);
    longest_word <= 24 && name.len() <= 100 && !name.contains("nsec1") && name.chars().all(|c| c.is_ascii_graphic())
}

/// The candidate most like `unknown`.
///
/// A name that differs only in separators or case is closest. Next are names whose last part contains the other's
/// (`info.port` for `info.listen_port`), then names with similar letters.
pub fn nearest<'a>(unknown: &str, candidates: impl Iterator<Item = &'a str>, separator: &str) -> Option<&'a str> {
    let last = |name: &str| name.rsplit(separator).next().unwrap_or_default().to_owned();
    let normalized = |name: &str| name.replace(['.', '_', '-'], "").to_ascii_lowercase();
    let (unknown_last, unknown_normalized) = (last(unknown), normalized(unknown));
    candidates
        .map(|candidate| {
            let candidate_last = last(candidate);
            let part = candidate_last.contains(&unknown_last) || unknown_last.contains(&candidate_last);
            let likeness = if candidate_last == unknown {
                // Only its section is missing.
                2.0
            } else {
                strsim::jaro_winkler(unknown, candidate) + strsim::jaro(&unknown_last, &candidate_last)
            };
            let bonus = if normalized(candidate) == unknown_normalized { 2.0 } else { f64::from(u8::from(part)) };
            (likeness + bonus, candidate)
        })
        // The first of several equally close ones.
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, candidate)| candidate)
}
