//! One launch that is checked, on a thread of its own.

use super::super::arguments::CheckOptions;
use super::super::interrupt::{self, LOOK, Patience};
use super::super::load;
use super::super::outside::Solver;
use super::super::progress::Progress;
use super::super::watch::Watch;
use fencepost::check::{CheckError, Config, properties_of, stopped};
use fencepost::encode::Treatment;
use fencepost::examine::{Checked, Examination};
use fencepost::explain::repair::Texts;
use fencepost::models::Model;
use fencepost::outside::Outside;
use fencepost::parallel::{STACK_BYTES, panic_message};
use fencepost::verdict::Limit;
use fencepost_dsl::Diagnostic;
use fencepost_dsl::kernel::program::{Kernel, Launch, Program};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long past its deadline a check may take to notice it.
const GRACE: Duration = Duration::from_secs(2);

/// A launch to be checked.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub file: &'a str,
    /// Where that is.
    pub path: &'a Path,
    pub program: &'a Arc<Program>,
    pub kernel: usize,
    pub launch: &'a Launch,
    pub model: &'a Arc<Model>,
    pub options: &'a CheckOptions,
    /// Values of its parameters that are checked at a time.
    pub jobs: usize,
    /// Who shows what the run is at.
    pub progress: Option<&'a Arc<Progress>>,
}

/// A launch that was checked and how long that took, with nothing explained yet; `None` if it overstayed.
pub type First = Result<Option<(Checked, Duration)>, Failure>;

/// Why a launch has no outcome.
pub enum Failure {
    /// It has something that is not checked.
    Unsupported(Box<Diagnostic>),
    /// A bug of ours.
    Internal(String),
}

impl Task<'_> {
    fn kernel(&self) -> &Kernel {
        &self.program.kernels[self.kernel]
    }

    /// Checks the launch.
    pub fn first(&self) -> First {
        if interrupt::is_wanted() {
            return Ok(None);
        }
        let timeout = self.options.timeout.map(Duration::from_secs);
        let config = self.config(timeout, "");
        let (program, model, launch) =
            (Arc::clone(self.program), Arc::clone(self.model), self.launch.clone());
        let (kernel, jobs, started) = (self.kernel, self.jobs, Instant::now());
        on_own_thread(timeout, move || {
            let of = &program.kernels[kernel];
            let checked = Checked::at_a_time(jobs, &program, of, &launch, &model, &config)?;
            Ok((checked, started.elapsed()))
        })
    }

    /// Explains what was found. The check and this share the time that a launch has.
    pub fn explained(
        &self,
        (checked, taken): (Checked, Duration),
        texts: &Arc<Texts>,
    ) -> Result<Option<Examination>, Failure> {
        let timeout = self.options.timeout.map(Duration::from_secs);
        let rest = timeout.map(|timeout| timeout.saturating_sub(taken));
        let config = self.config(rest, ": why, and what would mend it");
        let (program, model, texts) = (Arc::clone(self.program), Arc::clone(self.model), Arc::clone(texts));
        let kernel = self.kernel;
        on_own_thread(rest, move || {
            checked.explained(&texts, &program, &program.kernels[kernel], &model, &config)
        })
    }

    /// What is said of a launch whose time was up.
    pub fn stopped(&self) -> Examination {
        let config = self.config(None, "");
        let (model, unroll) = (&self.model.resolved, config.unroll);
        let limit = if interrupt::is_wanted() { Limit::Interrupt } else { Limit::Deadline };
        let outcome = stopped(self.kernel(), self.launch, limit, model, &config, unroll);
        Examination { outcome, explanations: Vec::new() }
    }

    /// How it is checked. Its timeout begins now.
    pub fn config(&self, timeout: Option<Duration>, what: &str) -> Config {
        let options = self.options;
        let shown = self.progress.map(|progress| progress.begin(self.title() + what, self.budget()));
        Config {
            properties: properties_of(self.kernel(), &options.property),
            is_asked_by_name: !options.property.is_empty(),
            treatment: options.without.iter().copied().fold(Treatment::DEFAULT, Treatment::and),
            follow: options.self_check,
            record: options.certificate.is_some(),
            outside: options.solver_command.as_deref().map(|command| {
                let solver: Arc<dyn Outside> = Arc::new(Solver::new(command, options.solver_seconds));
                solver
            }),
            listener: Arc::new(Watch::new(timeout).shown(shown)),
            ..load::config(&options.program, options.unroll_max)
        }
    }

    fn budget(&self) -> u64 {
        self.options.program.budget_steps()
    }

    /// What it is called where there is one line.
    fn title(&self) -> String {
        match self.launch.name.as_str() {
            "default" => format!("{}: {}", self.file, self.kernel().name),
            launch => format!("{}: {} ({launch})", self.file, self.kernel().name),
        }
    }
}

/// Does something on a thread of its own, and gives up on the thread if it overstays: then there is nothing to return.
fn on_own_thread<T: Send + 'static>(
    timeout: Option<Duration>,
    work: impl FnOnce() -> Result<T, CheckError> + Send + 'static,
) -> Result<Option<T>, Failure> {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
            Err(CheckError::SelfCheck { pass: "check", message: panic_message(&*panic) })
        });
        // The receiver is gone if the time was up.
        let _ = sender.send(result);
    };
    if let Err(error) = thread::Builder::new().stack_size(STACK_BYTES).spawn(work) {
        return Err(Failure::Internal(format!("no thread could be started: {error}")));
    }
    let (began, mut patience) = (Instant::now(), Patience::default());
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(Ok(done)) => return Ok(Some(done)),
            Ok(Err(CheckError::Unsupported(error))) => return Err(Failure::Unsupported(error)),
            Ok(Err(error @ CheckError::SelfCheck { .. })) => {
                return Err(Failure::Internal(error.to_string()));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let is_late = timeout.is_some_and(|timeout| began.elapsed() > timeout + GRACE);
                if is_late || patience.is_over(GRACE) {
                    return Ok(None);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Failure::Internal("a check ended without a word".to_owned()));
            }
        }
    }
}
