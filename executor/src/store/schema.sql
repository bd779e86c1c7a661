-- Schema 1. Times are whole Unix seconds on the database clock; *_boot_ms are milliseconds on the boot clock, and mean
-- nothing under another boot_id. Texts named "canonical" are RFC 8785.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- How long each table's rows are kept; store::retention prunes by it, and a test looks that no table is missing here.
CREATE TABLE retention (
  name  TEXT PRIMARY KEY,
  class TEXT NOT NULL CHECK (class IN ('forever', 'days')),
  days  INTEGER CHECK ((class = 'days') = (days IS NOT NULL))
) STRICT;

INSERT INTO retention (name, class, days) VALUES
  ('agents',         'forever', NULL),
  ('approvals',      'forever', NULL), -- the spent log names them
  ('audit',          'forever', NULL),
  ('lost_approvals', 'forever', NULL),
  ('meta',           'forever', NULL),
  ('proposals',      'days',    400),  -- those that nobody approved; the audit keeps their story
  ('retention',      'forever', NULL),
  ('seen',           'days',    30),
  ('slices',         'forever', NULL);

-- Approvals that the spent log knows and a restored database does not; told once, at the start that found them.
CREATE TABLE lost_approvals (
  approval TEXT PRIMARY KEY,
  proposal INTEGER NOT NULL,
  at       INTEGER NOT NULL
) STRICT;

CREATE TABLE slices (
  name    TEXT PRIMARY KEY,
  digest  TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1)
) STRICT;

CREATE TABLE proposals (
  number          INTEGER PRIMARY KEY AUTOINCREMENT,
  request         TEXT NOT NULL UNIQUE,
  workspace       TEXT NOT NULL,
  agent           TEXT NOT NULL,
  origin          TEXT NOT NULL,
  turn            TEXT NOT NULL,
  tool            TEXT NOT NULL,
  arguments       TEXT NOT NULL, -- canonical
  targets         TEXT NOT NULL, -- canonical
  fingerprint     TEXT NOT NULL, -- canonical
  referents       TEXT NOT NULL, -- canonical
  schema_version  INTEGER NOT NULL,
  policy_version  INTEGER NOT NULL,
  slot            TEXT NOT NULL,
  reason          TEXT NOT NULL,
  gates           TEXT NOT NULL, -- canonical: the trace at intake
  boot_id         TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  created_boot_ms INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  expires_boot_ms INTEGER NOT NULL,
  mac             TEXT NOT NULL, -- of the bound record
  state           TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'consumed', 'ok', 'error', 'unknown', 'refused',
                    'revoked', 'expired', 'denied', 'withdrawn', 'expired_seen', 'expired_unseen')),
  decided_at      INTEGER,
  decided_by      TEXT NOT NULL DEFAULT '',
  surface         TEXT NOT NULL DEFAULT '',
  ended_at        INTEGER,
  code            TEXT NOT NULL DEFAULT '', -- refusal code
  detail          TEXT NOT NULL DEFAULT '', -- refusal detail, the device's words or the read-back
  acked           INTEGER NOT NULL DEFAULT 0 CHECK (acked IN (0, 1))
) STRICT;

CREATE INDEX proposals_by_state ON proposals (state);
CREATE INDEX proposals_by_target ON proposals (tool, targets, state);
CREATE INDEX proposals_by_turn ON proposals (turn);
CREATE INDEX proposals_to_tell ON proposals (agent, acked);

CREATE TABLE approvals (
  id              TEXT PRIMARY KEY,
  proposal        INTEGER NOT NULL UNIQUE REFERENCES proposals (number),
  principal       TEXT NOT NULL,
  surface         TEXT NOT NULL,
  session         TEXT NOT NULL,
  digest          TEXT NOT NULL,
  boot_id         TEXT NOT NULL,
  created_at      INTEGER NOT NULL,
  created_boot_ms INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,
  expires_boot_ms INTEGER NOT NULL,
  mac             TEXT NOT NULL,
  used            INTEGER NOT NULL DEFAULT 0 CHECK (used IN (0, 1)),
  consumed_at     INTEGER
) STRICT;

-- Agents that six denials within an hour paused; an operator lifts it.
CREATE TABLE agents (
  label      TEXT PRIMARY KEY,
  paused_at  INTEGER,          -- set while paused
  resumed_at INTEGER NOT NULL DEFAULT 0 -- denials before this are forgiven
) STRICT;

-- Read by nothing but the word expired_seen and the audit of a denial: a GET of a card may write here and nowhere else.
CREATE TABLE seen (
  proposal INTEGER NOT NULL REFERENCES proposals (number),
  surface  TEXT NOT NULL,
  person   TEXT NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (proposal, surface, person)
) STRICT;

CREATE TABLE audit (
  sequence  INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  boot_ms   INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  proposal  INTEGER,
  principal TEXT NOT NULL,
  surface   TEXT NOT NULL,
  detail    TEXT NOT NULL, -- canonical
  hash      TEXT NOT NULL, -- SHA-256 of the previous hash and this row
  mac       TEXT NOT NULL  -- HMAC-SHA256 of store id, sequence and hash under the audit key
) STRICT;
