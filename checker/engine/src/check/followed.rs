//! Whoever asks the solver hears of an answer that cannot be followed: there is no verdict then. And what is kept of answers that
//! can is enough to follow them again.

use super::*;
use crate::encode::Treatment;
use crate::evidence::{Answered, Asked, Reason, Role, Shown};
use crate::models::{self, Model};
use crate::solve::LOSES;
use crate::verdict::Verdict;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::sorted::{SortedMap, SortedSet};

/// Warps take turns at a word; nothing is known of it but what the solver finds out.
fn turns(more: &str) -> String {
    let turns = "atom.relaxed.cta.inc.u32 _, [c], 100; ".repeat(2);
    format!("kernel k {{ launch {{ warps: 3 }} global c: u32 = 0; {turns} {more} }}")
}

fn checked(text: &str, treatment: Treatment, follow: bool) -> Result<Outcome, CheckError> {
    checked_with(text, treatment, |config| Config { follow, ..config })
}

fn checked_with(
    text: &str,
    treatment: Treatment,
    with: impl FnOnce(Config) -> Config,
) -> Result<Outcome, CheckError> {
    let mut read = |_: &str| Ok(text.to_owned());
    let program = load(&mut SourceMap::default(), "k.fence", &mut read, &LoadOptions::default())
        .unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let model = Model::shipped(models::PTX, &[]).expect("it comes along");
    let config = with(Config::without_deadline(treatment));
    let kernel = &program.kernels[0];
    check(&program, kernel, &kernel.launches[0], &model.resolved, &config)
}

/// The kernels below, each with something else that the solver is asked for.
fn asked_for() -> [(&'static str, String, Treatment); 4] {
    let total = turns("final { assert [c] == 6; }");
    let parts = turns("assert ld.relaxed.cta [c] <= 6; assert ld.relaxed.cta [c] >= 2;");
    let one_by_one = Treatment { lemmas_from: 0, ..Treatment::DEFAULT };
    let barrier = include_str!("../../../cli/benches/families/sense-barrier.fence");
    let ring = "kernel k { launch { warps: 2, lanes: 32 } shared d[64]: u32 = 0; shared f[64]: u32 = 0;
        st [d[tid]], 1; st.release.cta [f[tid]], 1;
        if ld.acquire.cta [f[(tid + 1) % 64]] == 1 { assert ld [d[(tid + 1) % 64]] == 1; } }";
    [
        ("goals", total, Treatment::DEFAULT),
        ("lemmas", parts, one_by_one),
        ("rounds", barrier.to_owned(), Treatment::DEFAULT),
        ("slices", ring.to_owned(), Treatment::SLICED),
    ]
}

/// Follows the steps of a question, given what was said before it; what was learnt is added.
fn replay(given: &[Vec<Literal>], derived: &mut SortedMap<usize, Vec<Literal>>, asked: &Asked) {
    let Answered::Refuted(steps) = &asked.answered else { return };
    for step in steps {
        let mut known: Vec<Literal> = step.clause.iter().map(|&literal| !literal).collect();
        let mut is_contradicted = false;
        for reason in &step.reasons {
            let clause = match *reason {
                Reason::Given(place) => &given[place],
                Reason::Derived(number) => &derived[&number],
            };
            let mut open: Vec<Literal> =
                clause.iter().copied().filter(|&literal| !known.contains(&!literal)).collect();
            open.dedup();
            match open[..] {
                [] => is_contradicted = true,
                [unit] => known.push(unit),
                _ => panic!("{step:?} cites {clause:?}, of which {open:?} is open"),
            }
        }
        assert!(is_contradicted, "{step:?} does not follow");
        derived.insert(step.number, step.clause.clone());
    }
    let end = &steps.last().expect("there is an end").clause;
    let variable = asked.series.as_ref().map(|series| !series.variable);
    assert!(end.iter().all(|&literal| Some(literal) == variable), "{end:?} is no end");
}

#[test]
fn what_is_kept_is_enough_to_follow_the_answers_again() {
    let mut roles = SortedSet::new();
    for (what, text, treatment) in asked_for() {
        let plain = checked(&text, treatment, false).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(plain.evidence.is_empty(), "{what}: nothing is kept unless that is asked for");
        let outcome = checked_with(&text, treatment, |config| Config { record: true, ..config })
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((outcome.verdict, outcome.statistics.followed), (Verdict::Proved, None), "{what}");
        assert_eq!(
            plain.statistics.conflicts, outcome.statistics.conflicts,
            "{what}: the search is the same"
        );
        let [evidence] = &outcome.evidence[..] else { panic!("{what}: there is one") };
        assert!(evidence.record.shown.iter().any(|(shown, _)| *shown == Shown::Claim(GoalKind::Completion)));
        let mut derived: SortedMap<usize, SortedMap<usize, Vec<Literal>>> = SortedMap::new();
        let mut more: SortedMap<usize, Vec<Vec<Literal>>> = SortedMap::new();
        for asked in &evidence.record.asked {
            roles.insert(asked.role);
            let stated = &evidence.record.stated[asked.stated];
            let mut given: Vec<Vec<Literal>> = stated.formula.clauses().map(<[Literal]>::to_vec).collect();
            given.extend(asked.known.iter().map(|&literal| vec![!literal]));
            let any = asked.any.clone().unwrap_or_default();
            match &asked.series {
                Some(series) => {
                    let number = series.number;
                    given.push(series.among.clone());
                    let more = more.entry(number).or_default();
                    more.push(any.iter().copied().chain([!series.variable]).collect());
                    given.extend(more.iter().cloned());
                    replay(&given, derived.entry(number).or_default(), asked);
                    if matches!(asked.answered, Answered::Refuted(_)) {
                        more.extend(any.iter().map(|&literal| vec![!literal]));
                    }
                }
                None => {
                    given.extend(asked.any.clone());
                    replay(&given, &mut SortedMap::new(), asked);
                }
            }
        }
        assert!(!derived.is_empty() || what != "lemmas", "assertions build on each other");
    }
    let all = [Role::Goals, Role::Lemma, Role::Round, Role::Slice];
    assert!(all.iter().all(|role| roles.contains(role)), "{roles:?}");
}

#[test]
fn an_answer_that_cannot_be_followed_is_no_verdict_whoever_asked() {
    for (what, text, treatment) in asked_for() {
        let text = &text;
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
