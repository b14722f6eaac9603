//! Whoever asks the solver hears of an answer that cannot be followed: there is no verdict then.

use super::*;
use crate::encode::Treatment;
use crate::models::{self, Model};
use crate::solve::LOSES;
use crate::verdict::Verdict;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};

/// Warps take turns at a word; nothing is known of it but what the solver finds out.
fn turns(more: &str) -> String {
    let turns = "atom.relaxed.cta.inc.u32 _, [c], 100; ".repeat(2);
    format!("kernel k {{ launch {{ warps: 3 }} global c: u32 = 0; {turns} {more} }}")
}

fn checked(text: &str, treatment: Treatment, follow: bool) -> Result<Outcome, CheckError> {
    let mut read = |_: &str| Ok(text.to_owned());
    let program = load(&mut SourceMap::default(), "k.fence", &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let model = Model::shipped(models::PTX, &[]).expect("it comes along");
    let config = Config { follow, ..Config::without_deadline(treatment) };
    let kernel = &program.kernels[0];
    check(&program, kernel, &kernel.launches[0], &model.resolved, &config)
}

#[test]
fn an_answer_that_cannot_be_followed_is_no_verdict_whoever_asked() {
    let total = turns("final { assert [c] == 6; }");
    let parts = turns("assert ld.relaxed.cta [c] <= 6; assert ld.relaxed.cta [c] >= 2;");
    let one_by_one = Treatment { lemmas_from: 0, ..Treatment::DEFAULT };
    let barrier = include_str!("../../../cli/benches/families/sense-barrier.fence");
    let ring = "kernel k { launch { warps: 2, lanes: 32 } shared d[64]: u32 = 0; shared f[64]: u32 = 0;
        st [d[tid]], 1; st.release.cta [f[tid]], 1;
        if ld.acquire.cta [f[(tid + 1) % 64]] == 1 { assert ld [d[(tid + 1) % 64]] == 1; } }";
    for (what, text, treatment) in [
        ("goals", total.as_str(), Treatment::DEFAULT),
        ("lemmas", &parts, one_by_one),
        ("rounds", barrier, Treatment::DEFAULT),
        ("slices", ring, Treatment::SLICED),
    ] {
        let plain = checked(text, treatment, false).unwrap_or_else(|error| panic!("{what}: {error}"));
        let followed = checked(text, treatment, true).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((plain.verdict, followed.verdict), (Verdict::Proved, Verdict::Proved), "{what}");
        assert!(followed.statistics.followed.is_some_and(|n| n > 0), "{what}: nothing was followed");
        assert_eq!(
            plain.statistics.conflicts, followed.statistics.conflicts,
            "{what}: the search is the same"
        );
        LOSES.set(true);
        let unseen = checked(text, treatment, false).map(|outcome| outcome.verdict);
        let lost = checked(text, treatment, true).map(|outcome| outcome.verdict);
        LOSES.set(false);
        assert!(matches!(unseen, Ok(Verdict::Proved)), "{what}: {unseen:?}");
        match lost {
            Err(CheckError::SelfCheck { pass: "solve", message }) => {
                assert!(message.starts_with("the solver says that there is no solution"), "{message}");
            }
            lost => panic!("{what}: {lost:?}"),
        }
    }
}
