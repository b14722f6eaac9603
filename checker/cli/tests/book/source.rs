//! Files of other languages on a page: sources, and what compilers have made of them.

use super::Block;
use std::fs;
use std::path::Path;

/// Copies an example to the folder of a page, with the module that it imports, and holds the block to its lines.
pub fn check(body: &str, block: &Block, folder: &Path) -> Result<(), String> {
    let of = block.value("of").ok_or("a block of a source says `of=…`")?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(of);
    let text = fs::read_to_string(&path).map_err(|error| format!("there is no example {of}: {error}"))?;
    let name = |path: &Path| path.file_name().map(|name| folder.join(name)).ok_or("a path ends in a name");
    fs::write(name(&path)?, &text).expect("writable");
    for line in text.lines().filter_map(|line| line.strip_prefix("import \"")) {
        let module = path.with_file_name(line.split('"').next().unwrap_or_default());
        fs::copy(&module, name(&module)?).map_err(|error| format!("{}: {error}", module.display()))?;
    }
    let mut lines = text.lines();
    for line in body.lines().filter(|line| line.trim() != "…") {
        if !lines.any(|own| own.trim() == line.trim()) {
            return Err(format!("{of} has no line `{line}` there"));
        }
    }
    Ok(())
}

/// Writes another version of a file of the page: `-` takes a line out, `+` puts one in where that was, or behind the line
/// before it in the block.
pub fn change(body: &str, block: &Block, folder: &Path) -> Result<(), String> {
    let (Some(of), Some(file)) = (block.value("of"), block.value("file")) else {
        return Err("a change says `of=…` and `file=…`".to_owned());
    };
    let text = fs::read_to_string(folder.join(of)).map_err(|error| format!("{of}: {error}"))?;
    let mut lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    for line in body.lines().filter(|line| !matches!(line.trim(), "…" | "")) {
        let (mark, line) = line.split_at_checked(1).unwrap_or((" ", line));
        let find = || {
            let found = lines[at..].iter().position(|own| own.trim() == line.trim());
            found.map(|found| at + found).ok_or_else(|| format!("{of} has no line `{line}` there"))
        };
        match mark {
            "-" => {
                at = find()?;
                lines.remove(at);
            }
            "+" => {
                lines.insert(at, line);
                at += 1;
            }
            _ => at = find()? + 1,
        }
    }
    fs::write(folder.join(file), lines.join("\n") + "\n").expect("writable");
    Ok(())
}
