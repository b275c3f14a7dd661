#!lua name=palisade_log
-- The log of records that lock servers share: one of them owns it, the others claim it. LogRules.java has the same rules, and a test
-- compares the two.
--
-- A function reads and decides first, and writes at the end, the head last: a function that raises does not take back what it
-- has written, and a head that has moved says that the whole batch is stored.

-- Rises with every change. A newer library still answers the calls of the one before.
local VERSION = 6
-- Of the keys. A head with a larger one is of a later release.
local FORMAT = 1
local HASHES = 256
-- Words of one HSET or HDEL: Lua's stack has room for 8,000.
local WORDS_MAX = 4000
