-- function: claim
-- args: writer, server, address, returning, init (2: records are missing), recovery, claim, settle, term, resumes, then positions as
--   writer and seq: confirmed, unconfirmed, earlier ones; last the id of the key that the server signs with (before version 17: none),
--   then after a space its settings (before version 20: none)
-- answers: claimed, held, settling, unusable
--
-- Asks for the log. Also when memory is full: what frees some needs an owner.

local NO_WRITER = '00000000000000000000000000000000'

local function same_position(one, other)
  return one.writer == other.writer and one.seq == other.seq
end

local function is_none(position)
  return position.writer == NO_WRITER and position.seq == 0
end

local function position_of(head)
  if not head then
    return { writer = NO_WRITER, seq = 0 }
  end
  return head.seq == 0 and { writer = head.base, seq = head.base_seq } or { writer = head.writer, seq = head.seq }
end

local function read_past(args, from)
  local past = { term = tonumber(args[from]), resumes = args[from + 1] == '1', all = {} }
  for i = from + 2, #args - 1, 2 do
    past.all[#past.all + 1] = { writer = args[i], seq = tonumber(args[i + 1]) }
  end
  past.confirmed, past.unconfirmed = past.all[1], past.all[2]
  return past
end

-- Whether every log that is at other has been at one.
local function is_up_to(one, other)
  return one.writer == other.writer and one.seq <= other.seq
end

-- Whether a log at found holds unacknowledged batches: those of one writer up to past.unconfirmed that nothing else reaches.
local function is_unconfirmed(past, found)
  if is_none(found) or not is_up_to(found, past.unconfirmed) then
    return false
  end
  for i, position in ipairs(past.all) do
    if i ~= 2 and is_up_to(found, position) then
      return false
    end
  end
  return true
end

-- Whether a log at found holds all of memory, but for unacknowledged batches at most.
local function is_current(past, found)
  return past.term > 0 and (same_position(found, past.confirmed) or is_unconfirmed(past, found))
end

-- Whether the history of a log at found is part of memory.
local function covers(past, found)
  if past.term == 0 then
    return false
  end
  for _, position in ipairs(past.all) do
    if is_up_to(found, position) then
      return true
    end
  end
  return is_none(found)
end

-- Whether a log at found has lost batches that memory knows to have been stored.
local function misses(past, found)
  return covers(past, found) and not is_current(past, found)
end

-- Whether this process executed the last claim or append of the stored head.
local function executed_last(last, writer, seq, id)
  return last and last.writer == writer and last.seq == seq and last.instance == id
end

-- Whether the log lost nothing since its last append, as far as this process and the candidate can tell.
local function is_whole(head, last, id, past, init, wait)
  if not head then
    return init and not last and past.term == 0 and not (wait and wait.term > 0)
  end
  local only_reloaded = not last and head.instance == id
  return (executed_last(last, head.writer, head.seq, id) or only_reloaded)
    and (head.seq > 0 or head.whole == '1')
    and head.rewriting == 0
    and not misses(past, position_of(head))
end

-- Whether the log's history is part of the candidate's memory, so that memory may be kept.
local function is_mine(head, last, past, server, whole)
  local found = position_of(head)
  return covers(past, found)
    and (whole or past.resumes)
    and (not last or same_position(last.at, found) or covers(past, last.at))
    and (not head or head.rewriting == 0 or head.server == server)
end

-- How long the candidate waits for the last owner of a log that is not whole, or for a better one; nothing if not. Then the wait,
-- and whether the candidate is the best of those that asked.
local function settle(before, found, past, now, millis)
  local wait = { at = found, since = now, term = past.term }
  if before and same_position(before.at, found) and before.since <= now then
    wait = { at = found, since = before.since, term = math.max(before.term, past.term) }
  end
  local age = now - wait.since
  local best = age < 2 * millis and past.term > 0 and past.term == wait.term
  if age < millis then
    return millis - age, wait, best
  end
  if age < 2 * millis and not best then
    return 2 * millis - age, wait, best
  end
  return nil, wait, best
end

-- Remembers that a server asked for a log of another.
local function stands_by(key, server, address, now)
  local all = standbys[key] or {}
  standbys[key] = all
  for other, one in pairs(all) do
    if now - one.seen > STANDBY_MILLIS then
      all[other] = nil
    end
  end
  all[server] = { address = address, since = all[server] and all[server].since or now, seen = now }
end

-- What a takeover came of, in one word.
local function takeover_cause(head, last, whole, now)
  if not whole then
    return 'DATA_LOST'
  elseif not head then
    return 'STARTED'
  elseif last and last.yielded then
    return 'STOPPED'
  end
  return head['until'] <= now and 'CLAIM_RAN_OUT' or 'RESTARTED'
end

-- Numbers of the oldest batch, of the next one, and how many are there: without a head, of those that are found.
local function span(head, batches)
  if head then
    return head.first, head.next, head.count
  end
  local first, following, count = nil, 1, 0
  for _, field in ipairs(redis.call('HKEYS', batches)) do
    local number = as_whole_number(field)
    if number then
      first, following, count = math.min(first or number, number), math.max(following, number + 1), count + 1
    end
  end
  return first or following, following, count
end

-- Replicas that are connected: a takeover is confirmed by one of them, if there are any.
local function replicas()
  return tonumber(string.match(redis.call('INFO', 'replication'), 'connected_slaves:(%d+)') or '0')
end

redis.register_function({
  function_name = 'palisade_log_claim',
  flags = { 'allow-oom' },
  callback = function(keys, args)
    local writer, server, address, returning, init = args[1], args[2], args[3], args[4] == '1', args[5] == '1'
    local recovery, claim, settle_millis = tonumber(args[6]), tonumber(args[7]), tonumber(args[8])
    local past = read_past(args, 9)
    local key_id, settings = string.match(#args % 2 == 1 and args[#args] or '', '^(%S*) ?(.*)$')
    local key, now = keys[1], now_millis()
    local head, tokens, unusable = read_log(keys)
    if unusable then
      return { 'unusable', unusable }
    end
    local batches, wrong_batches = read_batches(key, head)
    local id, last, found = current_instance(now), seen[key], position_of(head)
    local is_complete = wrong_batches or not head or redis.call('HLEN', batches) >= head.count
    if init and of_functions(keys) == 'mark' then
      init = false -- There were locks here, and their holders come back first.
    end
    local whole = args[5] ~= '2' and is_complete and is_whole(head, last, id, past, init, settling[key])
    local mine = is_mine(head, last, past, server, whole)
    if not is_complete then
      found = position_of(nil) -- Nothing of it is sure to be there.
    end
    local best = false
    if not whole then
      local remaining, wait
      remaining, wait, best = settle(settling[key], found, past, now, settle_millis)
      if remaining then
        settling[key] = wait
        stands_by(key, server, address, now)
        return { 'settling', remaining }
      end
    end
    if head and not mine and not best and not (returning and address == head.address) then
      -- Later than that, the clock was set back: written, because an end that is only computed never comes.
      local ends = math.min(head['until'], now + claim)
      if ends > now then
        if ends ~= head['until'] then
          redis.call('HSET', key, 'until', as_text(ends))
        end
        stands_by(key, server, address, now)
        return { 'held', head.server, head.address, ends - now, head.key_id or '', head.settings or '' }
      end
    end
    if wrong_batches then
      return { 'unusable', wrong_batches }
    end
    local recovering = head and head.recovering > now and head.recovering or 0
    if not mine and not whole then
      recovering = math.max(recovering, now + recovery)
    end
    local generation = head and head.generation or 1
    local rewriting = 0
    if mine and misses(past, found) then
      rewriting = math.max(generation, head and head.rewriting or 0) + 1
    end
    local term = 1 + math.max(head and head.term or 0, past.term)
    local taken_at, taken_why, taken_from = as_text(now), takeover_cause(head, last, whole, now), head and head.address or ''
    if head and mine then
      taken_at, taken_why, taken_from = head.taken_at or '0', head.taken_why or '', head.taken_from or ''
    end
    if head and head.rewriting > 0 then
      redis.call('UNLINK', batches_key(key, as_text(head.rewriting))) -- A copy that was not completed.
    end
    if rewriting > 0 then
      redis.call('UNLINK', batches_key(key, as_text(rewriting))) -- Of a head that was lost.
    end
    local first, following, count = span(head, batches)
    redis.call('HSET', key, 'writer', writer, 'seq', '0', 'base', found.writer, 'base_seq', as_text(found.seq),
      'whole', whole and '1' or '0', 'term', as_text(term), 'server', server, 'address', address,
      'until', as_text(now + claim), 'instance', id, 'generation', as_text(generation), 'rewriting', as_text(rewriting),
      'recovering', as_text(recovering), 'format', as_text(FORMAT), 'taken_at', taken_at, 'taken_why', taken_why,
      'taken_from', taken_from, 'first', as_text(first), 'next', as_text(following), 'count', as_text(count), 'key_id', key_id,
      'settings', settings)
    seen[key] = { writer = writer, seq = 0, at = found, instance = id }
    settling[key] = nil
    if standbys[key] then
      standbys[key][server] = nil
    end
    return {
      'claimed', mine and 1 or 0, whole and 1 or 0, found.writer, found.seq, tokens, recovering, term, now, generation, replicas(),
      first, following, count, rewriting, taken_at, taken_why, taken_from,
    }
  end,
})
