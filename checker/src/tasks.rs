//! What of a file is checked: its launches, all of them or those that were asked for.

use crate::findings::Property;
use fencepost_dsl::kernel::program::{Channel, Kernel, Launch, Program, SpaLaunch};

/// The launches of a file that are meant, each with the number of its kernel. Else the option that does not suit the file,
/// and why.
pub fn tasks(
    program: &Program,
    wanted: Option<&str>,
    properties: &[Property],
) -> Result<Vec<(usize, Launch)>, (&'static str, String)> {
    let mut tasks = Vec::new();
    for (number, kernel) in program.kernels.iter().enumerate() {
        if kernel.condition.is_none() && properties == [Property::Condition] {
            let reason = "only a litmus test has a condition, and this is a kernel";
            return Err(("input::property", reason.to_owned()));
        }
        let launches = launches(kernel, wanted).map_err(|reason| ("input::launch", reason))?;
        tasks.extend(launches.into_iter().map(|launch| (number, launch)));
    }
    Ok(tasks)
}

/// The launches of `kernel` that are meant: all, the one of that name, or one made up on the command line.
pub fn launches(kernel: &Kernel, wanted: Option<&str>) -> Result<Vec<Launch>, String> {
    let Some(wanted) = wanted else { return Ok(kernel.launches.clone()) };
    if kernel.condition.is_some() {
        return Err("a litmus test says itself where its threads live".to_owned());
    }
    if !wanted.contains('=') {
        return Ok(kernel.launches.iter().filter(|launch| launch.name == wanted).cloned().collect());
    }
    if kernel.is_program {
        return Err("a program launches its kernels in the shapes that they declare".to_owned());
    }
    let mut launch = Launch::single(wanted, kernel.span);
    let is_spa = kernel.launches.iter().any(|launch| launch.spa.is_some());
    let mut spa = SpaLaunch::apart(0);
    let (mut block, mut grid) = (None, None);
    let mut given: Vec<&str> = Vec::new();
    for part in wanted.split(',') {
        let (name, value) =
            part.split_once('=').ok_or_else(|| format!("`{part}` is not of the form `ctas=2`"))?;
        if given.contains(&name.trim()) {
            return Err(format!("`{}` is given twice", name.trim()));
        }
        given.push(name.trim());
        if name.trim() == "cooperative" {
            launch.cooperative = match value.trim() {
                "true" => true,
                "false" => false,
                other => return Err(format!("`cooperative` is `true` or `false`, not `{other}`")),
            };
            continue;
        }
        if is_spa && spa_field(&mut spa, name.trim(), value.trim())? {
            continue;
        }
        if name.trim() == "registers" {
            let count = value
                .trim()
                .parse()
                .ok()
                .filter(|count: &u32| (24..=256).contains(count) && count.is_multiple_of(8));
            let wrong = || format!("`registers` is a multiple of 8 from 24 to 256, not `{}`", value.trim());
            launch.registers = Some(count.ok_or_else(wrong)?);
            continue;
        }
        match name.trim() {
            "block" => {
                block = Some(axes("block", value)?);
                continue;
            }
            "grid" => {
                grid = Some(axes("grid", value)?);
                continue;
            }
            "cluster" if !is_spa => {
                let sizes = axes("cluster", value)?;
                launch.cluster = number_of(sizes)?;
                launch.cluster_axes = Some(sizes);
                continue;
            }
            "clusters" => {
                return Err("a launch has no `clusters` any more: `ctas` counts the CTAs of the grid, `cluster` those \
                            of each cluster, as in `ctas=4,cluster=2`"
                    .to_owned());
            }
            "resident" => {
                return Err("a launch has no `resident` any more: write `cooperative=true`".to_owned());
            }
            _ => {}
        }
        let value: u32 = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
        let field = match name.trim() {
            "gpus" => &mut launch.gpus,
            "ctas" => &mut launch.ctas,
            "cluster" if is_spa => return Err("a launch of an SPA machine has no `cluster`".to_owned()),
            "warps" => &mut launch.warps,
            "lanes" => &mut launch.lanes,
            other => {
                return Err(format!(
                    "a launch has no `{other}`; it has gpus, ctas or grid, cluster, warps and lanes or block, registers and \
                     cooperative"
                ));
            }
        };
        *field = value;
    }
    if let Some(sizes) = block {
        once("block", &["warps", "lanes"], &given)?;
        let all = number_of(sizes)?;
        let wrong = || format!("a block of {all} threads has a warp that is not full: take a multiple of 32");
        launch.lanes = Launch::lanes_of(all.into()).ok_or_else(wrong)?;
        launch.warps = all / launch.lanes;
        launch.block = Launch::in_axes(sizes);
    }
    if let Some(sizes) = grid {
        once("grid", &["ctas"], &given)?;
        launch.ctas = number_of(sizes)?;
        launch.grid = Launch::in_axes(sizes);
    }
    // A number lies along the first axis that has more than one CTA.
    launch.cluster_axes = launch.cluster_axes.filter(|&sizes| Launch::in_axes(sizes).is_some());
    let sizes = [launch.gpus, launch.ctas, launch.warps, launch.lanes];
    let n_threads = sizes.into_iter().map(u64::from).fold(1, u64::saturating_mul);
    if n_threads == 0 || launch.cluster == 0 {
        return Err("every dimension of a launch is at least 1".to_owned());
    }
    if !launch.ctas.is_multiple_of(launch.cluster) {
        return Err(format!(
            "a grid of {} CTAs does not divide into clusters of {}: `ctas` counts those of the grid, `cluster` those of \
             each cluster",
            launch.ctas, launch.cluster
        ));
    }
    if let Some((row, of_cluster)) = launch.uneven_row() {
        return Err(format!(
            "a row of {row} CTAs does not divide into clusters of {of_cluster}: `cluster=2` lies along the first axis that \
             has more than one CTA, `cluster=2x2` along the axes that it names"
        ));
    }
    if launch.lanes > 32 || u64::from(launch.warps) * u64::from(launch.lanes) > 1024 || n_threads > 4096 {
        return Err(
            "a launch has at most 32 lanes per warp, 1024 threads per CTA and 4096 threads".to_owned()
        );
    }
    if let Some(unlike) = kernel.flat.as_ref().and_then(|flat| flat.required.unlike(&launch)) {
        return Err(format!("{}: {}", kernel.name, unlike.message));
    }
    if is_spa {
        let sms = if spa.sms == 0 { launch.ctas } else { spa.sms };
        launch.spa = Some(SpaLaunch { sms, ..spa });
    }
    Ok(vec![launch])
}

/// `32x8`: how many there are along each axis.
fn axes(field: &str, value: &str) -> Result<[u32; 3], String> {
    let wrong = || {
        format!(
            "`{field}` is up to three numbers of at least 1, as in `{field}=32x8`, not `{}`",
            value.trim()
        )
    };
    let mut sizes = [1; 3];
    let mut parts = value.trim().split('x');
    for (size, part) in sizes.iter_mut().zip(&mut parts) {
        *size = part.trim().parse().ok().filter(|&size: &u32| size > 0).ok_or_else(wrong)?;
    }
    if parts.next().is_none() { Ok(sizes) } else { Err(wrong()) }
}

/// All of them.
fn number_of(sizes: [u32; 3]) -> Result<u32, String> {
    let all = sizes.into_iter().try_fold(1u32, u32::checked_mul);
    all.ok_or_else(|| "a launch has at most 4096 threads".to_owned())
}

/// What axes count is not counted again.
fn once(field: &str, in_place_of: &[&str], given: &[&str]) -> Result<(), String> {
    match in_place_of.iter().find(|name| given.contains(name)) {
        Some(name) => Err(format!("`{field}` says how many `{name}` there are: leave one of the two out")),
        None => Ok(()),
    }
}

/// Reads a field that only launches of SPA machines have; `false` if it is none.
fn spa_field(spa: &mut SpaLaunch, name: &str, value: &str) -> Result<bool, String> {
    match (name, value) {
        ("host", "true" | "false") => spa.host = value == "true",
        ("copy_engine", "true") => spa.copy_engine = Some(Channel::Other),
        ("copy_engine", "false") => spa.copy_engine = None,
        ("copy_engine", "same_channel") => spa.copy_engine = Some(Channel::Same),
        ("sms", value) => match value.parse() {
            Ok(sms @ 1..) => spa.sms = sms,
            _ => return Err(format!("`sms` is a number of at least 1, not `{value}`")),
        },
        ("host", other) => return Err(format!("`host` is `true` or `false`, not `{other}`")),
        ("copy_engine", other) => {
            return Err(format!("`copy_engine` is `true`, `false` or `same_channel`, not `{other}`"));
        }
        _ => return Ok(false),
    }
    Ok(true)
}
