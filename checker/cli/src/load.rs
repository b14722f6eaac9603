//! Programs and memory models from disk, or from this binary.

use crate::arguments::ProgramOptions;
use crate::watch::Watch;
use fencepost::check::{Config, FINDINGS_MAX, Limits};
use fencepost::encode::Treatment;
use fencepost::models::Model;
use fencepost::paths::Input;
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{LoadOptions, load as load_kernel};
use fencepost_dsl::{Diagnostic, SourceMap, litmus};
use std::path::Path;
use std::sync::Arc;

/// The model called `name`: a file if it ends in `.cat`, else one that comes with Fencepost.
pub fn model(sources: &mut SourceMap, name: &str, variants: &[String]) -> Result<Model, Vec<Diagnostic>> {
    let file = Input::named(Path::new(name));
    Model::load(sources, name, variants, &mut |path| file.read(path))
}

/// How a kernel and launch is checked: all properties, everything on, however long it takes.
pub fn config(options: &ProgramOptions, unroll_max: u32) -> Config {
    Config {
        unroll: options.unroll,
        unroll_max: unroll_max.max(options.unroll),
        limits: Limits {
            events_max: options.max_events,
            clauses_max: options.max_clauses,
            findings_max: FINDINGS_MAX,
            ..Limits::DEFAULT
        },
        listener: Arc::new(Watch::default()),
        budget: options.budget_steps(),
        ..Config::without_deadline(Treatment::DEFAULT)
    }
}

/// The program in a kernel file, or in a litmus test (a file that ends in `.litmus`).
pub fn program(
    sources: &mut SourceMap,
    input: &Input,
    options: &ProgramOptions,
) -> Result<Program, Vec<Diagnostic>> {
    if input.is_litmus() {
        return litmus::load(sources, &input.name, &mut |path| input.read(path));
    }
    let options = LoadOptions { defines: options.define.clone(), target: options.target.clone() };
    load_kernel(sources, &input.name, &mut |path| input.read(path), &options)
}
