//! Instructions of the launch: `clusterlaunchcontrol` (AS-39), `griddepcontrol` (AS-40) and `setmaxnreg` (AS-41).

use super::words::Words;
use super::{
    Aligned, Built, Family, Key, Need, Only, Refusal, Traits, default, form, may, must, only, refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::program::{AddressBase, AsyncOp, CancelQuery, GridDependency, InstructionKind, Width};
use crate::kernel::resolve::expression::constant_value;
use crate::kernel::resolve::instruction::Site;
use crate::kernel::resolve::{Body, Resolved};
use crate::vocabulary::Space;

/// The architectures on which warps trade registers, clusters are told of cancelled launches, and tensor maps change.
pub(super) const SPECIFIC: &[Only] =
    &[Only::Architecture(90), Only::Family(100), Only::Family(110), Only::Family(120)];

/// A question about a response: it reads no memory.
const QUERY: Traits = Traits { quiet: true, ..Traits::ACTS };

/// Axes that are not asked for.
const FIRST_CTAID: &str = "of the first CTA the first index is known: `.get_first_ctaid::x.b32.b128`";

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&CONTROL, &GRID_DEPENDENCY, &MAX_REGISTERS];

pub(super) static CONTROL: Family = Family {
    name: "clusterlaunchcontrol",
    code: "validate::launch-control-form",
    help: "write `clusterlaunchcontrol.try_cancel.async`, `clusterlaunchcontrol.query_cancel.is_canceled` or \
           `clusterlaunchcontrol.query_cancel.get_first_ctaid::x`",
    rule: "AS-39",
    others: &[
        ("clusterlaunchcontrol.query_cancel.get_first_ctaid", Need::Unsupported(Some(FIRST_CTAID))),
        ("clusterlaunchcontrol.query_cancel.get_first_ctaid::y", Need::Unsupported(Some(FIRST_CTAID))),
        ("clusterlaunchcontrol.query_cancel.get_first_ctaid::z", Need::Unsupported(Some(FIRST_CTAID))),
    ],
    forms: &[
        form(
            "clusterlaunchcontrol.try_cancel",
            &[
                must(Key::Plain, &["async"]),
                default(Key::Space, &["shared::cta"]),
                must(Key::Completion, &["mbarrier::complete_tx::bytes"]),
                may(Key::Multicast, &["multicast::cluster::all"]),
                default(Key::Type, &["b128"]),
                refused(
                    &["global", "shared", "shared::cluster"],
                    &Refusal {
                        code: "validate::async-space",
                        message: "the response of `clusterlaunchcontrol.try_cancel` is in `.shared::cta`, not {}",
                        label: "not `.shared::cta`",
                        help: "write `.shared::cta`; `.multicast::cluster::all` writes to every CTA of the cluster",
                        rule: "AS-39",
                    },
                ),
            ],
            since(8, 6, 100),
            build_try_cancel,
        )
        .floors(&[("multicast::cluster::all", only(8, 6, 100, SPECIFIC))])
        .operands("[response], [bar]")
        .help("write `clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128`")
        .traits(Traits::ACTS)
        .rule("AS-39"),
        form(
            "clusterlaunchcontrol.query_cancel.is_canceled",
            &[default(Key::Plain, &["pred"]), default(Key::Type, &["b128"])],
            since(8, 6, 100),
            |body, site, _| build_query(body, site, CancelQuery::IsCanceled, 1),
        )
        .result(&[("", 1)])
        .operands("p = … response")
        .traits(QUERY)
        .rule("AS-39"),
        form(
            "clusterlaunchcontrol.query_cancel.get_first_ctaid::x",
            &[default(Key::Plain, &["b32"]), default(Key::Type, &["b128"])],
            since(8, 6, 100),
            |body, site, _| build_query(body, site, CancelQuery::FirstCtaid, 32),
        )
        .result(&[("", 32)])
        .operands("x = … response")
        .traits(QUERY)
        .rule("AS-39"),
    ],
};

pub(super) static GRID_DEPENDENCY: Family = Family {
    name: "griddepcontrol",
    code: "validate::grid-dependency",
    help: "write `griddepcontrol.launch_dependents` or `griddepcontrol.wait`",
    rule: "AS-40",
    others: &[],
    forms: &[
        form("griddepcontrol.wait", &[], since(7, 8, 90), |body, site, _| {
            body.plain(site, InstructionKind::GridDependency(GridDependency::Wait))
        })
        .inserted(&["griddepcontrol.wait;"])
        .traits(Traits::ACTS)
        .rule("AS-40"),
        form("griddepcontrol.launch_dependents", &[], since(7, 8, 90), |body, site, _| {
            body.plain(site, InstructionKind::GridDependency(GridDependency::LaunchDependents))
        })
        .traits(Traits::ACTS)
        .rule("AS-40"),
    ],
};

pub(super) static MAX_REGISTERS: Family = Family {
    name: "setmaxnreg",
    code: "validate::max-registers",
    help: "write `setmaxnreg.inc.sync.aligned.u32 232` or `setmaxnreg.dec.sync.aligned.u32 40`",
    rule: "AS-41",
    others: &[],
    forms: &[form(
        "setmaxnreg",
        &[
            must(Key::Operation, &["inc", "dec"]),
            must(Key::Plain, &["sync"]),
            must(Key::Aligned, &["aligned"]),
            must(Key::Type, &["u32"]),
        ],
        only(8, 0, 90, SPECIFIC),
        build_max_registers,
    )
    .operands("n")
    .traits(Traits::ACTS.aligned(Aligned::Always("UB-A12")))
    .rule("AS-41")],
};

fn build_try_cancel(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "the address of a response and an mbarrier")?;
    let (response, width) = body.data_operand(site, &site.operands[0], Space::Shared, "AS-39")?;
    body.expect_own_cta(site, &response, "AS-39", "written as a response")?;
    body.expect_alignment(&response, width, 16, "AS-39")?;
    if let AddressBase::Object(object) = response.base {
        let object = &body.objects[object];
        let bytes = object.n_elements() * u64::from(width / 8);
        if bytes < 16 {
            let message = format!("a response has 16 bytes; `{}` has {bytes}", object.name);
            let declared = object.span;
            let error = Diagnostic::new("validate::copy-size", message, response.span, "too small")
                .with_label(declared, "declared here")
                .with_help("declare it as `shared …: b128;`");
            return Err(body.report(error.with_rule("AS-39")));
        }
    }
    let mbarrier = body.own_mbarrier(site, &site.operands[1], "AS-39")?;
    let multicast = words.written(Key::Multicast).is_some();
    Ok((AsyncOp::TryCancel { response, mbarrier, multicast }.into(), Vec::new()))
}

fn build_query(body: &mut Body<'_>, site: &Site<'_>, query: CancelQuery, width: Width) -> Resolved<Built> {
    let (is_sink, operands) = Body::without_sink(site);
    let [operand] = operands else {
        return Err(body.operand_count(site, "a response of 128 bits", operands.len()));
    };
    let response = body.value_operand(site, operand, 128)?;
    let destination = body.one_result(site, is_sink, width)?;
    Ok((AsyncOp::QueryCancel { destination, query, response }.into(), vec![destination]))
}

fn build_max_registers(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    body.expect_no_result(site)?;
    body.expect_operands(site, 1, 1, "a number of registers")?;
    let count = body.value_operand(site, &site.operands[0], 32)?;
    let is_legal = |count: &u128| (24..=256).contains(count) && count.is_multiple_of(8);
    let Some(found) = constant_value(&count).filter(is_legal) else {
        let message = format!("`{}` takes a number of registers per thread", site.opcode.text);
        let error = Diagnostic::new("validate::max-registers", message, count.span, "not one");
        let help = "write a constant of 24 to 256 that is a multiple of 8";
        return Err(body.report(error.with_help(help).with_rule("AS-41")));
    };
    // At most 256.
    let count = u32::try_from(found).unwrap_or(256);
    Ok((InstructionKind::SetMaxRegisters { increase: words.has("inc"), count }, Vec::new()))
}
