//! A webhook on 127.0.0.1 that keeps what it was sent.

use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Sent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug, Default)]
struct Kept {
    sent: Vec<Sent>,
    statuses: Vec<u16>,
    answer: String,
}

/// It answers with these statuses in turn, the last one for ever.
#[derive(Debug)]
pub(crate) struct Taker {
    port: u16,
    kept: Arc<Mutex<Kept>>,
}

impl Taker {
    pub(crate) async fn start(statuses: Vec<u16>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let kept = Arc::new(Mutex::new(Kept { statuses, answer: "{\"ok\":false}".to_owned(), ..Kept::default() }));
        let mine = Arc::clone(&kept);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                take(stream, &mine).await;
            }
        });
        Self { port, kept }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/secret-path", self.port)
    }

    pub(crate) fn answer(&self, text: &str) {
        text.clone_into(&mut self.kept.lock().unwrap().answer);
    }

    pub(crate) fn count(&self) -> usize {
        self.kept.lock().unwrap().sent.len()
    }

    pub(crate) fn last(&self) -> Sent {
        self.kept.lock().unwrap().sent.last().unwrap().clone()
    }
}

async fn take(mut stream: TcpStream, kept: &Mutex<Kept>) {
    let mut bytes = Vec::new();
    loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap();
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if body.len() >= length.unwrap() {
            kept.lock().unwrap().sent.push(Sent { head, body: body.to_owned() });
            break;
        }
    }
    let (status, body) = {
        let mut kept = kept.lock().unwrap();
        let status = if kept.statuses.len() > 1 { kept.statuses.remove(0) } else { kept.statuses[0] };
        (status, kept.answer.clone())
    };
    let elsewhere = if status == 302 { "location: /elsewhere\r\n" } else { "" };
    let answer =
        format!("HTTP/1.1 {status} X\r\n{elsewhere}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
}
