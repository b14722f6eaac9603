//! Each pass on fixed kernels: `cargo bench -p fencepost --bench pipeline`.
//!
//! Sizes (events, variables, clauses) do not belong here: they are snapshots of the suite `tests/sizes.rs`.

use criterion::{Criterion, criterion_group, criterion_main};
use fencepost::check::{Config, check};
use fencepost::encode::Treatment;
use fencepost::verdict::Property;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{FileId, SourceMap, cat, kernel, litmus, ptx};
use std::hint::black_box;
use std::path::Path;

const KERNELS: &[(&str, &str)] = &[
    ("message-passing", include_str!("../../tests/sizes/message-passing.fence")),
    ("ticket-lock-3", include_str!("../../tests/sizes/ticket-lock-3.fence")),
    ("ticket-lock-6", include_str!("../../tests/sizes/ticket-lock-6.fence")),
    ("cas-lock-4", include_str!("../../tests/sizes/cas-lock-4.fence")),
    ("cas-lock-6", include_str!("../../tests/sizes/cas-lock-6.fence")),
    ("barrier-pipeline-64", include_str!("../../tests/sizes/barrier-pipeline-64.fence")),
    ("barrier-pipeline-256", include_str!("../../tests/sizes/barrier-pipeline-256.fence")),
    ("mbarrier-ring-2x3", include_str!("../../tests/sizes/mbarrier-ring-2x3.fence")),
    ("mbarrier-ring-2x3-lanes", include_str!("../../tests/sizes/mbarrier-ring-2x3-lanes.fence")),
    ("tma-ring-2x3", include_str!("../../tests/sizes/tma-ring-2x3.fence")),
    ("tma-ring-4x6", include_str!("../../tests/sizes/tma-ring-4x6.fence")),
];

fn model() -> MemoryModel {
    let text = include_str!("../engine/models/ptx.cat");
    cat::load(&mut SourceMap::default(), "ptx.cat", &mut |_| Ok(text.into()), &[])
        .expect("the shipped model loads")
}

fn program(text: &str) -> Program {
    let options = LoadOptions { defines: Vec::new(), target: None };
    kernel::load(&mut SourceMap::default(), "bench.fence", &mut |_| Ok(text.into()), &options)
        .expect("the benchmark kernels are well-formed")
}

fn lines_of_ptx() -> String {
    let line = "\t.loc\t1 7 9\n\tmad.lo.s32 \t%r4, %r2, %r1, %r3;\n\tld.global.u32 \t%r6, [%rd1+16];\n\t// a comment\n";
    let body = line.repeat(5000);
    format!(".version 9.0\n.target sm_90\n.visible .entry k() {{\n.reg .b32 %r<8>;\n{body}ret;\n}}\n")
}

fn passes(criterion: &mut Criterion) {
    let model = model();
    let mut front = criterion.benchmark_group("front-end");
    for &(name, text) in KERNELS {
        front.bench_function(name, |bencher| bencher.iter(|| program(black_box(text))));
    }
    front.bench_function("ptx.cat", |bencher| bencher.iter(self::model));
    let module = lines_of_ptx();
    front.bench_function("20 000 lines of PTX", |bencher| {
        bencher.iter(|| ptx::parse(black_box(&module), FileId(0)).expect("it is well-formed"));
    });
    front.finish();
    let mut whole = criterion.benchmark_group("check");
    whole.sample_size(10);
    for &(name, text) in KERNELS {
        let program = program(text);
        let kernel = &program.kernels[0];
        whole.bench_function(name, |bencher| {
            bencher.iter(|| {
                check(
                    &program,
                    kernel,
                    &kernel.launches[0],
                    &model,
                    &Config::without_deadline(Treatment::DEFAULT),
                )
            });
        });
    }
    whole.finish();
    // What each optimisation is worth, on a lock.
    let mut treatments = criterion.benchmark_group("ticket-lock-3-without");
    treatments.sample_size(10);
    let program = program(KERNELS[1].1);
    let kernel = &program.kernels[0];
    for &(name, treatment) in Treatment::ONE_OFF {
        treatments.bench_function(name, |bencher| {
            bencher.iter(|| {
                check(&program, kernel, &kernel.launches[0], &model, &Config::without_deadline(treatment))
            });
        });
    }
    treatments.finish();
}

const MESSAGE_PASSING: &str = "PTX mp
{ x = 0; y = 0; }
 P0@cta 0,gpu 0     | P1@cta 1,gpu 0       ;
 st.weak x, 1       | ld.acquire.gpu r1, y ;
 st.release.gpu y, 1 | ld.weak r2, x        ;
~exists (P1:r1 == 1 /\\ P1:r2 == 0)";

/// Litmus tests from text to answers, condition and race: one of ours, and all published ones where they are there.
fn litmus_tests(criterion: &mut Criterion) {
    let model = model();
    let config = Config {
        properties: vec![Property::Race, Property::Condition],
        ..Config::without_deadline(Treatment::DEFAULT)
    };
    let answer = |text: &str| {
        let mut read = |_: &str| Ok(text.to_owned());
        // What is not supported costs its parsing.
        let Ok(program) = litmus::load(&mut SourceMap::default(), "bench.litmus", &mut read) else { return };
        let kernel = &program.kernels[0];
        let _ = black_box(check(&program, kernel, &kernel.launches[0], &model, &config));
    };
    let mut group = criterion.benchmark_group("litmus");
    group.sample_size(10);
    group.bench_function("message-passing", |bencher| bencher.iter(|| answer(black_box(MESSAGE_PASSING))));
    let texts = published();
    if !texts.is_empty() {
        group.bench_function("published", |bencher| {
            bencher.iter(|| texts.iter().for_each(|text| answer(text)));
        });
    }
    group.finish();
}

/// The texts of the published litmus tests in a folder beside the repository; none if it is not there.
fn published() -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/litmus/ptx")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                texts.extend(std::fs::read_to_string(&path));
            }
        }
    }
    texts
}

criterion_group!(benches, passes, litmus_tests);
criterion_main!(benches);
