//! Small random kernels of loops that wait: in many forms, with scans, other waits and accesses in their bodies. Many hang.
//!
//! One CTA with a thread in each warp, a few words that are 0 at first, a lock and an mbarrier. Most stores and waits are
//! about 1, so that the waits that something lets through are about as frequent as those that nothing does.

mod stories;

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::fmt::Write;
use stories::story;

/// A kernel to be.
#[derive(Clone, Debug)]
pub struct LoopSketch {
    /// What the threads do.
    pub threads: Vec<Vec<LoopStep>>,
}

/// A step of a thread.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum LoopStep {
    Store {
        word: usize,
        sem: usize,
        value: u8,
    },
    Load {
        word: usize,
        sem: usize,
        then: Use,
    },
    Exchange {
        word: usize,
        value: u8,
    },
    Add {
        word: usize,
    },
    Fence {
        sem: usize,
    },
    Bar,
    Arrive,
    /// Opens the lock.
    Unlock,
    If {
        word: usize,
        sem: usize,
        value: u8,
        then: Vec<LoopStep>,
        /// The thread ends there.
        exits: bool,
    },
    Wait(Wait),
}

/// What becomes of a value read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Nothing.
    Nothing,
    /// It is stored to a word of its own.
    Stored,
    /// It is claimed to be this.
    Asserted(u8),
}

/// A wait.
#[derive(Clone, Debug)]
pub struct Wait {
    /// How it is written.
    pub form: Form,
    /// What it reads.
    pub word: usize,
    /// How.
    pub sem: usize,
    /// What it waits for.
    pub value: u8,
    /// What each round does first.
    pub before: Vec<LoopStep>,
    /// What a round does that does not leave.
    pub after: Vec<LoopStep>,
    /// What the round does that leaves.
    pub leaving: Vec<LoopStep>,
    /// Whether the thread ends with the loop.
    pub exits: bool,
}

/// How a wait is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `await`
    Await,
    /// `while` around what a failing round does.
    While,
    /// `loop` with a `break`, or `exit`.
    Loop,
    /// `loop` that reads two words.
    Two,
    /// `loop` around a loop over an array: `for`, or `while`.
    Scan {
        /// Whether it is `for`.
        is_for: bool,
    },
    /// `while c < value { c = … }`
    Cache,
    /// A register that each round inverts.
    Toggle,
    /// A register that counts rounds, and that nobody reads.
    Counter,
    /// The lock, taken by compare-and-swap.
    Swap,
    /// The lock, taken by exchange: in an `await`, or a `while`.
    Exchange {
        /// Whether it is `await`.
        is_await: bool,
    },
    /// The mbarrier's first phase, or the next: in an `await`, or a `loop`.
    Phase {
        /// Whether it is `await`.
        is_await: bool,
        /// Parity.
        parity: u8,
    },
    /// In a function.
    Function,
    /// Two tries at most: in a `for`, or in a `while` that counts.
    Poll {
        /// Whether it is `for`.
        is_for: bool,
    },
    /// A register that counts rounds, and is read behind them.
    Tally,
    /// A search that keeps a mark until it has found something.
    Search,
}

const FENCES: [&str; 4] = ["acq_rel", "sc", "acquire", "release"];
const WORDS: [&str; 3] = ["[x]", "[a[0]]", "[a[1]]"];
const FUNCTION: &str =
    "fn wait(word: &u32, value: u32) {\n    while (ld.acquire.gpu [word]) != value {}\n}\n";

impl LoopSketch {
    /// The kernel's text without the closing brace, so that a `final` block can follow.
    pub fn text(&self) -> String {
        self.printed(Printer::default())
    }

    /// The same with a round of each `await` and `while` written out before it, and with both tries of each poll.
    pub fn peeled_text(&self) -> String {
        self.printed(Printer { peels: true, ..Printer::default() })
    }

    fn printed(&self, mut printer: Printer) -> String {
        for (thread, steps) in self.threads.iter().enumerate() {
            printer.line(&format!("if tid == {thread} {{"));
            printer.block(steps);
            printer.line("}");
        }
        let body = printer.text;
        let mut text = String::new();
        if body.contains("wait(") {
            text.push_str(FUNCTION);
        }
        let n_threads = self.threads.len();
        let _ = writeln!(text, "kernel k {{\n    launch {{ warps: {n_threads} }}\n    global x: u32 = 0;");
        for (mark, declaration) in [("a[", "global a[2]: u32 = 0;"), ("[l]", "global l: u32 = 0;")] {
            if body.contains(mark) {
                let _ = writeln!(text, "    {declaration}");
            }
        }
        for result in 0..printer.n_results {
            let _ = writeln!(text, "    global out_{result}: u32 = 0;");
        }
        if body.contains("[m]") {
            let n_arrivals = body.matches("mbarrier.arrive").count().max(1);
            let _ = writeln!(
                text,
                "    shared m: mbarrier;\n    if tid == 0 {{\n        mbarrier.init.shared::cta.b64 [m], {n_arrivals};\n    \
                 }}\n    bar.sync 0;"
            );
        }
        text + &body
    }

    /// Instructions that access memory or wait, those in loops twice.
    fn size(&self) -> usize {
        self.threads.iter().flatten().map(LoopStep::size).sum()
    }
}

impl LoopStep {
    fn size(&self) -> usize {
        let of = |steps: &[Self]| steps.iter().map(Self::size).sum::<usize>();
        match self {
            Self::If { then, .. } => 1 + of(then),
            Self::Wait(wait) => {
                let own = match wait.form {
                    Form::Two | Form::Scan { .. } | Form::Search => 4,
                    Form::Swap | Form::Exchange { .. } | Form::Cache | Form::Poll { .. } => 3,
                    _ => 2,
                };
                own + 2 * (of(&wait.before) + of(&wait.after)) + of(&wait.leaving)
            }
            Self::Fence { .. } => 0,
            _ => 1,
        }
    }
}

#[derive(Default)]
struct Printer {
    text: String,
    depth: usize,
    n_registers: usize,
    n_results: usize,
    /// Whether a round of each loop stands before it.
    peels: bool,
}

impl Printer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 * (self.depth + 1));
    }

    fn block(&mut self, steps: &[LoopStep]) {
        self.depth += 1;
        steps.iter().for_each(|step| self.step(step));
        self.depth -= 1;
    }

    fn register(&mut self) -> String {
        self.n_registers += 1;
        format!("r{}", self.n_registers - 1)
    }

    fn step(&mut self, step: &LoopStep) {
        match step {
            LoopStep::Store { word, sem, value } => {
                self.line(&format!("st{} {}, {value};", strength(*sem, "release"), WORDS[*word]));
            }
            LoopStep::Load { word, sem, then } => {
                let register = self.register();
                self.line(&format!("let {register} = {};", load(*word, *sem)));
                match then {
                    Use::Stored if self.n_results < 2 => {
                        self.line(&format!("st.weak [out_{}], {register};", self.n_results));
                        self.n_results += 1;
                    }
                    Use::Nothing | Use::Stored => {}
                    Use::Asserted(value) => self.line(&format!("assert {register} == {value};")),
                }
            }
            LoopStep::Exchange { word, value } => {
                self.line(&format!("let _ = atom.exch.acq_rel.gpu.b32 {}, {value};", WORDS[*word]));
            }
            LoopStep::Add { word } => self.line(&format!("red.relaxed.gpu.add.u32 {}, 1;", WORDS[*word])),
            LoopStep::Fence { sem } => self.line(&format!("fence.{}.cta;", FENCES[*sem])),
            LoopStep::Bar => self.line("bar.sync 1;"),
            LoopStep::Arrive => self.line("mbarrier.arrive.release.cta.shared::cta.b64 _, [m];"),
            LoopStep::Unlock => self.line("st.release.gpu [l], 0;"),
            LoopStep::If { word, sem, value, then, exits } => {
                self.line(&format!("if ({}) == {value} {{", load(*word, *sem)));
                self.block(then);
                if *exits {
                    self.line("    exit;");
                }
                self.line("}");
            }
            LoopStep::Wait(wait) => self.wait(wait),
        }
    }

    fn wait(&mut self, wait: &Wait) {
        let Wait { form, word, sem, value, .. } = wait;
        let read = load(*word, *sem);
        match form {
            Form::Await if self.peels => {
                self.line(&format!("if ({read}) != {value} {{ await ({read}) == {value}; }}"));
            }
            Form::Await => self.line(&format!("await ({read}) == {value};")),
            Form::Poll { is_for } => self.poll(&format!("({read}) == {value}"), *is_for),
            Form::Tally => {
                let n = self.register();
                self.line(&format!("var {n}: u32 = 0;"));
                if self.peels {
                    self.line(&format!(
                        "if ({read}) != {value} {{ {n} += 1; while ({read}) != {value} {{ {n} += 1; }} }}"
                    ));
                } else {
                    self.line(&format!("while ({read}) != {value} {{ {n} += 1; }}"));
                }
                self.line(&format!("assert {n} < 100;"));
            }
            Form::Search => {
                let (found, index) = (self.register(), self.register());
                let read = format!("ld{} [a[{index}]]", strength(*sem, "acquire"));
                let round =
                    format!("for {index} in 0..2 {{ if ({read}) == 1 {{ {found} = {index}; break; }} }}");
                self.line(&format!("var {found}: u32 = 9;"));
                if self.peels {
                    self.line(&round);
                }
                self.line(&format!("while {found} == 9 {{ {round} }}"));
                self.line(&format!("assert {found} <= 1;"));
            }
            Form::Function => {
                let word = WORDS[*word];
                self.line(&format!("wait({}, {value});", &word[1..word.len() - 1]));
            }
            Form::Exchange { is_await: true } => self.line("await (atom.exch.acq_rel.gpu.b32 [l], 1) == 0;"),
            Form::Phase { is_await: true, parity } => {
                self.line(&format!(
                    "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], {parity};"
                ));
            }
            Form::While => self.around(&format!("while ({read}) != {value} {{"), wait),
            Form::Swap => self.around("while (atom.cas.acquire.gpu.b32 [l], 0, 1) != 0 {", wait),
            Form::Exchange { is_await: false } => {
                self.around("while (atom.exch.acq_rel.gpu.b32 [l], 1) == 1 {", wait);
            }
            Form::Cache => {
                let register = self.register();
                self.line(&format!("var {register}: u32 = 0;"));
                self.line(&format!("while {register} < {value} {{"));
                self.block(&wait.before);
                self.line(&format!("    {register} = {read};"));
                self.block(&wait.after);
                self.line("}");
                wait.leaving.iter().for_each(|step| self.step(step));
                if wait.exits {
                    self.line(&format!("assert {register} == {value};"));
                }
            }
            Form::Toggle | Form::Counter => {
                let register = self.register();
                let is_toggle = *form == Form::Toggle;
                self.line(&format!("var {register}: u32 = 0;"));
                self.line("loop {");
                self.line(&format!("    {register} {} 1;", if is_toggle { "^=" } else { "+=" }));
                self.tested(wait, "", &format!("({read}) == {value}"));
                if is_toggle {
                    self.line(&format!("assert {register} <= 1;"));
                }
            }
            Form::Loop => {
                self.line("loop {");
                self.tested(wait, "", &format!("({read}) == {value}"));
            }
            Form::Phase { is_await: false, parity } => {
                let register = self.register();
                let test = format!(
                    "let {register} = mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [m], {parity};"
                );
                self.line("loop {");
                self.tested(wait, &test, &register);
            }
            Form::Two => {
                let (one, other) = (self.register(), self.register());
                let second = load((word + 1) % WORDS.len(), *sem);
                let test = format!("let {one} = {read}; let {other} = {second};");
                self.line("loop {");
                self.tested(wait, &test, &format!("({one} == {value}) && ({other} == {value})"));
            }
            Form::Scan { is_for } => {
                let (index, all) = (self.register(), self.register());
                let read = format!("ld{} [a[{index}]]", strength(*sem, "acquire"));
                let miss = format!("if ({read}) == 0 {{ {all} = 0; }}");
                let scan = match is_for {
                    true => format!("var {all}: u32 = 1; for {index} in 0..2 {{ {miss} }}"),
                    false => format!(
                        "var {all}: u32 = 1; var {index}: u32 = 0; while {index} < 2 {{ {miss} {index} += 1; }}"
                    ),
                };
                self.line("loop {");
                self.tested(wait, &scan, &format!("{all} == 1"));
            }
        }
    }

    /// A loop whose head decides.
    fn around(&mut self, head: &str, wait: &Wait) {
        if self.peels {
            self.line(&head.replacen("while", "if", 1));
            let n_results = self.n_results;
            self.block(&wait.before);
            self.block(&wait.after);
            self.n_results = n_results;
        }
        self.line(head);
        self.block(&wait.before);
        self.block(&wait.after);
        self.line("}");
        if self.peels {
            self.line("}");
        }
        wait.leaving.iter().for_each(|step| self.step(step));
    }

    /// Two tries.
    fn poll(&mut self, condition: &str, is_for: bool) {
        let (got, n) = (self.register(), self.register());
        let hit = format!("if {condition} {{ {got} = 1;");
        self.line(&format!("var {got}: u32 = 0;"));
        if self.peels {
            self.line(&format!("{hit} }} if {got} == 0 {{ {hit} }} }}"));
        } else if is_for {
            self.line(&format!("for {n} in 0..2 {{ {hit} break; }} }}"));
        } else {
            self.line(&format!("var {n}: u32 = 0;"));
            self.line(&format!("while {n} < 2 && {got} == 0 {{ {hit} }} {n} += 1; }}"));
        }
    }

    /// The rest of a `loop`.
    fn tested(&mut self, wait: &Wait, test: &str, condition: &str) {
        self.block(&wait.before);
        self.depth += 1;
        if !test.is_empty() {
            self.line(test);
        }
        self.line(&format!("if {condition} {{"));
        self.block(&wait.leaving);
        self.line(if wait.exits { "    exit;" } else { "    break;" });
        self.line("}");
        self.depth -= 1;
        self.block(&wait.after);
        self.line("}");
    }
}

fn load(word: usize, sem: usize) -> String {
    format!("ld{} {}", strength(sem, "acquire"), WORDS[word])
}

fn strength(sem: usize, ordered: &str) -> String {
    match sem {
        0 => ".weak".into(),
        1 => ".relaxed.gpu".into(),
        2 => format!(".{ordered}.gpu"),
        _ => format!(".{ordered}.cta"),
    }
}

fn word() -> impl Strategy<Value = usize> + Clone {
    prop_oneof![3 => Just(0usize), 2 => Just(1), 2 => Just(2)]
}

fn value() -> impl Strategy<Value = u8> + Clone {
    prop_oneof![8 => Just(1u8), 1 => Just(2), 1 => Just(0)]
}

fn strong() -> impl Strategy<Value = usize> + Clone {
    prop_oneof![1 => Just(0usize), 4 => Just(1), 4 => Just(2), 2 => Just(3)]
}

fn seldom(n: u32) -> impl Strategy<Value = bool> + Clone {
    prop_oneof![n => Just(false), 1 => Just(true)]
}

fn store() -> BoxedStrategy<LoopStep> {
    let sem = prop_oneof![2 => Just(0usize), 4 => Just(1), 5 => Just(2), 1 => Just(3)];
    (word(), sem, value()).prop_map(|(word, sem, value)| LoopStep::Store { word, sem, value }).boxed()
}

/// What needs no loop.
fn plain() -> BoxedStrategy<LoopStep> {
    let then = prop_oneof![
        3 => Just(Use::Nothing), 2 => Just(Use::Stored), 1 => (0u8..2).prop_map(Use::Asserted)
    ];
    prop_oneof![
        8 => store(),
        3 => (word(), 0usize..3, then).prop_map(|(word, sem, then)| LoopStep::Load { word, sem, then }),
        1 => (word(), value()).prop_map(|(word, value)| LoopStep::Exchange { word, value }),
        1 => word().prop_map(|word| LoopStep::Add { word }),
        1 => (0usize..4).prop_map(|sem| LoopStep::Fence { sem }),
        2 => Just(LoopStep::Arrive),
        1 => Just(LoopStep::Bar),
        1 => Just(LoopStep::Unlock),
    ]
    .boxed()
}

fn branch(then: impl Strategy<Value = Vec<LoopStep>> + 'static) -> BoxedStrategy<LoopStep> {
    (word(), strong(), value(), then, seldom(2))
        .prop_map(|(word, sem, value, then, exits)| LoopStep::If { word, sem, value, then, exits })
        .boxed()
}

/// A wait with these in its body.
fn wait(body: BoxedStrategy<LoopStep>) -> BoxedStrategy<LoopStep> {
    let form = prop_oneof![
        2 => Just(Form::Await),
        3 => Just(Form::While),
        6 => Just(Form::Loop),
        2 => Just(Form::Two),
        3 => any::<bool>().prop_map(|is_for| Form::Scan { is_for }),
        2 => Just(Form::Cache),
        2 => Just(Form::Toggle),
        1 => Just(Form::Counter),
        2 => any::<bool>().prop_map(|is_for| Form::Poll { is_for }),
        1 => Just(Form::Tally),
        1 => Just(Form::Search),
        2 => Just(Form::Swap),
        2 => any::<bool>().prop_map(|is_await| Form::Exchange { is_await }),
        3 => (any::<bool>(), prop_oneof![5 => Just(0u8), 1 => Just(1)])
            .prop_map(|(is_await, parity)| Form::Phase { is_await, parity }),
        1 => Just(Form::Function),
    ];
    let some = || prop_oneof![3 => Just(Vec::new()), 2 => vec(body.clone(), 1)];
    let leaving = prop_oneof![
        3 => Just(Vec::new()), 1 => vec(plain(), 1), 1 => Just(vec![LoopStep::Unlock])
    ];
    (form, word(), strong(), value(), some(), some(), leaving, seldom(3))
        .prop_map(|(form, word, sem, value, before, after, leaving, exits)| {
            // What nobody can write is waited for seldom enough already.
            let value = value.max(1);
            LoopStep::Wait(Wait { form, word, sem, value, before, after, leaving, exits })
        })
        .boxed()
}

/// Kernels of 2 or 3 threads, of at most `size_max` instructions, those in loops counted twice.
pub fn loop_sketches(size_max: usize) -> impl Strategy<Value = LoopSketch> {
    let inner = wait(plain());
    let body = prop_oneof![
        4 => (word(), 0usize..2).prop_map(|(word, sem)| LoopStep::Load { word, sem, then: Use::Nothing }),
        3 => plain(),
        4 => inner,
        3 => branch(vec(prop_oneof![2 => wait(plain()), 1 => plain()], 0..=1)),
    ]
    .boxed();
    let step = prop_oneof![
        5 => plain(),
        5 => wait(body),
        1 => branch(vec(prop_oneof![1 => wait(plain()), 1 => plain()], 1)),
    ]
    .boxed();
    let stores = vec(prop_oneof![3 => store(), 3 => plain(), 1 => step.clone()], 2..=4);
    let threads = prop_oneof![
        8 => story(),
        4 => (stores, vec(step.clone(), 1..=2)).prop_map(|(one, other)| vec![one, other]),
        2 => vec(vec(step.clone(), 1..=3), 2),
        2 => vec(vec(step, 1..=2), 3),
    ];
    threads.prop_map(|threads| LoopSketch { threads }).prop_filter(
        "small programs that wait only",
        move |sketch| {
            let size = sketch.size();
            size <= size_max && sketch.waits()
        },
    )
}

impl LoopSketch {
    fn waits(&self) -> bool {
        fn waits(step: &LoopStep) -> bool {
            match step {
                LoopStep::Wait(_) => true,
                LoopStep::If { then, .. } => then.iter().any(waits),
                _ => false,
            }
        }
        self.threads.iter().flatten().any(waits)
    }
}
