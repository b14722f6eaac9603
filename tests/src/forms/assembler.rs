//! An assembler of PTX that somebody has: asked whether it takes statements, many at a time.

use super::VERSION;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Statements of one module.
const BATCH: usize = 300;

/// A program like `ptxas`.
#[derive(Clone, Debug)]
pub struct Assembler {
    path: PathBuf,
}

impl Assembler {
    /// That which `FENCEPOST_PTXAS` names.
    pub fn from_environment() -> Option<Self> {
        std::env::var_os("FENCEPOST_PTXAS").map(|path| Self { path: path.into() })
    }

    /// What it says it is.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn version(&self) -> std::io::Result<String> {
        let output = Command::new(&self.path).arg("--version").output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(text.lines().rev().find(|line| line.contains('V')).unwrap_or("").to_owned())
    }

    /// Whether one of the statements of each question is taken, on its architecture; `None` where there are none.
    pub fn any(&self, questions: &[(&'static str, Vec<String>)]) -> Vec<Option<Result<(), String>>> {
        let mut answers: Vec<Option<Result<(), String>>> = vec![None; questions.len()];
        let mut by_architecture: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
        for (index, (architecture, statements)) in questions.iter().enumerate() {
            let asked = by_architecture.entry(architecture).or_default();
            asked.extend(statements.iter().map(|statement| (index, statement.as_str())));
        }
        for (architecture, asked) in by_architecture {
            for batch in asked.chunks(BATCH) {
                let statements: Vec<&str> = batch.iter().map(|(_, statement)| *statement).collect();
                for ((index, _), answer) in batch.iter().zip(self.assemble(architecture, &statements)) {
                    match (&answers[*index], &answer) {
                        (Some(Ok(())), _) | (Some(Err(_)), Err(_)) => {}
                        _ => answers[*index] = Some(answer),
                    }
                }
            }
        }
        answers
    }

    /// Whether each statement is taken, or what is said against it.
    fn assemble(&self, architecture: &str, statements: &[&str]) -> Vec<Result<(), String>> {
        let mut answers: Vec<Result<(), String>> = vec![Ok(()); statements.len()];
        let mut open: Vec<Vec<usize>> = vec![(0..statements.len()).collect()];
        while let Some(mut batch) = open.pop() {
            let asked: Vec<&str> = batch.iter().map(|&index| statements[index]).collect();
            let complaints = match self.run(architecture, &asked) {
                Ok(()) => continue,
                Err(complaints) => complaints,
            };
            if complaints.is_empty() {
                // It dies without a word, or says nothing about where.
                if let [index] = batch[..] {
                    answers[index] = Err("fails".to_owned());
                } else {
                    let half = batch.split_off(batch.len() / 2);
                    open.extend([half, batch]);
                }
                continue;
            }
            let mut rest = Vec::new();
            for (at, index) in batch.into_iter().enumerate() {
                match complaints.get(&at) {
                    Some(complaint) => answers[index] = Err(complaint.clone()),
                    None => rest.push(index),
                }
            }
            if !rest.is_empty() {
                open.push(rest);
            }
        }
        answers
    }

    /// Assembles a module; the errors, by the statements that they are about.
    fn run(&self, architecture: &str, statements: &[&str]) -> Result<(), BTreeMap<usize, String>> {
        let mut module = format!(
            ".version {VERSION}\n.target {architecture}\n.address_size 64\n\
             .extern .shared .align 128 .b8 sm[]; .const .align 16 .b8 cc[64];\n"
        );
        let n_before = module.lines().count();
        for (index, statement) in statements.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = writeln!(
                module,
                ".visible .entry k{index}(.param .u64 pg, .param .align 64 .b8 pm[128]) {{ \
                 .reg .b64 g, m, pol, rd<16>; .reg .b32 s, mb, t, r<260>; .reg .b16 h<20>; .reg .b8 b<8>; .reg .pred p; .reg .b128 q<4>; \
                 ld.param.u64 g, [pg]; mov.u64 m, pm; mov.u32 s, sm; add.u32 mb, s, 64; mov.u32 t, 0; mov.u64 pol, 0; \
                 {statement} ret; }}"
            );
        }
        let folder = std::env::temp_dir().join(format!("fencepost-forms-{}", std::process::id()));
        let file = folder.join("forms.ptx");
        let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, module));
        written.unwrap_or_else(|error| panic!("cannot write {}: {error}", file.display()));
        let output = Command::new(&self.path)
            .args(["-O0", "-arch", architecture, "-o", "/dev/null"])
            .arg(&file)
            .output()
            .unwrap_or_else(|error| panic!("cannot run {}: {error}", self.path.display()));
        let _ = std::fs::remove_dir_all(&folder);
        if output.status.success() {
            return Ok(());
        }
        let mut complaints = BTreeMap::new();
        let said = [output.stdout, output.stderr].concat();
        for line in String::from_utf8_lossy(&said).lines().filter(|line| line.contains("error")) {
            let text = line.split_once("error").map_or("", |(_, text)| text.trim_start_matches([' ', ':']));
            if let Some(at) = place(line, n_before) {
                complaints.entry(at).or_insert_with(|| text.to_owned());
            }
        }
        Err(complaints)
    }
}

/// The statement that an error is about: by its line, or by the name of its entry.
fn place(line: &str, n_before: usize) -> Option<usize> {
    if let Some((_, rest)) = line.split_once(", line ") {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return digits.parse::<usize>().ok()?.checked_sub(n_before + 1);
    }
    let (_, rest) = line.split_once("'k")?;
    rest.split('\'').next()?.parse().ok()
}
