//! Every code a report can carry, with one line each, and a page for those that are findings, whose rows are in
//! [`crate::findings`].
//!
//! A code is stable: it keeps its meaning once it was in a release. The suite checks that every code in the sources is here.

use crate::findings::{self, FindingKind};
use std::fmt::Write as _;

/// A code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// `family::kebab-name`.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// What `fencepost explain` prints below the line.
    page: &'static str,
}

impl Code {
    /// What its page says below the title; empty for errors in the input.
    pub fn text(&self) -> &'static str {
        self.page
    }
}

/// All of them, by family.
pub fn all() -> impl Iterator<Item = Code> {
    with_page(findings::all())
        .chain(with_page(findings::warnings()))
        .chain(INPUT.iter().map(|&(name, summary)| Code { name, summary, page: "" }))
}

/// Those of rows.
fn with_page(kinds: impl Iterator<Item = &'static FindingKind>) -> impl Iterator<Item = Code> {
    kinds.map(|kind| Code { name: kind.code, summary: kind.summary, page: kind.page })
}

/// The code called `name`, in whatever case it is written.
pub fn find(name: &str) -> Option<Code> {
    all().find(|code| code.name.eq_ignore_ascii_case(name))
}

/// What `fencepost explain race` prints: the codes of a family.
pub fn group(name: &str) -> Option<String> {
    let name = name.trim_end_matches(':').to_lowercase();
    let is_one = |code: &Code| code.name.split_once("::").is_some_and(|(family, _)| family == name);
    let found: Vec<Code> = all().filter(is_one).collect();
    let width = found.iter().map(|code| code.name.len()).max()?;
    let mut text = format!("{name}: {} codes\n\n", found.len());
    for code in found {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {:<width$}  {}", code.name, code.summary);
    }
    Some(text)
}

/// The code that `name` may have been meant to be: one that ends like it, or the nearest within three edits.
pub fn similar(name: &str) -> Option<&'static str> {
    let tail = |full: &str| full.rsplit("::").next().unwrap_or(full).to_owned();
    let same_tail = all().find(|code| tail(code.name) == tail(name)).map(|code| code.name);
    same_tail.or_else(|| {
        all()
            .map(|code| (strsim::levenshtein(code.name, name), code.name))
            .filter(|&(far, _)| far <= 3)
            .min()
            .map(|(_, near)| near)
    })
}

/// Where its page is in the book, from the first page on.
pub fn address(code: &str) -> String {
    let family = code.split("::").next().unwrap_or(code);
    format!("reference/codes/{family}.html#{}", code.replace("::", ""))
}

/// What `fencepost explain CODE` prints.
pub fn page(code: Code) -> String {
    let title = format!("{}: {}\n", code.name, code.summary);
    match code.page {
        "" => format!(
            "{title}\nAn error in the input: its report shows the place, the rule and, where there is one, the repair.\n"
        ),
        page => format!("{title}\n{page}"),
    }
}

/// What `fencepost explain` prints.
pub fn list() -> String {
    let mut text = String::from("Findings (each has a page: fencepost explain CODE)\n\n");
    let width = all().map(|code| code.name.len()).max().unwrap_or(0);
    for code in with_page(findings::all()) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {:<width$}  {}", code.name, code.summary);
    }
    text.push_str("\nWarnings (each has a page, too)\n\n");
    for code in with_page(findings::warnings()) {
        let _ = writeln!(text, "  {:<width$}  {}", code.name, code.summary);
    }
    text.push_str("\nErrors in the input\n\n");
    for (name, summary) in INPUT {
        let _ = writeln!(text, "  {name:<width$}  {summary}");
    }
    text
}

/// Codes of rejected input.
const INPUT: &[(&str, &str)] = &[
    ("syntax::unexpected-token", "something else was expected here"),
    ("syntax::unexpected-end", "the text ends too early"),
    ("syntax::foreign", "a word of CUDA, of a library over it, of C++ or of Python"),
    ("syntax::bad-token", "these characters are not part of the language"),
    ("syntax::unexpected-character", "this character means nothing in a memory model"),
    ("syntax::bad-number", "this is not a number, or too large for any width"),
    ("syntax::unterminated-comment", "a comment is not closed"),
    ("syntax::unterminated-string", "a string is not closed"),
    ("syntax::too-deep", "an expression is nested too deeply"),
    ("syntax::unsupported", "a form of the cat language that is not read here"),
    ("syntax::address", "an address is an object, or `mapa` of one and a rank"),
    ("syntax::ptx", "a PTX module is not as the PTX ISA has it"),
    ("syntax::target", "this is not an architecture or a PTX version"),
    ("input::unreadable-path", "this path is neither a file nor a folder with kernels in it"),
    ("input::no-kernel", "the file has no kernel to check"),
    ("input::launch", "no kernel of the file has this launch, or it cannot be made up"),
    ("input::property", "nothing in the file has this property"),
    ("input::model", "the memory model cannot be used"),
    ("input::settings", "`fencepost.toml` has something that is no setting, or no value of it"),
    ("input::baseline", "the file of known findings cannot be read, or is none"),
    ("resolve::unknown-name", "a name that is not declared"),
    ("resolve::unknown-entry", "the PTX module has no kernel of this name"),
    ("resolve::unknown-function", "a function that is not declared"),
    ("resolve::unknown-instruction", "no PTX instruction known here"),
    ("resolve::unknown-type", "there is no such type"),
    ("resolve::unknown-define", "`-D` names a constant or parameter that the file does not declare"),
    ("resolve::duplicate-name", "a name declared twice in one scope"),
    ("resolve::reserved-name", "the name of a special register or of `mapa` cannot be declared"),
    ("resolve::unreadable-file", "a file cannot be read"),
    ("resolve::cyclic-use", "files use one another in a circle"),
    ("resolve::recursive-function", "functions are inlined and cannot call themselves"),
    ("resolve::recursive-constant", "a constant needs its own value"),
    ("resolve::constant-overflow", "a constant does not fit 64 bits"),
    ("resolve::not-constant", "a constant is needed here"),
    ("resolve::not-assignable", "only `var` registers can be assigned"),
    ("resolve::not-memory", "an object is needed here"),
    ("resolve::memory-as-value", "memory is read by an instruction, not by its name"),
    ("resolve::condition-width", "a condition has 1 bit"),
    ("resolve::width-mismatch", "operands have different widths"),
    ("resolve::no-sign", "values have no sign, and this is only right for numbers with one"),
    ("resolve::literal-too-large", "a number does not fit its width"),
    ("resolve::dimension-count", "wrong number of indices"),
    ("resolve::argument-count", "wrong number of arguments"),
    ("resolve::argument-kind", "an address where a value is needed, or the other way round"),
    ("resolve::pattern", "only a vector load gives several values"),
    ("resolve::no-result", "a function without result is used as a value"),
    ("resolve::return", "`return` stands last in a function, and gives what it declares"),
    ("resolve::final-register", "a thread's registers are gone in a `final` block"),
    ("resolve::misplaced-statement", "this cannot stand here"),
    ("resolve::host-call", "not a call of the host's API, or not a form of it"),
    ("resolve::host-register", "the host has no `tid`, `ctaid`, …"),
    ("validate::missing-scope", "this sem needs a scope"),
    ("validate::unexpected-scope", "this sem takes no scope"),
    ("validate::missing-operation", "an atomic without operation"),
    ("validate::illegal-sem", "this instruction does not take this sem"),
    ("validate::illegal-operation", "this instruction does not take this operation"),
    ("validate::illegal-operation-type", "the operation does not take this type"),
    ("validate::exclusive-modifiers", "modifiers that exclude each other"),
    ("validate::duplicate-modifier", "a second modifier of its kind"),
    ("validate::unknown-modifier", "no modifier of this instruction"),
    ("validate::cache-operator", "a cache operator where PTX allows none"),
    ("validate::mmio-scope", "`.mmio` needs the scope `.sys`"),
    ("validate::mmio-sem", "`.mmio` needs `.relaxed`"),
    ("validate::mmio-vector", "`.mmio` on a vector"),
    ("validate::missing-sem", "a scope without the sem that it goes with"),
    ("validate::non-coherent", "`.nc` on what is no weak load of global memory"),
    ("validate::cache-hint", "a cache hint where none may stand, or without its policy"),
    ("validate::hint-form", "not a form of an instruction that only hints, like `prefetch` or `nanosleep`"),
    ("validate::mmio-space", "`.mmio` accesses global memory only"),
    ("validate::membar-level", "a `membar` with the level that its machine has"),
    ("validate::spa-instruction", "an instruction of another machine than the file is for"),
    ("validate::spa-launch", "a field of launches of SPA machines"),
    ("validate::spa-client", "a `client` block that its kernel cannot have"),
    ("validate::spa-object", "memory that a kernel for SPA machines cannot have"),
    ("validate::cache-control", "not a form of cache control, or not for this cache"),
    ("validate::restricted-fence", "a restricted fence needs its sem and `.cluster`"),
    ("validate::proxy-mismatch", "this instruction does not access memory of this kind"),
    ("validate::proxy-fence", "not a form of the proxy fence"),
    ("validate::barrier-form", "not a form of the barrier instruction"),
    ("validate::barrier-id", "a CTA has barriers 0 to 15"),
    ("validate::barrier-count", "a barrier counts whole warps"),
    ("validate::barrier-missing-count", "`arrive` needs a thread count"),
    ("validate::elect-form", "the form of `elect` is `elect.sync`"),
    ("validate::exchange-form", "not a form of `shfl`, `vote`, `match` or `redux`"),
    ("validate::mbarrier-form", "not an operation of `mbarrier`"),
    ("validate::mbarrier-space", "an mbarrier lives in shared memory"),
    ("validate::mbarrier-type", "mbarrier operations have the type `.b64`"),
    ("validate::mbarrier-sem", "this mbarrier operation does not take this sem"),
    ("validate::mbarrier-scope", "an mbarrier synchronizes at most a cluster"),
    ("validate::mbarrier-sem-scope", "sem and scope of an mbarrier operation come together"),
    ("validate::mbarrier-peer", "this operation works on an mbarrier of the own CTA"),
    ("validate::mbarrier-remote-state", "an arrive on a peer's mbarrier gives no state"),
    ("validate::mbarrier-parity", "a parity is 0 or 1"),
    ("validate::mbarrier-state", "a wait without `.parity` takes a state"),
    ("validate::mbarrier-tx", "a tx-count fits 20 bits"),
    ("validate::mbarrier-count", "1 to 1048575 arrivals"),
    ("validate::mbarrier-initialiser", "an mbarrier gets its value by `mbarrier.init`"),
    ("validate::not-mbarrier", "an mbarrier is needed here"),
    ("validate::address-value", "addresses are not values"),
    ("validate::peer-address", "an address in the own CTA is needed here"),
    ("validate::mapa", "`mapa` gives the address of shared memory in a peer CTA"),
    ("validate::peer-device", "`peer` gives the address of a device's instance of symmetric memory"),
    ("validate::multimem-address", "a multimem address is for `multimem` instructions, and they for it"),
    ("validate::multimem-space", "multimem addresses are in global memory"),
    ("validate::multimem-type", "`multimem` instructions access 32 or 64 bits"),
    ("validate::symmetric-object", "symmetric memory holds plain data"),
    ("validate::tensormap-size", "a tensor map has 128 bytes"),
    ("validate::warp-mask", "a mask that names no lane"),
    ("validate::operand-count", "wrong number of operands"),
    ("validate::operand-kind", "another kind of operand is needed here"),
    ("validate::no-result", "an instruction without result is used as a value"),
    ("validate::unbound-result", "an instruction's result is lost"),
    ("validate::type-mismatch", "the type's width is not the object's"),
    ("validate::space-mismatch", "the state space is not the object's"),
    ("validate::vector-size", "a vector has too many bits"),
    ("validate::vector-count", "another number of elements is moved"),
    ("validate::vector-alignment", "a vector must be aligned and lie inside its object"),
    ("validate::alias", "an alias has the size and space of its object"),
    ("validate::view", "a view lies inside its object, aligned"),
    ("validate::initialiser", "wrong number of values"),
    ("validate::object-dimension", "an array has at least one element"),
    ("validate::parameter-range", "an empty or too large range"),
    ("validate::import-setting", "an `import` does not say what its kernel needs, or says what it has not"),
    ("validate::launch-dimension", "launch dimensions are at least 1, by their names"),
    ("validate::launch-argument", "arguments of a launch are constants or parameters in the declared range"),
    ("validate::grid-dependency", "not a form of `griddepcontrol`"),
    ("validate::rank-form", "not a form of `getctarank`"),
    ("validate::launch-cluster", "`cluster` does not divide `ctas`"),
    ("validate::launch-cooperative", "`cooperative` is `true` or `false`"),
    ("validate::launch-registers", "`registers` of a launch is a multiple of 8 from 24 to 256"),
    ("validate::copy-form", "not a form of the copy instruction"),
    ("validate::copy-direction", "a copy does not go from and to these state spaces"),
    ("validate::copy-completion", "not how this asynchronous operation says that it is done"),
    ("validate::copy-size", "a copy cannot have this many bytes"),
    ("validate::copy-alignment", "a copy starts at an address that is not aligned for it"),
    ("validate::copy-elements", "a copy moves whole elements"),
    ("validate::copy-multicast", "a multicast needs a mask that names CTAs of the cluster"),
    ("validate::copy-noinc", "`.noinc` belongs to `cp.async.mbarrier.arrive`"),
    ("validate::copy-cache", "`cp.async` needs `.ca` or `.cg`"),
    ("validate::copy-sem", "a bulk copy does not take this sem"),
    ("validate::copy-type", "a copy does not take this type"),
    ("validate::async-sem", "this asynchronous store does not take this sem"),
    ("validate::async-space", "an asynchronous operation does not reach this state space"),
    ("validate::async-type", "an asynchronous store does not take this type"),
    ("validate::wait-group", "the number of groups that may be pending is a constant"),
    ("validate::own-cta", "this operand is in the own CTA, or must not be"),
    ("validate::mbarrier-cta", "the mbarrier is in the CTA that the data goes to"),
    ("validate::not-data", "data is needed here, not an mbarrier or a tensor map"),
    ("validate::tensor-form", "not a form of a tensor copy, or of `tcgen05`"),
    ("validate::tensor-rank", "a tensor has another number of dimensions"),
    ("validate::tensormap", "not how a tensor map is declared"),
    ("validate::not-tensormap", "a tensor map is needed here"),
    ("validate::tensormap-access", "tensor maps are written by `tensormap.replace` only"),
    ("validate::tensormap-field", "not a value of this field of a tensor map"),
    ("validate::tensormap-space", "a tensor map in this state space cannot be used so"),
    ("validate::launch-control-form", "not a form of `clusterlaunchcontrol`"),
    ("validate::max-registers", "`setmaxnreg` takes a constant of 24 to 256, a multiple of 8"),
    ("validate::matrix-form", "not a form of `wgmma`"),
    ("validate::tensor-columns", "tensor memory has 32 to 512 columns, a power of two"),
    ("validate::tensor-access", "only `tcgen05` instructions access tensor memory"),
    ("validate::tensor-object", "tensor memory has no initial value and no alias"),
    ("validate::register-operand", "registers that are declared as an object are needed here"),
    ("validate::register-access", "registers are read and written with `mov`"),
    ("validate::await-side-effect", "what is awaited must only read"),
    ("validate::target", "the architecture or PTX version does not have this"),
    ("limit::file-size", "the file is too large"),
    ("limit::nesting", "nested too deeply"),
    ("limit::launch", "the launch has too many threads"),
    ("limit::object-size", "the object is too large"),
    ("limit::host-loop", "the program launches too many kernels"),
    ("limit::host-values", "what a program calls depends on too many values of parameters"),
    ("limit::loop-iterations", "the loop runs too often"),
    ("limit::diagnostics", "more errors than are shown"),
    ("syntax::litmus", "a litmus file is not as the format wants it"),
    ("syntax::litmus-header", "a litmus file starts with `PTX`, a name and an initial state"),
    ("syntax::litmus-number", "not a number of 64 bits"),
    ("syntax::litmus-thread", "the threads of a litmus test are numbered in order"),
    ("syntax::litmus-columns", "a row of a litmus test has a column per thread"),
    ("resolve::litmus-name", "a name of a litmus test that means nothing here"),
    ("resolve::litmus-operands", "wrong operands of an instruction of a litmus test"),
    ("resolve::duplicate-label", "a thread has a label twice"),
    ("resolve::unknown-label", "a jump to a label that is not there"),
    ("unsupported::litmus-address", "addresses as values are not checked in litmus tests"),
    ("unsupported::ptx-version", "a later version of the PTX ISA than is known here"),
    ("unsupported::address-size", "PTX with addresses of 32 bits"),
    ("unsupported::ptx-declaration", "a declaration of PTX that this version does not check"),
    ("unsupported::ptx-register", "a special register that this version does not check"),
    ("unsupported::ptx-parameter", "a parameter whose address is taken, or the bytes of a tensor map"),
    ("unsupported::ptx-operand", "an operand of PTX that this version does not check"),
    ("unsupported::matrix-descriptor", "a descriptor of a matrix that is not known before the kernel runs"),
    ("unsupported::launch-block", "blocks whose last warp is not full"),
    ("unsupported::flat-address", "an address that depends on what was read, in a place that is not checked"),
    ("unsupported::instruction", "a PTX instruction that this version does not check"),
    ("unsupported::host-instruction", "the host does not execute this instruction"),
    ("unsupported::host-branch", "what is read decides whether the host makes a call"),
    ("unsupported::spa-program", "a program for an SPA machine, of which kernels only are checked"),
    ("unsupported::program-cancel", "clusters are cancelled in a kernel that a program launches"),
    ("unsupported::modifier", "a modifier that this version does not check"),
    ("unsupported::peer-address", "memory of a peer CTA is not checked by this version"),
    ("unsupported::tensormap", "tensor maps are not checked by this version"),
    ("unsupported::launch-registers", "`setmaxnreg` in a launch that does not say `registers`"),
    ("unsupported::setmaxnreg-turn", "how often `setmaxnreg` was executed before depends on values read"),
    ("unsupported::emit", "what `emit ptx` cannot write as PTX"),
    ("unsupported::barrier-operand", "a barrier operand that is only known at run time"),
    ("unsupported::barrier-participants", "who takes part in a barrier cannot be decided"),
    (
        "unsupported::barrier-reuse-after-arrive",
        "a barrier may be used again before an arrival on it completed",
    ),
    ("unsupported::unassigned-register", "a register is read before it is assigned"),
    ("unsupported::final-index", "a `final` condition needs a constant index"),
    ("unsupported::final-shared", "shared memory of several CTAs in a `final` condition"),
    (
        "unsupported::cluster-barrier",
        "how often a thread has arrived at its cluster barrier depends on values read",
    ),
    (
        "unsupported::expect-tx",
        "bytes are announced after the last arrival of the thread, and mbarriers are only counted",
    ),
    ("unsupported::tensor-reference", "tensor memory is passed to a function"),
    ("unsupported::tensor-allocation", "tensor memory is allocated again, or may have to wait for columns"),
    ("unsupported::async-operand", "a size or mask is not known before the kernel runs"),
    ("unsupported::copy-size", "a copy moves a part of an element"),
    ("unsupported::tensormap-address", "a tensor map describes one object, which does not change"),
    ("unsupported::tensormap-field", "a field of a tensor map is what its declaration says"),
    ("unsupported::tensormap-index", "which tensor map is meant is not known before the kernel runs"),
    (
        "unsupported::mbarrier-index",
        "which mbarrier is meant depends on values read, or on too many parameters",
    ),
    (
        "unsupported::mbarrier-operand",
        "a count or number of bytes depends on values read, or on too many parameters",
    ),
    ("unsupported::mbarrier-reuse", "no barrier says to which life of an mbarrier a use belongs"),
    ("unsupported::no-complete", "arrivals with `.noComplete`, where mbarriers are only counted"),
    ("unsupported::peer-rank", "which peer CTA is meant is not known, or there is none"),
    ("unsupported::peer-device", "which device is meant is not known, or there is none"),
    ("unsupported::final-symmetric", "symmetric memory of several devices in a `final` condition"),
    ("unsupported::model", "the memory model does not speak of this instruction"),
    ("cat::states-nothing", "a model without axioms and flags"),
    ("cat::unreadable", "the memory model cannot be read"),
    ("cat::include", "an included file cannot be read"),
    ("cat::include-cycle", "a model includes itself"),
    ("cat::unknown-variant", "--variant names a variant that the model does not ask for"),
    ("cat::too-many-includes", "too many files are included"),
    ("cat::unknown-name", "a name that is not defined"),
    ("cat::set-or-relation", "a set where a relation is needed, or the other way round"),
    ("cat::not-a-function", "this is not a function"),
    ("cat::missing-arguments", "a function without its arguments"),
    ("cat::argument-count", "wrong number of arguments"),
    ("cat::recursive-function", "functions cannot be recursive"),
    ("cat::negative-recursion", "a recursion through a negation"),
    ("cat::unsupported-check", "a check of this form is not understood"),
    ("cat::too-deep", "nested too deeply"),
    ("cat::too-large", "the model is too large"),
    ("solver::failed", "the command of `--solver-command` could not be run, or it failed"),
    ("solver::no-answer", "the command of `--solver-command` has given no answer"),
    ("solver::too-slow", "the command of `--solver-command` has not ended in its time"),
    ("solver::no-assignment", "another solver's assignment does not satisfy the formula"),
    ("solver::no-proof", "another solver's proof that there is no execution could not be followed"),
];

#[cfg(test)]
mod tests {
    use super::{all, find, findings, list, page, similar, with_page};
    use fencepost_dsl::sorted::SortedSet;
    use std::path::Path;

    #[test]
    fn codes_are_unique_and_listed() {
        let names: SortedSet<&str> = all().map(|code| code.name).collect();
        assert_eq!(names.len(), all().count());
        let text = list();
        assert!(names.iter().all(|name| text.contains(name)));
    }

    #[test]
    fn every_finding_has_a_full_page() {
        for code in with_page(findings::all().chain(findings::warnings())) {
            let text = page(code);
            for part in ["What it means", "Why it matters", "Example", "How to fix", "Rule"] {
                assert!(text.contains(part), "{}: {part}", code.name);
            }
        }
    }

    #[test]
    fn slips_are_recognised() {
        assert_eq!(similar("race::unifrm"), Some("race::uniform"));
        assert_eq!(similar("scope-too-narrow"), Some("race::scope-too-narrow"));
        assert_eq!(similar("something else entirely"), None);
    }

    /// Codes in quotes, in all sources of a folder.
    fn codes_in(folder: &Path, into: &mut SortedSet<String>) {
        let families = [
            "syntax",
            "resolve",
            "validate",
            "limit",
            "unsupported",
            "cat",
            "race",
            "assert",
            "bounds",
            "vacuity",
            "model",
        ];
        for entry in std::fs::read_dir(folder).expect("the sources are there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                codes_in(&path, into);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("sources are text");
                for quoted in text.split('"') {
                    let is_code = quoted.split_once("::").is_some_and(|(family, name)| {
                        families.contains(&family)
                            && !name.is_empty()
                            && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
                    });
                    if is_code {
                        into.insert(quoted.to_owned());
                    }
                }
            }
        }
    }

    #[test]
    fn every_code_of_the_sources_is_in_the_table() {
        let checker = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut used = SortedSet::new();
        for package in ["dsl", "checker", "checker/engine", "checker/cli"] {
            codes_in(&checker.join("..").join(package).join("src"), &mut used);
        }
        // Slips that the tests of this module look up.
        used.remove("race::unifrm");
        let missing: Vec<&String> = used.iter().filter(|name| find(name).is_none()).collect();
        assert!(missing.is_empty(), "not in the table: {missing:?}");
        assert!(used.len() > 20);
    }
}
