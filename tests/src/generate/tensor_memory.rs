//! Small random kernels of `tcgen05`, as text: the hand-overs of the ISA's section on tensor memory (AS-32), with and
//! without one of their steps, between two or three warps.
//!
//! An mbarrier expects as many arrivals as the program has on it. What a load brings is stored to a result word at the end
//! of its thread; products are never looked into.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::fmt::Write;

/// A kernel to be: what its threads do, each alone in its warp.
#[derive(Clone, Debug)]
pub struct TensorSketch {
    /// Steps by thread.
    pub threads: Vec<Vec<TensorStep>>,
    /// An arrival more than the program has is expected of `m`.
    pub is_short: bool,
    /// Which part of its object each operand names, in turn, where objects are arrays of two elements: all of it, or one. Empty
    /// where they are scalars.
    pub parts: Vec<Part>,
}

/// A part of an array of two elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The name without an index.
    All,
    /// With one.
    Element(usize),
}

/// A step of a thread. Tensor memory `t` is `acc` or `other`, mbarrier `b` is `m` or `n`, flag `f` is `x` or `y`.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum TensorStep {
    Multiply { to: usize, from: Operand, other_kind: bool, adds: bool },
    Copy { to: usize },
    Load { from: usize, looks: bool },
    Look,
    Store { to: usize, value: u8 },
    Commit { b: usize },
    WaitLoads,
    WaitStores,
    Before,
    After,
    Arrive { b: usize, is_relaxed: bool },
    Await { b: usize, is_relaxed: bool },
    Test { b: usize },
    Bar,
    Raise { f: usize },
    AwaitFlag { f: usize, acquires: bool },
    ReadFlag { f: usize },
    IfSet,
    PassOn { f: usize },
    AcquireFence,
    Write { value: u8 },
    Read,
    ProxyFence,
    Allocate,
    ReadSlot,
    Free { t: usize, columns: u32 },
    Relinquish,
}

/// The first factor of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// In shared memory.
    Shared,
    /// In tensor memory.
    Tensor(usize),
}

const TENSORS: [&str; 2] = ["acc", "other"];
const MBARRIERS: [&str; 2] = ["m", "n"];
const FLAGS: [&str; 2] = ["x", "y"];

impl TensorSketch {
    /// The kernel without its closing brace.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    pub fn text(&self) -> String {
        let mut results = Vec::new();
        let mut body = String::new();
        for (thread, steps) in self.threads.iter().enumerate() {
            let _ = writeln!(body, "    if warpid == {thread} {{");
            print_thread(steps, &mut body, &mut results);
            body.push_str("    }\n");
        }
        let is_wide = !self.parts.is_empty();
        if is_wide {
            body = widened(&body, &self.parts);
        }
        let n = self.threads.len();
        let mut text = "//! target sm_100a ptx 9.4\n".to_owned();
        let _ = write!(text, "kernel k {{\n    launch {{ warps: {n} }}\n    global x: u32 = 0;\n");
        for (mark, declaration) in [
            ("[y]", "    global y: u32 = 0;\n"),
            ("[a", "    shared a: u32 = 3;\n"),
            ("[b]", "    shared b: u32 = 1;\n"),
            ("[acc", "    tmem acc: u32;\n"),
            ("[other", "    tmem other: u32;\n"),
            ("[slot]", "    shared slot: u32 = 0;\n"),
            (" r,", "    register r: u32;\n"),
            (" r;", "    register r: u32;\n"),
            (" r[", "    register r: u32;\n"),
            ("[m]", "    shared m: mbarrier;\n"),
            ("[n]", "    shared n: mbarrier;\n"),
        ] {
            let mut declaration = declaration.to_owned();
            for name in ["a", "acc", "other", "r"].iter().filter(|_| is_wide) {
                declaration = declaration.replace(&format!(" {name}: u32"), &format!(" {name}[2]: u32"));
            }
            if body.contains(mark) && !text.contains(&declaration) {
                text.push_str(&declaration);
            }
        }
        for result in &results {
            let _ = writeln!(text, "    global {result}: u32 = 0;");
        }
        let mut initialises = String::new();
        for mbarrier in MBARRIERS.iter().filter(|name| body.contains(&format!("[{name}]"))) {
            let arrives = |line: &&str| {
                let is_arrival = line.contains("mbarrier.arrive") || line.contains("arrive::one");
                is_arrival && line.contains(&format!("[{mbarrier}]"))
            };
            let n = body.lines().filter(arrives).count() + usize::from(self.is_short && *mbarrier == "m");
            let _ =
                writeln!(initialises, "        mbarrier.init.shared::cta.b64 [{mbarrier}], {};", n.max(1));
        }
        if !initialises.is_empty() {
            let _ = write!(text, "    if warpid == 0 {{\n{initialises}    }}\n    bar.sync 1;\n");
        }
        text + &body
    }
}

/// The same of objects that are arrays. Both ends of a copy or a load are the same part, and a store has a value for each
/// element; what accesses one element takes the first where all are meant.
fn widened(body: &str, parts: &[Part]) -> String {
    let mut next = parts.iter().copied().cycle();
    let mut wide = String::new();
    for line in body.lines() {
        let is_alike = line.contains("tcgen05.cp") || line.contains("tcgen05.ld");
        let is_access = ["= mov.", "= ld.", "st.weak"].iter().any(|access| line.contains(access));
        let mut line = line.to_owned();
        let mut common = None;
        for name in ["[acc]", "[other]", "[a]", " r,", " r;"] {
            if !line.contains(name) {
                continue;
            }
            let part = common.unwrap_or_else(|| next.next().unwrap_or(Part::All));
            if is_alike {
                common = Some(part);
            }
            let index = match part {
                Part::All if is_access => 0,
                Part::All => {
                    if let Some((store, value)) =
                        line.strip_suffix(';').and_then(|line| line.split_once("], "))
                        && line.contains("tcgen05.st")
                    {
                        line = format!("{store}], {{{value}, {value}}};");
                    }
                    continue;
                }
                Part::Element(index) => index,
            };
            let object = name.trim_matches(['[', ']', ' ', ',', ';']);
            line = line.replacen(name, &name.replace(object, &format!("{object}[{index}]")), 1);
        }
        let _ = writeln!(wide, "{line}");
    }
    wide
}

/// Steps that need something before them that is not there are left out.
fn print_thread(steps: &[TensorStep], body: &mut String, results: &mut Vec<String>) {
    let (mut flag, mut n_open, mut own) = (None, 0, Vec::new());
    for &step in steps {
        let mut line = match step {
            TensorStep::Look | TensorStep::Load { looks: true, .. } => {
                let register = format!("r{}", results.len() + own.len());
                own.push(register.clone());
                format!("let {register} = mov.b32 r;")
            }
            TensorStep::Read | TensorStep::ReadSlot => {
                let register = format!("r{}", results.len() + own.len());
                own.push(register.clone());
                let from = if matches!(step, TensorStep::Read) { "a" } else { "slot" };
                format!("let {register} = ld.weak.u32 [{from}];")
            }
            TensorStep::ReadFlag { f } => {
                let register = format!("f{}", body.len());
                flag = Some(register.clone());
                format!("let {register} = ld.relaxed.cta.u32 [{}];", FLAGS[f])
            }
            TensorStep::Test { b } => {
                let register = format!("f{}", body.len());
                flag = Some(register.clone());
                format!(
                    "let {register} = mbarrier.test_wait.parity.relaxed.cta.shared::cta.b64 [{}], 0;",
                    MBARRIERS[b]
                )
            }
            TensorStep::IfSet => {
                let Some(register) = &flag else { continue };
                n_open += 1;
                format!("if {register} == 1 {{")
            }
            TensorStep::PassOn { f } => match &flag {
                Some(register) if !is_test(body, register) => {
                    format!("st.relaxed.cta.u32 [{}], {register};", FLAGS[f])
                }
                _ => format!("st.relaxed.cta.u32 [{}], 1;", FLAGS[f]),
            },
            other => other.instruction(),
        };
        if let TensorStep::Load { looks: true, .. } = step {
            line = format!("{}\n        tcgen05.wait::ld.sync.aligned;\n        {line}", step.instruction());
        }
        let _ = writeln!(body, "        {line}");
    }
    for result in own {
        let _ = writeln!(body, "        st.weak.u32 [out_{result}], {result};");
        results.push(format!("out_{result}"));
    }
    for _ in 0..n_open {
        body.push_str("        }\n");
    }
}

fn is_test(body: &str, register: &str) -> bool {
    body.contains(&format!("let {register} = mbarrier"))
}

impl TensorStep {
    /// Its instruction, if that depends on nothing else.
    fn instruction(self) -> String {
        match self {
            Self::Multiply { to, from, other_kind, adds } => {
                let kind = if other_kind { "tf32" } else { "f16" };
                let from = match from {
                    Operand::Shared => "a",
                    Operand::Tensor(t) => TENSORS[t],
                };
                let to = TENSORS[to];
                format!("tcgen05.mma.cta_group::1.kind::{kind} [{to}], [{from}], [b], {};", u8::from(adds))
            }
            Self::Copy { to } => format!("tcgen05.cp.cta_group::1.128x256b [{}], [a];", TENSORS[to]),
            Self::Load { from, .. } => {
                format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 r, [{}];", TENSORS[from])
            }
            Self::Store { to, value } => {
                format!("tcgen05.st.sync.aligned.32x32b.x1.b32 [{}], {value};", TENSORS[to])
            }
            Self::Commit { b } => format!(
                "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [{}];",
                MBARRIERS[b]
            ),
            Self::WaitLoads => "tcgen05.wait::ld.sync.aligned;".to_owned(),
            Self::WaitStores => "tcgen05.wait::st.sync.aligned;".to_owned(),
            Self::Before => "tcgen05.fence::before_thread_sync;".to_owned(),
            Self::After => "tcgen05.fence::after_thread_sync;".to_owned(),
            Self::Arrive { b, is_relaxed } => {
                let sem = if is_relaxed { "relaxed" } else { "release" };
                format!("mbarrier.arrive.{sem}.cta.shared::cta.b64 _, [{}];", MBARRIERS[b])
            }
            Self::Await { b, is_relaxed } => {
                let sem = if is_relaxed { "relaxed" } else { "acquire" };
                let b = MBARRIERS[b];
                format!("await mbarrier.try_wait.parity.{sem}.cta.shared::cta.b64 [{b}], 0;")
            }
            Self::Bar => "bar.sync 0;".to_owned(),
            Self::Raise { f } => format!("st.relaxed.cta.u32 [{}], 1;", FLAGS[f]),
            Self::AwaitFlag { f, acquires } => {
                let sem = if acquires { "acquire" } else { "relaxed" };
                format!("await (ld.{sem}.cta.u32 [{}]) == 1;", FLAGS[f])
            }
            Self::AcquireFence => "fence.acquire.cta;".to_owned(),
            Self::Write { value } => format!("st.weak.u32 [a], {value};"),
            Self::ProxyFence => "fence.proxy.async.shared::cta;".to_owned(),
            Self::Allocate => {
                "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;".to_owned()
            }
            Self::Free { t, columns } => {
                format!("tcgen05.dealloc.cta_group::1.sync.aligned.b32 [{}], {columns};", TENSORS[t])
            }
            Self::Relinquish => "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;".to_owned(),
            Self::Look
            | Self::Read
            | Self::ReadSlot
            | Self::ReadFlag { .. }
            | Self::Test { .. }
            | Self::IfSet
            | Self::PassOn { .. } => unreachable!("printed with what its thread has read"),
        }
    }

    /// Events.
    fn size(self) -> usize {
        match self {
            Self::Multiply { .. } => 5,
            Self::Copy { .. } | Self::Commit { .. } => 3,
            Self::Load { looks: true, .. } => 6,
            Self::Load { .. } => 3,
            Self::Store { .. } | Self::Bar | Self::Allocate | Self::Read | Self::ReadSlot | Self::Look => 2,
            _ => 1,
        }
    }
}

fn seldom() -> impl Strategy<Value = bool> {
    prop_oneof![4 => Just(false), 1 => Just(true)]
}

fn often() -> impl Strategy<Value = bool> {
    prop_oneof![1 => Just(false), 4 => Just(true)]
}

/// Of two, mostly the first.
fn first() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0usize), 1 => Just(1)]
}

fn multiply() -> impl Strategy<Value = TensorStep> {
    let from =
        prop_oneof![4 => Just(Operand::Shared), 1 => Just(Operand::Tensor(1)), 1 => Just(Operand::Tensor(0))];
    (first(), from, seldom(), any::<bool>()).prop_map(|(to, from, other_kind, adds)| TensorStep::Multiply {
        to,
        from,
        other_kind,
        adds,
    })
}

/// How a thread tells others: what comes before, and how to say it.
fn release() -> BoxedStrategy<Vec<TensorStep>> {
    use TensorStep::{Arrive, Bar, PassOn, Raise};
    prop_oneof![
        4 => (first(), often()).prop_map(|(b, is_relaxed)| vec![Arrive { b, is_relaxed }]),
        1 => Just(vec![Bar]),
        1 => (0usize..2).prop_map(|f| vec![Raise { f }]),
        1 => (0usize..2).prop_map(|f| vec![PassOn { f }]),
    ]
    .boxed()
}

/// How it is told.
fn acquire() -> BoxedStrategy<Vec<TensorStep>> {
    use TensorStep::{AcquireFence, Await, AwaitFlag, Bar, IfSet, ReadFlag, Test};
    prop_oneof![
        6 => (first(), often()).prop_map(|(b, is_relaxed)| vec![Await { b, is_relaxed }]),
        1 => Just(vec![Bar]),
        1 => (0usize..2, seldom()).prop_map(|(f, acquires)| vec![AwaitFlag { f, acquires }]),
        1 => (0usize..2).prop_map(|f| vec![ReadFlag { f }, IfSet]),
        1 => (0usize..2).prop_map(|f| vec![ReadFlag { f }]),
        1 => (0usize..2).prop_map(|f| vec![ReadFlag { f }, AcquireFence]),
        1 => first().prop_map(|b| vec![Test { b }, IfSet]),
    ]
    .boxed()
}

/// An operation, and how its thread knows of its end.
fn operation() -> BoxedStrategy<Vec<TensorStep>> {
    use TensorStep::{Commit, Copy, Load, Store, WaitLoads, WaitStores};
    let store = || (first(), 5u8..8).prop_map(|(to, value)| Store { to, value });
    prop_oneof![
        4 => (multiply(), first()).prop_map(|(a, b)| vec![a, Commit { b }]),
        2 => (first(), first()).prop_map(|(to, b)| vec![Copy { to }, Commit { b }]),
        2 => (first(), multiply(), first()).prop_map(|(to, c, b)| vec![Copy { to }, c, Commit { b }]),
        1 => (multiply(), multiply(), first()).prop_map(|(c, d, b)| vec![c, d, Commit { b }]),
        3 => (store(), multiply(), first()).prop_map(|(s, c, b)| vec![s, WaitStores, c, Commit { b }]),
        3 => store().prop_map(|s| vec![s, WaitStores]),
        3 => first().prop_map(|from| vec![Load { from, looks: true }]),
        1 => first().prop_map(|from| vec![Load { from, looks: false }, WaitLoads]),
        1 => first().prop_map(|to| vec![Copy { to }]),
        1 => multiply().prop_map(|a| vec![a]),
    ]
    .boxed()
}

fn phrase() -> BoxedStrategy<Vec<TensorStep>> {
    use TensorStep::{After, Allocate, Before, Free, Look, ProxyFence, Read, ReadSlot, Relinquish, Write};
    let columns = || prop_oneof![6 => Just(32u32), 1 => Just(64)];
    let free = move || (first(), columns()).prop_map(|(t, columns)| Free { t, columns });
    prop_oneof![
        8 => operation(),
        8 => (operation(), release()).prop_map(|(a, b)| [a, vec![Before], b].concat()),
        10 => (acquire(), operation()).prop_map(|(a, b)| [a, vec![After], b].concat()),
        3 => (acquire(), operation(), release())
            .prop_map(|(a, b, c)| [a, vec![After], b, vec![Before], c].concat()),
        2 => (acquire(), release()).prop_map(|(a, b)| [a, b].concat()),
        2 => (acquire(), 4u8..6).prop_map(|(a, value)| [a, vec![Write { value }]].concat()),
        2 => (4u8..6, operation()).prop_map(|(value, a)| [vec![Write { value }, ProxyFence], a].concat()),
        2 => acquire().prop_map(|a| [a, vec![Read]].concat()),
        1 => (acquire(), free()).prop_map(|(a, b)| [a, vec![b]].concat()),
        1 => (release(), free()).prop_map(|(a, b)| [vec![Allocate], a, vec![b]].concat()),
        1 => (operation(), free()).prop_map(|(a, b)| [vec![Allocate, Relinquish], a, vec![b]].concat()),
        1 => acquire().prop_map(|a| [a, vec![ReadSlot]].concat()),
        2 => acquire().prop_map(|a| [a, vec![Relinquish]].concat()),
        1 => (free(), any::<bool>()).prop_map(|(free, late)| {
            if late { vec![Relinquish, Allocate, free] } else { vec![Allocate, Relinquish, free] }
        }),
        1 => acquire(),
        1 => release(),
        1 => Just(vec![Look]),
    ]
    .boxed()
}

/// Something that one thread tells and another hears.
#[derive(Clone, Copy, Debug)]
enum Channel {
    Mbarrier(usize),
    Flag(usize),
    Bar,
}

impl Channel {
    fn tell(self, variant: usize) -> Vec<TensorStep> {
        match self {
            Self::Mbarrier(b) => vec![TensorStep::Arrive { b, is_relaxed: variant != 0 }],
            Self::Flag(f) if variant <= 1 => vec![TensorStep::PassOn { f }],
            Self::Flag(f) => vec![TensorStep::Raise { f }],
            Self::Bar => vec![TensorStep::Bar],
        }
    }
    fn hear(self, variant: usize) -> Vec<TensorStep> {
        use TensorStep::{AcquireFence, Await, AwaitFlag, Bar, IfSet, ReadFlag, Test};
        match (self, variant) {
            (Self::Mbarrier(b), 0) => vec![Test { b }, IfSet],
            (Self::Mbarrier(b), _) => vec![Await { b, is_relaxed: variant != 1 }],
            (Self::Flag(f), 0) => vec![ReadFlag { f }, IfSet],
            (Self::Flag(f), 1) => vec![ReadFlag { f }],
            (Self::Flag(f), 2) => vec![ReadFlag { f }, AcquireFence],
            (Self::Flag(f), _) => vec![AwaitFlag { f, acquires: false }],
            (Self::Bar, _) => vec![Bar],
        }
    }
}

/// An operation of the first thread and one of the last, and what leads from the one to the other.
fn chain() -> BoxedStrategy<Vec<Vec<TensorStep>>> {
    use TensorStep::{After, Before};
    let channels = prop_oneof![
        3 => Just((Channel::Flag(0), Channel::Flag(1))),
        1 => Just((Channel::Mbarrier(0), Channel::Mbarrier(1))),
        1 => Just((Channel::Flag(0), Channel::Mbarrier(0))),
        1 => Just((Channel::Mbarrier(0), Channel::Flag(0))),
        1 => Just((Channel::Bar, Channel::Flag(0))),
    ];
    let middle = prop_oneof![
        2 => Just(Vec::new()),
        2 => operation().prop_map(|steps| [vec![After], steps, vec![Before]].concat()),
    ];
    let variants = (2usize..4, 0usize..4, 0usize..4, 0usize..4);
    let ends = (operation(), operation());
    (channels, variants, ends, middle, any::<bool>())
        .prop_map(|((one, two), (a, b, c, d), (first, last), middle, is_short)| {
            let first = [first, vec![Before], one.tell(a)].concat();
            let then = [vec![After], last].concat();
            match is_short {
                true => vec![first, [one.hear(b), then].concat()],
                false => {
                    vec![first, [one.hear(b), middle, two.tell(c)].concat(), [two.hear(d), then].concat()]
                }
            }
        })
        .boxed()
}

/// Without one of its steps, seldom two.
fn cut(steps: &mut Vec<TensorStep>, missing: &[usize]) {
    for &at in missing {
        if steps.len() > 1 {
            steps.remove(at % steps.len());
        }
    }
}

/// Kernels of 2 or 3 threads, with at least one operation and at most so many events of the threads.
pub fn tensor_sketches(n_events_max: usize) -> impl Strategy<Value = TensorSketch> {
    let missing = || prop_oneof![2 => Just(Vec::new()), 1 => vec(0usize..8, 1..=1)];
    let phrases = || {
        (phrase(), missing()).prop_map(|(mut steps, missing)| {
            cut(&mut steps, &missing);
            steps
        })
    };
    let threads = move |n: usize, longest: usize| {
        let thread = vec(phrases(), 1..=longest).prop_map(|phrases| phrases.concat());
        vec(thread, n).boxed()
    };
    let chains = (chain(), 0usize..3, missing()).prop_map(|(mut threads, thread, missing)| {
        let n = threads.len();
        cut(&mut threads[thread % n], &missing);
        threads
    });
    let shaped = prop_oneof![3 => threads(2, 2), 2 => threads(3, 1), 1 => threads(2, 3), 3 => chains];
    let is_short = prop_oneof![20 => Just(false), 1 => Just(true)];
    let part = prop_oneof![3 => Just(Part::All), 2 => Just(Part::Element(1)), 1 => Just(Part::Element(0))];
    let parts = prop_oneof![3 => Just(Vec::new()), 2 => vec(part, 1..8)];
    (shaped, is_short, parts).prop_filter_map(
        "small programs with operations on tensor memory only",
        move |(threads, is_short, parts)| {
            let steps = || threads.iter().flatten();
            let is_operation = |step: &TensorStep| {
                use TensorStep::{Copy, Load, Multiply, Store};
                matches!(step, Multiply { .. } | Copy { .. } | Load { .. } | Store { .. })
            };
            let n_operations = steps().filter(|step| is_operation(step)).count();
            // Arrays have more events, but not twice as many where there are parts.
            let n_events: usize = steps().map(|step| step.size()).sum();
            let n_events = if parts.is_empty() { n_events } else { n_events * 3 / 2 };
            let is_small = n_events <= n_events_max && (2..=4).contains(&n_operations);
            is_small.then_some(TensorSketch { threads, is_short, parts })
        },
    )
}
