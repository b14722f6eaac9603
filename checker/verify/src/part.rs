//! A launch, or one value of its parameters: its graphs, and what its formulas, proofs and executions come to.

use crate::cnf::{Formula, Goal};
use crate::execution::{Allowed, Execution, Shows};
use crate::graph::{Graph, Reading};
use crate::proof::Checker;
use crate::{Folder, Refused};
use fencepost_dsl::cat::MemoryModel;
use std::collections::{HashMap, HashSet};

/// A part of a launch that was looked at alone.
#[derive(Debug)]
pub struct Slice {
    /// The part as a graph.
    pub graph: Graph,
    /// `threads`, `waits` or `finals`.
    pub about: String,
    /// Whom it is around, and whose slices are said to be alike.
    pub stands_for: Vec<usize>,
    /// Who is asked about.
    pub asked: Vec<usize>,
    /// By event, which one of the launch it is.
    pub events: Vec<usize>,
    /// Of slices around places and beside them, by event, where it is: no access (0), in every slice (1), or at a place; and which
    /// place the slice is about, if it is about one.
    pub places: Option<(Vec<usize>, Option<usize>)>,
    /// By number, which obligation of the launch it is.
    pub obligations: Vec<usize>,
    /// The same of loop cuts.
    pub cuts: Vec<usize>,
    /// The same of claims about final memory.
    pub finals: Vec<usize>,
}

/// A question that was put to a solver.
#[derive(Debug)]
pub struct Query {
    /// Its place in the certificate.
    pub number: usize,
    /// Why it was asked.
    pub role: String,
    /// Of which formula.
    pub formula: usize,
    /// What earlier questions have shown to be false.
    pub known: Vec<i32>,
    /// One of these was to be true.
    pub any: Option<Vec<i32>>,
    /// Of questions that build on each other: which, the variable of this one, and what all of them are among.
    pub series: Option<(usize, i32, Vec<i32>)>,
    /// Whether it is refuted, and the file that has the proof.
    pub proof: Option<String>,
    /// Steps of the proof that were followed.
    pub n_steps: usize,
}

impl Slice {
    /// Whether it is about the accesses of one place, and about nothing else that threads do.
    pub fn is_of_place(&self) -> bool {
        matches!(self.places, Some((_, Some(_))))
    }

    /// Whether a pair of its events is asked of it: with its centre, or among those who are asked; around a place, of that place.
    pub fn asks(&self, a: usize, b: usize) -> bool {
        if let Some((of, only)) = &self.places {
            let shared = match (of.get(a), of.get(b)) {
                (Some(&a), Some(&b)) if a >= 2 && (b == a || b == 1) => Some(a),
                (Some(&1), Some(&b)) if b >= 2 => Some(b),
                (Some(_), Some(_)) => None,
                // An initial write is the slice's own.
                _ => *only,
            };
            if only.is_some() || shared.is_some() {
                return shared == *only;
            }
        }
        let (a, b) = (self.graph.thread(a), self.graph.thread(b));
        let is_centre = |thread: Option<usize>| thread.is_some() && thread == self.stands_for.last().copied();
        let is_among = |thread: Option<usize>| thread.is_none_or(|thread| self.asked.contains(&thread));
        is_centre(a) || is_centre(b) || is_among(a) && is_among(b)
    }
}

/// A formula and what it is about.
#[derive(Debug)]
pub struct Stated {
    /// The slice, if it is about one.
    pub slice: Option<usize>,
    /// The formula; of one that is not looked at any more, no clauses.
    pub formula: Formula,
    /// How many clauses it has.
    pub n_clauses: usize,
    /// Literals that are shown to be false in all its assignments.
    pub refuted: HashSet<i32>,
    /// Whether it is shown to have no assignment at all.
    pub is_empty: bool,
}

impl Stated {
    /// Whether no execution of the formula reaches a goal: `None` if the formula does not speak of it.
    pub fn refutes(&self, goal: &Goal) -> Option<bool> {
        self.formula.goals.get(goal).map(|&literal| self.is_false(literal))
    }

    /// Whether no execution of the formula runs past the bound of a loop, by number.
    pub fn refutes_cut(&self, number: usize) -> bool {
        let own = self.formula.cuts.get(number).copied();
        own.into_iter().chain(self.formula.cut).any(|literal| self.is_false(literal))
    }

    /// Whether a literal is false in all assignments. The first variable is true.
    pub fn is_false(&self, literal: i32) -> bool {
        literal == -1 || self.is_empty || self.refuted.contains(&literal)
    }
}

/// A deduction that was made without a solver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deduction {
    /// Its name.
    pub name: String,
    /// What it rests on.
    pub needs: Vec<String>,
    /// Of how many things it says something, and what they are.
    pub count: usize,
    /// See there.
    pub what: String,
}

/// Events of the largest graph that is looked at: each relation of the model is evaluated for all of its pairs.
pub const EVENTS_MAX: usize = 4_000;

/// A launch, or one value of its parameters.
#[derive(Debug)]
pub struct Part {
    /// The values that were looked at alone.
    pub values: Vec<(String, usize)>,
    /// The lanes that are elected: of which warp, from which mask.
    pub leaders: Vec<[usize; 3]>,
    /// The loop bound.
    pub unroll: usize,
    /// The graph.
    pub graph: Graph,
    /// The slices.
    pub slices: Vec<Slice>,
    /// The formulas.
    pub stated: Vec<Stated>,
    /// The questions.
    pub queries: Vec<Query>,
    /// What executions show that were evaluated.
    pub shown: Vec<Shows>,
    /// What executions show that were not, for want of relations.
    pub unseen: Vec<Shows>,
    /// What was deduced.
    pub deductions: Vec<Deduction>,
}

impl Part {
    /// Reads one, follows its proofs and evaluates its executions.
    ///
    /// # Errors
    /// At the first thing that is wrong.
    pub(crate) fn read(folder: &Folder, model: &MemoryModel, part: &Reading<'_>) -> Result<Self, Refused> {
        let graph_of = |name: &str| Graph::parse(name, &folder.json(name)?);
        let graph = graph_of(part.get("graph")?.text()?)?;
        if graph.events.len() > EVENTS_MAX {
            let why = format!(
                "its graph has {} events, and relations of up to {EVENTS_MAX} are evaluated here; nothing is said of it",
                graph.events.len()
            );
            return Err(Refused::new("certificate::too-large", why));
        }
        let mut slices = Vec::new();
        for one in part.get("slices")?.list()? {
            let mut stands_for = one.get("alike")?.numbers()?;
            stands_for.push(one.get("centre")?.number()?);
            let places = one.get("places")?;
            let places = if places.is_null() {
                None
            } else {
                let only = places.get("only")?;
                let only = if only.is_null() { None } else { Some(only.number()?) };
                Some((places.get("of")?.numbers()?, only))
            };
            slices.push(Slice {
                places,
                graph: graph_of(one.get("graph")?.text()?)?,
                about: one.get("about")?.text()?.to_owned(),
                stands_for,
                asked: one.get("asked")?.numbers()?,
                events: one.get("events")?.numbers()?,
                obligations: one.get("obligations")?.numbers()?,
                cuts: one.get("cuts")?.numbers()?,
                finals: one.get("finals")?.numbers()?,
            });
        }
        let (mut stated, mut names) = (Vec::new(), Vec::new());
        for one in part.get("formulas")?.list()? {
            names.push(one.get("file")?.text()?);
            let slice = one.get("slice")?;
            let slice = if slice.is_null() { None } else { Some(slice.number()?) };
            if slice.is_some_and(|slice| slice >= slices.len()) {
                return Err(one.wrong("slice of that number"));
            }
            let formula = Formula::default();
            stated.push(Stated { slice, formula, n_clauses: 0, refuted: HashSet::new(), is_empty: false });
        }
        let mut values = Vec::new();
        let mut leaders = Vec::new();
        for one in part.listed("leaders")? {
            leaders.push([one.at(0)?.number()?, one.at(1)?.number()?, one.at(2)?.number()?]);
        }
        for one in part.get("values")?.list()? {
            values.push((one.at(0)?.text()?.to_owned(), one.at(1)?.number()?));
        }
        let mut deductions = Vec::new();
        for one in part.get("deductions")?.list()? {
            let needs: Result<Vec<String>, Refused> =
                one.get("needs")?.list()?.iter().map(|need| need.text().map(str::to_owned)).collect();
            deductions.push(Deduction {
                name: one.get("name")?.text()?.to_owned(),
                needs: needs?,
                count: one.get("count")?.number()?,
                what: one.get("what")?.text()?.to_owned(),
            });
        }
        let queries: Result<Vec<Query>, Refused> =
            part.get("queries")?.list()?.iter().enumerate().map(|(number, one)| query(number, one)).collect();
        let mut this = Self {
            values,
            leaders,
            unroll: part.get("unroll")?.number()?,
            graph,
            slices,
            stated,
            queries: queries?,
            shown: Vec::new(),
            unseen: Vec::new(),
            deductions,
        };
        this.follow_proofs(folder, &names)?;
        this.evaluate(folder, model, part)?;
        Ok(this)
    }

    /// One formula after the other, so that the clauses of one are there at a time.
    fn follow_proofs(&mut self, folder: &Folder, names: &[&str]) -> Result<(), Refused> {
        for (number, name) in names.iter().enumerate() {
            let formula = Formula::parse(&folder.text(name)?).map_err(|refused| refused.of(name))?;
            self.stated[number].n_clauses = formula.clauses.len();
            self.stated[number].formula = formula;
            self.follow_proofs_of(number, folder)?;
            let formula = &mut self.stated[number].formula;
            (formula.clauses, formula.meanings) = Default::default();
        }
        match self.queries.iter().find(|query| query.formula >= names.len()) {
            Some(query) => {
                let why = "there is no formula of its number".to_owned();
                Err(Refused::new("query::formula", why).of(&format!("query {}", query.number)))
            }
            None => Ok(()),
        }
    }

    fn follow_proofs_of(&mut self, formula: usize, folder: &Folder) -> Result<(), Refused> {
        let mut series: HashMap<usize, (Checker, i32)> = HashMap::new();
        let mut queries = std::mem::take(&mut self.queries);
        for query in queries.iter_mut().filter(|query| query.formula == formula) {
            let place = format!("query {} ({})", query.number, query.role);
            let Some(stated) = self.stated.get_mut(query.formula) else {
                return Err(
                    Refused::new("query::formula", "there is no formula of its number".to_owned()).of(&place)
                );
            };
            if let Some(literal) = query.known.iter().find(|&&literal| !stated.is_false(literal)) {
                let why = format!(
                    "it takes for granted that {literal} is false, which no question before it has shown"
                );
                return Err(Refused::new("query::unfounded", why).of(&place));
            }
            let followed = match &query.series {
                Some(_) => follow_in_series(folder, query, stated, &mut series),
                None => follow_alone(folder, query, stated),
            };
            query.n_steps = followed.map_err(|refused| match &query.proof {
                Some(proof) => refused.of(proof).of(&place),
                None => refused.of(&place),
            })?;
            if query.proof.is_some() {
                match &query.any {
                    Some(any) => stated.refuted.extend(any),
                    None => stated.is_empty = true,
                }
            }
        }
        self.queries = queries;
        Ok(())
    }

    fn evaluate(&mut self, folder: &Folder, model: &MemoryModel, part: &Reading<'_>) -> Result<(), Refused> {
        for one in part.get("witnesses")?.list()? {
            let name = one.get("file")?.text()?;
            let shows = shows(&one.get("shows")?)?;
            let execution = Execution::parse(name, &folder.json(name)?, &self.graph)?;
            if self.graph.relations.is_none() {
                self.unseen.push(shows);
                continue;
            }
            let allowed = Allowed::new(&self.graph, model, &execution).map_err(|refused| refused.of(name))?;
            if !allowed.shows(&shows) {
                let why = format!("it is an execution, and does not show {}", told(&shows));
                return Err(Refused::new("witness::shows-nothing", why).of(name));
            }
            // One that ends may reach things besides.
            let places =
                self.graph.reachable.iter().chain(self.graph.finals.iter().filter(|own| own.is_reachable));
            for place in places.map(|own| Shows::Reachable(own.place)) {
                if allowed.shows(&place) && !self.shown.contains(&place) {
                    self.shown.push(place);
                }
            }
            self.shown.push(shows);
        }
        Ok(())
    }

    /// Its number.
    pub(crate) fn main_number(&self) -> Option<usize> {
        self.stated.iter().rposition(|stated| stated.slice.is_none())
    }

    /// The formula of the whole that goals are asked of: the last, since the others only order rounds.
    pub fn main(&self) -> Option<&Stated> {
        self.stated.iter().rfind(|stated| stated.slice.is_none())
    }
}

/// A goal or a place, in words.
pub fn told(shows: &Shows) -> String {
    match shows {
        Shows::Wrong(Goal::Flag(name, a, b)) => format!("`{name}` of events {a} and {b}"),
        Shows::Wrong(Goal::Obligation(index)) => format!("that obligation {index} is not met"),
        Shows::Wrong(Goal::Final(index)) => format!("that claim {index} about final memory fails"),
        Shows::Wrong(Goal::Deadlock | Goal::NotResident) => "threads that wait for ever".to_owned(),
        Shows::Condition => "what the litmus condition is about".to_owned(),
        Shows::Complete => "every thread at its end".to_owned(),
        Shows::Reachable(_) => "what should be reachable".to_owned(),
        Shows::Cut(_) => "a loop that runs past the bound".to_owned(),
    }
}

fn query(number: usize, one: &Reading<'_>) -> Result<Query, Refused> {
    let any = one.get("any")?;
    let series = one.get("series")?;
    let proof = one.get("proof")?;
    let is_refuted = one.get("answer")?.text()? == "refuted";
    if is_refuted == proof.is_null() {
        return Err(one.wrong("proof of what is refuted, or one of what is not"));
    }
    let series = if series.is_null() {
        None
    } else {
        let variable =
            one.get("series")?.get("variable")?.value.as_i64().and_then(|it| i32::try_from(it).ok());
        let variable = variable.ok_or_else(|| series.wrong("variable"))?;
        Some((series.get("number")?.number()?, variable, series.get("among")?.literals()?))
    };
    Ok(Query {
        number,
        role: one.get("role")?.text()?.to_owned(),
        formula: one.get("formula")?.number()?,
        known: one.get("known")?.literals()?,
        any: if any.is_null() { None } else { Some(any.literals()?) },
        series,
        proof: if proof.is_null() { None } else { Some(proof.text()?.to_owned()) },
        n_steps: 0,
    })
}

/// What the last step of a proof must be.
fn ends(checker: &Checker, among: &[i32], n_steps: usize) -> Result<(), Refused> {
    if checker.ends_in(among) {
        return Ok(());
    }
    let what = if n_steps == 0 { "it is empty" } else { "its last step is not the empty clause" };
    Err(Refused::new("proof::no-end", format!("{what}: nothing is refuted")))
}

fn follow_alone(folder: &Folder, query: &Query, stated: &Stated) -> Result<usize, Refused> {
    let Some(proof) = &query.proof else { return Ok(0) };
    let mut checker = given(stated, &query.known);
    checker.give_all(query.any.iter().map(Vec::as_slice));
    checker.follow_lrat(&folder.bytes(proof)?)?;
    ends(&checker, &[], checker.n_steps)?;
    Ok(checker.n_steps)
}

/// The clauses of a formula, and what is known besides.
pub(crate) fn given(stated: &Stated, known: &[i32]) -> Checker {
    let mut checker = Checker::new();
    checker.give_all(stated.formula.clauses.iter());
    known.iter().for_each(|&literal| _ = checker.give(&[-literal]));
    checker
}

/// Sound: the variable of a question occurs nowhere else, so that with it false the clause says nothing; that it cannot be true
/// is that none of what is asked can be. What all questions are among is true in any assignment in which one of them is.
///
/// Needs: nothing. It is about formulas.
fn follow_in_series(
    folder: &Folder,
    query: &Query,
    stated: &Stated,
    all: &mut HashMap<usize, (Checker, i32)>,
) -> Result<usize, Refused> {
    let (Some((number, variable, among)), Some(any)) = (&query.series, &query.any) else { return Ok(0) };
    let wrong = |why: &str| Refused::new("query::series", why.to_owned());
    let (checker, highest) = all.entry(*number).or_insert_with(|| {
        let mut checker = given(stated, &query.known);
        checker.give(among);
        (checker, stated.formula.n_variables)
    });
    if *variable <= *highest {
        return Err(wrong("its variable is not its own"));
    }
    if !any.iter().all(|literal| among.contains(literal)) {
        return Err(wrong("what it asks is not among what was given"));
    }
    *highest = *variable;
    let clause: Vec<i32> = any.iter().copied().chain([-variable]).collect();
    checker.give(&clause);
    let Some(proof) = &query.proof else { return Ok(0) };
    let before = checker.n_steps;
    checker.follow_lrat(&folder.bytes(proof)?)?;
    ends(checker, &[-variable], checker.n_steps - before)?;
    any.iter().for_each(|&literal| _ = checker.give(&[-literal]));
    Ok(checker.n_steps - before)
}

fn shows(one: &Reading<'_>) -> Result<Shows, Refused> {
    let number = |at: usize| one.at(at).and_then(|it| it.number());
    Ok(match one.at(0)?.text()? {
        "flag" => Shows::Wrong(Goal::Flag(one.at(1)?.text()?.to_owned(), number(2)?, number(3)?)),
        "obligation" => Shows::Wrong(Goal::Obligation(number(1)?)),
        "final" => Shows::Wrong(Goal::Final(number(1)?)),
        "deadlock" => Shows::Wrong(Goal::Deadlock),
        "not-resident" => Shows::Wrong(Goal::NotResident),
        "condition" => Shows::Condition,
        "complete" => Shows::Complete,
        "cut" => Shows::Cut(number(1)?),
        "reachable" => {
            let place = one.at(1)?.numbers()?;
            Shows::Reachable(<[usize; 3]>::try_from(place).map_err(|_| one.wrong("place"))?)
        }
        _ => return Err(one.wrong("claim that is known")),
    })
}
