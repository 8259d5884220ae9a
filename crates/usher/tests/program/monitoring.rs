//! The dashboard and the alarms of `packaging/` name metrics that `docs/monitoring.md` lists, which are those that a service has
//! (`e2e observability`), and every alarm is explained there.

use std::collections::BTreeSet;

const DASHBOARD: &str = include_str!("../../../../packaging/grafana/usher.json");
const ALARMS: &str = include_str!("../../../../packaging/prometheus/usher.rules.yml");
const OPERATIONS: &str = include_str!("../../../../docs/monitoring.md");

/// The metrics that a text names, without the endings of histograms' series.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words = words.filter(|word| word.starts_with("usher_") || word.starts_with("process_"));
    words
        .map(|word| ["_bucket", "_count"].iter().fold(word, |word, end| word.strip_suffix(end).unwrap_or(word)))
        .collect()
}

#[test]
fn dashboard_and_alarms_are_of_documented_metrics_and_every_alarm_is_explained() {
    for (file, text) in [("the dashboard", DASHBOARD), ("the alarms", ALARMS)] {
        let named = named(text);
        assert!(named.len() > 5, "{file}: {named:?}");
        let missing: Vec<_> = named.iter().filter(|name| !OPERATIONS.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{file} names metrics that docs/monitoring.md does not list: {missing:?}");
    }
    let alarms: Vec<_> = ALARMS.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alarms.len() > 5);
    for alarm in alarms {
        assert!(OPERATIONS.contains(&format!("| `{alarm}` |")), "docs/monitoring.md does not explain {alarm}");
    }
}
