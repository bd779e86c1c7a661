//! The demo's fence: every room of the simulated fleet but one, so that the fence can be seen at work.

use serde_json::Value;

/// Which rooms may be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DemoFence {
    /// Their ids, as the executor takes them.
    pub(crate) ids: String,
    /// How many they are.
    pub(crate) inside: usize,
    /// The name of the room outside.
    pub(crate) outside: String,
}

/// Chooses from the simulator's own list. The room outside is the last one that could record.
pub(crate) fn choose(state: &Value) -> Option<DemoFence> {
    let rooms: Vec<_> = state.get("devices")?.as_array()?.iter().map(Room::of).collect::<Option<_>>()?;
    let could = |room: &Room<'_>| room.online && room.model.starts_with("Pearl") && room.name != "Hall A";
    let out = rooms.iter().rposition(could).or_else(|| rooms.len().checked_sub(1))?;
    let ids: Vec<_> = rooms.iter().enumerate().filter(|(place, _)| *place != out).map(|(_, room)| room.id).collect();
    Some(DemoFence { ids: ids.join(","), inside: ids.len(), outside: rooms.get(out)?.name.to_owned() })
}

struct Room<'v> {
    id: &'v str,
    name: &'v str,
    model: &'v str,
    online: bool,
}

impl<'v> Room<'v> {
    fn of(device: &'v Value) -> Option<Self> {
        let text = |key: &str| device.get(key)?.as_str();
        Some(Self { id: text("Id")?, name: text("Name")?, model: text("Model")?, online: text("Status")? == "online" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn room(id: &str, name: &str, model: &str, status: &str) -> Value {
        json!({ "Id": id, "Name": name, "Model": model, "Status": status })
    }

    #[test]
    fn one_room_that_could_record_stays_outside() {
        let state = json!({ "devices": [
            room("1", "Hall A", "Pearl-2", "online"),
            room("2", "Chapel", "Pearl Mini", "online"),
            room("3", "Aula 1", "Pearl Nano", "offline"),
            room("4", "Studio", "EC20", "online"),
        ] });
        let want = DemoFence { ids: "1,3,4".to_owned(), inside: 3, outside: "Chapel".to_owned() };
        assert_eq!(choose(&state), Some(want));
    }

    #[test]
    fn a_list_that_is_not_understood_gives_no_fence() {
        for odd in [json!({}), json!({ "devices": [{}] }), json!({ "devices": [] }), json!([])] {
            assert_eq!(choose(&odd), None, "{odd}");
        }
    }
}
