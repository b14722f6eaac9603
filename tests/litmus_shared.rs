//! The field's own litmus tests against the expectations that come with them, and the page of the book that says how far
//! they agree. Where the folder `../shared/litmus` is not there, the page is checked as far as it goes without.

#![expect(clippy::print_stdout, reason = "the suite says what it compared, or that it could not")]

use fencepost_tests::agreement::{Shared, assert_page_without_random};

#[test]
fn published_tests_agree_and_the_page_says_so() {
    let shared = Shared::run();
    match &shared {
        Some(shared) => {
            let complaints = shared.complaints();
            assert!(complaints.is_empty(), "{}", complaints.join("\n"));
            println!("litmus: the page's tables of published tests are what was found");
        }
        None => {
            println!(
                "there is no ../shared/litmus: nothing to compare, and its part of the page is not checked"
            );
        }
    }
    assert_page_without_random(shared.as_ref());
}
