//! Everything that is told of a finding.

use super::elsewhere::Elsewhere;
use super::misuse::Facts;
use super::reading::Reading;
use super::reads::ReadFact;
use super::reason::Reason;
use super::repair::edit::{Repair, Tries};
use super::search::Chain;
use super::subject::Subject;
use crate::bits::EventSet;
use crate::event::SiteId;
use crate::findings::FindingKind;
use fencepost_dsl::index::Id;

/// Everything a report says about one finding.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// What it is.
    pub kind: &'static FindingKind,
    /// Its page: `family::kebab-name`.
    pub code: &'static str,
    /// Rules it rests on, most specific first.
    pub rules: Vec<&'static str>,
    /// What is wrong.
    pub subject: Subject,
    /// Why; most important first.
    pub reasons: Vec<Reason>,
    /// What almost orders a racing pair.
    pub chain: Option<Chain>,
    /// Questions PTX leaves open with whose other answer it would not be there.
    pub readings: Vec<Reading>,
    /// A change after which it was checked to be gone.
    pub repair: Option<Repair>,
    /// What changes of the launch's program were tried to find one.
    pub tries: Tries,
    /// The finding before it, by its place in the list, whose cause it has in common.
    pub cause: Option<usize>,
    /// The parameters of the execution.
    pub parameters: Vec<(String, u128)>,
    /// The reads that a violated condition depends on.
    pub reads: Vec<ReadFact>,
    /// Published editions of the model that forbid the execution, or under which the race is none.
    pub elsewhere: Vec<Elsewhere>,
    /// Instructions on whose results the execution rests although nobody computes them.
    pub uncomputed: Vec<SiteId>,
    /// What happened before a rule about barriers was broken.
    pub facts: Option<Facts>,
}

impl Explanation {
    /// Adds rules that it does not have yet.
    pub(super) fn add_rules<'a>(&mut self, rules: impl IntoIterator<Item = &'a &'static str>) {
        for rule in rules {
            if !self.rules.contains(rule) {
                self.rules.push(rule);
            }
        }
    }

    /// The events the story is about: both ends, the links of the chain, the reads of a condition.
    pub fn events(&self, n_events: usize) -> EventSet {
        let mut set = EventSet::empty(n_events);
        match &self.subject {
            Subject::Race { earlier, later } | Subject::Flag { pair: (earlier, later), .. } => {
                set.insert(*earlier);
                set.insert(*later);
            }
            Subject::Lifetime { access, .. } => set.insert(*access),
            Subject::Assertion { .. }
            | Subject::Deadlock { .. }
            | Subject::Misuse { .. }
            | Subject::Final { .. }
            | Subject::Bounds { .. }
            | Subject::Completion => {}
        }
        for step in self.chain.iter().flat_map(|chain| &chain.steps) {
            set.insert(step.from);
            set.insert(step.to);
        }
        for event in self.reasons.iter().flat_map(Reason::events) {
            set.insert(event);
        }
        for event in self.facts.iter().flat_map(Facts::events) {
            set.insert(event);
        }
        for fact in &self.reads {
            set.insert(fact.read);
            for write in fact.source.into_iter().chain(fact.missed) {
                set.insert(write);
            }
        }
        assert!(set.iter().all(|event| event.index() < n_events));
        set
    }
}

pub(super) fn bare(kind: &'static FindingKind, subject: Subject) -> Explanation {
    Explanation {
        kind,
        code: kind.code,
        rules: kind.rules.to_vec(),
        subject,
        reasons: Vec::new(),
        chain: None,
        readings: Vec::new(),
        elsewhere: Vec::new(),
        repair: None,
        tries: Tries::default(),
        cause: None,
        parameters: Vec::new(),
        reads: Vec::new(),
        uncomputed: Vec::new(),
        facts: None,
    }
}
