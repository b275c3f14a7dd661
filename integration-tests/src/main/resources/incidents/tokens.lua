#!lua name=incident_tokens
--[[
The token rule alone, without a lock around it: what the run of incidents is held against, and what its planted bugs are edits of.

  incident_mint(counter | floor, confirmed)
    counter    the key that holds the domain's counter
    floor      the highest token that the caller knows
    confirmed  1: the caller has read the topology just now, and this is the primary
  returns {token, epoch} in digits, or {SUSPECT_PRIMARY}, and then nothing was written.
]]

local PER_MILLI = 4096
local JUMP = 16777216
local SINCE = 1704067200000 -- 2024-01-01

-- They live as long as this process and this load of the library, no longer.
local last, seen, epoch = {}, {}, {}
local id, id_read = '', -1

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) - SINCE
end

local function replication_id(ms)
  if ms ~= id_read then
    id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
    id_read = ms
  end
  return id
end

local function stored_at(counter)
  local value = redis.pcall('GET', counter)
  if type(value) == 'string' and string.match(value, '^%d+$') and #value <= 16 then
    return tonumber(value)
  end
  return 0
end

local function base(ms, high)
  local clock = ms * PER_MILLI
  if clock > high then
    return clock
  end
  return (math.floor(high / JUMP) + 1) * JUMP + tonumber(string.sub(id, 1, 3), 16) * PER_MILLI
end

redis.register_function('incident_mint', function(keys, args)
  local counter, floor, confirmed = keys[1], tonumber(args[1]), args[2] == '1'
  local ms = now()
  local current = replication_id(ms)
  local stored = stored_at(counter)
  local issued = last[counter] or 0
  local continuous = stored == issued and issued > 0 and seen[counter] == current
  local known = issued >= floor
  if not continuous and not confirmed then
    return {'SUSPECT_PRIMARY'}
  end
  if not known and not confirmed then
    return {'SUSPECT_PRIMARY'}
  end
  local from = stored
  if not continuous or not known then
    from = base(ms, math.max(stored, issued, floor))
    epoch[counter] = from
  end
  local token = from + 1
  redis.call('SET', counter, string.format('%.0f', token))
  last[counter] = token
  seen[counter] = current
  return {string.format('%.0f', token), string.format('%.0f', epoch[counter])}
end)
