-- command: describe
-- args: settings, floor
-- answers: Described
-- refuses:

command('describe', FREES, nil, function(step)
  local lock, waiters = step.lock, {}
  for i = 1, #lock.queue do
    waiters[i] = waiter_at(lock, i)
  end
  return { 'Described', lock.holders, lock.offers, waiters, lock.closed, lock.forgotten }
end)
