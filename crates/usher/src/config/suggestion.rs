//! The known name that an unknown one probably meant.

/// Whether an unknown name may be repeated to the operator: one that looks like a secret in the wrong place is not.
pub fn presentable(name: &str) -> bool {
    let longest_word = name.split(['.', '_', '-']).map(str::len).max().unwrap_or(0);
    longest_word <= 24 && name.len() <= 100 && !name.contains("nsec1") && name.chars().all(|c| c.is_ascii_graphic())
}

/// The candidate most like `unknown`.
///
/// A name of which the other is a part (`info.port` for `info.listen_port`) counts as closer than any likeness of
/// letters.
pub fn nearest<'a>(unknown: &str, candidates: impl Iterator<Item = &'a str>, separator: &str) -> Option<&'a str> {
    let last = |name: &str| name.rsplit(separator).next().unwrap_or_default().to_owned();
    let unknown_last = last(unknown);
    candidates
        .map(|candidate| {
            let candidate_last = last(candidate);
            let part = candidate_last.contains(&unknown_last) || unknown_last.contains(&candidate_last);
            let likeness = strsim::jaro_winkler(unknown, candidate) + strsim::jaro(&unknown_last, &candidate_last);
            (if part { likeness + 1.0 } else { likeness }, candidate)
        })
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
