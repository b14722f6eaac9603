//! Nested scopes, flattened: what a scope declares gets the scope's number behind its name.
//!
//! A label is used before it stands there, so names are replaced once the body has been read.

use super::super::module::{Function, Name};
use rustc_hash::{FxHashMap, FxHashSet};

/// What a scope declares.
#[derive(Default)]
struct Scope {
    parent: u32,
    names: FxHashSet<String>,
    /// Beginnings of the names of numbered registers, and how many there are.
    ranges: FxHashMap<String, u32>,
}

/// The scopes of a body.
pub struct Scopes {
    scopes: Vec<Scope>,
    open: Vec<u32>,
    /// The scope of each item.
    items: Vec<u32>,
    current: u32,
}

impl Scopes {
    pub fn new() -> Self {
        Self { scopes: vec![Scope::default()], open: Vec::new(), items: Vec::new(), current: 0 }
    }

    pub fn depth(&self) -> usize {
        self.open.len()
    }

    pub fn current(&self) -> u32 {
        self.current
    }

    pub fn open(&mut self) {
        self.open.push(self.current);
        self.scopes.push(Scope { parent: self.current, ..Scope::default() });
        self.current = u32::try_from(self.scopes.len() - 1).unwrap_or(u32::MAX);
    }

    /// Leaves a scope; whether there was one.
    pub fn close(&mut self) -> bool {
        let Some(outer) = self.open.pop() else { return false };
        self.current = outer;
        true
    }

    pub fn declare(&mut self, name: &str) {
        self.scopes[self.current as usize].names.insert(name.to_owned());
    }

    pub fn declare_range(&mut self, prefix: &str, count: u32) {
        self.scopes[self.current as usize].ranges.insert(prefix.to_owned(), count);
    }

    /// Gives a name that the current scope declares its number.
    pub fn rename_declared(&self, name: &mut Name) {
        if self.current != 0 {
            name.text = format!("{}@{}", name.text, self.current);
        }
    }

    /// Remembers the scope of the item that was added.
    pub fn note(&mut self) {
        self.items.push(self.current);
    }

    /// The nested scope that a name is of, seen from a scope.
    fn owner(&self, name: &str, mut scope: u32) -> Option<u32> {
        while scope != 0 {
            let own = &self.scopes[scope as usize];
            if own.names.contains(name) {
                return Some(scope);
            }
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if let Some(&count) = own.ranges.get(prefix)
                && name[prefix.len()..].parse().is_ok_and(|number: u32| number < count)
            {
                return Some(scope);
            }
            scope = own.parent;
        }
        None
    }

    fn rename_text(&self, text: &mut String, scope: u32) {
        if let Some(owner) = self.owner(text, scope) {
            *text = format!("{text}@{owner}");
        }
    }

    /// Gives what nested scopes declare their names.
    pub fn rename(&self, function: &mut Function) {
        if self.scopes.len() == 1 {
            return;
        }
        for (item, &scope) in function.body.iter_mut().zip(&self.items) {
            item.each_name_mut(&mut |text| self.rename_text(text, scope));
        }
    }
}
