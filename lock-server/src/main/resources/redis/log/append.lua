-- function: append, append_freeing
-- args: writer, seq, count of tokens, tokens added, yields, switches, claim, then of each hash of records: how many words are set
--   and how many fields deleted, fields and values, fields; then how many parts of records there are after it
-- answers: stored, not_stored
--
-- Stores a batch if its writer owns the log, and both the log and this process are where the writer left them. Its keys are the head,
-- the count of tokens, and the hashes of records that it writes.

-- Why the batch is not the log's next one; nothing if it is.
local function unfit(head, key, tokens, now, args)
  local writer, seq, format, rewriting = unpack(head)
  if not writer then
    return 'the log is empty'
  elseif tonumber(format) ~= FORMAT then
    return 'the log is of a later release'
  elseif writer ~= args[1] then
    return 'another lock server claimed the log'
  elseif tonumber(seq) ~= tonumber(args[2]) - 1 then
    return 'the log is at another batch'
  elseif not executed_last(seen[key], writer, tonumber(seq), current_instance(now)) then
    return 'this Redis process did not store the batch before'
  elseif tokens ~= args[3] then
    return 'the count of tokens is another one'
  elseif args[6] == '1' and rewriting == '0' then
    return 'no generation is being written'
  end
end

-- Runs a command with the words of args from there on, count of them. Returns where they end.
local function in_parts(command, key, args, from, count)
  local past_end = from + count
  for first = from, past_end - 1, WORDS_MAX do
    redis.call(command, key, unpack(args, first, math.min(first + WORDS_MAX, past_end) - 1))
  end
  return past_end
end

local function append(keys, args)
  local key, now = keys[1], now_millis()
  local head = redis.call('HMGET', key, 'writer', 'seq', 'format', 'rewriting')
  local why = unfit(head, key, redis.call('GET', keys[2]) or '0', now, args)
  if why then
    return { 'not_stored', why }
  end
  for i = 3, #keys do
    redis.call('HLEN', keys[i]) -- Raises for a key of another type, before anything is written.
  end
  local at = 8
  for i = 3, #keys do
    local words, fields = tonumber(args[at]), tonumber(args[at + 1])
    at = in_parts('HSET', keys[i], args, at + 2, words)
    at = in_parts('HDEL', keys[i], args, at, fields)
  end
  if args[4] ~= '0' then
    redis.call('INCRBY', keys[2], args[4])
  end
  local id = current_instance(now)
  local ends = args[5] == '1' and now or now + tonumber(args[7])
  local parts = args[at] or '' -- A server of before does not count them.
  if args[6] == '1' then
    redis.call('HSET', key, 'seq', args[2], 'until', as_text(ends), 'instance', id, 'parts', parts,
      'generation', head[4], 'rewriting', '0')
  else
    redis.call('HSET', key, 'seq', args[2], 'until', as_text(ends), 'instance', id, 'parts', parts)
  end
  local seq = tonumber(args[2])
  seen[key] = { writer = args[1], seq = seq, at = { writer = args[1], seq = seq }, instance = id, yielded = args[5] == '1' }
  settling[key] = nil
  return { 'stored' }
end

redis.register_function('palisade_log_append', append)

redis.register_function({ function_name = 'palisade_log_append_freeing', flags = { 'allow-oom' }, callback = append })
