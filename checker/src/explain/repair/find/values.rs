//! With which values of the parameters a change is looked at.

use super::super::text::Texts;
use super::super::variant::Variant;
use super::Search;
use fencepost_dsl::kernel::program::Launch;

impl Search<'_> {
    /// The program in other texts, with the values of the parameters that the findings are about where each was checked alone;
    /// `None` if they are none.
    pub(super) fn variant(&self, texts: &Texts, launch: &Launch) -> Option<Variant> {
        let mut variant = self.of_all_values(texts, launch)?;
        if let Some(split) = &self.outcome.split
            && launch.name == self.outcome.launch.name
        {
            variant
                .fix(|own| split.shown.iter().find(|(name, _)| *name == own.name).map(|&(_, value)| value));
        }
        Some(variant)
    }

    /// With the largest values, if each value is checked alone: with those that findings are about, which are small ones, a wait
    /// for what earlier rounds did waits for nothing.
    pub(super) fn of_the_largest(&self, texts: &Texts) -> Option<Variant> {
        self.outcome.split.as_ref()?;
        let mut variant = self.of_all_values(texts, &self.outcome.launch)?;
        variant.fix(|own| Some(own.max));
        Some(variant)
    }

    pub(super) fn of_all_values(&self, texts: &Texts, launch: &Launch) -> Option<Variant> {
        Variant::of(texts, &self.job.kernel.name, launch)
    }
}
