//! Small random kernels of asynchronous operations, as text: copies that are waited for and copies that are not, fences
//! between proxies, and plain accesses around them.
//!
//! A step that makes no sense where its thread is becomes another one like it. An mbarrier expects as many arrivals as the
//! program has; most bytes are announced by the thread that sends them. Every value read is stored to a result word.

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};
use std::fmt::Write;

/// A kernel to be.
#[derive(Clone, Debug)]
pub struct AsyncSketch {
    /// Where the threads are.
    pub shape: AsyncShape,
    /// Whether the mbarrier is in CTA 1, where there is one.
    pub is_remote: bool,
    /// An arrival more than the program has is expected.
    pub is_short: bool,
    /// What the threads do.
    pub threads: Vec<Vec<AsyncStep>>,
}

/// Where the threads are, each alone in its warp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsyncShape {
    /// All in one CTA.
    Cta,
    /// Thread 0 in CTA 0 and thread 1 in CTA 1 of a cluster.
    Cluster,
}

/// How a bulk copy from global to shared memory goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// From global memory, to the CTA of the mbarrier.
    Global,
    /// From the own shared memory to a peer's.
    Shared,
    /// From global memory to all CTAs.
    Multicast,
}

/// A step of a thread.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "fields are what the instruction takes")]
pub enum AsyncStep {
    Load { place: usize, sem: usize },
    Store { place: usize, sem: usize, value: u8 },
    Fence { sem: usize, scope: usize },
    ProxyFence { space: usize },
    HalfRelease { reads: bool },
    HalfAcquire,
    Bar,
    ClusterBarrier { is_relaxed: bool },
    Copy { from: usize, to: usize },
    Commit,
    Wait { pending: u8 },
    Track { increments: bool },
    BulkLoad { source: Source },
    BulkStore { reduces: bool },
    BulkCommit,
    BulkWait { pending: u8, reads_only: bool },
    AsyncStore { place: usize, reduces: bool, value: u8 },
    TensorLoad { coordinate: u8 },
    TensorStore,
    ReplaceMap,
    CopyMap { scope: usize },
    ReleaseMap { scope: usize },
    AcquireMap { scope: usize },
    Arrive { bytes: u8, is_wide: bool },
    Await { is_relaxed: bool, is_wide: bool },
    Release { value: u8 },
    Acquire { value: u8 },
}

/// Scopes of fences.
const SCOPES: [&str; 3] = ["cta", "cluster", "gpu"];
const FENCES: [&str; 3] = ["acq_rel", "acquire", "release"];
/// What follows `fence.proxy.async`.
const SPACES: [&str; 4] = ["", ".shared::cta", ".shared::cluster", ".global"];

impl AsyncSketch {
    /// The kernel without its closing brace.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    pub fn text(&self) -> String {
        let mut printer = Printer { sketch: self, body: String::new(), results: Vec::new() };
        for (thread, steps) in self.threads.iter().enumerate() {
            let coordinate = if self.shape == AsyncShape::Cta { "tid" } else { "ctaid" };
            let _ = writeln!(printer.body, "    if {coordinate} == {thread} {{");
            printer.steps(thread, steps);
            printer.body.push_str("    }\n");
        }
        let Printer { body, results, .. } = printer;
        let launch = match self.shape {
            AsyncShape::Cta => format!("warps: {}", self.threads.len()),
            AsyncShape::Cluster => "ctas: 2, cluster: 2".into(),
        };
        let mut text = "//! target sm_100a ptx 9.4\n".to_owned();
        let _ = write!(text, "kernel k {{\n    launch {{ {launch} }}\n    global x: u64 = 0;\n");
        for (mark, declaration) in [
            ("g[", "    global g[2]: u64 = 1;\n"),
            ("s[", "    shared s[2]: u64 = 0;\n"),
            ("[map", "    global map: tensormap of g[2];\n"),
            ("[stage", "    shared stage: tensormap of g[2];\n"),
            ("m]", "    shared m: mbarrier;\n"),
            ("(m,", "    shared m: mbarrier;\n"),
        ] {
            let is_used = body.contains(mark) || (mark == "g[" && body.contains("[map"));
            if is_used && !text.contains(declaration) {
                text.push_str(declaration);
            }
        }
        for result in &results {
            let _ = writeln!(text, "    global {result}: u64 = 0;");
        }
        if text.contains("mbarrier") {
            let n = ["mbarrier.arrive.re", "mbarrier.arrive.expect", "arrive.noinc"];
            let n: usize = n.iter().map(|mark| body.matches(mark).count()).sum();
            let count = (n + usize::from(self.is_short)).max(1);
            let (condition, publication) = match self.shape {
                AsyncShape::Cta => ("tid == 0".to_owned(), "    bar.sync 1;\n"),
                AsyncShape::Cluster => {
                    let condition = format!("ctaid == {}", self.home());
                    (condition, "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n")
                }
            };
            // A multicast signals the mbarrier of every CTA.
            let condition = if body.contains("multicast") { "true".to_owned() } else { condition };
            let _ = writeln!(
                text,
                "    if {condition} {{\n        mbarrier.init.shared::cta.b64 [m], {count};\n    }}\n{publication}"
            );
        }
        text + &body
    }

    /// The CTA of the mbarrier, and of the data that is sent.
    fn home(&self) -> usize {
        usize::from(self.shape == AsyncShape::Cluster && self.is_remote)
    }
}

struct Printer<'a> {
    sketch: &'a AsyncSketch,
    body: String,
    results: Vec<String>,
}

impl Printer<'_> {
    fn steps(&mut self, thread: usize, steps: &[AsyncStep]) {
        let mut reads = Vec::new();
        for step in steps {
            if let Some(line) = self.step(thread, *step, &mut reads) {
                let _ = writeln!(self.body, "        {line}");
            }
        }
        for result in reads {
            let _ = writeln!(self.body, "        st.weak.u64 [out_{result}], {result};");
            self.results.push(format!("out_{result}"));
        }
    }

    fn step(&self, thread: usize, step: AsyncStep, reads: &mut Vec<String>) -> Option<String> {
        let is_cluster = self.sketch.shape == AsyncShape::Cluster;
        let is_home = !is_cluster || thread == self.sketch.home();
        let (space, object) = self.at_home(is_home, "m");
        let (_, data) = self.at_home(is_home, "s[0]");
        Some(match step {
            AsyncStep::Load { place, sem } => {
                let register = format!("r{}", self.results.len() + reads.len());
                reads.push(register.clone());
                format!("let {register} = ld{}.u64 {};", strength(sem, "acquire"), self.place(place))
            }
            AsyncStep::Store { place, sem, value } => {
                format!("st{}.u64 {}, {value};", strength(sem, "release"), self.place(place))
            }
            AsyncStep::Fence { sem, scope } => format!("fence.{}.{};", FENCES[sem], SCOPES[scope]),
            AsyncStep::ProxyFence { space } => format!("fence.proxy.async{};", SPACES[space]),
            AsyncStep::HalfRelease { reads } => {
                let restrict = if reads { "shared::cluster::read" } else { "shared::cta" };
                format!("fence.proxy.async::generic.release.sync_restrict::{restrict}.cluster;")
            }
            AsyncStep::HalfAcquire => {
                "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;".into()
            }
            AsyncStep::ClusterBarrier { is_relaxed } if is_cluster => {
                let sem = if is_relaxed { ".relaxed" } else { "" };
                format!("barrier.cluster.arrive{sem};\n        barrier.cluster.wait;")
            }
            AsyncStep::Bar if is_cluster => "barrier.cluster.arrive;\n        barrier.cluster.wait;".into(),
            AsyncStep::Bar | AsyncStep::ClusterBarrier { .. } => "bar.sync 0;".into(),
            AsyncStep::Copy { from, to } => {
                format!("cp.async.ca.shared::cta.global [s[{to}]], [g[{from}]], 8;")
            }
            AsyncStep::Commit => "cp.async.commit_group;".into(),
            AsyncStep::Wait { pending: 2.. } => "cp.async.wait_all;".into(),
            AsyncStep::Wait { pending } => format!("cp.async.wait_group {pending};"),
            AsyncStep::Track { .. } if !is_home => return None,
            AsyncStep::Track { increments } => {
                let form = if increments { "" } else { ".noinc" };
                format!("cp.async.mbarrier.arrive{form}.shared::cta.b64 [m];")
            }
            AsyncStep::BulkLoad { source } => return Some(self.bulk_load(source, is_home)),
            AsyncStep::BulkStore { reduces: false } => {
                "cp.async.bulk.global.shared::cta.bulk_group [g[0]], [s[0]], 16;".into()
            }
            AsyncStep::BulkStore { reduces: true } => {
                "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [g[0]], [s[0]], 16;".into()
            }
            AsyncStep::BulkCommit => "cp.async.bulk.commit_group;".into(),
            AsyncStep::BulkWait { pending, reads_only } => {
                format!("cp.async.bulk.wait_group{} {pending};", if reads_only { ".read" } else { "" })
            }
            AsyncStep::AsyncStore { place, reduces, value } if is_cluster => {
                let data = data.replace("s[0]", &format!("s[{place}]"));
                if reduces && !is_home {
                    format!(
                        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 {data}, {value}, \
                         {object};"
                    )
                } else {
                    format!(
                        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 {data}, {value}, {object};"
                    )
                }
            }
            AsyncStep::AsyncStore { value, .. } => format!("st.async.release.gpu.global.u64 [x], {value};"),
            AsyncStep::TensorLoad { .. } if !is_home => return None,
            AsyncStep::TensorLoad { coordinate } => format!(
                "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s[0]], [map, {{{coordinate}}}], [m];"
            ),
            AsyncStep::TensorStore => {
                "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [map, {0}], [s[0]];".into()
            }
            AsyncStep::ReplaceMap => {
                "tensormap.replace.tile.global_address.global.b1024.b64 [map], g;".into()
            }
            AsyncStep::CopyMap { scope } => format!(
                "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{}.sync.aligned [map], [stage], 128;",
                SCOPES[scope]
            ),
            AsyncStep::ReleaseMap { scope } => {
                format!("fence.proxy.tensormap::generic.release.{};", SCOPES[scope])
            }
            AsyncStep::AcquireMap { scope } => {
                format!("fence.proxy.tensormap::generic.acquire.{} [map], 128;", SCOPES[scope])
            }
            AsyncStep::Arrive { bytes, is_wide } => {
                let scope = if is_wide { "cluster" } else { "cta" };
                if bytes == 0 {
                    format!("mbarrier.arrive.release.{scope}.{space}.b64 _, {object};")
                } else {
                    format!("mbarrier.arrive.expect_tx.release.{scope}.{space}.b64 _, {object}, {bytes};")
                }
            }
            AsyncStep::Await { .. } if !is_home => return None,
            AsyncStep::Await { is_relaxed, is_wide } => {
                let sem = if is_relaxed { "relaxed" } else { "acquire" };
                let scope = if is_wide { "cluster" } else { "cta" };
                format!("await mbarrier.try_wait.parity.{sem}.{scope}.shared::cta.b64 [m], 0;")
            }
            AsyncStep::Release { value } => format!("st.release.gpu.u64 [x], {value};"),
            AsyncStep::Acquire { value } => format!("await (ld.acquire.gpu.u64 [x]) == {value};"),
        })
    }

    fn bulk_load(&self, source: Source, is_home: bool) -> String {
        let (_, object) = self.at_home(is_home, "m");
        let (_, data) = self.at_home(is_home, "s[0]");
        let completion = "mbarrier::complete_tx::bytes";
        match source {
            Source::Multicast if self.sketch.shape == AsyncShape::Cluster => format!(
                "cp.async.bulk.shared::cluster.global.{completion}.multicast::cluster [s[0]], [g[0]], 16, [m], 3;"
            ),
            Source::Shared if !is_home => {
                format!(
                    "cp.async.bulk.shared::cluster.shared::cta.{completion} {data}, [s[0]], 16, {object};"
                )
            }
            _ if is_home => format!("cp.async.bulk.shared::cta.global.{completion} [s[0]], [g[0]], 16, [m];"),
            _ => format!("cp.async.bulk.shared::cluster.global.{completion} {data}, [g[0]], 16, {object};"),
        }
    }

    /// State space and operand of something in the mbarrier's CTA.
    fn at_home(&self, is_home: bool, what: &str) -> (&'static str, String) {
        if is_home {
            ("shared::cta", format!("[{what}]"))
        } else {
            ("shared::cluster", format!("[mapa({what}, {})]", self.sketch.home()))
        }
    }

    fn place(&self, place: usize) -> String {
        match place {
            0 => "[x]".into(),
            1 | 2 => format!("[g[{}]]", place - 1),
            5 if self.sketch.shape == AsyncShape::Cluster => format!("[mapa(s[0], {})]", self.sketch.home()),
            3 | 4 => format!("[s[{}]]", place - 3),
            _ => "[s[0]]".into(),
        }
    }
}

fn strength(sem: usize, ordered: &str) -> String {
    match sem {
        0..=3 => ".weak".into(),
        4 => ".relaxed.gpu".into(),
        _ => format!(".{ordered}.gpu"),
    }
}

impl AsyncStep {
    fn is_memory(self) -> bool {
        matches!(self, Self::Load { .. } | Self::Store { .. } | Self::Acquire { .. } | Self::Release { .. })
    }
    /// Reads and writes.
    fn n_accesses(self) -> usize {
        match self {
            Self::Copy { .. } => 2,
            Self::AsyncStore { .. } => 2,
            Self::BulkLoad { source: Source::Multicast } => 8,
            Self::BulkLoad { .. } => 4,
            Self::TensorLoad { .. } | Self::TensorStore => 5,
            Self::CopyMap { .. } => 2,
            Self::ReplaceMap => 1,
            Self::BulkStore { reduces: true } => 6,
            Self::BulkStore { .. } => 4,
            _ => usize::from(self.is_memory()),
        }
    }
}

/// One to four steps that belong together.
fn phrase() -> BoxedStrategy<Vec<AsyncStep>> {
    use AsyncStep::*;
    let often = || prop_oneof![1 => Just(false), 4 => Just(true)];
    let seldom = || prop_oneof![5 => Just(false), 1 => Just(true)];
    let load = || (0usize..6, 0usize..6).prop_map(|(place, sem)| Load { place, sem });
    let store = || (0usize..6, 0usize..6, 2u8..4).prop_map(|(place, sem, value)| Store { place, sem, value });
    let own_store = || (3usize..5, 2u8..4).prop_map(|(place, value)| Store { place, sem: 0, value });
    let own_load = || (3usize..5).prop_map(|place| Load { place, sem: 0 });
    let far_load = || (1usize..3).prop_map(|place| Load { place, sem: 0 });
    let fence = || (0usize..3, 0usize..3).prop_map(|(sem, scope)| Fence { sem, scope });
    let proxy = || {
        prop_oneof![
            8 => (0usize..4).prop_map(|space| ProxyFence { space }),
            1 => any::<bool>().prop_map(|reads| HalfRelease { reads }),
            1 => Just(HalfAcquire),
        ]
    };
    let source =
        || prop_oneof![4 => Just(Source::Global), 2 => Just(Source::Shared), 2 => Just(Source::Multicast)];
    let arrive = |bytes: u8| often().prop_map(move |is_wide| Arrive { bytes, is_wide });
    let wait = || (seldom(), often()).prop_map(|(is_relaxed, is_wide)| Await { is_relaxed, is_wide });
    let bar = || prop_oneof![3 => Just(Bar), 1 => Just(ClusterBarrier { is_relaxed: true })];
    let copy = || (0usize..2, 0usize..2).prop_map(|(from, to)| Copy { from, to });
    let bulk_wait = || {
        (0u8..2, any::<bool>())
            .prop_map(|(n, reads_only)| BulkWait { pending: u8::from(n == 1 && reads_only), reads_only })
    };
    let bulk_store = || seldom().prop_map(|reduces| BulkStore { reduces });
    let async_store = || {
        (0usize..2, any::<bool>(), 2u8..4).prop_map(|(place, reduces, value)| AsyncStore {
            place,
            reduces,
            value,
        })
    };
    let scope = || 0usize..3;
    let half = || {
        prop_oneof![
            1 => scope().prop_map(|scope| ReleaseMap { scope }),
            3 => scope().prop_map(|scope| AcquireMap { scope }),
        ]
    };
    let change = || {
        prop_oneof![
            2 => scope().prop_map(|scope| vec![ReplaceMap, ReleaseMap { scope }]),
            1 => scope().prop_map(|scope| vec![CopyMap { scope }]),
            1 => Just(vec![ReplaceMap]),
        ]
    };
    let tensor_load = || (0u8..2).prop_map(|coordinate| TensorLoad { coordinate });
    prop_oneof![
        // MM-30: what comes between the arrival and the copy.
        3 => arrive(16).prop_map(|a| {
            vec![a, Store { place: 0, sem: 0, value: 2 }, BulkLoad { source: Source::Global }]
        }),
        3 => wait().prop_map(|a| vec![a, Load { place: 0, sem: 0 }]),
        // §1.8, 4 and 5.
        3 => (2u8..4).prop_map(|value| {
            let send = AsyncStore { place: 0, reduces: false, value };
            vec![Store { place: 1, sem: 0, value: 2 }, send]
        }),
        3 => (2u8..4).prop_map(|value| vec![Acquire { value }, Load { place: 1, sem: 0 }]),
        2 => (arrive(8), fence()).prop_map(|(a, b)| {
            let send = AsyncStore { place: 0, reduces: true, value: 2 };
            vec![a, Store { place: 1, sem: 0, value: 2 }, b, send]
        }),
        2 => Just(vec![Load { place: 3, sem: 5 }, Load { place: 1, sem: 0 }]),
        //
        3 => proxy().prop_map(|a| vec![Store { place: 5, sem: 0, value: 2 }, a, Bar]),
        3 => bulk_store().prop_map(|a| vec![Bar, a, BulkCommit]),
        // FN-13, FN-14 around what only carries patterns.
        2 => change().prop_map(|mut a| {
            a.push(ClusterBarrier { is_relaxed: true });
            a
        }),
        2 => half().prop_map(|a| vec![ClusterBarrier { is_relaxed: true }, a, TensorStore, BulkCommit]),
        2 => (arrive(16), half(), tensor_load()).prop_map(|(a, b, c)| vec![b, a, c]),
        1 => (bar(), half(), arrive(16), tensor_load()).prop_map(|(a, b, c, d)| vec![a, b, c, d]),
        1 => (arrive(16), tensor_load()).prop_map(|(a, b)| vec![a, b]),
        2 => half().prop_map(|a| vec![a, TensorStore, BulkCommit]),
        2 => (change(), bar()).prop_map(|(mut a, b)| {
            a.push(b);
            a
        }),
        1 => change(),
        1 => (change(), half()).prop_map(|(mut a, b)| {
            a.push(b);
            a
        }),
        1 => (change(), arrive(0)).prop_map(|(mut a, b)| {
            a.push(b);
            a
        }),
        1 => (wait(), half()).prop_map(|(a, b)| vec![a, b, TensorStore, BulkCommit]),
        1 => (bulk_wait(), change()).prop_map(|(a, mut b)| {
            b.insert(0, a);
            b
        }),
        5 => (arrive(16), source()).prop_map(|(a, source)| vec![a, BulkLoad { source }]),
        1 => source().prop_map(|source| vec![BulkLoad { source }]),
        1 => (arrive(16), store(), source()).prop_map(|(a, b, source)| vec![a, b, BulkLoad { source }]),
        2 => (own_store(), proxy(), arrive(16)).prop_map(|(a, b, c)| {
            vec![a, b, c, BulkLoad { source: Source::Shared }]
        }),
        3 => (arrive(8), async_store()).prop_map(|(a, b)| vec![a, b]),
        1 => async_store().prop_map(|a| vec![a]),
        1 => (fence(), async_store()).prop_map(|(a, b)| vec![a, b]),
        6 => (wait(), own_load()).prop_map(|(a, b)| vec![a, b]),
        2 => (wait(), own_store()).prop_map(|(a, b)| vec![a, b]),
        1 => (fence(), load()).prop_map(|(b, c)| vec![Await { is_relaxed: true, is_wide: true }, b, c]),
        3 => (own_store(), proxy(), bulk_store()).prop_map(|(a, b, c)| vec![a, b, c, BulkCommit]),
        1 => (own_store(), bulk_store()).prop_map(|(a, b)| vec![a, b, BulkCommit]),
        2 => bulk_store().prop_map(|a| vec![a, BulkCommit]),
        2 => (bulk_wait(), own_store()).prop_map(|(a, b)| vec![a, b]),
        2 => (bulk_wait(), far_load()).prop_map(|(a, b)| vec![a, b]),
        1 => (bulk_wait(), bar()).prop_map(|(a, b)| vec![a, b]),
        3 => copy().prop_map(|a| vec![a, Commit]),
        2 => (copy(), seldom()).prop_map(|(a, increments)| vec![a, Track { increments }]),
        3 => (0u8..3, own_load()).prop_map(|(pending, b)| vec![Wait { pending }, b]),
        2 => (0u8..3, bar()).prop_map(|(pending, b)| vec![Wait { pending }, b]),
        2 => (own_store(), proxy(), bar()).prop_map(|(a, b, c)| vec![a, b, c]),
        2 => (bar(), proxy(), bulk_store()).prop_map(|(a, b, c)| vec![a, b, c, BulkCommit]),
        2 => (bar(), load()).prop_map(|(a, b)| vec![a, b]),
        1 => (own_load(), bar()).prop_map(|(a, b)| vec![a, HalfRelease { reads: false }, b]),
        1 => (bar(), source()).prop_map(|(a, source)| vec![a, HalfAcquire, BulkLoad { source }]),
        1 => (own_store(), bulk_store()).prop_map(|(a, b)| {
            vec![a, HalfRelease { reads: false }, HalfAcquire, b, BulkCommit]
        }),
        1 => (store(), 1u8..2).prop_map(|(a, value)| vec![a, Release { value }]),
        1 => (1u8..4, load()).prop_map(|(value, b)| vec![Acquire { value }, b]),
        1 => arrive(0).prop_map(|a| vec![a]),
        1 => store().prop_map(|a| vec![a]),
        1 => load().prop_map(|a| vec![a]),
    ]
    .boxed()
}

/// Kernels of 2 or 3 threads, of at most `n_memory_max` memory instructions and a few asynchronous ones.
pub fn async_sketches(n_memory_max: usize) -> impl Strategy<Value = AsyncSketch> {
    let threads = |n: usize, longest: usize| vec(vec(phrase(), 1..=longest), n);
    let shaped = prop_oneof![
        4 => (Just(AsyncShape::Cta), threads(2, 3)),
        1 => (Just(AsyncShape::Cta), threads(3, 2)),
        4 => (Just(AsyncShape::Cluster), threads(2, 3)),
    ];
    let is_short = prop_oneof![12 => Just(false), 1 => Just(true)];
    (shaped, any::<bool>(), is_short).prop_filter_map(
        "small programs with asynchronous operations only",
        move |((shape, threads), is_remote, is_short)| {
            let threads: Vec<Vec<AsyncStep>> = threads.into_iter().map(|phrases| phrases.concat()).collect();
            let steps = || threads.iter().flatten();
            let n_memory = steps().filter(|step| step.is_memory()).count();
            let n_accesses: usize = steps().map(|step| step.n_accesses()).sum();
            let is_small = n_memory <= n_memory_max && n_accesses <= 3 * n_memory_max;
            let has_operation = steps().any(|step| step.n_accesses() > 1);
            (is_small && has_operation).then_some(AsyncSketch { shape, is_remote, is_short, threads })
        },
    )
}
