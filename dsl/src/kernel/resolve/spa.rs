//! Kernels for SPA machines: operands of their instructions, `client` blocks, and the fields of their launches.

use super::super::ast;
use super::super::opcode::PtxType;
use super::super::program::{
    Address, BinaryOp, Channel, Coordinate, Expression, ExpressionKind, InstructionKind, Launch, SpaLaunch,
    Statement, StatementKind, Width,
};
use super::body::Body;
use super::instruction::Site;
use super::{Checker, Reported, Resolved};
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::vocabulary::{Client, Proxy, Replication, Space};

/// Fields of a launch that only these machines have.
pub(super) const FIELDS: [&str; 3] = ["sms", "copy_engine", "host"];

/// The fields of one launch as far as they are given.
#[derive(Clone, Copy, Default)]
pub(super) struct LaunchFields {
    sms: Option<(u32, Span)>,
    copy_engine: Option<(Option<Channel>, Span)>,
    host: Option<(bool, Span)>,
}

impl LaunchFields {
    /// What they mean for a device with so many CTAs: on an SM of its own each, if nothing is said.
    pub(super) fn resolve(self, ctas: u32) -> SpaLaunch {
        SpaLaunch {
            sms: self.sms.map_or(ctas, |(sms, _)| sms),
            copy_engine: self.copy_engine.and_then(|(engine, _)| engine),
            host: self.host.is_some_and(|(host, _)| host),
        }
    }
}

/// A `client` block whose statements are resolved.
pub(super) struct ClientBlock {
    client: Client,
    span: Span,
    statements: Vec<Statement>,
}

impl Checker {
    /// Reads a field of [`FIELDS`]; `false` if it is none of them.
    pub(super) fn spa_field(
        &mut self,
        fields: &mut LaunchFields,
        field: &ast::Name,
        value: &ast::Expr,
    ) -> Resolved<bool> {
        if !FIELDS.contains(&field.text.as_str()) {
            return Ok(false);
        }
        let place = field.place.0;
        if !self.target.spa {
            let message = format!("a launch of a PTX kernel has no `{}`", field.text);
            let error = Diagnostic::new("validate::spa-launch", message, place, "of SPA machines only");
            let help = "PTX's model knows scopes, not SMs and their caches; leave it out, or write `//! target spa_50` at the top";
            return Err(self.report(error.with_help(help).with_rule("SPA-2")));
        }
        let first = match field.text.as_str() {
            "sms" => fields.sms.map(|(_, first)| first),
            "host" => fields.host.map(|(_, first)| first),
            _ => fields.copy_engine.map(|(_, first)| first),
        };
        if let Some(first) = first {
            return Err(self.report(super::body::duplicate_name(&field.text, place, first)));
        }
        match field.text.as_str() {
            "sms" => {
                let sms = self.evaluate(value)?;
                let Ok(sms @ 1..) = u32::try_from(sms) else {
                    let message = format!("`sms` is {sms}");
                    let label = "at least 1, and not more than there are CTAs to run";
                    return Err(self.report(Diagnostic::new(
                        "validate::launch-dimension",
                        message,
                        value.place.0,
                        label,
                    )));
                };
                fields.sms = Some((sms, place));
            }
            "host" => fields.host = Some((self.presence(field, value)?, place)),
            _ => {
                let channel = match &value.kind {
                    ast::ExprKind::Name(name) if name == "same_channel" => Some(Channel::Same),
                    _ => self.presence(field, value)?.then_some(Channel::Other),
                };
                fields.copy_engine = Some((channel, place));
            }
        }
        Ok(true)
    }

    fn presence(&mut self, field: &ast::Name, value: &ast::Expr) -> Resolved<bool> {
        if let ast::ExprKind::Bool(present) = value.kind {
            return Ok(present);
        }
        let name = &field.text;
        let message = format!("`{name}` is `true` or `false`");
        let error = Diagnostic::new("validate::spa-launch", message, value.place.0, "neither");
        let help = if name == "copy_engine" {
            "write `copy_engine: true`, or `copy_engine: same_channel` for one on the virtual channel of the SMs"
        } else {
            "write `host: true` if the host takes part"
        };
        Err(self.report(error.with_help(help).with_rule("SPA-2")))
    }
}

impl Body<'_> {
    /// An object that these machines have nothing for.
    pub(super) fn check_spa_object(&mut self, object: &ast::Object) -> Resolved<()> {
        let is_plain = object.space == Space::Global
            && object.replication == Replication::default()
            && (object.proxy == Proxy::Texture || (object.proxy == Proxy::Generic && object.alias.is_none()));
        if !self.checker.target.spa || is_plain {
            return Ok(());
        }
        let name = &object.name;
        let message = format!("`{}` is neither global memory nor a texture", name.text);
        let error = Diagnostic::new("validate::spa-object", message, name.place.0, "declared here");
        let help = "for `spa_50` there are `global` objects, `texture` views of them, and `view`s; others are not checked";
        Err(self.report(error.with_help(help)))
    }

    /// What `LD` and its like access, if the width is not that of the object.
    pub(super) fn spa_width(
        &mut self,
        site: &Site<'_>,
        name: &str,
        (address, width): (&Address, Width),
        (ty, span): (PtxType, Span),
    ) -> Reported {
        let mut words: Vec<&str> = site.opcode.text.split('.').collect();
        words.retain(|word| !matches!(*word, "U8" | "S8" | "U16" | "S16" | "32" | "U32" | "64" | "U64"));
        let opcode = words.join(".") + spa_suffix(width);
        let message =
            format!("`{name}` has elements of {width} bits, `{}` accesses {}", site.opcode.text, ty.width);
        let error = Diagnostic::new("validate::type-mismatch", message, span, format!("{} bits", ty.width));
        self.report(
            error.with_label(address.span, format!("{width} bits")).with_help(format!(
                "write `{opcode}`, or declare a view: `view … : u{} of {name};`",
                ty.width
            )),
        )
    }

    /// The block of a client, if it may stand here.
    pub(super) fn resolve_client(
        &mut self,
        name: &ast::Name,
        block: &ast::Block,
        span: Span,
    ) -> Resolved<ClientBlock> {
        let place = name.place.0;
        if !self.checker.target.spa {
            let message = "a PTX kernel has no `client` blocks";
            let error = Diagnostic::new("validate::spa-client", message, place, "of SPA machines only");
            let help =
                "PTX's model is about GPU threads; leave it out, or write `//! target spa_50` at the top";
            return Err(self.report(error.with_help(help).with_rule("SPA-2")));
        }
        let Some(client) = Client::ALL.into_iter().find(|client| client.name() == name.text) else {
            let message = format!("there is no client `{}`", name.text);
            let error = Diagnostic::new("validate::spa-client", message, place, "unknown client");
            return Err(
                self.report(error.with_help("clients are `copy_engine` and `host`").with_rule("SPA-2"))
            );
        };
        let statements = self.resolve_block(block);
        if let Some(at) = find_barrier(&statements) {
            let message = format!("{} is in no CTA, so it takes part in no barrier", client.title());
            let error = Diagnostic::new("validate::spa-client", message, at, "in a `client` block");
            return Err(self
                .report(error.with_help("let it wait for memory: `await LD [x] == 1;`").with_rule("SPA-3")));
        }
        Ok(ClientBlock { client, span, statements })
    }

    /// The body of all threads: what SM threads run, and beside it what each client does.
    pub(super) fn divide_among_clients(
        &mut self,
        body: Vec<Statement>,
        blocks: Vec<ClientBlock>,
        launches: &[Launch],
        span: Span,
    ) -> Vec<Statement> {
        for block in &blocks {
            let has = |launch: &Launch| launch.spa.is_some_and(|spa| spa.has(block.client));
            if !launches.iter().any(has) {
                let name = block.client.name();
                let message = format!("{} takes part in no launch of this kernel", block.client.title());
                let error = Diagnostic::new("validate::spa-client", message, block.span, "never runs");
                let help = format!("write `launch {{ {name}: true }}`, with the other dimensions");
                self.report(error.with_help(help).with_rule("SPA-2"));
            }
        }
        let is_alone =
            |launch: &Launch| launch.spa.is_none_or(|spa| Client::ALL.iter().all(|&c| !spa.has(c)));
        if launches.iter().all(is_alone) {
            return body;
        }
        let parts = std::iter::once((0, span, body))
            .chain(blocks.into_iter().map(|block| (block.client.number(), block.span, block.statements)));
        parts
            .map(|(number, span, then)| Statement {
                span,
                kind: StatementKind::If { condition: is_client(number, span), then, otherwise: Vec::new() },
            })
            .collect()
    }
}

/// Where some statement is a barrier, if one is.
fn find_barrier(statements: &[Statement]) -> Option<Span> {
    statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Instruction(instruction) => {
            matches!(instruction.kind, InstructionKind::Barrier { .. }).then_some(instruction.opcode_span)
        }
        StatementKind::If { then, otherwise, .. } => find_barrier(then).or_else(|| find_barrier(otherwise)),
        StatementKind::For { body, .. } => find_barrier(body),
        StatementKind::While { prelude, body, .. } => find_barrier(prelude).or_else(|| find_barrier(body)),
        StatementKind::Await { prelude, .. } => find_barrier(prelude),
        StatementKind::Assign { .. }
        | StatementKind::Break
        | StatementKind::Call { .. }
        | StatementKind::Exit
        | StatementKind::Host(_)
        | StatementKind::Unsupported(_)
        | StatementKind::Assert(_)
        | StatementKind::Assume(_)
        | StatementKind::Reachable(_) => None,
    })
}

/// Whether a thread is the client of that number; 0 is an SM thread.
fn is_client(number: u32, span: Span) -> Expression {
    let of = |kind| Box::new(Expression { span, width: 32, kind });
    let own = of(ExpressionKind::Coordinate(Coordinate::Client));
    let number = of(ExpressionKind::Constant(u128::from(number)));
    Expression { span, width: 1, kind: ExpressionKind::Binary(BinaryOp::Equal, own, number) }
}

fn spa_suffix(width: Width) -> &'static str {
    match width {
        8 => ".U8",
        16 => ".U16",
        64 => ".64",
        _ => "",
    }
}
