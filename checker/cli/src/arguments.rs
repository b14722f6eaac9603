//! What can be said on the command line.

use super::graph::{GraphFile, graph_file};
use super::outside::Solver;
use super::templates;
use clap::builder::{EnumValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use fencepost::check::{BUDGET, Limits, UNROLL, UNROLL_MAX};
use fencepost::encode::Treatment;
use fencepost::paths;
use fencepost::verdict::Property;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A bounded model checker for GPU synchronization code over NVIDIA's PTX memory model.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version)]
#[command(after_help = "First steps: fencepost new first, then fencepost check first.fence

Exit codes: 0 proved, 1 violated, 2 input rejected, 3 bounded, vacuous or inconclusive, 70 a bug of Fencepost, 74 output that could not be written")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours.
    // The last but for the help, of every command; its place would change with the number of commands.
    #[arg(long, value_enum, default_value_t = Color::Auto, global = true, display_order = 998)]
    pub color: Color,
}

impl Arguments {
    /// Those of this process, or why they are none.
    pub fn of_process() -> Result<Self, clap::Error> {
        Self::of(Self::command().try_get_matches().map_err(Self::with_the_command_meant)?)
    }

    /// A file where the command should be: it is to be checked.
    fn with_the_command_meant(error: clap::Error) -> clap::Error {
        let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
            return error;
        };
        let is_file = word.ends_with(".fence") || word.ends_with(".litmus") || Path::new(word).is_dir();
        if !is_file {
            return error;
        }
        let word = paths::shown(word);
        let why = format!("`{word}` is no command; what is in it is checked by `fencepost check {word}`");
        Self::command().error(ErrorKind::InvalidSubcommand, why)
    }

    fn of(matches: ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self::from_arg_matches(&matches)?;
        let own = matches.subcommand().map(|(_, matches)| Given::of(matches)).unwrap_or_default();
        match &mut arguments.command {
            Command::Check(options) => options.program.given = own,
            Command::Fix(options) | Command::Relax(options) => options.program.given = own,
            _ => {}
        }
        match arguments.contradiction(matches.subcommand().map(|(_, matches)| matches)) {
            Some(why) => Err(Self::command().error(ErrorKind::ArgumentConflict, why)),
            None => Ok(arguments),
        }
    }

    /// What no run can do at once. A bound that the defaults name gives way.
    fn contradiction(&self, given: Option<&ArgMatches>) -> Option<String> {
        let is_given =
            |id: &str| given.is_some_and(|given| given.value_source(id) == Some(ValueSource::CommandLine));
        let (program, unroll_max) = match &self.command {
            Command::Check(options) if options.two_forms().is_some() => return options.two_forms(),
            Command::Check(options) if options.watch && options.document().is_some() => {
                let form = options.document().map_or("", Format::name);
                return Some(format!(
                    "`--watch` tells what changes, and `{form}` is one document of a whole run: leave one of them out"
                ));
            }
            Command::Check(options)
                if options.trace && options.format.iter().any(|asked| asked.format == Format::Brief) =>
            {
                return Some(
                    "`--format brief` is one line per launch, and `--trace` shows all steps: leave one of them out".to_owned(),
                );
            }
            Command::Check(options) => (&options.program, options.unroll_max),
            Command::Fix(options) | Command::Relax(options) => (&options.program, options.unroll_max),
            Command::Run(options) => (&options.program, options.unroll_max),
            _ => return None,
        };
        let unroll = program.unroll;
        (is_given("unroll_max") && unroll_max < unroll).then(|| {
            format!(
                "the bound starts at `--unroll {unroll}`, which is above `--unroll-max {unroll_max}`; loops are unrolled from \
                 the one to the other"
            )
        })
    }
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Write a kernel file to begin with.
    New(NewOptions),
    /// Check kernels, for all their launches.
    Check(Box<CheckOptions>),
    /// Find the fewest and cheapest changes after which everything is proved.
    Fix(MendOptions),
    /// Say of each fence, barrier, wait, sem and scope whether it is needed.
    Relax(MendOptions),
    /// Go through one execution of a kernel, step by step.
    Run(RunOptions),
    /// Say in what two kernels synchronize differently, such as PTX and a skeleton.
    Compare(CompareOptions),
    /// Say what a finding or an error means.
    Explain(ExplainOptions),
    /// Put kernel files into the canonical layout.
    Fmt(FmtOptions),
    /// Print what a pass makes of a file.
    Emit(EmitOptions),
    /// Check certificates, without the checker.
    Verify(VerifyOptions),
    /// Serve an editor: the language server protocol over standard input and output.
    Lsp,
    /// Print what makes a shell complete the command line.
    Completions(CompletionsOptions),
    /// Print the manual page, for `man`.
    Man(ManOptions),
}

/// `fencepost new`.
#[derive(Args, Clone, Debug)]
pub struct NewOptions {
    /// The kernel's name, with folders before it where it is not for this one; the file is `NAME.fence`. With `--from`, the
    /// module's own name if there is none here.
    #[arg(required_unless_present_any = ["list", "from"])]
    pub name: Option<PathBuf>,
    /// What the kernel is to be like.
    #[arg(long, default_value = templates::ALL[0].name, value_parser = template())]
    pub template: String,
    /// List the templates.
    #[arg(long)]
    pub list: bool,
    /// Import the kernels of this PTX module, instead of a template: with the launch and the memory that can be inferred, and a
    /// comment at what cannot.
    #[arg(long, value_name = "FILE.ptx", conflicts_with_all = ["template", "list"])]
    pub from: Option<PathBuf>,
    /// Of the module, only this kernel.
    #[arg(long, value_name = "NAME", requires = "from")]
    pub entry: Option<String>,
}

/// `fencepost completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsOptions {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `fencepost man`.
#[derive(Args, Clone, Debug)]
pub struct ManOptions {
    /// The command that the page is about, such as `check`; without it, the page is about all of them.
    pub command: Option<String>,
}

/// Options that somebody has written, rather than left at what they are without.
#[derive(Clone, Default, Debug)]
pub struct Given(Vec<String>);

impl Given {
    fn of(matches: &ArgMatches) -> Self {
        let is_given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Self(matches.ids().map(clap::Id::as_str).filter(is_given).map(str::to_owned).collect())
    }

    /// The value of an option: as it was written, else as the project has it.
    pub fn or<T>(&self, id: &str, own: T, of_project: Option<T>) -> T {
        of_project.filter(|_| !self.0.iter().any(|given| given == id)).unwrap_or(own)
    }
}

/// What says where settings come from.
#[derive(Args, Clone, Debug)]
pub struct ConfigOptions {
    /// Settings of the project, in place of those in the nearest `fencepost.toml` above each file.
    #[arg(long, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
    /// Read no `fencepost.toml`.
    #[arg(long, conflicts_with = "config")]
    pub no_config: bool,
}

/// What says which program and model are meant.
#[derive(Args, Clone, Debug)]
pub struct ProgramOptions {
    /// Set a constant of the kernel file, or one value of a parameter's range.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub define: Vec<(String, u64)>,
    /// Memory model: a name, or a `.cat` file; without it, `ptx`, or `spa-5.0` for the target `spa_50`.
    #[arg(long, value_name = "NAME|FILE.cat")]
    pub model: Option<String>,
    /// Turn on a variant of the memory model.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Architecture, in place of the one the file names: `sm_90`, or `spa_50` for machine code with `MEMBAR`.
    #[arg(long, value_name = "sm_NN|spa_50")]
    pub target: Option<String>,
    /// Loop bound to start with; where it makes too much, smaller ones are tried.
    #[arg(long, value_name = "N", default_value_t = UNROLL, value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll: u32,
    /// Most events of a launch; 16 times as many where many threads are looked at a few at a time.
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.events_max)]
    pub max_events: usize,
    /// Most clauses of a formula.
    #[arg(long, value_name = "N", default_value_t = Limits::DEFAULT.clauses_max)]
    pub max_clauses: usize,
    /// Work per kernel and launch (of `fix` and `relax`: per file, for what is tried, and as much for the checks before), in
    /// millions of steps, the same on every machine; 100 are about a second.
    #[arg(long, value_name = "N", default_value_t = BUDGET, value_parser = clap::value_parser!(u64).range(1..))]
    pub budget: u64,
    /// Which of these somebody has written.
    #[arg(skip)]
    pub given: Given,
}

impl ProgramOptions {
    /// The budget in steps.
    pub fn budget_steps(&self) -> u64 {
        self.budget.saturating_mul(1_000_000)
    }
}

/// `fencepost check`.
#[derive(Args, Clone, Debug)]
pub struct CheckOptions {
    /// `.fence` and `.litmus` files, folders to search for them, or `-` for a kernel file on standard input; without any, the
    /// `paths` of `fencepost.toml`.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub config: ConfigOptions,
    #[command(flatten)]
    pub program: ProgramOptions,
    /// Only this launch; by name, or as `ctas=4,cluster=2,warps=4`, or in axes as `grid=4x2,block=32x8`.
    #[arg(long, value_name = "NAME")]
    pub launch: Option<String>,
    /// Only these: race, assert, deadlock, barrier, lifetime, bounds, reachable, condition (of litmus tests; their only
    /// one by default).
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = property)]
    pub property: Vec<Property>,
    /// Loop bound to raise it to while some loop can run longer.
    #[arg(long, value_name = "N", default_value_t = UNROLL_MAX, value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll_max: u32,
    /// Exit with 0 where everything is proved up to the bound.
    #[arg(long)]
    pub allow_bounded: bool,
    /// Pass over files that have no kernel, such as those that others use.
    #[arg(long)]
    pub allow_no_kernel: bool,
    /// Seconds per kernel and launch; off by default, since what is decided in a time depends on the machine.
    #[arg(long, value_name = "SECS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub timeout: Option<u64>,
    /// Files checked at a time, or launches of a single file; without it, as many as there are cores. The output is the same.
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<usize>,
    /// Leave out optimisations, to see what they are worth; the verdict is the same, but without `waits`, where every loop
    /// is unwound and hardly anything with a loop is proved beyond the bound.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = without)]
    pub without: Vec<Treatment>,
    /// Follow every answer of the solver that there is no execution, clause by clause, with a checker that is not the
    /// solver; one that cannot be followed is a bug of Fencepost (exit code 70). The steps that takes are part of the budget.
    #[arg(long)]
    pub self_check: bool,
    /// Ask another solver, as in `cadical {cnf} {proof}`: it reads a DIMACS file and writes DRAT, or LRAT as text. That there is
    /// no execution is believed only with a proof that was followed. Its work is not part of the budget.
    #[arg(long, value_name = "CMD", value_parser = Solver::parse, conflicts_with_all = ["certificate", "self_check"])]
    pub solver_command: Option<String>,
    /// Seconds for each question that another solver is asked.
    #[arg(long, value_name = "N", default_value_t = 600, requires = "solver_command")]
    pub solver_seconds: u64,
    /// Write, for each launch whose verdict claims something, a folder with which anybody can check it: `fencepost verify`. Answers
    /// are followed as with `--self-check`.
    #[arg(long, value_name = "DIR")]
    pub certificate: Option<PathBuf>,
    /// Form of the report. `FORM=FILE` writes one into a file as well; several may be given.
    #[arg(long, value_name = "FORM|FORM=FILE", value_delimiter = ',', value_parser = FormatParser, default_value = "pretty")]
    pub format: Vec<FormatTo>,
    /// Leave out warnings.
    #[arg(long)]
    pub no_warnings: bool,
    /// Exit with 1 if there are warnings.
    #[arg(long, value_enum, conflicts_with = "no_warnings")]
    pub deny: Option<Deny>,
    /// Show the execution of each finding, step by step.
    #[arg(long)]
    pub trace: bool,
    /// Draw the execution of the first finding of each launch: `.svg`, `.dot`, or one `.html` page of all findings.
    #[arg(long, value_name = "FILE", value_parser = graph_file)]
    pub graph: Option<GraphFile>,
    /// Print sizes and times to stderr.
    #[arg(long)]
    pub stats: bool,
    /// Keep what a file came to in this folder, and do not check it again while its texts, the model, the options and
    /// Fencepost are the same.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["certificate", "solver_command"])]
    pub cache: Option<PathBuf>,
    /// Findings that are known: they are listed, and do not fail the run; one that is gone is told.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write what is found into the list of known findings: that of `--baseline`, or of `fencepost.toml`.
    #[arg(long)]
    pub write_baseline: bool,
    /// Stay, and check again what changes, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["certificate", "write_baseline"])]
    pub watch: bool,
}

impl CheckOptions {
    /// A form that is one document of the whole run, if one was asked for.
    fn document(&self) -> Option<Format> {
        let of_run =
            |asked: &&FormatTo| asked.to.is_some() || matches!(asked.format, Format::Sarif | Format::Junit);
        self.format.iter().find(of_run).map(|asked| asked.format)
    }

    /// What is wrong if two forms go to one place.
    fn two_forms(&self) -> Option<String> {
        let mut seen: Vec<&FormatTo> = Vec::new();
        for asked in &self.format {
            if let Some(other) = seen.iter().find(|other| other.to == asked.to) {
                let (one, other) = (asked.format.name(), other.format.name());
                return Some(match &asked.to {
                    None => format!(
                        "`--format {other}` and `--format {one}` both go to standard output: give one of them a file, as in \
                         `--format {one}=report.{one}`"
                    ),
                    Some(path) => format!("`{other}` and `{one}` both go to `{}`", paths::shown_path(path)),
                });
            }
            seen.push(asked);
        }
        None
    }
}

/// What `--deny` is about.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deny {
    /// Warnings.
    Warnings,
}

/// `fencepost fix` and `fencepost relax`.
#[derive(Args, Clone, Debug)]
pub struct MendOptions {
    /// `.fence` files, folders to search for them, or `-` for standard input.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub config: ConfigOptions,
    #[command(flatten)]
    pub program: ProgramOptions,
    /// Loop bound to raise it to while some loop can run longer.
    #[arg(long, value_name = "N", default_value_t = UNROLL_MAX, value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll_max: u32,
    /// Exit with 0 where everything is proved up to the bound.
    #[arg(long)]
    pub allow_bounded: bool,
    /// Write the changes into the files; without it they are printed only.
    #[arg(long)]
    pub write: bool,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t = MendFormat::Pretty)]
    pub format: MendFormat,
}

/// Form of the report of `fix` and `relax`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MendFormat {
    /// For people, with a unified diff.
    Pretty,
    /// One JSON object per file.
    Json,
}

/// `fencepost run`.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// A `.fence` or `.litmus` file, or `-` for a kernel file on standard input.
    pub file: PathBuf,
    #[command(flatten)]
    pub program: ProgramOptions,
    /// The kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// The launch, in place of the first that is declared; by name, or as `ctas=4,warps=4`.
    #[arg(long, value_name = "NAME")]
    pub launch: Option<String>,
    /// Loop bound to raise it to while no execution runs to its end.
    #[arg(long, value_name = "N", default_value_t = UNROLL_MAX, value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll_max: u32,
    /// What is chosen, in the order of steps: `3=0` (step 3 reads 0), `3#2` (its second way), `3t1` (thread t1 takes step 3); or
    /// `-` for choices on standard input.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub choose: Vec<String>,
    /// When to ask at each step what is to come next.
    #[arg(long, value_enum, default_value_t = Ask::Auto)]
    pub ask: Ask,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t = RunFormat::Pretty)]
    pub format: RunFormat,
    /// Draw the execution: `.svg`, `.dot` or `.html`.
    #[arg(long, value_name = "FILE", value_parser = graph_file)]
    pub graph: Option<GraphFile>,
}

/// When to ask.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// On a terminal, if nothing is chosen on the command line.
    Auto,
    /// Always: answers are lines of standard input.
    Always,
    /// Never.
    Never,
}

/// Form of what `run` says.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunFormat {
    /// For people.
    Pretty,
    /// One JSON object.
    Json,
}

/// `fencepost compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareOptions {
    /// A `.fence` or `.litmus` file, or a PTX module, whose launch and memory are guessed as by `new --from`.
    pub left: PathBuf,
    /// The other.
    pub right: PathBuf,
    /// The kernel of the first file, if it has several.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// The kernel of the second file, if it has several.
    #[arg(long, value_name = "NAME")]
    pub against: Option<String>,
    /// The launch, in place of the first that is declared; by name, or as `ctas=4,warps=4`.
    #[arg(long, value_name = "NAME")]
    pub launch: Option<String>,
    /// The launch of the second file, if that is another.
    #[arg(long, value_name = "NAME")]
    pub against_launch: Option<String>,
    /// Set a constant or a parameter, of whichever file has it.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = define)]
    pub define: Vec<(String, u64)>,
    /// Rounds of loops whose number depends on data.
    #[arg(long, value_name = "N", default_value_t = UNROLL, value_parser = clap::value_parser!(u32).range(1..))]
    pub unroll: u32,
    /// Most events of a launch.
    #[arg(long, value_name = "N", default_value_t = COMPARED_EVENTS_MAX)]
    pub max_events: usize,
    /// Work, in millions of steps, the same on every machine; 100 are about a second.
    #[arg(long, value_name = "N", default_value_t = BUDGET, value_parser = clap::value_parser!(u64).range(1..))]
    pub budget: u64,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t = CompareFormat::Pretty)]
    pub format: CompareFormat,
}

/// Nothing is solved here, so more than for a check.
const COMPARED_EVENTS_MAX: usize = 1_000_000;

/// Form of the report of `compare`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareFormat {
    /// For people.
    Pretty,
    /// One JSON object.
    Json,
}

/// Form of the report.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Pretty,
    /// One line per kernel and launch: verdict and codes.
    Brief,
    /// One JSON object per kernel and launch.
    Json,
    /// One SARIF 2.1.0 log, for code hosts and editors.
    Sarif,
    /// Workflow commands that GitHub shows as annotations.
    Github,
    /// One JUnit document, with a test case per kernel and launch.
    Junit,
}

impl Format {
    /// What it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Brief => "brief",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Github => "github",
            Self::Junit => "junit",
        }
    }
}

/// A form of reports, and where it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatTo {
    /// The form.
    pub format: Format,
    /// A file; without one, standard output.
    pub to: Option<PathBuf>,
}

/// Reads `sarif` and `sarif=report.sarif`.
#[derive(Clone, Copy)]
struct FormatParser;

impl TypedValueParser for FormatParser {
    type Value = FormatTo;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<FormatTo, clap::Error> {
        let text = value.to_string_lossy();
        let (name, file) = text.split_once('=').map_or((&*text, None), |(name, file)| (name, Some(file)));
        // Also an empty name of a file is none.
        let name = if file == Some("") { &*text } else { name };
        let format = EnumValueParser::<Format>::new().parse_ref(command, argument, OsStr::new(name))?;
        Ok(FormatTo { format, to: file.map(PathBuf::from) })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Format::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// `fencepost explain`.
#[derive(Args, Clone, Debug)]
pub struct ExplainOptions {
    /// The code, such as `race::uniform`, or a family of them, such as `race`; the id of a rule, such as `MM-36`; an
    /// instruction, such as `bar.sync`; or a file of the library, such as `lib/lock`, of which the text is printed: `lib`
    /// lists those. Without it, all codes are listed.
    pub code: Option<String>,
}

/// `fencepost fmt`.
#[derive(Args, Clone, Debug)]
pub struct FmtOptions {
    /// `.fence` files, folders to search for them, or `-` to put standard input on standard output.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Change nothing; name the files that would change and exit with 1 if there are any.
    #[arg(long)]
    pub check: bool,
}

/// `fencepost emit`.
#[derive(Args, Clone, Debug)]
pub struct EmitOptions {
    /// What to print.
    #[arg(value_enum)]
    pub artefact: Artefact,
    /// The file, or `-` for standard input; for `model` a `.cat` file or the name of a model.
    pub file: PathBuf,
    #[command(flatten)]
    pub program: ProgramOptions,
    /// Only this launch; by name, or as `ctas=4,cluster=2,warps=4`, or in axes as `grid=4x2,block=32x8`.
    #[arg(long, value_name = "NAME")]
    pub launch: Option<String>,
    /// Of `ptx` and `cuda`: the kernel, if the file has several.
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Of `cnf`, with a last clause that asks for an execution in which something goes wrong: a launch that is proved has none,
    /// so a SAT solver says *unsatisfiable*.
    #[arg(long)]
    pub goal: bool,
}

/// `fencepost verify`.
#[derive(Args, Clone, Debug)]
pub struct VerifyOptions {
    /// Certificates, or folders of them, as `fencepost check --certificate DIR` writes them.
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Derive the event graph again, look at all executions of launches that are small enough, and prove the others once more.
    #[arg(long)]
    pub thorough: bool,
    /// Write each question for other checkers of proofs: a plain DIMACS file, with DRAT and text LRAT.
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
    /// Form of the report.
    #[arg(long, value_enum, default_value_t = VerifyFormat::Pretty)]
    pub format: VerifyFormat,
}

/// Form of the report of `verify`.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerifyFormat {
    /// For people.
    Pretty,
    /// One JSON object per certificate.
    Json,
}

/// What `emit` can print.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Artefact {
    /// The syntax tree, as text in the canonical layout.
    Ast,
    /// The resolved program.
    Program,
    /// The event graph of each kernel and launch.
    Events,
    /// The resolved memory model.
    Model,
    /// What is certain and what is open of each relation, for each kernel and launch.
    Bounds,
    /// The formula of each kernel and launch, in DIMACS.
    Cnf,
    /// A kernel as a PTX module, for its first launch or that of `--launch`.
    Ptx,
    /// A program that runs the kernel many times at once on a GPU and counts what comes out, beside what a check has found.
    Cuda,
}

fn template() -> PossibleValuesParser {
    let value =
        |template: &'static templates::Template| PossibleValue::new(template.name).help(template.summary());
    PossibleValuesParser::new(templates::ALL.iter().map(value))
}

fn define(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let value = value.replace('_', "");
    let parsed = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    let value = parsed.map_err(|_| format!("`{value}` is not a number of at most 64 bits"))?;
    Ok((name.trim().to_owned(), value))
}

fn property(text: &str) -> Result<Property, String> {
    let known = Property::ALL.into_iter().find(|property| property.name() == text);
    let names = || Property::ALL.map(Property::name).join(", ");
    known.ok_or_else(|| format!("there is no property `{text}`; there are {}", names()))
}

fn without(text: &str) -> Result<Treatment, String> {
    let known = |name: &'static str| name.strip_prefix("no-").unwrap_or(name);
    let all = || Treatment::ONE_OFF.iter().chain(Treatment::OTHERS_OFF).copied();
    let found = all().find(|&(name, _)| known(name) == text || name == text).map(|own| own.1);
    let names = || all().map(|(name, _)| known(name)).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("there is no `{text}`; there are {}", names()))
}

fn jobs(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|&jobs| (1..=1024).contains(&jobs))
        .ok_or_else(|| "a number from 1 to 1024".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Arguments, define, property, without};
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn contradictions_are_refused() {
        let of = |line: &str| {
            let words = line.split(' ');
            Arguments::command()
                .try_get_matches_from(words)
                .and_then(Arguments::of)
                .map_err(|error| error.to_string())
        };
        let says = |line: &str, part: &str| of(line).is_err_and(|text| text.contains(part));
        assert!(says("fencepost check --format brief --trace a.fence", "one line per launch"));
        assert!(says("fencepost check --unroll 8 --unroll-max 4 a.fence", "`--unroll-max 4`"));
        assert!(says("fencepost fix --unroll-max 1 a.fence", "`--unroll-max 1`"));
        for fine in
            ["--trace", "--format brief", "--unroll 200", "--unroll 4 --unroll-max 4", "--unroll-max 9"]
        {
            assert!(of(&format!("fencepost check {fine} a.fence")).is_ok(), "{fine}");
        }
    }

    #[test]
    fn defines_are_names_and_numbers() {
        assert_eq!(define("N=3"), Ok(("N".to_owned(), 3)));
        assert_eq!(define("N=0x1_0"), Ok(("N".to_owned(), 16)));
        assert!(define("N").is_err() && define("N=x").is_err() && define("N=99999999999999999999").is_err());
    }

    #[test]
    fn an_unknown_property_is_told_the_known_ones() {
        assert!(property("race").is_ok() && property("lifetime").is_ok());
        let known = "race, assert, deadlock, barrier, lifetime, bounds, reachable";
        assert!(property("speed").is_err_and(|text| text.contains(known)));
    }

    #[test]
    fn several_optimisations_can_be_left_out() {
        let both = without("symmetry").and_then(|one| without("waits").map(|other| one.and(other)));
        assert!(both.is_ok_and(|both| !both.symmetry && !both.waits && both.counting));
        assert!(without("sleep").is_err_and(|text| text.contains("known-values") && text.contains("waits")));
    }
}
