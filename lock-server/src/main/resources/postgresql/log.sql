-- Tables in which lock servers keep their log. A lock server creates them at its start, if its user may; else run this once.

-- One row for each log, which its owner updates with every batch: most of a page is left free for the next versions of the row.
CREATE TABLE IF NOT EXISTS palisade_log (
  log text PRIMARY KEY,
  format integer NOT NULL CHECK (format > 0),
  -- The transaction that wrote the row: of a row that was restored from a copy, it is not the one that PostgreSQL knows.
  written_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
  tokens bigint NOT NULL DEFAULT 0 CHECK (tokens BETWEEN 0 AND 9007199254740990),
  -- The owner's claim. Without a writer the log is empty.
  writer text CHECK (writer ~ '^[0-9a-f]{32}$'),
  seq bigint NOT NULL DEFAULT 0 CHECK (seq >= 0),
  base_writer text NOT NULL DEFAULT '00000000000000000000000000000000' CHECK (base_writer ~ '^[0-9a-f]{32}$'),
  base_seq bigint NOT NULL DEFAULT 0 CHECK (base_seq >= 0),
  whole boolean NOT NULL DEFAULT false,
  term bigint NOT NULL DEFAULT 0 CHECK (term >= 0),
  server text NOT NULL DEFAULT '',
  address text NOT NULL DEFAULT '',
  -- Of the key with which the owner signs sequencers.
  key_id text NOT NULL DEFAULT '',
  -- Of the owner, those that all lock servers of the log must have in common.
  settings text NOT NULL DEFAULT '',
  claimed_until bigint NOT NULL DEFAULT 0,
  yielded boolean NOT NULL DEFAULT false,
  -- Identity of the running PostgreSQL that stored the last batch: another one after a restart, a restore or a promotion.
  instance text NOT NULL DEFAULT '',
  generation bigint NOT NULL DEFAULT 1 CHECK (generation > 0),
  rewriting bigint NOT NULL DEFAULT 0 CHECK (rewriting >= 0),
  recovering_until bigint NOT NULL DEFAULT 0,
  -- Numbers of the oldest batch and of the next one, and how many are there.
  first_batch bigint NOT NULL DEFAULT 1 CHECK (first_batch > 0),
  next_batch bigint NOT NULL DEFAULT 1 CHECK (next_batch >= first_batch),
  batches bigint NOT NULL DEFAULT 0 CHECK (batches >= 0),
  -- The wait of a log that lost data for its last owner.
  settling_writer text CHECK (settling_writer ~ '^[0-9a-f]{32}$'),
  settling_seq bigint NOT NULL DEFAULT 0,
  settling_since bigint NOT NULL DEFAULT 0,
  settling_term bigint NOT NULL DEFAULT 0,
  settling_instance text NOT NULL DEFAULT '',
  -- How the owner became it, for people.
  taken_at bigint NOT NULL DEFAULT 0,
  taken_why text NOT NULL DEFAULT '',
  taken_from text NOT NULL DEFAULT ''
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0, autovacuum_analyze_threshold = 1000000000);

CREATE TABLE IF NOT EXISTS palisade_log_batch (
  log text NOT NULL,
  generation bigint NOT NULL,
  number bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (log, generation, number)
) WITH (autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_scale_factor = 0.1, toast.autovacuum_vacuum_threshold = 5000);

ALTER TABLE palisade_log_batch ALTER COLUMN body SET STORAGE EXTERNAL;

-- Lock servers that wait for a log, for people. It may lose what it holds at any time.
CREATE UNLOGGED TABLE IF NOT EXISTS palisade_log_standby (
  log text NOT NULL,
  server text NOT NULL,
  address text NOT NULL,
  since bigint NOT NULL,
  seen bigint NOT NULL,
  PRIMARY KEY (log, server)
);
