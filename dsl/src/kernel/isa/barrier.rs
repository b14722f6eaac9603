//! Barriers of a CTA and of a warp: `bar`, `barrier` (BR-1) and `bar.warp.sync` (BR-8).

use super::words::Words;
use super::{
    Aligned, Build, Built, Family, Floor, Form, Key, Need, Refusal, Slot, Traits, form, may, must, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{BarrierKind, BarrierReduction, Expression, InstructionKind, Width};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Results, Site};
use crate::kernel::resolve::{Body, Resolved};
use crate::span::Span;

const CODE: &str = "validate::barrier-form";
const HELP: &str = "forms are `bar.sync`, `bar.arrive`, `bar.red.popc.u32`, `bar.red.and.pred`, `bar.red.or.pred`, \
                    `bar.warp.sync` and `barrier.cluster.arrive`/`.wait`";

const NONE: &[Slot] = &[];
const PREDICATE_OR_COUNT: &[(&str, Width)] = &[("popc", 32), ("", 1)];
const REDUCTION: Slot = must(Key::Operation, &["popc", "and", "or"]);
/// Of what a reduction gives; it follows from the operation.
const TYPE: Slot = may(Key::Type, &["u32", "pred"]);
const ALIGNED: Slot = may(Key::Aligned, &["aligned"]);

/// `bar`, which is always aligned; `.cta` says nothing.
const fn bar(
    name: &'static str,
    spelled: &'static str,
    slots: &'static [Slot],
    floor: Floor,
    build: Build,
) -> Form {
    form(name, slots, floor, build)
        .spelled(spelled)
        .traits(Traits::ACTS.aligned(Aligned::Always("UB-B6")))
        .check(check_type)
        .rule("BR-1")
}

/// `barrier`, which is aligned if it says so.
const fn barrier(
    name: &'static str,
    spelled: &'static str,
    slots: &'static [Slot],
    floor: Floor,
    build: Build,
) -> Form {
    bar(name, spelled, slots, floor, build).traits(Traits::ACTS.aligned(Aligned::IfWritten("UB-B6")))
}

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&BAR, &BARRIER];

pub(super) static BAR: Family = Family {
    name: "bar",
    code: CODE,
    help: HELP,
    rule: "BR-1",
    others: &[(
        "bar.cluster",
        Need::Refused(&Refusal {
            code: CODE,
            message: "`bar` synchronizes a CTA; the barrier of a cluster is `barrier.cluster`",
            label: "not a barrier instruction",
            help: "write `barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;`",
            rule: "BR-9",
        }),
    )],
    forms: &[
        bar("bar.sync", "bar.sync", NONE, since(1, 0, 0), build_sync)
            .operands("id, n")
            .inserted(&["bar.sync 0;"]),
        bar("bar.cta.sync", "bar.sync", NONE, since(7, 8, 30), build_sync).operands("id, n"),
        bar("bar.arrive", "bar.arrive", NONE, since(2, 0, 0), build_arrive).operands("id, n"),
        bar("bar.cta.arrive", "bar.arrive", NONE, since(7, 8, 30), build_arrive).operands("id, n"),
        bar("bar.red", "bar.red", &[REDUCTION, TYPE], since(2, 0, 0), build_red)
            .result(PREDICATE_OR_COUNT)
            .operands("r = … id, n, c"),
        bar("bar.cta.red", "bar.red", &[REDUCTION, TYPE], since(7, 8, 30), build_red)
            .result(PREDICATE_OR_COUNT)
            .operands("r = … id, n, c"),
        form("bar.warp.sync", NONE, since(6, 0, 30), build_warp)
            .operands("mask")
            .inserted(&["bar.warp.sync 0xffffffff;"])
            .traits(Traits::ACTS)
            .rule("BR-8"),
    ],
};

pub(super) static BARRIER: Family = Family {
    name: "barrier",
    code: CODE,
    help: HELP,
    rule: "BR-1",
    others: &[],
    forms: &[
        barrier("barrier.sync", "barrier.sync", &[ALIGNED], since(6, 0, 30), build_sync).operands("id, n"),
        barrier("barrier.cta.sync", "barrier.sync", &[ALIGNED], since(7, 8, 30), build_sync)
            .operands("id, n"),
        barrier("barrier.arrive", "barrier.arrive", &[ALIGNED], since(6, 0, 30), build_arrive)
            .operands("id, n"),
        barrier("barrier.cta.arrive", "barrier.arrive", &[ALIGNED], since(7, 8, 30), build_arrive)
            .operands("id, n"),
        barrier("barrier.red", "barrier.red", &[REDUCTION, ALIGNED, TYPE], since(6, 0, 30), build_red)
            .result(PREDICATE_OR_COUNT)
            .operands("r = … id, n, c"),
        barrier("barrier.cta.red", "barrier.red", &[REDUCTION, ALIGNED, TYPE], since(7, 8, 30), build_red)
            .result(PREDICATE_OR_COUNT)
            .operands("r = … id, n, c"),
    ],
};

/// What a reduction gives goes with its operation.
fn check_type(words: &Words<'_>) -> Result<(), Diagnostic> {
    let Some((ty, span)) = words.written(Key::Type) else { return Ok(()) };
    let (operation, needed) = (words.of(Key::Operation), type_of(words.of(Key::Operation)));
    if ty == needed {
        return Ok(());
    }
    let message = format!("`.{operation}` gives `.{needed}`, not `.{ty}`");
    Err(Diagnostic::new(CODE, message, span, format!("not `.{needed}`"))
        .with_help(format!("write `.red.{operation}.{needed}`"))
        .with_rule("BR-1"))
}

fn type_of(operation: &str) -> &'static str {
    if operation == "popc" { "u32" } else { "pred" }
}

pub(super) fn build_sync(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 1, 2, "a barrier and maybe a thread count")?;
    let (id, count) = body.barrier_operands(site, site.operands)?;
    body.expect_no_result(site)?;
    Ok((built(words, BarrierKind::Sync, id, count), Vec::new()))
}

fn build_arrive(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    if site.operands.len() == 1 {
        let message = format!("`{}` needs a thread count", site.opcode.text);
        let error = Diagnostic::new("validate::barrier-missing-count", message, site.span, "no count")
            .with_help("write `bar.arrive 0, 64;`: the number of threads that take part");
        return Err(body.report(error.with_rule("BR-1")));
    }
    body.expect_operands(site, 2, 2, "a barrier and a thread count")?;
    let (id, count) = body.barrier_operands(site, site.operands)?;
    body.expect_no_result(site)?;
    Ok((built(words, BarrierKind::Arrive, id, count), Vec::new()))
}

fn build_red(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 2, 3, "a barrier, maybe a thread count, and a condition")?;
    let operation = words.of(Key::Operation);
    words.set(Key::Type, type_of(operation));
    let op = match operation {
        "popc" => BarrierReduction::Popc,
        "and" => BarrierReduction::And,
        _ => BarrierReduction::Or,
    };
    let (operands, last) = site.operands.split_at(site.operands.len() - 1);
    let (id, count) = body.barrier_operands(site, operands)?;
    let [Operand::Expr(predicate)] = last else {
        return Err(body.wrong_operand(site, site.span, "a condition"));
    };
    let predicate = body.resolve_condition(predicate)?;
    let width = if op == BarrierReduction::Popc { 32 } else { 1 };
    let name = match site.results {
        Results::One(name) => name,
        Results::Nothing => return Err(body.unbound_result(site)),
        Results::Vector(_) => return Err(body.vector_count(site, 1)),
    };
    let named = body.result_register(name, width);
    let destination = named.unwrap_or_else(|| body.generate(width));
    let kind = BarrierKind::Reduce { destination, op, predicate };
    Ok((built(words, kind, id, count), vec![Some(destination)]))
}

fn built(words: &Words<'_>, kind: BarrierKind, id: Expression, count: Option<Expression>) -> InstructionKind {
    let aligned = match words.form().traits.aligned {
        Aligned::Always(_) => true,
        Aligned::No | Aligned::IfWritten(_) => words.has("aligned"),
    };
    InstructionKind::Barrier { kind, id, count, aligned, instance: None }
}

fn build_warp(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "a mask of lanes")?;
    let mask = body.lanes_operand(site, &site.operands[0], "UB-W1")?;
    Ok((InstructionKind::WarpSync { mask }, Vec::new()))
}

impl Body<'_> {
    /// The barrier, and the number of threads if it is given.
    fn barrier_operands(
        &mut self,
        site: &Site<'_>,
        operands: &[Operand],
    ) -> Resolved<(Expression, Option<Expression>)> {
        let id = self.value_operand(site, &operands[0], 32)?;
        if let Some(value) = constant_value(&id)
            && value > 15
        {
            let message = format!("there is no barrier {value}");
            let error = Diagnostic::new("validate::barrier-id", message, id.span, "not in 0..=15");
            return Err(self.report(error.with_help("a CTA has barriers 0 to 15").with_rule("UB-B1")));
        }
        let count = match operands.get(1) {
            Some(operand) => Some(self.value_operand(site, operand, 32)?),
            None => None,
        };
        if let Some(count) = &count
            && let Some(value) = constant_value(count)
            && (value == 0 || value % 32 != 0 || value > 1024)
        {
            return Err(self.report(wrong_count(value, count.span)));
        }
        Ok((id, count))
    }
}

fn wrong_count(value: u128, span: Span) -> Diagnostic {
    let message = format!("{value} is not a thread count of a barrier");
    let label = if value > 1024 { "more than a CTA has" } else { "not a multiple of 32" };
    Diagnostic::new("validate::barrier-count", message, span, label)
        .with_help("barriers count whole warps: 32, 64, … up to 1024")
        .with_rule("UB-B2")
}
