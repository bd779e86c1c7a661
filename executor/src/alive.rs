//! The sign of life that the watchdog waits for: the store read something, and the approval page answered through its
//! front door (issue line 4.2). The control socket needs no look of its own: it is served by the task that asks here.

use crate::app::App;
use crate::store::StoreError;
use std::fmt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What did not live.
#[derive(Debug)]
pub(crate) enum Lifeless {
    /// The approval page.
    Page(std::io::Error),
    /// The store.
    Store(StoreError),
}

impl fmt::Display for Lifeless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(error) => write!(f, "the approval page did not answer: {error}"),
            Self::Store(error) => write!(f, "the store did not answer: {error}"),
        }
    }
}

/// Proves that there is life.
///
/// # Errors
/// [`Lifeless`] with what did not answer. One that is stuck gives no answer at all.
pub(crate) async fn prove(app: &App) -> Result<(), Lifeless> {
    app.store.call(|store| store.audit_head().map(drop)).await.map_err(Lifeless::Store)?;
    match app.page.get() {
        Some(address) => page(address).await.map_err(Lifeless::Page),
        None => Ok(()),
    }
}

// Any answer is one: a full house says so too, and the page may be for other users than this one.
async fn page(address: &str) -> std::io::Result<()> {
    let place = address.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(place).await?;
    let request = format!("HEAD /style.css HTTP/1.1\r\nHost: {place}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut start = [0; 5];
    stream.read_exact(&mut start).await?;
    if &start == b"HTTP/" { Ok(()) } else { Err(std::io::Error::other("it does not speak HTTP")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn only_an_answer_is_a_sign_of_life() {
        for (said, alive) in [("HTTP/1.1 503 Busy\r\n\r\n", true), ("nonsense", false), ("", false)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = format!("http://{}/", listener.local_addr().unwrap());
            let serve = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = [0; 256];
                let many = stream.read(&mut asked).await.unwrap();
                assert!(asked[..many].starts_with(b"HEAD /style.css"));
                stream.write_all(said.as_bytes()).await.unwrap();
            };
            let (found, ()) = tokio::join!(page(&address), serve);
            assert_eq!(found.is_ok(), alive, "{said}");
        }
        page("http://127.0.0.1:1/").await.unwrap_err();
    }
}
