//! Reads the words of an opcode by the row of its form, and spells them out.

use super::unknown::has_modifier;
use super::{Family, Floor, Form, Key, Lack, Need, Refusal, Slot, since};
use crate::diagnostic::Diagnostic;
use crate::kernel::opcode::{Modifier, Opcode, PtxType, Window, parse_space};
use crate::kernel::suggest::suggest;
use crate::kernel::target::Target;
use crate::span::Span;
use crate::vocabulary::{Scope, Sem, Space};

/// An opcode, read by its row.
pub struct Words<'a> {
    form: &'static Form,
    /// How the full spelling begins.
    name: &'static str,
    opcode: Opcode<'a>,
    /// The word of each slot and its place, if one is written.
    found: Vec<Option<(&'static str, Span)>>,
    pub(in crate::kernel) target: Target,
}

/// Words that are younger than most instructions that they may stand on.
const YOUNG: &[(&str, Floor)] = &[
    ("cluster", since(7, 8, 90)),
    ("shared::cluster", since(7, 8, 90)),
    ("shared::cta", since(7, 8, 30)),
    ("b128", since(8, 3, 70)),
];

/// Whether an opcode begins with a name.
pub fn leads(name: &str, opcode: &Opcode<'_>) -> bool {
    let mut words = name.split('.');
    let mut modifiers = opcode.modifiers.iter();
    words.next() == Some(opcode.mnemonic)
        && words.all(|word| modifiers.next().is_some_and(|modifier| modifier.text == word))
}

/// The row of a family that an opcode begins like.
pub fn form(family: &'static Family, opcode: &Opcode<'_>) -> Option<&'static Form> {
    family.forms.iter().filter(|form| leads(form.name, opcode)).max_by_key(|form| form.name.len())
}

/// Reads an opcode that begins like a family.
pub fn read<'a>(
    family: &'static Family,
    opcode: &Opcode<'a>,
    target: Target,
) -> Result<Words<'a>, Diagnostic> {
    let Some(form) = form(family, opcode) else {
        let others = family.others.iter().filter(|(name, _)| leads(name, opcode));
        let Some((name, need)) = others.max_by_key(|(name, _)| name.len()) else {
            return Err(no_form(family, opcode));
        };
        let last = opcode.modifiers[name.split('.').count() - 2];
        return Err(match need {
            Need::Refused(refusal) => refused(refusal, last),
            Need::Unsupported(help) => unsupported_word(opcode, last, *help),
            _ => no_form(family, opcode),
        });
    };
    if form.slots.is_empty() && opcode.text != form.name {
        return Err(no_form(family, opcode));
    }
    let name = form.spelled;
    let mut words = Words { form, name, opcode: opcode.clone(), found: vec![None; form.slots.len()], target };
    for &modifier in &opcode.modifiers[form.name.split('.').count() - 1..] {
        words.take(modifier)?;
    }
    words.check_missing(family)?;
    (form.check)(&words)?;
    words.check_floors()?;
    Ok(words)
}

/// The opcode with its modifiers in the order of its row, which is PTX's; as it is, where they are not those of one. An operation
/// right behind the name stays there: so compilers write `atom.add.relaxed.gpu.u32`, and so it assembles.
pub fn ordered(opcode: &Opcode<'_>) -> Option<String> {
    let begins = super::families().chain(super::spa_families()).filter(|family| leads(family.name, opcode));
    let form = form(begins.max_by_key(|family| family.name.len())?, opcode)?;
    let (name, rest) = opcode.modifiers.split_at(form.name.split('.').count() - 1);
    let mut taken: Vec<Option<&str>> = vec![None; form.slots.len()];
    let mut first = None;
    for (at, modifier) in rest.iter().enumerate() {
        let fits = |slot: &Slot| slot.words.iter().any(|word| slot.takes(word, modifier.text));
        let free = (0..taken.len()).find(|&index| taken[index].is_none() && fits(&form.slots[index]))?;
        // Where a word stands that is not checked, no row says.
        if matches!(form.slots[free].need, Need::Unsupported(_) | Need::Refused(_)) {
            return None;
        }
        match form.slots[free].key {
            Key::Operation if at == 0 => first = Some(free),
            _ => {}
        }
        taken[free] = Some(modifier.text);
    }
    let first = first.and_then(|slot| taken[slot].take());
    let words = name.iter().map(|modifier| modifier.text).chain(first).chain(taken.into_iter().flatten());
    Some(words.fold(opcode.mnemonic.to_owned(), |text, word| text + "." + word))
}

impl<'a> Words<'a> {
    /// The row.
    pub fn form(&self) -> &'static Form {
        self.form
    }
    /// The opcode as written.
    pub fn opcode(&self) -> &Opcode<'a> {
        &self.opcode
    }
    /// The word in the slots of this key, or the one that none means.
    pub fn get(&self, key: Key) -> Option<&'static str> {
        self.written(key).map(|(word, _)| word).or_else(|| {
            self.form.slots.iter().find_map(|slot| match slot.need {
                Need::Default(word) if slot.key == key => Some(word),
                _ => None,
            })
        })
    }
    /// The same, of a slot that must be filled or has a default.
    pub fn of(&self, key: Key) -> &'static str {
        self.get(key).unwrap_or_default()
    }
    /// The word in the slots of this key, if one is written, and its place.
    pub fn written(&self, key: Key) -> Option<(&'static str, Span)> {
        let slots = self.form.slots.iter().zip(&self.found).filter(|(slot, _)| slot.key == key);
        slots.filter_map(|(_, found)| *found).next()
    }
    /// The hints that are written, and their places.
    pub fn hints(&self) -> Vec<(&'static str, Span)> {
        let slots = self.form.slots.iter().zip(&self.found);
        let hints = slots.filter(|(slot, _)| matches!(slot.key, Key::Hint | Key::Policy));
        hints.filter_map(|(_, found)| *found).collect()
    }
    /// The words in the slots of this key that are written, and their places, in the order of the row.
    pub fn all(&self, key: Key) -> Vec<(&'static str, Span)> {
        let slots = self.form.slots.iter().zip(&self.found).filter(|(slot, _)| slot.key == key);
        slots.filter_map(|(_, found)| *found).collect()
    }
    /// Whether the words in the slots of this key are written in the order of the row.
    pub fn in_order(&self, key: Key) -> bool {
        self.all(key).is_sorted_by_key(|(_, span)| span.start)
    }
    /// Whether this word is written or meant.
    pub fn has(&self, word: &str) -> bool {
        self.form.slots.iter().zip(&self.found).any(|(slot, found)| match (found, &slot.need) {
            (Some((found, _)), _) => *found == word,
            (None, Need::Default(default)) => *default == word,
            (None, _) => false,
        })
    }
    /// The place of the word in the slots of this key, or of the opcode.
    pub fn span(&self, key: Key) -> Span {
        self.written(key).map_or(self.opcode.span, |(_, span)| span)
    }
    /// The sem that is written or meant.
    pub fn sem(&self) -> Option<Sem> {
        self.get(Key::Sem).and_then(Sem::from_name)
    }
    /// The scope that is written or meant.
    pub fn scope(&self) -> Option<Scope> {
        self.get(Key::Scope).and_then(Scope::from_name)
    }
    /// The state space that is written or meant.
    pub fn space(&self) -> Option<(Space, Option<Window>)> {
        self.get(Key::Space).and_then(parse_space)
    }
    /// The type that is written or meant.
    pub fn ty(&self) -> Option<PtxType> {
        self.get(Key::Type).and_then(PtxType::of_access)
    }
    /// Puts into the full spelling what only the operands tell.
    pub fn set(&mut self, key: Key, word: &str) {
        for (slot, found) in self.form.slots.iter().zip(&mut self.found) {
            if slot.key == key
                && let Some(word) = slot.words.iter().find(|known| **known == word)
            {
                *found = Some((word, self.opcode.span));
            }
        }
    }
    /// Spells it like the instruction that it is another name of.
    pub fn rename(&mut self, name: &'static str) {
        self.name = name;
    }
    /// The full spelling: every word that means something, in the order of the row.
    pub fn text(&self) -> String {
        let mut text = self.name.to_owned();
        for (slot, found) in self.form.slots.iter().zip(&self.found) {
            let word = match (&slot.need, found) {
                (Need::Hint | Need::Unsupported(_) | Need::Refused(_), _) => None,
                (_, Some((word, _))) => Some(*word),
                // A load that is not coherent has no sem.
                (Need::Default(_), None) if slot.key == Key::Sem && self.has("nc") => None,
                (Need::Default(word), None) => Some(*word),
                (Need::Must(_) | Need::May, None) => None,
            };
            if let Some(word) = word.filter(|word| !word.is_empty()) {
                text += ".";
                text += word;
            }
        }
        text
    }

    /// Puts a word into its slot; of several slots that have it, into the first that is free.
    fn take(&mut self, modifier: Modifier<'a>) -> Result<(), Diagnostic> {
        let slots = self.form.slots.iter().enumerate().filter_map(|(index, slot)| {
            Some((index, slot.words.iter().copied().find(|word| slot.takes(word, modifier.text))?))
        });
        let Some((index, word)) = slots.min_by_key(|(index, _)| self.found[*index].is_some()) else {
            return Err(self.unknown(modifier));
        };
        match &self.form.slots[index].need {
            Need::Unsupported(help) => Err(unsupported_word(&self.opcode, modifier, *help)),
            Need::Refused(refusal) => Err(refused(refusal, modifier)),
            Need::Must(_) | Need::May | Need::Default(_) | Need::Hint => {
                if let Some((other, first)) = self.found[index] {
                    let is_exclusive = self.form.exclusive.contains(&self.form.slots[index].key);
                    return Err(if is_exclusive && other != word {
                        exclusive(modifier, other, first)
                    } else {
                        second(modifier, first)
                    });
                }
                self.found[index] = Some((word, modifier.span));
                Ok(())
            }
        }
    }

    /// The error for a word that no slot has.
    pub fn unknown(&self, modifier: Modifier<'_>) -> Diagnostic {
        if has_modifier(self.opcode.mnemonic, modifier.text) {
            return unsupported_word(&self.opcode, modifier, None);
        }
        let known = self.form.slots.iter().filter(|slot| slot.is_legal()).flat_map(|slot| slot.words);
        unknown(&self.opcode, modifier, known.copied())
    }

    fn check_missing(&self, family: &Family) -> Result<(), Diagnostic> {
        for (slot, found) in self.form.slots.iter().zip(&self.found) {
            let (Need::Must(lack), None) = (&slot.need, found) else { continue };
            let words: Vec<String> = slot.words.iter().map(|word| format!("`.{word}`")).collect();
            let error = |code, what: &str, help: &str, rule| {
                let message = format!("`{}` needs {what}", self.opcode.text);
                let error = Diagnostic::new(code, message, self.opcode.span, "missing here");
                error.with_help(help.to_owned()).with_rule(rule)
            };
            return Err(match lack {
                Some(Lack { code, what, help, rule }) => error(code, what, help, rule),
                None => {
                    let help = if self.form.help.is_empty() { family.help } else { self.form.help };
                    error(family.code, &words.join(" or "), help, family.rule)
                }
            });
        }
        Ok(())
    }

    fn check_floors(&self) -> Result<(), Diagnostic> {
        if self.target.spa {
            return Ok(());
        }
        self.target.check_floor(self.form.name, self.form.floor, self.opcode.span)?;
        for (word, span) in self.found.iter().flatten() {
            if let Some((_, floor)) = self.form.floors.iter().find(|(young, _)| young == word) {
                self.target.check_floor(&format!("{}.{word}", self.form.name), *floor, *span)?;
            }
            if let Some((_, floor)) = YOUNG.iter().find(|(young, _)| young == word) {
                self.target.check_floor(&format!(".{word}"), *floor, *span)?;
            }
        }
        Ok(())
    }
}

impl Slot {
    fn takes(&self, word: &str, text: &str) -> bool {
        match self.need {
            Need::Unsupported(_) => text.starts_with(word),
            _ => text == word,
        }
    }
    fn is_legal(&self) -> bool {
        matches!(self.need, Need::Must(_) | Need::May | Need::Default(_))
    }
}

fn no_form(family: &Family, opcode: &Opcode<'_>) -> Diagnostic {
    let known = opcode.modifiers.iter().find(|modifier| has_modifier(opcode.mnemonic, modifier.text));
    if let Some(&modifier) = known {
        return unsupported_word(opcode, modifier, None);
    }
    let message = if opcode.text == family.name {
        format!("`{}` needs more words to be an instruction", opcode.text)
    } else {
        format!("`{}` is not a form of `{}`", opcode.text, family.name)
    };
    Diagnostic::new(family.code, message, opcode.span, "not a form of it")
        .with_help(family.help)
        .with_rule(family.rule)
}

/// The error for a second word of one kind.
fn second(modifier: Modifier<'_>, first: Span) -> Diagnostic {
    let message = format!("`.{}` is a second modifier of its kind", modifier.text);
    Diagnostic::new("validate::duplicate-modifier", message, modifier.span, "the second one")
        .with_label(first, "the first one")
        .with_help("keep one of them")
}

/// The error for a word that contradicts another.
fn exclusive(modifier: Modifier<'_>, other: &str, first: Span) -> Diagnostic {
    let message = format!("`.{other}` and `.{}` exclude each other", modifier.text);
    Diagnostic::new("validate::exclusive-modifiers", message, modifier.span, "the second one")
        .with_label(first, "the first one")
        .with_help("keep one of them")
        .with_rule("MM-14")
}

/// The error for a word that an instruction does not have.
pub fn unknown<'k>(
    opcode: &Opcode<'_>,
    modifier: Modifier<'_>,
    known: impl IntoIterator<Item = &'k str>,
) -> Diagnostic {
    let message = format!("`.{}` is not a modifier of `{}`", modifier.text, opcode.mnemonic);
    let error = Diagnostic::new("validate::unknown-modifier", message, modifier.span, "unknown modifier");
    match suggest(modifier.text, known) {
        Some(word) => error.with_help(format!("did you mean `.{word}`?")),
        None => error,
    }
}

fn unsupported_word(opcode: &Opcode<'_>, modifier: Modifier<'_>, help: Option<&'static str>) -> Diagnostic {
    let message = format!("`.{}` on `{}` is not checked by this version", modifier.text, opcode.mnemonic);
    let error =
        Diagnostic::new("unsupported::modifier", message, modifier.span, "known to PTX, not checked here");
    match help {
        Some(help) => error.with_help(help),
        None => error,
    }
}

fn refused(refusal: &Refusal, modifier: Modifier<'_>) -> Diagnostic {
    let message = refusal.message.replace("{}", &format!("`.{}`", modifier.text));
    let error = Diagnostic::new(refusal.code, message, modifier.span, refusal.label)
        .with_help(refusal.help.replace("{}", modifier.text));
    error.with_rule(refusal.rule)
}
