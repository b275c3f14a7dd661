-- One lock: a hash. 'h' is its head, 'q' its queue; 'r', 'g' and 'n' with an id are the ends of requests by request, by grant
-- and by age; 'e' with a number is its newest history. In memory: lists of numbers and texts, by the positions named here.

local REQUEST, GEN, GRANT, MODE, TTL, DELAY, OWNER, PURPOSE = 1, 2, 3, 4, 5, 6, 7, 8
-- of a grant
local TOKEN, SINCE, UNTIL, HOME = 9, 10, 11, 12
-- of a waiter
local QUEUED, WAIT_UNTIL, ALIVE_UNTIL, LAPSE, WAITER_HOME = 9, 10, 11, 12, 13
-- of an offer
local WAITER, OFFER_TOKEN, LAPSES = 1, 2, 3
-- of an end
local END_NUMBER, END_GRANT, END_TOKEN, END_HOW, END_AT, END_DETAIL = 1, 2, 3, 4, 5, 6

local EXCLUSIVE, SHARED = 0, 1
local LAPSE_NONE, STEPS_BACK, LAST_CHANCE = 0, 1, 2

-- Of a request that left before it came nobody knows the grant.
local NO_GRANT = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

local FORMAT = 1
local TOMBSTONE_MILLIS = 60000
local TOMBSTONES_MAX = 256
local HISTORY_MAX = 50
-- Entries that outlive a forgotten lock, and locks of which a domain remembers some.
local HISTORY_KEPT = 8
local HISTORIES_MAX = 200

-- Limits and the server's own name, as each call brings them: the same text as last time, nearly always.
local settings_text, settings

local function settings_of(text)
  if text ~= settings_text then
    local offer, waiters, holders, age, home = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%S+)$')
    settings = {
      offer = tonumber(offer), waiters_max = tonumber(waiters), holders_max = tonumber(holders), age_max = tonumber(age),
      home = home,
    }
    settings_text = text
  end
  return settings
end

local function waiter_at(lock, i)
  local waiter = lock.queue[i]
  if type(waiter) == 'string' then
    waiter = cmsgpack.unpack(string.sub(waiter, 25))
    lock.queue[i] = waiter
  end
  return waiter
end

-- Nobody lost time while this Redis was away: leases and offers last their full length from the epoch's start.
local function restart(lock, millis)
  for _, grant in ipairs(lock.holders) do
    grant[UNTIL] = millis + grant[TTL]
  end
  for _, offer in ipairs(lock.offers) do
    offer[LAPSES] = millis + offer[WAITER][TTL]
    offer[WAITER][ALIVE_UNTIL] = millis + offer[WAITER][TTL]
  end
  for i = 1, #lock.queue do
    local waiter = waiter_at(lock, i)
    waiter[ALIVE_UNTIL] = millis + waiter[TTL]
  end
  lock.waiter_due = 0
  lock.queue_changed = true
  lock.changed = true
end

-- Reads a lock. The end of one request is read with it when its field is given: most calls ask for one.
local function load_lock(key, epoch, field)
  local head, queue, ended
  if field then
    head, queue, ended = unpack(redis.call('HMGET', key, 'h', 'q', field))
  else
    head, queue = unpack(redis.call('HMGET', key, 'h', 'q'))
  end
  local lock = { ends = {} }
  if field then
    lock.ends[field] = ended or false
  end
  if not head then
    lock.holders, lock.offers, lock.queue = {}, {}, {}
    lock.closed, lock.forgotten, lock.waiter_due, lock.first_end, lock.next_end, lock.next_entry = 0, 0, NEVER, 1, 1, 0
    lock.is_new = true
    return lock
  end
  local started
  lock.format, started, lock.closed, lock.forgotten, lock.due, lock.waiter_due, lock.first_end, lock.next_end, lock.last_end_at,
    lock.next_entry, lock.holders, lock.offers = unpack(cmsgpack.unpack(head))
  lock.queue = queue and queue ~= '' and cmsgpack.unpack(queue) or {}
  if started ~= epoch.started then
    restart(lock, epoch.started)
  end
  return lock
end

-- ---- ends of requests

local function end_in(step, field)
  local ended = step.lock.ends[field]
  if ended == nil then
    ended = not step.lock.is_new and redis.call('HGET', step.keys.lock, field) or false
    step.lock.ends[field] = ended
  end
  return ended
end

local function end_of_request(step, request)
  local packed = end_in(step, 'r' .. request)
  return packed and cmsgpack.unpack(packed)
end

-- Two values: the end, and the request it was of.
local function end_of_grant(step, grant)
  local request = end_in(step, 'g' .. grant)
  if request then
    return end_of_request(step, request), request
  end
end

local function forget(step, field)
  step.lock.ends[field] = false
  step.fields[field] = nil
  step.forget[field] = true
end

local function remember(step, field, value)
  step.lock.ends[field] = value
  step.fields[field] = value
  step.forget[field] = nil
end

local function remember_end(step, request, grant, token, how, detail)
  local lock = step.lock
  -- What is too old goes, from the oldest on, and the oldest of too many.
  while lock.first_end < lock.next_end do
    local oldest = end_in(step, 'n' .. lock.first_end)
    local ended = oldest and end_of_request(step, oldest)
    local mine = ended and ended[END_NUMBER] == lock.first_end
    local ended_at = mine and ended[END_AT] or 0
    local old = ended_at + TOMBSTONE_MILLIS <= step.now
    if not old and lock.next_end - lock.first_end < TOMBSTONES_MAX then
      break
    end
    if not old then
      lock.forgotten = math.max(lock.forgotten, ended_at)
    end
    forget(step, 'n' .. lock.first_end)
    if mine then
      forget(step, 'r' .. oldest)
      forget(step, 'g' .. ended[END_GRANT])
    end
    lock.first_end = lock.first_end + 1
  end
  local number = lock.next_end
  lock.next_end = number + 1
  lock.last_end_at = step.now
  remember(step, 'r' .. request, cmsgpack.pack({ number, grant, token, how, step.now, detail }))
  remember(step, 'n' .. number, request)
  if grant ~= NO_GRANT then
    remember(step, 'g' .. grant, request)
  end
  lock.changed = true
end

-- ---- when to look again

local function is_idle(lock)
  return #lock.holders == 0 and #lock.offers == 0 and #lock.queue == 0
end

-- When nothing is left of an idle lock but forgotten ends.
local function forgettable_at(lock)
  return math.max((lock.last_end_at or 0) + TOMBSTONE_MILLIS, lock.closed)
end

local function next_due(lock, now)
  if is_idle(lock) then
    return forgettable_at(lock)
  end
  local due = #lock.queue > 0 and lock.waiter_due or NEVER
  if #lock.queue > 0 and lock.closed > now then
    due = math.min(due, lock.closed)
  end
  for _, grant in ipairs(lock.holders) do
    due = math.min(due, grant[UNTIL])
  end
  for _, offer in ipairs(lock.offers) do
    due = math.min(due, offer[LAPSES])
  end
  return due
end

-- ---- writing

local function name_of(keys)
  local _, last = string.find(keys.lock, '}:lock:', 1, true)
  return string.sub(keys.lock, last + 1)
end

local function net_string(value)
  local text = type(value) == 'number' and as_text(value) or value
  return #text .. ':' .. text
end

-- Tells another server of something that concerns a request of its own. Lost, nothing is: each server asks by itself, later.
local function publish(step, home, event)
  local prefix = string.match(step.keys.counter, '^(.*):{')
  local message = { net_string(name_of(step.keys)), net_string(step.now) }
  for _, value in ipairs(event) do
    message[#message + 1] = net_string(value)
  end
  redis.pcall('PUBLISH', prefix .. ':server:' .. home, table.concat(message))
end

-- The order matters, because nothing takes back what stands before an error. Index: an entry without a lock is found and
-- dropped. Counter: a token that nobody got is only skipped. Then the lock itself, in one command; after it nothing may raise.
local function save(step)
  local lock, keys = step.lock, step.keys
  if lock.changed then
    local due = next_due(lock, step.now)
    if lock.is_new then
      redis.call('ZADD', keys.names, 0, name_of(keys))
    end
    if not lock.due or due < lock.due then
      redis.call('ZADD', keys.due, as_text(due), name_of(keys))
      lock.due = due
    end
  end
  if step.minted > 0 then
    issue(keys.counter, step.epoch, step.minted)
  end
  if lock.changed then
    local write = { 'h', cmsgpack.pack({
      FORMAT, step.epoch.started, lock.closed, lock.forgotten, lock.due, lock.waiter_due, lock.first_end, lock.next_end,
      lock.last_end_at or 0, lock.next_entry, lock.holders, lock.offers,
    }) }
    if lock.queue_changed then
      for i, waiter in ipairs(lock.queue) do
        if type(waiter) == 'table' then
          lock.queue[i] = waiter[REQUEST] .. cmsgpack.pack(waiter)
        end
      end
      write[#write + 1] = 'q'
      write[#write + 1] = #lock.queue > 0 and cmsgpack.pack(lock.queue) or ''
    end
    for field, value in pairs(step.fields) do
      write[#write + 1] = field
      write[#write + 1] = value
    end
    redis.call('HSET', keys.lock, unpack(write))
    if next(step.forget) then
      local gone = {}
      for field in pairs(step.forget) do
        gone[#gone + 1] = field
        if #gone == 1000 then
          redis.pcall('HDEL', keys.lock, unpack(gone))
          gone = {}
        end
      end
      if #gone > 0 then
        redis.pcall('HDEL', keys.lock, unpack(gone))
      end
    end
  end
  for _, entry in ipairs(step.forced) do
    redis.pcall('XADD', keys.history, 'MAXLEN', '~', HISTORIES_MAX, '*', 'n', name_of(keys), 'e', cmsgpack.pack({ entry }))
  end
  for _, told in ipairs(step.elsewhere) do
    publish(step, told.home, told.event)
  end
end
