//! What a certificate claims, and whether what was followed and evaluated is enough for it.
//!
//! Goals are listed here, from the model and the graph: each pair of events that a flag can hold of, each obligation, each
//! claim about final memory, waiting for ever, each loop that may run on. Each must be refuted by a proof that was followed, or
//! excluded before any solver was asked: by the plain bounds of this crate, or by those of the engine, which are counted and
//! listed as trusted.

use crate::bits::Relation;
use crate::cnf::Goal;
use crate::execution::Shows;
use crate::graph::{Graph, Reading};
use crate::model::{is_symmetric, possible};
use crate::part::{Part, Slice, Stated};
use crate::{Refused, flags, property_of_flag};
use fencepost_dsl::cat::MemoryModel;
use fencepost_dsl::cat::memory_model::TermId;
use fencepost_dsl::kernel::program::{Kernel, Parameter};
use std::collections::{HashMap, HashSet};

/// Properties behind whose violations nothing is promised: they are asked about in any case.
const ENDING: [&str; 2] = ["barrier", "bounds"];

/// What a certificate claims.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claims {
    /// By property, the verdict.
    pub properties: Vec<(String, String)>,
    /// Whether a litmus condition holds.
    pub condition: Option<(String, bool)>,
    /// Whether no loop can run past the bound.
    pub is_complete: bool,
    /// The worst of the verdicts.
    pub verdict: String,
}

/// What goals were counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// All there are.
    pub all: usize,
    /// Of those, refuted by a proof.
    pub by_proof: usize,
    /// Excluded by the bounds of this crate, or by the shape of their terms.
    pub by_own_bounds: usize,
    /// Excluded by the bounds of the engine, which are taken on trust.
    pub by_trusted_bounds: usize,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.by_proof += other.by_proof;
        self.by_own_bounds += other.by_own_bounds;
        self.by_trusted_bounds += other.by_trusted_bounds;
    }
}

/// What was found to be covered.
#[derive(Clone, Default, Debug)]
pub struct Covered {
    /// Pairs of flags.
    pub pairs: Counts,
    /// Obligations, claims about final memory, waits and loops.
    pub others: Counts,
    /// Threads that are in some slice, or alike to one that is, and how many there are of the first kind.
    pub threads: Option<(usize, usize)>,
    /// What executions show.
    pub n_shown: usize,
    /// What they are said to show and was not evaluated.
    pub n_unseen: usize,
}

fn missing(code: &'static str, why: String) -> Refused {
    Refused::new(code, why)
}

/// Whether each value of a kernel's parameters has its part, where each was looked at alone.
///
/// # Errors
/// If one is missing, or the parts are about something else.
pub(crate) fn check_values(kernel: &Kernel, parts: &[Part]) -> Result<(), Refused> {
    let wrong = |why: String| Err(missing("coverage::value", why));
    check_leaders(parts)?;
    if parts.iter().all(|part| part.values.is_empty()) {
        return Ok(());
    }
    let mut seen: HashSet<Vec<usize>> = HashSet::new();
    for part in parts {
        let names = part.values.iter().map(|(name, _)| name.as_str());
        if !names.eq(kernel.parameters.iter().map(|own| own.name.as_str())) {
            return wrong("a part does not name the kernel's parameters".to_owned());
        }
        let values: Vec<usize> = part.values.iter().map(|&(_, value)| value).collect();
        let is_in = |(own, &value): (&Parameter, &usize)| (own.min..=own.max).contains(&(value as u64));
        if !kernel.parameters.iter().zip(&values).all(is_in) {
            return wrong("a part is about a value that no parameter has".to_owned());
        }
        seen.insert(values);
    }
    let widths = kernel.parameters.iter().map(|own| u128::from(own.max - own.min) + 1);
    let n_values = widths.fold(1, u128::saturating_mul);
    if n_values != seen.len() as u128 {
        return wrong(format!(
            "there are {n_values} values of the parameters, and parts of {} of them",
            seen.len()
        ));
    }
    Ok(())
}

/// Whether parts that are about the same values elect other lanes, of the same warps and masks.
fn check_leaders(parts: &[Part]) -> Result<(), Refused> {
    let elections = |of: &Part| of.leaders.iter().map(|&[warp, mask, _]| (warp, mask)).collect::<Vec<_>>();
    for (at, part) in parts.iter().enumerate() {
        for other in parts[..at].iter().filter(|other| other.values == part.values) {
            if elections(other) != elections(part) {
                let why = "two parts are about the same values and elect lanes of other warps".to_owned();
                return Err(missing("coverage::leader", why));
            }
            if other.leaders == part.leaders {
                let why = "two parts are about the same values and the same leaders".to_owned();
                return Err(missing("coverage::value", why));
            }
        }
    }
    Ok(())
}

impl Claims {
    /// Reads them.
    ///
    /// # Errors
    /// If there are none.
    pub(crate) fn read(root: &Reading<'_>) -> Result<Self, Refused> {
        let mut properties = Vec::new();
        for one in root.get("properties")?.list()? {
            properties
                .push((one.get("property")?.text()?.to_owned(), one.get("verdict")?.text()?.to_owned()));
        }
        let condition = root.get("condition")?;
        let condition = if condition.is_null() {
            None
        } else {
            let holds = condition.get("holds")?;
            let quantifier = condition.get("quantifier")?.text()?.to_owned();
            if holds.is_null() { None } else { Some((quantifier, holds.is_true()?)) }
        };
        let verdict = root.get("verdict")?.text()?.to_owned();
        let this = Self {
            properties,
            condition,
            is_complete: root.get("bounds")?.get("complete")?.is_true()?,
            verdict,
        };
        let worst = this.properties.iter().map(|(_, verdict)| rank(verdict)).max();
        if worst != Some(rank(&this.verdict)) {
            let why = format!("its verdict is `{}`, which is not the worst of its properties", this.verdict);
            return Err(Refused::new("claim::verdict", why));
        }
        Ok(this)
    }

    /// Whether no execution is to break a property.
    pub(crate) fn is_proved(&self, property: &str) -> bool {
        let verdict =
            self.properties.iter().find(|(own, _)| own == property).map(|(_, verdict)| verdict.as_str());
        matches!(verdict, Some("proved" | "proved_up_to_bound"))
    }

    /// Whether anything is claimed of all executions.
    pub(crate) fn claims_all(&self) -> bool {
        self.properties.iter().any(|(property, verdict)| {
            property != "reachable" && property != "condition" && verdict.starts_with("proved")
        }) || self.is_universal()
    }

    /// Whether a litmus condition is said to hold, or not to, for what no execution does.
    pub(crate) fn is_universal(&self) -> bool {
        let is_claimed =
            self.properties.iter().any(|(own, verdict)| own == "condition" && verdict != "inconclusive");
        let of_none = |(quantifier, holds): &(String, bool)| (quantifier == "exists") != *holds;
        is_claimed && self.condition.as_ref().is_some_and(of_none)
    }

    /// Whether goals of a property have to be refuted: it is proved, or something else is that is so only of executions that keep
    /// its rules.
    pub(crate) fn needs(&self, property: &str) -> bool {
        self.is_proved(property)
            || ENDING.contains(&property) && self.claims_all() && !self.is_violated(property)
    }

    pub(crate) fn is_violated(&self, property: &str) -> bool {
        self.properties.iter().any(|(own, verdict)| own == property && verdict == "violated")
    }

    /// Holds the claims to what was followed and evaluated.
    ///
    /// # Errors
    /// At the first that is not covered.
    pub(crate) fn check(&self, model: &MemoryModel, parts: &[Part]) -> Result<Covered, Refused> {
        let mut covered = Covered::default();
        for part in parts {
            if part.slices.is_empty() {
                self.check_whole(model, part, &mut covered)?
            } else {
                self.check_slices(model, part, &mut covered)?
            }
            covered.n_shown += part.shown.len();
            covered.n_unseen += part.unseen.len();
        }
        self.check_shown(parts)?;
        Ok(covered)
    }

    fn check_whole(&self, model: &MemoryModel, part: &Part, covered: &mut Covered) -> Result<(), Refused> {
        let graph = &part.graph;
        let Some(stated) = part.main() else {
            // Where all that is claimed is violations, executions say it all.
            let claims_nothing =
                !self.claims_all() && self.properties.iter().all(|(_, verdict)| verdict != "vacuous");
            let why = "it has no formula of the launch".to_owned();
            return if claims_nothing { Ok(()) } else { Err(missing("coverage::formula", why)) };
        };
        let mut pairs = Pairs::new(model, graph)?;
        for flag in flags(model).filter(|flag| self.needs(property_of_flag(&flag.name))) {
            covered.pairs.add(pairs.count(flag.term, &flag.name, |_| true, |goal| stated.refutes(goal))?);
        }
        let of = Goals { graph, stated };
        for (index, own) in graph.obligations.iter().enumerate() {
            // Of assertions nothing else depends.
            if self.needs(&own.property)
                || own.property != "assert" && self.claims_all() && !self.is_violated(&own.property)
            {
                covered.others.add(of.obligation(index)?);
            }
        }
        if self.is_proved("assert") {
            for (index, own) in graph.finals.iter().enumerate().filter(|(_, own)| !own.is_reachable) {
                let is_true = graph.constant(own.condition) == Some(1);
                covered.others.add(of.goal(&Goal::Final(index), is_true)?);
            }
        }
        if self.is_proved("deadlock") {
            let none = graph.blocked.is_empty();
            covered.others.add(of.goal(&Goal::Deadlock, none)?);
            covered.others.add(of.goal(&Goal::NotResident, none || !graph.has_starts)?);
        }
        if self.is_complete && (self.claims_all() || self.is_proved("condition")) {
            self.check_cuts(graph, stated, covered)?;
        }
        if self.is_universal() {
            let literal = stated.formula.condition;
            if !literal.is_some_and(|literal| stated.is_false(literal)) {
                return Err(missing(
                    "coverage::condition",
                    "no proof refutes that some execution does what the litmus condition is about".to_owned(),
                ));
            }
            covered.others.add(Counts { all: 1, by_proof: 1, ..Counts::default() });
        }
        for (property, verdict) in &self.properties {
            if verdict == "vacuous" && part.main().is_some_and(|main| !vacuous(main)) {
                return Err(missing(
                    "coverage::vacuity",
                    format!("nothing shows that `{property}` is about nothing"),
                ));
            }
        }
        Ok(())
    }

    fn check_cuts(&self, graph: &Graph, stated: &Stated, covered: &mut Covered) -> Result<(), Refused> {
        for (number, &(_, guard)) in graph.cuts.iter().enumerate() {
            if graph.constant(guard) == Some(0) {
                covered.others.add(Counts { all: 1, by_own_bounds: 1, ..Counts::default() });
            } else if stated.refutes_cut(number) {
                covered.others.add(Counts { all: 1, by_proof: 1, ..Counts::default() });
            } else {
                return Err(missing(
                    "coverage::loop",
                    format!("no proof refutes that loop {number} runs past the bound"),
                ));
            }
        }
        Ok(())
    }

    fn check_slices(&self, model: &MemoryModel, part: &Part, covered: &mut Covered) -> Result<(), Refused> {
        let graph = &part.graph;
        // What a slice refutes is refuted for whoever has the same question in another one.
        let mut refuted: HashSet<Goal> = HashSet::new();
        for stated in &part.stated {
            let Some(slice) = stated.slice.map(|slice| &part.slices[slice]) else { continue };
            let of_whole = |goal: &Goal| in_whole(slice, goal);
            refuted.extend(
                stated
                    .formula
                    .goals
                    .keys()
                    .filter(|goal| stated.refutes(goal) == Some(true))
                    .filter_map(of_whole),
            );
        }
        let mut threads: HashSet<usize> = HashSet::new();
        let mut representing: HashSet<usize> = HashSet::new();
        let (mut obligations, mut cuts, mut finals) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut waits = false;
        let mut wrong = None;
        for stated in &part.stated {
            let Some(slice) = stated.slice.map(|slice| &part.slices[slice]) else { continue };
            match self.check_slice(model, slice, stated, &refuted) {
                Ok((pairs, others)) => {
                    covered.pairs.add(pairs);
                    covered.others.add(others);
                    match slice.about.as_str() {
                        "threads" if slice.is_of_place() => {}
                        "threads" => {
                            threads.extend(slice.stands_for.iter().chain(&slice.asked));
                            representing.extend(slice.asked.iter());
                            obligations.extend(slice.obligations.iter().copied());
                            cuts.extend(slice.cuts.iter().copied());
                        }
                        "waits" => waits = true,
                        _ => finals.extend(slice.finals.iter().copied()),
                    }
                }
                // A larger one may have been asked in its place; if not, somebody is missing.
                Err(refused) => wrong = Some(refused),
            }
        }
        let because =
            |refused: &Option<Refused>| refused.as_ref().map_or(String::new(), |it| format!(" ({})", it.why));
        if self.claims_all() {
            if let Some(thread) = (0..graph.agents.len()).find(|thread| !threads.contains(thread)) {
                let name = &graph.agents[thread].name;
                return Err(missing(
                    "coverage::thread",
                    format!("{name} is in no slice that is refuted{}", because(&wrong)),
                ));
            }
            let is_alike = |agent: usize| threads.contains(&agent) && !representing.contains(&agent);
            for (index, own) in graph.obligations.iter().enumerate() {
                if self.needs(&own.property) && !obligations.contains(&index) && !is_alike(own.agent) {
                    return Err(missing(
                        "coverage::obligation",
                        format!("obligation {index} is in no slice that is refuted"),
                    ));
                }
            }
            for (index, cut) in graph.cuts.iter().enumerate() {
                if self.is_complete && !cuts.contains(&index) && !is_alike(cut.0) {
                    return Err(missing(
                        "coverage::loop",
                        format!("loop {index} is in no slice that is refuted"),
                    ));
                }
            }
        }
        if self.is_proved("deadlock") && !graph.blocked.is_empty() && !waits {
            return Err(missing(
                "coverage::waits",
                format!("no slice of waits is refuted{}", because(&wrong)),
            ));
        }
        if self.is_proved("assert") {
            for (index, own) in graph.finals.iter().enumerate() {
                if !own.is_reachable && !finals.contains(&index) {
                    let why = format!(
                        "claim {index} about final memory is in no slice that is refuted{}",
                        because(&wrong)
                    );
                    return Err(missing("coverage::final", why));
                }
            }
        }
        let (all, own) = covered.threads.unwrap_or_default();
        covered.threads = Some((all + graph.agents.len(), own + representing.len()));
        Ok(())
    }

    /// Whether all that a slice is asked is refuted.
    fn check_slice(
        &self,
        model: &MemoryModel,
        slice: &Slice,
        stated: &Stated,
        refuted: &HashSet<Goal>,
    ) -> Result<(Counts, Counts), Refused> {
        let (mut pairs, mut others) = (Counts::default(), Counts::default());
        let graph = &slice.graph;
        let of = Goals { graph, stated };
        let refutes = |goal: &Goal| {
            let known = in_whole(slice, goal).is_some_and(|goal| refuted.contains(&goal));
            stated.refutes(goal).map(|own| own || known)
        };
        match slice.about.as_str() {
            "threads" => {
                let mut of_flags = Pairs::new(model, graph)?;
                let is_asked = |(a, b): (usize, usize)| slice.asks(a, b);
                for flag in flags(model).filter(|flag| self.needs(property_of_flag(&flag.name))) {
                    pairs.add(of_flags.count(flag.term, &flag.name, is_asked, refutes)?);
                }
                for (index, own) in graph.obligations.iter().enumerate() {
                    if self.needs(&own.property)
                        || own.property != "assert" && !self.is_violated(&own.property)
                    {
                        let is_trivial = of.is_trivial(index);
                        others.add(count_one(refutes(&Goal::Obligation(index)), is_trivial, || {
                            format!("obligation {index} of a slice")
                        })?);
                    }
                }
                if self.is_complete {
                    let mut covered = Covered::default();
                    self.check_cuts(graph, stated, &mut covered)?;
                    others.add(covered.others);
                }
            }
            "waits" if self.is_proved("deadlock") => {
                others.add(of.goal(&Goal::Deadlock, graph.blocked.is_empty())?);
                others.add(of.goal(&Goal::NotResident, graph.blocked.is_empty() || !graph.has_starts)?);
            }
            "finals" if self.is_proved("assert") => {
                for index in 0..graph.finals.len() {
                    others.add(of.goal(&Goal::Final(index), false)?);
                }
            }
            _ => {}
        }
        Ok((pairs, others))
    }

    /// What has to be shown by executions: violations, ends, and what should be reachable.
    fn check_shown(&self, parts: &[Part]) -> Result<(), Refused> {
        let shown = || parts.iter().flat_map(|part| part.shown.iter().chain(&part.unseen));
        let needs_end = self.is_proved("reachable");
        if needs_end && !shown().any(|shows| *shows == Shows::Complete) {
            return Err(missing(
                "coverage::end",
                "no execution shows that every thread can finish".to_owned(),
            ));
        }
        if needs_end {
            let places = parts.iter().flat_map(|part| {
                part.graph.reachable.iter().chain(part.graph.finals.iter().filter(|own| own.is_reachable))
            });
            // Executions of slices are of the launch as it was run, in which all of it was seen to be reached.
            let is_sliced = parts.iter().any(|part| !part.unseen.is_empty());
            for place in places.map(|own| own.place) {
                if !is_sliced && !shown().any(|shows| *shows == Shows::Reachable(place)) {
                    let why = format!("no execution reaches what should be reachable at byte {}", place[1]);
                    return Err(missing("coverage::reachable", why));
                }
            }
        }
        for (property, verdict) in &self.properties {
            let breaks = |(part, shows): (&Part, &Shows)| match shows {
                Shows::Wrong(Goal::Flag(name, ..)) => property_of_flag(name) == property,
                Shows::Wrong(Goal::Obligation(index)) => {
                    part.graph.obligations.get(*index).is_some_and(|own| own.property == *property)
                }
                Shows::Wrong(Goal::Final(_)) => property == "assert",
                Shows::Wrong(Goal::Deadlock | Goal::NotResident) => property == "deadlock",
                Shows::Condition => property == "condition",
                Shows::Complete | Shows::Reachable(_) | Shows::Cut(_) => false,
            };
            let mut all =
                parts.iter().flat_map(|part| part.shown.iter().chain(&part.unseen).map(move |it| (part, it)));
            let is_universal = property == "condition" && self.is_universal();
            if verdict == "violated" && !is_universal && !all.any(breaks) {
                return Err(missing("coverage::violation", format!("no execution breaks `{property}`")));
            }
        }
        if let Some((quantifier, holds)) = &self.condition
            && !self.is_universal()
            && !shown().any(|shows| *shows == Shows::Condition)
        {
            let what = if *holds { "holds" } else { "does not hold" };
            return Err(missing(
                "coverage::condition",
                format!("no execution shows that `{quantifier}` {what}"),
            ));
        }
        Ok(())
    }
}

/// The better, the smaller.
fn rank(verdict: &str) -> usize {
    let order = ["proved", "proved_up_to_bound", "vacuous", "inconclusive", "violated"];
    order.iter().position(|own| *own == verdict).unwrap_or(order.len())
}

/// Whether something that should be reached is refuted.
fn vacuous(stated: &Stated) -> bool {
    let formula = &stated.formula;
    let mut literals =
        formula.complete.iter().chain(&formula.counts).chain(formula.reachable.iter().map(|(_, it)| it));
    // What the text has and unrolling never comes to is in no formula.
    formula.reachable.is_empty() || literals.any(|&literal| stated.is_false(literal))
}

/// What a goal of a slice is in the launch; what is about initial writes is nobody else's.
fn in_whole(slice: &Slice, goal: &Goal) -> Option<Goal> {
    match goal {
        Goal::Flag(name, a, b) => {
            Some(Goal::Flag(name.clone(), *slice.events.get(*a)?, *slice.events.get(*b)?))
        }
        Goal::Obligation(index) => Some(Goal::Obligation(*slice.obligations.get(*index)?)),
        Goal::Final(_) | Goal::Deadlock | Goal::NotResident => None,
    }
}

/// One goal, counted: `None` is one of which the formula does not speak, since the bounds of the engine exclude it.
fn count_one(refutes: Option<bool>, is_trivial: bool, name: impl Fn() -> String) -> Result<Counts, Refused> {
    let one = Counts { all: 1, ..Counts::default() };
    match refutes {
        _ if is_trivial => Ok(Counts { by_own_bounds: 1, ..one }),
        Some(true) => Ok(Counts { by_proof: 1, ..one }),
        None => Ok(Counts { by_trusted_bounds: 1, ..one }),
        Some(false) => Err(missing("coverage::goal", format!("no proof refutes {}", name()))),
    }
}

/// Goals that are no pairs.
struct Goals<'a> {
    graph: &'a Graph,
    stated: &'a Stated,
}

impl Goals<'_> {
    /// Whether the shape of its terms says that an obligation is met.
    fn is_trivial(&self, index: usize) -> bool {
        let own = &self.graph.obligations[index];
        self.graph.constant(own.guard) == Some(0) || self.graph.constant(own.condition) == Some(1)
    }

    fn obligation(&self, index: usize) -> Result<Counts, Refused> {
        let own = &self.graph.obligations[index];
        let name = || format!("that `{}` happens in line {}", own.code, own.line);
        count_one(self.stated.refutes(&Goal::Obligation(index)), self.is_trivial(index), name)
    }

    fn goal(&self, goal: &Goal, is_trivial: bool) -> Result<Counts, Refused> {
        let name = || crate::part::told(&Shows::Wrong(goal.clone()));
        count_one(self.stated.refutes(goal), is_trivial, name)
    }
}

/// Pairs that flags can hold of.
struct Pairs<'a> {
    model: &'a MemoryModel,
    graph: &'a Graph,
    possible: HashMap<TermId, Relation>,
}

impl<'a> Pairs<'a> {
    fn new(model: &'a MemoryModel, graph: &'a Graph) -> Result<Self, Refused> {
        let none = || missing("coverage::graph", "its graph has no relations to list goals from".to_owned());
        Ok(Self { model, graph, possible: possible(model, graph).ok_or_else(none)? })
    }

    /// The pairs of a flag, each of which must be excluded or refuted.
    fn count(
        &mut self,
        term: TermId,
        name: &str,
        is_asked: impl Fn((usize, usize)) -> bool,
        refutes: impl Fn(&Goal) -> Option<bool>,
    ) -> Result<Counts, Refused> {
        let n = self.graph.events.len();
        let is_symmetric = is_symmetric(self.model, term);
        let is_set =
            matches!(self.model.terms[term].kind, fencepost_dsl::cat::memory_model::TermKind::Set(_));
        let mut counts = Counts { all: if is_set { n } else { n * n }, ..Counts::default() };
        let Some(possible) = self.possible.get(&term) else { return Ok(counts) };
        let mut n_possible = 0;
        for (a, b) in possible.pairs() {
            n_possible += 1;
            if !is_asked((a, b)) {
                // Some other slice is asked.
                counts.all -= 1;
                continue;
            }
            let goal = |a, b| Goal::Flag(name.to_owned(), a, b);
            let either =
                refutes(&goal(a, b)).or_else(|| if is_symmetric { refutes(&goal(b, a)) } else { None });
            let events = &self.graph.events;
            let place = |event: usize| format!("`{}` in line {}", events[event].text, events[event].line);
            counts.add(Counts {
                all: 0,
                ..count_one(either, false, || format!("`{name}` of {} and {}", place(a), place(b)))?
            });
        }
        counts.by_own_bounds += if is_set { n } else { n * n } - n_possible;
        Ok(counts)
    }
}
