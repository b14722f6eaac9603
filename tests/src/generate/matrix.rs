//! Small random kernels of `wgmma`, as text: tiles that are stored or copied, handed over, multiplied and given back, with and
//! without one of the steps, by one to three warps. Operands name a tile, a row of it, or one element.
//!
//! A product always has a `wgmma.fence` of its thread before it. An mbarrier expects as many arrivals as the program has.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::fmt::Write;

/// A kernel to be: what its threads do, each alone in its warp.
#[derive(Clone, Debug)]
pub struct MatrixSketch {
    /// Steps by thread.
    pub threads: Vec<Vec<MatrixStep>>,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum MatrixStep {
    Store { place: usize, value: u8 },
    Load { place: usize },
    ProxyFence,
    Fence,
    Multiply { to: usize, a: usize, b: usize, adds: bool },
    Commit,
    Wait { pending: u8 },
    Set { register: usize },
    Look { register: usize },
    Copy { row: usize },
    AwaitCopy,
    Arrive { is_relaxed: bool },
    Await { is_relaxed: bool },
    Bar,
}

/// Elements that threads access, and the row of the tile that they are in.
const PLACES: [&str; 6] = ["a[0][0]", "a[0][1]", "a[1][0]", "a[1][1]", "b[0]", "b[1]"];
/// Operands of products. The last of A is in registers.
const LEFT: [&str; 6] = ["[a]", "[a[0]]", "[a[1]]", "[a[1][1]]", "[a[0][0]]", "part"];
const RIGHT: [&str; 3] = ["[b]", "[b[0]]", "[b[1]]"];
const ACCUMULATORS: [&str; 3] = ["acc", "acc[0]", "acc[1]"];
const REGISTERS: [&str; 3] = ["acc[0]", "acc[1]", "part[1]"];

impl MatrixSketch {
    /// The kernel without its closing brace.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    pub fn text(&self) -> String {
        let (mut body, mut results) = (String::new(), Vec::new());
        for (thread, steps) in self.threads.iter().enumerate() {
            let _ = writeln!(body, "    if warpid == {thread} {{");
            print_thread(steps, &mut body, &mut results);
            body.push_str("    }\n");
        }
        let n = self.threads.len();
        let mut text = "//! target sm_90a ptx 9.4\n".to_owned();
        let _ = write!(
            text,
            "kernel k {{\n    launch {{ warps: {n} }}\n    global x: u64 = 0;\n    shared a[2][2]: u64 = 1;\n"
        );
        for (mark, declaration) in [
            ("[b", "    shared b[2]: u64 = 2;\n"),
            ("[g", "    global g[2]: u64 = 3;\n"),
            ("acc", "    register acc[2]: u32;\n"),
            ("part", "    register part[2]: u32;\n"),
            ("[m]", "    shared m: mbarrier;\n"),
            ("[full]", "    shared full: mbarrier;\n"),
        ] {
            if body.contains(mark) {
                text.push_str(declaration);
            }
        }
        for result in &results {
            let _ = writeln!(text, "    global {result}: u64 = 0;");
        }
        let mut initialises = String::new();
        for mbarrier in ["m", "full"].iter().filter(|name| body.contains(&format!("[{name}]"))) {
            let is_arrival =
                |line: &&str| line.contains("mbarrier.arrive") && line.contains(&format!("[{mbarrier}]"));
            let n = body.lines().filter(is_arrival).count().max(1);
            let _ = writeln!(initialises, "        mbarrier.init.shared::cta.b64 [{mbarrier}], {n};");
        }
        if !initialises.is_empty() {
            let _ = write!(text, "    if warpid == 0 {{\n{initialises}    }}\n    bar.sync 1;\n");
        }
        text + &body
    }
}

fn print_thread(steps: &[MatrixStep], body: &mut String, results: &mut Vec<String>) {
    let (mut own, mut is_fenced) = (Vec::new(), false);
    for &step in steps {
        is_fenced |= matches!(step, MatrixStep::Fence);
        let line = match step {
            MatrixStep::Load { place } => {
                let register = format!("r{}", results.len() + own.len());
                own.push(register.clone());
                format!("let {register} = ld.weak.u64 [{}];", PLACES[place])
            }
            MatrixStep::Look { register } => {
                format!("let v{} = mov.b32 {};", body.len(), REGISTERS[register])
            }
            MatrixStep::Multiply { .. } if !is_fenced => continue,
            other => other.instruction(),
        };
        let _ = writeln!(body, "        {line}");
    }
    for result in own {
        let _ = writeln!(body, "        st.weak.u64 [out_{result}], {result};");
        results.push(format!("out_{result}"));
    }
}

impl MatrixStep {
    /// Its instruction, if it gives no value.
    fn instruction(self) -> String {
        match self {
            Self::Store { place, value } => format!("st.weak.u64 [{}], {value};", PLACES[place]),
            Self::ProxyFence => "fence.proxy.async.shared::cta;".to_owned(),
            Self::Fence => "wgmma.fence.sync.aligned;".to_owned(),
            Self::Multiply { to, a, b, adds } => format!(
                "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {}, {}, {}, {};",
                ACCUMULATORS[to],
                LEFT[a],
                RIGHT[b],
                u8::from(adds)
            ),
            Self::Commit => "wgmma.commit_group.sync.aligned;".to_owned(),
            Self::Wait { pending } => format!("wgmma.wait_group.sync.aligned {pending};"),
            Self::Set { register } => format!("mov.b32 {}, 0;", REGISTERS[register]),
            Self::Copy { row } => format!(
                "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [full], 16;\n        \
                 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a[{row}]], [g], 16, [full];"
            ),
            Self::AwaitCopy => {
                "await mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 [full], 0;".to_owned()
            }
            Self::Arrive { is_relaxed } => {
                let sem = if is_relaxed { "relaxed" } else { "release" };
                format!("mbarrier.arrive.{sem}.cta.shared::cta.b64 _, [m];")
            }
            Self::Await { is_relaxed } => {
                let sem = if is_relaxed { "relaxed" } else { "acquire" };
                format!("await mbarrier.try_wait.parity.{sem}.cta.shared::cta.b64 [m], 0;")
            }
            Self::Bar => "bar.sync 0;".to_owned(),
            Self::Load { .. } | Self::Look { .. } => unreachable!("printed with the name of its value"),
        }
    }

    /// Accesses of memory that several threads have.
    fn size(self) -> usize {
        match self {
            Self::Multiply { a, b, .. } => [4, 2, 2, 1, 1, 0][a] + [2, 1, 1][b],
            Self::Copy { .. } => 4,
            Self::Store { .. } => 1,
            Self::Load { .. } => 2,
            _ => 0,
        }
    }

    fn is_product(self) -> bool {
        matches!(self, Self::Multiply { .. })
    }
}

fn seldom() -> impl Strategy<Value = bool> {
    prop_oneof![5 => Just(false), 1 => Just(true)]
}

fn multiply() -> BoxedStrategy<MatrixStep> {
    let to = prop_oneof![4 => Just(0usize), 1 => 1usize..3];
    let a = prop_oneof![3 => Just(0usize), 3 => 1usize..3, 1 => 3usize..5, 1 => Just(5usize)];
    let b = prop_oneof![2 => Just(0usize), 2 => 1usize..3];
    (to, a, b, any::<bool>()).prop_map(|(to, a, b, adds)| MatrixStep::Multiply { to, a, b, adds }).boxed()
}

/// One to six steps that belong together.
fn phrase() -> BoxedStrategy<Vec<MatrixStep>> {
    use MatrixStep::{
        Arrive, Await, AwaitCopy, Bar, Commit, Copy, Fence, Load, Look, ProxyFence, Set, Store, Wait,
    };
    let store = || (0usize..6, 4u8..6).prop_map(|(place, value)| Store { place, value });
    let load = || (0usize..6).prop_map(|place| Load { place });
    let arrive = || seldom().prop_map(|is_relaxed| Arrive { is_relaxed });
    let wait = || seldom().prop_map(|is_relaxed| Await { is_relaxed });
    let set = || (0usize..3).prop_map(|register| Set { register });
    let look = || (0usize..3).prop_map(|register| Look { register });
    let row = || 0usize..2;
    let done = || Wait { pending: 0 };
    let product = move || multiply().prop_map(move |a| vec![Fence, a, Commit, Wait { pending: 0 }]);
    prop_oneof![
        4 => product(),
        // Given back too early, and in time.
        2 => (multiply(), arrive()).prop_map(move |(a, b)| vec![Fence, a, Commit, b, done()]),
        4 => (product(), arrive()).prop_map(|(mut a, b)| { a.push(b); a }),
        2 => (multiply(), store()).prop_map(move |(a, b)| vec![Fence, a, Commit, b, done()]),
        2 => (product(), store()).prop_map(|(mut a, b)| { a.push(b); a }),
        // One product in flight.
        1 => (multiply(), multiply(), store())
            .prop_map(move |(a, b, c)| vec![Fence, a, Commit, b, Commit, Wait { pending: 1 }, c, done()]),
        1 => (multiply(), multiply(), any::<bool>()).prop_map(move |(a, b, again)| match again {
            true => vec![Fence, a, Fence, b, Commit, done()],
            false => vec![Fence, a, b, Commit, done()],
        }),
        // Written by threads.
        4 => (store(), product()).prop_map(|(a, b)| [vec![a, ProxyFence], b].concat()),
        1 => (store(), product()).prop_map(|(a, b)| [vec![a], b].concat()),
        3 => (store(), arrive()).prop_map(|(a, b)| vec![a, ProxyFence, b]),
        1 => (store(), arrive()).prop_map(|(a, b)| vec![a, b]),
        2 => store().prop_map(|a| vec![a, ProxyFence, Bar]),
        1 => store().prop_map(|a| vec![a, Bar]),
        3 => (wait(), product()).prop_map(|(a, b)| [vec![a], b].concat()),
        2 => product().prop_map(|b| [vec![Bar], b].concat()),
        2 => (wait(), store()).prop_map(|(a, b)| vec![a, b]),
        1 => product().prop_map(|mut a| { a.push(Bar); a }),
        1 => store().prop_map(|a| vec![Bar, a]),
        // Copied.
        3 => row().prop_map(|row| vec![Copy { row }]),
        3 => (wait(), row()).prop_map(|(a, row)| vec![a, Copy { row }]),
        2 => row().prop_map(|row| vec![Bar, Copy { row }]),
        4 => product().prop_map(|a| [vec![AwaitCopy], a].concat()),
        2 => (row(), product()).prop_map(|(row, a)| [vec![Copy { row }, AwaitCopy], a].concat()),
        1 => (multiply(), row()).prop_map(move |(a, row)| vec![Fence, a, Commit, Copy { row }, done()]),
        2 => (product(), row()).prop_map(|(mut a, row)| { a.push(Copy { row }); a }),
        1 => load().prop_map(|a| vec![AwaitCopy, a]),
        // Registers.
        2 => (set(), product()).prop_map(|(a, b)| [vec![a], b].concat()),
        1 => (set(), multiply()).prop_map(move |(a, b)| vec![Fence, a, b, Commit, done()]),
        2 => (product(), look()).prop_map(|(mut a, b)| { a.push(b); a }),
        1 => (multiply(), look()).prop_map(move |(a, b)| vec![Fence, a, Commit, b, done()]),
        1 => (multiply(), set()).prop_map(move |(a, b)| vec![Fence, a, Commit, b, done()]),
        1 => load().prop_map(|a| vec![a]),
        1 => wait().prop_map(|a| vec![a]),
        1 => arrive().prop_map(|a| vec![a]),
    ]
    .boxed()
}

/// Kernels of 1 to 3 threads, with at least one product and at most so many accesses of shared memory.
pub fn matrix_sketches(n_accesses_max: usize) -> impl Strategy<Value = MatrixSketch> {
    let missing = prop_oneof![3 => Just(None), 1 => (0usize..8).prop_map(Some)];
    let phrases = || {
        (phrase(), missing.clone()).prop_map(|(mut steps, missing)| {
            if let Some(at) = missing.filter(|_| steps.len() > 1) {
                steps.remove(at % steps.len());
            }
            steps
        })
    };
    let threads = |n: usize, longest: usize| {
        vec(vec(phrases(), 1..=longest).prop_map(|phrases| phrases.concat()), n).boxed()
    };
    prop_oneof![2 => threads(1, 3), 5 => threads(2, 2), 1 => threads(3, 1)].prop_filter_map(
        "small programs with products only",
        move |threads| {
            let steps = || threads.iter().flatten();
            let size: usize = steps().map(|step| step.size()).sum();
            let n_products = steps().filter(|step| step.is_product()).count();
            let is_small = size <= n_accesses_max && (1..=3).contains(&n_products);
            is_small.then_some(MatrixSketch { threads })
        },
    )
}
