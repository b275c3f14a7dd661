-- What is stored of a log but its records, and what only this process knows.

-- By head key, what this process executed last: writer, seq, at (the position after it), instance. Deliberately not kept in a key.
local seen = {}
-- By head key, the wait of a log that is not whole: at, since, term. Not kept in a key either.
local settling = {}
-- By head key and server, those that asked for a log of another: address, since, seen. Only for people, so it costs no write.
local standbys = {}
-- One that asks no more is forgotten after so long.
local STANDBY_MILLIS = 3000

local function as_text(number)
  return string.format('%.0f', number)
end

local instance, instance_millis

-- Whether a first replica changed the replication id, and no promotion did. A promotion keeps the id before as master_replid2. A first
-- replica clears it, but not while there is a backlog: a sync from another primary leaves one for repl-backlog-ttl, a second at least.
local function is_same_history(replication, now)
  return instance_millis and instance_millis < now and now < instance_millis + 1000
    and string.match(replication, 'master_replid2:0+\r')
end

-- The identity of the process's history: another one after a start or a promotion. Read again whenever the millisecond has changed.
local function current_instance(now)
  if instance_millis ~= now then
    local replication = redis.call('INFO', 'replication')
    local id = string.match(replication, 'master_replid:(%x+)')
    if id ~= instance and is_same_history(replication, now) then
      for _, last in pairs(seen) do
        last.instance = last.instance == instance and id or last.instance
      end
    end
    instance, instance_millis = id, now
  end
  return instance
end

-- Keys of every function but append: head, count of tokens, and two that a server of an earlier release keeps.

local function as_whole_number(text)
  return text and #text <= 16 and (text == '0' or string.match(text, '^[1-9]%d*$')) and tonumber(text)
end

local function is_writer(text)
  return text and #text == 32 and not string.find(text, '[^0-9a-f]')
end

local HEAD_NUMBERS = { 'seq', 'base_seq', 'term', 'until', 'generation', 'rewriting', 'recovering', 'first', 'next', 'count' }
local HEAD_TEXTS = { 'writer', 'base', 'whole', 'server', 'address', 'instance' }
local REMEDY = '; restore it, or delete it, which is a loss of data, or use another --store-prefix'

-- What is wrong with a key that another program wrote, in one line: what it should be, and what it is.
local function wrong(key, should, is)
  return 'has a key ' .. key .. ' that is no ' .. should .. ' but ' .. is .. REMEDY
end

local function quoted(text)
  return "'" .. string.sub(text, 1, 40) .. "'"
end

local function kind_of(key)
  return redis.call('TYPE', key).ok
end

local function batches_key(head_key, generation)
  return (string.gsub(head_key, 'head$', tostring(generation)))
end

-- The key of the batches, then why it cannot be used, in the words of wrong, if so.
local function read_batches(head_key, head)
  local key = batches_key(head_key, as_text(head and head.generation or 1))
  local kind = kind_of(key)
  return key, kind ~= 'hash' and kind ~= 'none' and wrong(key, 'hash', 'a ' .. kind) or nil
end

-- The head, or nothing in an empty log; then why it cannot be used, if so.
local function read_head(key)
  local flat = redis.pcall('HGETALL', key)
  if flat.err then
    return nil, wrong(key, 'hash', 'a ' .. kind_of(key))
  end
  if #flat == 0 then
    return nil
  end
  local head = {}
  for i = 1, #flat, 2 do
    head[flat[i]] = flat[i + 1]
  end
  local format = as_whole_number(head.format)
  if format and format ~= FORMAT then
    return nil, 'has a log of another release under ' .. key .. ' (format ' .. head.format .. ', not ' .. FORMAT
      .. '); use that release, or another --store-prefix'
  end
  local stored = {}
  for _, field in ipairs(HEAD_NUMBERS) do
    stored[field], head[field] = head[field], as_whole_number(head[field]) or false
  end
  for _, field in ipairs({ 'writer', 'base' }) do
    stored[field], head[field] = head[field], is_writer(head[field]) and head[field]
  end
  for _, fields in ipairs({ HEAD_NUMBERS, HEAD_TEXTS }) do
    for _, field in ipairs(fields) do
      if not format or not head[field] then
        local bad = format and field or 'format'
        local is = stored[bad] or head[bad]
        return nil, 'has a key ' .. key .. ' whose field ' .. bad .. ' cannot be read ('
          .. (is and quoted(is) or 'there is none') .. ')' .. REMEDY
      end
    end
  end
  return head
end

-- What servers of an earlier release, which kept locks in functions, keep here: nothing, though there may be a log; locks; the mark that
-- they were moved, after which those servers decide nothing here; or locks beside a log that was there first. Then a key of these locks.
local function of_functions(keys)
  if redis.call('EXISTS', keys[3], keys[4]) == 0 then
    return redis.call('EXISTS', keys[1]) == 0 and 'nothing' or 'log'
  end
  local moved = redis.pcall('HMGET', keys[4], 'moved')
  local has_counter = redis.call('EXISTS', keys[3]) == 1
  if moved[1] and not has_counter then
    return 'mark'
  end
  return redis.call('EXISTS', keys[1]) == 0 and 'locks' or 'beside', has_counter and keys[3] or keys[4]
end

local FROM_FUNCTIONS = {
  locks = 'stop those servers and start this one with --from-functions',
  beside = 'stop those servers and delete that key',
}

-- Head, count of tokens as text, and why the keys cannot be used, if so.
local function read_log(keys)
  local head, unusable = read_head(keys[1])
  local kept, key = of_functions(keys)
  local remedy = not unusable and FROM_FUNCTIONS[kept]
  if remedy then
    return nil, nil, 'has locks of an earlier release (' .. key .. '); ' .. remedy
      .. ', or use another --store-prefix'
  end
  local tokens = redis.pcall('GET', keys[2]) or '0'
  if not unusable and type(tokens) ~= 'string' then
    unusable = wrong(keys[2], 'count of tokens', 'a ' .. kind_of(keys[2]))
  elseif not unusable and (as_whole_number(tokens) or TOKEN_MAX) >= TOKEN_MAX then
    unusable = wrong(keys[2], 'count of tokens', quoted(tokens))
  end
  return head, tokens, unusable
end

-- function: check
-- args: prefix
-- answers: ok, unusable; then why, and what servers of an earlier release keep here; of a log that has a head, also the address of its
--   owner, the id of the key that it signs with, and 1 if its claim has not ended
--
-- Whether the log can be kept here by this user. Asked at the start.

local function rights_of_log(key)
  return {
    { 'TIME' }, { 'INFO', 'replication' }, { 'EXISTS', key }, { 'TYPE', key }, { 'GET', key }, { 'INCRBY', key, '1' },
    { 'HGETALL', key }, { 'HKEYS', key }, { 'HMGET', key, 'h' }, { 'HLEN', key }, { 'HSET', key, 'h', '1' }, { 'HDEL', key, 'h' },
    { 'UNLINK', key }, { 'WAIT', '1', '1' },
  }
end

redis.register_function({
  function_name = 'palisade_log_check',
  flags = { 'no-writes' },
  callback = function(keys, args)
    local missing = missing_rights(rights_of_log(keys[1]))
    if #missing > 0 then
      return { 'unusable', 'does not let this user do ' .. table.concat(missing, ' ') .. '; give it these rights on the keys '
        .. args[1] .. ':*', 'nothing' }
    end
    local head, _, unusable = read_log(keys)
    if not unusable then
      local _, wrong_batches = read_batches(keys[1], head)
      unusable = wrong_batches
    end
    local answer = { unusable and 'unusable' or 'ok', unusable or '', (of_functions(keys)) }
    if head then
      answer[4], answer[5], answer[6] = head.address, head.key_id or '', head['until'] > now_millis() and 1 or 0
    end
    return answer
  end,
})

-- function: status
-- args:
-- answers: status, none
--
-- Who owns the log and which other servers wait for it, for people.

redis.register_function({
  function_name = 'palisade_log_status',
  flags = { 'no-writes' },
  callback = function(keys)
    local head, unusable = read_head(keys[1])
    if not head or unusable then
      return { 'none' }
    end
    local now, waiting = now_millis(), {}
    for server, one in pairs(standbys[keys[1]] or {}) do
      if now - one.seen <= STANDBY_MILLIS then
        waiting[#waiting + 1] = { server, one.address, one.since, one.seen }
      end
    end
    return {
      'status', head.writer, head.seq, head.term, head.address, math.max(0, head['until'] - now), now,
      as_whole_number(head.taken_at) or 0, head.taken_why or '', head.taken_from or '', waiting,
    }
  end,
})

-- function: version
-- args:
-- answers: the number of this library

redis.register_function({
  function_name = 'palisade_log_version',
  flags = { 'no-writes', 'allow-stale' },
  callback = function()
    return VERSION
  end,
})
