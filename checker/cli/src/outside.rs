//! Another solver, as a process: it gets a formula in a file, and its word counts only with an assignment that satisfies the
//! formula, or with a proof that `fencepost-verify` follows to the empty clause.

use fencepost::outside::{Fault, Outside, Said};
use fencepost_verify::proof::Checker;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether the process has ended, at first and at most.
const LOOKS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// A command line with `{cnf}` and `{proof}` in it.
#[derive(Debug)]
pub struct Solver {
    words: Vec<String>,
    limit: Duration,
    n_asked: AtomicUsize,
}

impl Solver {
    /// The words of a command line, which no shell looks at.
    pub fn new(command: &str, seconds: u64) -> Self {
        let words = command.split_whitespace().map(str::to_owned).collect();
        Self { words, limit: Duration::from_secs(seconds), n_asked: AtomicUsize::new(0) }
    }

    /// Whether a command line can be one.
    pub fn parse(command: &str) -> Result<String, String> {
        if command.split_whitespace().next().is_none() {
            return Err("name a command, as in `cadical {cnf} {proof}`".to_owned());
        }
        match ["{cnf}", "{proof}"].iter().find(|place| !command.contains(**place)) {
            Some(place) => Err(format!("`{place}` is not in it; the solver is told its files by it")),
            None => Ok(command.to_owned()),
        }
    }

    fn asked(&self, folder: &Path, formula: &str) -> Result<Said, Fault> {
        let [cnf, proof, out] = ["question.cnf", "proof", "answer"].map(|name| folder.join(name));
        fs::write(&cnf, formula).map_err(|_| Fault::Failed)?;
        let word = |word: &String| {
            word.replace("{cnf}", &cnf.to_string_lossy()).replace("{proof}", &proof.to_string_lossy())
        };
        let words: Vec<String> = self.words.iter().map(word).collect();
        let answer = File::create(&out).map_err(|_| Fault::Failed)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(answer).stderr(Stdio::null());
        let code = self.ended(command.spawn().map_err(|_| Fault::Failed)?)?;
        let text = fs::read(&out).map_err(|_| Fault::Failed)?;
        let text = String::from_utf8_lossy(&text);
        let mut says = text.lines().filter_map(|line| line.strip_prefix("s "));
        match (says.next().map(str::trim), code) {
            (Some("SATISFIABLE"), _) => Ok(Said::Satisfiable(assignment(&text))),
            (Some("UNSATISFIABLE"), _) => follow(formula, &proof).map(|()| Said::Unsatisfiable),
            (None, Some(0 | 10 | 20)) => Err(Fault::Silent),
            (Some(_), Some(0)) => Err(Fault::Silent),
            _ => Err(Fault::Failed),
        }
    }

    /// Waits for it, and ends it if it takes too long.
    fn ended(&self, mut child: Child) -> Result<Option<i32>, Fault> {
        let (started, mut pause) = (Instant::now(), LOOKS[0]);
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status.code()),
                Ok(None) if started.elapsed() < self.limit => {
                    thread::sleep(pause);
                    pause = (pause * 2).min(LOOKS[1]);
                }
                Ok(None) | Err(_) => {
                    // It may have ended meanwhile.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(Fault::Slow);
                }
            }
        }
    }
}

impl Outside for Solver {
    fn solve(&self, formula: &str) -> Result<Said, Fault> {
        let number = self.n_asked.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("fencepost-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|_| Fault::Failed)?;
        let folder = Removed(folder);
        self.asked(&folder.0, formula)
    }
}

/// A folder that is removed at the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        // What stays is in the system's folder for what may go.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The literals that it says to be true.
fn assignment(text: &str) -> Vec<i64> {
    let values = text.lines().filter_map(|line| line.strip_prefix("v "));
    values
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.parse().ok())
        .filter(|&literal| literal != 0)
        .collect()
}

/// Follows a proof: DRAT, or LRAT as text.
fn follow(formula: &str, proof: &Path) -> Result<(), Fault> {
    let mut checker = Checker::new();
    let mut clause: Vec<i32> = Vec::new();
    for line in formula.lines().filter(|line| !line.starts_with(['c', 'p'])) {
        clause.clear();
        clause.extend(
            line.split_whitespace()
                .filter_map(|word| word.parse::<i32>().ok())
                .filter(|&literal| literal != 0),
        );
        checker.give(&clause);
    }
    let bytes = fs::read(proof).map_err(|_| Fault::Unproved)?;
    let is_text = bytes.iter().all(|&byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let followed = match std::str::from_utf8(&bytes) {
        Ok(text) if is_text => checker.follow_text(text),
        _ => checker.follow_binary_drat(&bytes),
    };
    // Some solvers end where propagation contradicts, without saying so.
    let ended =
        followed.and_then(|()| if checker.ends_in(&[]) { Ok(()) } else { checker.derive_by_search(&[]) });
    ended.map_err(|_| Fault::Unproved)
}
