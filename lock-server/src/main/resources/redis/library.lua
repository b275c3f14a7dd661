#!lua name=palisade_log
-- The log of records that lock servers share: one of them owns it, the others claim it. LogRules.java has the same rules, and a test
-- compares the two.
--
-- A function reads and decides first, and writes at the end, the head last: a function that raises does not take back what it
-- has written, and a head that has moved says that the whole batch is stored.

-- Rises with every change. A newer library answers the calls of the one before, as long as FORMAT is the same.
local VERSION = 20
-- Of the keys. A head with another one is of another release.
local FORMAT = 2
-- The largest fencing token. A log whose count is there grants nothing any more: another program wrote it.
local TOKEN_MAX = 9007199254740991
