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
