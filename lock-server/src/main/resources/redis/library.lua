#!lua name=palisade
-- Palisade's functions. One library, loaded whole: two would each take the other's tokens for a break in continuity.
--
-- A function reads and decides first, in Lua's own memory, and writes at the end: a function that raises does not take
-- back what it has written. lock.lua has the order of the writes.

-- Rises with every change. A newer library still answers the calls of the one before.
local VERSION = 15
-- The largest fencing token, and the largest whole number that Lua, JSON and JavaScript hold exactly.
local TOKEN_MAX = 9007199254740991
-- The one it is known by, and those right above it, for the turns that its client passes on.
local TOKENS_PER_GRANT = 32
-- In place of a time: never.
local NEVER = 9007199254740992

local function as_text(number)
  return string.format('%.0f', number)
end
