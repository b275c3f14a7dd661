#!lua name=palisade
-- The functions of an earlier release, as it loaded them. They are not part of this one: EarlierFunctions calls them.
--
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
-- The time of every decision: this Redis's own, in milliseconds since 1970.

local function now_millis()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end
-- Rights of the user that calls a function. A missing one is found before anything is written.

-- The commands of needed, each with arguments as a function will call it, that this user may not call.
local function missing_rights(needed)
  local missing = {}
  for _, call in ipairs(needed) do
    if not redis.acl_check_cmd(unpack(call)) then
      missing[#missing + 1] = '+' .. string.lower(call[1])
    end
  end
  return missing
end
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
-- One step of the lock machine: time first, then the command, then the hand-off. The same machine as
-- dev.palisade.server.core in Java, rule by rule; the same traces and the same walk run against both.

local function tell(step, home, event)
  step.events[#step.events + 1] = event
  if home ~= step.settings.home then
    step.elsewhere[#step.elsewhere + 1] = { home = home, event = event }
  end
end

local function write_history(step, what, request, token, detail)
  local lock = step.lock
  local entry = { step.now, what, token, request[GRANT], request[OWNER], detail }
  if what == 'FORCE_RELEASED' then
    step.forced[#step.forced + 1] = entry
    return
  end
  step.fields['e' .. (lock.next_entry % HISTORY_MAX)] = pack_entry(lock.next_entry, entry)
  lock.next_entry = lock.next_entry + 1
end

-- ---- finding

local function find(list, position, id)
  for i, item in ipairs(list) do
    if item[position] == id then
      return item, i
    end
  end
end

local function offer_by(step, position, id)
  for i, offer in ipairs(step.lock.offers) do
    if offer[WAITER][position] == id then
      return offer, i
    end
  end
end

local function waiter_by_grant(step, grant)
  for place, waiter in ipairs(all_waiters(step.lock)) do
    if waiter[GRANT] == grant then
      return waiter, place
    end
  end
end

local function session_of(request)
  return string.sub(request[REQUEST], 1, 16)
end

-- ---- changing

local function remove(step, request)
  local lock = step.lock
  local _, held = find(lock.holders, REQUEST, request)
  if held then
    table.remove(lock.holders, held)
  end
  local _, offered = offer_by(step, REQUEST, request)
  if offered then
    table.remove(lock.offers, offered)
  end
  local place = place_of(lock, request)
  if place then
    take_out_of_queue(step, place)
  end
  lock.changed = true
end

-- One more holder, whose minimum hold time begins; a SHARED one has none.
local function add_holder(lock, grant)
  table.insert(lock.holders, grant)
  if grant[AT_LEAST] > 0 and grant[MODE] == EXCLUSIVE then
    lock.hold_until = math.max(lock.hold_until, grant[SINCE] + grant[AT_LEAST])
  end
  lock.changed = true
end

-- Ends a request for good. home is the server to be told, if not this one.
local function finish(step, request, token, how, delay_until, detail, home)
  remove(step, request[REQUEST])
  step.lock.delay_until = math.max(step.lock.delay_until, delay_until)
  remember_end(step, request[REQUEST], request[GRANT], token, how, detail)
  if how ~= 'BUSY' then
    write_history(step, how, request, token, detail)
  end
  tell(step, home, { 'Ended', request[REQUEST], request[GRANT], token, how, detail, delay_until })
end

local CLOSES = { EXPIRED = true, ABANDONED = true, FORCE_RELEASED = true }

local function end_grant(step, grant, how, detail)
  local delay_until = 0
  if CLOSES[how] and grant[DELAY] > 0 then
    delay_until = (how == 'EXPIRED' and grant[UNTIL] or step.now) + grant[DELAY]
  end
  finish(step, grant, grant[TOKEN], how, delay_until, detail or '', grant[HOME])
end

local function renew(step, grant)
  grant[UNTIL] = step.now + grant[TTL]
  step.lock.changed = true
  return grant
end

-- A newer stream of the session speaks for what was asked.
local function hear_from(step, request, gen)
  if gen > request[GEN] then
    request[GEN] = gen
    step.lock.changed = true
    return true
  end
end

-- The same for a lease; it is told in the history.
local function resume_by(step, grant, gen)
  if hear_from(step, grant, gen) then
    write_history(step, 'RESUMED', grant, grant[TOKEN], '')
  end
end

local function settle_at(step, request, position)
  if request[position] ~= step.settings.home then
    request[position] = step.settings.home
    step.lock.changed = true
  end
end

local function due_of(waiter)
  return math.min(waiter[WAIT_UNTIL], waiter[ALIVE_UNTIL])
end

local function put_at_the_head(step, offer, what)
  local lock, waiter = step.lock, offer[WAITER]
  local _, i = offer_by(step, REQUEST, waiter[REQUEST])
  table.remove(lock.offers, i)
  put_into_queue(step, waiter, true)
  lock.waiter_due = math.min(lock.waiter_due, due_of(waiter))
  write_history(step, what, waiter, offer[OFFER_TOKEN], '')
end

local function lapse(step, offer)
  local waiter = offer[WAITER]
  if waiter[LAPSE] == LAPSE_NONE then
    waiter[LAPSE] = STEPS_BACK
    put_at_the_head(step, offer, 'LAPSED')
  else
    finish(step, waiter, offer[OFFER_TOKEN], 'DROPPED', 0, '', waiter[WAITER_HOME])
  end
end

local function accepted(step, offer)
  local lock, waiter = step.lock, offer[WAITER]
  local _, i = offer_by(step, REQUEST, waiter[REQUEST])
  table.remove(lock.offers, i)
  local grant = {
    waiter[REQUEST], waiter[GEN], waiter[GRANT], waiter[MODE], waiter[TTL], waiter[DELAY], waiter[OWNER], waiter[PURPOSE],
    offer[OFFER_TOKEN], step.now, step.now + waiter[TTL], step.settings.home, waiter[WAITER_AT_LEAST],
  }
  add_holder(lock, grant)
  write_history(step, 'ACCEPTED', grant, grant[TOKEN], '')
  return grant
end

-- ---- tokens

local function tokens_left(step)
  return step.epoch.last + step.minted <= TOKEN_MAX - TOKENS_PER_GRANT
end

-- The first of as many as a grant has.
local function next_token(step)
  local token = step.epoch.last + step.minted + 1
  step.minted = step.minted + TOKENS_PER_GRANT
  return token
end

local function recovering(step)
  return step.now < step.epoch.recovering
end

-- ---- hand-off

local function admits(lock, mode)
  if mode == EXCLUSIVE then
    return #lock.holders == 0 and #lock.offers == 0
  end
  for _, grant in ipairs(lock.holders) do
    if grant[MODE] == EXCLUSIVE then
      return false
    end
  end
  for _, offer in ipairs(lock.offers) do
    if offer[WAITER][MODE] == EXCLUSIVE then
      return false
    end
  end
  return true
end

local function next_place(lock)
  for i = 1, queue_length(lock) do
    if waiter_at(lock, i)[LAPSE] ~= STEPS_BACK then
      return i
    end
  end
  return 1
end

-- Offers a free lock to whoever is next: one EXCLUSIVE waiter, or the SHARED ones that stand together.
local function hand_off(step)
  local lock = step.lock
  while lock.queue ~= '' and not recovering(step) and step.now >= closed_until(lock) and tokens_left(step) do
    local place = next_place(lock)
    local waiter = waiter_at(lock, place)
    if not admits(lock, waiter[MODE]) or #lock.holders + #lock.offers >= step.settings.holders_max then
      return
    end
    for i = 1, place - 1 do
      local before = waiter_at(lock, i)
      if before[LAPSE] == STEPS_BACK then
        before[LAPSE] = LAST_CHANCE
        keep_waiter(step, before)
      end
    end
    take_out_of_queue(step, place)
    local token = next_token(step)
    local lapses = step.now + step.settings.offer
    table.insert(lock.offers, { waiter, token, lapses })
    write_history(step, 'OFFERED', waiter, token, '')
    tell(step, waiter[WAITER_HOME], {
      'Offered', waiter[REQUEST], token, lapses, waiter[GEN], waiter[GRANT], waiter[MODE], waiter[TTL], waiter[DELAY],
      waiter[OWNER], waiter[PURPOSE], waiter[WAITER_AT_LEAST],
    })
  end
end

local function copy_of(list)
  local copy = {}
  for i, item in ipairs(list) do
    copy[i] = item
  end
  return copy
end

local function pass_waiters_time(step)
  local lock = step.lock
  if lock.queue == '' or lock.waiter_due > step.now then
    return
  end
  local due = NEVER
  for _, waiter in ipairs(all_waiters(lock)) do
    if waiter[WAIT_UNTIL] <= step.now then
      finish(step, waiter, 0, 'TIMED_OUT', 0, '', waiter[WAITER_HOME])
    elseif waiter[ALIVE_UNTIL] <= step.now then
      finish(step, waiter, 0, 'DROPPED', 0, '', waiter[WAITER_HOME])
    else
      due = math.min(due, due_of(waiter))
    end
  end
  lock.waiter_due = due
  lock.changed = true
end

-- Everything that time alone has ended.
local function pass_time(step)
  local lock = step.lock
  for _, grant in ipairs(copy_of(lock.holders)) do
    if grant[UNTIL] <= step.now then
      end_grant(step, grant, 'EXPIRED')
    elseif grant[UNTIL] - step.now > grant[TTL] then
      renew(step, grant) -- The clock was set back: no lease lasts longer than its length.
    end
  end
  local offers = copy_of(lock.offers)
  for i = #offers, 1, -1 do
    -- From the last to the first: each goes to the head, and those that lapse together keep their order.
    if recovering(step) then
      -- It may have lapsed since, and the lock may be another's: it is made again, with a newer token.
      put_at_the_head(step, offers[i], 'WITHDRAWN')
    elseif offers[i][LAPSES] <= step.now then
      lapse(step, offers[i])
    end
  end
  pass_waiters_time(step)
  hand_off(step)
end

-- ---- refusing

local REFUSED_ENDED = 4

local function refuse(reason, message, ended, detail, retry_after)
  return { 'Refused', reason, message, ended or '', detail or '', retry_after or 0 }
end

local function refuse_no_token()
  return refuse('TOKENS_EXHAUSTED', 'no fencing token is left below 2^53; this store can grant no more')
end

local function refuse_recovering(step)
  local left = step.epoch.recovering - step.now
  return refuse('RECOVERING', 'the store lost some of its past and waits ' .. as_text(left)
    .. ' ms for holders it may have forgotten; try again then', '', '', left)
end

local function refuse_other_token(verb, token)
  return refuse('TOKEN_MISMATCH', 'cannot ' .. verb .. ': the grant has another token than ' .. as_text(token)
    .. '; send the token of the grant')
end

local function refuse_holder(step, grant, session, verb)
  local ended, request = end_of_grant(step, grant)
  if ended and string.sub(request, 1, 16) == session then
    local detail = ended[END_DETAIL] ~= '' and ', ' .. ended[END_DETAIL] or ''
    return refuse('LEASE_EXPIRED', 'cannot ' .. verb .. ': the lease ended (' .. ended[END_HOW] .. detail .. ') '
      .. as_text(step.now - ended[END_AT]) .. ' ms ago; acquire again', ended[END_HOW], ended[END_DETAIL])
  end
  return refuse('NOT_HOLDER', 'cannot ' .. verb .. ': the grant does not hold this lock; acquire again')
end

-- The one test of "is this the holder": grant, session and token together. Two values: the lease, or nothing and a refusal.
local function require_holder(step, grant, token, session, verb)
  local held = find(step.lock.holders, GRANT, grant)
  if not held or session_of(held) ~= session then
    return nil, refuse_holder(step, grant, session, verb)
  end
  if held[TOKEN] ~= token then
    return nil, refuse_other_token(verb, token)
  end
  return held
end

-- ---- running

-- Registers a command. decide(step, args) answers; everything it changes is written after it.
local function command(name, flags, end_field, decide)
  redis.register_function({
    function_name = 'palisade_' .. name,
    flags = flags,
    callback = function(keys, args)
      local now = now_millis()
      local epoch, broken = epoch_in_order(keys[1], now, tonumber(args[2]))
      if not epoch then
        return { 'SUSPECT_PRIMARY', now, broken }
      end
      local step = {
        now = now, epoch = epoch, settings = settings_of(args[1]), minted = 0, events = {}, elsewhere = {}, forced = {}, fields = {},
        forget = {},
        keys = { counter = keys[1], lock = keys[2], due = keys[3], names = keys[4], history = keys[5] },
      }
      step.lock = load_lock(keys[2], epoch, end_field and end_field(args))
      pass_time(step)
      local answer = decide(step, args)
      hand_off(step)
      save(step)
      return { answer, now, step.events }
    end,
  })
end

local GRANTS, FREES = {}, { 'allow-oom' }

local function by_request(args)
  return 'r' .. args[3]
end
-- command: acquire
-- args: settings, floor, request, gen, grant, mode, ttl, lock-delay, owner, purpose, wait, age, alive, at-least
-- answers: Granted, Queued, Busy, WaitEnded
-- refuses: MALFORMED_REQUEST, LEASE_EXPIRED, TOKENS_EXHAUSTED, LIMIT_EXCEEDED, QUEUE_FULL, RECOVERING

local function busy(step, mode)
  local lock = step.lock
  local first = lock.delay_until > step.now and lock.delay_until or NEVER
  for _, offer in ipairs(lock.offers) do
    first = math.min(first, offer[LAPSES])
  end
  for _, grant in ipairs(lock.holders) do
    if mode == EXCLUSIVE or grant[MODE] == EXCLUSIVE then
      first = math.min(first, grant[UNTIL])
    end
  end
  if first == NEVER then
    -- Only waiters, and they wait for the holders.
    for _, grant in ipairs(lock.holders) do
      first = math.min(first, grant[UNTIL])
    end
  end
  local remaining = math.max(0, math.max(first == NEVER and 0 or first, lock.hold_until) - step.now)
  return {
    'Busy', lock.holders[1] or {}, remaining, queue_length(lock) + #lock.offers, math.max(0, lock.hold_until - step.now),
  }
end

-- A server of before does not say how long at least.
local function at_least_of(arg)
  return tonumber(arg or 0)
end

local function differs(first, at_least, args)
  return at_least ~= at_least_of(args[14]) or first[MODE] ~= tonumber(args[6]) or first[TTL] ~= tonumber(args[7])
    or first[DELAY] ~= tonumber(args[8])
end

-- The answer to a request that was seen before: the same one, as far as it still stands.
local function known(step, args)
  local lock, request, gen = step.lock, args[3], tonumber(args[4])
  local offer = offer_by(step, REQUEST, request)
  local held = find(lock.holders, REQUEST, request)
  local place = not offer and not held and place_of(lock, request)
  local first = offer and offer[WAITER] or held or (place and waiter_of(lock, request))
  if first and differs(first, held and held[AT_LEAST] or first[WAITER_AT_LEAST], args) then
    return refuse('MALFORMED_REQUEST', 'the request was sent before with another mode, ttl_millis, lock_delay_millis or '
      .. 'lock_at_least_for_millis; send the same again, or use a new request id')
  end
  if offer then
    -- Asking again is a sign of life that came after the offer was made: as good as accepting it.
    accepted(step, offer)
    held = find(lock.holders, REQUEST, request)
  end
  if held then
    resume_by(step, held, gen)
    settle_at(step, held, HOME)
    -- The caller counts its lease from this sending, so the lease must last as long.
    return { 'Granted', renew(step, held) }
  end
  if place then
    local waiter = first
    hear_from(step, waiter, gen)
    settle_at(step, waiter, WAITER_HOME)
    waiter[ALIVE_UNTIL] = math.max(waiter[ALIVE_UNTIL], math.min(NEVER, step.now + tonumber(args[13])))
    keep_waiter(step, waiter)
    return { 'Queued', place }
  end
  local ended = end_of_request(step, request)
  if not ended then
    return nil
  end
  local how = ended[END_HOW]
  if how == 'LEFT' or how == 'TIMED_OUT' or how == 'DROPPED' then
    return { 'WaitEnded', how }
  end
  if how == 'BUSY' then
    return busy(step, tonumber(args[6]))
  end
  return refuse('LEASE_EXPIRED', 'the request was granted and has ended (' .. how .. '); acquire again with a new request id')
end

command('acquire', GRANTS, by_request, function(step, args)
  local answer = known(step, args)
  if answer then
    return answer
  end
  local lock, settings = step.lock, step.settings
  local mode, wait, age = tonumber(args[6]), tonumber(args[11]), tonumber(args[12])
  if age > settings.age_max or (age > 0 and step.now - age <= lock.forgotten) then
    return refuse('LEASE_EXPIRED', 'the request was first sent ' .. as_text(age)
      .. ' ms ago and its end is no longer known; acquire again with a new request id')
  end
  if not tokens_left(step) then
    return refuse_no_token()
  end
  local asked = { args[3], tonumber(args[4]), args[5], mode, tonumber(args[7]), tonumber(args[8]), args[9], args[10] }
  local free = lock.queue == '' and #lock.offers == 0 and closed_until(lock) <= step.now and admits(lock, mode)
  local full = free and #lock.holders >= settings.holders_max
  if full and wait == 0 then
    return refuse('LIMIT_EXCEEDED', 'holdersPerLockMax is ' .. settings.holders_max .. '; try later, or wait')
  end
  if free and not full and not recovering(step) then
    local grant = asked
    grant[TOKEN], grant[SINCE], grant[UNTIL], grant[HOME] = next_token(step), step.now, step.now + grant[TTL], settings.home
    grant[AT_LEAST] = at_least_of(args[14])
    add_holder(lock, grant)
    write_history(step, 'GRANTED', grant, grant[TOKEN], grant[PURPOSE])
    return { 'Granted', grant }
  end
  -- Of who waits too nobody knows yet for whom.
  if wait == 0 and recovering(step) and closed_until(lock) <= step.now and admits(lock, mode) then
    return refuse_recovering(step)
  end
  if wait == 0 then
    answer = busy(step, mode)
    finish(step, asked, 0, 'BUSY', 0, '', settings.home)
    return answer
  end
  if queue_length(lock) >= settings.waiters_max then
    return refuse('QUEUE_FULL', 'waitersPerLockMax is ' .. settings.waiters_max .. '; try later')
  end
  local waiter = asked
  waiter[QUEUED], waiter[WAIT_UNTIL], waiter[ALIVE_UNTIL], waiter[LAPSE], waiter[WAITER_HOME], waiter[WAITER_AT_LEAST] =
    step.now, step.now + wait, math.min(NEVER, step.now + tonumber(args[13])), LAPSE_NONE, settings.home, at_least_of(args[14])
  put_into_queue(step, waiter, false)
  lock.waiter_due = math.min(lock.waiter_due, due_of(waiter))
  write_history(step, 'QUEUED', waiter, 0, waiter[PURPOSE])
  return { 'Queued', queue_length(lock) }
end)
-- command: accept
-- args: settings, floor, grant, token, session, gen
-- answers: Granted, Queued
-- refuses: TOKEN_MISMATCH, NOT_HOLDER, LEASE_EXPIRED

command('accept', FREES, nil, function(step, args)
  local grant, token, session, gen = args[3], tonumber(args[4]), args[5], tonumber(args[6])
  local offer = offer_by(step, GRANT, grant)
  if offer and session_of(offer[WAITER]) == session then
    if offer[OFFER_TOKEN] ~= token then
      return refuse_other_token('accept', token)
    end
    local held = accepted(step, offer)
    resume_by(step, held, gen)
    return { 'Granted', held }
  end
  local held = find(step.lock.holders, GRANT, grant)
  if held and session_of(held) == session then
    if held[TOKEN] ~= token then
      return refuse_other_token('accept', token)
    end
    resume_by(step, held, gen)
    settle_at(step, held, HOME)
    return { 'Granted', renew(step, held) }
  end
  local waiter, place = waiter_by_grant(step, grant)
  if waiter and session_of(waiter) == session then
    return { 'Queued', place }
  end
  return refuse_holder(step, grant, session, 'accept')
end)
-- command: renew
-- args: settings, floor, grant, token, session
-- answers: Renewed
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

command('renew', FREES, nil, function(step, args)
  local held, refused = require_holder(step, args[3], tonumber(args[4]), args[5], 'renew')
  if not held then
    return refused
  end
  settle_at(step, held, HOME)
  return { 'Renewed', renew(step, held) }
end)
-- function: renewals
-- keys: of each lease, counter, index of what is due, lock
-- args: settings, session, then of each lease floor, grant, token
-- answers: of each lease 1, or 0 when nothing was done
--
-- Renews the leases of one session to whose locks nothing else happens by now: most of them, most of the time. To the others
-- nothing is done; each is to be renewed by itself, which does and tells everything.

-- Whether it was renewed. Whatever a step of the machine would do besides is found here.
local function renewed_alone(keys, epoch, now, home, session, grant, token)
  local head = redis.call('HGET', keys.lock, 'h')
  if not head or string.byte(head) ~= FORMAT then
    return false
  end
  local _, started, delay_until, forgotten, due, waiter_due, first_end, first_end_at, next_end, first_try, first_try_at, next_try, last_end_at,
    next_entry, hold_until, holders, offers, at = struct.unpack(HEAD, head)
  if started ~= epoch.started or holders ~= 1 or offers ~= 0 or waiter_due <= now then
    return false
  end
  local held = unpack_held(head, at)
  if held[GRANT] ~= grant or held[TOKEN] ~= token or session_of(held) ~= session then
    return false
  end
  -- A SHARED one may have to let others in beside it.
  if held[MODE] ~= EXCLUSIVE or held[HOME] ~= home or held[UNTIL] <= now then
    return false
  end
  held[UNTIL] = now + held[TTL]
  local next_due = math.min(held[UNTIL], waiter_due, delay_until > now and delay_until or NEVER)
  -- The index is moved before anybody looks there, and not each time. It is never later than the head.
  local sooner = next_due < due
  local later = not sooner and due - now < held[TTL] / 2
  if sooner then
    redis.call('ZADD', keys.due, as_text(next_due), name_of(keys))
  end
  if sooner or later then
    due = next_due
  end
  redis.call('HSET', keys.lock, 'h', struct.pack(HEAD, FORMAT, started, delay_until, forgotten, due, waiter_due, first_end, first_end_at,
    next_end, first_try, first_try_at, next_try, last_end_at, next_entry, hold_until, 1, 0) .. pack_held(held))
  if later then
    redis.pcall('ZADD', keys.due, as_text(next_due), name_of(keys))
  end
  return true
end

redis.register_function({
  function_name = 'palisade_renewals',
  flags = FREES,
  callback = function(keys, args)
    local now, home, session = now_millis(), settings_of(args[1]).home, args[2]
    local counter, epoch
    local done = {}
    for i = 1, #keys / 3 do
      if keys[3 * i - 2] ~= counter then
        counter = keys[3 * i - 2]
        epoch = epoch_in_order(counter, now, tonumber(args[3 * i]))
      end
      local of_lock = { due = keys[3 * i - 1], lock = keys[3 * i] }
      local renewed = epoch
        and renewed_alone(of_lock, epoch, now, home, session, args[3 * i + 1], tonumber(args[3 * i + 2]))
      done[i] = renewed and '1' or '0'
    end
    return { table.concat(done), now }
  end,
})
-- command: release
-- args: settings, floor, grant, token, session
-- answers: Released
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

command('release', FREES, nil, function(step, args)
  local grant, token, session = args[3], tonumber(args[4]), args[5]
  local offer = offer_by(step, GRANT, grant)
  if offer and offer[OFFER_TOKEN] == token and session_of(offer[WAITER]) == session then
    finish(step, offer[WAITER], token, 'RELEASED', 0, '', step.settings.home)
    return { 'Released' }
  end
  local held, refused = require_holder(step, grant, token, session, 'release')
  if not held then
    return refused[REFUSED_ENDED] == 'RELEASED' and { 'Released' } or refused -- By itself, before: its answer was lost.
  end
  end_grant(step, held, 'RELEASED')
  return { 'Released' }
end)
-- command: leave
-- args: settings, floor, request, gen, detail
-- answers: Left
-- refuses:

-- Above every generation of a stream. A server that asks for a broken stream names that stream's.
local BY_CLIENT = NEVER

command('leave', FREES, by_request, function(step, args)
  local request, gen = args[3], tonumber(args[4])
  local held = find(step.lock.holders, REQUEST, request)
  if held then
    if held[GEN] <= gen then
      end_grant(step, held, gen == BY_CLIENT and 'RELEASED' or 'ABANDONED', gen ~= BY_CLIENT and args[5] or '')
    end
    return { 'Left', 0 }
  end
  local offer, place = offer_by(step, REQUEST, request), place_of(step.lock, request)
  local waiting = offer and offer[WAITER] or place and waiter_of(step.lock, request)
  if not waiting then
    -- The acquire may still be on its way: when it comes, it must not be granted.
    if not end_of_request(step, request) then
      remember_end(step, request, NO_GRANT, 0, 'LEFT', '')
      tell(step, step.settings.home, { 'Ended', request, NO_GRANT, 0, 'LEFT', '', 0 })
    end
    return { 'Left', 0 }
  end
  if waiting[GEN] > gen then
    return { 'Left', 0 }
  end
  finish(step, waiting, offer and offer[OFFER_TOKEN] or 0, 'LEFT', 0, '', waiting[WAITER_HOME])
  return { 'Left', 1 }
end)
-- command: expire
-- args: settings, floor
-- answers: Expired
-- refuses:

-- Keeps the last of a lock's history among those of its domain, and drops the lock. The newest entry with a token is among
-- them: a guard reads there which other guard had its name.
local function forget_lock(step)
  local keys, entries, gaps, with_token, oldest = step.keys, {}, {}, false, nil
  for i = step.lock.next_entry - 1, math.max(0, step.lock.next_entry - HISTORY_MAX), -1 do
    if #entries >= HISTORY_KEPT and with_token then
      break
    end
    local packed = redis.call('HGET', keys.lock, 'e' .. (i % HISTORY_MAX))
    local entry = packed and unpack_entry(packed)
    if entry and (#entries < HISTORY_KEPT or entry[3] > 0) then
      if oldest and oldest > i + 1 then
        gaps[1] = 2
      end
      table.insert(entries, 1, entry)
      oldest = i
      with_token = with_token or entry[3] > 0
    end
  end
  if oldest and oldest > 0 then
    gaps[#gaps + 1] = 1
  end
  redis.call('UNLINK', keys.lock)
  redis.call('ZREM', keys.due, name_of(keys))
  redis.call('ZREM', keys.names, name_of(keys))
  if #entries > 0 then
    redis.pcall('XADD', keys.history, 'MAXLEN', '~', HISTORIES_MAX, '*', 'n', name_of(keys), 'e', cmsgpack.pack(entries),
      'g', cmsgpack.pack(gaps))
  end
end

-- Also where a lock is forgotten: whoever looks at what is due sends this.
command('expire', FREES, nil, function(step)
  local lock = step.lock
  if not lock.changed and is_idle(lock) and forgettable_at(lock) <= step.now then
    forget_lock(step)
  else
    lock.looked_at = true -- It is due again at another time.
    lock.changed = lock.changed or not lock.is_new
  end
  return { 'Expired' }
end)
-- command: abandon
-- args: settings, floor, grant, gen, detail
-- answers: Abandoned
-- refuses:

command('abandon', FREES, nil, function(step, args)
  local held = find(step.lock.holders, GRANT, args[3])
  if not held or held[GEN] > tonumber(args[4]) then
    return { 'Abandoned', 0 }
  end
  end_grant(step, held, 'ABANDONED', args[5]) -- A server of before gives no detail.
  return { 'Abandoned', 1 }
end)
-- command: resume
-- args: settings, floor, grant, token, session, gen
-- answers: Resumed
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

local function resume(step, grant, token, session, gen)
  local held, refused = require_holder(step, grant, token, session, 'resume')
  if not held then
    return refused
  end
  if held[GEN] > gen then
    return refuse('NOT_HOLDER', 'cannot resume: a newer stream of this session has taken the grant over')
  end
  resume_by(step, held, gen)
  settle_at(step, held, HOME)
  return { 'Resumed', renew(step, held) }
end

command('resume', FREES, nil, function(step, args)
  return resume(step, args[3], tonumber(args[4]), args[5], tonumber(args[6]))
end)
-- command: reclaim
-- args: settings, floor, request, gen, grant, mode, ttl, lock-delay, owner, purpose, token, at-least
-- answers: Resumed
-- refuses: NOT_HOLDER, TOKEN_MISMATCH, LEASE_EXPIRED

local function conflicts(mode, held)
  return mode == EXCLUSIVE or held[MODE] == EXCLUSIVE
end

-- Neither held nor ended, as far as this Redis knows; it may believe that the request still waits.
local function is_forgotten(step, request, gen, grant)
  if find(step.lock.holders, GRANT, grant) or find(step.lock.holders, REQUEST, request) then
    return false
  end
  if end_of_grant(step, grant) or end_of_request(step, request) then
    return false
  end
  -- Another's, with that grant id; or a newer stream of its session has asked since.
  local _, place = waiter_by_grant(step, grant)
  local mine = place_of(step.lock, request)
  return (not place or place == mine) and (not mine or waiter_of(step.lock, request)[GEN] <= gen)
end

-- An EXCLUSIVE grant has ended when any later one is made. Of an end nobody knows whether it was of a SHARED one.
local function is_outlived(step, mode, token)
  local lock = step.lock
  for _, held in ipairs(lock.holders) do
    if conflicts(mode, held) and held[TOKEN] >= token then
      return true
    end
  end
  local ends = lock.kept[ENDS]
  for number = ends.first, mode == EXCLUSIVE and ends.next - 1 or 0 do
    local _, request = end_numbered(step, ends, number)
    local ended = request and end_of_request(step, request)
    if ended and ended[END_TOKEN] > token then
      return true
    end
  end
  return false
end

-- Also when memory is full: it brings back what was there.
command('reclaim', FREES, by_request, function(step, args)
  local request, gen, grant, mode, token = args[3], tonumber(args[4]), args[5], tonumber(args[6]), tonumber(args[11])
  if recovering(step) and is_forgotten(step, request, gen, grant) then
    if is_outlived(step, mode, token) then
      return refuse('NOT_HOLDER', 'cannot reclaim: a newer grant than token ' .. as_text(token) .. ' is known; acquire again')
    end
    for _, held in ipairs(copy_of(step.lock.holders)) do
      if conflicts(mode, held) then
        -- No lock-delay: that a newer grant was made shows that it was over.
        finish(step, held, held[TOKEN], 'EXPIRED', 0, '', held[HOME])
      end
    end
    remove(step, request)
    local held = {
      request, gen, grant, mode, tonumber(args[7]), tonumber(args[8]), args[9], args[10], token, step.now,
      step.now + tonumber(args[7]), step.settings.home, at_least_of(args[12]),
    }
    add_holder(step.lock, held)
    write_history(step, 'RECLAIMED', held, token, held[PURPOSE])
  end
  return resume(step, grant, token, string.sub(request, 1, 16), gen)
end)
-- command: poll
-- args: settings, floor, request, alive
-- answers: Promised, Granted, Queued, WaitEnded
-- refuses: NOT_HOLDER

command('poll', FREES, by_request, function(step, args)
  local lock, request = step.lock, args[3]
  local offer = offer_by(step, REQUEST, request)
  if offer then
    return { 'Promised', offer }
  end
  local held = find(lock.holders, REQUEST, request)
  if held then
    return { 'Granted', held }
  end
  local place = place_of(lock, request)
  if place then
    local waiter = waiter_of(lock, request)
    waiter[ALIVE_UNTIL] = math.max(waiter[ALIVE_UNTIL], math.min(NEVER, step.now + tonumber(args[4])))
    settle_at(step, waiter, WAITER_HOME)
    keep_waiter(step, waiter)
    return { 'Queued', place }
  end
  local ended = end_of_request(step, request)
  if ended then
    return { 'WaitEnded', ended[END_HOW] }
  end
  return refuse('NOT_HOLDER', 'cannot poll: the request is not known; acquire again')
end)
-- command: describe
-- args: settings, floor
-- answers: Described
-- refuses:

command('describe', FREES, nil, function(step)
  local lock = step.lock
  return { 'Described', lock.holders, lock.offers, all_waiters(lock), lock.delay_until, lock.forgotten, lock.hold_until }
end)
-- command: requestrelease
-- args: settings, floor, by, why
-- answers: ReleaseRequested
-- refuses:

command('requestrelease', FREES, nil, function(step, args)
  for _, held in ipairs(step.lock.holders) do
    tell(step, held[HOME], { 'ReleaseRequested', held[REQUEST], held[GRANT], args[3], args[4] })
    write_history(step, 'RELEASE_REQUESTED', held, held[TOKEN], 'by ' .. args[3] .. ': ' .. args[4])
    step.lock.changed = true
  end
  return { 'ReleaseRequested', #step.lock.holders }
end)
-- command: forcerelease
-- args: settings, floor, token, by, why
-- answers: ForceReleased
-- refuses:

-- Of a minimum hold time whose lease is over.
local NO_REQUEST = { [GRANT] = NO_GRANT, [OWNER] = '' }

command('forcerelease', FREES, nil, function(step, args)
  -- Of a lease, or of any of its turns; 0: all.
  local lock, token, released = step.lock, tonumber(args[3]), 0
  local detail = 'by ' .. args[4] .. ': ' .. args[5]
  for _, held in ipairs(copy_of(lock.holders)) do
    if token == 0 or (token >= held[TOKEN] and token < held[TOKEN] + TOKENS_PER_GRANT) then
      end_grant(step, held, 'FORCE_RELEASED', detail)
      released = released + 1
    end
  end
  if lock.hold_until > step.now and (token == 0 or released > 0) then
    lock.hold_until, lock.changed = 0, true
    if released == 0 then
      write_history(step, 'FORCE_RELEASED', NO_REQUEST, 0, detail)
      released = 1
    end
  end
  return { 'ForceReleased', released }
end)
-- command: checksequencer
-- args: settings, floor, grant, token
-- answers: Checked
-- refuses: RECOVERING

command('checksequencer', FREES, nil, function(step, args)
  local held = find(step.lock.holders, GRANT, args[3])
  local offer = not held and offer_by(step, GRANT, args[3])
  local alive = held and held[TOKEN] or offer and offer[OFFER_TOKEN] -- Its client may use it before it accepts.
  if not alive and recovering(step) and not end_of_grant(step, args[3]) then
    return refuse_recovering(step) -- Its holder may come back yet.
  end
  return { 'Checked', alive == tonumber(args[4]) and 1 or 0 }
end)
-- command: barrier
-- args: settings, floor
-- answers: Raised
-- refuses: TOKENS_EXHAUSTED

command('barrier', GRANTS, nil, function(step)
  if not tokens_left(step) then
    return refuse_no_token()
  end
  return { 'Raised', next_token(step) }
end)
-- What is asked of a domain, not of a lock.

-- function: epoch
-- args: floor, confirmed, grace, clock-max, epoch-id, init
-- answers: epoch, SUSPECT_PRIMARY, TOKENS_EXHAUSTED
--
-- Tells the epoch of a domain, and begins a new one where it is not in order: the only function that does. The caller confirms
-- that it has looked for the primary just now and found this one; without that, a deposed primary would begin an epoch
-- beside its successor's. Keys of domain 0: also the head of a log.

local function epoch_record(key)
  local flat = redis.pcall('HGETALL', key)
  local record = {}
  for i = 1, flat.err and 0 or #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
  return record, flat.err ~= nil
end

local function told(epoch, now)
  return { 'epoch', now, { epoch.base, epoch.last, epoch.began, epoch.recovering, epoch.why } }
end

-- The locals are gone and everything else is as this very process left it: the library was loaded again, nothing was lost. Unless
-- it reads records of another format: it has lost them.
local function only_reloaded(known, record, id, stored, floor)
  return not known and stored and stored >= floor and record.id == id and record.started and record.recovering
    and tonumber(record.format) == FORMAT
end

-- Also when memory is full: what would free some needs an epoch in order.
redis.register_function({
  function_name = 'palisade_epoch',
  flags = { 'allow-oom' },
  callback = function(keys, args)
    local counter, key = keys[1], keys[2]
    local now, floor, grace = now_millis(), tonumber(args[1]), tonumber(args[3])
    local epoch, broken = epoch_in_order(counter, now, floor)
    if epoch then
      return told(epoch, now)
    end
    local moved = redis.pcall('HMGET', key, 'moved')
    if moved[1] or keys[3] and redis.pcall('HMGET', keys[3], 'format')[1] then
      return { 'SUSPECT_PRIMARY', now, 'the locks of this prefix moved into a log: start this server with --machine log', 'moved' }
    end
    if args[2] ~= '1' then
      return { 'SUSPECT_PRIMARY', now, broken }
    end
    local known, text, id = issued[counter], stored_counter(counter), current_replication_id(now)
    local stored = proper_token(text)
    local record, unreadable = epoch_record(key)
    -- A clock that is far ahead must not lift the tokens with it.
    local clock = now <= tonumber(args[4]) and now or ERA_MILLIS
    local base = epoch_base(clock, math.max(stored or 0, known and known.last or 0, floor), tonumber(args[5]))
    if base >= TOKEN_MAX then
      return { 'TOKENS_EXHAUSTED', now, broken }
    end
    local started, recovering, why = now, now + grace, broken
    if only_reloaded(known, record, id, stored, floor) then
      started, recovering, why = tonumber(record.started), math.min(tonumber(record.recovering), now + grace),
        'the function library was loaded again'
    elseif not text and not record.id then
      why = 'the domain was not known here'
      if args[6] == '1' then
        recovering = now
      end
    elseif not known then
      why = 'this Redis was started or promoted'
    end
    -- The counter first: should the record not follow, the next call finds the old record and begins once more.
    redis.call('SET', counter, as_text(base))
    if unreadable then
      redis.call('UNLINK', key)
    end
    redis.call('HSET', key, 'id', id, 'base', as_text(base), 'started', as_text(started), 'recovering', as_text(recovering),
      'began', as_text(now), 'why', why, 'format', FORMAT)
    issued[counter] = {
      text = as_text(base), last = base, id = id, base = base, began = now, started = started, recovering = recovering,
      why = why,
    }
    return told(issued[counter], now)
  end,
})

-- function: move
-- args: floor
-- answers: moved, missing (rights)
--
-- Ends the domain: a log takes its place, and no epoch begins in it again. Tells the largest token of it, or floor if that is larger. With
-- the head and the count of tokens of a log as further keys, the log will count from there, unless there is one already.

redis.register_function('palisade_move', function(keys, args)
  local counter, key, head, tokens = keys[1], keys[2], keys[3], keys[4]
  local missing = missing_rights({
    { 'GET', key }, { 'SET', key, '1' }, { 'EXISTS', key }, { 'UNLINK', key }, { 'HGETALL', key }, { 'HMGET', key, 'h' },
    { 'HSET', key, 'h', '1' }, { 'ZRANGEBYLEX', key, '-', '+' }, { 'ZREM', key, 'a' },
  })
  if #missing > 0 then
    return { 'missing', now_millis(), missing }
  end
  local record, unreadable = epoch_record(key)
  local last = math.max(tonumber(args[1]), proper_token(stored_counter(counter)) or 0, issued[counter] and issued[counter].last or 0,
    proper_token(record.moved) or 0)
  if head and redis.call('EXISTS', head) == 0 then
    last = math.max(last, proper_token(stored_counter(tokens)) or 0)
    redis.call('SET', tokens, as_text(last))
  end
  if unreadable then
    redis.call('UNLINK', key)
  end
  redis.call('HSET', key, 'moved', as_text(last))
  redis.call('UNLINK', counter)
  issued[counter] = nil
  return { 'moved', now_millis(), last }
end)

-- function: clear
-- args: begin of the keys of locks, most
-- answers: cleared
--
-- Deletes so many locks of a domain that was moved, and tells how many; after the last one, everything else but its epoch.

local function clear(keys, args)
  local names_key, due, history = keys[1], keys[2], keys[3]
  local names = redis.call('ZRANGEBYLEX', names_key, '-', '+', 'LIMIT', 0, args[2])
  for _, name in ipairs(names) do
    redis.call('UNLINK', args[1] .. name)
    redis.call('ZREM', names_key, name)
  end
  if #names == 0 then
    redis.call('UNLINK', due, history)
  end
  return { 'cleared', now_millis(), #names }
end

redis.register_function({ function_name = 'palisade_clear', flags = { 'allow-oom' }, callback = clear })

-- function: due
-- args: most
-- answers: due
--
-- Locks that somebody has to look at by now.

redis.register_function({
  function_name = 'palisade_due',
  flags = { 'no-writes' },
  callback = function(keys, args)
    local now = now_millis()
    return { 'due', now, redis.call('ZRANGEBYSCORE', keys[1], '-inf', as_text(now), 'LIMIT', 0, args[1]) }
  end,
})

-- function: names
-- args: from, most
-- answers: names
--
-- Known locks in the order of their names. from is a bound as of ZRANGEBYLEX.

redis.register_function({
  function_name = 'palisade_names',
  flags = { 'no-writes' },
  callback = function(keys, args)
    return { 'names', now_millis(), redis.call('ZRANGEBYLEX', keys[1], args[1], '+', 'LIMIT', 0, args[2]) }
  end,
})

-- function: history
-- args: name
-- answers: history
--
-- The past of a lock, not in order: what is in its own record, and what its domain remembers of it. Then the places of the
-- entries before which some may be missing.

redis.register_function({
  function_name = 'palisade_history',
  flags = { 'no-writes' },
  callback = function(keys, args)
    local entries, gaps = {}, {}
    for _, kept in ipairs(redis.call('XRANGE', keys[2], '-', '+')) do
      if kept[2][2] == args[1] then
        -- A library of before has not written where the gaps are.
        for _, place in ipairs(kept[2][6] and cmsgpack.unpack(kept[2][6]) or { 1, 2 }) do
          gaps[#gaps + 1] = #entries + place
        end
        for _, entry in ipairs(cmsgpack.unpack(kept[2][4])) do
          entries[#entries + 1] = entry
        end
      end
    end
    local own = {}
    for i = 0, HISTORY_MAX - 1 do
      own[i + 1] = 'e' .. i
    end
    local numbered = {}
    for _, packed in ipairs(redis.call('HMGET', keys[1], unpack(own))) do
      if packed then
        local entry, number = unpack_entry(packed)
        numbered[#numbered + 1] = { number, entry }
      end
    end
    table.sort(numbered, function(a, b) return a[1] < b[1] end)
    if #numbered > 0 and numbered[1][1] > 0 then
      gaps[#gaps + 1] = #entries + 1
    end
    for _, each in ipairs(numbered) do
      entries[#entries + 1] = each[2]
    end
    while #gaps > 0 and gaps[#gaps] > #entries do
      table.remove(gaps)
    end
    return { 'history', now_millis(), entries, gaps }
  end,
})

-- function: rights
-- args: prefix
-- answers: rights
--
-- What this user may not do and the functions will, and whether other lock servers keep a log here. Asked once, at the start: an ACL is
-- better found wrong then than by an acquire.

redis.register_function({
  function_name = 'palisade_rights',
  flags = { 'no-writes' },
  callback = function(keys, args)
    local key = keys[1]
    local needed = {
      { 'TIME' }, { 'INFO', 'replication' }, { 'GET', key }, { 'SET', key, '1' }, { 'INCRBY', key, '1' },
      { 'HGET', key, 'h' }, { 'HMGET', key, 'h' }, { 'HGETALL', key }, { 'HSET', key, 'h', '1' }, { 'HDEL', key, 'h' },
      { 'ZADD', key, '1', 'a' }, { 'ZREM', key, 'a' }, { 'ZRANGEBYSCORE', key, '0', '1' }, { 'ZRANGEBYLEX', key, '-', '+' },
      { 'XADD', key, '*', 'a', 'b' }, { 'XRANGE', key, '-', '+' }, { 'UNLINK', key },
      { 'PUBLISH', args[1] .. ':server:a', 'a' },
    }
    local missing = missing_rights(needed)
    local is_log = #missing == 0 and redis.pcall('HGET', args[1] .. ':{0}:log:head', 'format')
    return { 'rights', now_millis(), missing, is_log and 1 or 0 }
  end,
})

-- function: version
-- args:
-- answers: the number of this library

redis.register_function({
  function_name = 'palisade_version',
  flags = { 'no-writes', 'allow-stale' },
  callback = function()
    return VERSION
  end,
})
