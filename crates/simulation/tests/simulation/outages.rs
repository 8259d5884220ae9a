//! Each operation with each outage and each fate of the process ends as it would have without the outage.

use std::fmt::Write as _;
use std::thread;

use usher_simulation::{Script, run_outage};
use usher_testing::soak;

#[test]
fn outages_do_not_change_the_result_of_any_operation() {
    let all = Script::all();
    let today: Vec<_> = soak::chosen(all.len()).into_iter().map(|number| (number, all[number])).collect();
    let halves = today.chunks(today.len().div_ceil(2)).map(<[_]>::to_vec);
    let threads: Vec<_> =
        halves.map(|half| thread::spawn(move || half.into_iter().map(outcome).collect::<String>())).collect();
    let broken: String = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(broken.is_empty(), "replay with `cargo run -p usher-simulation -- --outage N`\n{broken}");
}

fn outcome((number, script): (usize, Script)) -> String {
    let mut broken = String::new();
    match run_outage(script) {
        Ok(report) => {
            for violation in report.violations {
                let _ = writeln!(broken, "outage {number}: {}: {}", violation.rule, violation.what);
            }
        }
        Err(failure) => {
            let _ = writeln!(broken, "outage {number}: {failure}");
        }
    }
    broken
}
