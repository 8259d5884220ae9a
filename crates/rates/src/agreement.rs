//! The rate on which several sources agree.
//!
//! | prices | the rate |
//! | --- | --- |
//! | none | none |
//! | one | it |
//! | two that differ by at most 2 % | halfway between them |
//! | two that differ by more | none: either may be wrong |
//! | three or more | prices more than 2 % from the median are excluded; the median of the others, if they are more than half |

use rust_decimal::Decimal;

/// One part in this many, 2 %, is how far prices may be apart.
const TOLERANCE: u64 = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Agreement<T> {
    /// The rate.
    pub(crate) price: Decimal,
    /// The sources of the rate.
    pub(crate) used: Vec<T>,
    /// The excluded sources.
    pub(crate) left_out: Vec<T>,
}

/// Why there is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disagreement {
    /// Not all sources were read yet.
    Unread,
    /// There is no price.
    NoPrice,
    /// Two or more prices are too far apart.
    TooFarApart,
}

/// The rate on which the sources of these prices, each positive, agree.
pub(crate) fn agree<T>(mut prices: Vec<(T, Decimal)>) -> Result<Agreement<T>, Disagreement> {
    prices.sort_by_key(|(_, price)| *price);
    let count = prices.len();
    let middle = median(&prices).ok_or(Disagreement::NoPrice)?;
    if count == 2 {
        let [(_, low), (_, high)] = &prices[..] else { return Err(Disagreement::NoPrice) };
        return if is_within(*high - *low, *low) { Ok(all(middle, prices)) } else { Err(Disagreement::TooFarApart) };
    }
    let (near, far): (Vec<_>, Vec<_>) =
        prices.into_iter().partition(|(_, price)| is_within((*price - middle).abs(), middle));
    match median(&near) {
        Some(price) if near.len() * 2 > count => {
            Ok(Agreement { left_out: far.into_iter().map(|(source, _)| source).collect(), ..all(price, near) })
        }
        _ => Err(Disagreement::TooFarApart),
    }
}

fn all<T>(price: Decimal, prices: Vec<(T, Decimal)>) -> Agreement<T> {
    Agreement { price, used: prices.into_iter().map(|(source, _)| source).collect(), left_out: Vec::new() }
}

/// Whether a difference is at most 2 % of a price.
fn is_within(difference: Decimal, price: Decimal) -> bool {
    difference * Decimal::from(TOLERANCE) <= price
}

/// The middle of sorted prices, or the mean of the two in the middle.
fn median<T>(sorted: &[(T, Decimal)]) -> Option<Decimal> {
    let (_, upper) = sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(*upper);
    }
    let (_, lower) = sorted.get(sorted.len() / 2 - 1)?;
    Some((*lower + *upper) / Decimal::TWO)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The rate and the excluded sources, by index.
    fn agreed(prices: &[&str]) -> Result<(String, Vec<usize>), Disagreement> {
        let prices = prices.iter().map(|price| price.parse().unwrap()).enumerate().collect();
        agree(prices).map(|agreement| (agreement.price.normalize().to_string(), agreement.left_out))
    }

    #[test]
    fn rates_are_medians_of_those_that_agree() {
        for (prices, rate, left_out) in [
            (&["64000.1"][..], "64000.1", &[][..]),
            (&["100", "101"], "100.5", &[]),
            (&["102", "100"], "101", &[]),
            (&["100", "90000", "101"], "100.5", &[1]),
            (&["100", "98", "102"], "100", &[]),
            (&["100", "97.99", "102"], "101", &[1]),
            (&["100", "100.5", "101", "0.00000001"], "100.5", &[3]),
            (&["100", "101", "99", "200", "1"], "100", &[3, 4]),
        ] {
            let (price, mut out) = agreed(prices).unwrap();
            out.sort_unstable();
            assert_eq!((price.as_str(), &out[..]), (rate, left_out), "{prices:?}");
        }
    }

    #[test]
    fn disagreement_is_no_rate() {
        assert_eq!(agreed(&[]), Err(Disagreement::NoPrice));
        for prices in [
            &["100", "102.01"][..],
            &["100", "1000000000000000"],
            &["100", "200", "300"],
            &["100", "100", "200", "200"],
            &["100", "101", "1", "1000000000000000"],
        ] {
            assert_eq!(agreed(prices), Err(Disagreement::TooFarApart), "{prices:?}");
        }
    }

    proptest! {
        /// A minority of wrong sources moves the rate by no more than honest sources differ, or prevents it.
        #[test]
        fn liars_in_the_minority_do_not_decide(
            honest in proptest::collection::vec(6_400_000_u64..6_410_000, 3..6),
            lies in proptest::collection::vec(1_u64..100_000_000_000_000_000, 0..3),
        ) {
            let price = |cents: &u64| Decimal::new(i64::try_from(*cents).unwrap(), 2);
            let all = honest.iter().chain(&lies).map(price).enumerate().collect();
            if let Ok(agreement) = agree(all) {
                let (least, most) = (honest.iter().min().map(price).unwrap(), honest.iter().max().map(price).unwrap());
                let slack = most / Decimal::from(TOLERANCE);
                prop_assert!(agreement.price >= least - slack && agreement.price <= most + slack);
            }
        }
    }
}
