use super::*;
use serde::Deserialize;
use tokio::time::{Instant, timeout};

const LATE: Duration = Duration::from_secs(10);
const SOON: Duration = Duration::from_millis(100);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Word {
    Number(u32),
    Text(String),
}

fn pair() -> (Link<Word, Word>, Link<Word, Word>) {
    let (one, two) = UnixStream::pair().unwrap();
    (Link::new(one), Link::new(two))
}

// A link and the raw stream at its other end.
fn raw_pair() -> (Link<Word, Word>, UnixStream) {
    let (one, raw) = UnixStream::pair().unwrap();
    (Link::new(one), raw)
}

fn framed_bytes(payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

async fn assert_dead(link: &mut Link<Word, Word>) {
    assert!(matches!(link.recv(LATE).await, Err(LinkError::Closed)));
    assert!(matches!(link.send(&Word::Number(1), LATE).await, Err(LinkError::Closed)));
    assert!(matches!(link.closed().await, Err(LinkError::Closed)));
}

#[tokio::test]
async fn messages_make_the_round_trip_in_order_and_then_end_cleanly() {
    let (mut one, mut two) = pair();
    one.send(&Word::Number(7), LATE).await.unwrap();
    one.send(&Word::Text("hello".into()), LATE).await.unwrap();
    assert_eq!(two.recv(LATE).await.unwrap(), Some(Word::Number(7)));
    two.send(&Word::Number(8), LATE).await.unwrap();
    assert_eq!(one.recv(LATE).await.unwrap(), Some(Word::Number(8)));
    drop(one);
    assert_eq!(two.recv(LATE).await.unwrap(), Some(Word::Text("hello".into())));
    assert_eq!(two.recv(LATE).await.unwrap(), None);
    assert_eq!(two.recv(LATE).await.unwrap(), None);
}

#[tokio::test]
async fn the_largest_message_passes_and_a_larger_one_never_leaves() {
    let (mut one, mut two) = pair();
    // The decoder counts 12 bytes for the variant and the length, however few of them travel.
    let large = Word::Text("x".repeat(MAX_FRAME - 12));
    let (sent, heard) = tokio::join!(one.send(&large, LATE), two.recv(LATE));
    sent.unwrap();
    assert_eq!(heard.unwrap(), Some(large));
    let larger = Word::Text("x".repeat(MAX_FRAME));
    assert!(matches!(one.send(&larger, LATE).await, Err(LinkError::TooLarge)));
    assert_dead(&mut one).await;
    drop(one);
    assert_eq!(two.recv(LATE).await.unwrap(), None);
}

#[tokio::test]
async fn malformed_and_trailing_bytes_are_refused_and_kill_the_link() {
    for payload in [&[9, 9, 9][..], &[], &[0, 7, 0], &[1, 1, 0xff]] {
        let (mut link, mut raw) = raw_pair();
        raw.write_all(&framed_bytes(payload)).await.unwrap();
        let heard = link.recv(LATE).await;
        assert!(matches!(heard, Err(LinkError::Malformed(_))), "{payload:?}: {heard:?}");
        assert_dead(&mut link).await;
    }
}

#[tokio::test]
async fn a_length_of_a_gibibyte_is_refused_without_allocation() {
    let (mut link, mut raw) = raw_pair();
    raw.write_all(&[0x40, 0, 0, 0, 1, 2, 3]).await.unwrap();
    assert!(matches!(link.recv(LATE).await, Err(LinkError::TooLarge)));
    assert!(link.receiver.buffer.capacity() <= 2 * READ_STEP);
    assert_dead(&mut link).await;
}

#[tokio::test]
async fn a_length_just_over_the_limit_is_refused() {
    let (mut link, mut raw) = raw_pair();
    let length = u32::try_from(MAX_FRAME + 1).unwrap().to_be_bytes();
    raw.write_all(&length).await.unwrap();
    assert!(matches!(link.recv(LATE).await, Err(LinkError::TooLarge)));
}

#[tokio::test]
async fn a_half_frame_that_stays_half_times_out() {
    let (mut link, mut raw) = raw_pair();
    raw.write_all(&[0, 0, 0, 10, 1, 2]).await.unwrap();
    let begun = Instant::now();
    // A byte now and then does not extend the deadline.
    let drip = async {
        loop {
            tokio::time::sleep(Duration::from_millis(30)).await;
            raw.write_all(&[3]).await.unwrap();
        }
    };
    let heard = tokio::select! {
        heard = link.recv(SOON) => heard,
        () = drip => panic!("the drip ended"),
    };
    assert!(matches!(heard, Err(LinkError::Timeout)));
    assert!(begun.elapsed() < LATE);
    assert_dead(&mut link).await;
}

#[tokio::test]
async fn an_end_inside_a_frame_is_an_error_wherever_it_falls() {
    let whole = framed_bytes(&[1, 3, b'a', b'b', b'c']);
    for cut in 1..whole.len() {
        let (mut link, mut raw) = raw_pair();
        raw.write_all(&whole[..cut]).await.unwrap();
        drop(raw);
        let heard = link.recv(LATE).await;
        assert!(matches!(heard, Err(LinkError::Closed)), "cut at {cut}: {heard:?}");
        assert_dead(&mut link).await;
    }
}

#[tokio::test]
async fn a_dropped_recv_loses_nothing() {
    let (mut link, mut raw) = raw_pair();
    let whole = framed_bytes(&[1, 3, b'a', b'b', b'c']);
    for byte in &whole[..whole.len() - 1] {
        raw.write_all(&[*byte]).await.unwrap();
        timeout(Duration::from_millis(5), link.recv(LATE)).await.unwrap_err();
    }
    raw.write_all(&whole[whole.len() - 1..]).await.unwrap();
    assert_eq!(link.recv(LATE).await.unwrap(), Some(Word::Text("abc".into())));
}

#[tokio::test]
async fn a_dropped_send_kills_the_link() {
    let (mut link, raw) = raw_pair();
    // Many times what the socket's own buffer holds.
    let large = Word::Text("x".repeat(MAX_FRAME - 12));
    let mut whole = 0;
    while timeout(SOON, link.send(&large, LATE)).await.is_ok() {
        whole += 1;
        assert!(whole < 1000, "nothing ever filled up");
    }
    assert!(matches!(link.send(&Word::Number(1), LATE).await, Err(LinkError::Closed)));
    drop(raw);
}

#[tokio::test]
async fn a_peer_that_does_not_read_times_out_the_sender() {
    let (mut link, _raw) = raw_pair();
    let large = Word::Text("x".repeat(MAX_FRAME - 12));
    let error = loop {
        if let Err(error) = link.send(&large, SOON).await {
            break error;
        }
    };
    assert!(matches!(error, LinkError::Timeout));
    assert_dead(&mut link).await;
}

#[tokio::test]
async fn closed_notices_a_hang_up_and_waits_until_then() {
    let (mut link, raw) = raw_pair();
    timeout(SOON, link.closed()).await.unwrap_err();
    drop(raw);
    timeout(LATE, link.closed()).await.unwrap().unwrap();
}

#[tokio::test]
async fn closed_refuses_a_peer_that_speaks_even_before_the_call() {
    let (mut one, mut two) = pair();
    one.send(&Word::Number(1), LATE).await.unwrap();
    one.send(&Word::Number(2), LATE).await.unwrap();
    assert_eq!(two.recv(LATE).await.unwrap(), Some(Word::Number(1)));
    assert!(matches!(two.closed().await, Err(LinkError::Unexpected)));
    assert_dead(&mut two).await;
}

#[tokio::test]
async fn the_halves_work_side_by_side_and_hear_the_hang_up() {
    let (mut one, two) = pair();
    let (mut hear, mut say) = two.into_split();
    let waits = tokio::spawn(async move { hear.recv(LATE).await });
    say.send(&Word::Number(3), LATE).await.unwrap();
    assert_eq!(one.recv(LATE).await.unwrap(), Some(Word::Number(3)));
    drop(one);
    assert_eq!(waits.await.unwrap().unwrap(), None);
    assert!(matches!(say.send(&Word::Number(4), LATE).await, Err(LinkError::Closed)));
}

#[tokio::test]
async fn debug_shows_no_content() {
    let (mut link, mut raw) = raw_pair();
    raw.write_all(&[0, 0, 0, 20, b'h', b'u', b'n', b't', b'e', b'r', b'2']).await.unwrap();
    timeout(SOON, link.recv(LATE)).await.unwrap_err();
    let shown = format!("{link:?}");
    assert!(shown.contains("pending: 11") && !shown.contains("hunter2"), "{shown}");
}
