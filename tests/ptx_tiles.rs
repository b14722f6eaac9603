//! Kernels whose threads all write and all read tiles, at the sizes they were compiled for: too large for a formula of the whole,
//! and each thread has to do with nearly all others, so they are looked at place by place. Where the published samples are.

use fencepost::{Options, Source, Verdict, check};
use std::fs;
use std::path::Path;

/// A module of the samples, if they are there.
#[expect(clippy::print_stdout, reason = "the suite says what it could not look at")]
fn sample(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/ptx-samples").join(name);
    let module = fs::read_to_string(path).ok();
    if module.is_none() {
        println!("there is no ../shared/ptx-samples: {name} is not looked at");
    }
    module
}

/// What is said of a harness of a module `k.ptx`.
fn verdict_of(harness: &str, module: &str, options: Options) -> (Verdict, Vec<String>) {
    let source = Source::text("k.fence", harness.to_owned()).with("k.ptx", module.to_owned());
    let report = check(source, &options.repairs(false)).expect("it is checked");
    (report.verdict(), report.findings().map(|finding| finding.code.to_string()).collect())
}

/// Without the last `what` before the first `place`, something that `code` starts is found.
fn is_missed(harness: &str, module: &str, (what, place): (&str, &str), code: &str, options: Options) {
    let (before, behind) = module.split_once(place).expect("the place is there");
    let (before, between) = before.rsplit_once(what).expect("what is left out is there");
    let (verdict, codes) = verdict_of(harness, &format!("{before}{between}{place}{behind}"), options);
    assert_eq!(verdict, Verdict::Violated, "without {what}");
    assert!(codes.iter().any(|own| own.starts_with(code)), "without {what}: {codes:?}");
}

/// The harness of an entry that is given tensor maps, each by its parameter, the rows of its tensor and those of a box, and
/// numbers; of `n` parameters all others are 0.
fn of_maps(entry: &str, block: u32, maps: &[(u32, [u32; 2])], numbers: &[(u32, u32)], n: u32) -> String {
    let (mut objects, mut settings) = (String::new(), String::new());
    for at in 0..n {
        let value = match maps.iter().find(|(map, _)| *map == at) {
            Some((_, [rows, of_box])) => {
                objects += &format!("global t{at}[{rows}][256]: u16 = 0;\n");
                objects += &format!("param m{at}: tensormap of t{at}[{of_box}, 64];\n");
                format!("&m{at}")
            }
            None => numbers.iter().find(|(number, _)| *number == at).map_or(0, |own| own.1).to_string(),
        };
        settings += &format!("    param {at} = {value};\n");
    }
    let import = format!("import \"k.ptx\" entry {entry} as {entry}");
    let launch = format!("launch {{ ctas: 1, block: {block} }}");
    format!("{objects}{import} {{\n    {launch}\n{settings}    shared dynamic 196608;\n}}\n")
}

#[test]
fn a_product_from_registers() {
    let Some(module) = sample("triton_matmul_sm80.ptx") else { return };
    let harness = "
global a[2048]: u16;
global b[2048]: u16;
global c[4096]: u16;
import \"k.ptx\" entry matmul as matmul {
    launch { ctas: 1, block: 128 }
    param 0 = &a; param 1 = &b; param 2 = &c;
    param 3 = 64; param 4 = 64; param 5 = 32; param 6 = 0; param 7 = 0;
    shared dynamic 24576;
}
";
    let options = Options::default;
    assert_eq!(verdict_of(harness, &module, options()), (Verdict::Proved, vec![]));
    // The barrier between the stores of the tiles and the reads of matrices.
    is_missed(harness, &module, ("bar.sync \t0;", "ldmatrix"), "race::", options());
}

/// Two warps copy parts of a tile, eight multiply, and all store their part of the result for a copy out of it.
#[test]
fn a_product_of_a_warpgroup() {
    let Some(module) = sample("matmul_ws_sm90.ptx") else { return };
    let maps = [(0, [512, 128]), (5, [512, 64]), (10, [256, 64])];
    let harness = of_maps("matmul", 256, &maps, &[(15, 128), (16, 128), (17, 64)], 20);
    let options = || Options::default().variant("elects-first");
    assert_eq!(verdict_of(&harness, &module, options()), (Verdict::Proved, vec![]));
    is_missed(&harness, &module, ("wgmma.fence.sync.aligned;", "wgmma.mma_async"), "async::", options());
    is_missed(&harness, &module, ("wgmma.commit_group.sync.aligned;", "stmatrix"), "async::", options());
    // The barrier between the stores of the result and the copy out of it.
    is_missed(&harness, &module, ("bar.sync \t0;", "cp.async.bulk.tensor.2d.global"), "race::", options());
}

/// Queries, keys and values come by copies, and the result overwrites the queries.
#[test]
fn attention_of_a_warpgroup() {
    let Some(module) = sample("triton_attention_sm90.ptx") else { return };
    let maps = [(0, [512, 128]), (5, [256, 64]), (10, [256, 64]), (15, [256, 64])];
    let harness = of_maps("attention", 128, &maps, &[(20, 64)], 23);
    let options = || Options::default().variant("elects-first");
    assert_eq!(verdict_of(&harness, &module, options()), (Verdict::Proved, vec![]));
    is_missed(&harness, &module, ("wgmma.commit_group.sync.aligned;", "stmatrix"), "async::", options());
}
