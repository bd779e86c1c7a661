//! Backup and restore over one control connection, part by part.

use crate::app::App;
use crate::desk::{Desk, Viewer};
use crate::store::StoreError;
use crate::store::backup::MOST_BYTES;
use control::message::ExecutorSays;
use control::pin::PinEntry;
use protocol::guard::stands;
use protocol::refusal::{Refusal, RefusalCode};
use tokio::sync::OwnedSemaphorePermit;

/// A part is half a frame at most.
const PART: usize = protocol::frame::MAX_FRAME / 2;

/// What one connection has under way.
#[derive(Debug, Default)]
pub(crate) struct Transfer {
    /// Held while something is under way: one transfer at a time in the whole process.
    turn: Option<OwnedSemaphorePermit>,
    outgoing: Vec<u8>,
    incoming: Option<Incoming>,
}

#[derive(Debug)]
struct Incoming {
    total: u64,
    bytes: Vec<u8>,
}

impl Transfer {
    fn begin(&mut self, app: &App) -> Result<(), Refusal> {
        if self.turn.is_none() {
            let busy = || Refusal::new(RefusalCode::RunBusy, "another backup or restore is under way");
            self.turn = Some(app.transfers.clone().try_acquire_owned().map_err(|_| busy())?);
        }
        Ok(())
    }

    /// The part of a backup that begins at `offset`; at 0 a new backup is made.
    ///
    /// # Errors
    /// `store_failed`, `bad_arguments` for an offset behind the end.
    pub(crate) async fn backup(
        &mut self,
        app: &App,
        desk: &Desk,
        viewer: &Viewer,
        offset: u64,
    ) -> Result<ExecutorSays, Refusal> {
        if offset == 0 {
            self.begin(app)?;
            desk.note_keep("backup", viewer).await?;
            self.outgoing = app.store.call(|store| store.backup()).await.map_err(StoreError::into_refusal)?;
        }
        let from = usize::try_from(offset).map_err(|_| Refusal::bare(RefusalCode::BadArguments))?;
        let rest = self.outgoing.get(from..).ok_or_else(|| Refusal::bare(RefusalCode::BadArguments))?;
        let bytes = rest.get(..PART).unwrap_or(rest).to_vec();
        let total = u64::try_from(self.outgoing.len()).unwrap_or(u64::MAX);
        if bytes.is_empty() {
            *self = Self::default();
        }
        Ok(ExecutorSays::BackupPart { total, bytes })
    }

    /// The next part of a backup to restore. The first one needs the PIN.
    ///
    /// # Errors
    /// `wrong_pin` and the like, `bad_arguments` for parts that do not add up, `store_failed` with what is wrong with it.
    pub(crate) async fn restore(
        &mut self,
        app: &App,
        (desk, viewer): (&Desk, &Viewer),
        pin: Option<PinEntry>,
        (total, bytes): (u64, Vec<u8>),
    ) -> Result<ExecutorSays, Refusal> {
        if let Some(pin) = pin {
            self.incoming = None;
            desk.check_pin(&viewer.person, viewer.surface, &pin).await?;
            if total > MOST_BYTES && stands(RefusalCode::TooLarge) {
                return Err(Refusal::bare(RefusalCode::TooLarge));
            }
            self.begin(app)?;
            self.incoming = Some(Incoming { total, bytes: Vec::new() });
        }
        let incoming = self.incoming.as_mut().filter(|incoming| incoming.total == total);
        let incoming =
            incoming.ok_or_else(|| Refusal::new(RefusalCode::BadArguments, "the first part carries the PIN"))?;
        incoming.bytes.extend_from_slice(&bytes);
        let have = u64::try_from(incoming.bytes.len()).unwrap_or(u64::MAX);
        if have < total && !bytes.is_empty() {
            return Ok(ExecutorSays::RestorePart);
        }
        self.turn = None;
        let whole = self.incoming.take().map(|incoming| incoming.bytes).unwrap_or_default();
        if have != total {
            return Err(Refusal::new(RefusalCode::BadArguments, "the parts are not the whole"));
        }
        let (by, surface) = (viewer.person.name().to_string(), viewer.surface.as_str());
        app.store.call(move |store| store.stage_restore(&whole, &by, surface)).await.map_err(|error| match error {
            StoreError::File(why) => Refusal::new(RefusalCode::BadArguments, &why),
            other @ (StoreError::Corrupt(_)
            | StoreError::Damaged(_)
            | StoreError::Newer(_)
            | StoreError::Refused(_)
            | StoreError::Sqlite(_)
            | StoreError::Stopped) => other.into_refusal(),
        })?;
        app.restore_staged.notify_one();
        Ok(ExecutorSays::RestoreStaged)
    }
}
