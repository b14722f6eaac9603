//! The forms of the table of instructions: that there are operands to try each of them with, and, where `FENCEPOST_PTXAS` names
//! an assembler, that it takes what Fencepost takes and nothing that Fencepost calls wrong.

#![expect(clippy::print_stderr, reason = "says when it has nothing to compare with")]

use fencepost::library;
use fencepost_dsl::SourceMap;
use fencepost_dsl::kernel::isa::Form;
use fencepost_dsl::kernel::program::{Instruction, Program};
use fencepost_dsl::kernel::{LoadOptions, load};
use fencepost_tests::forms::assembler::Assembler;
use fencepost_tests::forms::known::DIFFERENCES;
use fencepost_tests::forms::operands::of_assembler;
use fencepost_tests::forms::table::page;
use fencepost_tests::forms::{Compared, Ours, architecture, compare, rows, spellings};
use fencepost_tests::litmus::files_with;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[test]
fn every_form_is_taken_in_some_spelling() {
    for form in rows() {
        let tried = spellings(form);
        let is_taken = tried.iter().any(|spelling| matches!(spelling.ours, Ours::Taken(_)));
        assert!(is_taken, "no spelling of {form:?} is taken: {:?}", tried.first());
    }
}

/// The page of the book with the last comparison that was recorded.
const PAGE: &str = "../book/src/reference/assembler.md";
/// Where what is written behind begins.
const MARK: &str = "<!-- table: written by the test `an_assembler_takes_the_same_forms` with BLESS=1 -->\n\n";

/// Every difference is of a class that says why, every class has some, and the book has what was found with its assembler.
#[test]
fn an_assembler_takes_the_same_forms() {
    let Some(assembler) = assembler() else { return };
    let compared: Vec<Compared> =
        rows().into_iter().flat_map(|form| compare(&assembler, spellings(form))).collect();
    let found: Vec<String> = compared
        .iter()
        .filter(|one| one.differs() && one.class().is_none())
        .map(|one| format!("{:?}: {} {}", one.agreement, one.spelling.text, one.said_against()))
        .collect();
    assert!(found.is_empty(), "{} of {}:\n{}", found.len(), compared.len(), found.join("\n"));
    let version = assembler.version().expect("it could be asked before");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let (head, recorded) = text.split_once(MARK).expect("the page says where the table begins");
    let table = page(&version, &compared);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{head}{MARK}{table}")).expect("it can be written");
    } else if recorded.contains(&version) {
        assert_eq!(recorded, table, "run with BLESS=1, and date the page");
    } else {
        eprintln!("the book has the table of another version than {version}");
        return;
    }
    // Of what the book has now: a reason for nothing has to go.
    for class in DIFFERENCES {
        assert!(compared.iter().any(|one| class.covers(one)), "no spelling is of the class {class:?}");
    }
}

#[test]
fn an_assembler_takes_the_instructions_of_the_examples() {
    let Some(assembler) = assembler() else { return };
    let mut found: BTreeMap<String, &'static Form> = BTreeMap::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the folder is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "fence") {
                found.extend(instructions(&path));
            }
        }
    }
    let asked: Vec<(&'static str, Vec<String>)> =
        found.iter().map(|(text, form)| (architecture(form), of_assembler(form, text))).collect();
    let answers = assembler.any(&asked);
    let refused: Vec<String> = found
        .keys()
        .zip(answers)
        .filter_map(|(text, answer)| Some(format!("{text}: {}", answer?.err()?)))
        .collect();
    assert!(found.len() > 50, "{} instructions", found.len());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The assembler that is given, or a word that none is.
fn assembler() -> Option<Assembler> {
    let assembler = Assembler::from_environment();
    if assembler.is_none() {
        eprintln!("FENCEPOST_PTXAS is not set: no assembler to compare with");
    }
    assembler
}

/// The instructions of PTX in a file, in full.
fn instructions(path: &Path) -> Vec<(String, &'static Form)> {
    let mut sources = SourceMap::default();
    let mut read = library::with(|path| std::fs::read_to_string(path).map_err(|error| error.to_string()));
    let program = load(&mut sources, &path.to_string_lossy(), &mut read, &LoadOptions::default());
    let program: Program = program.unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
    let found = RefCell::new(Vec::new());
    for kernel in &program.kernels {
        let is_ptx = kernel.launches.iter().all(|launch| launch.spa.is_none());
        program.any_instruction(kernel, |instruction| {
            if is_ptx && instruction.form.floor.ptx != (0, 0) {
                found.borrow_mut().push((instruction.text.clone(), instruction.form));
            }
            false
        });
    }
    found.into_inner()
}

/// The registers that an instruction reads, as its kind tells them.
fn registers_read(instruction: &Instruction) -> BTreeSet<String> {
    let text = format!("{:?}", instruction.kind);
    let read = text.split("Register(RegisterId(").skip(1);
    read.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// What decides which registers matter looks at the operands and not at the kinds: a register that only a kind knows of would
/// be left as it was before, and nobody would notice.
#[test]
fn what_an_instruction_reads_is_among_its_operands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["examples", "checker/lib", "tests/rules", "tests/tables", "tests/repairs"];
    let (mut n_reading, mut mnemonics) = (0, BTreeSet::new());
    for path in folders.iter().flat_map(|folder| files_with(&root.join(folder), "fence")) {
        // Some tables have what is refused.
        let mut read = library::with(|path| std::fs::read_to_string(path).map_err(|error| error.to_string()));
        let options = LoadOptions::default();
        let Ok(program) = load(&mut SourceMap::default(), &path.to_string_lossy(), &mut read, &options)
        else {
            continue;
        };
        for kernel in program.parts.iter().chain(&program.kernels) {
            let seen = RefCell::new(Vec::new());
            program.any_instruction(kernel, |instruction| {
                let read = registers_read(instruction);
                if !read.is_empty() {
                    let operands = format!("{:?}", instruction.operands);
                    let is_there =
                        |register: &String| operands.contains(&format!("Register(RegisterId({register}))"));
                    let missing: Vec<String> =
                        read.into_iter().filter(|register| !is_there(register)).collect();
                    seen.borrow_mut().push((instruction.text.clone(), missing));
                }
                false
            });
            for (text, missing) in seen.into_inner() {
                assert!(missing.is_empty(), "{}: `{text}` reads {missing:?}", path.display());
                n_reading += 1;
                mnemonics.insert(text.split('.').next().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(n_reading > 1_000, "{n_reading} instructions read a register");
    for mnemonic in ["st", "atom", "cp", "mbarrier", "bar", "red", "tcgen05"] {
        assert!(mnemonics.contains(mnemonic), "no `{mnemonic}` among {mnemonics:?}");
    }
}
