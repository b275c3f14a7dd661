-- For MySQL and MariaDB. One row per guarded resource: the high-water mark that FencedJdbc compares and raises.
-- Restore it only together with the data it guards: a mark that goes back admits a former holder.
CREATE TABLE IF NOT EXISTS palisade_fence (
    -- The name in UTF-8. Binary: in a text column 'a' and 'A', or 'a' and 'a ', would be one resource.
    resource VARBINARY(512) NOT NULL PRIMARY KEY,
    -- Highest EXCLUSIVE grant admitted: its token (0: none) and its grant id in hexadecimal digits.
    x_token BIGINT DEFAULT 0 NOT NULL,
    x_grant VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT '' NOT NULL,
    -- Highest SHARED token admitted (0: none).
    s_token BIGINT DEFAULT 0 NOT NULL,
    -- When each of the two was first admitted, milliseconds since 1970 by this database's clock (0: not known), for people.
    x_raised_at_millis BIGINT DEFAULT 0 NOT NULL,
    s_raised_at_millis BIGINT DEFAULT 0 NOT NULL,
    -- Another number with every raise: some drivers count changed rows only, and a check that was rolled back is told by it.
    n BIGINT DEFAULT 0 NOT NULL
) ENGINE = InnoDB;
