//! What the check of one file has come to: all that is said of it, and what the run as a whole has to know.

use super::super::Status;
use super::super::formats::Kept;
use super::super::graph::Picture;
use super::super::output::Piece;
use super::known::Found;
use fencepost::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// See above. It can be written down and read again.
#[derive(Serialize, Deserialize)]
pub struct Ended {
    pub pieces: Vec<Piece>,
    pub kept: Vec<Kept>,
    pub pictures: Vec<Picture>,
    #[serde(with = "by_exit_code")]
    pub status: Status,
    pub n_errors: usize,
    pub n_bad_files: usize,
    pub n_warnings: usize,
    #[serde(with = "by_name")]
    pub verdicts: Vec<Verdict>,
    pub named_launch_found: bool,
    /// Whether the next run would come to the same: nobody interrupted it, no clock ended it, there was no bug of ours.
    pub is_repeatable: bool,
    pub found: Vec<(String, Found)>,
}

mod by_exit_code {
    use super::Status;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(status: &Status, to: S) -> Result<S::Ok, S::Error> {
        status.exit_code().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Status, D::Error> {
        let code = u8::deserialize(from)?;
        let found = Status::ALL.into_iter().find(|status| status.exit_code() == code);
        found.ok_or_else(|| Error::custom("no such exit code"))
    }
}

mod by_name {
    use super::Verdict;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(verdicts: &[Verdict], to: S) -> Result<S::Ok, S::Error> {
        verdicts.iter().map(|verdict| verdict.name()).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Verdict>, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        let of = |name: &String| Verdict::ALL.into_iter().find(|verdict| verdict.name() == name.as_str());
        names.iter().map(|name| of(name).ok_or_else(|| Error::custom("no such verdict"))).collect()
    }
}
