//! `cp.async.bulk` and `cp.reduce.async.bulk`: directions, completion mechanisms, tensor forms, strength (AS-12 … AS-18).
//!
//! What changes which bytes are copied, and is not modelled (`im2col`, `gather4`, `.cp_mask`, …), is refused.

use super::access;
use super::copy::{NO_NOINC, NO_READ, POLICY};
use super::launch::SPECIFIC;
use super::reduction::{self, FLOATS, OPERATIONS, TYPES};
use super::words::Words;
use super::{
    Family, Floor, Key, Lack, Refusal, Slot, Traits, default, form, may, must_or, only, refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::program::{AsyncGroup, AsyncOp};
use crate::span::Span;

mod operands;

const FLOOR: Floor = since(8, 0, 90);
/// Words about strength are younger than bulk copies.
const STRENGTH: &[(&str, Floor)] = &[
    ("weak", since(9, 3, 90)),
    ("relaxed", since(9, 3, 90)),
    ("cta", since(9, 3, 90)),
    ("cluster", since(9, 3, 90)),
    ("gpu", since(9, 3, 90)),
    ("sys", since(9, 3, 90)),
];

const GROUP: &str = "bulk_group";
const ON_MBARRIER: &str = "mbarrier::complete_tx::bytes";

const SEM: Slot = may(Key::Sem, &["weak", "relaxed"]);
const NO_SEM: Slot = refused(
    &["acquire", "release", "acq_rel", "volatile", "mmio"],
    &Refusal {
        code: "validate::copy-sem",
        message: "a bulk copy cannot be {}",
        label: "not a sem of it",
        help: "it is `.weak` or `.relaxed`; its completion is what synchronizes",
        rule: "AS-16",
    },
);
const SCOPE: Slot = may(Key::Scope, &["cta", "cluster", "gpu", "sys"]);
const DESTINATION: Slot = may(Key::Space, &["shared::cta", "shared::cluster", "global"]);
const SOURCE: Slot = DESTINATION;
const NO_SPACE: Slot = refused(
    &["shared"],
    &Refusal {
        code: "validate::copy-direction",
        message: "a bulk copy says which shared memory it means, and {} does not",
        label: "which one?",
        help: "write `.shared::cta` or `.shared::cluster`",
        rule: "AS-13",
    },
);
const COMPLETION: Slot = may(Key::Completion, &[ON_MBARRIER, GROUP]);
const MULTICAST: Slot = may(Key::Multicast, &["multicast::cluster"]);
const UNSUPPORTED: Slot = super::unsupported(&[
    "im2col",
    "tile::gather4",
    "tile::scatter4",
    "cta_group",
    "multicast::cluster::all",
    "cp_mask",
    "ignore_oob",
    "report_mechanism",
]);
const NO_LEVEL: Slot = refused(
    &["L2"],
    &Refusal {
        code: "validate::copy-form",
        message: "{} belongs to `cp.async.bulk.prefetch`",
        label: "not allowed here",
        help: "leave it out",
        rule: "AS-13",
    },
);
const NO_OPERATION: Slot = refused(
    OPERATIONS,
    &Refusal {
        code: "validate::copy-form",
        message: "`cp.async.bulk` copies; {} belongs to a reduction",
        label: "an operation",
        help: "write `cp.reduce.async.bulk`, or leave it out",
        rule: "AS-17",
    },
);
const NO_TENSOR: Slot = refused(
    &["tensor", "tile", "1d", "2d", "3d", "4d", "5d"],
    &Refusal {
        code: "validate::tensor-form",
        message: "{} belongs to a tensor copy, `cp.async.bulk.tensor`",
        label: "here",
        help: "write `.tensor.2d` right behind `bulk`, with 1 to 5 dimensions, or leave it out",
        rule: "AS-1",
    },
);
const TENSOR_IS_WEAK: Slot = refused(
    &["weak", "relaxed", "cta", "cluster", "gpu", "sys"],
    &Refusal {
        code: "validate::copy-sem",
        message: "a tensor copy takes neither sem nor scope, so no {}",
        label: "not allowed here",
        help: "leave it out",
        rule: "AS-16",
    },
);
const TENSOR_HAS_TYPE: Slot = refused(
    TYPES,
    &Refusal {
        code: "validate::copy-type",
        message: "a tensor copy has the type of the tensor's elements, not {}",
        label: "not allowed here",
        help: "leave it out",
        rule: "AS-16",
    },
);
const RANK: Slot = may(Key::Rank, &["1d", "2d", "3d", "4d", "5d"]);
const TILE: Slot = default(Key::Plain, &["tile"]);
const OPERATION: Slot = must_or(
    Key::Operation,
    OPERATIONS,
    &Lack {
        code: "validate::missing-operation",
        what: "an operation",
        help: "for example `.add.u32`",
        rule: "AS-17",
    },
);

const PREFETCHES: Lack = Lack {
    code: "validate::copy-form",
    what: "`.L2.global`",
    help: "write `cp.async.bulk.prefetch.L2.global` or `cp.async.bulk.prefetch.tensor.2d.L2.global`",
    rule: "AS-13",
};
const LEVEL: Slot = must_or(Key::Plain, &["L2"], &PREFETCHES);
const FROM_GLOBAL: Slot = must_or(Key::Space, &["global"], &PREFETCHES);
const PREFETCH_ONLY: Slot = refused(
    &[
        "shared::cta",
        "shared::cluster",
        "shared",
        ON_MBARRIER,
        GROUP,
        "multicast::cluster",
        "weak",
        "relaxed",
        "cta",
        "cluster",
        "gpu",
        "sys",
    ],
    &Refusal {
        code: "validate::copy-form",
        message: "a prefetch goes from global memory to L2, and takes nothing else, so no {}",
        label: "not a form of it",
        help: PREFETCHES.help,
        rule: "AS-13",
    },
);

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&BULK, &BULK_REDUCE];

pub(super) static BULK: Family = Family {
    name: "cp.async.bulk",
    code: "validate::copy-form",
    help: "write `cp.async.bulk.global.shared::cta.bulk_group`",
    rule: "AS-13",
    others: &[],
    forms: &[
        form(
            "cp.async.bulk",
            &[
                SEM,
                SCOPE,
                DESTINATION,
                SOURCE,
                COMPLETION,
                MULTICAST,
                POLICY,
                may(Key::Type, TYPES),
                NO_SEM,
                NO_SPACE,
                NO_LEVEL,
                NO_OPERATION,
                NO_TENSOR,
                NO_NOINC,
                UNSUPPORTED,
                FLOATS,
            ],
            FLOOR,
            operands::build_copy,
        )
        .floors(STRENGTH)
        .operands("[dst], [src], bytes{, [bar]}{, mask}")
        .check(check_copy)
        .traits(Traits::ACTS)
        .rule("AS-13"),
        form(
            "cp.async.bulk.tensor",
            &[
                RANK,
                DESTINATION,
                SOURCE,
                TILE,
                COMPLETION,
                MULTICAST,
                POLICY,
                NO_SEM,
                NO_SPACE,
                NO_LEVEL,
                NO_OPERATION,
                NO_NOINC,
                TENSOR_IS_WEAK,
                TENSOR_HAS_TYPE,
                UNSUPPORTED,
                FLOATS,
            ],
            FLOOR,
            operands::build_tensor,
        )
        .operands("[dst], [map, {x, y}], [bar]{, mask}, or [map, {x, y}], [src]")
        .check(check_tensor)
        .traits(Traits::ACTS)
        .rule("AS-1"),
        form(
            "cp.async.bulk.prefetch",
            &[LEVEL, FROM_GLOBAL, POLICY, PREFETCH_ONLY, NO_TENSOR, NO_NOINC, UNSUPPORTED],
            FLOOR,
            operands::build_prefetch,
        )
        .operands("[src], bytes")
        .traits(Traits::ACTS)
        .rule("AS-13"),
        form(
            "cp.async.bulk.prefetch.tensor",
            &[RANK, LEVEL, FROM_GLOBAL, TILE, POLICY, PREFETCH_ONLY, NO_NOINC, UNSUPPORTED],
            FLOOR,
            operands::build_prefetch,
        )
        .operands("[map, {x, y}]")
        .check(check_rank)
        .traits(Traits::ACTS)
        .rule("AS-1"),
        form("cp.async.bulk.commit_group", &[NO_READ, NO_NOINC], FLOOR, |body, site, _| {
            body.plain(site, AsyncOp::Commit(AsyncGroup::Bulk).into())
        })
        .traits(Traits::ACTS)
        .rule("AS-7"),
        form(
            "cp.async.bulk.wait_group",
            &[may(Key::Plain, &["read"]), NO_NOINC, super::unsupported(&["sync_restrict"])],
            FLOOR,
            |body, site, words| body.build_wait(site, AsyncGroup::Bulk, words.has("read")),
        )
        .operands("n")
        .inserted(&["cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"])
        .leaves_pending()
        .traits(Traits::ACTS)
        .rule("AS-20"),
    ],
};

pub(super) static BULK_REDUCE: Family = Family {
    name: "cp.reduce.async.bulk",
    code: "validate::copy-form",
    help: "write `cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32`",
    rule: "AS-17",
    others: &[],
    forms: &[
        form(
            "cp.reduce.async.bulk",
            &[
                SEM,
                SCOPE,
                DESTINATION,
                SOURCE,
                COMPLETION,
                MULTICAST,
                POLICY,
                OPERATION,
                access::NO_FLUSH,
                may(Key::Type, reduction::NUMBERS),
                NO_SEM,
                NO_SPACE,
                NO_LEVEL,
                NO_TENSOR,
                NO_NOINC,
                UNSUPPORTED,
                super::unsupported(&["f16x2", "bf16x2"]),
            ],
            FLOOR,
            operands::build_copy,
        )
        .floors(STRENGTH)
        .operands("[dst], [src], bytes{, [bar]}")
        .check(check_reduction)
        .traits(Traits::ACTS)
        .rule("AS-17"),
        form(
            "cp.reduce.async.bulk.tensor",
            &[
                RANK,
                DESTINATION,
                SOURCE,
                OPERATION,
                TILE,
                COMPLETION,
                MULTICAST,
                POLICY,
                NO_SEM,
                NO_SPACE,
                NO_LEVEL,
                NO_NOINC,
                TENSOR_IS_WEAK,
                TENSOR_HAS_TYPE,
                UNSUPPORTED,
                FLOATS,
            ],
            FLOOR,
            operands::build_tensor,
        )
        .operands("[map, {x, y}], [src]")
        .check(check_tensor)
        .traits(Traits::ACTS)
        .rule("AS-17"),
    ],
};

/// Which ends a copy has: destination and source.
type Direction = (&'static str, &'static str);

const WITHIN_CLUSTER: Direction = ("shared::cluster", "shared::cta");
const FROM_GLOBAL_TO_CLUSTER: Direction = ("shared::cluster", "global");

/// Where it goes, and from where. What is not there was reported.
fn direction(words: &Words<'_>) -> Direction {
    match words.all(Key::Space)[..] {
        [(destination, _), (source, _)] => (destination, source),
        _ => ("", ""),
    }
}

/// Whether it completes on an mbarrier rather than in a bulk group.
fn on_mbarrier(words: &Words<'_>) -> bool {
    direction(words).0 != "global"
}

fn error(code: &'static str, message: String, (span, label): (Span, &str), help: &str) -> Diagnostic {
    let rule = match code {
        "validate::copy-completion" => "AS-3",
        "validate::copy-multicast" => "AS-14",
        "validate::copy-direction" => "AS-13",
        "validate::tensor-form" => "AS-1",
        _ => "AS-16",
    };
    Diagnostic::new(code, message, span, label).with_help(help).with_rule(rule)
}

fn check_copy(words: &Words<'_>) -> Result<(), Diagnostic> {
    let legal =
        &[("shared::cta", "global"), FROM_GLOBAL_TO_CLUSTER, WITHIN_CLUSTER, ("global", "shared::cta")];
    check_ends(words, "a bulk copy", legal)?;
    check_sem(words)?;
    let is_relaxed = words.has("relaxed");
    match words.written(Key::Type) {
        Some((ty, span)) if ty != "b128" || !is_relaxed => {
            let message = format!("a bulk copy has no type `.{ty}`");
            let help = "leave it out; only a `.relaxed` copy has one, `.b128`";
            return Err(error("validate::copy-type", message, (span, "not allowed here"), help));
        }
        None if is_relaxed => {
            let message = "a `.relaxed` bulk copy needs its type".to_owned();
            let help = format!("write `.relaxed.{}` and `.b128` at the end", words.of(Key::Scope));
            return Err(error(
                "validate::copy-sem",
                message,
                (words.opcode().span, "not allowed here"),
                &help,
            ));
        }
        _ => {}
    }
    if is_relaxed && direction(words) == FROM_GLOBAL_TO_CLUSTER {
        let feature = "a `.relaxed` bulk copy from global memory to `.shared::cluster`";
        words.target.check_floor(feature, only(9, 3, 90, SPECIFIC), words.span(Key::Sem))?;
    }
    Ok(())
}

fn check_reduction(words: &Words<'_>) -> Result<(), Diagnostic> {
    check_ends(words, "a bulk reduction", &[WITHIN_CLUSTER, ("global", "shared::cta")])?;
    if let (Some(ty), Some(rmw)) = (words.ty(), reduction::operation(words)) {
        reduction::check_type(rmw, ty, direction(words).0 == "global", words.span(Key::Type))?;
    }
    access::check_flush(words)?;
    check_sem(words)
}

fn check_tensor(words: &Words<'_>) -> Result<(), Diagnostic> {
    check_rank(words)?;
    if words.written(Key::Operation).is_some() {
        return check_ends(words, "a tensor reduction", &[("global", "shared::cta")]);
    }
    let legal = &[("shared::cta", "global"), FROM_GLOBAL_TO_CLUSTER, ("global", "shared::cta")];
    check_ends(words, "a tensor copy", legal)
}

/// The number of dimensions belongs to `.tensor`.
fn check_rank(words: &Words<'_>) -> Result<(), Diagnostic> {
    if words.written(Key::Rank).is_some() {
        return Ok(());
    }
    let tensor = words.opcode().modifiers.iter().find(|modifier| modifier.text == "tensor");
    let span = tensor.map_or(words.opcode().span, |modifier| modifier.span);
    let message = "a tensor copy needs its number of dimensions".to_owned();
    let help = "write `.tensor.2d`, with 1 to 5 dimensions";
    Err(error("validate::tensor-form", message, (span, "here"), help))
}

/// Direction, completion and multicast, which go with each other; and the policy, which not every direction takes.
fn check_ends(words: &Words<'_>, what: &str, legal: &[Direction]) -> Result<(), Diagnostic> {
    check_direction(words, what, legal)?;
    check_completion(words)?;
    let direction = direction(words);
    if let Some((_, span)) = words.written(Key::Multicast)
        && direction != FROM_GLOBAL_TO_CLUSTER
    {
        let message = "`.multicast::cluster` copies from global memory to `.shared::cluster`".to_owned();
        let help = "write `.shared::cluster.global`, or leave it out";
        return Err(error("validate::copy-multicast", message, (span, "another direction"), help));
    }
    if let Some((_, span)) = words.written(Key::Policy)
        && direction == WITHIN_CLUSTER
    {
        let message = "a copy within the cluster has no cache policy".to_owned();
        return Err(error("validate::copy-form", message, (span, "not allowed here"), "leave it out"));
    }
    if direction.0 == "shared::cta" {
        let feature = "a bulk copy to `.shared::cta`";
        words.target.check_floor(feature, since(8, 6, 90), words.span(Key::Space))?;
    }
    Ok(())
}

fn check_direction(words: &Words<'_>, what: &str, legal: &[Direction]) -> Result<(), Diagnostic> {
    if legal.contains(&direction(words)) {
        return Ok(());
    }
    let directions: Vec<String> = legal.iter().map(|(to, from)| format!("`.{to}.{from}`")).collect();
    let (message, label) = if words.all(Key::Space).len() < 2 {
        (format!("{what} names the state spaces of its destination and its source, in this order"), "missing")
    } else {
        (format!("{what} does not go this way"), "destination, then source")
    };
    let help = format!("write {}", directions.join(" or "));
    Err(error("validate::copy-direction", message, (words.span(Key::Space), label), &help))
}

fn check_completion(words: &Words<'_>) -> Result<(), Diagnostic> {
    let to_global = !on_mbarrier(words);
    let (needed, whither) = if to_global { (GROUP, "global") } else { (ON_MBARRIER, "shared") };
    let (message, place) = match words.written(Key::Completion) {
        Some((written, _)) if written == needed => return Ok(()),
        Some((_, span)) => {
            (format!("a bulk copy to {whither} memory completes by `.{needed}`"), (span, "another mechanism"))
        }
        None => (
            format!("`{}` needs `.{needed}`", words.opcode().text),
            (words.opcode().span, "no completion mechanism"),
        ),
    };
    let help = if to_global {
        "write `.bulk_group`, then `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group 0`"
    } else {
        "write `.mbarrier::complete_tx::bytes`, with an mbarrier as last operand"
    };
    Err(error("validate::copy-completion", message, place, help))
}

/// Weak, unless `.relaxed.scope.b128`; a reduction's elements are relaxed.
fn check_sem(words: &Words<'_>) -> Result<(), Diagnostic> {
    let illegal = |span, message: String, help: &str| {
        Err(error("validate::copy-sem", message, (span, "not allowed here"), help))
    };
    let is_reduction = words.written(Key::Operation).is_some();
    match (words.written(Key::Sem), words.written(Key::Scope)) {
        (Some(("weak", span)), None) if is_reduction => illegal(
            span,
            "a reduction's elements are never `.weak`".to_owned(),
            "leave it out, or write `.relaxed.gpu`",
        ),
        (Some(("relaxed", _)), Some((scope @ ("gpu" | "sys"), span)))
            if direction(words) == WITHIN_CLUSTER =>
        {
            let message = format!("a copy within the cluster is not `.relaxed.{scope}`");
            illegal(span, message, "write `.relaxed.cta` or `.relaxed.cluster`")
        }
        (Some(("relaxed", _)), Some(_)) | (None | Some(("weak", _)), None) => Ok(()),
        (Some((_, span)), None) => {
            illegal(span, "`.relaxed` on a bulk copy needs a scope".to_owned(), "write `.relaxed.gpu`")
        }
        (_, Some((scope, span))) => illegal(
            span,
            format!("`.{scope}` on a bulk copy needs `.relaxed`"),
            "write `.relaxed` before it, or leave it out",
        ),
    }
}
