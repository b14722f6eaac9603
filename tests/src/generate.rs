//! Small random kernels, as text: a few threads at chosen places, a few memory instructions each.
//!
//! Every value read is stored to a result word of its own at the end of its block, so that final memory tells everything
//! that was seen. Proptest shrinks the description, hence failures come out minimal.

pub mod asynchronous;
pub mod loops;
pub mod matrix;
pub mod multimem;
pub mod synchronization;
pub mod tensor_memory;

use fencepost_dsl::vocabulary::Proxy;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::fmt::Write;

/// A kernel to be.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Where the threads are.
    pub placement: Placement,
    /// What memory looks like.
    pub flavour: Flavour,
    /// What the threads do.
    pub threads: Vec<Vec<Step>>,
}

/// How threads are placed: each is alone with its coordinate, or two share a CTA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "named for what differs between the threads")]
pub enum Placement {
    Lanes,
    Warps,
    Ctas,
    Clusters,
    Gpus,
    /// Threads 0 and 1 in CTA 0, threads 2 and 3 in CTA 1.
    Pairs,
    /// Threads 0 and 1 in cluster 0, threads 2 and 3 in cluster 1.
    ClusterPairs,
}

/// What memory looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Words `x`, `y`, `z` in global memory.
    Plain,
    /// `z` in shared memory, one per CTA.
    Shared,
    /// The third word is another address of `x`.
    Alias,
    /// The third word is the lower half of `x`, the fourth the upper half.
    Halves,
    /// The third word is a surface over `x`, the fourth a texture over it.
    Proxies,
    /// The third word is another address of `x`, the fourth a surface over that.
    AliasProxies,
}

/// A step of a thread.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum Step {
    Load {
        place: usize,
        sem: usize,
        scope: usize,
    },
    Store {
        place: usize,
        sem: usize,
        scope: usize,
        value: u8,
    },
    /// Stores the last value read, plus one if `add`.
    Forward {
        place: usize,
        sem: usize,
        scope: usize,
        add: bool,
    },
    Atomic {
        place: usize,
        sem: usize,
        scope: usize,
        op: usize,
        sink: bool,
    },
    Reduction {
        place: usize,
        sem: usize,
        scope: usize,
    },
    Fence {
        sem: usize,
        scope: usize,
    },
    /// Of `PROXY_FENCES`.
    ProxyFence {
        kind: usize,
    },
    Barrier {
        id: u8,
    },
    WarpBarrier,
    Await {
        place: usize,
        sem: usize,
        scope: usize,
        value: u8,
        swap: bool,
    },
    /// Ends the thread if the last value read is `value`; what it read so far is then not stored.
    Exit {
        value: u8,
    },
    /// Runs a step if the last value read is `value`.
    If {
        value: u8,
        then: Box<Step>,
    },
}

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];
const FENCES: [&str; 5] = ["sc", "acq_rel", "acquire", "release", "membar"];
const ATOMICS: [&str; 5] = ["add", "exch", "cas", "inc", "max"];
const ATOMIC_SEMS: [&str; 4] = ["relaxed", "acquire", "release", "acq_rel"];

impl Sketch {
    /// The kernel's text without the closing brace, so that a `final` block can follow.
    pub fn text(&self) -> String {
        let n_threads = self.threads.len();
        let mut printer =
            Printer { flavour: self.flavour, body: String::new(), results: Vec::new(), n_registers: 0 };
        for (thread, steps) in self.threads.iter().enumerate() {
            let _ = writeln!(printer.body, "    if {} {{", self.placement.condition(thread, n_threads));
            printer.steps(steps);
            printer.body.push_str("    }\n");
        }
        let header = if printer.body.contains("fence.proxy.") { "//! target formal\n" } else { "" };
        let launch = self.placement.launch(n_threads);
        let mut text = format!("{header}kernel k {{\n    launch {{ {launch} }}\n");
        for place in 0..4 {
            let name = self.flavour.name(place);
            // Views that nobody uses would only make the grain finer; but a surface over an alias needs the alias.
            let is_needed = self.flavour == Flavour::AliasProxies && place == 2;
            if place == 0 || is_needed || printer.body.contains(&format!("[{name}]")) {
                text.push_str(self.flavour.declaration(place));
            }
        }
        for result in &printer.results {
            let _ = writeln!(text, "    global {result}: u32 = 0;");
        }
        text + &printer.body
    }

    /// Memory instructions in all.
    pub fn n_memory(&self) -> usize {
        self.threads.iter().flatten().filter(|step| step.is_memory()).count()
    }
}

impl Step {
    fn is_memory(&self) -> bool {
        match self {
            Self::Fence { .. }
            | Self::ProxyFence { .. }
            | Self::Barrier { .. }
            | Self::WarpBarrier
            | Self::Exit { .. } => false,
            Self::If { then, .. } => then.is_memory(),
            _ => true,
        }
    }
}

impl Placement {
    fn launch(self, n: usize) -> String {
        match self {
            Self::Lanes => format!("lanes: {n}"),
            Self::Warps => format!("warps: {n}"),
            Self::Ctas => format!("ctas: {n}, cluster: {n}"),
            Self::Clusters => format!("ctas: {n}"),
            Self::Gpus => format!("gpus: {n}"),
            Self::Pairs => "ctas: 2, cluster: 2, warps: 2".into(),
            Self::ClusterPairs => "ctas: 4, cluster: 2".into(),
        }
    }
    fn condition(self, thread: usize, _n: usize) -> String {
        let (first, second) = (thread / 2, thread % 2);
        match self {
            Self::Lanes | Self::Warps => format!("tid == {thread}"),
            Self::Ctas => format!("ctaid == {thread}"),
            Self::Clusters => format!("clusterid == {thread}"),
            Self::Gpus => format!("gpuid == {thread}"),
            Self::Pairs => format!("ctaid == {first} && tid == {second}"),
            Self::ClusterPairs => format!("clusterid == {first} && cluster_ctarank == {second}"),
        }
    }
}

impl Flavour {
    fn name(self, place: usize) -> &'static str {
        match (self, place) {
            (_, 0) => "x",
            (Self::Halves, 2) => "low",
            (Self::Halves, 3) => "high",
            (Self::Alias | Self::AliasProxies, 2) => "other_x",
            (Self::Proxies, 2) | (Self::AliasProxies, 3) => "s",
            (Self::Proxies, 3) => "t",
            (_, 1) => "y",
            _ => "z",
        }
    }
    fn declaration(self, place: usize) -> &'static str {
        match (self, place) {
            (_, 0) => "    global x: u32 = 0;\n",
            (_, 1) => "    global y: u32 = 0;\n",
            (Self::Plain, 2) | (Self::Alias, 3) => "    global z: u32 = 0;\n",
            (Self::Shared, 2) => "    shared z: u32 = 0;\n",
            (Self::Alias | Self::AliasProxies, 2) => "    global other_x: u32 alias x;\n",
            (Self::Proxies, 2) => "    surface s: u32 alias x;\n",
            (Self::Proxies, 3) => "    texture t: u32 alias x;\n",
            (Self::AliasProxies, 3) => "    surface s: u32 alias other_x;\n",
            (Self::Halves, 2) => "    view low: u16 of x;\n",
            (Self::Halves, 3) => "    view high: u16 of x + 2;\n",
            _ => "",
        }
    }
    /// 32 bits wide, as atomics need it.
    fn word(self, place: usize) -> &'static str {
        let is_plain = !self.is_half(place) && self.proxy(place) == Proxy::Generic;
        if is_plain { self.name(place) } else { "x" }
    }
    /// The proxy fences that can make a difference.
    fn proxy_fences(self) -> &'static [&'static str] {
        match self {
            Self::Proxies => &["surface", "texture", "surface", "alias"],
            Self::AliasProxies => &["surface", "alias", "surface", "alias", "generic"],
            _ => &["alias"],
        }
    }
    /// How that place is accessed.
    fn proxy(self, place: usize) -> Proxy {
        match (self, place) {
            (Self::Proxies, 2) | (Self::AliasProxies, 3) => Proxy::Surface,
            (Self::Proxies, 3) => Proxy::Texture,
            _ => Proxy::Generic,
        }
    }
    fn is_half(self, place: usize) -> bool {
        self == Self::Halves && place >= 2
    }
    /// Spreads a value over both halves where halves are told apart.
    fn value(self, place: usize, value: u8) -> String {
        let value = u32::from(value);
        if self == Self::Halves && place == 0 { format!("{}", value * 0x1_0001) } else { format!("{value}") }
    }
}

struct Printer {
    flavour: Flavour,
    body: String,
    results: Vec<String>,
    n_registers: usize,
}

impl Printer {
    /// Prints a block: its steps, then a store of each value it read.
    fn steps(&mut self, steps: &[Step]) {
        let mut reads: Vec<(String, bool)> = Vec::new();
        for step in steps {
            self.step(step, &mut reads);
        }
        for (register, is_half) in reads {
            let result = format!("out_{register}");
            let convert = if is_half { " as u32" } else { "" };
            let _ = writeln!(self.body, "        st.weak [{result}], {register}{convert};");
            self.results.push(result);
        }
    }

    fn register(&mut self, is_half: bool, reads: &mut Vec<(String, bool)>) -> String {
        let register = format!("r{}", self.n_registers);
        self.n_registers += 1;
        reads.push((register.clone(), is_half));
        register
    }

    fn step(&mut self, step: &Step, reads: &mut Vec<(String, bool)>) {
        let line = match step {
            Step::Load { place, sem, scope } => {
                let is_half = self.flavour.is_half(*place);
                let register = self.register(is_half, reads);
                let name = self.flavour.name(*place);
                match self.flavour.proxy(*place) {
                    Proxy::Texture => format!("let {register} = tex.1d.u32 [{name}];"),
                    Proxy::Surface => format!("let {register} = suld.b.1d.b32 [{name}];"),
                    _ => format!("let {register} = ld{} [{name}];", load(*sem, *scope)),
                }
            }
            Step::Store { place, sem, scope, value } => {
                let value = self.flavour.value(*place, *value);
                let name = self.flavour.name(*place);
                match self.flavour.proxy(*place) {
                    Proxy::Surface => format!("sust.b.1d.b32 [{name}], {value};"),
                    // A texture is only read.
                    Proxy::Texture => format!("st{} [x], {value};", store(*sem, *scope)),
                    _ => format!("st{} [{name}], {value};", store(*sem, *scope)),
                }
            }
            Step::Forward { place, sem, scope, add } => {
                let Some((register, was_half)) = reads.last() else { return };
                let convert = match (was_half, self.flavour.is_half(*place)) {
                    (true, false) => " as u32",
                    (false, true) => " as u16",
                    _ => "",
                };
                let add = if *add { " + 1" } else { "" };
                let name = self.flavour.name(*place);
                match self.flavour.proxy(*place) {
                    Proxy::Surface => format!("sust.b.1d.b32 [{name}], ({register}{convert}){add};"),
                    Proxy::Texture => format!("st{} [x], ({register}{convert}){add};", store(*sem, *scope)),
                    _ => format!("st{} [{name}], ({register}{convert}){add};", store(*sem, *scope)),
                }
            }
            Step::Atomic { place, sem, scope, op, sink } => {
                let name = self.flavour.word(*place);
                let register = if *sink { "_".into() } else { self.register(false, reads) };
                let operands = ["1", "4", "0, 5", "3", "1"][*op];
                let (sem, scope) = (ATOMIC_SEMS[*sem % 4], SCOPES[*scope]);
                let kind = if ["exch", "cas"].contains(&ATOMICS[*op]) { "b32" } else { "u32" };
                format!("let {register} = atom.{sem}.{scope}.{}.{kind} [{name}], {operands};", ATOMICS[*op])
            }
            Step::Reduction { place, sem, scope } => {
                let sem = ["relaxed", "release"][*sem % 2];
                match self.flavour.proxy(*place) {
                    Proxy::Surface => format!("sured.b.add.1d.u32 [{}], 1;", self.flavour.name(*place)),
                    _ => format!("red.{sem}.{}.add.u32 [{}], 1;", SCOPES[*scope], self.flavour.word(*place)),
                }
            }
            Step::Fence { sem, scope } => match FENCES[*sem] {
                "membar" => format!("membar.{};", ["cta", "gl", "gl", "sys"][*scope]),
                sem => format!("fence.{sem}.{};", SCOPES[*scope]),
            },
            Step::ProxyFence { kind } => {
                let kinds = self.flavour.proxy_fences();
                format!("fence.proxy.{};", kinds[kind % kinds.len()])
            }
            Step::Barrier { id } => format!("bar.sync {id};"),
            Step::WarpBarrier => "bar.warp.sync 0xffffffff;".into(),
            Step::Await { place, sem, scope, value, swap } => {
                let name = self.flavour.word(*place);
                if *swap {
                    let sem = ATOMIC_SEMS[*sem % 4];
                    format!("await (atom.cas.{sem}.{}.b32 [{name}], {value}, 6) == {value};", SCOPES[*scope])
                } else {
                    format!("await (ld{} [{name}]) == {value};", load(*sem, *scope))
                }
            }
            Step::Exit { value } => {
                let Some((register, _)) = reads.last() else { return };
                format!("if {register} == {value} {{ exit; }}")
            }
            Step::If { value, then } => {
                let Some((register, _)) = reads.last().cloned() else { return };
                let _ = writeln!(self.body, "        if {register} == {value} {{");
                self.steps(std::slice::from_ref(then));
                self.body.push_str("        }\n");
                return;
            }
        };
        let _ = writeln!(self.body, "        {line}");
    }
}

fn load(sem: usize, scope: usize) -> String {
    match sem {
        0 => ".weak".into(),
        1 => ".volatile".into(),
        2..=3 => format!(".relaxed.{}", SCOPES[scope]),
        _ => format!(".acquire.{}", SCOPES[scope]),
    }
}

fn store(sem: usize, scope: usize) -> String {
    match sem {
        0 => ".weak".into(),
        1 => ".volatile".into(),
        2..=3 => format!(".relaxed.{}", SCOPES[scope]),
        _ => format!(".release.{}", SCOPES[scope]),
    }
}

fn simple_step() -> BoxedStrategy<Step> {
    // Wide scopes more often than narrow ones, else nearly everything races.
    let scope = || prop_oneof![1 => Just(0usize), 1 => Just(1), 3 => Just(2), 3 => Just(3)];
    let place = || prop_oneof![3 => Just(0usize), 3 => Just(1), 2 => Just(2), 1 => Just(3)];
    let sem = || 0usize..6;
    prop_oneof![
        6 => (place(), sem(), scope()).prop_map(|(place, sem, scope)| Step::Load { place, sem, scope }),
        6 => (place(), sem(), scope(), 1u8..4)
            .prop_map(|(place, sem, scope, value)| Step::Store { place, sem, scope, value }),
        1 => (place(), sem(), scope(), any::<bool>())
            .prop_map(|(place, sem, scope, add)| Step::Forward { place, sem, scope, add }),
        2 => (place(), 0usize..4, scope(), 0usize..5, any::<bool>())
            .prop_map(|(place, sem, scope, op, sink)| Step::Atomic { place, sem, scope, op, sink }),
        1 => (place(), 0usize..2, scope()).prop_map(|(place, sem, scope)| Step::Reduction { place, sem, scope }),
        5 => (0usize..5, scope()).prop_map(|(sem, scope)| Step::Fence { sem, scope }),
        3 => (0usize..12).prop_map(|kind| Step::ProxyFence { kind }),
        1 => (0u8..2).prop_map(|id| Step::Barrier { id }),
        1 => Just(Step::WarpBarrier),
        1 => (0u8..3).prop_map(|value| Step::Exit { value }),
        1 => (place(), sem(), scope(), 1u8..3, prop_oneof![3 => Just(false), 1 => Just(true)])
            .prop_map(|(place, sem, scope, value, swap)| Step::Await { place, sem, scope, value, swap }),
    ]
    .boxed()
}

/// Two threads that pass a message, with fences on either side or not: random steps alone hardly ever publish a write
/// through another proxy and then read it, and what a proxy fence is for shows nowhere else.
fn message() -> BoxedStrategy<Vec<Vec<Step>>> {
    let data = || prop_oneof![2 => Just(0usize), 3 => Just(2), 3 => Just(3)];
    let scope = || prop_oneof![1 => Just(0usize), 4 => Just(2), 4 => Just(3)];
    let fence =
        || of(prop_oneof![4 => (0usize..12).prop_map(|kind| Step::ProxyFence { kind }), 1 => simple_step()]);
    let publish = scope().prop_map(|scope| Step::Store { place: 1, sem: 4, scope, value: 1 });
    let receive = prop_oneof![
        2 => scope().prop_map(|scope| Step::Await { place: 1, sem: 4, scope, value: 1, swap: false }),
        1 => scope().prop_map(|scope| Step::Load { place: 1, sem: 4, scope }),
    ];
    let write = data().prop_map(|place| Step::Store { place, sem: 0, scope: 2, value: 2 });
    let read = data().prop_map(|place| Step::Load { place, sem: 0, scope: 2 });
    let writer = (write, fence(), fence(), publish)
        .prop_map(|(write, first, second, publish)| [Some(write), first, second, Some(publish)]);
    let reader = (receive, fence(), fence(), read)
        .prop_map(|(receive, first, second, read)| [Some(receive), first, second, Some(read)]);
    (writer, reader)
        .prop_map(|(writer, reader)| {
            vec![writer.into_iter().flatten().collect(), reader.into_iter().flatten().collect()]
        })
        .boxed()
}

/// Kernels of 2 or 3 threads, seldom 4, of at most `n_memory_max` memory instructions.
pub fn sketches(n_memory_max: usize) -> impl Strategy<Value = Sketch> {
    let step = prop_oneof![
        9 => simple_step(),
        1 => (1u8..3, simple_step()).prop_map(|(value, then)| Step::If { value, then: Box::new(then) }),
    ];
    let threads = prop_oneof![
        5 => vec(vec(step.clone(), 1..6), 2),
        3 => vec(vec(step.clone(), 1..5), 3),
        1 => vec(vec(step, 1..3), 4),
    ];
    let placement = prop_oneof![
        1 => Just(Placement::Lanes),
        2 => Just(Placement::Warps),
        2 => Just(Placement::Ctas),
        2 => Just(Placement::Clusters),
        2 => Just(Placement::Gpus),
        2 => Just(Placement::Pairs),
        1 => Just(Placement::ClusterPairs),
    ];
    let flavour = prop_oneof![
        4 => Just(Flavour::Plain),
        1 => Just(Flavour::Shared),
        2 => Just(Flavour::Alias),
        2 => Just(Flavour::Halves),
        2 => Just(Flavour::Proxies),
        1 => Just(Flavour::AliasProxies),
    ];
    (placement, flavour, threads, of(message())).prop_filter_map(
        "small programs only",
        move |(placement, flavour, mut threads, message)| {
            if let (Flavour::Proxies | Flavour::AliasProxies, Some(message)) = (flavour, message) {
                threads = message;
            }
            for steps in &mut threads {
                let mut n_memory = 0;
                steps.retain(|step| {
                    n_memory += usize::from(step.is_memory());
                    !step.is_memory() || n_memory <= 3
                });
            }
            let sketch = Sketch { placement, flavour, threads };
            (sketch.n_memory() <= n_memory_max).then_some(sketch)
        },
    )
}
