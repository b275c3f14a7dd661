-- command: describe
-- args: settings, floor
-- answers: Described
-- refuses:

command('describe', FREES, nil, function(step)
  local lock = step.lock
  return { 'Described', lock.holders, lock.offers, all_waiters(lock), lock.delay_until, lock.forgotten, lock.hold_until }
end)
