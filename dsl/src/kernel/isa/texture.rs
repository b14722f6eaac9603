//! `tex`, `suld`, `sust` and `sured`: accesses through the texture and surface proxies (MM-2, MM-15).
//!
//! A skeleton of PTX's forms: one element of a one-dimensional texture or surface at a time, its coordinate an index of the
//! object. Such accesses are weak; `sured` is an atomic of scope `.gpu`.

use super::access::Access;
use super::words::Words;
use super::{
    Build, Family, Form, Key, Lack, Need, Slot, Traits, default, form, may, must_or, since, unsupported,
};
use crate::kernel::resolve::Reported;
use crate::vocabulary::{Proxy, Scope, Sem};

const GEOMETRY: Slot = must_or(
    Key::Plain,
    &["1d"],
    &Lack {
        code: "validate::missing-operation",
        what: "a geometry",
        help: "add `.1d`, as in `tex.1d.u32 [t]` or `suld.b.1d.b32 [s]`",
        rule: "MM-2",
    },
);
const BITS: Slot = must_or(
    Key::Plain,
    &["b"],
    &Lack {
        code: "validate::missing-operation",
        what: "`.b`, the form that moves bits as they are",
        help: "add `.b`, as in `suld.b.1d.b32 [s]`",
        rule: "MM-2",
    },
);
/// What a texture gives.
const TEXEL: Slot = may(Key::Type, &["u32", "s32", "f32"]);
/// Surfaces move bits as they are.
const RAW: Slot = may(Key::Type, &["b8", "b16", "b32", "b64"]);
const NUMBER: Slot = may(Key::Type, &["b32", "u32", "u64", "s32", "s64"]);
const MODE: Slot = Slot { key: Key::Plain, words: &["trap", "clamp", "zero"], need: Need::Hint };
const OTHERS: Slot = unsupported(&[
    "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms", "v2", "v4", "p", "f16x2", "base", "level",
    "grad", "cg", "cs",
]);

/// A form that accesses a surface.
const fn surface(name: &'static str, slots: &'static [Slot], build: Build) -> Form {
    form(name, slots, since(1, 5, 20), build).rule("MM-2")
}

const fn family(name: &'static str, forms: &'static [Form]) -> Family {
    Family {
        name,
        code: "validate::missing-operation",
        help: GEOMETRY_HELP,
        rule: "MM-2",
        others: &[],
        forms,
    }
}
const GEOMETRY_HELP: &str =
    "write `tex.1d.u32 [t]`, `suld.b.1d.b32 [s]`, `sust.b.1d.b32 [s], v` or `sured.b.add.1d.u32 [s], v`";

/// The families of this file.
pub(super) static FAMILIES: &[&Family] = &[&SULD, &SURED, &SUST, &TEX];

pub(super) static TEX: Family = family(
    "tex",
    &[form(
        "tex",
        &[GEOMETRY, TEXEL, default(Key::Plain, &["s32"]), OTHERS],
        since(1, 0, 20),
        |body, site, words| body.load(site, words, &access(words, Proxy::Texture)),
    )
    .operands("r = … [t]")
    .traits(Traits::QUIET)
    .rule("MM-2")],
);
pub(super) static SULD: Family = family(
    "suld",
    &[surface("suld", &[BITS, GEOMETRY, RAW, MODE, OTHERS], |body, site, words| {
        body.load(site, words, &access(words, Proxy::Surface))
    })
    .operands("r = … [s]")
    .traits(Traits::QUIET)],
);
pub(super) static SUST: Family = family(
    "sust",
    &[surface("sust", &[BITS, GEOMETRY, RAW, MODE, OTHERS], |body, site, words| {
        body.store(site, words, &access(words, Proxy::Surface))
    })
    .operands("[s], v")],
);
pub(super) static SURED: Family = family(
    "sured",
    &[surface(
        "sured",
        &[
            BITS,
            must_or(
                Key::Operation,
                &["add", "min", "max", "and", "or"],
                &Lack {
                    code: "validate::missing-operation",
                    what: "an operation",
                    help: "add `.add`, as in `sured.b.add.1d.u32 [s], v`",
                    rule: "MM-2",
                },
            ),
            GEOMETRY,
            NUMBER,
            MODE,
            OTHERS,
        ],
        |body, site, words| {
            let access = Access { sem: Sem::Relaxed, scope: Scope::Gpu, ..access(words, Proxy::Surface) };
            let rmw = super::access::rmw(words).ok_or(Reported)?;
            body.reduction(site, words, &access, rmw)
        },
    )
    .operands("[s], v")],
);

fn access(words: &Words<'_>, proxy: Proxy) -> Access {
    Access { sem: Sem::Weak, scope: Scope::Cta, proxy, ..super::access::access(words) }
}
