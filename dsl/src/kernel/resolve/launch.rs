//! Launches: the shape of a grid, and what else is said of it.

use super::super::ast;
use super::super::program::Launch;
use super::body::Body;
use super::{Resolved, spa};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

const MAX_THREADS: u64 = 4096;
const MAX_CTA_THREADS: u64 = 1024;
const DIMENSIONS: [&str; 5] = ["gpus", "clusters", "ctas", "warps", "lanes"];
/// The field of a launch that is no dimension.
const RESIDENT: &str = "resident";

/// The field of a launch that says how many registers each thread has at the start.
const REGISTERS: &str = "registers";

impl Body<'_> {
    pub(super) fn resolve_launch(
        &mut self,
        name: Option<&ast::Name>,
        fields: &[(ast::Name, ast::Expr)],
        span: Span,
        earlier: &[Launch],
    ) -> Resolved<Launch> {
        let text = name.map_or("default", |name| name.text.as_str());
        if let Some(first) = earlier.iter().find(|launch| launch.name == text) {
            let span = name.map_or(span, |name| name.place.0);
            return Err(self.report(super::body::duplicate_name(text, span, first.span)));
        }
        let mut sizes: [Option<(u64, Span)>; 5] = [None; 5];
        let mut residency: Option<(bool, Span)> = None;
        let mut spa_fields = spa::LaunchFields::default();
        let mut registers: Option<(u32, Span)> = None;
        for (field, value) in fields {
            let place = field.place.0;
            if field.text == RESIDENT {
                if let Some((_, first)) = residency {
                    return Err(self.report(super::body::duplicate_name(RESIDENT, place, first)));
                }
                residency = Some((self.resolve_resident(value)?, place));
                continue;
            }
            if self.checker.spa_field(&mut spa_fields, field, value)? {
                continue;
            }
            if field.text == REGISTERS {
                if let Some((_, first)) = registers {
                    return Err(self.report(super::body::duplicate_name(REGISTERS, place, first)));
                }
                registers = Some((self.resolve_registers(value)?, place));
                continue;
            }
            let Some(dimension) = DIMENSIONS.iter().position(|dimension| *dimension == field.text) else {
                let message = format!("a launch has no `{}`", field.text);
                let error =
                    Diagnostic::new("validate::launch-dimension", message, place, "unknown dimension");
                let fields = DIMENSIONS.into_iter().chain([RESIDENT, REGISTERS]);
                return Err(self.report(match super::super::suggest::suggest(&field.text, fields) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help(
                        "it has `gpus`, `clusters`, `ctas`, `warps`, `lanes`, `registers` for `setmaxnreg`, and `resident: true` where all its CTAs run at the same time",
                    ),
                }));
            };
            if let Some((_, first)) = sizes[dimension] {
                return Err(self.report(super::body::duplicate_name(&field.text, place, first)));
            }
            let size = self.checker.evaluate(value)?;
            if size == 0 || (field.text == "lanes" && size > 32) {
                let message = format!("`{}` is {size}", field.text);
                let label = if size == 0 { "must be at least 1" } else { "a warp has at most 32 lanes" };
                let error = Diagnostic::new("validate::launch-dimension", message, value.place.0, label);
                return Err(self.report(error));
            }
            sizes[dimension] = Some((size, place));
        }
        let resident = residency.is_some_and(|(resident, _)| resident);
        let [gpus, clusters, ctas, warps, lanes] = sizes.map(|size| size.map_or(1, |(size, _)| size));
        let cta = warps.saturating_mul(lanes);
        let total = [gpus, clusters, ctas].into_iter().fold(cta, u64::saturating_mul);
        let too_many = |message: String, label: &str, help: &str| {
            Err(Diagnostic::new("limit::launch", message, span, label).with_help(help))
        };
        let checked = if cta > MAX_CTA_THREADS {
            let message = format!("this launch has {cta} threads per CTA; PTX allows {MAX_CTA_THREADS}");
            too_many(message, "too many threads per CTA", "use fewer `warps` or `lanes`")
        } else if total > MAX_THREADS {
            let message = format!("this launch has {total} threads; the limit is {MAX_THREADS}");
            too_many(message, "too many threads", "synchronization bugs show with a few threads per role")
        } else {
            Ok(())
        };
        if let Err(error) = checked {
            return Err(self.report(error));
        }
        if let (true, Some((_, place))) = (self.checker.target.spa, sizes[1]) {
            let message = "these machines have no clusters";
            let error = Diagnostic::new("validate::launch-dimension", message, place, "not for `spa_50`");
            return Err(
                self.report(error.with_help("say how many `ctas` there are, and on how many `sms` they run"))
            );
        }
        // All products are below the limits checked above, so each factor is.
        let small = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
        let ctas_per_gpu = small(ctas);
        Ok(Launch {
            name: text.to_owned(),
            gpus: small(gpus),
            clusters: small(clusters),
            ctas: small(ctas),
            warps: small(warps),
            lanes: small(lanes),
            // Who waits for whom is not what these kernels are checked for: all of them run.
            resident: resident || self.checker.target.spa,
            registers: registers.map(|(registers, _)| registers),
            span,
            placement: None,
            spa: self.checker.target.spa.then(|| spa_fields.resolve(ctas_per_gpu)),
        })
    }

    /// Whether CTAs of different clusters run at the same time (LT-5).
    fn resolve_resident(&mut self, value: &ast::Expr) -> Resolved<bool> {
        if let ast::ExprKind::Bool(resident) = value.kind {
            return Ok(resident);
        }
        let message = "`resident` is `true` or `false`";
        let error = Diagnostic::new("validate::launch-resident", message, value.place.0, "neither");
        Err(self.report(error.with_help("write `resident: true` for a cooperative launch").with_rule("LT-5")))
    }

    /// Registers of each thread at the start (AS-41).
    fn resolve_registers(&mut self, value: &ast::Expr) -> Resolved<u32> {
        let found = self.checker.evaluate(value)?;
        match u32::try_from(found) {
            Ok(count) if (24..=256).contains(&count) && count.is_multiple_of(8) => Ok(count),
            _ => {
                let message = format!("`registers` is {found}");
                let error =
                    Diagnostic::new("validate::launch-registers", message, value.place.0, "of each thread");
                let help =
                    "write a multiple of 8 from 24 to 256, such as `registers: 168`: that of `.maxnreg`";
                Err(self.report(error.with_help(help).with_rule("AS-41")))
            }
        }
    }
}
