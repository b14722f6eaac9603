//! Checks that nobody wants any more.

use fencepost::{Options, Source, Verdict, check};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// It would go on for hours with the budget that it is given here.
const LONG: &str = include_str!("long.fence");

#[test]
fn a_check_ends_once_nobody_wants_it() {
    let n_asked = Arc::new(AtomicUsize::new(0));
    let options = Options::default().budget(1_000_000);
    let asked = Arc::clone(&n_asked);
    let is_wanted = move || asked.fetch_add(1, Ordering::Relaxed) < 10_000;
    let report = check(Source::text("table.fence", LONG), &options.clone().while_wanted(is_wanted));
    let report = report.expect("it is a program");
    assert_eq!(report.launches()[0].verdict, Verdict::Inconclusive);
    assert!(report.to_string().contains("the run was interrupted"), "{report}");
    assert!(n_asked.load(Ordering::Relaxed) >= 10_000);
    // As long as it is wanted, nothing depends on who asks.
    let text = "kernel short { launch { ctas: 1 } global x: u32 = 0; st [x], 1; }";
    let both = [options.clone(), options.while_wanted(|| true)].map(|options| {
        check(Source::text("short.fence", text), &options).expect("it is a program").to_string()
    });
    assert_eq!(both[0], both[1]);
}
