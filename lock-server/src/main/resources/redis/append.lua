-- function: append, append_freeing
-- args: writer, seq, count of tokens, tokens added, yields, switches, claim, how many batches are there (-1: unknown), then of the log
--   after it: its first batch, its next one, how many are there; then the batch (empty: none), and the id of the key that the writer signs
--   with (before version 17: none)
-- answers: stored, not_stored
--
-- Stores a batch if its writer owns the log, and both the log and this process are where the writer left them. Its keys are the head,
-- the count of tokens, and the batches. The field of a batch is its number.

-- Why the batch is not the log's next one; nothing if it is.
local function unfit(head, key, tokens, batches, now, args)
  local writer, seq, format, rewriting = unpack(head)
  if not writer then
    return 'the log is empty'
  elseif tonumber(format) ~= FORMAT then
    return 'the log is of another release'
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
  elseif batches < tonumber(args[8]) then
    return 'batches of the log are gone'
  end
end

local function append(keys, args)
  local key, batches, now = keys[1], keys[3], now_millis()
  local head = redis.call('HMGET', key, 'writer', 'seq', 'format', 'rewriting', 'first', 'next', 'count', 'generation', 'key_id')
  -- A key of another type raises before anything is written.
  local why = unfit(head, key, redis.call('GET', keys[2]) or '0', redis.call('HLEN', batches), now, args)
  if why then
    return { 'not_stored', why }
  end
  local first, following, count, batch = args[9], args[10], args[11], args[12]
  if batch ~= '' then
    redis.call('HSET', batches, as_text(tonumber(following) - 1), batch)
  end
  local switches = args[6] == '1'
  if head[4] ~= '0' and not switches then -- Of a copy that does not count yet.
    first, following, count = head[5], head[6], head[7]
  elseif count == '-1' then
    count = head[7]
  end
  if args[4] ~= '0' then
    redis.call('INCRBY', keys[2], args[4])
  end
  if args[13] and args[13] ~= head[9] then
    redis.call('HSET', key, 'key_id', args[13])
  end
  local id = current_instance(now)
  local ends = args[5] == '1' and now or now + tonumber(args[7])
  if switches then
    redis.call('HSET', key, 'seq', args[2], 'until', as_text(ends), 'instance', id, 'first', first, 'next', following, 'count', count,
      'generation', head[4], 'rewriting', '0')
    redis.call('UNLINK', batches_key(key, head[8]))
  else
    redis.call('HSET', key, 'seq', args[2], 'until', as_text(ends), 'instance', id, 'first', first, 'next', following, 'count', count)
  end
  -- After the head: what is left behind by an error here counts no more.
  for number = tonumber(head[5]), tonumber(first) - 1 do
    redis.call('HDEL', batches, as_text(number))
  end
  local seq = tonumber(args[2])
  seen[key] = { writer = args[1], seq = seq, at = { writer = args[1], seq = seq }, instance = id, yielded = args[5] == '1' }
  settling[key] = nil
  return { 'stored' }
end

redis.register_function('palisade_log_append', append)

redis.register_function({ function_name = 'palisade_log_append_freeing', flags = { 'allow-oom' }, callback = append })
