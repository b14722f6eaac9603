//! A program with changes, and what they are about.

use super::edit::{Edit, EditKind};
use super::syntax::Syntax;
use super::text::Texts;
use fencepost_dsl::kernel::program::{Launch, Parameter, Program};

/// The program that other texts are, and the kernel and launch of it that are meant.
pub struct Variant {
    /// The program.
    pub program: Program,
    /// The kernel's place in it.
    pub kernel: usize,
    /// The launch.
    pub launch: Launch,
}

impl Variant {
    /// The program, with its own launch of the same name unless that was made up on the command line; `None` if the texts are
    /// none.
    pub fn of(texts: &Texts, kernel: &str, launch: &Launch) -> Option<Self> {
        let program = texts.program()?;
        let kernel = program.kernels.iter().position(|own| own.name == kernel)?;
        let own = program.kernels[kernel].launches.iter().find(|own| own.name == launch.name);
        let launch = own.unwrap_or(launch).clone();
        Some(Self { program, kernel, launch })
    }

    /// Lets parameters have one value.
    pub fn fix(&mut self, value: impl Fn(&Parameter) -> Option<u64>) {
        for own in &mut self.program.kernels[self.kernel].parameters {
            if let Some(value) = value(own) {
                (own.min, own.max) = (value, value);
            }
        }
    }
}

/// Whether one of some changes is of what an access reads, writes or names, and not of what orders it.
pub fn are_of_data(edits: &[Edit], syntax: &Syntax) -> bool {
    edits.iter().any(|edit| match edit.kind {
        EditKind::Replace { span, .. } => syntax.instructions.iter().any(|own| {
            own.span.holds(span) && own.span != span && own.opcode_span != span && !own.synchronizes()
        }),
        _ => false,
    })
}
