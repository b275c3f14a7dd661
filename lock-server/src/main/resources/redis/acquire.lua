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
