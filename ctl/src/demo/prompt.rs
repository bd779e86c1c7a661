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
    let (page, secret, pin) = (safe(&demo.page), demo.page_secret.expose(), demo.pin.expose());
    let (inside, outside) = (demo.fence.inside, protocol::shown::Shown::whole(&demo.fence.outside));
    let model = model_words(model, host, language);
    match language {
        Language::English => format!(
            "\
Fleetwatch demo: a simulated fleet, nothing real changes. Everything runs as one user (isolation: none).

  Approval page   {page}
  Launch secret   {secret}
  PIN             {pin}
  Model           {model}
  Fence           {inside} rooms may be changed; {outside} may not

Ask, for example:
  Which rooms aren't ready?
  Start recording in Hall A
Then approve on the page, or here with /approve N. /help shows the rest.
"
        ),
        Language::Spanish => format!(
            "\
Demostración de Fleetwatch: una flota simulada, no cambia nada real. Todo corre con un solo usuario (isolation: none).

  Página          {page}
  Secreto         {secret}
  PIN             {pin}
  Modelo          {model}
  Cerca           {inside} salas se pueden cambiar; {outside} no

Pregunte, por ejemplo:
  ¿Qué salas no están listas?
  Graba en Hall A
Después apruebe en la página, o aquí con /approve N. /help muestra lo demás.
"
        ),
    }
}

fn model_words(model: &str, host: &str, language: Language) -> String {
    if model == STAND_IN {
        let words = pick(language, "a scripted stand-in, not a real model", "un guion de prueba, no un modelo real");
        return format!("{STAND_IN}: {words}");
    }
    let sent = pick(language, "questions and readings go to", "las preguntas y lecturas van a");
    format!("{}; {sent} {}", safe(model), safe(host))
}
