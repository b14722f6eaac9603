//! Clusters: their barrier (BR-9 … BR-14), `elect.sync` (AS-42) and `getctarank` (AS-43).

use super::words::Words;
use super::{Aligned, Built, Family, Key, Refusal, Traits, default, form, may, refused, since};
use crate::diagnostic::Diagnostic;
use crate::kernel::ast::Operand;
use crate::kernel::program::InstructionKind;
use crate::kernel::resolve::instruction::{Results, Site, operand_span};
use crate::kernel::resolve::{Body, Resolved};
use crate::vocabulary::{Sem, Space};

const BARRIER_ALIGNED: Traits = Traits::ACTS.aligned(Aligned::IfWritten("UB-C2"));

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&BARRIER, &ELECT, &RANK];

pub(super) static BARRIER: Family = Family {
    name: "barrier.cluster",
    code: "validate::barrier-form",
    help: "write `barrier.cluster.arrive;`, and then `barrier.cluster.wait;`",
    rule: "BR-9",
    others: &[],
    forms: &[
        form(
            "barrier.cluster.arrive",
            &[
                default(Key::Sem, &["release", "relaxed"]),
                may(Key::Aligned, &["aligned"]),
                refused(
                    &["acquire", "acq_rel", "sc"],
                    &Refusal {
                        code: "validate::illegal-sem",
                        message: "`barrier.cluster.arrive` cannot be {}",
                        label: "not a sem of the arrive",
                        help: "use `.release` (the default) or `.relaxed`",
                        rule: "BR-11",
                    },
                ),
            ],
            since(7, 8, 90),
            |body, site, words| {
                let sem = words.sem().unwrap_or(Sem::Release);
                let aligned = words.has("aligned");
                body.plain(site, InstructionKind::ClusterArrive { sem, aligned })
            },
        )
        .floors(&[("release", since(8, 0, 90)), ("relaxed", since(8, 0, 90))])
        .traits(BARRIER_ALIGNED)
        .rule("BR-9"),
        form(
            "barrier.cluster.wait",
            &[
                default(Key::Sem, &["acquire"]),
                may(Key::Aligned, &["aligned"]),
                refused(
                    &["release", "relaxed", "acq_rel", "sc"],
                    &Refusal {
                        code: "validate::illegal-sem",
                        message: "`barrier.cluster.wait` cannot be {}",
                        label: "not a sem of the wait",
                        help: "leave it out: a wait is always `.acquire`",
                        rule: "BR-11",
                    },
                ),
            ],
            since(7, 8, 90),
            |body, site, words| {
                let aligned = words.has("aligned");
                body.plain(site, InstructionKind::ClusterWait { aligned })
            },
        )
        .floors(&[("acquire", since(8, 0, 90))])
        .inserted(&["barrier.cluster.arrive; barrier.cluster.wait;"])
        .traits(BARRIER_ALIGNED)
        .rule("BR-11"),
    ],
};

pub(super) static ELECT: Family = Family {
    name: "elect",
    code: "validate::elect-form",
    help: "write `let p = elect.sync 0xffffffff;`",
    rule: "AS-42",
    others: &[],
    forms: &[form("elect.sync", &[], since(8, 0, 90), build_elect)
        .result(&[("", 1)])
        .operands("p = … mask")
        .traits(Traits::ACTS)
        .rule("AS-42")],
};

pub(super) static RANK: Family = Family {
    name: "getctarank",
    code: "validate::rank-form",
    help: "write `let r = getctarank.shared::cluster.u32 [x];`",
    rule: "AS-43",
    others: &[],
    forms: &[form(
        "getctarank",
        &[may(Key::Space, &["shared::cluster"]), default(Key::Type, &["u32", "u64"])],
        since(7, 8, 90),
        build_rank,
    )
    .result(&[("", 32)])
    .operands("r = … [x]")
    .traits(Traits::QUIET)
    .rule("AS-43")],
};

/// `let p = elect.sync mask;` or, with the leader's lane, `let {leader, p} = elect.sync mask;`.
fn build_elect(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 1, 1, "a mask of lanes")?;
    let mask = body.lanes_operand(site, &site.operands[0], "UB-A14")?;
    let (leader, predicate) = match site.results {
        Results::Nothing => {
            let message = "the result of `elect.sync` is not bound";
            let error = Diagnostic::new("validate::unbound-result", message, site.span, "a result is lost");
            return Err(body.report(error.with_help("write `let p = elect.sync …;`")));
        }
        Results::One(name) => (None, name),
        Results::Vector([leader, predicate]) => (leader.as_deref(), predicate.as_deref()),
        Results::Vector(_) => {
            let message = "`elect.sync` gives the leader's lane and a predicate";
            let error =
                Diagnostic::new("validate::vector-count", message, site.span, "a different number here");
            return Err(body.report(error.with_help("write `let {leader, p} = elect.sync …;`")));
        }
    };
    let leader = body.result_register(leader, 32);
    let predicate = body.result_register(predicate, 1);
    let registers = match site.results {
        Results::Vector(_) => vec![leader, predicate],
        Results::Nothing | Results::One(_) => vec![predicate],
    };
    Ok((InstructionKind::ElectSync { leader, predicate, mask }, registers))
}

/// `let r = getctarank.shared::cluster.u32 [p];`, with or without the brackets.
fn build_rank(body: &mut Body<'_>, site: &Site<'_>, _: &mut Words<'_>) -> Resolved<Built> {
    body.expect_operands(site, 1, 1, "an address in shared memory")?;
    let operand = &site.operands[0];
    let memory = match operand {
        Operand::Memory(memory) => Some(memory.clone()),
        Operand::Expr(expr) => Body::as_memory(expr),
        Operand::Vector(_) | Operand::Tensor(_) | Operand::Sink(_) => None,
    };
    let Some(memory) = memory else {
        return Err(body.wrong_operand(site, operand_span(operand, site.span), "an address, `[x]`,"));
    };
    let (address, _) = body.resolve_address(&memory)?;
    body.expect_space(site, &address, Space::Shared, "AS-43")?;
    let destination = body.one_result(site, false, 32)?;
    Ok((InstructionKind::GetCtaRank { destination, address }, vec![destination]))
}
