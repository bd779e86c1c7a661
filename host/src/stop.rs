//! The wish to stop: a signal, or the end of standard input when a parent holds the other end.

use std::io::Read;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Resolves when this process should end: on SIGINT or SIGTERM and, with `with_stdin`, when standard input
/// reaches its end. A parent that holds a pipe to a daemon's standard input thereby ends it even when the parent
/// is killed with -9, since the kernel closes the pipe. Words on standard input are read and dropped.
///
/// Call it once, early, and keep the future: signals count from its first poll. When the signals cannot be
/// watched it resolves at once, because a daemon that nobody can stop in order should not run.
pub async fn stop_requested(with_stdin: bool) {
    let watched = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = watched else {
        tracing::error!("cannot watch SIGINT and SIGTERM; stopping");
        return;
    };
    let input = async {
        if with_stdin {
            input_ended(std::io::stdin()).await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        _ = interrupt.recv() => tracing::info!("stopping: SIGINT"),
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
        () = input => tracing::info!("stopping: standard input ended"),
    }
}

// A plain thread, since a blocked read on the runtime's own threads would hold up the shutdown.
async fn input_ended<R: Read + Send + 'static>(input: R) {
    let (ended, end) = oneshot::channel::<()>();
    let spawned = std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        drain(input);
        // The other side is gone when a signal came first.
        drop(ended);
    });
    if let Err(error) = spawned {
        tracing::error!(%error, "cannot watch standard input; stopping");
        return;
    }
    // The sender never sends; being dropped is the message.
    let _dropped = end.await;
}

fn drain<R: Read>(mut input: R) {
    let mut scrap = [0; 512];
    loop {
        match input.read(&mut scrap) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, raise};
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_millis(100);
    const LATE: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn the_end_of_input_stops_and_words_before_it_do_not() {
        let (mut parent, child) = UnixStream::pair().unwrap();
        let end = input_ended(child);
        tokio::pin!(end);
        parent.write_all(b"still here\n").unwrap();
        timeout(SOON, &mut end).await.unwrap_err();
        drop(parent);
        timeout(LATE, end).await.unwrap();
    }

    #[tokio::test]
    async fn a_termination_signal_stops() {
        let stop = stop_requested(false);
        tokio::pin!(stop);
        timeout(SOON, &mut stop).await.unwrap_err();
        raise(Signal::SIGTERM).unwrap();
        timeout(LATE, stop).await.unwrap();
    }
}
