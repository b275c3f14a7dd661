-- One lock: a hash. 'h' is its head: times, holders and offers. 'q' are the requests that wait, in their order, and 'w' with a
-- request is what one of them asked for. 'r' with a request is how it ended; 'n' with a number names the ends by age, and 't' with a
-- number the failed tries. 'e' with a number is its newest history. In memory: lists of numbers and texts, by the positions named here.

local REQUEST, GEN, GRANT, MODE, TTL, DELAY, OWNER, PURPOSE = 1, 2, 3, 4, 5, 6, 7, 8
-- of a grant
local TOKEN, SINCE, UNTIL, HOME, AT_LEAST = 9, 10, 11, 12, 13
-- of a waiter
local QUEUED, WAIT_UNTIL, ALIVE_UNTIL, LAPSE, WAITER_HOME, WAITER_AT_LEAST = 9, 10, 11, 12, 13, 14
-- of an offer
local WAITER, OFFER_TOKEN, LAPSES = 1, 2, 3
-- of an end
local END_NUMBER, END_GRANT, END_TOKEN, END_HOW, END_AT, END_DETAIL = 1, 2, 3, 4, 5, 6

local EXCLUSIVE, SHARED = 0, 1
local LAPSE_NONE, STEPS_BACK, LAST_CHANCE = 0, 1, 2

-- Of a request that left before it came nobody knows the grant.
local NO_GRANT = '\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'

local FORMAT = 4
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

-- ---- packed. Numbers as doubles, which hold them exactly to 2^53; texts behind their length.

local ID = 24
local HEAD = '>BddddddddddddddI2I2'
local ASKED = 'c24dc16BddI2c0I2c0'
local HELD = '>' .. ASKED .. 'dddBc0d'
local WAITS = '>' .. ASKED .. 'dddBBc0dd'
local OFFERED = '>dd'
local ENDED = '>dc16dBc0dI2c0'
local AGED = '>dc24c16'
local ENTRY = '>ddBc0dc16I2c0I2c0'

local function pack_held(grant)
  local id, gen, grant_id, mode, ttl, delay, owner, purpose, token, since, ends, home, at_least = unpack(grant, 1, 13)
  return struct.pack(HELD, id, gen, grant_id, mode, ttl, delay, #owner, owner, #purpose, purpose, token, since, ends, #home, home,
    at_least)
end

-- Two values: the grant, and where the next thing begins.
local function unpack_held(packed, at)
  local grant = { struct.unpack(HELD, packed, at) }
  local behind = grant[14]
  grant[14] = nil
  return grant, behind
end

-- With the start of the epoch that its times are of.
local function pack_waiter(waiter, started)
  local id, gen, grant_id, mode, ttl, delay, owner, purpose, queued, wait_until, alive_until, lapse, home, at_least =
    unpack(waiter, 1, 14)
  return struct.pack(WAITS, id, gen, grant_id, mode, ttl, delay, #owner, owner, #purpose, purpose, queued, wait_until, alive_until,
    lapse, #home, home, at_least, started)
end

-- Nobody lost time while this Redis was away: who waits is alive for its full length from the epoch's start.
local function unpack_waiter(packed, at, started)
  local waiter = { struct.unpack(WAITS, packed, at) }
  local behind = waiter[16]
  if waiter[15] ~= started then
    waiter[ALIVE_UNTIL] = started + waiter[TTL]
  end
  waiter[15], waiter[16] = nil, nil
  return waiter, behind
end

local function pack_entry(number, entry)
  local at, what, token, grant, owner, detail = unpack(entry, 1, 6)
  return struct.pack(ENTRY, number, at, #what, what, token, grant, #owner, owner, #detail, detail)
end

-- Two values: the entry, and its number.
local function unpack_entry(packed)
  local number, at, what, token, grant, owner, detail = struct.unpack(ENTRY, packed)
  return { at, what, token, grant, owner, detail }, number
end

-- ---- reading

-- Ends of one kind by age: ENDS, or TRIES that failed. Each kind has the same limit, so tries never displace other ends. first_at is no
-- later than the oldest end: most calls need not look at it.
local ENDS, TRIES = 1, 2

local function new_ring(field)
  return { field = field, first = 1, first_at = 0, next = 1 }
end

-- Leases and offers too last their full length from the epoch's start.
local function restart(lock, millis)
  for _, grant in ipairs(lock.holders) do
    grant[UNTIL] = millis + grant[TTL]
  end
  for _, offer in ipairs(lock.offers) do
    offer[LAPSES] = millis + offer[WAITER][TTL]
  end
  lock.waiter_due = 0
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
  local lock = { key = key, started = epoch.started, ends = {}, waiters = {}, holders = {}, offers = {}, queue = queue or '' }
  if field then
    lock.ends[field] = ended or false
  end
  if head and string.byte(head) ~= FORMAT then
    -- Of another release, so nothing of it can be read: it is lost, and what is written next takes its place.
    head, lock.ends, lock.queue, lock.is_foreign = nil, {}, '', true
  end
  if not head then
    lock.delay_until, lock.hold_until, lock.forgotten, lock.waiter_due, lock.last_end_at = 0, 0, 0, NEVER, 0
    lock.kept = { new_ring('n'), new_ring('t') }
    lock.next_entry = 0
    lock.is_new = true
    return lock
  end
  local _, started, holders, offers, at
  local kept, tries = new_ring('n'), new_ring('t')
  _, started, lock.delay_until, lock.forgotten, lock.due, lock.waiter_due, kept.first, kept.first_at, kept.next, tries.first,
    tries.first_at, tries.next, lock.last_end_at, lock.next_entry, lock.hold_until, holders, offers, at = struct.unpack(HEAD, head)
  lock.kept = { kept, tries }
  for i = 1, holders do
    lock.holders[i], at = unpack_held(head, at)
  end
  for i = 1, offers do
    local offer = {}
    offer[WAITER], at = unpack_waiter(head, at, epoch.started)
    offer[OFFER_TOKEN], offer[LAPSES], at = struct.unpack(OFFERED, head, at)
    lock.offers[i] = offer
  end
  if started ~= epoch.started then
    restart(lock, epoch.started)
  end
  return lock
end

-- ---- who waits

local function queue_length(lock)
  return #lock.queue / ID
end

local function place_of(lock, request)
  local from = 1
  while true do
    local found = string.find(lock.queue, request, from, true)
    if not found then
      return nil
    end
    local before = math.floor((found - 1) / ID)
    if before * ID + 1 == found then
      return before + 1
    end
    from = (before + 1) * ID + 1 -- It lay across two.
  end
end

local function waiter_of(lock, request)
  local waiter = lock.waiters[request]
  if not waiter then
    waiter = unpack_waiter(redis.call('HGET', lock.key, 'w' .. request), 1, lock.started)
    lock.waiters[request] = waiter
  end
  return waiter
end

local function waiter_at(lock, place)
  return waiter_of(lock, string.sub(lock.queue, (place - 1) * ID + 1, place * ID))
end

-- All of them, in their order.
local function all_waiters(lock)
  local all, absent, fields = {}, {}, {}
  for place = 1, queue_length(lock) do
    local request = string.sub(lock.queue, (place - 1) * ID + 1, place * ID)
    all[place] = lock.waiters[request]
    if not all[place] then
      absent[#absent + 1], fields[#fields + 1] = place, 'w' .. request
    end
  end
  for from = 1, #fields, 1000 do
    local packed = redis.call('HMGET', lock.key, unpack(fields, from, math.min(#fields, from + 999)))
    for i, each in ipairs(packed) do
      local waiter = unpack_waiter(each, 1, lock.started)
      all[absent[from + i - 1]] = waiter
      lock.waiters[waiter[REQUEST]] = waiter
    end
  end
  return all
end

-- ---- what is to be written besides the head

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

local function keep_waiter(step, waiter)
  local lock, field = step.lock, 'w' .. waiter[REQUEST]
  lock.waiters[waiter[REQUEST]] = waiter
  step.fields[field] = pack_waiter(waiter, lock.started)
  step.forget[field] = nil
  lock.changed = true
end

local function put_into_queue(step, waiter, first)
  local lock = step.lock
  lock.queue = first and waiter[REQUEST] .. lock.queue or lock.queue .. waiter[REQUEST]
  lock.queue_changed = true
  keep_waiter(step, waiter)
end

local function take_out_of_queue(step, place)
  local lock = step.lock
  local request = string.sub(lock.queue, (place - 1) * ID + 1, place * ID)
  lock.queue = string.sub(lock.queue, 1, (place - 1) * ID) .. string.sub(lock.queue, place * ID + 1)
  lock.queue_changed = true
  lock.waiters[request] = nil
  step.fields['w' .. request] = nil
  step.forget['w' .. request] = true
  lock.changed = true
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
  return packed and { struct.unpack(ENDED, packed) }
end

-- Three values: when the end with that number was, the request and the grant it was of.
local function end_numbered(step, ring, number)
  local packed = end_in(step, ring.field .. number)
  if packed then
    return struct.unpack(AGED, packed)
  end
end

-- Two values: the end, and the request it was of. Looks at all of them: only who holds nothing is asked about.
local function end_of_grant(step, grant)
  local lock = step.lock
  for _, ring in ipairs(lock.kept) do
    local absent = {}
    for number = ring.first, ring.next - 1 do
      local field = ring.field .. number
      if lock.ends[field] == nil then
        absent[#absent + 1] = field
      end
    end
    if #absent > 0 then
      for i, packed in ipairs(redis.call('HMGET', step.keys.lock, unpack(absent))) do
        lock.ends[absent[i]] = packed
      end
    end
    for number = ring.next - 1, ring.first, -1 do
      local packed = lock.ends[ring.field .. number]
      if packed and string.sub(packed, 33, 48) == grant then
        local request = string.sub(packed, 9, 32)
        return end_of_request(step, request), request
      end
    end
  end
end

-- What is too old goes, from the oldest on, and the oldest of too many when one more comes.
local function forget_old_ends(step, ring, one_more)
  local lock = step.lock
  while ring.first < ring.next do
    local too_many = one_more and ring.next - ring.first >= TOMBSTONES_MAX
    if not too_many and ring.first_at + TOMBSTONE_MILLIS > step.now then
      return
    end
    local ended_at, request = end_numbered(step, ring, ring.first)
    local old = ended_at + TOMBSTONE_MILLIS <= step.now
    ring.first_at = ended_at
    if not old and not too_many then
      return
    end
    if not old then
      lock.forgotten = math.max(lock.forgotten, ended_at)
    end
    local ended = end_of_request(step, request)
    if ended and ended[END_NUMBER] == ring.first and (ended[END_HOW] == 'BUSY') == (ring == lock.kept[TRIES]) then
      forget(step, 'r' .. request)
    end
    forget(step, ring.field .. ring.first)
    ring.first = ring.first + 1
  end
end

local function remember_end(step, request, grant, token, how, detail)
  local lock = step.lock
  local ring = lock.kept[how == 'BUSY' and TRIES or ENDS]
  for _, each in ipairs(lock.kept) do
    forget_old_ends(step, each, each == ring)
  end
  local number = ring.next
  if number == ring.first then
    ring.first_at = step.now
  end
  ring.next = number + 1
  lock.last_end_at = step.now
  remember(step, 'r' .. request, struct.pack(ENDED, number, grant, token, #how, how, step.now, #detail, detail))
  remember(step, ring.field .. number, struct.pack(AGED, step.now, request, grant))
  lock.changed = true
end

-- ---- when to look again

-- Until then no grant or offer is made: the end of the lock-delay or of the minimum hold time, whichever is later.
local function closed_until(lock)
  return math.max(lock.delay_until, lock.hold_until)
end

local function is_idle(lock)
  return #lock.holders == 0 and #lock.offers == 0 and lock.queue == ''
end

-- When nothing is left of an idle lock but forgotten ends.
local function forgettable_at(lock)
  return math.max(lock.last_end_at + TOMBSTONE_MILLIS, closed_until(lock))
end

local function next_due(lock, now)
  if is_idle(lock) then
    return forgettable_at(lock)
  end
  local due = lock.queue ~= '' and lock.waiter_due or NEVER
  -- As long as the EXCLUSIVE lease stands, its end comes first: then this is asked again.
  local opens = #lock.holders == 0 and #lock.offers == 0 and closed_until(lock) or lock.delay_until
  if lock.queue ~= '' and opens > now then
    due = math.min(due, opens)
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

local function packed_head(lock)
  local kept, tries = lock.kept[ENDS], lock.kept[TRIES]
  local parts = {
    struct.pack(HEAD, FORMAT, lock.started, lock.delay_until, lock.forgotten, lock.due, lock.waiter_due, kept.first, kept.first_at, kept.next,
      tries.first, tries.first_at, tries.next, lock.last_end_at, lock.next_entry, lock.hold_until, #lock.holders, #lock.offers),
  }
  for _, grant in ipairs(lock.holders) do
    parts[#parts + 1] = pack_held(grant)
  end
  for _, offer in ipairs(lock.offers) do
    parts[#parts + 1] = pack_waiter(offer[WAITER], lock.started)
    parts[#parts + 1] = struct.pack(OFFERED, offer[OFFER_TOKEN], offer[LAPSES])
  end
  return table.concat(parts)
end

-- The order matters, because nothing takes back what stands before an error. Index: an entry without a lock is found and
-- dropped, and one that is too early moved; so it is put earlier before and later afterwards. Counter: a token that nobody got
-- is only skipped. Then the lock itself, in one command; after it nothing may raise.
local function save(step)
  local lock, keys = step.lock, step.keys
  local sooner, later
  if lock.changed then
    if lock.queue == '' then
      lock.waiter_due = NEVER
    end
    local due = next_due(lock, step.now)
    if lock.is_new then
      redis.call('ZADD', keys.names, 0, name_of(keys))
    end
    sooner = not lock.due or due < lock.due
    later = not sooner and lock.looked_at
    if sooner then
      redis.call('ZADD', keys.due, as_text(due), name_of(keys))
    end
    if sooner or later then
      lock.due = due
    end
  end
  if step.minted > 0 then
    issue(keys.counter, step.epoch, step.minted)
  end
  if lock.changed then
    if lock.is_foreign then
      redis.call('UNLINK', keys.lock)
    end
    local write = { 'h', packed_head(lock) }
    if lock.queue_changed then
      write[3], write[4] = 'q', lock.queue
    end
    for field, value in pairs(step.fields) do
      write[#write + 1] = field
      write[#write + 1] = value
    end
    redis.call('HSET', keys.lock, unpack(write))
    if later then
      redis.pcall('ZADD', keys.due, as_text(lock.due), name_of(keys))
    end
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
    redis.pcall('XADD', keys.history, 'MAXLEN', '~', HISTORIES_MAX, '*', 'n', name_of(keys), 'e', cmsgpack.pack({ entry }),
      'g', cmsgpack.pack({}))
  end
  for _, told in ipairs(step.elsewhere) do
    publish(step, told.home, told.event)
  end
end
