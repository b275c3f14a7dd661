-- What guards that share one register keep beside the marks in palisade_marks.sql (MarkStore.shared), in PostgreSQL.
-- Never restore the tables from an older copy: empty all of them instead.

ALTER TABLE palisade_marks ADD COLUMN IF NOT EXISTS epoch BIGINT DEFAULT 0 NOT NULL;
ALTER TABLE palisade_mark_bases ADD COLUMN IF NOT EXISTS epoch BIGINT DEFAULT 0 NOT NULL;

-- One row, with id 1.
CREATE TABLE IF NOT EXISTS palisade_register (
    id SMALLINT NOT NULL PRIMARY KEY,
    -- Marks and base marks of an earlier epoch count as missing.
    epoch BIGINT NOT NULL,
    -- The newest epoch whose waiting period is over.
    settled BIGINT NOT NULL,
    -- The longest unknownOutcomeTimeout of any guard.
    delta_millis BIGINT NOT NULL
);

-- One row per guard that lives or whose calls may still run. Deleting a row ends its calls and shuts that guard out.
CREATE TABLE IF NOT EXISTS palisade_register_guards (
    id VARCHAR(32) NOT NULL PRIMARY KEY,
    -- Host and process, for people.
    owner VARCHAR(256) NOT NULL,
    lease_millis BIGINT NOT NULL,
    -- Raised by each renewal of the lease.
    beats BIGINT NOT NULL,
    -- When the lease was renewed, milliseconds since 1970 by this database's clock, for people.
    renewed_at_millis BIGINT NOT NULL
);

-- One row per call that runs, or whose end is unknown.
CREATE TABLE IF NOT EXISTS palisade_register_calls (
    guard VARCHAR(32) NOT NULL REFERENCES palisade_register_guards (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    resource VARCHAR(512) NOT NULL,
    exclusive BOOLEAN NOT NULL,
    token BIGINT NOT NULL,
    grant_id VARCHAR(32) NOT NULL,
    writes BOOLEAN NOT NULL,
    quarantined BOOLEAN NOT NULL,
    PRIMARY KEY (guard, number)
);

CREATE INDEX IF NOT EXISTS palisade_register_calls_of_resource ON palisade_register_calls (resource);

-- One row per resource at which a guard waits for calls of others; the guard that ends one deletes it and notifies.
CREATE TABLE IF NOT EXISTS palisade_register_waits (
    resource VARCHAR(512) NOT NULL PRIMARY KEY
)
