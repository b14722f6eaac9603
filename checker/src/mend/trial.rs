//! A text tried: is everything proved of it?

use crate::check::replay;
use crate::check::{CheckError, Config, check, usual_properties};
use crate::event::EventGraph;
use crate::explain::repair::{self, Edit, Texts};
use crate::explain::{Explanation, explain};
use crate::models::Model;
use crate::verdict::{Outcome, Verdict};
use crate::work::Allowance;
use fencepost_dsl::kernel::program::Program;

/// Steps of a try of a launch, as a multiple of what the launch took at first, and at least.
const TRY_STEPS: (u64, u64) = (6, 3_000_000);

/// What both commands are told.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The model.
    pub model: &'a Model,
    /// How each launch is checked; its budget is that of the whole search.
    pub config: &'a Config,
    /// Told what is done next.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync + 'a)>,
}

/// What is done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A launch of the text as it is, which can take as long as many tries.
    First {
        /// Which one, counted from 1.
        launch: usize,
        /// How many there are.
        n_launches: usize,
    },
    /// A changed text.
    Try {
        /// How many there were, with this one.
        n_tried: usize,
        /// What share of the budget is used.
        hundredths: u64,
    },
}

/// A kernel and launch, by their places in the program.
pub type Place = (usize, usize);

/// Tries texts.
pub struct Trial<'a> {
    setting: Setting<'a>,
    allowance: Allowance,
    /// Steps that each launch took at first, and its loop bound.
    base: Vec<(Place, u64, u32)>,
    /// Launches that were not proved lately, the last one first: they are likely to fail again.
    suspects: Vec<Place>,
    /// How many times the steps of a try it may take.
    pub patience: u64,
    /// How many texts were tried.
    pub n_tried: usize,
}

/// What a text is worth.
pub enum Answer {
    /// Everything is proved; perhaps only within the loop bound.
    Holds {
        /// Whether only so.
        within_bound: bool,
    },
    /// Something is violated.
    Fails(Box<Failure>),
    /// Something is neither proved nor violated.
    Open(Box<Failure>),
    /// It is no program, or uses what is not supported.
    NoProgram,
}

/// A launch that is not proved.
pub struct Failure {
    /// The program.
    pub program: Program,
    /// Its texts.
    pub texts: Texts,
    /// Which kernel and launch.
    pub place: Place,
    /// The outcome.
    pub outcome: Outcome,
    /// The facts of each finding.
    pub explanations: Vec<Explanation>,
}

impl<'a> Trial<'a> {
    /// No try yet; the budget counts from now.
    pub fn new(setting: Setting<'a>) -> Self {
        let allowance = setting.config.allowance();
        Self { setting, allowance, base: Vec::new(), suspects: Vec::new(), patience: 1, n_tried: 0 }
    }

    /// What `fencepost check` offers for a launch, if nothing is violated in it with that.
    pub fn help(&self, failure: &Failure) -> Result<Option<Vec<Edit>>, CheckError> {
        let kernel = &failure.program.kernels[failure.place.0];
        let config = self.setting.config;
        let config = Config {
            // As much again is for what it does not look at.
            budget: repair::worth(kernel, &failure.outcome).min(self.allowance.left() / 2),
            ..config.clone()
        };
        let model = &self.setting.model.resolved;
        let job =
            repair::Job { texts: &failure.texts, program: &failure.program, kernel, model, config: &config };
        let (repairs, _) = repair::find(&job, &failure.outcome, &failure.explanations)?;
        let repair = repairs.into_iter().flatten().find(repair::Repair::is_complete);
        Ok(repair.map(|repair| repair.edits.into_iter().chain(repair.others).collect()))
    }

    /// Whether the budget, or the time, is used up.
    pub fn is_over(&self) -> bool {
        self.allowance.used_up().is_some()
    }

    /// Checks every launch of a text and keeps what each took; of those that are not proved, what was found. What is tried then has
    /// the whole budget again: where a check takes most of it, nothing would be left to mend what was found.
    pub fn first(
        &mut self,
        texts: &Texts,
        findings_max: usize,
    ) -> Result<(Vec<Outcome>, Vec<Failure>), CheckError> {
        let (mut proved, mut failures) = (Vec::new(), Vec::new());
        let Some(program) = texts.program() else { return Ok((proved, failures)) };
        let places = places(&program);
        for (number, &place) in places.iter().enumerate() {
            self.tell(Progress::First { launch: number + 1, n_launches: places.len() });
            let config = self.config(&program, place, findings_max);
            let config = Config {
                unroll: self.setting.config.unroll,
                unroll_max: self.setting.config.unroll_max,
                budget: self.allowance.left(),
                ..config
            };
            let outcome = self.check(&program, place, &config)?;
            self.base.push((place, outcome.statistics.steps, outcome.unroll));
            if outcome.verdict.is_proof() {
                proved.push(outcome);
            } else {
                failures.push(self.failure(&program, texts, place, outcome));
            }
        }
        self.allowance = self.setting.config.allowance();
        Ok((proved, failures))
    }

    /// Tries a text up to the first launch that fails: those of the kernel of `first` before all others, else those that
    /// failed lately.
    pub fn answer(
        &mut self,
        texts: &Texts,
        findings_max: usize,
        first: Option<Place>,
    ) -> Result<Answer, CheckError> {
        self.n_tried += 1;
        let total = self.setting.config.budget.max(1);
        let hundredths = self.allowance.used().min(total).saturating_mul(100) / total;
        self.tell(Progress::Try { n_tried: self.n_tried, hundredths });
        let Some(program) = texts.program() else { return Ok(Answer::NoProgram) };
        let mut within_bound = false;
        let all = places(&program);
        let of_kernel = |place: &&Place| first.is_some_and(|first| first.0 == place.0);
        let early = first.iter().chain(all.iter().filter(of_kernel)).chain(&self.suspects).chain(&all);
        let mut order: Vec<Place> = Vec::new();
        for place in early.filter(|place| all.contains(place)) {
            if !order.contains(place) {
                order.push(*place);
            }
        }
        for place in order {
            let config = self.config(&program, place, findings_max);
            let outcome = match self.check(&program, place, &config) {
                Ok(outcome) => outcome,
                Err(CheckError::Unsupported(_)) => return Ok(Answer::NoProgram),
                Err(error) => return Err(error),
            };
            within_bound |= outcome.verdict == Verdict::ProvedUpToBound;
            if outcome.verdict.is_proof() {
                continue;
            }
            self.suspects.retain(|known| *known != place);
            self.suspects.insert(0, place);
            let is_violated = outcome.verdict == Verdict::Violated;
            let failure = Box::new(self.failure(&program, texts, place, outcome));
            return Ok(if is_violated { Answer::Fails(failure) } else { Answer::Open(failure) });
        }
        Ok(Answer::Holds { within_bound })
    }

    /// The events of a launch in a text.
    pub fn events(&self, texts: &Texts, place: Place) -> Option<EventGraph> {
        let program = texts.program()?;
        let kernel = &program.kernels[place.0];
        let config = self.config(&program, place, 1);
        let model = &self.setting.model.resolved;
        replay::events(&program, kernel, &kernel.launches[place.1], model, &config)
    }

    fn check(
        &self,
        program: &Program,
        (kernel, launch): Place,
        config: &Config,
    ) -> Result<Outcome, CheckError> {
        let kernel = &program.kernels[kernel];
        check(program, kernel, &kernel.launches[launch], &self.setting.model.resolved, config)
    }

    fn config(&self, program: &Program, place: Place, findings_max: usize) -> Config {
        let (times, least) = TRY_STEPS;
        let known = self.base.iter().find(|(known, ..)| *known == place);
        let most = known.map_or(u64::MAX, |(_, steps, _)| steps.saturating_mul(times).saturating_add(least));
        let most = most.saturating_mul(self.patience);
        let base = self.setting.config;
        let mut limits = base.limits;
        limits.findings_max = findings_max;
        // A larger bound than it took at first is for the end.
        let unroll = known.map_or(base.unroll, |&(_, _, unroll)| unroll);
        Config {
            properties: usual_properties(&program.kernels[place.0]),
            is_asked_by_name: false,
            unroll,
            unroll_max: unroll.max(base.unroll_max),
            limits,
            budget: most.min(self.allowance.left()),
            ..base.clone()
        }
    }

    fn failure(&self, program: &Program, texts: &Texts, place: Place, outcome: Outcome) -> Failure {
        let explained = outcome
            .findings
            .iter()
            .map(|finding| explain(&outcome.graph, &self.setting.model.resolved, finding));
        let explanations = explained.collect();
        Failure { program: program.clone(), texts: texts.again(), place, outcome, explanations }
    }

    fn tell(&self, next: Progress) {
        if let Some(progress) = self.setting.progress {
            progress(next);
        }
    }
}

fn places(program: &Program) -> Vec<Place> {
    let kernels = program.kernels.iter().enumerate();
    kernels.flat_map(|(k, kernel)| (0..kernel.launches.len()).map(move |launch| (k, launch))).collect()
}
