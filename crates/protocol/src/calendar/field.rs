//! One field of a calendar expression: a set of numbers within bounds.

#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) first: u16,
    /// The largest number; at most 255 more than the smallest.
    pub(super) last: u16,
    pub(super) digits: usize,
}

/// The numbers a field allows, as bits counted from the bounds' first; never none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Field([u128; 2]);

impl Field {
    pub(super) fn all(bounds: Bounds) -> Self {
        let mut field = Self([0; 2]);
        field.insert(bounds, bounds.first, bounds.last, 1);
        field
    }

    /// Parses a list of `*`, `a`, `a..b` and `a..b/step`; `value` parses one value.
    pub(super) fn parse(text: &str, bounds: Bounds, value: fn(&str) -> Option<u16>) -> Option<Self> {
        let mut field = Self([0; 2]);
        for item in text.split(',') {
            if item == "*" {
                field.insert(bounds, bounds.first, bounds.last, 1);
                continue;
            }
            let (range, step) = match item.split_once('/') {
                Some((range, step)) => (range, Some(step)),
                None => (item, None),
            };
            let (first, last, step) = match (range.split_once(".."), step) {
                (Some((first, last)), None) => (value(first)?, value(last)?, 1),
                (Some((first, last)), Some(step)) => (value(first)?, value(last)?, step_size(step)?),
                (None, None) => (value(range)?, value(range)?, 1),
                (None, Some(_)) => return None,
            };
            if first > last || first < bounds.first || bounds.last < last {
                return None;
            }
            field.insert(bounds, first, last, step);
        }
        Some(field)
    }

    pub(super) fn is_all(self, bounds: Bounds) -> bool {
        self == Self::all(bounds)
    }

    /// [`spell`](Self::spell) for numbers: with leading zeros.
    pub(super) fn spell_numbers(self, bounds: Bounds) -> String {
        self.spell(bounds, |number| format!("{number:0digits$}", digits = bounds.digits))
    }

    /// The normal spelling of this set: `*`; or `a..b/step` for more than four numbers at an equal distance of at least
    /// two; or a list in which runs of three or more are `a..b`.
    pub(super) fn spell(self, bounds: Bounds, name: impl Fn(u16) -> String) -> String {
        if self.is_all(bounds) {
            return "*".to_owned();
        }
        let numbers: Vec<u16> = self.from(bounds, bounds.first).collect();
        if let [first, second, .., last] = numbers.as_slice() {
            let step = second - first;
            let even = numbers.iter().zip(numbers.iter().skip(1)).all(|(a, b)| b - a == step);
            if numbers.len() > 4 && step > 1 && even {
                return format!("{}..{}/{step}", name(*first), name(*last));
            }
        }
        let runs = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [first, _, .., last] if run.len() > 2 => format!("{}..{}", name(*first), name(*last)),
            run => run.iter().map(|number| name(*number)).collect::<Vec<_>>().join(","),
        });
        runs.collect::<Vec<_>>().join(",")
    }

    fn insert(&mut self, bounds: Bounds, first: u16, last: u16, step: u16) {
        for number in (first..=last).step_by(usize::from(step.max(1))) {
            let (word, bit) = place(bounds, number);
            if let Some(word) = self.0.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Its numbers from `first` on, ascending; `first` may be out of bounds.
    pub(super) fn from(self, bounds: Bounds, first: u16) -> impl Iterator<Item = u16> {
        (first.max(bounds.first)..=bounds.last).filter(move |number| self.contains(bounds, *number))
    }

    pub(super) fn contains(self, bounds: Bounds, number: u16) -> bool {
        let (word, bit) = place(bounds, number);
        self.0.get(word).is_some_and(|word| word & bit != 0)
    }
}

const fn place(bounds: Bounds, number: u16) -> (usize, u128) {
    let offset = number - bounds.first;
    ((offset / 128) as usize, 1 << (offset % 128))
}

fn step_size(text: &str) -> Option<u16> {
    let digits = (1..=3).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok())?.filter(|step| *step > 0)
}
