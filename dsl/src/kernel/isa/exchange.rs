//! What the lanes of a warp tell one another: `shfl.sync`, `vote.sync`, `match.sync`, `redux.sync`.
//!
//! They meet as at `bar.warp.sync`, but no memory is ordered (MM-37).

use super::words::Words;
use super::{Built, Family, Floor, Form, Key, Slot, Traits, form, must, only, since, unsupported};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{
    Exchange, ExchangeKind, Expression, InstructionKind, LaneReduction, RegisterId, Shuffle, Vote, Width,
};
use crate::kernel::resolve::instruction::{Results, Site};
use crate::kernel::resolve::{Body, Resolved};

const WITH_PREDICATE: &str = "the second result is a predicate: write `let {v, p} = …`";

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&SHUFFLE, &VOTE, &MATCH, &REDUCE];

const fn exchange(
    name: &'static str,
    slots: &'static [Slot],
    floor: Floor,
    build: super::Build,
    result: &'static [(&'static str, Width)],
) -> Form {
    form(name, slots, floor, build).result(result).traits(Traits::ACTS).rule("MM-37")
}

pub(super) static SHUFFLE: Family = Family {
    name: "shfl",
    code: "validate::exchange-form",
    help: "write `let v = shfl.sync.idx.b32 value, lane, 31, 0xffffffff;`, or `.up`, `.down`, `.bfly`; the forms without \
           `.sync` are gone since sm_70",
    rule: "MM-37",
    others: &[],
    forms: &[exchange(
        "shfl.sync",
        &[must(Key::Operation, &["up", "down", "bfly", "idx"]), must(Key::Type, &["b32"])],
        since(6, 0, 30),
        build_shuffle,
        &[("", 32)],
    )
    .operands("v = … value, lane, clamp, mask")],
};

pub(super) static VOTE: Family = Family {
    name: "vote",
    code: "validate::exchange-form",
    help: "write `let p = vote.sync.any.pred condition, 0xffffffff;`, or `.all`, `.uni`, `.ballot.b32`; the forms without \
           `.sync` are gone since sm_70",
    rule: "MM-37",
    others: &[],
    forms: &[exchange(
        "vote.sync",
        &[must(Key::Operation, &["all", "any", "uni", "ballot"]), must(Key::Type, &["pred", "b32"])],
        since(6, 0, 30),
        build_vote,
        &[("ballot", 32), ("", 1)],
    )
    .check(check_vote)
    .operands("v = … condition, mask")],
};

pub(super) static MATCH: Family = Family {
    name: "match",
    code: "validate::exchange-form",
    help: "write `let lanes = match.any.sync.b32 value, 0xffffffff;`, or `let {lanes, p} = match.all.sync.b32 …;`",
    rule: "MM-37",
    others: &[],
    forms: &[
        exchange(
            "match.any.sync",
            &[must(Key::Type, &["b32", "b64"])],
            since(6, 0, 70),
            build_match,
            &[("", 32)],
        )
        .operands("lanes = … value, mask"),
        exchange(
            "match.all.sync",
            &[must(Key::Type, &["b32", "b64"])],
            since(6, 0, 70),
            build_match,
            &[("", 32)],
        )
        .operands("lanes = … value, mask"),
    ],
};

pub(super) static REDUCE: Family = Family {
    name: "redux",
    code: "validate::exchange-form",
    help: "write `let sum = redux.sync.add.u32 value, 0xffffffff;`",
    rule: "MM-37",
    others: &[],
    forms: &[exchange(
        "redux.sync",
        &[
            must(Key::Operation, &["add", "min", "max", "and", "or", "xor"]),
            must(Key::Type, &["u32", "s32", "b32"]),
            unsupported(&["f32", "abs", "NaN"]),
        ],
        since(7, 0, 80),
        build_reduce,
        &[("", 32)],
    )
    .check(check_reduce)
    .floors(&[("f32", only(8, 6, 100, &[]))])
    .operands("v = … value, mask")],
};

/// What a vote gives goes with its kind.
fn check_vote(words: &Words<'_>) -> Result<(), Diagnostic> {
    let operation = words.of(Key::Operation);
    let needed = if operation == "ballot" { "b32" } else { "pred" };
    check_type(words, needed, &format!("`vote.sync.{operation}` gives"), &|_| needed == words.of(Key::Type))
}

/// The types that an operation has.
fn check_reduce(words: &Words<'_>) -> Result<(), Diagnostic> {
    let is_bitwise = matches!(words.of(Key::Operation), "and" | "or" | "xor");
    let needed = if is_bitwise { "b32" } else { "u32" };
    let subject = format!("`redux.sync.{}` is of", words.of(Key::Operation));
    check_type(words, needed, &subject, &|ty| is_bitwise == (ty == "b32"))
}

fn check_type(
    words: &Words<'_>,
    needed: &str,
    subject: &str,
    is_right: &dyn Fn(&str) -> bool,
) -> Result<(), Diagnostic> {
    match words.written(Key::Type) {
        Some((ty, span)) if !is_right(ty) => {
            let message = format!("{subject} `.{needed}`, not `.{ty}`");
            let error = Diagnostic::new("validate::exchange-form", message, span, format!("not `.{needed}`"));
            Err(error.with_help(format!("write `.{needed}`")).with_rule("MM-37"))
        }
        _ => Ok(()),
    }
}

fn build_shuffle(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(
        site,
        4,
        4,
        "a value, a lane or distance, the clamp with the segments, and a mask of lanes",
    )?;
    let [value, lane, clamp] = [0, 1, 2].map(|number| body.value_operand(site, &site.operands[number], 32));
    let (value, source) = (value?, Some([lane?, clamp?]));
    let kind = ExchangeKind::Shuffle(match words.of(Key::Operation) {
        "up" => Shuffle::Up,
        "down" => Shuffle::Down,
        "bfly" => Shuffle::Butterfly,
        _ => Shuffle::Index,
    });
    let (destination, predicate) = body.exchanged(site, true)?;
    body.exchange(site, (kind, value, source), (destination, predicate))
}

fn build_vote(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 2, 2, "a condition and a mask of lanes")?;
    let vote = match words.of(Key::Operation) {
        "all" => Vote::All,
        "any" => Vote::Any,
        "uni" => Vote::Uniform,
        _ => Vote::Ballot,
    };
    let Operand::Expr(condition) = &site.operands[0] else {
        return Err(body.wrong_operand(site, site.span, "a condition"));
    };
    let value = body.resolve_condition(condition)?;
    let destination = body.one_result(site, false, if vote == Vote::Ballot { 32 } else { 1 })?;
    body.exchange(site, (ExchangeKind::Vote(vote), value, None), (destination, None))
}

fn build_match(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 2, 2, "a value and a mask of lanes")?;
    let width = if words.has("b64") { 64 } else { 32 };
    let value = body.value_operand(site, &site.operands[0], width)?;
    let all = words.form().name == "match.all.sync";
    let (destination, predicate) = body.exchanged(site, all)?;
    body.exchange(site, (ExchangeKind::Match { all, width }, value, None), (destination, predicate))
}

fn build_reduce(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 2, 2, "a value and a mask of lanes")?;
    let value = body.value_operand(site, &site.operands[0], 32)?;
    let reduction = match (words.of(Key::Operation), words.has("s32")) {
        ("add", _) => LaneReduction::Add,
        ("min", false) => LaneReduction::Min,
        ("min", true) => LaneReduction::SignedMin,
        ("max", false) => LaneReduction::Max,
        ("max", true) => LaneReduction::SignedMax,
        ("and", _) => LaneReduction::And,
        ("or", _) => LaneReduction::Or,
        _ => LaneReduction::Xor,
    };
    let destination = body.one_result(site, false, 32)?;
    body.exchange(site, (ExchangeKind::Reduce(reduction), value, None), (destination, None))
}

impl Body<'_> {
    /// The registers of the results: a value, and where there is one a predicate.
    fn exchanged(
        &mut self,
        site: &Site<'_>,
        has_predicate: bool,
    ) -> Resolved<(Option<RegisterId>, Option<RegisterId>)> {
        let (value, predicate) = match site.results {
            Results::Nothing => return Err(self.unbound_result(site)),
            Results::One(name) => (name, None),
            Results::Vector([value, predicate]) if has_predicate => (value.as_deref(), predicate.as_deref()),
            Results::Vector(_) => {
                let message = format!(
                    "`{}` gives a value{}",
                    site.opcode.text,
                    match has_predicate {
                        true => ", and maybe a predicate",
                        false => "",
                    }
                );
                let error =
                    Diagnostic::new("validate::vector-count", message, site.span, "a different number here");
                let help = if has_predicate { WITH_PREDICATE } else { "write one name" };
                return Err(self.report(error.with_help(help)));
            }
        };
        Ok((self.result_register(value, 32), self.result_register(predicate, 1)))
    }

    /// An exchange whose mask is the last operand.
    fn exchange(
        &mut self,
        site: &Site<'_>,
        (kind, value, source): (ExchangeKind, Expression, Option<[Expression; 2]>),
        (destination, predicate): (Option<RegisterId>, Option<RegisterId>),
    ) -> Resolved<Built> {
        let mask = self.lanes_operand(site, &site.operands[site.operands.len() - 1], "MM-37")?;
        let registers = match site.results {
            Results::Vector(_) => vec![destination, predicate],
            Results::Nothing | Results::One(_) => vec![destination],
        };
        let exchange = Exchange { kind, value, source, destination, predicate, mask };
        Ok((InstructionKind::Exchange(Box::new(exchange)), registers))
    }
}
