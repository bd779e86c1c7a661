//! What the demo says before its prompt, which is the chat's.

use super::children::Children;
use super::start::{Demo, STAND_IN};
use crate::chat;
use crate::exit::Exit;
use crate::interrupts::Interrupts;
use crate::out::Out;
use crate::render::{pick, safe};
use protocol::shown::Language;

/// Asks for questions until the person leaves, or until one of the demo's processes ends.
pub(crate) async fn run(demo: &Demo, children: &mut Children, interrupts: &mut Interrupts, out: &mut Out) -> Exit {
    out.line(&welcome(demo));
    let over = async || children.first_ended().await.to_string();
    chat::talk(&demo.session, interrupts, out, over).await
}

fn welcome(demo: &Demo) -> String {
    let language = demo.session.language;
    let (model, host) = &demo.model;
    let example = match language {
        Language::English => "Which rooms aren't ready?\n  Start recording in Hall A",
        Language::Spanish => "¿Qué salas no están listas?\n  Graba en Hall A",
    };
    format!(
        "\
Fleetwatch demo: a simulated fleet, nothing real changes. Everything runs as one user (isolation: none).

  Approval page   {}
  Launch secret   {}
  PIN             {}
  Model           {}
  Fence           {} rooms may be changed; {} may not

{}
  {example}
Then approve on the page, or here with /approve N. /help shows the rest.
",
        safe(&demo.page),
        demo.page_secret.expose(),
        demo.pin.expose(),
        model_words(model, host),
        demo.fence.inside,
        protocol::shown::Shown::whole(&demo.fence.outside),
        pick(language, "Ask, for example:", "Pregunte, por ejemplo:"),
    )
}

fn model_words(model: &str, host: &str) -> String {
    if model == STAND_IN {
        return format!("{STAND_IN}: a scripted stand-in, not a real model");
    }
    format!("{}; questions and readings go to {}", safe(model), safe(host))
}
