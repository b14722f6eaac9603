//! Launches: the shape of a grid, and what else is said of it.

use super::super::ast;
use super::super::program::Launch;
use super::body::Body;
use super::{Reported, Resolved, spa};
use crate::diagnostic::Diagnostic;
use crate::span::Span;

const MAX_THREADS: u64 = 4096;
const MAX_CTA_THREADS: u64 = 1024;
const DIMENSIONS: [&str; 5] = ["gpus", "ctas", "cluster", "warps", "lanes"];
/// Fields in axes, which say how many warps and lanes there are, how many CTAs, and how many of each cluster.
const AXES: [&str; 3] = ["block", "grid", "cluster"];
/// The field of a launch that is no dimension.
const COOPERATIVE: &str = "cooperative";
/// What earlier versions called the shape of a grid; their `ctas` were those of one cluster.
const RENAMED: [&str; 2] = ["clusters", "resident"];

/// Dimensions as CUDA calls them.
const WORDS_OF_CUDA: [(&str, &str); 6] = [
    ("threads", IN_WARPS),
    ("blockDim", IN_AXES),
    ("blockdim", IN_AXES),
    ("blocks", "write `ctas`"),
    ("gridDim", "write `ctas`, or `grid: [4, 2]` in several dimensions"),
    (
        "clusterDim",
        "write `cluster`: how many CTAs there are in each, or `cluster: [2, 2]` in several dimensions",
    ),
];

/// How the threads of a CTA are counted.
const IN_WARPS: &str =
    "write `warps`, and `lanes` where more than one thread of a warp matters: `warps: 2, lanes: 2`";

/// How they are in several dimensions.
const IN_AXES: &str = "write `block: [32, 8]`; or `warps`, and `lanes` where more than one thread of a warp matters: \
     `warps: 2, lanes: 2`";

/// The field of a launch that says how many registers each thread has at the start.
const REGISTERS: &str = "registers";

impl Body<'_> {
    pub(in crate::kernel) fn resolve_launch(
        &mut self,
        name: Option<&ast::Name>,
        fields: &[(ast::Name, ast::Expr)],
        span: Span,
        earlier: &[Launch],
    ) -> Resolved<Launch> {
        let text = name.map_or("default", |name| name.text.as_str());
        if let Some(first) = earlier.iter().find(|launch| launch.name == text) {
            let span = name.map_or(span, |name| name.place.0);
            let help = "launches of a kernel have names of their own: `launch large { ctas: 4 }`; without one it is `default`";
            return Err(self.report(super::body::duplicate_name(text, span, first.span).with_help(help)));
        }
        let mut sizes: [Option<(u64, Span)>; 5] = [None; 5];
        let mut axes: [Option<([u32; 3], Span)>; 3] = [None; 3];
        if fields.iter().any(|(field, _)| RENAMED.contains(&field.text.as_str())) {
            return Err(self.old_shape(fields));
        }
        let mut cooperation: Option<(bool, Span)> = None;
        let mut spa_fields = spa::LaunchFields::default();
        let mut registers: Option<(u32, Span)> = None;
        for (field, value) in fields {
            let place = field.place.0;
            if field.text == COOPERATIVE {
                if let Some((_, first)) = cooperation {
                    return Err(self.report(super::body::duplicate_name(COOPERATIVE, place, first)));
                }
                cooperation = Some((self.resolve_cooperative(value)?, place));
                continue;
            }
            if self.checker.spa_field(&mut spa_fields, field, value)? {
                continue;
            }
            let is_list = matches!(value.kind, ast::ExprKind::List(_));
            if let (true, "ctas") = (is_list, field.text.as_str()) {
                let error = Diagnostic::new(
                    "validate::launch-dimension",
                    "`ctas` is one number",
                    value.place.0,
                    "several here",
                );
                return Err(
                    self.report(error.with_help("write `grid: [4, 2]` for a grid of several dimensions"))
                );
            }
            let in_axes = AXES.iter().position(|name| *name == field.text);
            if let Some(which) = in_axes.filter(|_| is_list || field.text != "cluster") {
                if let Some((_, first)) = axes[which] {
                    return Err(self.report(super::body::duplicate_name(&field.text, place, first)));
                }
                axes[which] = Some((self.resolve_axes(field, value, &mut sizes)?, place));
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
                let fields = DIMENSIONS.into_iter().chain([COOPERATIVE, REGISTERS]).chain(["block", "grid"]);
                let in_cuda = WORDS_OF_CUDA.iter().find(|(word, _)| *word == field.text);
                return Err(self.report(match super::super::suggest::suggest(&field.text, fields) {
                    _ if in_cuda.is_some() => error.with_help(in_cuda.map_or("", |(_, help)| *help)),
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help(
                        "it has `gpus`, `ctas` or `grid`, `cluster`, `warps` and `lanes` or `block`, `registers` for `setmaxnreg`, and `cooperative: true` where all its CTAs run at the same time",
                    ),
                }));
            };
            if let Some((_, first)) = sizes[dimension] {
                let mut others = AXES.iter().zip(axes);
                let by = others.find(|(_, found)| found.is_some_and(|(_, other)| other == first));
                return Err(match by {
                    Some((name, _)) => self.counted_twice(field, name, first),
                    None => self.report(super::body::duplicate_name(&field.text, place, first)),
                });
            }
            let size = self.checker.evaluate(value)?;
            if size == 0 || (field.text == "lanes" && size > 32) {
                let message = format!("`{}` is {size}", field.text);
                let label = if size == 0 { "must be at least 1" } else { "a warp has at most 32 lanes" };
                let error = Diagnostic::new("validate::launch-dimension", message, value.place.0, label);
                let help = "a few threads show what there is to see: `launch { warps: 2, lanes: 2 }`";
                return Err(self.report(error.with_help(help)));
            }
            sizes[dimension] = Some((size, place));
        }
        let [gpus, ctas, cluster, warps, lanes] = sizes.map(|size| size.map_or(1, |(size, _)| size));
        let cta = warps.saturating_mul(lanes);
        let total = [gpus, ctas].into_iter().fold(cta, u64::saturating_mul);
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
        if let (true, Some((_, place))) = (self.checker.target.spa, sizes[2]) {
            let message = "these machines have no clusters";
            let error = Diagnostic::new("validate::launch-dimension", message, place, "not for `spa_50`");
            return Err(
                self.report(error.with_help("say how many `ctas` there are, and on how many `sms` they run"))
            );
        }
        if let (Some((_, place)), false) = (sizes[2], ctas.is_multiple_of(cluster)) {
            return Err(self.uneven_clusters(ctas, cluster, place));
        }
        // All products are below the limits checked above, so each factor is, and `cluster` divides `ctas`.
        let small = |size: u64| u32::try_from(size).unwrap_or(u32::MAX);
        let ctas_per_gpu = small(ctas);
        let [block, grid, _] = axes.map(|axes| axes.and_then(|(sizes, _)| Launch::in_axes(sizes)));
        let cluster_axes = axes[2]
            .map(|(sizes, _)| sizes)
            .filter(|&sizes| sizes != [small(cluster), 1, 1] || grid.is_some());
        let launch = Launch {
            name: text.to_owned(),
            gpus: small(gpus),
            ctas: ctas_per_gpu,
            cluster: small(cluster),
            cluster_axes,
            warps: small(warps),
            lanes: small(lanes),
            block,
            grid,
            cooperative: cooperation.is_some_and(|(cooperative, _)| cooperative),
            registers: registers.map(|(registers, _)| registers),
            span,
            placement: None,
            spa: self.checker.target.spa.then(|| spa_fields.resolve(ctas_per_gpu)),
        };
        if let (Some((row, of_cluster)), Some((_, place))) = (launch.uneven_row(), axes[2].or(axes[1])) {
            let message = format!("a row of {row} CTAs does not divide into clusters of {of_cluster}");
            let error = Diagnostic::new("validate::launch-cluster", message, place, "along one axis");
            return Err(self.report(error.with_help(
                "`cluster: 2` lies along the first axis of a grid that has more than one CTA, and `cluster: [2, 2]` along \
                 the axes that it names: make each size of the grid a multiple of the cluster's",
            )));
        }
        Ok(launch)
    }

    /// `32`, `[32, 8]`: what is along each axis, and so how many there are of the dimensions in whose place it stands.
    fn resolve_axes(
        &mut self,
        field: &ast::Name,
        value: &ast::Expr,
        counted: &mut [Option<(u64, Span)>; 5],
    ) -> Resolved<[u32; 3]> {
        let parts = match &value.kind {
            ast::ExprKind::List(parts) => parts.as_slice(),
            _ => std::slice::from_ref(value),
        };
        let wrong = |message: String, span: Span, label: &str| {
            Diagnostic::new("validate::launch-dimension", message, span, label)
        };
        let mut sizes = [1; 3];
        if parts.is_empty() || parts.len() > 3 {
            let message = format!("`{}` has one to three dimensions", field.text);
            return Err(self.report(wrong(message, value.place.0, "others")));
        }
        for (size, part) in sizes.iter_mut().zip(parts) {
            let found = self.checker.evaluate(part)?;
            match u32::try_from(found) {
                Ok(found @ 1..) => *size = found,
                _ => {
                    let message = format!("`{}` is {found}", field.text);
                    return Err(self.report(wrong(message, part.place.0, "must be at least 1")));
                }
            }
        }
        let all = sizes.iter().map(|&size| u64::from(size)).fold(1, u64::saturating_mul);
        let counts = if field.text == "cluster" {
            vec![("cluster", all)]
        } else if field.text == "block" {
            let Some(lanes) = Launch::lanes_of(all).map(u64::from) else {
                let message = format!("a block of {all} threads has a warp that is not full");
                let error =
                    Diagnostic::new("unsupported::launch-block", message, field.place.0, "not whole warps");
                return Err(self.report(error.with_help("take a multiple of 32, or at most 32 threads")));
            };
            vec![("warps", all / lanes), ("lanes", lanes)]
        } else {
            vec![("ctas", all)]
        };
        for (size, name) in counted.iter_mut().zip(DIMENSIONS) {
            let Some(&(_, count)) = counts.iter().find(|(dimension, _)| *dimension == name) else { continue };
            if let Some((_, first)) = *size {
                return Err(self.counted_twice(field, name, first));
            }
            *size = Some((count, field.place.0));
        }
        Ok(sizes)
    }

    /// Two fields that say how many threads or CTAs there are.
    fn counted_twice(&mut self, field: &ast::Name, other: &str, first: Span) -> Reported {
        let message = format!("`{}` and `{other}` both say how many there are", field.text);
        let error = Diagnostic::new("validate::launch-dimension", message, field.place.0, "said again")
            .with_label(first, "said first");
        self.report(error.with_help("leave one of them out"))
    }

    /// Whether all CTAs run at the same time (LT-5).
    fn resolve_cooperative(&mut self, value: &ast::Expr) -> Resolved<bool> {
        if let ast::ExprKind::Bool(cooperative) = value.kind {
            return Ok(cooperative);
        }
        let message = "`cooperative` is `true` or `false`";
        let error = Diagnostic::new("validate::launch-cooperative", message, value.place.0, "neither");
        let help = "write `cooperative: true` for what `cudaLaunchCooperativeKernel` launches";
        Err(self.report(error.with_help(help).with_rule("LT-5")))
    }

    /// A grid that is no number of whole clusters.
    fn uneven_clusters(&mut self, ctas: u64, cluster: u64, place: Span) -> Reported {
        let message = format!("a grid of {ctas} CTAs does not divide into clusters of {cluster}");
        let error = Diagnostic::new("validate::launch-cluster", message, place, "does not divide `ctas`");
        let whole = ctas.div_ceil(cluster).saturating_mul(cluster);
        self.report(error.with_help(format!(
            "`ctas` counts the CTAs of the grid, `cluster` those of each cluster: write `ctas: {whole}, cluster: \
             {cluster}`, or another `cluster`"
        )))
    }

    /// A launch in the words of earlier versions, with what is written today.
    fn old_shape(&mut self, fields: &[(ast::Name, ast::Expr)]) -> Reported {
        let given = |name: &str| fields.iter().find(|(field, _)| field.text == name);
        let mut today = Vec::new();
        if let Some((_, clusters)) = given("clusters") {
            let ctas = given("ctas").map_or(Ok(1), |(_, value)| self.checker.evaluate(value));
            let (Ok(clusters), Ok(ctas)) = (self.checker.evaluate(clusters), ctas) else { return Reported };
            today.push(format!("ctas: {}", clusters.saturating_mul(ctas)));
            if ctas > 1 && !self.checker.target.spa {
                today.push(format!("cluster: {ctas}"));
            }
        }
        if let Some((_, value)) = given("resident")
            && !matches!(value.kind, ast::ExprKind::Bool(false))
        {
            today.push("cooperative: true".to_owned());
        }
        let mut old = fields.iter().filter(|(field, _)| RENAMED.contains(&field.text.as_str()));
        let Some((first, _)) = old.next() else { return Reported };
        let message = format!("a launch has no `{}` any more", first.text);
        let label = |field: &ast::Name| match field.text.as_str() {
            "clusters" => "`ctas` counts those of the grid, `cluster` those of each cluster",
            _ => "`cooperative` says so now",
        };
        let mut error = Diagnostic::new("validate::launch-dimension", message, first.place.0, label(first));
        for (field, _) in old.filter(|(field, _)| field.text != first.text) {
            error = error.with_label(field.place.0, label(field));
        }
        self.report(match today.as_slice() {
            [] => error.with_help("leave it out: without `cooperative: true` a launch is an ordinary one"),
            _ => error.with_help(format!("write `{}`", today.join(", "))),
        })
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
