//! Slice versions: a counter for each piece of policy that a proposal was judged by. It only grows, so a policy that was
//! changed and changed back is still a change (`architecture.md, Bound record`).

use super::{Store, StoreError};
use host::secret::hex;
use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};

impl Store {
    /// The version of a slice whose present text is `text`: the stored one if the text is the same, else the next.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be stored.
    pub fn slice_version(&mut self, name: &str, text: &str) -> Result<i64, StoreError> {
        let digest = hex(&Sha256::digest(text.as_bytes()));
        self.write(|tx, _| {
            let found: Option<(String, i64)> = tx
                .query_row("SELECT digest, version FROM slices WHERE name = ?", [name], |r| Ok((r.get(0)?, r.get(1)?)))
                .optional()?;
            let version = match found {
                Some((stored, version)) if stored == digest => return Ok(version),
                Some((_, version)) => version + 1,
                None => 1,
            };
            tx.execute(
                "INSERT INTO slices (name, digest, version) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET digest = ?2, version = ?3",
                params![name, digest, version],
            )?;
            Ok(version)
        })
    }
}
