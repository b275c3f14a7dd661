-- The move of locks that servers of an earlier release kept: in functions of Redis, in 256 domains, each with a count of tokens and an epoch.

local function epoch_record(key)
  local flat = redis.pcall('HGETALL', key)
  local record = {}
  for i = 1, flat.err and 0 or #flat, 2 do
    record[flat[i]] = flat[i + 1]
  end
  return record, flat.err ~= nil
end

-- A count of tokens that was written as one, else 0: the functions began above everything that they knew, too.
local function count_of(text)
  local count = type(text) == 'string' and as_whole_number(text) or 0
  return count < TOKEN_MAX and count or 0
end

-- function: move
-- args: floor
-- answers: moved, missing (rights)
--
-- Ends a domain: its functions decide nothing without an epoch, and begin none where the mark is. Tells the largest token of it, or floor
-- if that is larger. With the head and the count of tokens of the log as further keys, the log counts from there, unless there is one.

redis.register_function('palisade_log_move', function(keys, args)
  local counter, key, head, tokens = keys[1], keys[2], keys[3], keys[4]
  local missing = missing_rights({
    { 'GET', key }, { 'SET', key, '1' }, { 'EXISTS', key }, { 'UNLINK', key }, { 'HGETALL', key }, { 'HSET', key, 'h', '1' },
    { 'ZRANGEBYLEX', key, '-', '+' }, { 'ZREM', key, 'a' },
  })
  if #missing > 0 then
    return { 'missing', missing }
  end
  local record, unreadable = epoch_record(key)
  local last = math.max(tonumber(args[1]), count_of(redis.pcall('GET', counter)), count_of(record.base), count_of(record.moved))
  if head and redis.call('EXISTS', head) == 0 then
    last = math.max(last, count_of(redis.pcall('GET', tokens)))
    redis.call('SET', tokens, as_text(last))
  end
  if unreadable then
    redis.call('UNLINK', key)
  end
  redis.call('HSET', key, 'moved', as_text(last))
  redis.call('UNLINK', counter)
  return { 'moved', last }
end)

-- function: clear
-- args: begin of the keys of locks, most
-- answers: how many
--
-- Deletes so many locks of a domain that was moved; after the last one, everything else but its epoch.

local function clear(keys, args)
  local names_key, due, history = keys[1], keys[2], keys[3]
  local names = redis.pcall('ZRANGEBYLEX', names_key, '-', '+', 'LIMIT', 0, args[2])
  if names.err then
    redis.call('UNLINK', names_key) -- Not theirs, or damaged.
    names = {}
  end
  for _, name in ipairs(names) do
    redis.call('UNLINK', args[1] .. name)
    redis.call('ZREM', names_key, name)
  end
  if #names == 0 then
    redis.call('UNLINK', due, history)
  end
  return { #names }
end

redis.register_function({ function_name = 'palisade_log_clear', flags = { 'allow-oom' }, callback = clear })
