-- What guards that share one register keep (MarkStore.shared), in MySQL and MariaDB.
-- Never restore the tables from an older copy: empty all of them instead.

-- One row, with id 1.
CREATE TABLE IF NOT EXISTS palisade_marks_owner (
    id SMALLINT NOT NULL PRIMARY KEY,
    owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- Whether a domain without a base mark was never used.
    complete BOOLEAN NOT NULL,
    closed_in_order BOOLEAN NOT NULL,
    -- Which marks these are: a guard registers with it, so that guards with separate marks are found out.
    marks_id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '' NOT NULL
) ENGINE = InnoDB;

-- One row per guarded resource. Names in UTF-8, binary: in a text column 'a' and 'A', or 'a' and 'a ', would be one.
CREATE TABLE IF NOT EXISTS palisade_marks (
    resource VARBINARY(512) NOT NULL PRIMARY KEY,
    issuer VARBINARY(256) NOT NULL,
    lock_name VARBINARY(256) NOT NULL,
    -- Highest EXCLUSIVE grant admitted: its token (0: none) and its grant id in hexadecimal digits.
    x_token BIGINT NOT NULL,
    x_grant VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- Highest SHARED token admitted (0: none).
    s_token BIGINT NOT NULL,
    -- For people.
    raised_at_millis BIGINT NOT NULL,
    epoch BIGINT DEFAULT 0 NOT NULL
) ENGINE = InnoDB;

-- One row per issuer and token domain: every token up to this one is refused.
CREATE TABLE IF NOT EXISTS palisade_mark_bases (
    issuer VARBINARY(256) NOT NULL,
    domain INTEGER NOT NULL,
    token BIGINT NOT NULL,
    epoch BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (issuer, domain)
) ENGINE = InnoDB;

-- One row per name that a guard with these marks protected: the token of the registration up to which the marks have missed
-- nothing; 0: they have missed grants.
CREATE TABLE IF NOT EXISTS palisade_mark_registrations (
    name VARBINARY(200) NOT NULL PRIMARY KEY,
    token BIGINT NOT NULL
) ENGINE = InnoDB;

-- One row, with id 1.
CREATE TABLE IF NOT EXISTS palisade_register (
    id SMALLINT NOT NULL PRIMARY KEY,
    -- Marks and base marks of an earlier epoch count as missing.
    epoch BIGINT NOT NULL,
    -- The newest epoch whose waiting period is over.
    settled BIGINT NOT NULL,
    -- The longest unknownOutcomeTimeout of any guard.
    delta_millis BIGINT NOT NULL
) ENGINE = InnoDB;

-- One row per guard that lives or whose calls may still run. Deleting a row ends its calls and shuts that guard out.
CREATE TABLE IF NOT EXISTS palisade_register_guards (
    id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    -- Host and process, for people.
    owner VARBINARY(256) NOT NULL,
    lease_millis BIGINT NOT NULL,
    -- Raised by each renewal of the lease.
    beats BIGINT NOT NULL,
    -- When the lease was renewed, milliseconds since 1970 by this database's clock, for people.
    renewed_at_millis BIGINT NOT NULL
) ENGINE = InnoDB;

-- One row per call that runs, or whose end is unknown.
CREATE TABLE IF NOT EXISTS palisade_register_calls (
    guard VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    number BIGINT NOT NULL,
    resource VARBINARY(512) NOT NULL,
    exclusive BOOLEAN NOT NULL,
    token BIGINT NOT NULL,
    grant_id VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    writes BOOLEAN NOT NULL,
    quarantined BOOLEAN NOT NULL,
    PRIMARY KEY (guard, number),
    KEY palisade_register_calls_of_resource (resource),
    FOREIGN KEY (guard) REFERENCES palisade_register_guards (id) ON DELETE CASCADE
) ENGINE = InnoDB
