-- Fencing tokens that rise whatever happened to this Redis. A counter alone does not: it comes back lower after a restart, a
-- promotion, a restore, a FLUSHALL. So this process remembers what it issued last, and under which replication id. Its
-- memory ends with the process and with each load of this library; that, too, is a break, and a break begins a new epoch,
-- above everything that was issued before.

-- 2024-01-01T00:00Z. Tokens of an epoch begin at the milliseconds since then, times 4096.
local ERA_MILLIS = 1704067200000
local TOKENS_PER_MILLI = 4096
local EPOCH_STEP = 16777216

-- By counter key: text (what the counter holds), last, id, base, began, started, recovering, why. Deliberately not kept in a key.
local issued = {}

local replication_id, replication_id_millis

-- Read again whenever the millisecond has changed: it is cheap once in so many calls, and a process can be demoted and
-- promoted within very few.
local function current_replication_id(now)
  if replication_id_millis ~= now then
    replication_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
    replication_id_millis = now
  end
  return replication_id
end

-- The counter as it is stored, or false: also when it is no text at all.
local function stored_counter(key)
  local stored = redis.pcall('GET', key)
  return type(stored) == 'string' and stored
end

-- What broke, or nothing.
local function break_of(epoch, stored, now, floor)
  if not epoch then
    return 'this process has issued no token here'
  end
  if stored ~= epoch.text then
    return 'the counter is not what this process left'
  end
  if epoch.id ~= current_replication_id(now) then
    return 'the replication id changed'
  end
  if epoch.last < floor then
    return 'a newer token is known elsewhere'
  end
end

-- The epoch of the domain when it is in order; else nothing and what broke it.
local function epoch_in_order(counter, now, floor)
  local epoch = issued[counter]
  local broken = break_of(epoch, stored_counter(counter), now, floor)
  if broken then
    return nil, broken
  end
  if now < epoch.began then
    -- The clock was set back: holders are not waited for any longer than they were to be.
    epoch.recovering = now + math.max(0, epoch.recovering - epoch.began)
    epoch.began = now
  end
  return epoch
end

-- Moves the counter over the tokens that a decision has given out.
local function issue(counter, epoch, count)
  epoch.last = redis.call('INCRBY', counter, count)
  epoch.text = as_text(epoch.last)
end

local function proper_token(text)
  local number = text and string.match(text, '^%d+$') and #text <= 16 and tonumber(text)
  return number and number <= TOKEN_MAX and number or nil
end

-- A base above everything known: the clock when it is ahead of it, else well above, where another history is unlikely to go.
local function epoch_base(clock_millis, high, epoch_id)
  local clock = (clock_millis - ERA_MILLIS) * TOKENS_PER_MILLI
  if clock > high then
    return clock
  end
  return (math.floor(high / EPOCH_STEP) + 1) * EPOCH_STEP + (epoch_id % 4096) * TOKENS_PER_MILLI
end
