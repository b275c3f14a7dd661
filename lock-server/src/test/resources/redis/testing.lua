-- Behind the library: sets and shows what no command does.

-- args: now, error at which call from here on (0: none)
redis.register_function('palisade_test_now', function(keys, args)
  virtual_millis, calls, fails_at = tonumber(args[1]), 0, tonumber(args[2])
  return 'OK'
end)

-- Calls of Redis since the last palisade_test_now.
redis.register_function('palisade_test_calls', function()
  return calls
end)

-- args: last token, start of the epoch, until when it recovers
redis.register_function('palisade_test_epoch', function(keys, args)
  redis.call('SET', keys[1], args[1])
  issued[keys[1]] = {
    text = args[1], last = tonumber(args[1]), id = current_replication_id(virtual_millis), base = 0, began = 0, started = tonumber(args[2]),
    recovering = tonumber(args[3]), why = 'test',
  }
  return 'OK'
end)

-- Puts a lock as if its past had led there. args: now, start of the epoch, ends of the lock-delay and the minimum hold time, forgotten, then counts and fields of holders, offers,
-- waiters and ends
redis.register_function('palisade_test_put', function(keys, args)
  local at = 0
  local function take(count)
    local taken = {}
    for i = 1, count do
      taken[i] = args[at + i]
    end
    at = at + count
    return taken
  end
  local function numbers(list, ...)
    for _, i in ipairs({ ... }) do
      list[i] = tonumber(list[i])
    end
    return list
  end
  local function waiter()
    local taken = numbers(take(13), GEN, MODE, TTL, DELAY, QUEUED, WAIT_UNTIL, ALIVE_UNTIL, LAPSE, 13)
    taken[WAITER_AT_LEAST], taken[WAITER_HOME] = taken[13], 'test'
    return taken
  end
  local now, started, delay_until, hold_until, forgotten = unpack(numbers(take(5), 1, 2, 3, 4, 5))
  local next_entry = load_lock(keys[2], issued[keys[1]]).next_entry
  local step = {
    now = now, epoch = issued[keys[1]], minted = 0, events = {}, elsewhere = {}, forced = {}, fields = {}, forget = {},
    settings = { home = 'test' },
    keys = { counter = keys[1], lock = keys[2], due = keys[3], names = keys[4], history = keys[5] },
    lock = {
      key = keys[2], started = started, ends = {}, holders = {}, offers = {}, queue = '', waiters = {},
      delay_until = delay_until, hold_until = hold_until, forgotten = forgotten, waiter_due = 0, kept = { new_ring('n'), new_ring('t') }, last_end_at = 0, next_entry = next_entry,
      is_new = true, changed = true, queue_changed = true,
    },
  }
  for _, field in ipairs(redis.call('HKEYS', keys[2])) do
    if string.sub(field, 1, 1) ~= 'e' then
      redis.call('HDEL', keys[2], field)
    end
  end
  for i = 1, tonumber(take(1)[1]) do
    local grant = numbers(take(12), GEN, MODE, TTL, DELAY, TOKEN, SINCE, UNTIL, 12)
    grant[AT_LEAST], grant[HOME] = grant[12], 'test'
    step.lock.holders[i] = grant
  end
  for i = 1, tonumber(take(1)[1]) do
    local token, lapses = unpack(numbers(take(2), 1, 2))
    step.lock.offers[i] = { waiter(), token, lapses }
  end
  for i = 1, tonumber(take(1)[1]) do
    put_into_queue(step, waiter(), false)
  end
  -- Of the two kinds, one after the other: what is old in the one is none of the other's business here.
  local forget_old = forget_old_ends
  forget_old_ends = function() end
  for i = 1, tonumber(take(1)[1]) do
    local ended = numbers(take(6), 3, 5)
    local ended_at = ended[5]
    step.now = ended_at
    remember_end(step, ended[1], ended[2], ended[3], ended[4], ended[6])
  end
  forget_old_ends = forget_old
  step.now = now
  step.lock.forgotten = forgotten
  save(step)
  return 'OK'
end)

-- Everything that is known of a lock. Answers what describe does, and the ends, oldest first.
redis.register_function('palisade_test_dump', function(keys)
  local lock = load_lock(keys[2], issued[keys[1]])
  local step = { lock = lock, keys = { lock = keys[2] } }
  local ends = {}
  for _, ring in ipairs(lock.kept) do
    for number = ring.first, ring.next - 1 do
      local _, request = end_numbered(step, ring, number)
      local ended = end_of_request(step, request)
      ends[#ends + 1] = { request, ended[END_GRANT], ended[END_TOKEN], ended[END_HOW], ended[END_AT], ended[END_DETAIL] }
    end
  end
  local newest = {}
  for i = math.max(0, lock.next_entry - HISTORY_MAX), lock.next_entry - 1 do
    newest[#newest + 1] = unpack_entry(redis.call('HGET', keys[2], 'e' .. (i % HISTORY_MAX)))
  end
  return {
    lock.holders, lock.offers, all_waiters(lock), ends, lock.delay_until, lock.forgotten, redis.call('GET', keys[1]), lock.is_new and 1 or 0,
    newest, redis.call('ZSCORE', keys[3], name_of(step.keys)), lock.hold_until,
  }
end)
