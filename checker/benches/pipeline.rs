//! Each pass on fixed kernels: `cargo bench -p fencepost --bench pipeline`.
//!
//! Sizes (events, variables, clauses) do not belong here: they are snapshots of the suite `tests/sizes.rs`.

use criterion::{Criterion, criterion_group, criterion_main};
use fencepost::check::{Config, check};
use fencepost::encode::Treatment;
use fencepost_dsl::cat::memory_model::MemoryModel;
use fencepost_dsl::kernel::LoadOptions;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::{SourceMap, cat, kernel};
use std::hint::black_box;

const KERNELS: &[(&str, &str)] = &[
    ("message-passing", include_str!("../../tests/sizes/message-passing.fence")),
    ("ticket-lock-3", include_str!("../../tests/sizes/ticket-lock-3.fence")),
    ("ticket-lock-6", include_str!("../../tests/sizes/ticket-lock-6.fence")),
    ("cas-lock-4", include_str!("../../tests/sizes/cas-lock-4.fence")),
    ("cas-lock-6", include_str!("../../tests/sizes/cas-lock-6.fence")),
    ("barrier-pipeline-64", include_str!("../../tests/sizes/barrier-pipeline-64.fence")),
    ("barrier-pipeline-256", include_str!("../../tests/sizes/barrier-pipeline-256.fence")),
];

fn model() -> MemoryModel {
    let text = include_str!("../models/ptx.cat");
    cat::load(&mut SourceMap::default(), "ptx.cat", &mut |_| Ok(text.into()), &[])
        .expect("the shipped model loads")
}

fn program(text: &str) -> Program {
    let options = LoadOptions { defines: Vec::new(), target: None };
    kernel::load(&mut SourceMap::default(), "bench.fence", &mut |_| Ok(text.into()), &options)
        .expect("the benchmark kernels are well-formed")
}

fn passes(criterion: &mut Criterion) {
    let model = model();
    let mut front = criterion.benchmark_group("front-end");
    for &(name, text) in KERNELS {
        front.bench_function(name, |bencher| bencher.iter(|| program(black_box(text))));
    }
    front.bench_function("ptx.cat", |bencher| bencher.iter(self::model));
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

criterion_group!(benches, passes);
criterion_main!(benches);
