//! What is chosen of a run, as it is written.

/// What to do next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Choice {
    /// When: the number of the step that it is about, from 1. Those before it are taken as they come.
    pub step: Option<usize>,
    /// Who: the number of the thread or operation.
    pub agent: Option<usize>,
    /// What it comes to.
    pub pick: Pick,
}

/// Which of the ways of a step.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Pick {
    /// That of the execution at hand.
    #[default]
    AtHand,
    /// The one that reads this value.
    Value(u128),
    /// The one with this number, from 1.
    Way(usize),
}

impl Choice {
    /// Reads `3=0` (step 3 reads 0), `3#2` (step 3 takes its second way), `3t1` (step 3 is one of thread t1), `t1=0`, and so on.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is no choice: it is `3=0` (step 3 reads 0), `3#2` (step 3 takes its second way) or `3t1` (thread t1 \
                 takes step 3)"
            )
        };
        let (step, rest) = number(text);
        let (agent, rest) = match rest.strip_prefix('t') {
            Some(rest) => {
                let (agent, rest) = number(rest);
                (Some(agent.ok_or_else(bad)?), rest)
            }
            None => (None, rest),
        };
        let pick = match rest.split_at_checked(1) {
            None => Pick::AtHand,
            Some(("=", value)) => Pick::Value(value_of(value).ok_or_else(bad)?),
            Some(("#", way)) => match number(way) {
                (Some(way @ 1..), "") => Pick::Way(way),
                _ => return Err(bad()),
            },
            Some(_) => return Err(bad()),
        };
        if agent.is_none() && pick == Pick::AtHand {
            return Err(bad());
        }
        if step == Some(0) {
            return Err(format!("`{text}`: steps are counted from 1"));
        }
        Ok(Self { step, agent, pick })
    }

    /// Reads several, with commas or blanks between them.
    ///
    /// # Errors
    /// The first that is none.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let words = text.split(|c: char| c == ',' || c.is_whitespace());
        words.filter(|word| !word.is_empty()).map(Self::parse).collect()
    }
}

/// The number that a text begins with, if it does, and the rest.
fn number(text: &str) -> (Option<usize>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

fn value_of(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Pick};

    #[test]
    fn choices_are_read() {
        let choice = |step, agent, pick| Ok(Choice { step, agent, pick });
        assert_eq!(Choice::parse("3=0"), choice(Some(3), None, Pick::Value(0)));
        assert_eq!(Choice::parse("=0x10"), choice(None, None, Pick::Value(16)));
        assert_eq!(Choice::parse("12#2"), choice(Some(12), None, Pick::Way(2)));
        assert_eq!(Choice::parse("t1"), choice(None, Some(1), Pick::AtHand));
        assert_eq!(Choice::parse("4t0=1"), choice(Some(4), Some(0), Pick::Value(1)));
        for bad in [
            "",
            "3",
            "t",
            "3#0",
            "3#",
            "=",
            "=x",
            "3=-1",
            "0=1",
            "x",
            "3 = 1",
            "ä=1",
            "3ä",
            "99999999999999999999t1x",
        ] {
            assert!(Choice::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Choice::parse_all(" 3=0, t1\n4#2,").map(|all| all.len()), Ok(3));
    }
}
