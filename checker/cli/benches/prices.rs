//! What a step is worth: measures how long each stage of some checks takes and how often each kind of work is done in it, and
//! fits what one of each kind takes.
//!
//! ```text
//! cargo bench -p fencepost-cli --bench prices                     the families, in middle sizes
//! cargo bench -p fencepost-cli --bench prices -- N=16 FILE…       files, with constants for them
//! ```
//!
//! A step is meant to be ten nanoseconds on an ordinary machine, whatever it is spent on. The table shows, of each stage, by
//! what factor it is off: 2 is a stage that takes twice as long as its steps say. Prices are in `checker/engine/src/work.rs`.

use fencepost::check::{Config, check};
use fencepost::dsl::SourceMap;
use fencepost::dsl::kernel::{LoadOptions, load};
use fencepost::listener::Listener;
use fencepost::models::{self, Model};
use fencepost::work::{N_KINDS, Work, of_kinds};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Files and sizes that take a second or less each.
const USUAL: &[&str] = &[
    "N=16 cas-lock",
    "N=12 cas-lock-relaxed",
    "N=16 ticket-lock",
    "N=16 ttas-cas-lock",
    "N=8 ttas-exch-lock",
    "N=16 xf-barrier",
    "N=8 counter-barrier",
    "N=2 ROUNDS=4 counter-barrier",
    "N=8 last-block",
    "N=3 sense-barrier",
    "N=16 STEPS=4 dissemination-barrier",
    "N=12 look-back-packed",
    "N=12 look-back-unpacked",
    "N=32 seqlock",
    "N=4 mpmc-queue",
    "TILES=16 tma-ring",
    "LANES=16 tma-ring",
    "WARPS=8 mbarrier-pipeline",
    "GROUPS=2 ROUNDS=16 ping-pong",
    "WARPS=16 ROUNDS=4 bar-sync",
    "N=8 WARPS=1 LANES=32 cluster-reduction",
    "N=64 flag-chain",
    "N=64 independent",
    "N=64 independent-locks",
    "REPEATS=8 launches-serial",
    "REPEATS=8 launches-dependent",
    "N=32 store-buffering",
    "N=32 iriw",
];

/// A stage of a check: nanoseconds on the processor, and what was done.
struct Row {
    what: String,
    nanoseconds: f64,
    done: [f64; N_KINDS],
}

#[derive(Default)]
struct Meter {
    open: Mutex<Vec<(f64, [u64; N_KINDS])>>,
    rows: Mutex<Vec<Row>>,
}

impl Listener for Meter {
    fn begins(&self, _stage: &'static str) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push((on_processor(), of_kinds()));
    }
    fn ends(&self, stage: &'static str) -> u64 {
        let begun = self.open.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some((from, before)) = begun else { return 0 };
        let (to, after) = (on_processor(), of_kinds());
        let mut done = [0.0; N_KINDS];
        for (kind, times) in done.iter_mut().enumerate() {
            *times = (after[kind] - before[kind]) as f64;
        }
        let row = Row { what: stage.to_owned(), nanoseconds: to - from, done };
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(row);
        0
    }
}

/// Nanoseconds that this thread has run, where the system tells (Linux), else since the start.
fn on_processor() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let run = told.and_then(|text| text.split(' ').next().and_then(|first| first.parse::<f64>().ok()));
    run.unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

fn measure(file: &Path, constants: &[(String, u64)]) -> Result<Vec<Row>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let options = LoadOptions { defines: constants.to_vec(), ..LoadOptions::default() };
    let program = load(&mut SourceMap::default(), &name, &mut |_| Ok(text.clone()), &options)
        .map_err(|errors| format!("{}: {}", file.display(), errors[0].message))?;
    let model = Model::shipped(models::PTX, &[]).map_err(|error| format!("{error:?}"))?;
    let mut rows = Vec::new();
    for kernel in &program.kernels {
        for launch in &kernel.launches {
            let meter = Arc::new(Meter::default());
            let config =
                Config { listener: Arc::clone(&meter) as Arc<dyn Listener>, ..Config::usual(kernel) };
            check(&program, kernel, launch, &model.resolved, &config).map_err(|error| error.to_string())?;
            let mut own = std::mem::take(&mut *meter.rows.lock().unwrap_or_else(PoisonError::into_inner));
            own.iter_mut().for_each(|row| row.what = format!("{name} {}", row.what));
            rows.extend(own);
        }
    }
    Ok(rows)
}

/// Nanoseconds per kind that fit best, none below 0: what the relative errors are smallest for, by coordinates.
fn fit(rows: &[Row]) -> [f64; N_KINDS] {
    let mut price = [1.0; N_KINDS];
    for _ in 0..20_000 {
        for kind in 0..N_KINDS {
            let (mut up, mut down) = (0.0, 0.0);
            for row in rows {
                let weight = 1.0 / row.nanoseconds;
                let rest: f64 = row.nanoseconds
                    - (0..N_KINDS)
                        .filter(|&other| other != kind)
                        .map(|k| price[k] * row.done[k])
                        .sum::<f64>();
                up += row.done[kind] * weight * rest * weight;
                down += (row.done[kind] * weight).powi(2);
            }
            if down > 0.0 {
                price[kind] = f64::max(up / down, 0.0);
            }
        }
    }
    price
}

fn main() -> ExitCode {
    let mut constants: Vec<(String, u64)> = Vec::new();
    let mut asked: Vec<(PathBuf, Vec<(String, u64)>)> = Vec::new();
    let families = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/families");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_test = arguments.iter().any(|argument| argument == "--test");
    for argument in arguments.iter().filter(|argument| !argument.starts_with("--")) {
        match argument.split_once('=').and_then(|(name, value)| Some((name, value.parse().ok()?))) {
            Some((name, value)) => constants.push((name.to_owned(), value)),
            None => asked.push((PathBuf::from(argument), std::mem::take(&mut constants))),
        }
    }
    if asked.is_empty() {
        for line in USUAL {
            let mut words: Vec<&str> = line.split(' ').collect();
            let name = words.pop().unwrap_or_default();
            let number = |word: &&str| {
                let (name, value) = word.split_once('=').unwrap_or((word, "0"));
                (name.to_owned(), value.parse().unwrap_or(0))
            };
            let own = if is_test { vec![("N".to_owned(), 2)] } else { words.iter().map(number).collect() };
            if !is_test || words == ["N=16"] {
                asked.push((families.join(format!("{name}.fence")), own));
            }
        }
    }
    let mut out = std::io::stdout().lock();
    let mut rows = Vec::new();
    for (file, constants) in asked {
        match measure(&file, &constants) {
            Ok(own) => rows.extend(own.into_iter().filter(|row| row.nanoseconds > 2e6 || is_test)),
            Err(message) => {
                let _ = writeln!(out, "error: {message}");
                return ExitCode::from(2);
            }
        }
    }
    let price = fit(&rows);
    let _ = writeln!(out, "{:44} {:>9} {:>9} {:>7} {:>7}", "stage", "ms", "steps", "off by", "fitted");
    for row in &rows {
        let kinds = || Work::ALL.iter().zip(row.done);
        let steps: f64 = kinds().map(|(kind, times)| times * kind.price() as f64 / 16.0).sum();
        let fitted: f64 = price.iter().zip(row.done).map(|(price, times)| price * times).sum();
        let _ = writeln!(
            out,
            "{:44} {:9.1} {:9.0} {:7.2} {:7.2}",
            row.what,
            row.nanoseconds / 1e6,
            steps / 1e3,
            row.nanoseconds / (steps * 10.0).max(1.0),
            row.nanoseconds / fitted.max(1.0)
        );
    }
    let _ =
        writeln!(out, "\n{:12} {:>12} {:>14} {:>16}", "kind", "times", "ns each, fitted", "ns by its price");
    for (index, kind) in Work::ALL.iter().enumerate() {
        let times: f64 = rows.iter().map(|row| row.done[index]).sum();
        let own = kind.price() as f64 / 1.6;
        let _ = writeln!(out, "{:12} {times:12.0} {:14.2} {own:16.2}", format!("{kind:?}"), price[index]);
    }
    ExitCode::SUCCESS
}
