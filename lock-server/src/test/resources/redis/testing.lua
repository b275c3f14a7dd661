-- Behind the library of a log: sets and shows what no function does.

-- args: now, replication id, whether this process forgets what it saw, error at which call from here on (0: none)
redis.register_function({ function_name = 'palisade_log_test_set', flags = { 'no-writes' }, callback = function(keys, args)
  virtual_millis, virtual_instance = tonumber(args[1]), args[2]
  calls, fails_at, instance_millis = 0, tonumber(args[4]), nil
  if args[3] == '1' then
    seen, settling = {}, {}
  end
  return 'OK'
end })

-- args: milliseconds that pass
redis.register_function({ function_name = 'palisade_log_test_pass', flags = { 'no-writes' }, callback = function(keys, args)
  virtual_millis = virtual_millis + tonumber(args[1])
  return virtual_millis
end })

-- Everything but the records: the head's fields and values, the count of tokens, what the process saw, and the wait of a log that settles.
redis.register_function('palisade_log_test_dump', function(keys)
  local last, wait = seen[keys[1]], settling[keys[1]]
  return {
    redis.call('HGETALL', keys[1]), redis.call('GET', keys[2]) or '0',
    last and { last.writer, last.seq, last.at.writer, last.at.seq, last.instance } or {},
    wait and { wait.at.writer, wait.at.seq, wait.since, wait.term } or {},
  }
end)
