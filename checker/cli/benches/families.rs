//! How far it scales: kernels that grow in one number, each checked by a process of its own.
//!
//! ```text
//! cargo bench -p fencepost-cli --bench families                        every family, up to a second or so
//! cargo bench -p fencepost-cli --bench families -- cas-lock ticket     those whose names begin so
//! cargo bench -p fencepost-cli --bench families -- --seconds 60        larger sizes, while one takes less
//! cargo bench -p fencepost-cli --bench families -- --against OLD       the times of another binary, and their ratio
//! cargo bench -p fencepost-cli --bench families -- --without symmetry  the times without an optimisation, and their ratio
//! ```
//!
//! Times are CPU time, where the system tells (Linux), so that what else runs on the machine matters little; peak memory is
//! looked at every few milliseconds. The kernels are in the folder `families`, and can be checked by hand:
//! `fencepost check -D N=8 checker/cli/benches/families/cas-lock.fence`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A kernel file, and its sizes in ascending order.
struct Family {
    name: &'static str,
    sizes: &'static [&'static [(&'static str, u32)]],
}

macro_rules! families {
    ($($name:literal: $([$($constant:ident = $value:literal),*])*;)*) => {
        &[$(Family { name: $name, sizes: &[$(&[$((stringify!($constant), $value)),*]),*] },)*]
    };
}

const FAMILIES: &[Family] = families! {
    "cas-lock": [N = 4] [N = 8] [N = 16] [N = 32] [N = 64];
    "cas-lock-relaxed": [N = 4] [N = 8] [N = 16] [N = 32];
    "ticket-lock": [N = 4] [N = 8] [N = 16] [N = 32] [N = 64];
    "ticket-lock-relaxed": [N = 4] [N = 8] [N = 16] [N = 32];
    "ttas-cas-lock": [N = 4] [N = 8] [N = 16] [N = 32] [N = 64];
    "ttas-cas-lock-relaxed": [N = 4] [N = 8] [N = 16] [N = 32];
    "ttas-exch-lock": [N = 4] [N = 8] [N = 16] [N = 32] [N = 64];
    "ttas-exch-lock-relaxed": [N = 4] [N = 8] [N = 16] [N = 32];
    "xf-barrier": [N = 4] [N = 8] [N = 16] [N = 32];
    "counter-barrier": [N = 4] [N = 8] [N = 12] [N = 16];
    "counter-barrier": [N = 2, ROUNDS = 2] [N = 2, ROUNDS = 4] [N = 4, ROUNDS = 2] [N = 4, ROUNDS = 4];
    "last-block": [N = 4] [N = 8] [N = 12] [N = 16];
    "sense-barrier": [N = 2] [N = 3] [N = 4] [N = 5];
    "sense-barrier": [N = 2, ROUNDS = 2] [N = 2, ROUNDS = 4] [N = 4, ROUNDS = 2] [N = 4, ROUNDS = 4];
    "dissemination-barrier": [N = 8, STEPS = 3] [N = 16, STEPS = 4] [N = 32, STEPS = 5] [N = 64, STEPS = 6];
    "look-back-packed": [N = 4] [N = 8] [N = 16] [N = 32];
    "look-back-unpacked": [N = 4] [N = 8] [N = 16] [N = 32];
    "seqlock": [N = 8] [N = 16] [N = 32] [N = 64];
    "mpmc-queue": [N = 2] [N = 4] [N = 8] [N = 16];
    "tma-ring": [TILES = 8] [TILES = 16] [TILES = 32] [TILES = 64];
    "tma-ring": [STAGES = 4, TILES = 16] [STAGES = 4, TILES = 32] [STAGES = 4, TILES = 64];
    "tma-ring": [LANES = 8] [LANES = 16] [LANES = 32] [WARPS = 4, LANES = 32];
    "tma-ring": [STAGES = 4, TILES = 16, LANES = 4] [STAGES = 4, TILES = 16, LANES = 16]
        [STAGES = 4, TILES = 16, WARPS = 4, LANES = 32];
    "mbarrier-pipeline": [WARPS = 2] [WARPS = 4] [WARPS = 8] [WARPS = 16] [WARPS = 32];
    "mbarrier-pipeline": [WARPS = 2, TILES = 8] [WARPS = 2, TILES = 16];
    "ping-pong": [GROUPS = 2, ROUNDS = 4] [GROUPS = 2, ROUNDS = 16] [GROUPS = 4, ROUNDS = 4]
        [GROUPS = 8, ROUNDS = 16];
    "bar-sync": [WARPS = 4, ROUNDS = 4] [WARPS = 8, ROUNDS = 4] [WARPS = 16, ROUNDS = 4] [WARPS = 32, ROUNDS = 4]
        [WARPS = 32, ROUNDS = 32];
    "cluster-reduction": [N = 8] [N = 16] [N = 8, WARPS = 1, LANES = 32] [N = 8, WARPS = 4, LANES = 32];
    "attention": [TILES = 1] [TILES = 2] [TILES = 3] [TILES = 4];
    "block-lock": [CTAS = 2] [CTAS = 4] [CTAS = 4, WARPS = 16];
    "block-barrier": [CTAS = 2] [CTAS = 4] [CTAS = 8] [CTAS = 4, ROUNDS = 4];
    "block-last": [CTAS = 2] [CTAS = 4] [CTAS = 8];
    "gpu-ring": [GPUS = 2] [GPUS = 4] [GPUS = 6] [GPUS = 8];
    "probing-table": [N = 2] [N = 4] [N = 6] [N = 8];
    "status-byte": [WARPS = 1] [WARPS = 2];
    "flag-chain": [N = 16] [N = 32] [N = 64] [N = 128];
    "independent": [N = 16] [N = 64] [N = 256];
    "independent-locks": [N = 16] [N = 64] [N = 256];
    "launches-serial": [REPEATS = 4] [REPEATS = 8] [REPEATS = 16];
    "launches-dependent": [REPEATS = 4] [REPEATS = 8] [REPEATS = 16];
    "launches-no-wait": [REPEATS = 1] [REPEATS = 2] [REPEATS = 4];
    "store-buffering": [N = 8] [N = 16] [N = 32];
    "load-buffering": [N = 8] [N = 16] [N = 32];
    "message-passing": [N = 8] [N = 16] [N = 32];
    "iriw": [N = 8] [N = 16] [N = 32];
};

struct Options {
    names: Vec<String>,
    seconds: f64,
    against: Option<PathBuf>,
    without: Option<String>,
    is_test: bool,
}

fn options() -> Result<Options, String> {
    let mut options =
        Options { names: Vec::new(), seconds: 1.0, against: None, without: None, is_test: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = |what: &str| arguments.next().ok_or_else(|| format!("{argument} needs {what}"));
        match argument.as_str() {
            // What `cargo bench` and `cargo test` say of their own accord.
            "--bench" => {}
            "--test" => options.is_test = true,
            "--seconds" => {
                let text = value("a number")?;
                options.seconds = text.parse().map_err(|_| format!("`{text}` is no number"))?;
            }
            "--against" => options.against = Some(value("a binary")?.into()),
            "--without" => options.without = Some(value("the name of an optimisation")?),
            name if name.starts_with('-') => return Err(format!("there is no option `{name}`")),
            name => options.names.push(name.to_owned()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            say(&format!("error: {message}\n"));
            return ExitCode::from(2);
        }
    };
    let own = PathBuf::from(env!("CARGO_BIN_EXE_fencepost"));
    say(&format!(
        "{:46} {:12} {:>7} {:>8} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7} {:>8} {:>6}",
        "kernel",
        "verdict",
        "events",
        "vars",
        "clauses",
        "learnt",
        "unroll",
        "bound",
        "encode",
        "solve",
        "CPU s",
        "MB"
    ));
    say(if options.against.is_some() || options.without.is_some() { "    other  ratio\n" } else { "\n" });
    let mut is_fine = true;
    for family in FAMILIES {
        if !options.names.is_empty()
            && !options.names.iter().any(|name| family.name.starts_with(name.as_str()))
        {
            continue;
        }
        for size in family.sizes {
            let Some(run) = check(&own, family.name, size, &[], &options) else {
                is_fine = false;
                break;
            };
            say(&run.row);
            let other = match (&options.against, &options.without) {
                (Some(binary), _) => check(binary, family.name, size, &[], &options),
                (None, Some(name)) => check(&own, family.name, size, &["--without", name], &options),
                (None, None) => None,
            };
            if let Some(other) = other {
                say(&format!(" {:8.2} {:6.2}", other.seconds, other.seconds / run.seconds.max(0.005)));
            }
            say("\n");
            // The next one is larger.
            if options.is_test || run.seconds > options.seconds / 4.0 {
                break;
            }
        }
    }
    ExitCode::from(u8::from(!is_fine))
}

/// What a run took.
struct Run {
    row: String,
    seconds: f64,
}

fn check(binary: &Path, family: &str, size: &[(&str, u32)], more: &[&str], options: &Options) -> Option<Run> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/families/{family}.fence"));
    let mut command = Command::new(binary);
    command.args(["check", "--format", "json", "--budget", "1000000", "--max-clauses", "100000000"]);
    command.args(more).arg(file).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut name = family.to_owned();
    for (constant, value) in size {
        command.arg("-D").arg(format!("{constant}={value}"));
        name += &format!(" {constant}={value}");
    }
    let mut child = command.spawn().ok()?;
    let measured = measure(&mut child, Duration::from_secs_f64(options.seconds.max(10.0) * 20.0));
    let report: serde_json::Value =
        serde_json::from_str(measured.output.lines().next().unwrap_or("{}")).ok()?;
    let stats = &report["stats"];
    let number = |name: &str| stats[name].as_u64().map_or_else(|| "-".to_owned(), |n| n.to_string());
    let pass = |name: &str| {
        stats["milliseconds"][name].as_f64().map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}"))
    };
    let verdict = report["verdict"].as_str().unwrap_or("stopped");
    let row = format!(
        "{name:46} {verdict:12} {:>7} {:>8} {:>9} {:>8} {:>7} {:>7} {:>7} {:>7} {:8.2} {:>6}",
        number("events"),
        number("variables"),
        number("clauses"),
        number("conflicts"),
        pass("unroll"),
        pass("bound"),
        pass("encode"),
        pass("solve"),
        measured.seconds,
        measured.kilobytes / 1024
    );
    Some(Run { row, seconds: measured.seconds })
}

struct Measured {
    output: String,
    seconds: f64,
    kilobytes: u64,
}

/// Waits for a process, or ends it when it takes too long.
fn measure(child: &mut Child, patience: Duration) -> Measured {
    let start = Instant::now();
    let process = format!("/proc/{}", child.id());
    let pipe = child.stdout.take();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        // What is missing is missed below.
        let _ = pipe.map(|mut pipe| pipe.read_to_string(&mut text));
        text
    });
    let mut kilobytes = 0;
    while !reader.is_finished() {
        if start.elapsed() > patience {
            let _ = child.kill();
        }
        kilobytes = kilobytes.max(peak_kilobytes(&process).unwrap_or(0));
        thread::sleep(Duration::from_millis(2));
    }
    // It has closed its output, and nobody has waited for it yet, so that its times can still be read.
    thread::sleep(Duration::from_millis(2));
    let seconds = cpu_seconds(&process).unwrap_or_else(|| start.elapsed().as_secs_f64());
    let _ = child.wait();
    Measured { output: reader.join().unwrap_or_default(), seconds, kilobytes }
}

fn peak_kilobytes(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// User and system time of a process, in hundredths of a second as Linux counts them.
fn cpu_seconds(process: &str) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("{process}/stat")).ok()?;
    // The name, in parentheses, may have spaces in it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u32>().ok()?.checked_add(fields.get(12)?.parse().ok()?)?;
    Some(f64::from(ticks) / 100.0)
}

fn say(text: &str) {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
