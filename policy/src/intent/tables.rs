//! Word tables, folded: lower case, no accents, no apostrophes.

/// Before a verb, these deny it.
pub(super) const NEGATIONS: &[&str] = &[
    "dont", "not", "never", "no", "without", "cannot", "cant", "wont", "shouldnt", "mustnt", "neednt", "couldnt",
    "wouldnt", "isnt", "arent", "wasnt", "doesnt", "didnt", "hasnt", "havent", "avoid", "nobody", "nothing", "none",
    "neither", "nor", "nunca", "jamas", "sin", "tampoco", "ni", "evita", "evitar", "evite", "nadie",
];

/// Before a verb, these make it a question, a condition, a plan or the past.
pub(super) const NO_ORDER: &[&str] = &[
    "how",
    "why",
    "who",
    "which",
    "what",
    "whats",
    "when",
    "whenever",
    "whether",
    "while",
    "after",
    "before",
    "until",
    "since",
    "had",
    "was",
    "were",
    "did",
    "used",
    "tried",
    "tries",
    "failed",
    "fails",
    "fail",
    "failing",
    "unable",
    "refuses",
    "refused",
    "forgot",
    "supposed",
    "scheduled",
    "expected",
    "going",
    "about",
    "configured",
    "allowed",
    "possible",
    "safe",
    "permission",
    "able",
    "heard",
    "cuando",
    "cuanto",
    "como",
    "quien",
    "cual",
    "mientras",
    "despues",
    "antes",
    "hasta",
    "porque",
    "tuve",
    "tuvo",
    "tuvimos",
    "hubo",
    "intente",
    "intento",
    "fallo",
    "olvido",
    "olvide",
    "programado",
    "programada",
    "va",
    "van",
    "debia",
    "permiso",
    "posible",
];

/// Before a verb and since the last "and", these only inform.
pub(super) const ONLY_INFORMS: &[&str] = &[
    "recommend",
    "advise",
    "suggest",
    "recomiendas",
    "recomendarias",
    "opinas",
    "if",
    "tell",
    "show",
    "explain",
    "check",
    "know",
    "see",
    "list",
    "find",
    "wonder",
    "wondering",
    "remember",
    "said",
    "says",
    "asked",
    "describe",
    "report",
    "si",
    "dime",
    "decirme",
    "diga",
    "digame",
    "muestra",
    "muestrame",
    "explica",
    "explicame",
    "comprueba",
    "mira",
    "saber",
    "sabes",
    "ver",
    "avisa",
    "avisame",
    "dijo",
    "dijeron",
    "dice",
    "dicen",
    "dicho",
    "conto",
    "contaron",
    "oi",
    "creo",
    "parece",
    "supongo",
    "lista",
];

/// Verbs with which somebody has a thing done: "get Hall A recording".
pub(super) const GETS: &[&str] = &["get", "have", "need", "want", "like"];

/// Of those, what a wish begins with.
pub(super) const WISHES: &[&str] = &["need", "want", "like"];

/// Right before such a verb, these ask.
pub(super) const SETS_GOING: &[&str] =
    &["please", "pls", "lets", "ahead", "kindly", "now", "just", "ok", "okay", "yes", "then", "so"];

/// Behind such a verb, these begin a thing and no room.
pub(super) const NO_ROOM: &[&str] = &[
    "a",
    "me",
    "us",
    "him",
    "her",
    "them",
    "all",
    "some",
    "more",
    "rid",
    "back",
    "ready",
    "info",
    "information",
    "to",
    "latest",
    "new",
    "old",
    "yesterdays",
    "todays",
];

/// Between such a verb and its state, these make a thing of it: "get news about the recording".
pub(super) const JOINS: &[&str] = &["about", "of", "from", "for", "with", "on", "to", "was", "were", "is", "are", "be"];

/// Before a colon, these say that somebody else's words follow.
pub(super) const REPORTS: &[&str] = &[
    "reads", "read", "says", "said", "say", "wrote", "writes", "states", "asks", "asked", "told", "dice", "dijo",
    "decia", "pone", "ponia", "escribe", "escribio", "pide", "pidio", "lee", "note", "sign", "mail", "email", "nota",
    "cartel", "correo",
];

/// After "que" or "que se" at the start, these bid: "que se grabe la sala".
pub(super) const BIDS: &[&str] = &[
    "grabe",
    "graben",
    "pare",
    "paren",
    "detenga",
    "detengan",
    "inicie",
    "inicien",
    "empiece",
    "empiecen",
    "reinicie",
    "reinicien",
    "actualice",
    "actualicen",
    "corte",
    "corten",
    "transmita",
    "transmitan",
    "emita",
    "emitan",
    "confirme",
    "confirmen",
    "salga",
    "salgan",
    "termine",
    "terminen",
];

/// What links two orders.
pub(super) const LINKS: &[&str] = &["and", "then", "y", "e", "luego"];

/// What a gap of a phrase may not hold.
pub(super) const ENDS_A_GAP: &[&str] = &[
    "and", "or", "but", "if", "whether", "that", "when", "then", "not", "dont", "no", "which", "what", "who", "how",
    "why", "where", "y", "e", "o", "pero", "si", "que", "cuando", "cual", "quien", "como", "donde", "cuanto",
    "cuantas", "cuantos",
];

/// First words of a question about how things are.
pub(super) const STATE_QUESTIONS: &[&str] = &[
    "is", "are", "was", "were", "am", "does", "did", "has", "have", "had", "isnt", "arent", "wasnt", "doesnt", "didnt",
    "hasnt", "havent", "which", "what", "whats", "who", "whos", "when", "where", "why", "how", "any", "should", "may",
    "might", "whether", "esta", "estan", "estaba", "estaban", "estuvo", "es", "son", "fue", "hay", "que", "cual",
    "cuales", "quien", "quienes", "cuando", "donde", "como", "cuanto", "cuanta", "cuantos", "cuantas", "tiene",
    "tienen", "ha", "han", "sigue", "siguen", "se", "por", "porque", "debo", "deberia",
];

/// First words of a question that lists things, with or without a question mark.
pub(super) const ASKS_WHICH: &[&str] = &[
    "which", "what", "whats", "who", "when", "where", "why", "how", "que", "cual", "cuales", "quien", "cuando",
    "donde", "como", "cuantos", "cuantas",
];

/// Words that begin a new thought inside a sentence.
pub(super) const BREAKS: &[&str] =
    &["please", "pls", "but", "pero", "so", "then", "entonces", "puedes", "podrias", "podria"];

/// Words that say nothing at the start of a clause.
pub(super) const FILLERS: &[&str] = &[
    "and",
    "so",
    "ok",
    "okay",
    "hey",
    "hi",
    "hello",
    "also",
    "but",
    "then",
    "please",
    "pls",
    "well",
    "now",
    "yes",
    "right",
    "thanks",
    "fleetwatch",
    "y",
    "pero",
    "oye",
    "hola",
    "entonces",
    "vale",
    "bueno",
    "ahora",
    "gracias",
    "tambien",
    "luego",
];

/// Words that ask for something.
pub(super) const POLITE: &[&str] = &[
    "please",
    "pls",
    "favor",
    "puedes",
    "puede",
    "podrias",
    "podria",
    "podemos",
    "podeis",
    "quiero",
    "necesito",
    "necesitamos",
];

/// Words right before an English order.
pub(super) const LEAD_IN_EN: &[&str] = &[
    "please",
    "pls",
    "to",
    "you",
    "and",
    "or",
    "then",
    "now",
    "just",
    "also",
    "lets",
    "must",
    "should",
    "ahead",
    "kindly",
    "immediately",
    "quickly",
    "help",
    "ok",
    "okay",
    "yes",
    "hey",
    "hi",
    "hello",
    "fleetwatch",
    "someone",
    "somebody",
    "we",
];

/// Of those, whoever is asked; alone they only tell who does it: "you start the recordings every day".
pub(super) const ASKED: &[&str] = &["you", "we", "someone", "somebody"];

/// Before whoever is asked, these ask.
pub(super) const ASKING: &[&str] = &["can", "could", "would", "will", "shall", "should", "must", "please"];

/// Words right before a Spanish order.
pub(super) const LEAD_IN_ES: &[&str] = &[
    "favor",
    "y",
    "e",
    "o",
    "luego",
    "ahora",
    "puedes",
    "puede",
    "podrias",
    "podria",
    "podemos",
    "podeis",
    "quiero",
    "quisiera",
    "queremos",
    "necesito",
    "necesitamos",
    "debes",
    "deberias",
    "debemos",
    "tambien",
    "ya",
    "entonces",
    "solo",
    "me",
    "nos",
    "hola",
    "oye",
    "vale",
    "ok",
    "fleetwatch",
];

/// Words before "a" and a Spanish verb that make it an order: "vamos a grabar", "vuelve a grabar".
pub(super) const LEADS_TO: &[&str] = &[
    "vamos", "ayuda", "ayudame", "ayudanos", "ayudar", "ayudarme", "procede", "proceda", "proceder", "pon", "ponga",
    "empieza", "empiece", "empezar", "comienza", "comience", "comenzar", "vuelve", "vuelva", "volver", "vuelvas",
];

/// Words after which "que" and a verb are a wish.
pub(super) const WANTS_THAT: &[&str] = &[
    "quiero",
    "queremos",
    "quisiera",
    "necesito",
    "necesitamos",
    "hay",
    "tienes",
    "tiene",
    "tenemos",
    "tengo",
    "pido",
    "solicito",
    "gustaria",
    "prefiero",
    "pide",
    "piden",
    "pedimos",
    "ordena",
    "haz",
    "haga",
];

/// Words that say what will or can happen by itself.
pub(super) const MODALS: &[&str] = &[
    "will",
    "would",
    "may",
    "might",
    "can",
    "could",
    "does",
    "do",
    "shall",
    "is",
    "are",
    "has",
    "have",
    "automatically",
    "usually",
    "always",
    "puede",
    "pueden",
    "suele",
    "suelen",
    "siempre",
];

/// Words right before a noun that looks like the verb.
pub(super) const NOT_BEFORE_ORDER: &[&str] = &[
    "the", "an", "last", "this", "that", "next", "any", "recent", "previous", "each", "every", "of", "its", "our",
    "their", "your", "my", "el", "la", "los", "las", "un", "una", "ultimo", "ultima", "se", "su", "auto",
];

/// First words of a place: "in Hall A".
pub(super) const PLACES: &[&str] = &["in", "at", "for", "on", "inside", "en"];

/// First words of a sentence about someone, not of a room's name.
pub(super) const SUBJECTS: &[&str] = &[
    "the",
    "they",
    "it",
    "we",
    "i",
    "you",
    "he",
    "she",
    "there",
    "this",
    "that",
    "these",
    "those",
    "all",
    "some",
    "most",
    "every",
    "each",
    "my",
    "our",
    "rooms",
    "people",
    "students",
    "someone",
    "everyone",
    "recorders",
    "devices",
];

/// Words between a verb and its noun.
pub(super) const DETERMINERS: &[&str] = &[
    "the", "this", "that", "its", "a", "all", "any", "both", "these", "those", "our", "el", "la", "los", "las", "esa",
    "ese", "esta", "este", "su", "sus", "todas", "todos",
];

/// Nouns after a verb that make it part of a name: "restart history".
pub(super) const ABOUT_THE_VERB: &[&str] = &[
    "needed",
    "required",
    "necessary",
    "recommended",
    "reason",
    "pending",
    "status",
    "state",
    "history",
    "log",
    "logs",
    "list",
    "count",
    "counts",
    "time",
    "times",
    "button",
    "info",
    "report",
    "reports",
    "schedule",
    "settings",
    "date",
    "dates",
    "hour",
    "hours",
    "duration",
    "length",
    "size",
    "number",
    "quality",
    "health",
    "overview",
    "summary",
    "key",
    "link",
    "links",
    "file",
    "files",
    "url",
    "title",
    "name",
    "names",
    "hora",
    "horas",
    "horario",
    "fecha",
    "estado",
    "historial",
    "registro",
    "informe",
    "calidad",
    "duracion",
    "titulo",
    "nombre",
    "motivo",
    "failed",
    "fails",
    "failure",
    "error",
    "errors",
    "problem",
    "fallo",
    "fallos",
];

/// After a verb, these make a noun of it: "start of the recording".
pub(super) const MAKES_A_NOUN: &[&str] = &["of", "on", "about", "de", "del", "sobre"];

/// Verbs that are as often a thing: "stream to the lobby is down".
pub(super) const VERB_OR_THING: &[&str] = &["stream", "broadcast"];

/// After "confirm the event" these tell how things are, which is a question: "confirm the event is on".
pub(super) const HOLDS: &[&str] = &[
    "is", "are", "was", "were", "will", "would", "has", "have", "had", "does", "did", "isnt", "arent", "wasnt",
    "hasnt", "doesnt", "starts", "started", "begins", "began", "ends", "ended", "finishes", "finished", "stopped",
    "works", "worked", "runs", "ran", "went", "happens", "happened", "esta", "estan", "estaba", "estuvo", "es", "son",
    "fue", "sera", "ha", "han", "sigue", "empieza", "empezo", "comienza", "comenzo", "termina", "termino", "tiene",
];

/// Before a word of [`HOLDS`], these make it part of the event's name: "the event that is on", "en esta sala".
pub(super) const NAMES_ON: &[&str] = &["that", "which", "who", "que", "en", "de", "para", "por", "a"];

/// After "para" and a thing, these show that it means "for" and not "stop".
pub(super) const MEANS_FOR: &[&str] = &[
    "necesito",
    "necesitamos",
    "necesita",
    "necesitan",
    "hace",
    "hacen",
    "hay",
    "falta",
    "faltan",
    "usa",
    "uso",
    "usamos",
    "usan",
    "sirve",
    "sirven",
    "quiero",
    "queremos",
    "tengo",
    "tenemos",
    "se",
];

/// After "do the", these make an order of it and not a question.
pub(super) const DONE: &[&str] = &["firmware", "update", "upgrade", "reboot", "restart"];

/// Things that are restarted without restarting the unit.
pub(super) const MEDIA: &[&str] = &[
    "recording",
    "recordings",
    "recorder",
    "recorders",
    "stream",
    "streams",
    "streaming",
    "livestream",
    "broadcast",
    "broadcasts",
    "grabacion",
    "grabaciones",
    "transmision",
    "transmisiones",
    "emision",
    "emisiones",
];

/// Verbs that are no room's name: with one of them in front, what follows is not an order after a room.
pub(super) const OTHER_VERBS: &[&str] =
    &["begin", "cancel", "cut", "drop", "end", "finish", "kill", "pause", "start", "stop"];
