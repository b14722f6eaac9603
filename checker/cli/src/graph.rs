//! `--graph FILE`: which pictures are made of a launch, and into which files they go.

use super::Status;
use super::output::Output;
use fencepost::paths::shown_path;
use fencepost::report::Case;
use fencepost::report::picture::{self, dot, html, svg};
use fencepost::report::story::Story;
use fencepost_dsl::sorted::SortedMap;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::PathBuf;

/// A file to draw into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphFile {
    path: PathBuf,
    form: Form,
}

/// Form of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Svg,
    Html,
    Dot,
}

/// Reads the argument: the ending says the form.
pub fn graph_file(text: &str) -> Result<GraphFile, String> {
    let path = PathBuf::from(text);
    let form = match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Form::Svg,
        Some("html") => Form::Html,
        Some("dot") => Form::Dot,
        _ => return Err("the name must end in `.svg`, `.html` or `.dot`, which says the form".to_owned()),
    };
    Ok(GraphFile { path, form })
}

/// What was drawn of a launch.
#[derive(Serialize, Deserialize)]
pub struct Picture {
    /// The kernel's file, the kernel and the launch.
    of: [String; 3],
    /// A whole file, or of HTML one section for each cause.
    texts: Vec<String>,
}

/// The picture of a run.
pub fn drawn(file: &GraphFile, case: &Case<'_>, story: &Story) -> Picture {
    let of = [case.file, &case.kernel.name, &case.outcome.launch.name].map(str::to_owned);
    let texts = match file.form {
        Form::Svg => vec![svg::svg(story)],
        Form::Dot => vec![dot::dot(story)],
        Form::Html => picture::sections(case, std::slice::from_ref(story)),
    };
    Picture { of, texts }
}

/// The pictures of a launch, if there is anything to draw: of the first finding, or in HTML of all that are told in full.
pub fn draw(file: &GraphFile, case: &Case<'_>) -> Option<Picture> {
    let stories = picture::stories(case, if file.form == Form::Html { usize::MAX } else { 1 });
    if stories.is_empty() {
        return None;
    }
    let of = [case.file, &case.kernel.name, &case.outcome.launch.name].map(str::to_owned);
    let texts = match file.form {
        Form::Svg => stories.iter().map(svg::svg).collect(),
        Form::Dot => stories.iter().map(dot::dot).collect(),
        Form::Html => picture::sections(case, &stories),
    };
    Some(Picture { of, texts })
}

/// Writes what was drawn: one page of HTML, else a file for each launch; how that went.
pub fn write(file: &GraphFile, pictures: &[Picture], output: &mut Output) -> Status {
    if pictures.is_empty() {
        output.complain(&format!(
            "no picture: nothing was found, and `{}` is not written\n",
            shown_path(&file.path)
        ));
        return Status::Fine;
    }
    let mut status = Status::Fine;
    for (path, text) in files(file, pictures) {
        if let Err(error) = fs::write(&path, text) {
            output.complain(&format!("error: `{}` could not be written: {error}\n", shown_path(&path)));
            status = Status::Unwritten;
        }
    }
    status
}

/// Paths and texts of the files.
fn files(file: &GraphFile, pictures: &[Picture]) -> Vec<(PathBuf, String)> {
    if file.form == Form::Html {
        let title = match pictures {
            [only] => format!("Fencepost: {}", only.of[0]),
            several => format!("Fencepost: {} launches", several.len()),
        };
        let sections: Vec<String> = pictures.iter().flat_map(|picture| picture.texts.clone()).collect();
        return vec![(file.path.clone(), html::page(&title, &sections))];
    }
    let names = names(pictures);
    let stem = file.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let ending = if file.form == Form::Svg { "svg" } else { "dot" };
    let with = |name: &str| match name {
        "" => file.path.clone(),
        name => file.path.with_file_name(format!("{stem}-{name}.{ending}")),
    };
    let texts = pictures.iter().map(|picture| picture.texts.first().cloned().unwrap_or_default());
    names.iter().map(|name| with(name)).zip(texts).collect()
}

/// What tells the pictures apart: nothing if there is one; else kernel and launch, with a number where these are the same.
fn names(pictures: &[Picture]) -> Vec<String> {
    if pictures.len() == 1 {
        return vec![String::new()];
    }
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
    };
    let mut seen: SortedMap<String, usize> = SortedMap::new();
    let mut names = Vec::new();
    for picture in pictures {
        let name = format!("{}-{}", plain(&picture.of[1]), plain(&picture.of[2]));
        let n = seen.entry(name.clone()).or_default();
        *n += 1;
        names.push(if *n == 1 { name } else { format!("{name}-{n}") });
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{Form, Picture, graph_file, names};

    #[test]
    fn the_ending_says_the_form() {
        assert_eq!(graph_file("a/b.svg").map(|file| file.form), Ok(Form::Svg));
        assert_eq!(graph_file("b.html").map(|file| file.form), Ok(Form::Html));
        assert!(graph_file("b.png").is_err() && graph_file("svg").is_err());
    }

    #[test]
    fn pictures_have_names_of_their_own() {
        let picture = |kernel: &str, launch: &str| Picture {
            of: ["k.fence", kernel, launch].map(str::to_owned),
            texts: vec![String::new()],
        };
        assert_eq!(names(&[picture("k", "default")]), [""]);
        let several = [picture("k", "default"), picture("k", "ctas=2,warps=4"), picture("k", "default")];
        assert_eq!(names(&several), ["k-default", "k-ctas-2-warps-4", "k-default-2"]);
    }
}
