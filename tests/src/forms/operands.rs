//! Operands for the rows of the table: as kernels have them, which name objects, and as assemblers have them, which want
//! registers and addresses.

use fencepost_dsl::kernel::isa::Form;

/// What the statements of [`of_kernel`] name.
pub const OBJECTS: &str = "\
    global g8[64]: u8; global g16[32]: u16; global g[16]: u32; global h[16]: u64; global c[8]: b128; \
    shared s8[64]: u8; shared s16[32]: u16; shared s[16]: u32; shared d[16]: u64; shared e[16]: b128; \
    global gg: u32; constant k8[64]: u8 alias g8; \
    constant k16[32]: u16 alias g16; constant k32[16]: u32 alias g; constant k64[16]: u64 alias h; constant k128[8]: b128 alias c; texture tx: u32 alias gg; \
    surface sf: u32 alias gg; global gh: u64; surface sh: u64 alias gh; \
    global gb: u8; surface sb: u8 alias gb; global gs: u16; surface ss: u16 alias gs; \
    symmetric y8[8]: u8; multimem m8[8]: u8 alias y8; symmetric y16[8]: u16; multimem m16[8]: u16 alias y16; symmetric y[8]: u32; multimem mc[8]: u32 alias y; symmetric yh[8]: u64; multimem mh[8]: u64 alias yh; \
    shared bar: mbarrier; shared slot: u32; \
    param map: tensormap of g[4]; global g2[4][4]: u32; param map2: tensormap of g2[1, 4]; \
    global maps: tensormap of g[4]; global mapw: tensormap of h[4]; shared stage: tensormap of g[4]; \
    register acc: u32; register acc16: u16; register acc64: u64; register acc128: b128; register ah: u16; \
    tmem tm[4]: u32; tmem tc[2]: b128; \
    global g3[1][1][4]: u32; param map3: tensormap of g3[1, 1, 4]; global g4[1][1][1][4]: u32; \
    param map4: tensormap of g4[1, 1, 1, 4]; global g5[1][1][1][1][4]: u32; param map5: tensormap of g5[1, 1, 1, 1, 4]; \
    let v8 = ld [g8[0]]; let v16 = ld [g16[0]]; let v32 = ld [g[0]]; let v64 = ld [h[0]]; let v128 = ld [c[0]];";

/// A state of an mbarrier, for those who want one.
const STATE: &str = "mbarrier.init [bar], 2; let state = mbarrier.arrive [bar];";

/// What the words of a spelling say of its operands.
struct Said<'a> {
    text: &'a str,
    words: Vec<&'a str>,
    /// Elements of a vector; 1 without one.
    n: usize,
    /// Bits of an element; 0 without a type.
    bits: usize,
}

impl<'a> Said<'a> {
    fn new(text: &'a str) -> Self {
        let words: Vec<&str> = text.split('.').collect();
        let vector = words.iter().find_map(|word| word.strip_prefix('v').and_then(|n| n.parse().ok()));
        Self {
            text,
            n: vector.unwrap_or(1),
            bits: words.iter().rev().find_map(|word| bits(word)).unwrap_or(0),
            words,
        }
    }
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
    fn begins(&self, start: &str) -> bool {
        self.text.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
    fn is_shared(&self) -> bool {
        self.words.iter().any(|word| word.starts_with("shared"))
    }
    /// The rank of a tensor: 2 for `.2d`.
    fn rank(&self) -> usize {
        self.words.iter().find_map(|word| word.strip_suffix('d')?.parse().ok()).unwrap_or(1)
    }
}

/// Bits of a type.
fn bits(word: &str) -> Option<usize> {
    Some(match word {
        "e4m3" | "e5m2" => 8,
        "e4m3x2" | "e5m2x2" => 16,
        "f16x2" | "bf16x2" | "e4m3x4" | "e5m2x4" => 32,
        _ => {
            let digits = word.strip_prefix("bf").or_else(|| word.strip_prefix(['b', 'u', 's', 'f']))?;
            digits.parse().ok().filter(|bits| [8, 16, 32, 64, 128].contains(bits))?
        }
    })
}

/// A list of `n` things in braces; one of them as it is.
fn listed(n: usize, one: impl Fn(usize) -> String) -> String {
    if n == 1 { one(0) } else { format!("{{{}}}", (0..n).map(one).collect::<Vec<_>>().join(", ")) }
}

/// Statements that give a spelling operands, as kernels have them.
pub fn of_kernel(_: &Form, text: &str) -> Vec<String> {
    let said = Said::new(text);
    let with = |operands: &str| format!("{text} {operands};");
    let bound = |operands: &str| format!("let z = {text} {operands};");
    let policy = if said.has("L2::cache_hint") { ", v64" } else { "" };
    let each =
        |operands: &[&str]| -> Vec<String> { operands.iter().map(|operands| with(operands)).collect() };
    let all =
        |operands: &[&str]| -> Vec<String> { operands.iter().map(|operands| bound(operands)).collect() };
    let objects = |of: &[&'static str]| -> Vec<(&'static str, &'static str)> {
        let values = ["v8", "v16", "v32", "v64", "v128"];
        let widths = [8, 16, 32, 64, 128];
        let fits = |(_, bits): &(usize, &usize)| said.bits == 0 || said.bits == **bits;
        let found = widths.iter().enumerate().filter(fits).map(|(at, _)| at);
        let found =
            found.flat_map(|at| of.iter().skip(at).step_by(5).map(move |object| (*object, values[at])));
        found.filter(|(object, _)| !object.is_empty()).collect()
    };
    const MEMORY: &[&str] = &["g8", "g16", "g", "h", "c", "s8", "s16", "s", "d", "e"];
    const CONSTANTS: &[&str] = &["k8", "k16", "k32", "k64", "k128"];
    if said.begins("ld") {
        let results = listed(said.n, |at| format!("z{at}"));
        let memory = if said.has("const") { CONSTANTS } else { MEMORY };
        let found = objects(memory).into_iter();
        return found.map(|(object, _)| format!("let {results} = {text} [{object}[0]]{policy};")).collect();
    }
    if said.begins("st.async") || said.begins("red.async") || said.begins("multimem") {
        return of_kernel_stores(&said, &objects(MEMORY));
    }
    if said.begins("st.bulk") {
        return vec![with("[s[0]], 16, 0")];
    }
    if said.begins("st") {
        let stored = |(object, value): (&str, &str)| {
            with(&format!("[{object}[0]], {}{policy}", listed(said.n, |_| value.to_owned())))
        };
        return objects(MEMORY).into_iter().map(stored).collect();
    }
    if said.begins("shfl") {
        return vec![bound("1, 0, 31, 0xffffffff")];
    }
    if said.begins("vote") {
        return vec![bound("true, 0xffffffff")];
    }
    if said.begins("match") || said.begins("redux") {
        return vec![bound("1, 0xffffffff")];
    }
    if said.begins("atom") || said.begins("red") {
        let second = if said.has("cas") { ", 2" } else { "" };
        let updated = |(object, value): (&str, &str)| {
            let operands = match (said.has("cas"), said.bits == 128 || value == "v128") {
                (_, false) => format!("[{object}[0]], 1{second}{policy}"),
                (false, true) => format!("[{object}[0]], v128{policy}"),
                (true, true) => format!("[{object}[0]], v128, v128{policy}"),
            };
            if said.begins("atom") { bound(&operands) } else { with(&operands) }
        };
        return objects(MEMORY).into_iter().map(updated).collect();
    }
    if said.begins("activemask") {
        return all(&[""]);
    }
    if said.begins("bar.warp.sync") || said.begins("elect.sync") {
        return vec![with("0xffffffff"), bound("0xffffffff")];
    }
    if said.has("cluster") && said.begins("barrier") {
        return vec![with("")];
    }
    if said.begins("bar") || said.begins("barrier") {
        return [each(&["0", "0, 64"]), all(&["0, v32 == 1"])].concat();
    }
    if said.begins("clusterlaunchcontrol") {
        return vec![with("[e[0]], [bar]"), bound("v128")];
    }
    if said.begins("mbarrier.pending_count") {
        return vec![format!("{STATE} let z = {text} state;")];
    }
    if said.begins("mbarrier") {
        let statements = [each(&["[bar], 16", "[bar]"]), all(&["[bar]", "[bar], 1", "[bar], 16"])].concat();
        let waits = format!("{STATE} let z = {text} [bar], state;");
        return statements.into_iter().chain([waits]).collect();
    }
    if said.begins("cp") {
        return each(&of_kernel_copies(&said, policy).iter().map(String::as_str).collect::<Vec<_>>());
    }
    if said.begins("createpolicy") {
        return all(&["", "1", "0x3f000000", "[g[0]], 128, 256"]);
    }
    if said.begins("getctarank") {
        return all(&["[s[0]]"]);
    }
    if said.begins("tensormap.cp_fenceproxy") {
        return each(&["[maps], [stage], 128"]);
    }
    if said.begins("tensormap") {
        let mut found = Vec::new();
        for map in ["maps", "mapw", "stage"] {
            for operands in ["g", "h"]
                .map(|object| format!("[{object}]"))
                .iter()
                .map(String::as_str)
                .chain(["0", "0, 4", "0, 16", "0, 1", "0, v64", "1"])
            {
                found.push(with(&format!("[{map}], {operands}")));
            }
        }
        return found;
    }
    if said.begins("mov") {
        return each(&["acc, 1", "acc64, 1", "acc16, v16", "acc128, v128"]);
    }
    if said.begins("wgmma.mma_async") {
        return each(&["acc, [e], [e]"]);
    }
    if said.begins("tcgen05") {
        return each(&[
            "",
            "[tm], [tm], [e]",
            "[tm], [e], [e]",
            "[tc[0]], [e[0]]",
            "[tm], [e[0]]",
            "acc, [tm[0]]",
            "acc, [tm[0]], 1",
            "[tm[0]], 1",
            "[tm[0]], 1, 1",
            "[slot], 32",
            "[tm], 32",
            "[bar]",
            "[bar], 3",
        ]);
    }
    if said.begins("tex") || said.begins("suld") {
        return all(&["[tx]", "[sf]", "[sh]", "[sb]", "[ss]"]);
    }
    if said.begins("sust") || said.begins("sured") {
        return each(&["[sf], v32", "[sh], v64", "[sb], v8", "[ss], v16"]);
    }
    if said.begins("applypriority") {
        return each(&["[g], 128"]);
    }
    if said.begins("fence") || said.begins("membar") {
        return each(&["", "[map], 128"]);
    }
    // The rest has a number, an address, or nothing.
    each(&["", "0", "40", "[g[0]]", "[map]"])
}

/// Asynchronous and multimem stores and reductions.
fn of_kernel_stores(said: &Said<'_>, memory: &[(&'static str, &'static str)]) -> Vec<String> {
    let text = said.text;
    if said.begins("multimem") {
        let mut found = Vec::new();
        for (object, value) in [("m8", "v8"), ("m16", "v16"), ("mc", "v32"), ("mh", "v64")] {
            let values = listed(said.n, |_| value.to_owned());
            let results = listed(said.n, |at| format!("z{at}"));
            found.push(format!("{text} [{object}[0]], {values};"));
            found.push(format!("let {results} = {text} [{object}[0]];"));
        }
        return found;
    }
    let mut found = Vec::new();
    for (object, value) in memory {
        let value = listed(said.n, |_| (*value).to_owned());
        found.push(format!("{text} [mapa({object}[0], 1)], {value}, [mapa(bar, 1)];"));
        found.push(format!("{text} [{object}[0]], {value}, [bar];"));
        found.push(format!("{text} [{object}[0]], {value};"));
    }
    found
}

/// Operands of copies.
fn of_kernel_copies(said: &Said<'_>, policy: &str) -> Vec<String> {
    let mask = if said.words.iter().any(|word| word.starts_with("multicast")) { ", 3" } else { "" };
    if said.begins("cp.async.mbarrier") {
        return vec!["[bar]".to_owned()];
    }
    if ["commit_group", "wait_group", "wait_all"].iter().any(|word| said.has(word)) {
        return vec![String::new(), "0".to_owned()];
    }
    let mut found = Vec::new();
    if said.has("tensor") {
        let map = match said.rank() {
            1 => "[map, {0}]",
            2 => "[map2, {0, 0}]",
            3 => "[map3, {0, 0, 0}]",
            4 => "[map4, {0, 0, 0, 0}]",
            _ => "[map5, {0, 0, 0, 0, 0}]",
        };
        found.push(format!("[s[0]], {map}, [bar]{mask}{policy}"));
        found.push(format!("{map}, [s[0]]{policy}"));
        found.push(format!("{map}{policy}"));
        return found;
    }
    if said.has("prefetch") {
        return vec![format!("[h[0]], 16{policy}")];
    }
    if !said.has("bulk") {
        return vec![format!("[s[0]], [g[0]], 4{policy}"), format!("[s[0]], [g[0]], 16{policy}")];
    }
    for (shared, global) in [("s", "g"), ("d", "h"), ("e", "c"), ("s16", "g16")] {
        found.push(format!("[{shared}[0]], [{global}[0]], 16, [bar]{mask}{policy}"));
        found.push(format!("[{global}[0]], [{shared}[0]], 16{policy}"));
        found.push(format!("[mapa({shared}[0], 1)], [{shared}[4]], 16, [mapa(bar, 1)]{policy}"));
    }
    found
}

/// Statements that give a spelling operands, as assemblers have them.
pub fn of_assembler(_: &Form, text: &str) -> Vec<String> {
    let said = Said::new(text);
    let with = |operands: &str| format!("{text} {operands};");
    let each =
        |operands: &[String]| -> Vec<String> { operands.iter().map(|operands| with(operands)).collect() };
    let policy = if said.has("L2::cache_hint") { ", pol" } else { "" };
    let register = |at: usize| match said.bits {
        8 if said.has("e4m3") || said.has("e5m2") => format!("b{at}"),
        8 | 16 => format!("h{at}"),
        64 => format!("rd{at}"),
        128 => format!("q{at}"),
        _ => format!("r{at}"),
    };
    let value = listed(said.n, register);
    let place = match () {
        () if said.has("const") => "[cc]",
        () if said.is_shared() => "[s]",
        () => "[g]",
    };
    let operands = match () {
        () if said.begins("shfl") => vec!["r0, r0, 0, 31, 0xffffffff".to_owned()],
        () if said.begins("vote") => ["p, p, 0xffffffff", "r0, p, 0xffffffff"].map(str::to_owned).to_vec(),
        () if said.begins("match") => {
            ["r0, r0, 0xffffffff", "r0, rd0, 0xffffffff"].map(str::to_owned).to_vec()
        }
        () if said.begins("redux") => vec!["r0, r0, 0xffffffff".to_owned()],
        () if said.begins("ld") => vec![format!("{value}, {place}{policy}")],
        () if said.begins("st.async") || said.begins("red.async") => {
            vec![format!("{place}, {value}, [mb]"), format!("{place}, {value}")]
        }
        () if said.begins("multimem.ld_reduce") => vec![format!("{value}, [g]")],
        () if said.begins("st.bulk") => vec!["[s], 16, 0".to_owned()],
        () if said.begins("st") || said.begins("red") || said.begins("multimem") => {
            vec![format!("{place}, {value}{policy}")]
        }
        () if said.begins("atom") => {
            let second = if said.has("cas") { format!(", {value}") } else { String::new() };
            vec![format!("{value}, {place}, {value}{second}{policy}")]
        }
        () if said.begins("activemask") => vec!["r0".to_owned()],
        () if said.begins("bar.warp.sync") => vec!["0xffffffff".to_owned()],
        () if said.begins("elect.sync") => vec!["r0|p, 0xffffffff".to_owned()],
        () if said.begins("barrier.cluster") => vec![String::new()],
        () if said.begins("bar") || said.begins("barrier") => {
            ["0", "0, 64", "r0, 0, p", "p, 0, p"].map(str::to_owned).to_vec()
        }
        () if said.begins("clusterlaunchcontrol.try_cancel") => vec!["[s], [mb]".to_owned()],
        () if said.begins("clusterlaunchcontrol") => vec!["p, q0".to_owned(), "r0, q0".to_owned()],
        () if said.begins("mbarrier") => [
            "[mb], 16",
            "[mb]",
            "rd0, [mb]",
            "rd0, [mb], 1",
            "rd0, [mb], 16",
            "_, [mb]",
            "_, [mb], 16",
            "p, [mb], rd0",
            "p, [mb], r0",
            "r0, rd0",
        ]
        .map(str::to_owned)
        .to_vec(),
        () if said.begins("cp") => of_assembler_copies(&said, policy),
        () if said.begins("createpolicy.range") => vec!["rd0, [g], r0, r1".to_owned()],
        () if said.begins("createpolicy") => vec!["rd0".to_owned()],
        () if said.begins("getctarank") => vec!["r0, s".to_owned(), "r0, g".to_owned()],
        () if said.begins("tensormap.cp_fenceproxy") => vec!["[g], [s], 128".to_owned()],
        () if said.begins("tensormap") => {
            let map = if said.is_shared() { "[s]" } else { "[g]" };
            ["0", "0, r0", "rd0", "r0", "0, rd0"].iter().map(|value| format!("{map}, {value}")).collect()
        }
        () if said.begins("mov") => vec![format!("{value}, {}", register(1))],
        () if said.begins("wgmma.mma_async") => of_assembler_product(&said),
        () if said.begins("wgmma.wait_group") => vec!["0".to_owned()],
        () if said.begins("tcgen05") => of_assembler_tensor_memory(&said),
        () if said.begins("tex") => {
            vec!["{r0, r1, r2, r3}, [rd0, {r4}]".to_owned(), format!("{value}, [rd0, {{r4}}]")]
        }
        () if said.begins("suld") => vec![format!("{value}, [rd0, {{r4}}]")],
        () if said.begins("sust") || said.begins("sured") => vec![format!("[rd0, {{r4}}], {value}")],
        () if said.begins("applypriority") => vec!["[g], 128".to_owned()],
        () if said.begins("fence.proxy.tensormap::generic") => vec![String::new(), "[m], 128".to_owned()],
        () if said.begins("prefetch.tensormap") => vec!["[m]".to_owned()],
        () if said.begins("prefetch") || said.begins("prefetchu") => vec!["[g]".to_owned()],
        () if said.begins("nanosleep") || said.begins("pmevent") => vec!["5".to_owned()],
        () if said.begins("setmaxnreg") => vec!["40".to_owned()],
        () => vec![String::new()],
    };
    each(&operands)
}

fn of_assembler_copies(said: &Said<'_>, policy: &str) -> Vec<String> {
    let mask = if said.words.iter().any(|word| word.starts_with("multicast")) { ", h0" } else { "" };
    if said.begins("cp.async.mbarrier") {
        return vec!["[mb]".to_owned()];
    }
    if said.has("wait_group") {
        return vec!["0".to_owned()];
    }
    if said.has("commit_group") || said.has("wait_all") {
        return vec![String::new()];
    }
    if said.has("tensor") {
        let coordinates = (0..said.rank()).map(|at| format!("r{at}")).collect::<Vec<_>>().join(", ");
        let map = format!("[m, {{{coordinates}}}]");
        let to_shared = format!("[s], {map}, [mb]{mask}{policy}");
        return vec![to_shared, format!("{map}, [s]{policy}"), format!("{map}{policy}")];
    }
    if said.has("prefetch") {
        return vec![format!("[g], 16{policy}")];
    }
    if !said.has("bulk") {
        return vec![format!("[s], [g], 4{policy}"), format!("[s], [g], 16{policy}")];
    }
    vec![
        format!("[s], [g], 16, [mb]{mask}{policy}"),
        format!("[g], [s], 16{policy}"),
        format!("[s], [s], 16, [mb]{mask}{policy}"),
    ]
}

/// A product of D (registers), A (a descriptor) and B.
fn of_assembler_product(said: &Said<'_>) -> Vec<String> {
    let shape = said.words.iter().find_map(|word| word.strip_prefix("m64n"));
    let n: usize = shape.and_then(|rest| rest.split('k').next()?.parse().ok()).unwrap_or(8);
    let types: Vec<&str> =
        said.words.iter().copied().filter(|word| !word.starts_with("m64n")).skip(4).collect();
    let n_registers = if types.first() == Some(&"f16") { n / 4 } else { n / 2 };
    let d = format!("{{{}}}", (0..n_registers).map(|at| format!("r{at}")).collect::<Vec<_>>().join(", "));
    ["", ", 1, 1", ", 1, 1, 0, 0"].iter().map(|scales| format!("{d}, rd0, rd1, p{scales}")).collect()
}

fn of_assembler_tensor_memory(said: &Said<'_>) -> Vec<String> {
    let one = |text: &str| vec![text.to_owned()];
    if said.begins("tcgen05.mma") {
        return vec!["[t], rd0, rd1, r0, p".to_owned(), "[t], [r1], rd1, r0, p".to_owned()];
    }
    if said.begins("tcgen05.cp") {
        return one("[t], rd0");
    }
    if said.begins("tcgen05.ld") || said.begins("tcgen05.st") {
        let shapes = [("16x64b", 1), ("16x128b", 2), ("16x256b", 4), ("32x32b", 1), ("16x32bx2", 1)];
        let of_shape = shapes.iter().find(|(shape, _)| said.has(shape)).map_or(1, |(_, n)| *n);
        let times =
            said.words.iter().find_map(|word| word.strip_prefix('x')?.parse::<usize>().ok()).unwrap_or(1);
        let registers = (0..of_shape * times).map(|at| format!("r{at}")).collect::<Vec<_>>().join(", ");
        let half = if said.has("16x32bx2") { ", 16" } else { "" };
        return if said.begins("tcgen05.ld") {
            vec![format!("{{{registers}}}, [t]{half}")]
        } else {
            vec![format!("[t]{half}, {{{registers}}}")]
        };
    }
    if said.begins("tcgen05.alloc") {
        return one("[s], 32");
    }
    if said.begins("tcgen05.dealloc") {
        return one("t, 32");
    }
    if said.begins("tcgen05.commit") {
        return vec!["[mb]".to_owned(), "[mb], h0".to_owned()];
    }
    one("")
}
