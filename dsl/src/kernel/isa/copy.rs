//! `cp.async`: generic copies of a few bytes, their groups, and how an mbarrier learns of them (AS-8 … AS-11).

use super::words::Words;
use super::{
    Built, Family, Floor, Form, Key, Lack, Need, Refusal, Slot, Traits, form, may, must_or, refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::{AsyncCopy, AsyncGroup, AsyncOp, Expression, Instruction, InstructionKind};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::{Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::vocabulary::Space;

const FLOOR: Floor = since(7, 0, 80);

/// `.noinc` anywhere but on `cp.async.mbarrier.arrive`.
pub(super) const NO_NOINC: Slot = refused(
    &["noinc"],
    &Refusal {
        code: "validate::copy-noinc",
        message: "{} belongs to `cp.async.mbarrier.arrive`",
        label: "not allowed here",
        help: "leave it out",
        rule: "AS-11",
    },
);
pub(super) const NO_READ: Slot = refused(
    &["read"],
    &Refusal {
        code: "validate::copy-form",
        message: "{} belongs to `cp.async.bulk.wait_group`",
        label: "not allowed here",
        help: "leave it out: the copies of `cp.async` have no wait for their reads only",
        rule: "AS-20",
    },
);
/// A cache policy, which is the last operand.
pub(super) const POLICY: Slot = Slot { key: Key::Policy, words: &["L2::cache_hint"], need: Need::Hint };

const ELEMENTS: Form = form(
    "cp.async",
    &[
        must_or(
            Key::Operation,
            &["ca", "cg"],
            &Lack {
                code: "validate::copy-cache",
                what: "`.ca` or `.cg`",
                help: "write `cp.async.ca.shared::cta.global`; it changes nothing here but the sizes allowed",
                rule: "AS-9",
            },
        ),
        may(Key::Space, &["shared::cta", "shared", "shared::cluster"]),
        may(Key::Space, &["global"]),
        POLICY,
        Slot { key: Key::Plain, words: &["L2::64B", "L2::128B", "L2::256B"], need: Need::Hint },
        refused(
            &["mbarrier::complete_tx::bytes", "bulk_group"],
            &Refusal {
                code: "validate::copy-completion",
                message: "`cp.async` has no {}",
                label: "not allowed here",
                help: "wait with `cp.async.wait_group`, or signal an mbarrier with `cp.async.mbarrier.arrive`",
                rule: "AS-3",
            },
        ),
        NO_NOINC,
    ],
    FLOOR,
    build_copy,
)
.floors(&[
    ("L2::cache_hint", since(7, 4, 80)),
    ("L2::64B", since(7, 4, 80)),
    ("L2::128B", since(7, 4, 80)),
    ("L2::256B", since(7, 4, 80)),
])
.operands("[dst], [src], bytes{, bytes read, or whether to ignore the source}")
.check(check_spaces)
.traits(Traits::ACTS)
.rule("AS-8");

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&COPY];

pub(super) static COPY: Family = Family {
    name: "cp",
    code: "validate::copy-form",
    help: "write `cp.async…`, `cp.async.bulk…` or `cp.reduce.async.bulk…`",
    rule: "AS-8",
    others: &[],
    forms: &[
        ELEMENTS,
        form(
            "cp.async.mbarrier.arrive",
            &[
                may(Key::Plain, &["noinc"]),
                may(Key::Space, &["shared::cta", "shared"]),
                may(Key::Type, &["b64"]),
                refused(
                    &["global", "shared::cluster"],
                    &Refusal {
                        code: "validate::mbarrier-peer",
                        message: "`cp.async.mbarrier.arrive` works on an mbarrier of the own CTA only",
                        label: "not `.shared::cta`",
                        help: "write `.shared::cta`, or leave the state space out",
                        rule: "MB-2",
                    },
                ),
            ],
            FLOOR,
            build_arrive,
        )
        .operands("[bar]")
        .traits(Traits::ACTS)
        .rule("AS-11"),
        form("cp.async.commit_group", &[NO_READ, NO_NOINC], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Commit(AsyncGroup::Copy).into())
        })
        .traits(Traits::ACTS)
        .rule("AS-7"),
        form("cp.async.wait_group", &[NO_READ, NO_NOINC], FLOOR, |body, site, _| {
            body.build_wait(site, AsyncGroup::Copy, false)
        })
        .operands("n")
        .leaves_pending()
        .traits(Traits::ACTS)
        .rule("AS-7"),
        form("cp.async.wait_all", &[NO_READ, NO_NOINC], FLOOR, build_wait_all)
            .inserted(&["cp.async.wait_all;"])
            .traits(Traits::ACTS)
            .rule("AS-7"),
    ],
};

/// `.shared{::cta}.global`, the destination first.
fn check_spaces(words: &Words<'_>) -> Result<(), Diagnostic> {
    if let [("shared::cta" | "shared", _), ("global", _)] = words.all(Key::Space)[..]
        && words.in_order(Key::Space)
    {
        return Ok(());
    }
    let span = words.all(Key::Space).iter().map(|(_, span)| *span).min_by_key(|span| span.start);
    let message = "`cp.async` copies from global memory to the own CTA's shared memory";
    let span = span.unwrap_or(words.opcode().span);
    Err(Diagnostic::new("validate::copy-direction", message, span, "another direction, or none")
        .with_help("write `cp.async.ca.shared::cta.global`; `cp.async.bulk` has more directions")
        .with_rule("AS-8"))
}

/// `[dst], [src], bytes{, source bytes or whether to ignore the source}{, cache policy}`
fn build_copy(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    let n_policies = usize::from(words.written(Key::Policy).is_some());
    let form = if n_policies == 0 {
        "a destination, a source, their bytes, and maybe how many of them to read"
    } else {
        "a destination, a source, their bytes, maybe how many of them to read, and a cache policy"
    };
    body.expect_operands(site, 3 + n_policies, 4 + n_policies, form)?;
    let (destination, to_width) = body.data_operand(site, &site.operands[0], Space::Shared, "AS-8")?;
    body.expect_own_cta(site, &destination, "AS-8", "written by `cp.async`")?;
    let (source, from_width) = body.data_operand(site, &site.operands[1], Space::Global, "AS-8")?;
    let size = body.value_operand(site, &site.operands[2], 32)?;
    let is_cg = words.has("cg");
    let sizes: &[u128] = if is_cg { &[16] } else { &[4, 8, 16] };
    let Some(bytes) = constant_value(&size).filter(|bytes| sizes.contains(bytes)) else {
        let message = format!("`{}` cannot copy this many bytes", site.opcode.text);
        let error = Diagnostic::new("validate::copy-size", message, size.span, "not a size of it");
        let help = if is_cg { "`.cg` copies 16 bytes" } else { "`.ca` copies 4, 8 or 16 bytes, a constant" };
        return Err(body.report(error.with_help(help).with_rule("AS-9")));
    };
    for (address, width) in [(&destination, to_width), (&source, from_width)] {
        body.expect_whole_elements(address, width, bytes, size.span, "AS-9")?;
        body.expect_alignment(address, width, bytes, "AS-9")?;
    }
    let (extra, policy) = site.operands[3..].split_at(site.operands.len() - 3 - n_policies);
    body.policy_operand(site, policy.first())?;
    let (source_bytes, ignore_source) = match extra.first() {
        Some(operand) => extra_operand(body, site, words, operand, bytes)?,
        None => (None, None),
    };
    words.set(Key::Space, "shared::cta");
    // One of the sizes above.
    let bytes = u32::try_from(bytes).unwrap_or(16);
    let copy = AsyncCopy { destination, source, bytes, source_bytes, ignore_source };
    Ok((AsyncOp::Copy(copy).into(), Vec::new()))
}

/// How many bytes are read, or whether none are: its width says which it is.
fn extra_operand(
    body: &mut Body<'_>,
    site: &Site<'_>,
    words: &Words<'_>,
    operand: &Operand,
    bytes: u128,
) -> Resolved<(Option<Expression>, Option<Expression>)> {
    let Operand::Expr(expr) = operand else {
        return Err(body.wrong_operand(site, operand_span(operand, site.span), "a value"));
    };
    let value = body.resolve_expression(expr, Some(32))?;
    if value.width == 1 {
        return match words.target.check("ignore-src", (7, 5), 80, value.span) {
            Some(error) => Err(body.report(error)),
            None => Ok((None, Some(value))),
        };
    }
    let value = body.expect_width(value, 32)?;
    if constant_value(&value).is_some_and(|read| read > bytes) {
        let message = format!("more bytes are read than the {bytes} that are copied");
        let error = Diagnostic::new("validate::copy-size", message, value.span, "too many");
        let help = "the source size is at most the copy's; the rest is filled with zeros";
        return Err(body.report(error.with_help(help).with_rule("UB-A1")));
    }
    Ok((Some(value), None))
}

/// `[bar]`
fn build_arrive(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "an mbarrier")?;
    let mbarrier = body.own_mbarrier(site, &site.operands[0], "MB-2")?;
    words.set(Key::Space, "shared::cta");
    words.set(Key::Type, "b64");
    let increments = !words.has("noinc");
    Ok((AsyncOp::CopyArrive { mbarrier, increments }.into(), Vec::new()))
}

/// It is a commit and a wait (AS-7).
fn build_wait_all(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let (kind, _) = body.plain(site, AsyncOp::Commit(AsyncGroup::Copy).into())?;
    let opcode = ("cp.async.commit_group".to_owned(), site.opcode.span);
    body.push(site.span, Instruction::statement(opcode, words.form(), kind, (Vec::new(), Vec::new())));
    words.rename("cp.async.wait_group");
    let wait = AsyncOp::Wait { group: AsyncGroup::Copy, pending: 0, reads_only: false };
    Ok((InstructionKind::from(wait), Vec::new()))
}
