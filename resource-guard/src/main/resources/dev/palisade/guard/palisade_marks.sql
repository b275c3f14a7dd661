-- State of a guard in front of a service, in a shared database (JdbcMarkStore). One guard has these tables at a time.
-- Never restore them from an older copy: a mark that goes back admits a former holder. Empty all four instead.

-- One row, with id 1.
CREATE TABLE IF NOT EXISTS palisade_marks_owner (
    id SMALLINT NOT NULL PRIMARY KEY,
    -- The guard that opened the store last; every change by another one is refused.
    owner VARCHAR(32) NOT NULL,
    -- Whether a domain without a base mark was never used.
    complete BOOLEAN NOT NULL,
    -- Whether the guard that had it last had seen the end of every call.
    closed_in_order BOOLEAN NOT NULL
);

-- Which marks these are: a guard registers with it, so that guards with separate marks are found out. '': not given yet.
ALTER TABLE palisade_marks_owner ADD COLUMN IF NOT EXISTS marks_id VARCHAR(32) DEFAULT '' NOT NULL;

-- One row per guarded resource.
CREATE TABLE IF NOT EXISTS palisade_marks (
    resource VARCHAR(512) NOT NULL PRIMARY KEY,
    issuer VARCHAR(64) NOT NULL,
    lock_name VARCHAR(256) NOT NULL,
    -- Highest EXCLUSIVE grant admitted: its token (0: none) and its grant id in hexadecimal digits.
    x_token BIGINT NOT NULL,
    x_grant VARCHAR(32) NOT NULL,
    -- Highest SHARED token admitted (0: none).
    s_token BIGINT NOT NULL,
    -- For people.
    raised_at_millis BIGINT NOT NULL
);

-- One row per issuer and token domain: every token up to this one is refused.
CREATE TABLE IF NOT EXISTS palisade_mark_bases (
    issuer VARCHAR(64) NOT NULL,
    domain INTEGER NOT NULL,
    token BIGINT NOT NULL,
    PRIMARY KEY (issuer, domain)
);

-- One row per name that a guard with these marks protected: the token of the registration up to which the marks have missed
-- nothing; 0: they have missed grants.
CREATE TABLE IF NOT EXISTS palisade_mark_registrations (
    name VARCHAR(200) NOT NULL PRIMARY KEY,
    token BIGINT NOT NULL
)
