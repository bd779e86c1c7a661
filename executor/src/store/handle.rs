//! The store's thread: SQLite blocks, so it has its own, and one writer follows from one owner.

use super::{Store, StoreError};
use std::sync::mpsc;
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce(&mut Store) + Send>;

/// A way to the store from async code; cheap to clone. The thread ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub(crate) struct StoreHandle {
    jobs: mpsc::Sender<Job>,
}

impl StoreHandle {
    /// Gives the store a thread of its own.
    pub(crate) fn spawn(mut store: Store) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || {
                for job in queue {
                    job(&mut store);
                }
            })
            .map_err(|e| StoreError::File(format!("cannot start the store's thread: {e}")))?;
        Ok(Self { jobs })
    }

    /// Runs one piece of work on the store. The work is done even when the caller goes away.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |store| {
            // A caller that went away does not want the answer; the work stands.
            let _ = done.send(work(store));
        });
        self.jobs.send(job).map_err(|_| StoreError::Stopped)?;
        result.await.map_err(|_| StoreError::Stopped)?
    }
}
