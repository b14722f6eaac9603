//! What tests of the kernel language's instructions have in common: loading, and the checks that hold for all of them.
//!
//! A test file gives its objects as a `source` function, which makes a whole file of the statements of a kernel's body.

mod random;

use fencepost_dsl::kernel::dump::dump;
use fencepost_dsl::kernel::isa::{Form, Need, families};
use fencepost_dsl::kernel::program::{Instruction, Program, Statement, StatementKind};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_dsl::{Diagnostic, SourceMap};
use random::Random;

pub fn try_load(text: &str) -> Result<Program, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    load(&mut sources, "test.fence", &mut |_| Ok(text.to_owned()), &LoadOptions::default())
}

pub fn program(text: &str) -> Program {
    try_load(text).unwrap_or_else(|errors| panic!("{text}\n{errors:#?}"))
}

/// The instructions of a file's first kernel, in order of the text.
pub fn instructions(text: &str) -> Vec<Instruction> {
    let mut found = Vec::new();
    collect(&program(text).kernels[0].body, &mut found);
    found
}

fn collect(statements: &[Statement], into: &mut Vec<Instruction>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Instruction(instruction) => into.push((**instruction).clone()),
            StatementKind::Await { prelude, .. } => collect(prelude, into),
            StatementKind::While { prelude, body, .. } => {
                collect(prelude, into);
                collect(body, into);
            }
            StatementKind::If { then, otherwise, .. } => {
                collect(then, into);
                collect(otherwise, into);
            }
            _ => {}
        }
    }
}

/// Checks statements against a target that is just new enough and one that is just too old, each with what needs it.
pub fn check_floors(floors: &[(&str, &str, &str)], source: impl Fn(&str) -> String) {
    for (enough, too_old, body) in floors {
        let at = |target: &str| try_load(&format!("//! target {target}\n{}", source(body)));
        assert!(at(enough).is_ok(), "{body} at {enough}: {:#?}", at(enough).err());
        let errors = at(too_old).err().unwrap_or_default();
        let codes: Vec<_> = errors.iter().map(|error| error.code).collect();
        assert_eq!(codes, ["validate::target"], "{body} at {too_old}\n{errors:#?}");
        let mut words = enough.split_whitespace();
        let (sm, ptx) = (words.next().unwrap_or_default(), words.next_back().unwrap_or_default());
        let message = &errors[0].message;
        assert!(message.contains(ptx) && message.contains(sm), "{body}: {message}");
    }
}

/// What random statements are put together from: the rows whose names begin in a certain way, and their words.
pub struct Vocabulary<'a> {
    /// Beginnings of names, the longest of which counts, each with operands that suit it and some that do not.
    pub operands: &'a [(&'a str, &'a [&'a str])],
    /// What comes before the opcode.
    pub results: &'a [&'a str],
}

impl Vocabulary<'_> {
    /// Any opcode is either legal, and then its full spelling is legal and means the same, or has one error.
    ///
    /// The frame of `source` has `n_before` instructions of its own.
    pub fn check_random(
        &self,
        (seed, n_statements): (u64, usize),
        n_before: usize,
        source: impl Fn(&str) -> String,
    ) {
        let rows: Vec<(&Form, &[&str])> = families()
            .flat_map(|family| family.forms)
            .filter_map(|form| Some((form, self.suits(form)?)))
            .collect();
        let mut random = Random(seed);
        let mut n_legal = 0;
        for _ in 0..n_statements {
            let (form, operands) = random.pick(&rows);
            let (other, _) = random.pick(&rows);
            let opcode = random.opcode(form, other);
            let (result, operands) = (random.pick(self.results), random.pick(operands));
            let text = |opcode: &str| source(&format!("{result}{opcode} {operands};"));
            match try_load(&text(&opcode)) {
                Ok(first) => {
                    n_legal += 1;
                    let found = instructions(&text(&opcode));
                    // `cp.async.wait_all` is two of them.
                    let [only] = &found[n_before..] else { continue };
                    let full = &only.text;
                    let second = try_load(&text(full));
                    let second = second.unwrap_or_else(|errors| panic!("{opcode} is {full}\n{errors:#?}"));
                    assert_eq!(dump(&first), dump(&second), "{opcode} is {full}");
                }
                Err(errors) => assert_eq!(errors.len(), 1, "{}\n{errors:#?}", text(&opcode)),
            }
        }
        assert!(n_legal > 200, "{n_legal}");
    }

    /// The operands for a row.
    fn suits(&self, form: &Form) -> Option<&[&str]> {
        let suitable = self.operands.iter().filter(|(start, _)| form.name.starts_with(start));
        suitable.max_by_key(|(start, _)| start.len()).map(|(_, operands)| *operands)
    }
}

impl Random {
    fn pick<T: Copy>(&mut self, words: &[T]) -> T {
        words[self.below(words.len())]
    }

    fn is_one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A row's name with most of the words that it needs and some that it may have, and now and then one of another row.
    fn opcode(&mut self, form: &Form, other: &Form) -> String {
        let mut words = Vec::new();
        for slot in form.slots {
            let is_written = match slot.need {
                Need::Must(_) => !self.is_one_in(16),
                Need::May | Need::Default(_) | Need::Hint => self.is_one_in(3),
                Need::Unsupported(_) | Need::Refused(_) => self.is_one_in(40),
            };
            if is_written {
                words.push(self.pick(slot.words));
            }
        }
        if self.is_one_in(8) && !other.slots.is_empty() {
            let strange =
                self.pick(&other.slots.iter().flat_map(|slot| slot.words).copied().collect::<Vec<_>>());
            words.insert(self.below(words.len() + 1), strange);
        }
        words.iter().fold(form.name.to_owned(), |opcode, word| format!("{opcode}.{word}"))
    }
}
