//! Fences: `fence` and `membar` of threads (FN-1 … FN-10), and of proxies (FN-11 … FN-21, FN-24, FN-25).

use super::words::Words;
use super::{
    Built, Family, Form, Key, Lack, Need, Refusal, Slot, Traits, default, form, may, must_or, refused, since,
};
use crate::diagnostic::Diagnostic;
use crate::kernel::program::{AsyncSpace, InstructionKind, ProxyFenceKind};
use crate::kernel::resolve::instruction::Site;
use crate::kernel::resolve::{Body, Resolved};
use crate::span::Span;
use crate::vocabulary::{FenceSem, Proxy, Scope, Sem, Space, SyncRestrict};

const SCOPES: &[&str] = &["cta", "cluster", "gpu", "sys"];
const FENCE_TRAITS: Traits = Traits { host: true, ..Traits::PLAIN };
const RESTRICTED: &str = "validate::restricted-fence";
const PROXY_FENCE: &str = "validate::proxy-fence";

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&FENCE, &MBARRIER_INIT, &MEMBAR, &MEMBAR_PROXY, &PROXY];

pub(super) static FENCE: Family = Family {
    name: "fence",
    code: "validate::missing-scope",
    help: "write `fence.acq_rel.gpu` (or `.cta`, `.cluster`, `.sys`)",
    rule: "FN-1",
    others: &[],
    forms: &[form(
        "fence",
        &[
            default(Key::Sem, &["acq_rel", "sc", "acquire", "release"]),
            may(Key::Restrict, &["sync_restrict::shared::cta", "sync_restrict::shared::cluster"]),
            may(Key::Scope, SCOPES),
            refused(
                &["weak", "relaxed", "volatile", "mmio"],
                &Refusal {
                    code: "validate::illegal-sem",
                    message: "a fence cannot be {}",
                    label: "not a sem of `fence`",
                    help: "use `.sc`, `.acq_rel` (the default), `.acquire` or `.release`",
                    rule: "FN-1",
                },
            ),
            refused(
                &["sync_restrict::shared::cluster::read"],
                &Refusal {
                    code: RESTRICTED,
                    message: "{} exists on `fence.proxy.async::generic` only",
                    label: "not on a thread fence",
                    help: "write `.sync_restrict::shared::cta`, or a proxy fence",
                    rule: "FN-17",
                },
            ),
        ],
        since(6, 0, 70),
        build_fence,
    )
    .floors(&[
        ("acquire", since(8, 6, 90)),
        ("release", since(8, 6, 90)),
        ("sync_restrict::shared::cta", since(8, 6, 90)),
        ("sync_restrict::shared::cluster", since(8, 6, 90)),
    ])
    .check(check_fence)
    .traits(FENCE_TRAITS)
    .inserted(&[
        "fence.acq_rel.cta;",
        "fence.acq_rel.cluster;",
        "fence.acq_rel.gpu;",
        "fence.acq_rel.sys;",
        "fence.sc.cta;",
        "fence.sc.cluster;",
        "fence.sc.gpu;",
        "fence.sc.sys;",
    ])
    .rule("FN-1")],
};

const INIT_NEEDS: Lack = Lack {
    code: RESTRICTED,
    what: "`.release` and the scope `.cluster`",
    help: "write `fence.mbarrier_init.release.cluster`",
    rule: "FN-9",
};

const NOT_OF_INIT: Slot = refused(
    &["sc", "acq_rel", "acquire", "cta", "gpu", "sys"],
    &Refusal {
        code: RESTRICTED,
        message: "`.mbarrier_init` needs `.release` and the scope `.cluster`, not {}",
        label: "not of this fence",
        help: INIT_NEEDS.help,
        rule: INIT_NEEDS.rule,
    },
);

pub(super) static MBARRIER_INIT: Family = Family {
    name: "fence.mbarrier_init",
    code: RESTRICTED,
    help: INIT_NEEDS.help,
    rule: INIT_NEEDS.rule,
    others: &[],
    forms: &[form(
        "fence.mbarrier_init",
        &[
            must_or(Key::Sem, &["release"], &INIT_NEEDS),
            must_or(Key::Scope, &["cluster"], &INIT_NEEDS),
            NOT_OF_INIT,
        ],
        since(8, 0, 90),
        |body, site, _| body.plain(site, InstructionKind::MbarrierInitFence),
    )
    .inserted(&["fence.mbarrier_init.release.cluster;"])
    .rule("FN-9")],
};

/// A level of `membar`: a fence.sc of this scope (FN-10).
const fn membar(name: &'static str, build: super::Build) -> Form {
    form(name, &[], since(1, 4, 0), build).traits(FENCE_TRAITS).rule("FN-10")
}

fn build_membar(body: &mut Body<'_>, site: &Site<'_>, scope: Scope) -> Resolved<Built> {
    body.plain(site, InstructionKind::Fence { sem: FenceSem::Sc, scope, restrict: None })
}

pub(super) static MEMBAR: Family = Family {
    name: "membar",
    code: "validate::membar-level",
    help: "write `membar.cta`, `membar.gl` (which is `.gpu`) or `membar.sys`, or use `fence`",
    rule: "FN-10",
    others: &[],
    forms: &[
        membar("membar.cta", |body, site, _| build_membar(body, site, Scope::Cta)),
        membar("membar.gl", |body, site, _| build_membar(body, site, Scope::Gpu)),
        membar("membar.sys", |body, site, _| build_membar(body, site, Scope::Sys)),
    ],
};

pub(super) static MEMBAR_PROXY: Family = Family {
    name: "membar.proxy",
    code: PROXY_FENCE,
    help: "`membar.proxy` has the bi-directional forms only, `.alias` and `.async`; write `fence` for `membar`",
    rule: "FN-20",
    others: &[],
    forms: &[
        form("membar.proxy.alias", &[], since(7, 5, 60), |body, site, _| {
            body.plain(site, InstructionKind::AliasFence)
        })
        .traits(FENCE_TRAITS)
        .rule("FN-20"),
        form("membar.proxy.async", &[], since(8, 0, 90), build_async).rule("FN-20"),
        formal("membar.proxy.generic", |body, site, _| build_formal(body, site, Proxy::Generic)),
        formal("membar.proxy.texture", |body, site, _| build_formal(body, site, Proxy::Texture)),
        formal("membar.proxy.surface", |body, site, _| build_formal(body, site, Proxy::Surface)),
        formal("membar.proxy.constant", |body, site, _| build_formal(body, site, Proxy::Constant)),
    ],
};

/// A fence of the formal model of PTX 7.5 (MM-2).
const fn formal(name: &'static str, build: super::Build) -> Form {
    form(name, &[NO_SEM], since(0, 0, 0), build).check(check_formal).rule("MM-2")
}

const NO_SEM: Slot = refused(
    &["sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys"],
    &Refusal {
        code: PROXY_FENCE,
        message: "a fence between a proxy and the generic one acts inside one thread and has neither sem nor scope: {}",
        label: "not allowed here",
        help: "leave it out",
        rule: "FN-25",
    },
);
const NO_RESTRICTION: Slot = refused(
    &["sync_restrict::shared::cta", "sync_restrict::shared::cluster", "sync_restrict::shared::cluster::read"],
    &Refusal {
        code: PROXY_FENCE,
        message: "{} belongs to `fence.proxy.async::generic`",
        label: "not allowed here",
        help: "leave it out, or fence `async::generic`",
        rule: "FN-15",
    },
);
const NO_DIRECTION: Refusal = Refusal {
    code: PROXY_FENCE,
    message: "a proxy pair reads to::from, and the direction {} does not exist",
    label: "not allowed here",
    help: "completion of an async operation carries this order, else use `fence.proxy.async`; \
           for tensor maps write `tensormap::generic`",
    rule: "FN-24",
};
const FABRIC: Refusal = Refusal {
    code: "unsupported::instruction",
    message: "{} is not checked by this version",
    label: "known to PTX, not checked here",
    help: "leave it out of the skeleton",
    rule: "",
};

const ALIAS_WORDS: &str = "write `fence.proxy.alias`";
const TENSORMAP: Lack = Lack {
    code: PROXY_FENCE,
    what: "a sem and a scope",
    help: "write `fence.proxy.tensormap::generic.release.gpu` or `.acquire.gpu [map], 128`",
    rule: "FN-13",
};

pub(super) static PROXY: Family = Family {
    name: "fence.proxy",
    code: PROXY_FENCE,
    help: "for example `fence.proxy.async.shared::cta`, `fence.proxy.async` or `fence.proxy.alias`",
    rule: "FN-11",
    others: &[
        ("fence.proxy.generic::tensormap", Need::Refused(&NO_DIRECTION)),
        ("fence.proxy.generic::async", Need::Refused(&NO_DIRECTION)),
        ("fence.proxy.generic::fabric", Need::Refused(&FABRIC)),
        ("fence.proxy.fabric::generic", Need::Refused(&FABRIC)),
    ],
    forms: &[
        form(
            "fence.proxy.alias",
            &[
                may(Key::Sem, &["acquire", "release", "acq_rel", "sc"]),
                may(Key::Scope, SCOPES),
                NO_RESTRICTION,
            ],
            since(7, 5, 70),
            build_alias,
        )
        .floors(&[("acquire", since(9, 4, 90)), ("release", since(9, 4, 90))])
        .check(check_alias)
        .traits(FENCE_TRAITS)
        .rule("FN-11"),
        form(
            "fence.proxy.async",
            &[
                may(Key::Space, &["global", "shared::cta", "shared::cluster"]),
                refused(
                    &["shared"],
                    &Refusal {
                        code: PROXY_FENCE,
                        message: "`fence.proxy.async.shared` does not say which shared memory",
                        label: "not allowed here",
                        help: "write `.shared::cta` or `.shared::cluster`",
                        rule: "FN-12",
                    },
                ),
                NO_SEM,
                NO_RESTRICTION,
            ],
            since(8, 0, 90),
            build_async,
        )
        .inserted(&["fence.proxy.async;", "fence.proxy.async.shared::cta;", "fence.proxy.async.global;"])
        .rule("FN-12"),
        form(
            "fence.proxy.tensormap::generic",
            &[
                must_or(Key::Sem, &["release", "acquire"], &TENSORMAP),
                must_or(Key::Scope, SCOPES, &TENSORMAP),
                refused(
                    &["acq_rel", "sc"],
                    &Refusal {
                        code: PROXY_FENCE,
                        message: "`fence.proxy.tensormap::generic` cannot be {}",
                        label: "not allowed here",
                        help: TENSORMAP.help,
                        rule: "FN-13",
                    },
                ),
                NO_RESTRICTION,
            ],
            since(8, 3, 90),
            build_tensormap,
        )
        .operands("[map], 128 (of an acquire)")
        .rule("FN-13"),
        form(
            "fence.proxy.async::generic",
            &[
                may(Key::Sem, &["acquire", "release", "acq_rel", "sc"]),
                must_or(
                    Key::Restrict,
                    &[
                        "sync_restrict::shared::cta",
                        "sync_restrict::shared::cluster",
                        "sync_restrict::shared::cluster::read",
                    ],
                    &Lack {
                        code: PROXY_FENCE,
                        what: "a restriction",
                        help: "write `.release.sync_restrict::shared::cta.cluster` or \
                               `.acquire.sync_restrict::shared::cluster.cluster`",
                        rule: "FN-15",
                    },
                ),
                may(Key::Scope, SCOPES),
            ],
            since(8, 6, 90),
            build_async_generic,
        )
        .floors(&[("sync_restrict::shared::cluster::read", since(9, 4, 90))])
        .check(|words| check_restriction(words).map(|_| ()))
        .rule("FN-15"),
        formal("fence.proxy.generic", |body, site, _| build_formal(body, site, Proxy::Generic)),
        formal("fence.proxy.texture", |body, site, _| build_formal(body, site, Proxy::Texture)),
        formal("fence.proxy.surface", |body, site, _| build_formal(body, site, Proxy::Surface)),
        formal("fence.proxy.constant", |body, site, _| build_formal(body, site, Proxy::Constant)),
    ],
};

fn illegal(span: Span, message: impl Into<String>, help: &str, rule: &'static str) -> Diagnostic {
    Diagnostic::new(PROXY_FENCE, message, span, "not allowed here").with_help(help).with_rule(rule)
}

/// A thread fence has a scope; a restricted one is what its restriction wants (FN-7, FN-8).
fn check_fence(words: &Words<'_>) -> Result<(), Diagnostic> {
    if words.written(Key::Restrict).is_some() {
        return check_restriction(words).map(|_| ());
    }
    if words.written(Key::Scope).is_some() {
        return Ok(());
    }
    let opcode = words.opcode();
    let message = format!("`{}` needs a scope", opcode.text);
    Err(Diagnostic::new("validate::missing-scope", message, opcode.span, "no scope")
        .with_help(format!("write `fence.{}.gpu` (or `.cta`, `.cluster`, `.sys`)", words.of(Key::Sem)))
        .with_rule("FN-1"))
}

/// What a `.sync_restrict` restricts to, and the sem it needs (FN-7, FN-8, FN-15 … FN-17).
fn check_restriction(words: &Words<'_>) -> Result<(SyncRestrict, Sem), Diagnostic> {
    let is_proxy = words.form().name != "fence";
    let (word, span) = words.written(Key::Restrict).unwrap_or(("", words.opcode().span));
    let (restrict, sem, rule) = match word {
        "sync_restrict::shared::cta" => {
            (SyncRestrict::SharedCta, Sem::Release, if is_proxy { "FN-15" } else { "FN-8" })
        }
        "sync_restrict::shared::cluster" => {
            (SyncRestrict::SharedCluster, Sem::Acquire, if is_proxy { "FN-16" } else { "FN-7" })
        }
        _ => (SyncRestrict::SharedClusterRead, Sem::Release, "FN-17"),
    };
    let is_written = words.written(Key::Sem).is_some();
    if is_written && words.sem() == Some(sem) && words.scope() == Some(Scope::Cluster) {
        return Ok((restrict, sem));
    }
    let message = format!("`.{word}` needs `.{sem}` and the scope `.cluster`");
    Err(Diagnostic::new(RESTRICTED, message, span, "restriction")
        .with_help(format!("use `.{sem}` and `.cluster`, or a fence without restriction"))
        .with_rule(rule))
}

fn build_fence(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let sem = FenceSem::from_name(words.of(Key::Sem)).unwrap_or(FenceSem::AcqRel);
    let scope = words.scope().unwrap_or(Scope::Sys);
    let restrict = words.written(Key::Restrict).and_then(|_| check_restriction(words).ok());
    let restrict = restrict.map(|(restrict, _)| restrict);
    body.plain(site, InstructionKind::Fence { sem, scope, restrict })
}

/// Neither sem nor scope, or a half of scope `.sys` (FN-18).
fn check_alias(words: &Words<'_>) -> Result<(), Diagnostic> {
    match (words.sem(), words.scope()) {
        (None, None) if words.written(Key::Sem).is_none() => Ok(()),
        (Some(Sem::Acquire | Sem::Release), Some(Scope::Sys)) => Ok(()),
        _ => {
            let message =
                "`fence.proxy.alias` takes neither sem nor scope, or `.acquire.sys` or `.release.sys`";
            let key = if words.written(Key::Scope).is_some() { Key::Scope } else { Key::Sem };
            Err(illegal(words.span(key), message, ALIAS_WORDS, "FN-18"))
        }
    }
}

fn build_alias(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let kind = match words.sem() {
        Some(sem) => InstructionKind::ProxyFence(ProxyFenceKind::AliasHalf { sem }),
        None => InstructionKind::AliasFence,
    };
    body.plain(site, kind)
}

fn build_async(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let space = match words.get(Key::Space) {
        None => AsyncSpace::All,
        Some("global") => AsyncSpace::Global,
        Some("shared::cta") => AsyncSpace::SharedCta,
        Some(_) => AsyncSpace::SharedCluster,
    };
    body.plain(site, InstructionKind::ProxyFence(ProxyFenceKind::Async { space }))
}

fn build_async_generic(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let (restrict, sem) = check_restriction(words).unwrap_or((SyncRestrict::SharedClusterRead, Sem::Release));
    body.plain(site, InstructionKind::ProxyFence(ProxyFenceKind::AsyncGeneric { sem, restrict }))
}

fn build_tensormap(body: &mut Body<'_>, site: &Site<'_>, words: &mut Words<'_>) -> Resolved<Built> {
    let scope = words.scope().unwrap_or(Scope::Sys);
    if words.sem() == Some(Sem::Release) {
        return body.plain(site, InstructionKind::ProxyFence(ProxyFenceKind::TensormapRelease { scope }));
    }
    body.expect_no_result(site)?;
    body.expect_operands(site, 2, 2, "the address of a tensor map and its size, 128")?;
    let address = body.map_operand(site, &site.operands[0], Space::Global, "UB-F1")?;
    body.expect_map_size(site, &site.operands[1], "UB-F1")?;
    Ok((InstructionKind::ProxyFence(ProxyFenceKind::TensormapAcquire { scope, address }), Vec::new()))
}

fn check_formal(words: &Words<'_>) -> Result<(), Diagnostic> {
    if words.target.formal {
        return Ok(());
    }
    let message = format!("PTX has no `{}`; only the formal model of PTX 7.5 has", words.form().name);
    let help = "no fence of PTX lets a texture, surface or constant access see what was written in the same kernel: \
                use `ld` and `st`; to check against the formal model, say `//! target formal`";
    Err(illegal(words.opcode().span, message, help, "MM-2"))
}

fn build_formal(body: &mut Body<'_>, site: &Site<'_>, proxy: Proxy) -> Resolved<Built> {
    body.plain(site, InstructionKind::ProxyFence(ProxyFenceKind::Formal { proxy }))
}
