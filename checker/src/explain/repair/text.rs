//! Changes of a kernel's text, and the program that comes of them.

use super::edit::{Edit, Piece, Repair};
use fencepost_dsl::kernel::program::Program;
use fencepost_dsl::kernel::{LIBRARY_ROOT, LoadOptions, load};
use fencepost_dsl::{FileId, SourceMap, Span};
use std::sync::{Mutex, PoisonError};

/// The texts of a program, so that it can be made anew with changes; by default none, for when nobody would see a repair.
#[derive(Debug, Default)]
pub struct Texts {
    sources: SourceMap,
    options: LoadOptions,
    /// By kernel, repairs after which every launch was proved.
    known: Mutex<Vec<(String, Repair)>>,
    /// By kernel, changes after which one launch was proved, and others were not, or not within their steps.
    hints: Mutex<Vec<(String, Vec<Edit>)>>,
}

impl Texts {
    /// The texts of a program that was loaded into `sources` alone, with these options.
    pub fn new(sources: &SourceMap, options: LoadOptions) -> Self {
        Self { sources: sources.clone(), options, known: Mutex::default(), hints: Mutex::default() }
    }

    /// The files.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Whether changes can be tried: litmus tests have columns, which no edit is made for.
    pub fn can_change(&self) -> bool {
        self.main().is_some_and(|main| !self.sources.file(main).name.ends_with(".litmus"))
    }

    /// The texts with changes; `None` if they overlap, or change what comes with Fencepost and is not the reader's to change.
    pub(crate) fn changed(&self, edits: &[Edit]) -> Option<Self> {
        if edits.iter().flat_map(|edit| &edit.pieces).any(|piece| self.is_library(piece.span.file)) {
            return None;
        }
        let mut sources = self.sources.clone();
        let pieces = || edits.iter().flat_map(|edit| &edit.pieces);
        for file in self.sources.ids().filter(|&file| pieces().any(|piece| piece.span.file == file)) {
            let text = self.file_with(file, edits)?;
            sources.set_text(file, text, |at| {
                let before = pieces().filter(|piece| piece.span.file == file && piece.span.end <= at);
                let length = |piece: &Piece| u32::try_from(piece.text.len()).unwrap_or(0);
                before.fold(at, |at, piece| {
                    (at + length(piece)).saturating_sub(piece.span.end - piece.span.start)
                })
            });
        }
        Some(Self {
            sources,
            options: self.options.clone(),
            known: Mutex::default(),
            hints: Mutex::default(),
        })
    }

    /// Whether a file comes with Fencepost.
    pub(crate) fn is_library(&self, file: FileId) -> bool {
        self.sources.file(file).name.starts_with(LIBRARY_ROOT)
    }

    /// Whether a place is in the file that was asked for, and not in one that it uses.
    pub(crate) fn is_main(&self, span: Span) -> bool {
        self.main() == Some(span.file)
    }

    /// The same texts, of which nothing is known.
    pub fn again(&self) -> Self {
        Self::new(&self.sources, self.options.clone())
    }

    /// Other texts for the same files.
    pub(crate) fn replaced(&self, text: impl Fn(FileId, &str) -> String) -> Self {
        let mut sources = self.sources.clone();
        for id in self.sources.ids() {
            sources.set_text(id, text(id, &self.sources.file(id).text), |at| at);
        }
        Self::new(&sources, self.options.clone())
    }

    fn main(&self) -> Option<FileId> {
        self.sources.ids().next()
    }

    /// The program of these texts; `None` if they are none.
    pub(crate) fn program(&self) -> Option<Program> {
        let mut read = |path: &str| {
            let found = self.sources.ids().find(|&file| self.sources.file(file).name == path);
            let text = found.map(|file| self.sources.file(file).text.to_string());
            text.ok_or_else(|| "it was not used before".to_owned())
        };
        let main = self.sources.file(self.main()?).name.clone();
        load(&mut SourceMap::default(), &main, &mut read, &self.options).ok()
    }

    fn file_with(&self, file: FileId, edits: &[Edit]) -> Option<String> {
        let text = &self.sources.file(file).text;
        let mut pieces: Vec<&Piece> =
            edits.iter().flat_map(|edit| &edit.pieces).filter(|piece| piece.span.file == file).collect();
        pieces.sort_by_key(|piece| (piece.span.start, piece.span.end));
        let mut changed = String::new();
        let mut at = 0;
        for piece in pieces {
            let (start, end) = (piece.span.start as usize, piece.span.end as usize);
            changed += text.get(at..start)?;
            changed += &piece.text;
            at = end;
        }
        changed += text.get(at..)?;
        Some(changed)
    }

    /// A repair after which every launch of a kernel was proved, if one is known.
    pub(super) fn known(&self, kernel: &str) -> Option<Repair> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(own, _)| own == kernel).map(|(_, repair)| repair.clone())
    }

    /// Keeps it.
    pub(super) fn learn(&self, kernel: &str, repair: &Repair) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((kernel.to_owned(), repair.clone()));
    }

    /// Changes that mended another launch of a kernel, and may mend this one.
    pub(super) fn hint(&self, kernel: &str) -> Option<Vec<Edit>> {
        let hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        hints.iter().find(|(own, _)| own == kernel).map(|(_, edits)| edits.clone())
    }

    /// Keeps them.
    pub(super) fn suggest(&self, kernel: &str, edits: &[Edit]) {
        let mut hints = self.hints.lock().unwrap_or_else(PoisonError::into_inner);
        if hints.iter().all(|(own, _)| own != kernel) {
            hints.push((kernel.to_owned(), edits.to_vec()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Edit, Texts};
    use fencepost_dsl::kernel::LoadOptions;
    use fencepost_dsl::{SourceMap, Span};

    const TEXT: &str = "kernel k {\n    launch {}\n    global a: u32 = 0;\n    st.weak [a], 1; // one\n    fence.sc.gpu;\n    if tid == 0 { st.weak [a], 2; }\n}\n";

    fn changed(edit: impl Fn(&SourceMap, &dyn Fn(&str) -> Span) -> Edit) -> String {
        let mut sources = SourceMap::default();
        let file = sources.add("k.fence", TEXT);
        let find = |part: &str| {
            let start = TEXT.find(part).expect("it is there");
            Span::new(file, start, start + part.len())
        };
        let edit = edit(&sources, &find);
        let texts = Texts::new(&sources, LoadOptions::default());
        let after = texts.changed(std::slice::from_ref(&edit));
        assert!(after.and_then(|texts| texts.program()).is_some());
        texts.file_with(file, &[edit]).expect("nothing overlaps")
    }

    #[test]
    fn statements_get_lines_of_their_own_where_others_have_them() {
        let after =
            changed(|sources, at| Edit::insert(sources, at("st.weak [a], 1;"), true, "fence.sc.cta;"));
        assert!(after.contains("st.weak [a], 1; // one\n    fence.sc.cta;\n    fence.sc.gpu;"), "{after}");
        let before =
            changed(|sources, at| Edit::insert(sources, at("st.weak [a], 1;"), false, "fence.sc.cta;"));
        assert!(before.contains("\n    fence.sc.cta;\n    st.weak [a], 1; // one"), "{before}");
        let inline =
            changed(|sources, at| Edit::insert(sources, at("st.weak [a], 2;"), true, "fence.sc.cta;"));
        assert!(inline.contains("{ st.weak [a], 2; fence.sc.cta; }"), "{inline}");
    }

    #[test]
    fn a_moved_statement_takes_its_line_along() {
        let moved =
            changed(|sources, at| Edit::moved(sources, at("fence.sc.gpu;"), at("st.weak [a], 1;"), false));
        assert!(moved.contains("\n    fence.sc.gpu;\n    st.weak [a], 1; // one\n    if"), "{moved}");
    }

    #[test]
    fn changes_that_meet_are_no_text() {
        let mut sources = SourceMap::default();
        let file = sources.add("k.fence", TEXT);
        let texts = Texts::new(&sources, LoadOptions::default());
        let (a, b) = (Span::new(file, 0, 8), Span::new(file, 7, 10));
        let edits = [Edit::replace(&sources, a, "x"), Edit::replace(&sources, b, "y")];
        assert!(edits[0].overlaps(&edits[1]) && texts.changed(&edits).is_none());
    }
}
