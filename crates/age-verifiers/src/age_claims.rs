//! Derives from a user's claims whether the user is old enough. The claims are not kept.

use chrono::{Datelike as _, NaiveDate};
use serde_json::Value;

/// Highest plausible age, in years; larger values are errors.
const OLDEST: u64 = 150;

/// The claims that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgeClaim {
    /// `birthdate` (OpenID Connect Core 5.1) or `age_over_<years>`, whichever suffices.
    Standard,
    /// This claim: `true` or `false`, a date of birth, or an age in years.
    Named(String),
}

impl AgeClaim {
    pub(crate) fn names(&self, minimum_age: u64) -> Vec<String> {
        match self {
            Self::Standard => vec!["birthdate".to_owned(), format!("age_over_{minimum_age}")],
            Self::Named(name) => vec![name.clone()],
        }
    }

    /// Whether the user is at least `minimum_age` years old on `today`; `None` if the claims are insufficient, or one
    /// has the wrong type and so may have another meaning.
    pub(crate) fn is_old_enough(&self, claims: &Value, minimum_age: u64, today: NaiveDate) -> Option<bool> {
        match self {
            Self::Named(name) => read(claims.get(name)?, minimum_age, today),
            Self::Standard => {
                let by_date = match claims.get("birthdate") {
                    None | Some(Value::Null) => None,
                    Some(birthdate) => reached(birthdate.as_str()?, minimum_age, today),
                };
                match (by_date, by_thresholds(&thresholds(claims)?, minimum_age)) {
                    // An explicit denial overrides the date.
                    (Some(true), Some(false)) => Some(false),
                    (by_date, by_thresholds) => by_date.or(by_thresholds),
                }
            }
        }
    }
}

fn read(value: &Value, minimum_age: u64, today: NaiveDate) -> Option<bool> {
    match value {
        Value::Bool(is) => Some(*is),
        Value::Number(age) => by_years(age.as_u64()?, minimum_age),
        // Four digits are a year of birth.
        Value::String(age) if age.len() < 4 => by_years(age.parse().ok()?, minimum_age),
        Value::String(date) => reached(date, minimum_age, today),
        _ => None,
    }
}

/// By an age in years; a larger number may be something else, such as a year of birth.
fn by_years(age: u64, minimum_age: u64) -> Option<bool> {
    (age <= OLDEST).then_some(age >= minimum_age)
}

/// The claims `age_over_<years>`; `None` if one is not a boolean.
fn thresholds(claims: &Value) -> Option<Vec<(u64, bool)>> {
    let claims = claims.as_object()?.iter().filter(|(_, value)| !value.is_null());
    let thresholds = claims.filter_map(|(name, value)| Some((name.strip_prefix("age_over_")?.parse().ok()?, value)));
    thresholds.map(|(years, value)| Some((years, value.as_bool()?))).collect()
}

/// By thresholds: a higher one that is reached, or a lower one that is not, also decides.
fn by_thresholds(thresholds: &[(u64, bool)], minimum_age: u64) -> Option<bool> {
    let (mut passed, mut failed) = (None, None);
    for &(years, is) in thresholds {
        if is {
            passed = passed.max(Some(years));
        } else {
            failed = Some(failed.map_or(years, |lowest: u64| lowest.min(years)));
        }
    }
    match (passed, failed) {
        // Contradicting claims decide nothing.
        (Some(passed), Some(failed)) if passed >= failed => None,
        (Some(passed), _) if passed >= minimum_age => Some(true),
        (_, Some(failed)) if failed <= minimum_age => Some(false),
        _ => None,
    }
}

/// Whether somebody born on this date has this age. `YYYY-MM-DD`, or `YYYY`, which counts as its last day, so that
/// nobody passes too early. `None` for other values, and for `0000-MM-DD`, with which a provider withholds the year.
fn reached(birthdate: &str, minimum_age: u64, today: NaiveDate) -> Option<bool> {
    let date = match birthdate.len() {
        4 => NaiveDate::from_ymd_opt(birthdate.parse().ok()?, 12, 31)?,
        _ => NaiveDate::parse_from_str(birthdate, "%Y-%m-%d").ok()?,
    };
    let oldest = i64::from(today.year()) - i64::try_from(OLDEST).ok()?;
    if i64::from(date.year()) < oldest || date > today {
        return None;
    }
    let birthday = (i64::from(date.year()) + i64::try_from(minimum_age).ok()?, date.month(), date.day());
    Some(birthday <= (i64::from(today.year()), today.month(), today.day()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn says(claim: &AgeClaim, claims: &Value) -> Option<bool> {
        claim.is_old_enough(claims, 18, NaiveDate::from_ymd_opt(2026, 11, 22).unwrap())
    }

    #[test]
    fn a_date_of_birth_is_compared_to_the_day() {
        for (date, is) in [
            ("2008-11-22", Some(true)),
            ("2008-11-23", Some(false)),
            ("1908-02-29", Some(true)),
            ("2007", Some(true)),
            ("2008", Some(false)),
            ("0000-11-22", None),
            ("2026-11-23", None),
            ("1800-01-01", None),
            ("2008-13-01", None),
            ("2007-02-29", None),
            ("2008-11-22T00:00:00Z", None),
            ("22.11.2008", None),
            ("0000", None),
            ("2027", None),
            ("9999-12-31", None),
            ("19700102", None),
            ("-2008-11-22", None),
            ("+1970-01-01x", None),
            ("\u{661}\u{669}\u{667}\u{660}", None),
            ("", None),
        ] {
            assert_eq!(says(&AgeClaim::Standard, &json!({ "birthdate": date })), is, "{date}");
            assert_eq!(says(&AgeClaim::Named("b".to_owned()), &json!({ "b": date })), is, "{date}");
        }
    }

    #[test]
    fn somebody_born_on_a_leap_day_comes_of_age_on_the_first_of_march() {
        let claims = json!({ "birthdate": "2008-02-29" });
        for (today, is) in [((2026, 2, 28), false), ((2026, 3, 1), true), ((2028, 2, 28), true)] {
            let today = NaiveDate::from_ymd_opt(today.0, today.1, today.2).unwrap();
            assert_eq!(AgeClaim::Standard.is_old_enough(&claims, 18, today), Some(is), "{today}");
        }
        let leap_day = NaiveDate::from_ymd_opt(2028, 2, 29).unwrap();
        for (birthdate, is) in [("2008-02-29", true), ("2008-03-01", false)] {
            let claims = json!({ "birthdate": birthdate });
            assert_eq!(AgeClaim::Standard.is_old_enough(&claims, 20, leap_day), Some(is), "{birthdate}");
        }
    }

    #[test]
    fn thresholds_say_enough_or_nothing() {
        for (claims, is) in [
            (json!({ "age_over_18": true }), Some(true)),
            (json!({ "age_over_18": false }), Some(false)),
            (json!({ "age_over_21": true }), Some(true)),
            (json!({ "age_over_21": false }), None),
            (json!({ "age_over_16": true }), None),
            (json!({ "age_over_16": false }), Some(false)),
            (json!({ "age_over_18": "true" }), None),
            (json!({ "age_over_18": "true", "birthdate": "1970-01-02" }), None),
            (json!({ "age_over_18": true, "age_over_16": "true" }), None),
            (json!({ "age_over_18": true, "birthdate": 19_700_102 }), None),
            (json!({ "age_over_18": true, "birthdate": ["1970-01-02"] }), None),
            (json!({ "age_over_18": true, "birthdate": null, "age_over_16": null }), Some(true)),
            (json!({ "age_over_18": true, "age_over_16": false }), None),
            (json!({ "age_over_20": false, "age_over_21": true }), None),
            (json!({ "age_over_18": true, "age_over_21": false }), Some(true)),
            (json!({ "age_over_18": "false" }), None),
            (json!({ "age_over_18": "yes" }), None),
            (json!({ "age_over_18": "" }), None),
            (json!({ "age_over_18": 1 }), None),
            (json!({ "age_over_18": null }), None),
            (json!({ "birthdate": 19_700_102 }), None),
            (json!({ "age_over_x": true }), None),
            (json!({ "birthdate": "nonsense", "age_over_18": true }), Some(true)),
            (json!({ "birthdate": "2010-01-01", "age_over_18": true }), Some(false)),
            (json!({ "birthdate": "1970-01-01", "age_over_18": false }), Some(false)),
            (json!({ "birthdate": "1970-01-01", "age_over_99": false }), Some(true)),
            (json!({}), None),
            (json!([]), None),
        ] {
            assert_eq!(says(&AgeClaim::Standard, &claims), is, "{claims}");
        }
    }

    #[test]
    fn a_configured_claim_is_a_flag_an_age_or_a_date() {
        let claim = AgeClaim::Named("adult".to_owned());
        for (value, is) in [
            (json!(true), Some(true)),
            (json!(false), Some(false)),
            (json!("true"), None),
            (json!("false"), None),
            (json!(18), Some(true)),
            (json!(17), Some(false)),
            (json!("18"), Some(true)),
            (json!("17"), Some(false)),
            (json!(-18), None),
            (json!("-18"), None),
            // A year of birth, and a time: not an age.
            (json!(2015), None),
            (json!("2015"), Some(false)),
            (json!("1970"), Some(true)),
            (json!(1_420_070_400), None),
            (json!(18.5), None),
            (json!(null), None),
            (json!({ "x": true }), None),
        ] {
            assert_eq!(says(&claim, &json!({ "adult": value, "birthdate": "1970-01-01" })), is, "{value}");
        }
        assert_eq!(says(&claim, &json!({ "birthdate": "1970-01-01" })), None, "no other claim counts");
    }
}
