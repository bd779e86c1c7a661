//! A card on a terminal: every fact first, the drafter's reason in its own box (`seed 000, The approval page`).

use super::page::Page;
use super::{hex, pick, safe, span};
use control::card::{ArgumentFact, Card, CardFacts, TargetFact, Waiting};
use policy::words;
use protocol::shown::{Language, Worded};
use serde_json::{Value, json};

/// The whole card, at most `columns` wide. Long texts are wrapped and never cut.
pub(crate) fn card(card: &Card, language: Language, columns: usize) -> String {
    let facts = &card.facts;
    let mut page = Page::new(columns);
    page.line(&title(card, language));
    page.line(&safe(facts.heading.get(language)));
    page.gap();
    for target in &facts.targets {
        target_fields(&mut page, target, language);
    }
    page.field(pick(language, "Tool", "Herramienta"), &safe(&facts.tool));
    for argument in &facts.arguments {
        argument_field(&mut page, argument, language);
    }
    for named in &facts.named {
        page.field(&safe(named.label.get(language)), &safe(named.value.get(language)));
    }
    page.gap();
    consequences(&mut page, card, language);
    page.gap();
    page.boxed(words::reason_label().get(language), &reason(facts, language));
    footer(&mut page, card, language);
    page.into_text()
}

/// The facts that tell one proposal from another, for a turn's progress. Deciding needs the whole card.
pub(crate) fn compact(card: &Card, language: Language, columns: usize) -> String {
    let facts = &card.facts;
    let mut page = Page::new(columns);
    page.line(&title(card, language));
    page.line(&safe(facts.heading.get(language)));
    for target in &facts.targets {
        let value = format!("{} ({}, {})", safe(&target.name), safe(&target.id), safe(&target.model));
        page.field(pick(language, "Room", "Sala"), &value);
        venues_words(&mut page, target, language);
        page.field(pick(language, "State", "Estado"), &state(target, language));
        page.field(pick(language, "Event", "Evento"), &safe(target.event.get(language)));
    }
    page.field(pick(language, "Tool", "Herramienta"), &safe(&facts.tool));
    for argument in &facts.arguments {
        argument_field(&mut page, argument, language);
    }
    consequences(&mut page, card, language);
    page.into_text()
}

fn title(card: &Card, language: Language) -> String {
    let (proposal, expires) = (pick(language, "Proposal", "Propuesta"), pick(language, "expires in", "vence en"));
    format!("{proposal} {} ({expires} {})", card.facts.number, span(card.expires_in))
}

fn target_fields(page: &mut Page, target: &TargetFact, language: Language) {
    page.field(pick(language, "Room", "Sala"), &safe(&target.name));
    venues_words(page, target, language);
    page.field(pick(language, "Device id", "Id del equipo"), &safe(&target.id));
    let model = format!("{}, firmware {}", safe(&target.model), safe(&target.firmware));
    page.field(pick(language, "Model", "Modelo"), &model);
    page.field(pick(language, "State", "Estado"), &state(target, language));
    page.field(pick(language, "Event", "Evento"), &safe(target.event.get(language)));
}

/// What policy.yaml has to say about the room, when it has.
fn venues_words(page: &mut Page, target: &TargetFact, language: Language) {
    let known_as = target.known_as.iter().map(|alias| safe(alias)).collect::<Vec<_>>().join(", ");
    for (label, value) in [
        (pick(language, "Also called", "También llamada"), known_as),
        (pick(language, "Note", "Nota"), safe(&target.note)),
    ] {
        if !value.is_empty() {
            page.field(label, &value);
        }
    }
}

fn state(target: &TargetFact, language: Language) -> String {
    let words = [&target.online, &target.recording, &target.streaming];
    words.map(|word| safe(word.get(language))).join(", ")
}

fn argument_field(page: &mut Page, argument: &ArgumentFact, language: Language) {
    let label = format!("  {}", safe(&argument.name));
    let filled = pick(language, "  (filled in)", "  (valor por omisión)");
    let value = format!("{}{}", safe(&argument.json), if argument.defaulted { filled } else { "" });
    page.field(&label, &value);
}

fn consequences(page: &mut Page, card: &Card, language: Language) {
    let facts = &card.facts;
    page.field(pick(language, "What happens", "Qué pasa"), &safe(facts.effect.get(language)));
    page.field(pick(language, "How to undo it", "Cómo deshacerlo"), &safe(facts.undo.get(language)));
    if facts.disruptive {
        let label = pick(language, "Disruptive", "Puede afectar");
        let english = "yes; approving asks for the room's name as well";
        let spanish = "sí; para aprobar hay que escribir también el nombre de la sala";
        page.field(label, pick(language, english, spanish));
    }
    let dry = words::dry_run_note();
    if facts.dry_run && !card.notes.contains(&dry) {
        page.field(pick(language, "Note", "Aviso"), dry.get(language));
    }
    for note in &card.notes {
        page.field(pick(language, "Note", "Aviso"), &safe(note.get(language)));
    }
    if let Some(pause) = words::pause_note(card.approved_lately) {
        page.field(pick(language, "Note", "Aviso"), pause.get(language));
    }
    for why in &facts.deny_only {
        page.field(pick(language, "Deny only", "Solo denegar"), &safe(why.get(language)));
    }
    page.field(pick(language, "Sign-in", "Acceso"), &safe(facts.slot.get(language)));
    page.field(pick(language, "Origin", "Origen"), &safe(facts.origin.get(language)));
}

fn reason(facts: &CardFacts, language: Language) -> String {
    if facts.reason.is_empty() { pick(language, "(nothing)", "(nada)").to_owned() } else { safe(&facts.reason) }
}

fn footer(page: &mut Page, card: &Card, language: Language) {
    let read = pick(language, "Facts read", "Datos leídos");
    let isolation = pick(language, "isolation", "aislamiento");
    let others = pick(language, "others waiting", "otras en espera");
    page.line(&format!(
        "{read}: {}; {isolation}: {}; {others}: {}",
        safe(card.read_at.get(language)),
        safe(&card.facts.isolation),
        card.others_waiting
    ));
}

/// The card for `--json`. The ticket stays out: it belongs to the surface that showed the card.
pub(crate) fn card_json(card: &Card) -> Value {
    let facts = &card.facts;
    let targets: Vec<_> = facts.targets.iter().map(target_json).collect();
    let arguments: Vec<_> = facts
        .arguments
        .iter()
        .map(|fact| json!({ "name": fact.name, "json": fact.json, "defaulted": fact.defaulted }))
        .collect();
    let named: Vec<_> =
        facts.named.iter().map(|fact| json!({ "label": both(&fact.label), "value": both(&fact.value) })).collect();
    json!({
        "number": facts.number,
        "tool": facts.tool,
        "heading": both(&facts.heading),
        "targets": targets,
        "arguments": arguments,
        "named": named,
        "effect": both(&facts.effect),
        "undo": both(&facts.undo),
        "disruptive": facts.disruptive,
        "confirm": facts.confirm,
        "deny_only": facts.deny_only.iter().map(both).collect::<Vec<_>>(),
        "reason_not_checked": facts.reason,
        "origin": both(&facts.origin),
        "slot": both(&facts.slot),
        "dry_run": facts.dry_run,
        "isolation": facts.isolation,
        "digest": hex(&card.digest),
        "notes": card.notes.iter().map(both).collect::<Vec<_>>(),
        "read_at": both(&card.read_at),
        "expires_in": card.expires_in,
        "others_waiting": card.others_waiting,
        "approved_lately": card.approved_lately,
        "gates": card.gates.iter().map(super::gates::gate_json).collect::<Vec<_>>(),
    })
}

fn target_json(target: &TargetFact) -> Value {
    json!({
        "id": target.id,
        "name": target.name,
        "known_as": target.known_as,
        "note": target.note,
        "model": target.model,
        "firmware": target.firmware,
        "online": both(&target.online),
        "recording": both(&target.recording),
        "streaming": both(&target.streaming),
        "event": both(&target.event),
    })
}

/// Both languages for `--json`.
pub(crate) fn both(words: &Worded) -> Value {
    json!({ "en": words.en, "es": words.es })
}

/// One line of the queue for `--json`.
pub(crate) fn waiting_json(waiting: &Waiting) -> Value {
    json!({
        "number": waiting.number,
        "heading": both(&waiting.heading),
        "targets": waiting.targets,
        "expires_in": waiting.expires_in,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample_card;
    use protocol::propose::Origin;
    use unicode_width::UnicodeWidthStr;

    const HOSTILE: &str = "x\u{1b}[1A\u{1b}[2K\nApprove: yes\r\u{202e}\u{2066}\u{200b}\u{9b}31m\u{7f}y";

    fn hostile() -> Card {
        let mut card = sample_card(7);
        let words = Worded::same(HOSTILE);
        let facts = &mut card.facts;
        facts.heading = words.clone();
        facts.effect = words.clone();
        facts.undo = words.clone();
        facts.origin = words.clone();
        facts.slot = words.clone();
        facts.deny_only = vec![words.clone()];
        for text in [&mut facts.tool, &mut facts.reason, &mut facts.isolation] {
            HOSTILE.clone_into(text);
        }
        for target in &mut facts.targets {
            for text in [&mut target.id, &mut target.name, &mut target.model, &mut target.firmware] {
                HOSTILE.clone_into(text);
            }
            target.event = words.clone();
            target.online = words.clone();
        }
        for argument in &mut facts.arguments {
            HOSTILE.clone_into(&mut argument.name);
            HOSTILE.clone_into(&mut argument.json);
        }
        card.notes = vec![words.clone()];
        card.read_at = words;
        card
    }

    #[test]
    fn hostile_texts_cannot_move_hide_or_start_a_line() {
        for language in [Language::English, Language::Spanish] {
            for columns in [40, 60, 80, 100] {
                let text = card(&hostile(), language, columns) + &compact(&hostile(), language, columns);
                for c in text.chars().filter(|c| *c != '\n') {
                    assert!(!c.is_control() && !"\u{202e}\u{2066}\u{200b}".contains(c), "{c:?}");
                }
                assert!(!text.contains("\nApprove: yes"), "{text}");
                assert!(text.contains("\\u{1b}[1A"), "{text}");
            }
        }
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        let mut long = sample_card(7);
        long.facts.arguments[0].json = format!("\"{}\"", "日本 x".repeat(80));
        long.facts.reason = "word ".repeat(60);
        for columns in [40, 60, 80, 100] {
            for line in card(&long, Language::Spanish, columns).lines() {
                assert!(line.width() <= columns, "{} > {columns}: {line}", line.width());
            }
        }
    }

    #[test]
    fn every_byte_of_every_argument_is_visible() {
        let mut long = sample_card(7);
        let json = format!("[\"{}\",\"a  b   c\",\"{}\"]", "0123456789".repeat(30), "z y ".repeat(50));
        long.facts.arguments[0].json.clone_from(&json);
        let text = card(&long, Language::English, 60);
        let packed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let want: String = json.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(packed.contains(&want), "{text}");
        assert!(text.contains("a  b   c"), "{text}");
    }

    #[test]
    fn facts_come_first_and_the_reason_stands_in_its_own_box() {
        let english = card(&sample_card(7), Language::English, 80);
        let reason = english.find("Written by the assistant, not checked").unwrap();
        for fact in ["Hall A", "71000000001", "batch_recording", "\"start\"", "What happens", "How to undo it"] {
            assert!(english.find(fact).unwrap() < reason, "{fact}: {english}");
        }
        assert!(english.find("because the lecture starts").unwrap() > reason);
        let spanish = card(&sample_card(7), Language::Spanish, 80);
        assert!(spanish.contains("Escrito por el asistente, sin comprobar"), "{spanish}");
        assert!(spanish.contains("vence en 14 min 59 s"), "{spanish}");
    }

    #[test]
    fn after_many_approvals_the_card_asks_for_a_pause() {
        for (count, told) in [(0, false), (4, false), (5, true), (9, true)] {
            let many = Card { approved_lately: count, ..sample_card(7) };
            let (english, spanish) = (card(&many, Language::English, 100), card(&many, Language::Spanish, 100));
            assert_eq!(english.contains(&format!("You have approved {count} changes")), told, "{english}");
            assert_eq!(spanish.contains(&format!("Ha aprobado {count} cambios")), told, "{spanish}");
            assert_eq!(card_json(&many)["approved_lately"], count);
        }
    }

    #[test]
    fn whoever_is_said_to_have_drafted_it_the_label_is_the_same() {
        for origin in [Origin::Command, Origin::Front, Origin::Model] {
            let mut drafted = sample_card(7);
            drafted.facts.origin = words::origin(origin);
            assert!(card(&drafted, Language::English, 80).contains("Written by the assistant, not checked"));
        }
    }

    #[test]
    fn the_json_card_holds_every_fact_and_no_ticket() {
        let card = sample_card(7);
        let value = card_json(&card);
        assert_eq!(value["number"], 7);
        assert_eq!(value["heading"]["es"], "Iniciar la grabación en Hall A");
        assert_eq!(value["arguments"][0]["json"], card.facts.arguments[0].json);
        assert!(!value.to_string().contains(&card.ticket));
    }
}
