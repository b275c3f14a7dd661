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
